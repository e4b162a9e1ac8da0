"""Callouts, tabsets, figures, tables, formulas and exercises in the page's HTML."""

import pytest
from pages import Tree, drawn, page, text
from tiny import write

CALLOUT = "::: {{.callout-{kind}{options}}}\nBody with *words*.\n:::"


def tree(root, source, outputs=None):
    return Tree(page(root, f"# T {{#sec-t}}\n\n{source}\n", outputs).body)


@pytest.mark.parametrize("kind", ["note", "tip", "important", "caution", "warning"])
def test_a_callout_without_title_is_named_after_its_kind(kind, tmp_path):
    read = tree(tmp_path, CALLOUT.format(kind=kind, options=""))
    (box,) = read.find(f"div.callout.callout-{kind}")
    assert "callout-style-default" in box["attrs"]["class"]
    assert text(read.find("div.callout-header > .callout-title-container")[0]) == kind.capitalize()
    assert text(read.find(".callout-body-container > p")[0]) == "Body with words."


def test_a_title_is_markdown_and_its_kind_is_told_to_a_screen_reader(tmp_path):
    options = ' title="It\'s $x$, `code`, \\"q\\" and @sec-t"'
    read = tree(tmp_path, CALLOUT.format(kind="tip", options=options))
    (title,) = read.find(".callout-title-container")
    assert text(title) == "Tip: It’s x, code, “q” and Chapter 1"
    assert text(read.find(".callout-title-container > .screen-reader-only")[0]) == "Tip:"
    assert read.find(".callout-title-container > code")
    assert read.find(".callout-title-container > a.quarto-xref")


def test_a_title_that_begins_with_the_kind_is_not_said_twice(tmp_path):
    read = tree(tmp_path, CALLOUT.format(kind="note", options=' title="Note on x"'))
    assert text(read.find(".callout-title-container")[0]) == "Note on x"


@pytest.mark.parametrize(
    ("box", "title", "says"),
    [
        ("predict", "Predict", "Predict"),
        ("answer", "An answer", "An answer"),
        ("facts", "Chapter facts", "Chapter facts"),
        ("source", "The package\u2019s table", "Source: The package\u2019s table"),
    ],
)
def test_a_box_has_its_class_and_is_named_to_a_screen_reader(box, title, says, tmp_path):
    read = tree(tmp_path, CALLOUT.format(kind="note", options=f' .box-{box} title="{title}"'))
    assert len(read.find(f"div.callout.callout-note.box-{box}")) == 1
    assert text(read.find(".callout-title-container")[0]) == says


def test_the_first_heading_of_a_callout_is_its_title(tmp_path):
    source = "::: {.callout-note}\n## The *title*\n\nBody.\n:::\n\n## A {#sec-a}\n"
    result = page(tmp_path, f"# T\n\n{source}")
    read = Tree(result.body)
    assert text(read.find(".callout-title-container")[0]) == "Note: The title"
    assert [item.id for item in result.toc] == ["sec-a"]
    assert text(read.find("h2")[0]) == "1.1 A"


@pytest.mark.parametrize(("collapse", "opened"), [("true", False), ("false", True)])
def test_a_callout_that_folds_is_a_details_element(collapse, opened, tmp_path):
    options = f' collapse="{collapse}" title="More"'
    read = tree(tmp_path, CALLOUT.format(kind="note", options=options))
    (box,) = read.find("details.callout.callout-note")
    assert ("open" in box["attrs"]) == opened
    (summary,) = read.find("details > summary.callout-header")
    assert text(summary) == "Note: More"
    assert not [n for n in summary["children"] if isinstance(n, dict) and n["tag"] == "div"]
    assert text(read.find("details > .callout-body-container")[0]) == "Body with words."


@pytest.mark.parametrize(
    ("appearance", "style", "icon", "title"),
    [
        ("default", "default", True, "Note"),
        ("simple", "simple", True, None),
        ("minimal", "simple", False, None),
    ],
)
def test_appearance(appearance, style, icon, title, tmp_path):
    read = tree(tmp_path, CALLOUT.format(kind="note", options=f' appearance="{appearance}"'))
    (box,) = read.find(f".callout-style-{style}")
    assert ("no-icon" in box["attrs"]["class"]) != icon
    titles = [text(node) for node in read.find(".callout-title-container")]
    assert titles == ([title] if title else [])


