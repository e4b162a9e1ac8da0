"""Reads a chapter's Markdown into a syntax tree whose elements know their lines."""

import re
from dataclasses import dataclass

import panflute as pf

from bookbuild import pandoc
from bookbuild.notebook import Chapter, ChapterError
from bookbuild.scan import CELL, Source, scan


@dataclass(frozen=True)
class Where:
    """Finds the line of something that Pandoc has read."""

    chapter: Chapter
    source: Source
    line: int | None = None  # of a cell, for what it printed

    def of(self, element: pf.Element | int | None, needle: str | re.Pattern | None = None) -> int:
        """The line of `element`, which holds the text `needle`."""
        if self.line is not None:
            return self.line
        if isinstance(element, int):
            return element
        near = 1
        while element is not None:
            attributes = getattr(element, "attributes", {})
            if "line" in attributes:
                near = int(attributes["line"])
                if "cell" in attributes:
                    return near
                break
            element = element.parent
        return self.source.find(needle, near) if needle else near

    def fail(self, element, needle, message) -> None:
        raise ChapterError(self.chapter.path, self.of(element, needle), message)


def read_source(chapter: Chapter) -> tuple[pf.Doc, Where]:
    """Read a chapter's Markdown, with an empty code block for each cell.

    Raises:
        ChapterError: a div, formula or code block that is not closed, a cell in another
            language, a shortcode, a footnote without text.
    """

    def fail(line: int, message: str) -> None:
        raise ChapterError(chapter.path, line, message)

    cells = [(cell.line, cell.end) for cell in chapter.cells]
    source = scan(chapter.lines, fail, start=chapter.body_start, cells=cells)
    doc, log = pandoc.read_markdown(source.text)
    where = Where(chapter, source)
    _check_log(log, where)
    divs, cells = _mark(doc, chapter)
    for cell in chapter.cells:
        if cell.line not in cells:
            fail(cell.line, "this cell stands where Pandoc sees no code block (a comment, or an "
                            "indentation that is not the list item's); move it")  # fmt: skip
    for line in source.divs:
        if line not in divs:
            fail(line, "this ::: is not read as a div; leave a blank line before it, and in a "
                       "list indent it as far as the item's text")  # fmt: skip
    return doc, where


def read_printed(text: str, where: Where, line: int) -> tuple[pf.Doc, Where]:
    """Read Markdown that the cell at `line` printed.

    Raises:
        ChapterError: as `read_source`, at the cell's line.
    """

    def fail(at: int, message: str) -> None:
        raise ChapterError(
            where.chapter.path, line, f"line {at} of the Markdown that the cell prints: {message}"
        )

    source = scan(text.rstrip("\n").split("\n"), fail)
    doc, log = pandoc.read_markdown(source.text)
    here = Where(where.chapter, source, line)
    _check_log(log, here)
    return doc, here


def _mark(doc: pf.Doc, chapter: Chapter) -> tuple[set[int], set[int]]:
    """Give each cell its line; the lines of all divs and of all cells."""
    divs, cells = set(), set()

    def mark(element, _):
        if isinstance(element, pf.CodeBlock) and CELL in element.classes:
            line = chapter.cells[int(element.attributes["cell"]) - 1].line
            element.attributes["line"] = str(line)
            cells.add(line)
        elif isinstance(element, pf.Div) and "line" in element.attributes:
            divs.add(int(element.attributes["line"]))

    doc.walk(mark)
    return divs, cells


def _check_log(log: list[dict], where: Where) -> None:
    for note in log:
        kind = note["type"]
        if kind == "ReferenceNotFound" or (kind == "DuplicateNoteReference"):
            label = note.get("contents", "")
            where.fail(None, f"[{label}]", " ".join(note["pretty"].split()))
        if kind == "NoteDefinedButNotUsed":
            key = note.get("key", "")
            where.fail(None, f"[^{key}]:", f"the footnote [^{key}] is not used; remove it")
