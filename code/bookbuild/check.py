"""A pytest plugin that runs the book's chapters again and compares with what is expected.

`pytest book` runs every cell, in order, in one kernel for each chapter, and compares its
outputs with tests/reference/. Numbers in prose are evaluated where they stand. The parts
of nbval that run a notebook are used; what it compares is replaced (see check_cells.py).
"""

from pathlib import Path

import pytest

from bookbuild.config import Book, ConfigError, find_root, read_book

_BOOKS = pytest.StashKey[dict]()


def pytest_collect_file(file_path: Path, parent: pytest.Collector):
    """Collect the .qmd files that a book lists as its chapters."""
    if file_path.suffix != ".qmd":
        return None
    try:
        root = find_root(file_path.parent)
    except ConfigError:
        return None
    try:
        book = _book(parent.config, root)
    except ConfigError as error:
        return BrokenFile.from_parent(parent, path=file_path, message=str(error))
    if file_path.resolve() not in {entry.source.resolve() for entry in book.entries}:
        return None
    # Later, so that pytest has imported nbval as a plugin before.
    from bookbuild.check_cells import ChapterFile

    return ChapterFile.from_parent(parent, path=file_path, book=book)


def _book(config: pytest.Config, root: Path) -> Book:
    books = config.stash.setdefault(_BOOKS, {})
    if root not in books:
        books[root] = read_book(root)
    return books[root]


class BrokenFile(pytest.File):
    """A chapter of a book whose _quarto.yml cannot be read."""

    def __init__(self, *, message: str, **kwargs):
        super().__init__(**kwargs)
        self.message = message

    def collect(self):
        raise self.CollectError(self.message)
