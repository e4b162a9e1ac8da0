"""The options of a cell and of a chapter's front matter: which there are, what they take."""

import re
from dataclasses import dataclass
from pathlib import Path

from bookbuild.computed import without_expressions
from bookbuild.notebook import Cell, Chapter, ChapterError

LABELS = ("fig", "tbl", "eq", "sec", "exr")


def _flag(value) -> bool:
    return isinstance(value, bool)


def _text(value) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value) -> bool:
    return _text(value) or (isinstance(value, list) and value and all(map(_text, value)))


def _one_of(*allowed):
    # `1 == True` in Python, but not in YAML.
    return lambda value: any(value is a or (type(value) is type(a) and value == a) for a in allowed)


_FOLD = (_one_of(True, False, "show"), "true, false or show")
_EXECUTE = {
    "eval": (_flag, "true or false"),
    "echo": (_one_of(True, False, "fenced"), "true, false or fenced"),
    "output": (_one_of(True, False, "asis"), "true, false or asis"),
    "include": (_flag, "true or false"),
    "error": (_flag, "true or false"),
    "warning": (_flag, "true or false"),
}
_TIMEOUT = {"timeout": (lambda v: type(v) in (int, float) and v > 0, "a number of seconds")}
_SHARE = (
    lambda v: isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < 1,
    "a number from 0 to below 1",
)
_TOLERANCE = (
    lambda v: _SHARE[0](v) or (isinstance(v, dict) and bool(v) and set(v) <= {"rtol", "atol"}),
    f"{_SHARE[1]}, or {{rtol: 0.02, atol: 0.001}}",
)
_ALIGN = (_one_of("left", "center", "right"), "left, center or right")
CELL_OPTIONS = _EXECUTE | {
    "code-fold": _FOLD,
    "code-summary": (_text, "text"),
    "label": (_text, "a label that begins with fig- or tbl-"),
    "fig-cap": (_text, "text"),
    "fig-alt": (_texts, "text, or a list with one text for each image"),
    "fig-subcap": (_texts, "a list with one text for each image"),
    "fig-align": _ALIGN,
    "layout-ncol": (lambda v: type(v) is int and v > 0, "a number of columns"),
    "tbl-cap": (_text, "text"),
    "tolerance": _TOLERANCE,
    "fig-tolerance": _SHARE,
    "check": (_flag, "true or false"),
    "classes": (_one_of("picture"), "picture"),
}
FRONT = {
    "title": (_text, "text"),
    "description": (_text, "text"),
    "chapter": (lambda v: isinstance(v, dict), "`key: value` lines"),
    "data": (lambda v: isinstance(v, str | list), "a list of files"),
    "execute": (lambda v: v is None or isinstance(v, dict), "`key: value` lines"),
    "code-fold": _FOLD,
    "code-summary": (_text, "text"),
    "fig-align": _ALIGN,
}
_HINTS = {
    "fig-width": "Quarto ignores it for a Python cell: set the size in the code, figsize=(w, h)",
    "fig-height": "Quarto ignores it for a Python cell: set the size in the code, figsize=(w, h)",
}


@dataclass(frozen=True)
class Options:
    """How a cell is shown, after all defaults."""

    echo: bool | str
    output: bool | str
    include: bool
    warning: bool
    fold: bool | str
    summary: str
    label: str | None
    kind: str | None  # "fig" or "tbl", from the label
    caption: str | None
    alts: list[str]
    subcaptions: list[str]
    align: str
    columns: int | None
    picture: bool  # light and dark are what its images show


def check_options(chapter: Chapter) -> None:
    """Stop at an option that is not known, in the front matter or in a cell.

    Raises:
        ChapterError: at the line of the option.
    """
    for key, value in chapter.front.items():
        line = _find(chapter, str(key), 1, chapter.body_start)
        _check(chapter.path, line, "front matter", FRONT, key, value)
    for key, value in (chapter.front.get("execute") or {}).items():
        line = _find(chapter, str(key), 1, chapter.body_start)
        _check(chapter.path, line, "execute:", _EXECUTE | _TIMEOUT, key, value)
    for cell in chapter.cells:
        for key, value in cell.options.items():
            line = option_line(chapter, cell, str(key))
            _check(chapter.path, line, "cell options", CELL_OPTIONS, key, value)
        _check_cell(chapter, cell)


