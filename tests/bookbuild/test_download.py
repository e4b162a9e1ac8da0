"""The notebook that a reader downloads: complete, in order, and it runs."""

import base64
import re

import nbformat
import pytest
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from bookbuild.render import render_pages
from nbclient import NotebookClient
from pages import FRONT, drawn, make_book, page, printed, render
from tiny import write


def notebook(root, source, outputs=None, **options):
    return page(root, f"# T {{#sec-t}}\n\n{source}\n", outputs, **options).notebook


def parts(nb) -> list[tuple[str, str]]:
    """Kind and text of each cell after the first."""
    return [(cell.cell_type, cell.source) for cell in nb.cells[1:]]


CELL = "```{{python}}\n{}\n```\n"


def test_text_and_code_in_order(tmp_path):
    cells = CELL.format("a = 1") + "\n" + CELL.format("a")
    source = f"One.\n\n{cells}\nTwo.\n\n## S {{#sec-s}}\n\nThree.\n"
    assert parts(notebook(tmp_path, source)) == [
        ("markdown", "One."),
        ("code", "a = 1"),
        ("code", "a"),
        ("markdown", "Two."),
        ("markdown", "## 1.1 S\n\nThree."),
    ]


def test_cells_in_lists_divs_tabs_and_callouts_are_all_there_in_order(tmp_path):
    source = """\
1. first

   ```{python}
   c1
   ```

   more of the first

2. second

::: {.callout-tip title="Title *it*"}
Before.

```{python}
c2
```

After.
:::

::: {.panel-tabset}
## A

```{python}
c3
```

## B

Text of B.
:::

> - quoted

- a

  - b

    ```{python}
    c4
    ```

- c

Term
:   Definition

    ```{python}
    c5
    ```

````{python}
c6 = "```"
````
"""
    assert parts(notebook(tmp_path, source)) == [
        ("markdown", "1.  first"),
        ("code", "c1"),
        ("markdown", "more of the first\n\n2.  second\n\n> **Title *it***\n>\n> Before."),
        ("code", "c2"),
        ("markdown", "> After.\n\n**A**"),
        ("code", "c3"),
        ("markdown", "**B**\n\nText of B.\n\n> - quoted\n\n- a\n\n  - b"),
        ("code", "c4"),
        ("markdown", "- c\n\nTerm  \nDefinition"),
        ("code", "c5"),
        ("code", 'c6 = "```"'),
    ]


def test_no_options_no_build_only_cells(tmp_path):
    source = """\
```{python}
#| include: false
import math
```

It is [3.14]{.computed expr="f'{math.pi:.2f}'"}.

```{python}
#| echo: false
#| output: asis
print("**bold** @sec-t")
```

```{python}
#| eval: false
not_run()
```

```{python}
#| error: true
#| code-fold: true
1 / 0
```
"""
    nb = notebook(tmp_path, source, {2: [printed("**bold** @sec-t\n")]})
    assert parts(nb) == [
        ("code", "import math"),
        ("markdown", "It is 3.14.\n\n**bold** Chapter 1\n\n``` python\nnot_run()\n```"),
        ("code", "1 / 0"),
    ]
    assert nb.cells[-1].metadata.tags == ["raises-exception"]
    assert not any("#|" in cell.source for cell in nb.cells)


def test_a_printing_cell_whose_names_are_needed_later_still_runs(tmp_path):
    source = """\
```{python}
#| output: asis
import math as m
rows = [1]
print("| a |")
```

```{python}
#| output: asis
unused = 1
```

```{python}
rows[0]
```
"""
    nb = notebook(tmp_path, source, {1: [printed("| a |\n|---|\n| 1 |\n")], 2: [printed("x\n")]})
    kinds = [cell.cell_type for cell in nb.cells[1:]]
    assert kinds == ["code", "markdown", "code"]
    assert nb.cells[1].source.startswith("%%capture\nimport math as m\n")
    assert "unused" not in "".join(c.source for c in nb.cells if c.cell_type == "code")


def test_references_citations_numbers_and_footnotes_are_text(tmp_path):
    source = """\
See @sec-s, @eq-e and [-@eq-e] [-@sec-t].[^n] As @doe2001 says [@doe2001].
A [chapter](../index.qmd), a [page](https://x.org) and [16M]{.computed expr="1"}.

$$
E = mc^2
$$ {#eq-e}

## S {#sec-s}

$x_i$ and $$y$$.

[^n]: The *note*.
"""
    nb = notebook(tmp_path, f"{source}\n{CELL.format('1')}", index=FRONT)
    text = "\n".join(source for _, source in parts(nb))
    assert "See Section 1.1, Equation 1.1 and 1.1 1.\\[1\\] As Doe (2001) says (Doe 2001)." in text
    assert "A chapter, a [page](https://x.org) and 16M." in text
    assert "E = mc^2 \\tag{1.1}" in text and "$x_i$ and $$y$$." in text
    assert "1.  The *note*." in text and "Doe, Jane. 2001. *Works*. P." in text
    assert not re.search(r"\]\(#|quarto|\{[#.]|<span|<div", text)


