"""What the numbers and words in prose are: what their expressions have just computed.

A chapter holds each value as it was when the reference was made. A page shows the value of
its own build, wherever it stands: in prose, headings, tables, captions and alt texts.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from bookbuild.compare import Tolerances, difference_in_text
from bookbuild.config import Book
from bookbuild.notebook import Chapter, ChapterError, parse_chapter

# In the value of an attribute, where it stays text.
_SPAN = re.compile(r'\[([^\]\n]*)\]\{\.computed\s(?:"(?:\\.|[^"\\])*"|[^"}])*\}')

_WORDS = 3  # a shorter line is too common to know it by its text

VALUES = Path(".quarto/book-values.json")  # what computed.lua reads


def printed_number(cell: NotebookNode) -> str:
    """What the expression of a computed number printed."""
    return "".join(
        o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stdout"
    ).removesuffix("\n")


def same_number(printed: str, where: dict) -> bool:
    """Whether the prose says what was computed, within the number's tolerance."""
    allowed = Tolerances(relative=where["tolerance"])
    return difference_in_text(printed, where["typed"], allowed) is None


def computed_cells(nb: NotebookNode) -> list[NotebookNode]:
    """The cells of an executed notebook that are numbers in prose."""
    return [cell for cell in nb.cells if "computed" in cell.metadata.tags]


def _has_run(cell: NotebookNode) -> bool:
    return bool(cell.get("outputs"))  # an empty line, at least


def value_of(chapter: Chapter, cell: NotebookNode) -> str:
    """What stands between the brackets of a computed number, now.

    Raises:
        ChapterError: its expression prints what cannot stand there.
    """
    where, printed = cell.metadata["book"], printed_number(cell)
    if not printed or re.search(r"[\]\n\r]", printed):
        raise ChapterError(
            chapter.path,
            where["line"],
            f"the computed number `{where['expr']}` prints {printed!r}; "
            "print one line without ]",
        )
    return printed


def with_values(chapter: Chapter, nb: NotebookNode) -> Chapter:
    """The chapter with what its executed notebook computed, where it holds other values.

    What did not run stays as it is. Lines keep their numbers.

    Raises:
        ChapterError: an expression prints what cannot stand in the text.
    """
    lines = list(chapter.lines)
    cells = [
        cell
        for cell in computed_cells(nb)
        if _has_run(cell) and printed_number(cell) != cell.metadata["book"]["typed"]
    ]
    for cell in sorted(cells, key=lambda cell: -cell.metadata["book"]["start"]):
        where = cell.metadata["book"]
        line, end = lines[where["line"] - 1], where["start"] + len(where["typed"])
        lines[where["line"] - 1] = line[: where["start"]] + value_of(chapter, cell) + line[end:]
    if not cells:
        return chapter
    return parse_chapter(chapter.path, "\n".join(lines))


def without_expressions(text: str) -> str:
    """The text of an attribute, in which a computed number is just its value."""
    return _SPAN.sub(r"\1", text)


def places(chapter: Chapter) -> list[list[str]]:
    """Each line that holds computed numbers, as the pieces of text around them."""
    found = []
    for line in sorted({number.line for number in chapter.computed}):
        pieces = _SPAN.sub("\0", chapter.lines[line - 1]).split("\0")
        if len("".join(pieces).split()) >= _WORDS:
            found.append(pieces)
    return found


def first_replaced(chapter: Chapter, known: list[list[str]]) -> tuple[int, str] | None:
    """Where plain text stands in the place of a number that was computed: line and its text.

    Args:
        known: the lines as `places` gave them before.
    """
    patterns = [
        (len(pieces) - 1, re.compile("(.{1,60}?)".join(map(re.escape, pieces)))) for pieces in known
    ]
    for number, line in enumerate(chapter.lines, 1):
        count = len(_SPAN.findall(line))
        plain = _SPAN.sub("\0", line)
        for expected, pattern in patterns:
            found = pattern.fullmatch(plain) if count < expected else None
            if found:
                return number, next((s for s in found.groups() if "\0" not in s), line)
    return None


def wrong_numbers(book: Book, executed: dict[Path, NotebookNode]) -> Iterator[str]:
    """A sentence for each number in prose that differs by more than its tolerance."""
    for source, nb in executed.items():
        name = source.relative_to(book.root).as_posix()
        for cell in computed_cells(nb):
            where, printed = cell.metadata["book"], printed_number(cell)
            if not same_number(printed, where):
                yield (
                    f"{name}:{where['line']}: the prose says {where['typed']}, computed is "
                    f"{printed}; correct it, or run make reference"
                )


def write_values(book: Book, executed: dict[Path, NotebookNode]) -> None:
    """Keep what was computed for Quarto's filter: by chapter, in order, [expression, typed, value].

    Chapters that did not run now keep what they had.
    """
    path = book.root / VALUES
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = []
    values = {name: numbers for name, numbers in known} if isinstance(known, list) else {}
    for source, nb in executed.items():
        name = source.relative_to(book.root).as_posix()
        wheres = [(cell.metadata["book"], printed_number(cell)) for cell in computed_cells(nb)]
        values[name] = [[where["expr"], where["typed"], value] for where, value in wheres]
    names = [entry.source.relative_to(book.root).as_posix() for entry in book.entries]
    ordered = [[name, values[name]] for name in names if name in values]
    path.parent.mkdir(exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(ordered, ensure_ascii=False, indent=1), encoding="utf-8")
    os.replace(beside, path)
