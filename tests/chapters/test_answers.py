"""A chapter does not give an exercise's answer away before the exercise: it folds it."""

import re
from pathlib import Path

import nbformat
import pytest
from bookbuild.notebook import read_chapter
from tinygpt import lab

ROOT = Path(__file__).parents[2]
NAMES = [chapter.name for chapter in lab.CHAPTERS]


def folded_lines(text: str) -> set[int]:
    """Return the numbers of the lines inside a callout that starts closed."""
    open_blocks, folded = [], set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(":::") and line.strip(": "):
            open_blocks.append('collapse="true"' in line)
        elif line.startswith(":::") and open_blocks:
            open_blocks.pop()
        if any(open_blocks):
            folded.add(number)
    return folded


def shown(path: Path, reference: Path):
    """Give (line, text) of the code and the listings that a reader sees without a click.

    What follows the exercises is left out.
    """
    text = path.read_text(encoding="utf-8")
    folded = folded_lines(text)
    outputs = {cell.id: cell for cell in nbformat.read(reference, as_version=4).cells}
    for number, cell in enumerate(read_chapter(path).cells, 1):
        if "page.exercises(" in cell.source or "page.what_you_write(" in cell.source:
            return
        if cell.line in folded or not cell.options.get("include", True):
            continue
        if cell.options.get("echo", True) and not cell.options.get("code-fold", False):
            yield cell.line, cell.source
        for output in outputs[f"c{number}"].get("outputs", []):
            data = output.get("data", {}).get("text/markdown", output.get("text", ""))
            yield cell.line, data


def given_away(texts, symbols: set[str]) -> list[tuple[int, str]]:
    """Return where one of these is defined in full."""
    return [
        (line, name)
        for line, text in texts
        for name in re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)
        if name in symbols
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_shown_before_its_exercise(name):
    symbols = {exercise.symbol for exercise in lab.find_chapter(name).exercises}
    found = shown(ROOT / "book" / f"{name}.qmd", ROOT / "tests/reference/book" / f"{name}.ipynb")
    assert given_away(found, symbols) == []


def test_an_answer_is_found_in_a_cell_and_in_a_listing_and_not_in_a_closed_box():
    texts = [(3, "x = 1\ndef backward(result):\n    pass"), (9, "```python\nclass MLP(Module):\n")]
    assert given_away(texts, {"backward", "MLP"}) == [(3, "backward"), (9, "MLP")]
    assert given_away(texts, {"generate"}) == []
    text = 'a\n::: {.callout-note collapse="true"}\nb\n::: {.x}\nc\n:::\nd\n:::\ne\n'
    assert folded_lines(text) == {2, 3, 4, 5, 6, 7}