def test_figures_tables_exercises_and_callouts_as_markdown(tmp_path):
    write(tmp_path / "assets/d.svg", "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>")
    source = """\
::: {#fig-d}
![](../assets/d.svg){fig-alt="What it shows"}

The *caption*.
:::

```{python}
#| label: fig-c
#| fig-cap: "Drawn by a cell."
#| fig-alt: "A"
plot()
```

| a |
|--:|
| 1 |

: A table. {#tbl-a}

::: {#exr-a}
## Twice
Do it.
:::

::: {.callout-note collapse="true"}
Noted.
:::
"""
    nb = notebook(tmp_path, source, {1: [drawn()]})
    texts = [source for kind, source in parts(nb)]
    assert texts[0] == "![What it shows](attachment:d.svg)\n\n**Figure 1.1:** The *caption*."
    assert texts[1] == "plot()"
    assert texts[2].startswith("**Figure 1.2:** Drawn by a cell.\n\n**Table 1.1:** A table.\n\n|")
    assert texts[2].endswith("**Exercise 1.1 (Twice)**\n\nDo it.\n\n> **Note**\n>\n> Noted.")
    (attached,) = nb.cells[1].attachments.items()
    assert attached[0] == "d.svg"
    assert base64.b64decode(attached[1]["image/svg+xml"]).startswith(b"<svg")


def test_two_images_of_the_same_name_are_both_attached(tmp_path):
    for folder in ("a", "b"):
        svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><g id='{folder}'/></svg>"
        write(tmp_path / f"assets/{folder}/d.svg", svg)
    source = "\n\n".join(f'![](../assets/{f}/d.svg){{fig-alt="{f}"}}' for f in "ab")
    (cell,) = notebook(tmp_path, f"{source}\n\n{CELL.format('1')}").cells[1:2]
    contents = [base64.b64decode(data["image/svg+xml"]) for data in cell.attachments.values()]
    assert [b"id='a'" in contents[0], b"id='b'" in contents[1]] == [True, True]


def test_the_first_cell_says_how_to_install(tmp_path):
    source = CELL.format("1")
    assert "code" in notebook(tmp_path, source).cells[0].source
    write(tmp_path / "pyproject.toml", '[project]\nname = "mini-book"\n')
    first = notebook(tmp_path, source).cells[0]
    assert first.source.startswith("# 1 T\n") and "pip install ." in first.source
    extra = "  repo-url: https://example.org/book/\n  site-url: https://book.example.org\n"
    book = make_book(tmp_path, {"one": f"# T\n\n{source}"})
    yml = (tmp_path / "_quarto.yml").read_text(encoding="utf-8")
    write(tmp_path / "_quarto.yml", yml.replace("  title: Test\n", f"  title: Test\n{extra}"))
    book = read_book(tmp_path)
    text = render(book)["one"].notebook.cells[0].source
    assert 'pip install "mini-book @ git+https://example.org/book"' in text
    assert "[*Test*](https://book.example.org/book/one.html)" in text


def test_links_lead_to_the_site_where_the_book_has_one(tmp_path):
    book = make_book(tmp_path, {"one": f"# T\n\n[x](../index.qmd)\n\n{CELL.format('1')}"})
    yml = (tmp_path / "_quarto.yml").read_text(encoding="utf-8")
    site = "  title: Test\n  site-url: https://b.org/\n"
    write(tmp_path / "_quarto.yml", yml.replace("  title: Test\n", site))
    book = read_book(tmp_path)
    assert "[x](https://b.org/index.html)" in render(book)["one"].notebook.cells[1].source


def test_it_is_a_valid_notebook_with_stable_ids(tmp_path):
    source = f"Text.\n\n{CELL.format('1')}\n\nMore.\n"
    first, second = notebook(tmp_path, source), notebook(tmp_path, source)
    nbformat.validate(first)
    assert first == second and (first.nbformat, first.nbformat_minor) == (4, 5)
    assert [cell.id for cell in first.cells] == ["start", "text-0", "cell-1", "text-2"]
    assert first.metadata.kernelspec.name == "python3"


def test_a_page_without_cells_has_no_notebook(tmp_path):
    assert notebook(tmp_path, "Only text.") is None


@pytest.mark.parametrize("name", ["waves", "counts"])
def test_it_runs_from_top_to_bottom_and_says_what_the_page_says(name, executed_book, monkeypatch):
    book = read_book(executed_book)
    executed = execute_book(book)
    pages = {p.entry.source.stem: p for p in render_pages(book, executed)}
    nb = pages[name].notebook
    monkeypatch.setenv("PYTHONPATH", str(executed_book / "code"))
    resources = {"metadata": {"path": str(executed_book)}}
    NotebookClient(nb, kernel_name="python3", resources=resources, timeout=60).execute()
    entry = next(entry for entry in book.entries if entry.source.stem == name)
    expected = {
        cell.source: [o.get("text") for o in cell.outputs]
        for cell in executed[entry.source].cells
    }
    ran = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert len(ran) >= 2
    for cell in ran:
        assert [o.get("text") for o in cell.outputs] == expected[cell.source]
