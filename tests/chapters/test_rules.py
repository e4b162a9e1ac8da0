"""The chapter standard of CONTRIBUTING.md, as far as a machine can hold it."""

import ast
import builtins
import re
import statistics
from pathlib import Path

import nbformat
import pytest
import typed
from bookbuild.config import read_book
from bookbuild.notebook import read_chapter

ROOT = Path(__file__).parents[2]
BOOK = read_book(ROOT)
PAGES = [entry.source for entry in BOOK.entries]
# A chapter has facts for its header; the front page and the page of speeds have none.
CHAPTERS = [path for path in PAGES if "chapter" in read_chapter(path).front]
named = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def prose_lines(path):
    return typed.prose_lines(read_chapter(path))


def code_lines(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


@named
def test_a_chapter_has_between_2500_and_5000_words(path):
    words = sum(len(re.findall(r"[A-Za-z]{2,}", line)) for _, line in prose_lines(path))
    assert 2500 <= words <= 5000


@named
def test_cells_are_short(path):
    sizes = [len(code_lines(cell)) for cell in read_chapter(path).cells]
    assert statistics.median(sizes) <= 8
    assert max(sizes) <= 30


@every_page
def test_code_fits_the_column(path):
    wide = [
        (cell.line, line)
        for cell in read_chapter(path).cells
        if cell.options.get("echo", True) and cell.options.get("include", True)
        for line in cell.source.splitlines()
        if len(line) > 92
    ]
    assert wide == []


@named
def test_every_shown_cell_prints_or_draws_something(path):
    reference = ROOT / "tests/reference" / path.relative_to(ROOT).with_suffix(".ipynb")
    outputs = {cell.id: cell.outputs for cell in nbformat.read(reference, as_version=4).cells}
    silent = [
        cell.line
        for number, cell in enumerate(read_chapter(path).cells, 1)
        if cell.options.get("include", True) and not outputs.get(f"c{number}")
    ]
    assert silent == []


@named
def test_every_figure_and_table_is_spoken_of_and_captioned(path):
    chapter = read_chapter(path)
    text = "\n".join(line for _, line in prose_lines(path))
    labels = re.findall(r"\{#((?:fig|tbl|eq)-[\w-]+)", text)
    for cell in chapter.cells:
        label = str(cell.options.get("label", ""))
        if label.startswith(("fig-", "tbl-")):
            labels.append(label)
            assert cell.options.get(f"{label[:3]}-cap"), f"{path}:{cell.line}: no caption"
    assert [label for label in labels if f"@{label}" not in text] == []


# What a cell calls when all it does is draw.
DRAWING = {"ax", "axes", "fig", "figures", "left", "lower", "plt", "right", "upper"}


def only_draws(source):
    """True when every function that a cell calls draws, or comes with Python and NumPy."""
    called = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, ast.Call):
            roots = [n.id for n in ast.walk(node.func) if isinstance(n, ast.Name)]
            called.add(roots[0] if len(roots) == 1 else "np")
    return called <= DRAWING | {"np"} | set(dir(builtins))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fig, ax = plt.subplots()\nax.plot(np.exp(x), label=f'{len(x)}')", True),
        ("ax.imshow(conv2d(x, w))", False),
        ("def area(r): return r\nplt.plot(r)", False),
    ],
)
def test_drawing_is_told_from_computing(source, expected):
    assert only_draws(source) is expected


@every_page
def test_code_of_a_figure_is_folded_unless_it_is_the_lesson(path):
    """Each figure's cell says `code-fold: true`, or `false` because it shows more than drawing."""
    for cell in read_chapter(path).cells:
        if not str(cell.options.get("label", "")).startswith("fig-"):
            continue
        if cell.options.get("echo", True) and cell.options.get("include", True):
            assert "code-fold" in cell.options, f"{path}:{cell.line}: say whether it is folded"
            folded = cell.options["code-fold"]
            assert folded or not only_draws(cell.source), f"{path}:{cell.line}: it only draws"


@every_page
def test_every_figure_has_alt_text(path):
    chapter = read_chapter(path)
    for cell in chapter.cells:
        if str(cell.options.get("label", "")).startswith("fig-"):
            assert len(cell.options.get("fig-alt", "")) > 40, f"{path}:{cell.line}"
    for number, line in prose_lines(path):
        if re.search(r"!\[.*\]\(", line):
            assert "fig-alt=" in line, f"{path}:{number}"


@every_page
def test_one_sentence_per_line(path):
    crowded = []
    for number, line in prose_lines(path):
        if line.startswith(("|", ":::", ": ", "#", "**", "- **")) or "](" in line:
            continue
        bare = re.sub(r"\{[^}]*\}|\$[^$]*\$|`[^`]*`", "", line)
        if re.search(r"[.?] [A-Z][a-z]+ \w+", re.sub(r"^\s*(?:\d+\.|-) .*", "", bare)):
            crowded.append((number, line))
    assert crowded == []


@every_page
def test_the_voice_is_plain(path):
    loud = re.compile(r"!(?!\[)|\bsimply\b|as we all know|\bamazing|\bpowerful\b", re.I)
    found = []
    for number, line in prose_lines(path):
        if loud.search(re.sub(r"\$[^$]*\$|`[^`]*`|\{[^}]*\}", "", line)):
            found.append((number, line))
    assert found == []


@named
def test_listings_of_the_companion_are_not_retyped(path):
    """A definition whose whole text stands in the package is a copy of it."""
    package = "\n".join(
        re.sub(r"\s+", " ", source.read_text(encoding="utf-8"))
        for source in (ROOT / "code/tinygpt").rglob("*.py")
    )
    for cell in read_chapter(path).cells:
        for definition in re.split(r"\n(?=def |class )", "\n" + cell.source)[1:]:
            body = re.sub(r"\s+", " ", definition).strip()
            assert body not in package, f"{path}:{cell.line}"