def test_callouts_nest_and_hold_anything(tmp_path):
    source = (
        "::::: {.callout-note}\n- a\n\n  ::: {.callout-tip}\n  b\n  :::\n\n"
        "| t |\n|---|\n| 1 |\n\n$$ x $$\n:::::"
    )
    read = tree(tmp_path, source)
    assert len(read.find("li > .callout-tip")) == 1
    assert read.find(".callout-body-container > .table-scroll") and read.find("math")


TABS = "::: {.panel-tabset}\n## First $x$\n\nOne.\n\n## Second\n\nTwo.\n\n- a\n- b\n:::"


def test_a_tabset_reads_well_without_a_script(tmp_path):
    read = tree(tmp_path, f"## Section {{#sec-s}}\n\n{TABS}")
    (tabs,) = read.find(".panel-tabset > ul")
    assert tabs["attrs"]["role"] == "tablist" and "hidden" in tabs["attrs"]
    assert not [pane for pane in read.find(".tab-pane") if "hidden" in pane["attrs"]]
    assert [text(node) for node in read.find(".tab-pane > h3")] == ["First x", "Second"]


def test_a_tabset_gives_its_script_ids_and_roles(tmp_path):
    read = tree(tmp_path, f"{TABS}\n\n{TABS}")
    tabs, panes = read.find("a.nav-link"), read.find(".tab-pane")
    assert [p["attrs"]["id"] for p in panes] == [
        "tabset-1-1", "tabset-1-2", "tabset-2-1", "tabset-2-2"
    ]  # fmt: skip
    for tab, pane, first in zip(tabs, panes, [True, False] * 2, strict=True):
        assert tab["attrs"]["role"] == "tab" and pane["attrs"]["role"] == "tabpanel"
        assert tab["attrs"]["aria-controls"] == pane["attrs"]["id"]
        assert pane["attrs"]["aria-labelledby"] == tab["attrs"]["id"]
        assert tab["attrs"]["aria-selected"] == ("true" if first else "false")
        assert ("active" in pane["attrs"]["class"].split()) == first
    assert text(panes[1]) == "Second Two. a b"


def test_tabs_are_neither_sections_nor_contents(tmp_path):
    result = page(tmp_path, f"# T\n\n## A {{#sec-a}}\n\n{TABS}\n\n## B {{#sec-b}}\n")
    assert [item.id for item in result.toc] == ["sec-a", "sec-b"]
    assert "1.2" in result.toc[1].html


def test_an_exercise_has_number_and_title(tmp_path):
    source = (
        "::: {#exr-a}\n## With a title\n\nDo.\n:::\n\n::: {#exr-b}\nDo too.\n:::\n\n"
        '::: {#exr-c name="Named $x$"}\n- list\n:::'
    )
    read = tree(tmp_path, source)
    boxes = read.find("div.theorem.exercise")
    assert [box["attrs"]["id"] for box in boxes] == ["exr-a", "exr-b", "exr-c"]
    assert [text(n) for n in read.find(".theorem-title > strong")] == [
        "Exercise 1.1 (With a title)", "Exercise 1.2", "Exercise 1.3 (Named x)"
    ]  # fmt: skip
    assert text(boxes[0]) == "Exercise 1.1 (With a title) Do."
    assert "name" not in boxes[2]["attrs"] and "data-name" not in boxes[2]["attrs"]


def test_a_formula_has_its_number_beside_it(tmp_path):
    read = tree(tmp_path, "Text\n$$\nE = mc^2\n$$ {#eq-e}\nmore, $$x$$ and $y$.")
    boxes = read.find("span.equation")
    assert [box["attrs"].get("id") for box in boxes] == ["eq-e", None]
    assert [n["attrs"]["display"] for n in read.find(".equation > math")] == ["block", "block"]
    assert [text(n) for n in read.find("#eq-e > .equation-number")] == ["(1.1)"]


def test_formulas_are_pandocs_own_mathml(tmp_path):
    from bookbuild import pandoc

    source = "$\\frac{a}{b}$"
    own, _ = pandoc.write_html(pandoc.read_markdown(source)[0])
    (math,) = Tree(page(tmp_path, f"# T\n\n{source}\n").body).find("math")
    assert math == Tree(own).find("math")[0]


def test_aligned_formulas_keep_their_size(tmp_path):
    matrix = r"\begin{pmatrix} 1 & 2 \end{pmatrix}"
    source = rf"$$\begin{{aligned}} a &= b \\ c &= {matrix} \end{{aligned}}$$"
    tables = tree(tmp_path, source).find("mtable")
    assert [table["attrs"].get("displaystyle") for table in tables] == ["true", None]


