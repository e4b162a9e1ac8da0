"""Reads a chapter: front matter, cells, computed numbers, and the notebook they make.

Cells are found as Quarto 1.9 finds them. A fence of three or more backticks whose info
string starts with `{python` is a cell, wherever it stands: in a div, a list item, a
callout. Everything else in a fence is shown and not run.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from bookbuild.printed import control_character


class ChapterError(Exception):
    """Something in a chapter that stops the build: file, line, what is allowed."""

    def __init__(self, path: Path, line: int, message: str):
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.message = path, line, message


@dataclass(frozen=True)
class Cell:
    """One runnable cell of a chapter. Lines count from 1."""

    source: str  # the code as it runs: dedented, without its `#|` lines
    options: dict  # the `#|` lines as YAML, over the front matter's `execute:` defaults
    line: int  # the opening fence
    end: int  # the closing fence
    indent: str  # white space before the fence (a cell in a list item)
    code_line: int  # the first line of `source`

    @property
    def tags(self) -> list[str]:
        """What tells nbclient and nbval how to treat the cell."""
        tags = []
        if self.options.get("eval", True) is False:
            tags += ["skip-execution", "nbval-skip"]
        if self.options.get("error", False) is True:
            tags.append("raises-exception")
        return tags


@dataclass(frozen=True)
class Computed:
    """A number in prose that carries its expression: `[163M]{.computed expr="…"}`."""

    typed: str
    expr: str
    line: int
    after: int  # how many cells run before it is evaluated
    start: int  # where `typed` stands in the line, for rewriting it
    tolerance: float | None = None  # relative, where another CPU may round to another digit


@dataclass(frozen=True)
class Chapter:
    """A `.qmd` file, read."""

    path: Path
    front: dict
    lines: list[str]
    body_start: int  # index in `lines` of the first line after the front matter
    cells: list[Cell]
    computed: list[Computed] = field(default_factory=list)

    @property
    def stem(self) -> str:
        return self.path.stem


# As in Quarto: the language, then a blank, comma or nothing, then anything up to the brace.
_CELL = re.compile(r"^(?P<indent>\s*)(?P<ticks>```+)\s*\{python(?:\s*[ ,.#].*)?\}\s*$")
_FENCE = re.compile(r"^\s*(?P<ticks>```+|~~~+)(?P<info>.*)$")
_OPTION = re.compile(r"^\s*#\s*\|(?P<yaml>.*)$")
# An option's text between single quotes, in which YAML doubles each quote.
_IN_QUOTES = re.compile(r"^\s*#\s*\|\s*(?:[\w-]+:|-)\s*'")
# Options that the front matter may set for all cells of the chapter, under `execute:`.
_DEFAULTS = ("eval", "error", "echo", "output", "include", "warning")
_COMPUTED = re.compile(
    r'\[(?P<typed>[^\]\n]*)\](?:\{\.computed\s+expr="(?P<expr>(?:\\.|[^"\\])*)"'
    r'(?:\s+tolerance="(?P<tolerance>[^"]*)")?\s*\})?'
)
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


def read_chapter(path: Path) -> Chapter:
    """Read a chapter.

    Raises:
        ChapterError: not UTF-8, front matter or cell options that are not YAML, a cell
            that is not closed, a computed number without an expression.
        FileNotFoundError: there is no such file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ChapterError(path, line, "not UTF-8; save the chapter as UTF-8") from None
    return parse_chapter(path, text)


def parse_chapter(path: Path, text: str) -> Chapter:
    """Read the text of a chapter; `path` is named in errors."""
    if wrong := control_character(text):
        line = text[: wrong.start()].count("\n") + 1
        what = "a NUL byte" if wrong[0] == "\0" else f"the control character {wrong[0]!r}"
        raise ChapterError(path, line, f"{what}, which no page can show; remove it")
    # Not splitlines: a form feed or a line separator is not the end of a line for Quarto.
    lines = text.removesuffix("\n").split("\n")
    front, body_start = _front_matter(path, lines)
    cells, prose = _split(path, lines, body_start, _defaults(path, front))
    return Chapter(path, front, lines, body_start, cells, _find_computed(path, lines, prose, cells))


