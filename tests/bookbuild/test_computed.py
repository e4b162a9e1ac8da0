"""A page shows what its own build computed, whatever the chapter says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import panflute as pf
import pypandoc
import pytest
from bookbuild.computed import (
    VALUES,
    first_replaced,
    places,
    with_values,
    write_values,
    wrong_numbers,
)
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from bookbuild.notebook import ChapterError, read_chapter
from bookbuild.render import render_pages
from tiny import edit, write

ROOT = Path(__file__).parents[2]
FILTER = ROOT / "code/bookbuild/computed.lua"
WAVES = "book/waves.qmd"

# One number at every place where a chapter may have one; all are 7, and the text says 9.
EVERYWHERE = """\
# Waves {#sec-waves}

```{python}
import matplotlib.pyplot as plt

n = 7
```

## About [9]{.computed expr="n"} waves

In prose [9]{.computed expr="n"} and **[9]{.computed expr="n"}** twice.

| a |
|:--|
| [9]{.computed expr="n"} |

: With [9]{.computed expr="n"} rows. {#tbl-n}

```{python}
#| label: fig-n
#| fig-cap: 'A caption with [9]{.computed expr="n"} points.'
#| fig-alt: 'A line through [9]{.computed expr="f''{n}''"} points,
#|   or [9]{.computed expr="n" tolerance="0.5"}.'
plt.plot(range(n));
```

::: {.callout-note title="A box"}
Within the tolerance: [9]{.computed expr="n" tolerance="0.5"}.
:::
"""


@pytest.fixture
def everywhere(tiny_book):
    write(tiny_book / WAVES, EVERYWHERE)
    edit(tiny_book / "book/counts.qmd", "@fig-wave", "the wave")
    return tiny_book


@pytest.mark.slow
def test_every_place_of_a_page_and_its_notebook_shows_what_was_computed(everywhere):
    book = read_book(everywhere)
    executed = execute_book(book)
    page = next(p for p in render_pages(book, executed) if p.entry.source.stem == "waves")
    said = re.sub(r"<img src=\S*", "", page.body)
    assert len(re.findall(r'<span class="computed[^>]*>7</span>', said)) == 7
    assert ">9<" not in said and "A line through 7 points, or 7." in said
    assert any("About 7 waves" in item.html for item in page.toc)
    cells = "\n".join(c.source for c in page.notebook.cells if c.cell_type == "markdown")
    assert "In prose 7 and **7** twice." in cells and "9" not in cells
    lines = [line.split(": ")[0] for line in wrong_numbers(book, executed)]
    assert lines == [f"{WAVES}:{n}" for n in (9, 11, 11, 15, 17, 21, 22)]


@pytest.mark.slow
def test_a_build_shows_the_value_says_the_difference_and_ends_with_1(executed_book, bookbuild):
    edit(executed_book / WAVES, "A wave with 8 samples has [8]", "A wave with 8 samples has [9]")
    done = bookbuild(executed_book, "build", "--renderer", "pandoc")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "book/waves.qmd:18: the prose says 9, computed is 8; correct it, or run make reference",
        "bookbuild: a number or word in the prose differs from what was computed; "
        "the site shows what was computed",
    ]
    page = (executed_book / "_site/book/waves.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="computed whole"[^>]*>8</span> samples', page)
    assert not re.search(r'<span class="computed[^>]*>9</span>', page)


@pytest.mark.slow
def test_a_build_for_serve_says_the_difference_and_goes_on(executed_book, bookbuild):
    edit(executed_book / WAVES, "A wave with 8 samples has [8]", "A wave with 8 samples has [9]")
    done = bookbuild(executed_book, "build", "--renderer", "pandoc", "--tolerant")
    assert done.returncode == 0 and "the prose says 9, computed is 8" in done.stderr


def chapter_with(tmp_path, printed, line='It is [9]{.computed expr="n"}.'):
    from bookbuild.notebook import to_notebook
    from nbformat.v4 import new_output

    chapter = read_chapter(write(tmp_path / "one.qmd", f"# One\n\n{line}\n"))
    nb = to_notebook(chapter)
    for cell, value in zip(nb.cells, printed, strict=True):
        cell.outputs = [new_output("stream", name="stdout", text=value + "\n")]
    return chapter, nb


def test_values_of_another_length_stand_in_the_right_places(tmp_path):
    line = 'From [1]{.computed expr="a"} to [22]{.computed expr="b"}, [3]{.computed expr="c"}.'
    chapter, nb = chapter_with(tmp_path, ["more than nine", "2", "3"], line)
    assert with_values(chapter, nb).lines[2] == (
        'From [more than nine]{.computed expr="a"} to [2]{.computed expr="b"}, '
        '[3]{.computed expr="c"}.'
    )


@pytest.mark.parametrize("printed", ["", "a]b", "a\nb"])
def test_what_cannot_stand_in_the_text_is_an_error_with_its_line(tmp_path, printed):
    chapter, nb = chapter_with(tmp_path, [printed])
    with pytest.raises(ChapterError, match="one.qmd:3: the computed number `n` prints"):
        with_values(chapter, nb)


# A number that is typed where it was computed

LINE = 'A wave with [8]{.computed expr="len(s)"} samples has [2]{.computed expr="n"} halves.'


def chapter_of(tmp_path, line):
    return read_chapter(write(tmp_path / "one.qmd", f"# One\n\nSome text.\n{line}\n"))


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ('A wave with 9 samples has [2]{.computed expr="n"} halves.', "9"),
        ('A wave with [8]{.computed expr="len(s)"} samples has 3 halves.', "3"),
        ('A wave with many samples has [2]{.computed expr="n"} halves.', "many"),
        ("A wave with 8 samples has 2 halves.", "8"),
    ],
)
def test_plain_text_in_the_place_of_a_computed_number_is_found(tmp_path, line, typed):
    known = places(chapter_of(tmp_path, LINE))
    assert known == [["A wave with ", " samples has ", " halves."]]
    assert first_replaced(chapter_of(tmp_path, line), known) == (4, typed)


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        'A wave with [8.0]{.computed expr="n / 1"} samples has [3]{.computed expr="m"} halves.',
        "A wave has 8 samples.",
    ],
)
def test_another_expression_and_another_sentence_are_no_replacement(tmp_path, line):
    assert first_replaced(chapter_of(tmp_path, line), places(chapter_of(tmp_path, LINE))) is None


# Quarto


def filtered(root, markdown, chapter=None):
    """The document as Pandoc gives it after the filter."""
    env = os.environ | {"QUARTO_PROJECT_DIR": str(root)}
    env |= {"BOOK_CHAPTER": chapter} if chapter else {}
    done = subprocess.run(
        [pypandoc.get_pandoc_path(), "-f", "markdown", "-t", "json", "-L", str(FILTER)],
        input=markdown, env=env, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    import io

    return pf.load(io.StringIO(done.stdout))


def values(root, **chapters):
    numbers = [[f"book/{name}.qmd", rows] for name, rows in chapters.items()]
    write(root / VALUES, json.dumps(numbers))


def spans(doc):
    found = []
    doc.walk(lambda e, _: found.append(pf.stringify(e)) if isinstance(e, pf.Span) else None)
    return found


def test_the_filter_sets_values_in_prose_headings_tables_and_captions(tmp_path):
    values(tmp_path, waves=[["n", "9", "7"]])
    number = '[9]{.computed expr="n"}'
    doc = filtered(tmp_path, f"# H {number}\n\nSay {number}.\n\n| a |\n|---|\n| {number} |\n\n"
                   f": T {number}\n\n![C {number}](a.png){{#fig-a}}\n")  # fmt: skip
    # Pandoc has a caption twice, also as text for the image.
    assert spans(doc) == ["7"] * 6


def test_the_filter_makes_plain_text_of_numbers_in_alt_texts(tmp_path):
    # As Quarto writes it: in single quotes, these alone escaped.
    values(tmp_path, waves=[["f'{n}'", "9", "7"], ['f"{m}"', "5", "6"]])
    alt = '''A line: [9]{.computed expr="f\\'{n}\\'"} of [5]{.computed expr="f\\"{m}\\""} or so.'''
    doc = filtered(tmp_path, f"![Cap](a.png){{#fig-a fig-alt='{alt}'}}\n")
    found = []
    doc.walk(lambda e, _: found.append(e.attributes) if isinstance(e, pf.Image) else None)
    assert found[0]["fig-alt"] == "A line: 7 of 6 or so."


def test_the_filter_keeps_the_order_of_one_expression_at_two_places(tmp_path):
    values(tmp_path, waves=[["n", "1", "10"], ["n", "2", "20"], ["n", "2", "21"]])
    number = '[{}]{{.computed expr="n"}}'
    doc = filtered(tmp_path, " ".join(number.format(k) for k in (2, 1, 2)))
    assert spans(doc) == ["20", "10", "21"]


def test_the_filter_takes_the_values_of_its_chapter(tmp_path):
    values(tmp_path, waves=[["n", "1", "10"]], counts=[["n", "1", "20"]])
    number = '[1]{.computed expr="n"}'
    assert spans(filtered(tmp_path, number, "book/counts.qmd")) == ["20"]
    assert spans(filtered(tmp_path, f"{number} {number}")) == ["10", "20"]  # the book in one file


def test_without_values_the_filter_leaves_what_the_chapter_says(tmp_path):
    assert spans(filtered(tmp_path, '[1]{.computed expr="n"} [x]{.other}')) == ["1", "x"]


@pytest.mark.slow
def test_before_quarto_renders_the_values_are_computed(everywhere):
    done = subprocess.run(
        [sys.executable, str(ROOT / "code/bookbuild/prerender.py")],
        cwd=everywhere, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0 and f"{WAVES}:9: the prose says 9, computed is 7" in done.stderr
    stored = dict(json.loads((everywhere / VALUES).read_text(encoding="utf-8")))
    assert stored[WAVES][0] == ["n", "9", "7"] and len(stored[WAVES]) == 9
    assert spans(filtered(everywhere, '[9]{.computed expr="n"}', WAVES)) == ["7"]


def test_values_of_chapters_that_did_not_run_stay(executed_book):
    book = read_book(executed_book)
    write_values(book, execute_book(book))
    both = json.loads((executed_book / VALUES).read_text(encoding="utf-8"))
    assert [name for name, _ in both] == ["index.qmd", WAVES, "book/counts.qmd"]
    only = [executed_book / "book/counts.qmd"]
    write_values(book, execute_book(book, only=only))
    assert json.loads((executed_book / VALUES).read_text(encoding="utf-8")) == both


def test_the_project_names_the_filter():
    import yaml

    settings = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    assert settings["filters"] == ["code/bookbuild/computed.lua"] and FILTER.is_file()