def test_a_full_stop_stays_with_its_formula(tmp_path):
    read = tree(tmp_path, "See ($x$), $y$. And $z$-axis, $w$ alone.")
    together = [
        text(n) for n in read.find("span") if "nowrap" in n["attrs"].get("style", "")
    ]  # fmt: skip
    assert together == ["(x),", "y.", "z-"]
    assert text(read.find("p")[0]) == "See (x), y. And z-axis, w alone."


TABLE = "| a | b |\n|--:|:-:|\n| 1 | $x$ |\n"


def test_a_table_scrolls_in_a_region_with_a_name_of_its_own(tmp_path):
    read = tree(tmp_path, f"{TABLE}\n\n: Cap *it*. {{#tbl-a}}\n\n{TABLE}\n\n{TABLE}")
    names = [node["attrs"]["aria-label"] for node in read.find(".table-scroll")]
    assert names == ["Table 1.1: Cap it.", "Table: a, b", "Table: a, b (2)"]
    assert text(read.find("#tbl-a > figure > figcaption")[0]) == "Table 1.1: Cap it."
    aligned = [cell["attrs"]["style"] for cell in read.find("td")[:2]]
    assert aligned == ["text-align: right;", "text-align: center;"]


def test_a_caption_without_a_label_has_no_number(tmp_path):
    read = tree(tmp_path, f"{TABLE}\n: Just a caption.\n")
    assert text(read.find("caption")[0]) == "Just a caption."


def test_columns_are_as_wide_as_their_content_or_as_the_author_says(tmp_path):
    wide = f"| {'a' * 60} | {'b' * 60} |\n|---|---|\n| 1 | 2 |\n"
    assert not tree(tmp_path, wide).find("col")
    columns = tree(tmp_path, f'{wide}\n: C. {{#tbl-a tbl-colwidths="[25,75]"}}\n').find("col")
    assert [column["attrs"]["style"] for column in columns] == ["width: 25%", "width: 75%"]


def test_a_table_div_takes_its_caption_from_its_last_paragraph(tmp_path):
    read = tree(tmp_path, f"::: {{#tbl-d}}\n{TABLE}\nThe caption.\n:::")
    assert text(read.find("#tbl-d > figure.quarto-float-tbl > figcaption")[0]) == (
        "Table 1.1: The caption."
    )


SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
     viewBox="0 0 9 9">
  <!-- not for the reader -->
  <style>/* c */ .box, #mark { fill: var(--paper, #fff); } text { fill: url(#grad); }</style>
  <defs><marker id="mark"/><linearGradient id="grad"/></defs>
  <path marker-end="url(#mark)" d="M0 0"/><use xlink:href="#mark"/>
  <text class="box">a &lt; b</text>
