"""The notebook that a reader downloads: complete, in order, and it runs."""

import base64
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from bookbuild.render import render_pages
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from pages import FRONT, drawn, make_book, page, printed, raised, render, result
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
    assert "A [chapter](../index.html), a [page](https://x.org) and 16M." in text
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
    text, _, box = texts[2].partition("\n\n<details ")
    assert text.endswith("**Exercise 1.1 (Twice)**\n\nDo it.")
    assert box.endswith(">\n<summary><b>Note</b></summary>\n\nNoted.\n\n</details>")
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


BOX = '::: {{.callout-{kind}{box}{more} title="On *it* & `x`"}}\nIt is $x$.\n:::\n'


@pytest.mark.parametrize(
    ("kind", "box", "border"),
    [
        ("note", "", "4px solid"),
        ("tip", "", "4px solid"),
        ("note", " .box-facts", "1px solid"),
        ("note", " .box-predict", "2px dashed"),
        ("note", " .box-answer", "6px double"),
        ("note", " .box-source", "6px solid"),
    ],
)
def test_boxes_have_borders_and_fold_as_on_the_page(kind, box, border, tmp_path):
    source = BOX.format(kind=kind, box=box, more="") + "\n"
    source += BOX.format(kind=kind, box=box, more=' collapse="true"') + "\n"
    source += BOX.format(kind=kind, box=box, more=' collapse="false"')
    nb = notebook(tmp_path, f"{source}\n{CELL.format('1')}")
    shown, folded, opened = re.split(r"\n\n(?=<details)", parts(nb)[0][1])
    assert re.match(rf'<div style="border[a-z-]*: {border} #\w{{6}}; [^"]*">\n\n', shown)
    assert shown.endswith("\n\n**On *it* & `x`**\n\nIt is $x$.\n\n</div>")
    assert folded.startswith("<details style=") and opened.startswith("<details open style=")
    inside = "<summary><b>On it &amp; x</b></summary>\n\nIt is $x$.\n\n</details>"
    assert folded.endswith(inside) and opened.endswith(inside)


def test_a_printing_cell_in_a_box_stays_inside_it(tmp_path):
    box = '::: {.callout-note .box-source collapse="true" title="The source"}\n'
    box += CELL.format('#| echo: false\n#| output: asis\nprint("**b**")') + ":::\n"
    nb = notebook(tmp_path, f"{box}\n{CELL.format('1')}", {1: [printed("**b**\n")]})
    assert parts(nb)[0][1].endswith("<summary><b>The source</b></summary>\n\n**b**\n\n</details>")
    assert [kind for kind, _ in parts(nb)] == ["markdown", "code"]


def test_outputs_are_included_as_the_page_shows_them(tmp_path):
    cells = [
        'print("a")',
        '#| label: fig-x\n#| fig-cap: "C"\n'
        """#| fig-alt: 'It has [3]{.computed expr="n"} bars'\ndraw()""",
        "#| error: true\n1 / 0",
        "#| include: false\nprint(1)",
        "#| output: false\nprint(1)",
        "#| warning: false\nwarn()",
        "4",
    ]
    warning = "/home/me/x/ipykernel_12/3.py:1: UserWarning: no\n"
    size = {"width": 15, "height": 10}
    outputs = {
        1: [printed("\x1b[31ma\x1b[0m\n"), printed(warning, "stderr")],
        2: [result(text_plain="<matplotlib.legend.Legend at 0x7f>"), drawn(**size)],
        3: [raised("ZeroDivisionError", "division by zero")],
        **{n: [printed("1\n")] for n in (4, 5)},
        6: [printed(warning, "stderr")],
        7: [result(text_plain="4")],
    }
    source = "\n".join(map(CELL.format, cells))
    nb = notebook(tmp_path, source, outputs)
    shown = [cell.outputs for cell in nb.cells if cell.cell_type == "code"]
    assert [(o.name, o.text) for o in shown[0]] == [
        ("stdout", "a\n"),
        ("stderr", "UserWarning: no\n"),
    ]
    (figure,) = shown[1]
    assert figure.data["text/plain"] == "It has 3 bars"
    assert figure.data["image/png"] and figure.metadata["image/png"] == size
    (error,) = shown[2]
    assert error.traceback == ["ZeroDivisionError: division by zero"]
    assert shown[3:6] == [[], [], []]
    assert shown[6][0].data == {"text/plain": "4"}
    nbformat.validate(nb)
    assert "/home/me" not in nbformat.writes(nb) and "ipykernel" not in nbformat.writes(nb)


def with_project(root, extra=""):
    """A book whose pyproject.toml names a package, with more lines under `book:`."""
    write(
        root / "pyproject.toml",
        '[project]\nname = "mini-book"\n[project.scripts]\nm = "mini.cli:x"\n',
    )
    make_book(root, {"one": f"# T\n\n{CELL.format('1')}"})
    yml = (root / "_quarto.yml").read_text(encoding="utf-8")
    write(root / "_quarto.yml", yml.replace("  title: Test\n", f"  title: Test\n{extra}"))
    return render(read_book(root))["one"].notebook


def test_the_first_cell_leads_back_to_the_page(tmp_path):
    first = with_project(tmp_path).cells[0].source
    assert first.startswith("# 1 T\n") and "[a page of *Test*](one.html)" in first
    first = with_project(tmp_path, "  site-url: https://book.example.org\n").cells[0].source
    assert "[a page of *Test*](https://book.example.org/book/one.html)" in first


def test_the_second_cell_installs_the_package_where_it_is_missing(tmp_path):
    code = with_project(tmp_path, "  repo-url: https://example.org/book/\n").cells[1].source
    said = []
    shell = SimpleNamespace(run_line_magic=lambda *magic: said.append(magic))
    python = TransformerManager().transform_cell(code)
    exec(python, {"get_ipython": lambda: shell})
    assert said == [("pip", 'install --quiet "mini-book @ git+https://example.org/book"')]
    exec(python.replace('"mini"', '"json"'), {"get_ipython": lambda: shell})
    assert len(said) == 1  # what is there is left alone


def test_without_an_address_the_second_cell_says_what_to_run(tmp_path):
    code = with_project(tmp_path).cells[1].source
    with pytest.raises(ModuleNotFoundError, match=r"mini is missing; run `pip install \.` in"):
        exec(code, {})
    exec(code.replace('"mini"', '"json"'), {})


def test_a_book_without_a_package_installs_none(tmp_path):
    first, second = notebook(tmp_path, CELL.format("1")).cells
    assert "folder `code`" in first.source and second.source == "1"


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
    nbformat.validate(nb)
    text = nbformat.writes(nb)
    assert any(cell.get("outputs") for cell in nb.cells)
    assert str(executed_book) not in text and str(Path.home()) not in text
    monkeypatch.setenv("PYTHONPATH", str(executed_book / "code"))
    resources = {"metadata": {"path": str(executed_book)}}
    NotebookClient(nb, kernel_name="python3", resources=resources, timeout=60).execute()
    entry = next(entry for entry in book.entries if entry.source.stem == name)
    expected = {
        cell.source: [o.get("text") for o in cell.outputs] for cell in executed[entry.source].cells
    }
    ran = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert len(ran) >= 2
    for cell in ran:
        assert [o.get("text") for o in cell.outputs] == expected[cell.source]
