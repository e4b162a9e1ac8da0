"""Reads a chapter's lines before Pandoc does: what only the text shows, and where it stands.

The text that Pandoc gets has as many lines as the chapter, so its line numbers are true:
each cell becomes an empty code block of the class `book-cell`, the front matter becomes
blank lines, and each opening `:::` carries its line.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

CELL, SHOWN = "book-cell", "book-shown"
LANGUAGE = re.compile(r"^\{+\s*([A-Za-z][\w+-]*)")

_QUOTE = r"(?P<indent>[\s>]*)"
_FENCE = re.compile(_QUOTE + r"(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
_DIV_OPEN = re.compile(_QUOTE + r"(?P<colons>:{3,})(?P<attributes>.*)$")
_DIV_CLOSE = re.compile(r"[\s>]*:{3,}\s*$")
_HEADING = re.compile(r"^[\s>]*#{1,6}\s")
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
MATHS = re.compile(r"(?<!\\)\$\$")


@dataclass
class Source:
    """A text made ready for Pandoc."""

    text: str
    divs: list[int]  # the lines of the opening `:::`
    prose: dict[int, str]  # by line: text outside code
    headings: list[tuple[int, str]] = field(default_factory=list)  # ids written at headings

    def find(self, needle: str | re.Pattern, near: int = 1) -> int:
        """The line of `needle` in prose: the first one from line `near` on, else the first."""
        pattern = re.compile(re.escape(needle)) if isinstance(needle, str) else needle
        lines = [line for line, text in self.prose.items() if pattern.search(text)]
        return next((line for line in lines if line >= near), lines[0] if lines else near)


def scan(
    lines: list[str],
    fail: Callable[[int, str], None],
    *,
    start: int = 0,
    cells: Iterable[tuple[int, int]] = (),
) -> Source:
    """Make a text ready for Pandoc, and stop at what cannot be read.

    Args:
        lines: the text.
        fail: called with a line (from 1) and a message; it raises.
        start: how many lines the front matter takes.
        cells: first and last line of each cell.
    """
    ends = dict(cells)
    numbers = {line: number for number, line in enumerate(ends, 1)}
    out = [""] * start
    source = Source("", [], {})
    open_divs: list[int] = []
    i = start
    while i < len(lines):
        line, fence = i + 1, _FENCE.match(lines[i])
        if line in numbers:
            end = ends[line]
            ticks = fence["ticks"]
            out.append(f'{fence["indent"]}{ticks} {{.{CELL} cell="{numbers[line]}"}}')
            out += [""] * (end - line - 1) + [fence["indent"] + ticks]
            i = end
        elif fence and not ("`" in fence["ticks"] and "`" in fence["info"]):
            end = _closing(lines, i, fence["ticks"])
            if end is None:
                fail(line, f"the code block that opens here is not closed; add {fence['ticks']}")
            out.append(_opening_fence(line, fence, fail))
            out += lines[i + 1 : end + 1]
            for k in range(i, end + 1):
                _refuse_shortcode(k + 1, lines[k], fail)
            i = end + 1
        else:
            _refuse_shortcode(line, lines[i], fail)
            out.append(_div(line, lines[i], open_divs, source, fail))
            source.prose[line] = _INLINE_CODE.sub(lambda m: " " * len(m[0]), lines[i])
            if identifier := _heading_id(lines[i]):
                source.headings.append((line, identifier))
            i += 1
    if open_divs:
        fail(open_divs[-1], "the div that opens here is not closed; end it with :::")
    _check_maths(source.prose, fail)
    source.text = "\n".join(out) + "\n"
    return source


def _closing(lines: list[str], start: int, ticks: str) -> int | None:
    close = re.compile(rf"^[\s>]*{re.escape(ticks[0])}{{{len(ticks)},}}\s*$")
    return next((j for j in range(start + 1, len(lines)) if close.match(lines[j])), None)


def _opening_fence(line: int, fence: re.Match, fail: Callable) -> str:
    """The opening line of a code block that is shown, not run."""
    info = fence["info"].strip()
    language = LANGUAGE.match(info)
    if language and info.startswith("{{"):
        shown = re.sub(r"^\{\{(.*)\}\}$", r"{\1}", info).replace('"', '\\"')
        return f'{fence["indent"]}{fence["ticks"]} {{.{SHOWN} fence="```{shown}"}}'
    if info.startswith("{="):
        fail(line, f"raw {info.strip('{=}')}; write Markdown")
    if info.startswith("{") and not language and not re.fullmatch(r"\{\s*\.[\w+-]+\s*\}", info):
        fail(line, f"code with {info}; it takes one class, its language: ```python")
    if language:
        fail(
            line,
            f"a {{{language[1]}}} cell; only ```{{python}} cells run, outside block quotes: write "
            f"```{language[1]} for code that is shown",
        )
    return fence.string


def _div(line: int, text: str, open_divs: list[int], source: Source, fail: Callable) -> str:
    """Keep account of divs; give an opening one its line."""
    if _DIV_CLOSE.match(text):
        if not open_divs:
            fail(line, "this ::: closes a div that is not open; remove it")
        open_divs.pop()
        return text
    opening = _DIV_OPEN.match(text)
    attributes = opening["attributes"].strip() if opening else ""
    if not attributes or attributes.startswith(":"):
        return text
    attributes = attributes.rstrip(":").rstrip()
    if not attributes.startswith("{"):
        attributes = f"{{.{attributes}}}" if re.fullmatch(r"[\w-]+", attributes) else attributes
    if not (attributes.startswith("{") and attributes.endswith("}")):
        fail(line, f"{attributes} does not open a div; write ::: {{.class}} or ::: {{#id}}")
    open_divs.append(line)
    source.divs.append(line)
    return f'{opening["indent"]}{opening["colons"]} {attributes[:-1]} line="{line}"}}'


def _heading_id(text: str) -> str:
    """The id at the end of a heading, `# Title {.class #id}`, or nothing."""
    attributes = text.rstrip()[text.rfind("{") + 1 : -1]
    if not _HEADING.match(text) or not text.rstrip().endswith("}") or "}" in attributes:
        return ""
    words = attributes.rpartition("#")[2].split() if "#" in attributes else []
    return words[0] if words else ""


def _refuse_shortcode(line: int, text: str, fail: Callable) -> None:
    if re.search(r"(?<!\{)\{\{<", text):
        fail(
            line,
            "a shortcode ({{< … >}}); write what it stands for, or print it from a cell with "
            "`output: asis`",
        )


def _check_maths(prose: dict[int, str], fail: Callable) -> None:
    """Every `$$` of a paragraph has a partner."""
    opened, last = None, 0
    for line, text in [*prose.items(), (len(prose) + 2**31, "")]:
        if opened and (not text.strip(" >") or line != last + 1):
            fail(opened, "the formula that opens here is not closed in its paragraph; add $$")
        for _ in MATHS.finditer(text):
            opened = None if opened else line
        last = line
