"""Reads a chapter: front matter, cells, computed numbers, and the notebook they make.

Cells are found as Quarto 1.9 finds them. A fence of three or more backticks whose info
string starts with `{python` is a cell, wherever it stands: in a div, a list item, a
callout. Everything else in a fence is shown and not run.
"""

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_notebook


class ChapterError(Exception):
    """Something in a chapter that stops the build: file, line, what is allowed."""

    def __init__(self, path: Path, line: int, message: str):
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.message = path, line, message


@dataclass(frozen=True)
class Cell:
    """One runnable cell of a chapter. Lines count from 1."""

    source: str  # the code as it runs: dedented, without its `#|` lines
    options: dict  # the `#|` lines as YAML
    line: int  # the opening fence
    end: int  # the closing fence
    indent: str  # white space before the fence (a cell in a list item)

    @property
    def code_line(self) -> int:
        """The line of the first line of `source`."""
        return self.end - len(self.source.splitlines())

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
_OPTION = re.compile(r"^\s*#\|(?P<yaml>.*)$")
_COMPUTED = re.compile(
    r'\[(?P<typed>[^\]\n]*)\]\{\.computed\s+expr="(?P<expr>(?:\\.|[^"\\])*)"\s*\}'
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
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ChapterError(path, line, "not UTF-8; save the chapter as UTF-8") from None
    lines = text.splitlines()
    front, body_start = _front_matter(path, lines)
    cells, prose = _split(path, lines, body_start)
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
            where = {"line": cell.line, "cell": index, "options": cell.options}
            nb.cells.append(_code_cell(f"c{index}", cell.source, cell.tags, where))
        for i, number in enumerate(numbers.get(index, [])):
            where = {"line": number.line, "typed": number.typed, "expr": number.expr}
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


def _split(path: Path, lines: list[str], start: int) -> tuple[list[Cell], list[int]]:
    """The cells, and the indices of the lines that are prose."""
    cells, prose, i = [], [], start
    while i < len(lines):
        cell, fence = _CELL.match(lines[i]), _FENCE.match(lines[i])
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
            cells.append(_cell(path, lines, i, end, cell["indent"]))
        i = end + 1
    return cells, prose


def _cell(path: Path, lines: list[str], start: int, end: int, indent: str) -> Cell:
    body = lines[start + 1 : end]
    n = next((k for k, line in enumerate(body) if not _OPTION.match(line)), len(body))
    options = "\n".join(_OPTION.match(line)["yaml"].removeprefix(" ") for line in body[:n])
    code = [line.removeprefix(indent) for line in body[n:]]
    if indent:
        code = textwrap.dedent("\n".join(code)).splitlines()
    while code and not code[0].strip():
        code = code[1:]
    source = "\n".join(code).rstrip()
    return Cell(source, _yaml(path, start + 2, options, "cell options"), start + 1, end + 1, indent)


def _yaml(path: Path, line: int, text: str, what: str) -> dict:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        at = line + error.problem_mark.line if getattr(error, "problem_mark", None) else line
        problem = getattr(error, "problem", None) or "not YAML"
        raise ChapterError(path, at, f"the {what} are not YAML: {problem}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ChapterError(path, line, f"the {what} are {text.strip()!r}; write `key: value` lines")
    return value


def _find_computed(
    path: Path, lines: list[str], prose: list[int], cells: list[Cell]
) -> list[Computed]:
    """Computed numbers in prose, and in the options (captions) of cells."""
    found = []
    places = [(i, sum(cell.end <= i for cell in cells)) for i in prose]
    for number, cell in enumerate(cells, 1):
        places += [(i, number) for i in range(cell.line, cell.end) if _OPTION.match(lines[i])]
    for i, after in sorted(places):
        code = [m.span() for m in _INLINE_CODE.finditer(lines[i])]
        shown = lambda at, spans=code: any(a <= at < b for a, b in spans)  # noqa: E731
        matches = [m for m in _COMPUTED.finditer(lines[i]) if not shown(m.start())]
        for m in matches:
            expr = re.sub(r"\\(.)", r"\1", m["expr"])
            found.append(Computed(m["typed"], expr, i + 1, after, m.start("typed")))
        written = [m for m in re.finditer(r"\{\.computed", lines[i]) if not shown(m.start())]
        if len(written) > len(matches):
            raise ChapterError(
                path, i + 1, 'a computed number is written [value]{.computed expr="expression"}'
            )
    return found
