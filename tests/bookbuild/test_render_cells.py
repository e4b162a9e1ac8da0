"""Cells on the page: options act as in Quarto, outputs are where they belong."""

import pytest
from pages import Tree, drawn, make_book, page, printed, raised, render, result, text

CODE = "x = 1\nprint(x)"


def shown(root, options: str, outputs=(), code: str = CODE, **more):
    """The HTML of a page with one cell, read."""
    lines = "".join(f"#| {line}\n" for line in options.splitlines())
    source = f"# T\n\nBefore.\n\n```{{python}}\n{lines}{code}\n```\n\nAfter.\n"
    return Tree(page(root, source, {1: list(outputs)}, **more).body)


def test_code_and_what_it_printed_in_quartos_divs(tmp_path):
    tree = shown(tmp_path, "", [printed("1\n"), printed("oh\n", "stderr")])
    (cell,) = tree.find(".cell")
    kinds = [child["attrs"]["class"] for child in cell["children"] if isinstance(child, dict)]
    assert kinds == [
        "sourceCode", "cell-output cell-output-stdout", "cell-output cell-output-stderr"
    ]  # fmt: skip
    assert text(tree.find("pre.cell-code")[0]) == "x = 1 print(x)"
    assert [text(node) for node in tree.find(".cell-output")] == ["1", "oh"]


def test_code_is_highlighted_and_its_lines_are_kept(tmp_path):
    body = page(tmp_path, f"# T\n\n```{{python}}\n{CODE}\n\nif x:\n    y = '<'\n```\n").body
    code = Tree(body).find("code.python")[0]
    raw = "".join(c if isinstance(c, str) else text(c) for c in code["children"])
    assert raw == f"{CODE}\n\nif x:\n    y = '<'"
    assert '<span class="cf">if</span>' in body
    assert "href" not in body


@pytest.mark.parametrize(
    ("options", "code", "output"),
    [
        ("", True, True),
        ("echo: false", False, True),
        ("output: false", True, False),
        ("include: false", False, False),
        ("echo: false\noutput: false", False, False),
    ],
)
def test_what_is_shown(options, code, output, tmp_path):
    tree = shown(tmp_path, options, [printed("1\n")])
    assert bool(tree.find(".cell-code")) == code
    assert bool(tree.find(".cell-output")) == output
    assert bool(tree.find(".cell")) == (code or output)
    assert [text(p) for p in tree.find("p")] == ["Before.", "After."]


def test_a_cell_that_is_not_run_shows_its_code(tmp_path):
    tree = shown(tmp_path, "eval: false")
    assert text(tree.find(".cell-code")[0]) == "x = 1 print(x)" and not tree.find(".cell-output")


def test_a_picture_is_told_from_a_drawing(tmp_path):
    options = 'label: fig-x\nfig-cap: "C"\nfig-alt: "A"'
    assert shown(tmp_path, options, [drawn()]).find("img.drawn")
    read = shown(tmp_path, f"{options}\nclasses: picture", [drawn()])
    assert read.find("img") and not read.find("img.drawn")


def test_an_error_is_shown_by_name_and_message(tmp_path):
    tree = shown(tmp_path, "error: true", [raised("ValueError", "\x1b[31mno\x1b[0m <x>")])
    assert text(tree.find(".cell-output-error")[0]) == "ValueError: no <x>"


def test_echo_fenced_shows_the_fence_and_the_options(tmp_path):
    tree = shown(tmp_path, "echo: fenced\nwarning: false")
    lines = "".join(tree.find("pre.cell-code > code")[0]["children"]).split("\n")
    assert lines == ["```{python}", "#| warning: false", "x = 1", "print(x)", "```"]


def test_warnings_can_be_left_out_and_do_not_tell_the_machine(tmp_path):
    said = printed("/tmp/ipykernel_77/123.py:3: UserWarning: old\n  warn()\n", "stderr")
    assert text(shown(tmp_path, "", [said]).find(".cell-output-stderr")[0]) == (
        "UserWarning: old warn()"
    )
    assert not shown(tmp_path, "warning: false", [said]).find(".cell-output")