def option_line(chapter: Chapter, cell: Cell, key: str) -> int:
    """Where a cell sets an option; the cell's own line when a default does."""
    return _find(chapter, key, cell.line, cell.code_line - 1, cell.line)


def cell_options(chapter: Chapter, cell: Cell, meta: dict) -> Options:
    """The options of a cell, over those of the chapter and of the project."""
    project, front = meta.get("execute") or {}, chapter.front
    html = (meta.get("format") or {}).get("html")
    html = html if isinstance(html, dict) else {}

    def value(key, default, *, execute=False):
        levels = [cell.options]
        levels += [front.get("execute") or {}, project] if execute else [front, meta, html]
        return next((level[key] for level in levels if key in level), default)

    label = cell.options.get("label")
    kind = label.split("-")[0] if label else None
    caption = cell.options.get("tbl-cap" if kind == "tbl" else "fig-cap")
    return Options(
        echo=value("echo", True, execute=True),
        output=value("output", True, execute=True),
        include=value("include", True, execute=True),
        warning=value("warning", True, execute=True),
        fold=value("code-fold", False),
        summary=value("code-summary", "Code"),
        label=label,
        kind=kind,
        caption=caption,
        alts=[without_expressions(text) for text in _as_list(cell.options.get("fig-alt"))],
        subcaptions=_as_list(cell.options.get("fig-subcap")),
        align=value("fig-align", "center"),
        columns=cell.options.get("layout-ncol"),
        picture=cell.options.get("classes") == "picture",
    )


def _as_list(value) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _find(chapter: Chapter, key: str, start: int, end: int, default: int | None = None) -> int:
    """The first line from `start` to `end` that sets `key`."""
    for line in range(start, end + 1):
        text = chapter.lines[line - 1].lstrip().removeprefix("#").lstrip().removeprefix("|")
        if text.lstrip().lstrip("\"'").startswith(key):
            return line
    return default or start


def _check(path: Path, line: int, where: str, known: dict, key, value) -> None:
    if key not in known:
        hint = _HINTS.get(key) or f"known: {', '.join(known)}"
        raise ChapterError(path, line, f"{where}: {key} is not an option here; {hint}")
    valid, allowed = known[key]
    if not valid(value):
        raise ChapterError(path, line, f"{where}: {key} is {value!r}; give {allowed}")


def _check_cell(chapter: Chapter, cell: Cell) -> None:
    """Options that need each other."""

    def fail(key, message):
        raise ChapterError(chapter.path, option_line(chapter, cell, key), message)

    options = cell.options
    label = options.get("label")
    if label is not None and not re.fullmatch(r"(fig|tbl)-[a-z0-9_-]+", label):
        fail(
            "label",
            f"the cell's label is {label}; it begins with fig- or tbl- and goes on with small "
            "letters, digits and hyphens",
        )
    if label and label.startswith("fig-"):
        for key, what in (("fig-cap", "caption"), ("fig-alt", "alt text")):
            if key not in options:
                fail("label", f"the figure {label} has no {what}; add `#| {key}: …`")
    if label and label.startswith("tbl-") and "tbl-cap" not in options:
        fail("label", f"the table {label} has no caption; add `#| tbl-cap: …`")
    if "tbl-cap" in options and not (label or "").startswith("tbl-"):
        fail("tbl-cap", "tbl-cap needs a label; add `#| label: tbl-…`")
    if "fig-cap" in options and not (label or "").startswith("fig-"):
        fail("fig-cap", "fig-cap needs a label; add `#| label: fig-…`")
    for key in ("fig-subcap", "layout-ncol"):
        if key in options and not (label or "").startswith("fig-"):
            fail(key, f"{key} needs a label; add `#| label: fig-…`")
