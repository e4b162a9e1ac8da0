"""A number that a chapter states is computed, or given to its code; see typed.py."""

from pathlib import Path

import pytest
from bookbuild.config import read_book
from typed import typed_numbers

ROOT = Path(__file__).parents[2]
PAGES = [entry.source for entry in read_book(ROOT).entries]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_numbers_are_computed_or_given(path):
    name = path.relative_to(ROOT).as_posix()
    found = [f"{name}:{line}: {number} in {text!r}" for line, number, text in typed_numbers(path)]
    assert not found, "\n".join(found)


CHAPTER = """\
# One {#sec-one}

```{python}
#| fig-cap: "CAPTION"
#| fig-alt: 'ALT'
steps, rate = 300, 0.05
accuracy = 0.87
```

PROSE
"""

TYPED = [
    "It is right for 94% of the digits.",
    "The loss ends at 2.57.",
    "That takes 3 seconds.",
    "The listing has 12 lines.",
    "It works for 2 hours.",
    "The tables hold 163 million numbers.",
    "The model has 4,600 weights.",
    "A text of 64 characters.",
    "It is 8 times as fast.",
    "The peak is 140.",
    '[300]{.computed expr="steps"} steps end at 2.57.',
    "| loss | 2.57 |",
]
FREE = [
    "After 300 steps at a rate of 0.05.",
    '[94%]{.computed expr="f\'{accuracy:.0%}\'"} are right.',
    "In 2017 it was new.",
    "GPT-2 is a model, and version 3.11 is one of Python.",
    "For $p = 0.9$ and `0.33`, see [it](https://example.org/3.5/100).",
    "@vaswani2017 report 28.4.",
    "Three of ten.",
]


def chapter(tmp_path, caption="One point.", alt="A line.", prose="Nothing."):
    path = tmp_path / "one.qmd"
    text = CHAPTER.replace("CAPTION", caption.replace('"', "'")).replace("ALT", alt)
    path.write_text(text.replace("PROSE", prose), encoding="utf-8")
    return path


@pytest.mark.parametrize("text", TYPED)
def test_a_typed_fact_is_found_in_prose(tmp_path, text):
    assert [line for line, _, _ in typed_numbers(chapter(tmp_path, prose=text))] == [10]


@pytest.mark.parametrize("text", [text for text in TYPED if "{" not in text])
def test_a_typed_fact_is_found_in_captions_and_alt_texts(tmp_path, text):
    assert [line for line, _, _ in typed_numbers(chapter(tmp_path, caption=text))] == [4]
    assert [line for line, _, _ in typed_numbers(chapter(tmp_path, alt=text))] == [5]


@pytest.mark.parametrize("text", FREE)
def test_what_is_computed_given_or_named_is_free(tmp_path, text):
    assert typed_numbers(chapter(tmp_path, prose=text)) == []


def test_a_computed_number_that_becomes_a_plain_one_is_found(tmp_path):
    text = '[87%]{.computed expr="f\'{accuracy:.0%}\'"} of the digits are right.'
    assert typed_numbers(chapter(tmp_path, prose=text)) == []
    found = typed_numbers(chapter(tmp_path, prose="94% of the digits are right."))
    assert found == [(10, "94", "94% of the digits are right.")]


def test_alt_text_of_a_markdown_image_is_read(tmp_path):
    image = '![](a.svg){fig-alt="A curve that falls to 2.57." width="600"}'
    assert [number for _, number, _ in typed_numbers(chapter(tmp_path, prose=image))] == ["2.57"]