def test_progress_bars_show_their_last_state(tmp_path):
    said = [printed("0%\r50%", "stderr"), printed("\r100%\n\x1b[1mdone\x1b[0m\n", "stderr")]
    (output,) = shown(tmp_path, "", said).find(".cell-output-stderr")
    assert text(output) == "100% done"


@pytest.mark.parametrize(
    ("options", "state", "summary"),
    [
        ("code-fold: true", False, "Code"),
        ("code-fold: show", True, "Code"),
        ('code-fold: true\ncode-summary: "Show <it>"', False, "Show <it>"),
    ],
)
def test_code_fold(options, state, summary, tmp_path):
    (details,) = shown(tmp_path, options).find(".cell > details.code-fold")
    assert ("open" in details["attrs"]) == state
    first, *rest = [child for child in details["children"] if isinstance(child, dict)]
    assert (first["tag"], text(first)) == ("summary", summary)
    assert text(rest[0]) == "x = 1 print(x)"


def test_no_fold_by_default_and_where_the_cell_says_so(tmp_path):
    assert not shown(tmp_path, "").find("details")
    extra = "format:\n  html:\n    code-fold: true\n"
    assert shown(tmp_path, "", extra=extra).find("details")
    assert not shown(tmp_path, "code-fold: false", extra=extra).find("details")


def test_defaults_of_the_chapter_and_of_the_project(tmp_path):
    cell = "```{python}\nprint(1)\n```\n"
    own = "```{python}\n#| echo: true\nprint(2)\n```\n"
    plain = f"# T\n\n{cell}\n{own}"
    front = f"---\nexecute:\n  echo: false\n---\n\n# T\n\n{cell}\n{own}"
    book = make_book(tmp_path, {"one": plain, "two": front}, extra="execute:\n  output: false\n")
    outputs = {1: [printed("1\n")], 2: [printed("2\n")]}
    pages = render(book, {"one": outputs, "two": outputs})
    codes = {name: [text(n) for n in Tree(p.body).find(".cell-code")] for name, p in pages.items()}
    assert codes == {"index": [], "one": ["print(1)", "print(2)"], "two": ["print(2)"]}
    assert not any(Tree(p.body).find(".cell-output") for p in pages.values())


def test_results_and_markdown(tmp_path):
    tree = shown(tmp_path, "", [result(text_plain="array([1])")])
    assert text(tree.find(".cell-output-display > pre")[0]) == "array([1])"
    tree = shown(tmp_path, "", [result(text_markdown="**bold** $x$", text_plain="M")])
    (output,) = tree.find(".cell-output-display")
    assert "cell-output-markdown" in output["attrs"]["class"]
    assert tree.find("strong") and tree.find("math") and "M" not in text(output).split()


@pytest.mark.parametrize("kind", ["text_html", "text_latex", "application_json"])
def test_what_a_page_cannot_show_stops_at_the_cell(kind, tmp_path):
    with pytest.raises(Exception, match=rf"one\.qmd:5: the cell shows {kind.replace('_', '/')}"):
        shown(tmp_path, "", [result(**{kind: "<table></table>", "text_plain": "x"})])


@pytest.mark.parametrize(
    "plain", ["[<matplotlib.lines.Line2D at 0x7f>]", "<matplotlib.image.AxesImage at 0x7f>"]
)
def test_what_a_plot_returns_is_no_result(plain, tmp_path):
    tree = shown(tmp_path, 'fig-alt: "A"', [result(text_plain=plain), drawn()])
    assert not tree.find("pre > code")[1:] and len(tree.find("img")) == 1
    assert not shown(tmp_path, "", [result(text_plain=plain)]).find(".cell-output")


def test_a_tuple_is_a_result_where_nothing_is_drawn(tmp_path):
    assert shown(tmp_path, "", [result(text_plain="(1, 2)")]).find(".cell-output")