</svg>
"""


def drawing(root, svg=SVG, source='![Cap.](../assets/d.svg){#fig-d fig-alt="Alt & \\"text\\""}'):
    write(root / "assets/d.svg", svg)
    return page(root, f"# T\n\n{source}\n")


def test_a_drawing_is_part_of_the_page(tmp_path):
    result = drawing(tmp_path)
    read = Tree(result.body)
    (svg,) = read.find("#fig-d > figure > svg")
    assert svg["attrs"]["role"] == "img"
    assert svg["attrs"]["aria-label"] == 'Alt & "text"'
    assert text(read.find("svg > title")[0]) == "Figure 1.1: Cap."
    assert text(read.find("svg > text")[0]) == "a < b"
    assert "not for the reader" not in result.body and not result.figures


def test_ids_and_styles_of_a_drawing_are_its_own(tmp_path):
    result = drawing(tmp_path)
    read = Tree(result.body)
    assert read.find("#fig-d-svg-mark") and read.find("#fig-d-svg-grad")
    assert read.find("path")[0]["attrs"]["marker-end"] == "url(#fig-d-svg-mark)"
    assert read.find("use")[0]["attrs"]["href"] == "#fig-d-svg-mark"
    style = text(read.find("style")[0])
    assert style == (
        "#fig-d-svg .box, #fig-d-svg #fig-d-svg-mark { fill: var(--paper, #fff); } "
        "#fig-d-svg text { fill: url(#fig-d-svg-grad); }"
    )


def test_the_same_drawing_twice_has_different_ids(tmp_path):
    twice = '![](../assets/d.svg){fig-alt="a"}\n\nText.\n\n![](../assets/d.svg){fig-alt="b"}'
    ids = [n["attrs"]["id"] for n in Tree(drawing(tmp_path, source=twice).body).find("marker")]
    assert ids == ["svg-1-mark", "svg-2-mark"]


UNSAFE = {
    "script": ("<script>x</script>", "<script>"),
    "foreign": ("<foreignObject/>", "<foreignObject>"),
    "handler": ('<path onclick="x"/>', "onclick"),
    "link": ('<use href="https://x.org/a.svg#b"/>', "https://x.org"),
    "address in a style": ("<style>a { fill: url(https://x.org) }</style>", "https://x.org"),
    "address in an attribute": ('<path fill="url(https://x.org#a)"/>', "https://x.org"),
    "import": ("<style>@import 'x.css'; a { fill: red }</style>", "@import"),
    "image": ('<image href="data:image/png;base64,x"/>', "<image>"),
    "not closed": ("<g>", "not XML"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_a_drawing_with_anything_unsafe_stops(name, tmp_path):
    inside, word = UNSAFE[name]
    svg = SVG.replace("</svg>", f"{inside}</svg>")
    with pytest.raises(Exception, match=r"one\.qmd:3: \.\./assets/d\.svg cannot") as caught:
        drawing(tmp_path, svg)
    assert word in str(caught.value)


def test_a_drawing_needs_a_view_box_and_the_right_root(tmp_path):
    with pytest.raises(Exception, match="viewBox"):
        drawing(tmp_path, SVG.replace('viewBox="0 0 9 9"', ""))
    with pytest.raises(Exception, match="its root is not"):
        drawing(tmp_path, "<div/>")
    with pytest.raises(Exception, match="DOCTYPE"):
        drawing(tmp_path, f"<!DOCTYPE svg>{SVG}")


def test_images_of_the_book_are_copied_with_their_size(tmp_path):
    import base64

    png = base64.b64decode(drawn((40, 30)).data["image/png"])
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/a b.png").write_bytes(png)
    source = (
        '![Cap.](../assets/a%20b.png){#fig-p fig-alt="A" width="50%"}\n\n'
        "In a line: ![small](/assets/a%20b.png) here."
    )
    result = page(tmp_path, f"# T\n\n{source}\n")
    first, second = Tree(result.body).find("img")
    assert result.figures == {"assets/a b.png": png}
    assert first["attrs"]["src"] == second["attrs"]["src"] == "../assets/a%20b.png"
    assert first["attrs"]["style"] == "width: 50%"
    assert (second["attrs"]["alt"], second["attrs"]["width"]) == ("small", "40")


def test_a_figure_div_with_a_cell_keeps_the_code_inside(tmp_path):
    source = '::: {#fig-c}\n```{python}\n#| fig-alt: "A"\n1\n```\n\nThe *caption*.\n:::'
    read = tree(tmp_path, source, {1: [drawn()]})
    assert text(read.find("#fig-c > figure > figcaption")[0]) == "Figure 1.1: The caption."
    assert read.find("figure > .cell")


def test_figures_side_by_side_in_a_div(tmp_path):
    write(tmp_path / "assets/d.svg", SVG)
    source = (
        '::: {#fig-both layout-ncol="2"}\n![Left](../assets/d.svg){#fig-l fig-alt="l"}\n\n'
        '![Right](../assets/d.svg){#fig-r fig-alt="r"}\n\nBoth.\n:::\n\n@fig-both, @fig-r.'
    )
    read = tree(tmp_path, source)
    assert [text(n) for n in read.find("figcaption")] == [
        "(a) Left", "(b) Right", "Figure 1.1: Both."
    ]  # fmt: skip
    assert [text(n) for n in read.find("a.quarto-xref")] == ["Figure 1.1", "Figure 1.1 (b)"]
    assert len(read.find(".quarto-layout-panel > .quarto-float")) == 2


def test_formulas_are_set_with_the_care_that_tex_takes(tmp_path):
    body = page(
        tmp_path, r"# T {#sec-t}" + "\n\n" + r"$\sqrt{n}$, $\ln p$, $\ln(p)$ and $f'$." + "\n"
    ).body
    root, bare, bracketed, prime = body.split("<math")[1:]
    assert "<msqrt><mspace height=" in root  # as high as a letter
    assert "&#8289;</mo></mrow><mspace width=" in bare
    assert "mspace" not in bracketed
    assert "<mrow><mi>f</mi><mo>′</mo></mrow>" in prime  # the font's prime is raised already


def test_a_computed_number_stays_on_its_line_and_words_do_not(tmp_path):
    source = '[9e-13]{.computed expr="1"} and [more than one]{.computed expr="2"}'
    read = tree(tmp_path, source)
    assert [text(each) for each in read.find("span.computed")] == ["9e-13", "more than one"]
    assert [text(each) for each in read.find("span.computed.whole")] == ["9e-13"]
