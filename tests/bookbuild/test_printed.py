"""What is kept of a cell's output: no machine's paths, no control characters, in linear time."""

import time
from pathlib import Path

import pytest
from bookbuild.cells import clean as shown
from bookbuild.compare import Tolerances, difference_in_text, normal_outputs
from bookbuild.execute import describe_error
from bookbuild.notebook import ChapterError, read_chapter
from bookbuild.printed import clean, strip_controls, without_machine_paths
from bookbuild.scan import scan
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_output

ROOT = Path("/home/me/book")


def fail(line, message):
    raise ValueError(message)


def read(text, folder):
    path = folder / "x.qmd"
    path.write_text(text, encoding="utf-8")
    try:
        read_chapter(path)
    except ChapterError:
        return


def scanned(text):
    try:
        scan(text.split("\n"), fail)
    except ValueError:
        return


def described(text):
    cell = new_code_cell("x", metadata={"book": {"line": 1, "code_line": 2}})
    error = new_output("error", ename="E", evalue=text, traceback=[text, f"File {text}"])
    describe_error(cell, "E", text, [error], ROOT)


READERS = {
    "clean": lambda text, _: clean(text, ROOT),
    "a page": lambda text, _: shown(text),
    "normal form": lambda text, _: normal_outputs(
        [new_output("stream", name="stdout", text=text)], ROOT
    ),
    "comparison": lambda text, _: difference_in_text(text, text + "1", Tolerances(0.1)),
    "an error": lambda text, _: described(text),
    "the scanner": lambda text, _: scanned(text),
    "a chapter": read,
}
PIECES = [
    "x", "/", "\\", "a/", "ipykernel_", "ipykernel_1", "ipykernel_1/1.py:", "/lib/python3.",
    "/lib/python3.1", "/site-packages", "/site-packages/", "\x1b", "\x1b[", "\x1b]", ";", "0", "-",
    "1,111", "1,", "1.", "0x", "0xf", "<ipython-input", "<ipython-input\n", ":1", ":1: ", "\r",
    "\rx", " ", "(", "[", "{", "{#", "#", "`", "` ``", ":", "::: ", "_", "e", "nan", ">",
]  # fmt: skip
STARTS = ["", "\x1b[", "ipykernel_", "<ipython-input", "# {#", "::: x", "```{python", "{.computed"]


@pytest.mark.parametrize("reader", READERS)
def test_the_time_grows_with_the_text_and_not_with_its_square(reader, tmp_path):
    """A text 16 times as long may take 16 times as long, 256 times where it is quadratic."""

    def seconds(start, piece, size):
        text = start + piece * (size // len(piece)) + " y"
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            READERS[reader](text, tmp_path)
            best = min(best, time.process_time() - begun)
        return best

    for start in STARTS:
        for piece in PIECES:
            small = seconds(start, piece, 500)
            # Below a millisecond a clock says little, and nothing is wrong.
            assert seconds(start, piece, 8000) < 64 * max(small, 1e-3), (start, piece)


def test_machine_paths_leave_a_text():
    text = f"{ROOT}/code/x.py, {ROOT}/.venv/lib/python3.12/site-packages/a.py"
    assert without_machine_paths(text, ROOT) == "code/x.py, site-packages/a.py"
    text = "/tmp/ipykernel_77/123.py:3: UserWarning, File /usr/lib/python3.11/json/x.py:1"
    assert without_machine_paths(text, ROOT) == "<cell>:3: UserWarning, File python/json/x.py:1"
    text = "'/a/site-packages/b/site-packages/c.py' (/b/dist-packages/d)"
    assert without_machine_paths(text, ROOT) == "'site-packages/c.py' (site-packages/d)"
    text = "/x/site-packages/site-packages/a /lib/python3.1 lib/python3.11/x"
    assert without_machine_paths(text, ROOT) == (
        "site-packages/a /lib/python3.1 lib/python3.11/x"
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\0b\x07c\x08d\x7fe\x9bf", "abcdef"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b(Btext\x1bM", "text"),
        ("\x1b", ""),
        ("\x1b]open\nnext line", "\nnext line"),
        ("\ud800 \ufffe", " "),
        ("a\tb\r\n\x0cä → ∑ 👍", "a\tb\r\n\x0cä → ∑ 👍"),
    ],
)
def test_what_steers_a_terminal_leaves_a_text(text, plain):
    assert strip_controls(text) == plain


@given(st.text(st.characters() | st.sampled_from("\x1b[]m;\\\0"), max_size=40))
def test_nothing_is_left_that_a_page_cannot_show(text):
    left = strip_controls(text)
    assert not any(ord(c) < 32 and c not in "\t\n\r\x0c" or 0x7F <= ord(c) < 0xA0 for c in left)
    assert strip_controls(left) == left