def test_output_asis_is_part_of_the_text(tmp_path):
    tree = shown(tmp_path, "output: asis\necho: false", [printed("A *word*.\n\n- one\n- two\n")])
    assert [text(p) for p in tree.find("p")] == ["Before.", "A word.", "After."]
    assert len(tree.find("li")) == 2 and not tree.find(".cell") and not tree.find("pre")


def test_headings_and_callouts_printed_by_a_cell(tmp_path):
    tree = shown(
        tmp_path,
        "output: asis\necho: false",
        [printed('## Printed {#sec-p}\n\n::: {.callout-tip title="A *t*"}\nBody\n:::\n')],
    )
    assert text(tree.find("section#sec-p > h2")[0]) == "1.1 Printed"
    assert text(tree.find(".callout-title-container")[0]) == "Tip: A t"


def test_ticks_and_colons_in_output_stay_text(tmp_path):
    said = "````\n```\n:::\n<b>&amp;\n@fig-x $x$ {{< x >}}\n"
    tree = shown(tmp_path, "", [printed(said)])
    assert "".join(tree.find(".cell-output > pre > code")[0]["children"]) == said.rstrip("\n")


def test_cells_in_lists_callouts_tabsets_and_four_tick_fences(tmp_path):
    source = """\
# T

1. item

   ```{python}
   print(1)
   ```

2. two

::: {.callout-note}
```{python}
print(2)
```

::: {.panel-tabset}
## A

```{python}
print(3)
```
:::
:::

````{python}
print("```")
````

```{{python}}
shown
```

```` markdown
```{python}
also
```
````
"""
    outputs = {n: [printed(f"out {n}\n")] for n in (1, 2, 3, 4)}
    tree = Tree(page(tmp_path, source, outputs).body)
    assert [text(node) for node in tree.find(".cell-output")] == [f"out {n}" for n in (1, 2, 3, 4)]
    assert len(tree.find("ol")) == 1 and len(tree.find("li > .cell")) == 1
    assert len(tree.find(".callout-body-container > .cell")) == 1
    assert len(tree.find(".tab-pane > .cell")) == 1
    codes = [text(node) for node in tree.find("pre.markdown > code")]
    assert codes == ["```{python} shown ```", "```{python} also ```"]


def test_a_cell_in_a_list_keeps_the_list_together(tmp_path):
    source = (
        "# T\n\n- a\n\n    ```{python}\n    1\n    ```\n\n"
        "- b\n\n  - c\n\n    ```{python}\n    2\n    ```\n"
    )
    tree = Tree(page(tmp_path, source, {1: [printed("1")], 2: [printed("2")]}).body)
    assert len(tree.find("ul")) == 2
    assert [len(tree.find(s)) for s in ("ul > li > .cell", "li > ul > li > .cell")] == [2, 1]


def test_images_are_files_of_the_page_with_their_size(tmp_path):
    source = '# T\n\n```{python}\n#| fig-alt: "A \\"curve\\" & more"\n1\n```\n'
    result = page(tmp_path, source, {1: [drawn((300, 200))]})
    (image,) = Tree(result.body).find("img")
    assert image["attrs"] | {"class": ""} == {
        "src": "one_files/cell-1-output-1.png", "alt": 'A "curve" & more', "class": "",
        "width": "300", "height": "200", "style": "--legible: 240px",
        "loading": "lazy", "decoding": "async",
    }  # fmt: skip
    assert list(result.figures) == ["book/one_files/cell-1-output-1.png"]
    assert result.figures["book/one_files/cell-1-output-1.png"].startswith(b"\x89PNG")


def test_images_for_fine_screens_are_shown_at_half_size(tmp_path):
    tree = shown(tmp_path, 'fig-alt: "A"', [drawn((600, 400), width=300, height=200)])
    assert tree.find("img")[0]["attrs"]["width"] == "300"


FIGURE = 'label: fig-x\nfig-cap: "Cap *it*"\nfig-alt: "Alt"'


