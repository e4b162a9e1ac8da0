"""`bookbuild reference` keeps what chapters put out and sets the numbers in their prose."""

import os

import nbformat
import pytest
from bookbuild.config import read_book
from bookbuild.execute import CellError
from bookbuild.notebook import ChapterError, read_chapter, to_notebook
from bookbuild.reference import (
    _with_computed_numbers,
    read_reference,
    reference_notebook,
    write_references,
    write_text,
)
from nbformat.v4 import new_output
from tiny import edit, make_tiny_book, write

WAVES, COUNTS = "book/waves.qmd", "book/counts.qmd"


@pytest.fixture(scope="module")
def _written(tmp_path_factory):
    root = make_tiny_book(tmp_path_factory.mktemp("written"))
    edit(root / WAVES, "there are [16]", "there are [15]")
    edit(root / COUNTS, "[2.5]", "[2,5]")
    write(root / "tests/reference/book/gone.ipynb", "{}")
    said = []
    changed = write_references(read_book(root), say=said.append)
    return root, changed, "\n".join(said)


def test_every_chapter_with_cells_gets_a_reference_and_no_other(_written):
    root, changed, said = _written
    names = sorted(p.relative_to(root).as_posix() for p in (root / "tests").rglob("*.*"))
    assert names == ["tests/reference/book/counts.ipynb", "tests/reference/book/waves.ipynb"]
    assert changed == 5


def test_references_are_notebooks_and_small_and_say_nothing_of_this_machine(_written):
    root, *_ = _written
    for name in ("waves", "counts"):
        path = root / f"tests/reference/book/{name}.ipynb"
        nb = read_reference(path)
        nbformat.validate(nb)
        assert path.stat().st_size < 40_000 and str(root) not in path.read_text(encoding="utf-8")
        assert [c.execution_count for c in nb.cells if c.outputs] == [
            i for i, c in enumerate(nb.cells, 1) if c.outputs
        ]
        assert all(cell.id.startswith("c") for cell in nb.cells)  # no numbers in prose


def test_numbers_in_prose_are_set_and_nothing_else_changes(_written, tiny_book):
    root, *_ = _written
    for name in (WAVES, COUNTS):
        assert (root / name).read_bytes() == (tiny_book / name).read_bytes()


def test_the_differences_are_shown(_written):
    said = _written[2]
    assert "-How many samples are below zero when there are [15]{" in said
    assert "+How many samples are below zero when there are [16]{" in said
    assert "+++ b/tests/reference/book/waves.ipynb" in said and "+  → 1.000" in said
    assert "figure of 400 × 266 pixels" in said and "iVBOR" not in said
    assert "--- a/tests/reference/book/gone.ipynb\n+++ (none)" in said


@pytest.mark.slow
def test_a_second_time_changes_nothing(_written):
    root, *_ = _written
    before = {p: p.stat().st_mtime_ns for p in [*(root / "tests").rglob("*"), root / WAVES]}
    assert write_references(read_book(root), say=lambda line: None) == 0
    assert before == {p: p.stat().st_mtime_ns for p in before}


@pytest.mark.slow
def test_nothing_is_written_when_a_cell_fails(tiny_book):
    edit(tiny_book / WAVES, "samples = sine(8)", "samples = sine(8) + nothing")
    edit(tiny_book / COUNTS, "[2.5]", "[2,5]")
    with pytest.raises(CellError, match="NameError"):
        write_references(read_book(tiny_book), say=lambda line: None)
    assert not (tiny_book / "tests").exists() and "[2,5]" in (tiny_book / COUNTS).read_text()


# Numbers, without a kernel


def with_numbers(tmp_path, text, *printed):
    """The chapter's text after its computed numbers printed these."""
    path = tmp_path / "x.qmd"
    path.write_bytes(text.encode("utf-8"))
    chapter = read_chapter(path)
    nb = to_notebook(chapter)
    numbers = [cell for cell in nb.cells if "computed" in cell.metadata.tags]
    for cell, value in zip(numbers, printed, strict=True):
        cell.outputs = [new_output("stream", name="stdout", text=value + "\n")]
    old, new = _with_computed_numbers(chapter, nb)
    assert old.encode("utf-8") == path.read_bytes()
    return new


def test_several_numbers_in_a_line_are_set_each_in_its_place(tmp_path):
    text = 'A [1]{.computed expr="a"}, [22]{.computed expr="b"} and [1]{.computed expr="c"}.'
    assert with_numbers(tmp_path, text, "100", "2", "1,000") == (
        'A [100]{.computed expr="a"}, [2]{.computed expr="b"} and [1,000]{.computed expr="c"}.'
    )


def test_line_ends_and_the_byte_order_mark_stay(tmp_path):
    text = '\ufeff[1]{.computed expr="a"}\r\n\r\n[1]{.computed expr="a"}\n\nend'
    assert with_numbers(tmp_path, text, "2", "3") == (
        '\ufeff[2]{.computed expr="a"}\r\n\r\n[3]{.computed expr="a"}\n\nend'
    )


def test_a_number_within_its_tolerance_stays(tmp_path):
    text = '[1.00]{.computed expr="a" tolerance="0.02"} [1.00]{.computed expr="a"}'
    assert with_numbers(tmp_path, text, "1.01", "1.01") == text.replace(
        '[1.00]{.computed expr="a"}', '[1.01]{.computed expr="a"}'
    )


def test_numbers_in_captions_are_set(tmp_path):
    text = "```{python}\n#| fig-cap: 'Of [1]{.computed expr=\"a\"}.'\na\n```\n"
    assert "'Of [2]{.computed" in with_numbers(tmp_path, text, "2")


@pytest.mark.parametrize("printed", ["", "two\nlines", "[1, 2]"])
def test_what_cannot_stand_in_the_prose_is_refused(tmp_path, printed):
    with pytest.raises(
        ChapterError, match=r"x\.qmd:1: the computed number `a` prints .*; print one"
    ):
        with_numbers(tmp_path, '[1]{.computed expr="a"}', printed)


# Files


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path, monkeypatch):
    path = write(tmp_path / "x.qmd", "old\n")
    path.chmod(0o640)
    write_text(path, "new\r\n")
    assert path.read_bytes() == b"new\r\n" and path.stat().st_mode & 0o777 == 0o640

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "newer\n")
    assert path.read_bytes() == b"new\r\n" and list(tmp_path.iterdir()) == [path]


def test_a_chapter_without_cells_has_no_reference(tmp_path):
    nb = to_notebook(read_chapter(write(tmp_path / "x.qmd", "# Text\n")))
    assert reference_notebook(nb, tmp_path) is None