def to_notebook(chapter: Chapter) -> nbformat.NotebookNode:
    """The notebook that is executed: every cell, and after it the numbers that follow it.

    A computed number becomes a cell `print(expression)` with the tag `computed`. The
    metadata `book` of each cell says where in the chapter it stands.
    """
    nb = new_notebook()
    nb.metadata["kernelspec"] = {
        "name": "python3", "display_name": "Python 3", "language": "python"
    }  # fmt: skip
    numbers = {}
    for number in chapter.computed:
        numbers.setdefault(number.after, []).append(number)
    for index, cell in enumerate([None, *chapter.cells]):
        if cell is not None:
            where = {
                "line": cell.line, "code_line": cell.code_line, "cell": index,
                "options": cell.options,
            }  # fmt: skip
            nb.cells.append(_code_cell(f"c{index}", cell.source, cell.tags, where))
        for i, number in enumerate(numbers.get(index, [])):
            where = {
                "line": number.line, "typed": number.typed, "expr": number.expr,
                "start": number.start, "tolerance": number.tolerance,
            }  # fmt: skip
            source = f"print({number.expr})"
            nb.cells.append(_code_cell(f"n{index}-{i}", source, ["computed"], where))
    return nb


def _code_cell(cell_id, source, tags, where):
    return new_code_cell(source, id=cell_id, metadata={"tags": tags, "book": where})


def _front_matter(path: Path, lines: list[str]) -> tuple[dict, int]:
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    for i, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            front = _yaml(path, 2, "\n".join(lines[1:i]), "front matter")
            return front, i + 1
    raise ChapterError(path, 1, "the front matter that opens here is not closed; end it with ---")


def _defaults(path: Path, front: dict) -> dict:
    execute = front.get("execute") or {}
    if not isinstance(execute, dict):
        raise ChapterError(path, 2, f"execute is {execute!r}; write `key: value` lines under it")
    return {key: execute[key] for key in _DEFAULTS if key in execute}


def _split(
    path: Path, lines: list[str], start: int, defaults: dict
) -> tuple[list[Cell], list[int]]:
    """The cells, and the indices of the lines that are prose."""
    cells, prose, i = [], [], start
    while i < len(lines):
        fence = _FENCE.match(lines[i])
        cell = fence and _opens_cell(lines[i])
        if not fence or ("`" in fence["ticks"] and "`" in fence["info"]):
            prose.append(i)
            i += 1
            continue
        close = re.compile(rf"^\s*{re.escape(fence['ticks'][0])}{{{len(fence['ticks'])},}}\s*$")
        end = next((j for j in range(i + 1, len(lines)) if close.match(lines[j])), None)
        if end is None:
            what, ticks = "cell" if cell else "code block", fence["ticks"]
            raise ChapterError(
                path, i + 1, f"the {what} that opens here is not closed; end it with {ticks}"
            )
        if cell:
            _check_close(path, lines, i, end, fence["ticks"])
            cells.append(_cell(path, lines, i, end, cell["indent"], defaults))
        elif fence["ticks"][0] == "~":
            _check_tildes(path, lines, i, end)
        i = end + 1
    return cells, prose


def _opens_cell(line: str) -> re.Match | None:
    # Without a brace at its end, a long line of blanks would be tried from each of them.
    return _CELL.match(line) if line.rstrip().endswith("}") else None