def test_a_labelled_cell_is_a_figure_after_its_code(tmp_path):
    tree = shown(tmp_path, FIGURE, [printed("text\n"), drawn()])
    (cell,) = tree.find(".cell")
    order = [c["attrs"]["class"] for c in cell["children"] if isinstance(c, dict)]
    assert order == [
        "sourceCode", "cell-output cell-output-stdout", "cell-output cell-output-display"
    ]  # fmt: skip
    (figure,) = tree.find("#fig-x.quarto-float > figure.quarto-float-fig")
    assert [c["tag"] for c in figure["children"] if isinstance(c, dict)] == ["img", "figcaption"]
    assert text(tree.find("figure > figcaption")[0]) == "Figure 1.1: Cap it"
    assert tree.find("figcaption > em")


@pytest.mark.parametrize("align", ["left", "center", "right"])
def test_alignment(align, tmp_path):
    tree = shown(tmp_path, f"{FIGURE}\nfig-align: {align}", [drawn()])
    assert tree.find(f"#fig-x.quarto-figure-{align}")


def test_two_images_under_one_label_are_one_figure(tmp_path):
    options = 'label: fig-x\nfig-cap: "Both"\nfig-alt: ["One", "Two"]\nlayout-ncol: 2'
    tree = shown(tmp_path, options, [drawn(), drawn()])
    assert len(tree.find("figcaption")) == 1
    images = tree.find("#fig-x > figure > .quarto-layout-panel > img")
    assert [image["attrs"]["alt"] for image in images] == ["One", "Two"]


def test_subcaptions(tmp_path):
    options = 'label: fig-x\nfig-cap: "Both"\nfig-alt: ["One", "Two"]\nfig-subcap: ["l", "r"]'
    tree = shown(tmp_path, options, [drawn(), drawn()])
    assert [text(n) for n in tree.find("figcaption")] == ["(a) l", "(b) r", "Figure 1.1: Both"]
    assert tree.find("#fig-x-1 > figure.quarto-subfloat-fig") and tree.find("#fig-x-2")
    with pytest.raises(Exception, match=r"one\.qmd:5: fig-subcap has 2 texts and the cell draws 1"):
        shown(tmp_path, options.replace('["One", "Two"]', "One"), [drawn()])


def test_a_table_cell_has_its_caption_above(tmp_path):
    options = 'label: tbl-x\ntbl-cap: "Cap"\noutput: asis'
    tree = shown(tmp_path, options, [printed("| a |\n|--:|\n| 1 |\n")])
    (figure,) = tree.find("#tbl-x > figure.quarto-float-tbl")
    inside = [c for c in figure["children"] if isinstance(c, dict)]
    assert [c["tag"] for c in inside] == ["figcaption", "div"]
    assert text(inside[0]) == "Table 1.1: Cap"
    (region,) = tree.find(".table-scroll")
    assert region["attrs"]["role"] == "region" and region["attrs"]["tabindex"] == "0"
    assert region["attrs"]["aria-label"] == "Table 1.1: Cap"
    assert tree.find(".table-scroll > table")


def test_a_number_in_a_caption_keeps_its_expression(tmp_path):
    options = "label: fig-x\nfig-alt: A\nfig-cap: 'With [8]{.computed expr=\"2 ** 3\"} points.'"
    tree = shown(tmp_path, options, [drawn()])
    (span,) = tree.find("figcaption > span.computed")
    assert (text(span), span["attrs"]["data-expr"]) == ("8", "2 ** 3")


def test_a_number_in_the_text_keeps_its_expression(tmp_path):
    expr = r"f'{x / 1e6:.1f}M' if 1 < 2 else \"a\""
    source = f'# T\n\nIt is [16.3M]{{.computed expr="{expr}" tolerance="0.1"}}.\n'
    (span,) = Tree(page(tmp_path, source).body).find("span.computed")
    assert span["attrs"]["data-expr"] == "f'{x / 1e6:.1f}M' if 1 < 2 else \"a\""
    assert text(span) == "16.3M"
