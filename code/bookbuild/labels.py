"""Whether every reference and citation of a book names something, without rendering it.

What a cell prints may hold labels too. It is taken from the expected outputs, so nothing
has to run.
"""

from functools import cache
from pathlib import Path

from nbformat import NotebookNode

from bookbuild import pandoc
from bookbuild.config import Book
from bookbuild.crossref import index_targets, set_references
from bookbuild.notebook import ChapterError, read_chapter, to_notebook
from bookbuild.reference import read_reference, reference_path
from bookbuild.render import read_manuscript


class NotExpected(Exception):
    """A chapter's cells are not those whose outputs are known."""


def wrong_references(book: Book) -> dict[Path, ChapterError]:
    """What the build would say of each chapter's labels, references and citations: the first.

    A chapter that cannot be read hides its labels from the others, so then these are not
    looked at.

    Raises:
        NotExpected: a chapter has cells whose outputs are not known.
    """
    found, manuscripts = {}, []
    for entry in book.entries:
        try:
            notebook = _with_expected_outputs(book.root, entry.source)
            manuscripts.append(read_manuscript(book, entry, notebook))
        except ChapterError as error:
            found[entry.source] = error
    if found:
        return found
    try:
        index = index_targets([target for m in manuscripts for target in m.targets])
    except ChapterError as error:
        return {error.path: error}
    keys = cache(lambda: pandoc.citation_keys(book.bibliography))
    for manuscript in manuscripts:
        try:
            set_references(manuscript.doc, manuscript.where, manuscript.entry.href, index, keys)
        except ChapterError as error:
            found[manuscript.entry.source] = error
    return found


def _with_expected_outputs(root: Path, source: Path) -> NotebookNode:
    notebook, path = to_notebook(read_chapter(source)), reference_path(root, source)
    expected = {}
    if path.exists():
        try:
            expected = {cell.id: cell for cell in read_reference(path).cells}
        except ValueError:
            raise NotExpected(f"{path.name} is not a notebook") from None
    for cell in notebook.cells:
        if {"computed", "skip-execution"} & set(cell.metadata.tags):
            continue
        old = expected.get(cell.id)
        if old is None or old.source != cell.source:
            name = source.relative_to(root).as_posix()
            raise NotExpected(f"a cell of {name} is not in its reference")
        cell.outputs = old.outputs
        for output in cell.outputs:  # a figure has no labels, and may be damaged
            for kind in output.get("data", {}):
                if kind.startswith("image/"):
                    output.data[kind] = ""
    return notebook