def _check_close(path: Path, lines: list[str], start: int, end: int, ticks: str) -> None:
    """Quarto closes a cell at as many ticks as opened it, Pandoc at as many or more."""
    for i in range(start + 1, end):
        if (inner := _opens_cell(lines[i])) and len(inner["ticks"]) >= len(ticks):
            raise ChapterError(
                path,
                start + 1,
                f"the cell that opens here is not closed before line {i + 1}; end it with {ticks}",
            )
    if lines[end].strip() != ticks:
        raise ChapterError(
            path, end + 1, f"the cell opens with {ticks} and closes with other ticks; use {ticks}"
        )


def _check_tildes(path: Path, lines: list[str], start: int, end: int) -> None:
    """Quarto runs a cell that Pandoc takes for text, between tildes."""
    for i in range(start + 1, end):
        if _opens_cell(lines[i]):
            raise ChapterError(
                path, i + 1, "a cell between tildes; to show it, write ```{{python}} or ````"
            )


def _cell(path: Path, lines: list[str], start: int, end: int, indent: str, defaults: dict) -> Cell:
    body = lines[start + 1 : end]
    n = next((k for k, line in enumerate(body) if not _OPTION.match(line)), len(body))
    options = "\n".join(_OPTION.match(line)["yaml"].removeprefix(" ") for line in body[:n])
    code = [line.removeprefix(indent) for line in body[n:]]
    if indent:
        code = textwrap.dedent("\n".join(code)).split("\n")
    blank = next((k for k, line in enumerate(code) if line.strip()), 0)
    source = "\n".join(code[blank:]).rstrip()
    options = defaults | _yaml(path, start + 2, options, "cell options")
    return Cell(source, options, start + 1, end + 1, indent, start + 2 + n + blank)


def _yaml(path: Path, line: int, text: str, what: str) -> dict:
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-13-01
        at = line + error.problem_mark.line if getattr(error, "problem_mark", None) else line
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ChapterError(path, at, f"not YAML in the {what}: {problem}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        given = " ".join(text.split())
        raise ChapterError(path, line, f"{given!r} in the {what}; write `key: value` lines")
    return value


def _find_computed(
    path: Path, lines: list[str], prose: list[int], cells: list[Cell]
) -> list[Computed]:
    """Computed numbers in prose, and in the options (captions) of cells."""
    found = []
    places = [(i, sum(cell.end <= i for cell in cells)) for i in prose]
    for number, cell in enumerate(cells, 1):
        places += [
            (i, number) for i in range(cell.line, cell.code_line - 1) if _OPTION.match(lines[i])
        ]
    for i, after in sorted(places):
        code = [m.span() for m in _INLINE_CODE.finditer(lines[i])]
        shown = lambda at, spans=code: any(a <= at < b for a, b in spans)  # noqa: E731
        written = [m for m in re.finditer(r"\{\.computed", lines[i]) if not shown(m.start())]
        matches = [m for m in _bracketed(lines[i]) if m["expr"] is not None]
        matches = [m for m in matches if not shown(m.start())]
        for m in matches:
            expr = re.sub(r"\\(.)", r"\1", m["expr"])
            if _IN_QUOTES.match(lines[i]):
                expr = expr.replace("''", "'")
            tolerance = _tolerance(path, i + 1, m["tolerance"])
            found.append(Computed(m["typed"], expr, i + 1, after, m.start("typed"), tolerance))
        if len(written) > len(matches):
            raise ChapterError(
                path, i + 1, 'a computed number is written [value]{.computed expr="expression"}'
            )
    return found


def _bracketed(line: str) -> Iterator[re.Match]:
    """What stands in brackets, up to the last number: a `[` that is not closed is tried once."""
    start, last = 0, line.rfind("]{.computed")
    while (start := line.find("[", start, max(last, 0))) >= 0:
        found = _COMPUTED.match(line, start)
        yield found
        start = found.end()


def _tolerance(path: Path, line: int, given: str | None) -> float | None:
    try:
        value = None if given is None else float(given)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value < 1:
        raise ChapterError(
            path, line, f"tolerance is {given!r}; give a share of the number, from 0 to below 1"
        )
    return value
