"""Both renderers give the same numbers, reference texts and anchors.

What is compared is read from the HTML by the same code for both. Where Quarto is not on
PATH, that code is still held to a page of ours and to a page as Quarto writes it.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from bookbuild.config import read_book
from bookbuild.document import RenderedPage
from bookbuild.execute import execute_book
from bookbuild.render import render_pages
from pages import Tree, drawn, page, text
from tiny import edit, write

# Constructs that the tiny book does not have, put at the end of its first chapter.
MORE = """\

## More of it {#sec-more}

### Deeper {#sec-deeper}

See @sec-waves, @sec-counts, @sec-drawing and @sec-deeper; [-@fig-wave], [@fig-wave; @eq-sine],
@exr-double, @tbl-samples, @tbl-points, @Eq-more and [a link](counts.qmd).

$$
x
$$ {#eq-more}

::: {#fig-div}

![](wave.svg){fig-alt="A line"}

A figure in a div.
:::

![A figure of its own](wave.svg){#fig-own fig-alt="A line"}

@fig-div, @fig-own.

## Not counted {.unnumbered}

"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" width="10" height="10">'
    '<path d="M0 0 L9 9" stroke="black"/></svg>\n'
)


def facts(html: str, chapter: str) -> dict:
    """What both renderers must agree on, read from a page.

    Args:
        html: the page, or its content.
        chapter: the id of the title, which a link to the chapter may leave out.
    """
    tree = Tree(html, strict=False)
    nodes = tree.find("")
    ids = {node["attrs"]["id"]: node for node in nodes if node["attrs"].get("id")}
    labels = {name: node for name, node in ids.items() if re.match("(fig|tbl|eq|exr)-", name)}
    found = {"references": [], "numbers": {}, "sections": []}
    for name, node in labels.items():
        said = text(node)
        if name.startswith("eq-"):
            number = re.search(r"\(([\d.]+)\)$", said)
        elif name.startswith("exr-"):
            number = re.match(r"Exercise [\d.]+( \([^)]*\))?", said)
        else:
            captions = [n for n in _inside(node) if n["tag"] == "figcaption"]
            number = captions and re.match(r"(Figure|Table) [\d.]+", text(captions[-1]))
        if number:
            found["numbers"][name] = number[0]
    for section in tree.find("section"):
        heading = [c for c in section["children"] if _tag(c) in ("h2", "h3", "h4")]
        hidden = {"footnotes", "quarto-bibliography"}
        if heading and section["attrs"].get("id") not in hidden:
            found["sections"].append((section["attrs"]["id"], text(heading[0])))
    for link in tree.find("a.quarto-xref"):
        file, _, anchor = link["attrs"]["href"].partition("#")
        anchor = "" if anchor == chapter or (file and anchor in TITLES) else anchor
        found["references"].append((text(link), file, anchor))
    return found


TITLES = {"sec-waves", "sec-counts"}


def _tag(node) -> str:
    return node["tag"] if isinstance(node, dict) else ""


def _inside(node):
    for child in node["children"]:
        if isinstance(child, dict):
            yield child
            yield from _inside(child)


def chapter_number(html: str) -> str | None:
    """From the title of a page of Quarto's."""
    numbers = [
        text(node) for title in Tree(html, strict=False).find("h1.title")
        for node in _inside(title) if "chapter-number" in (node["attrs"].get("class") or "")
    ]  # fmt: skip
    return numbers[0] if numbers else None


@pytest.fixture
def richer_book(executed_book):
    edit(executed_book / "book/waves.qmd", "## References {.unnumbered}", f"{MORE}## Works")
    write(executed_book / "book/wave.svg", SVG)
    return executed_book


def ours(root) -> dict[str, RenderedPage]:
    book = read_book(root)
    return {page.entry.href: page for page in render_pages(book, execute_book(book))}


@pytest.mark.skipif(
    shutil.which("quarto") is None,
    reason="Quarto is not on PATH, so the two renderers cannot be compared; install it from "
    "https://quarto.org to run this test",
)
def test_quarto_and_the_built_in_renderer_agree(richer_book):
    pages = ours(richer_book)
    environment = {"QUARTO_PYTHON": sys.executable, "PYTHONPATH": str(richer_book / "code")}
    subprocess.run(
        ["quarto", "render", "--to", "html"], cwd=richer_book, check=True, timeout=300,
        env=os.environ | environment,
    )  # fmt: skip
    for href, result in pages.items():
        html = (richer_book / "_site" / href).read_text(encoding="utf-8")
        assert chapter_number(html) == result.number, href
        assert facts(html, result.id) == facts(result.body, result.id), href


def test_facts_of_our_own_pages(richer_book):
    pages = ours(richer_book)
    waves = pages["book/waves.html"]
    found = facts(waves.body, waves.id)
    assert found["sections"] == [
        ("sec-drawing", "1.1 Drawing it"),
        ("sec-more", "1.2 More of it"),
        ("sec-deeper", "1.2.1 Deeper"),
        ("not-counted", "Not counted"),
        ("works", "1.3 Works"),
    ]
    assert found["numbers"] == {
        "eq-sine": "(1.1)", "fig-wave": "Figure 1.1", "tbl-samples": "Table 1.1",
        "exr-double": "Exercise 1.1 (Twice as many)", "eq-more": "(1.2)",
        "fig-div": "Figure 1.2", "fig-own": "Figure 1.3",
    }  # fmt: skip
    assert found["references"] == [
        ("Figure 1.1", "", "fig-wave"),
        ("Equation 1.1", "", "eq-sine"),
        ("Table 1.1", "", "tbl-samples"),
        ("Chapter 2", "counts.html", ""),
        ("Chapter 1", "", ""),
        ("Chapter 2", "counts.html", ""),
        ("Section 1.1", "", "sec-drawing"),
        ("Section 1.2.1", "", "sec-deeper"),
        ("1.1", "", "fig-wave"),
        ("Figure 1.1", "", "fig-wave"),
        ("Equation 1.1", "", "eq-sine"),
        ("Exercise 1.1", "", "exr-double"),
        ("Table 1.1", "", "tbl-samples"),
        ("Table 2.1", "counts.html", "tbl-points"),
        ("Equation 1.2", "", "eq-more"),
        ("Figure 1.2", "", "fig-div"),
        ("Figure 1.3", "", "fig-own"),
    ]


# As Quarto writes the same things: its documentation and its filters tell the structure.
QUARTO = """\
<!DOCTYPE html>
<html><head><meta charset="utf-8"><link href="x.css" rel="stylesheet"></head><body>
<header id="title-block-header" class="quarto-title-block default"><div class="quarto-title">
<h1 class="title"><span id="sec-waves" class="quarto-section-identifier"><span
class="chapter-number">1</span>&nbsp; <span class="chapter-title">Waves</span></span></h1>
</div></header>
<p>See <a href="#fig-wave" class="quarto-xref"><span>Figure&nbsp;1.1</span></a>,
<a href="counts.html" class="quarto-xref"><span>Chapter 2</span></a> and
<a href="counts.html#tbl-points" class="quarto-xref"><span>Table 2.1</span></a>.<br></p>
<section id="sec-drawing" class="level2" data-number="1.1">
<h2 data-number="1.1" class="anchored" data-anchor-id="sec-drawing"><span
class="header-section-number">1.1</span> Drawing it</h2>
<div id="cell-fig-wave" class="cell" data-execution_count="2">
<div class="cell-output cell-output-display">
<div id="fig-wave" class="quarto-float quarto-figure quarto-figure-center anchored" alt="A">
<figure class="quarto-float quarto-float-fig figure">
<div aria-describedby="fig-wave-caption-0ceaefa1-69ba-4598-a22c-09a6ac19f8ca">
<img src="waves_files/figure-html/fig-wave-output-1.png" width="300" class="figure-img" alt="A">
</div>
<figcaption class="quarto-float-caption-bottom quarto-float-caption quarto-float-fig"
id="fig-wave-caption-0ceaefa1-69ba-4598-a22c-09a6ac19f8ca">
Figure&nbsp;1.1: A turn.
</figcaption>
</figure>
</div></div></div>
<p><span id="eq-sine"><math display="block"><semantics><mrow><mi>s</mi><mspace width="2.0em"/>
<mo>(</mo><mn>1.1</mn><mo>)</mo></mrow><annotation encoding="application/x-tex">
s \\qquad(1.1)</annotation></semantics></math></span></p>
<div id="tbl-samples" class="quarto-float quarto-figure quarto-figure-center anchored">
<figure class="quarto-float quarto-float-tbl figure">
<figcaption class="quarto-float-caption-top quarto-float-caption quarto-float-tbl"
id="tbl-samples-caption-0ceaefa1-69ba-4598-a22c-09a6ac19f8ca">Table&nbsp;1.1: Four.</figcaption>
<div aria-describedby="tbl-samples-caption-0ceaefa1-69ba-4598-a22c-09a6ac19f8ca">
<table class="caption-top table"><tbody><tr><td>1</td></tr></tbody></table></div>
</figure></div>
<div id="exr-double" class="theorem exercise"><p><span class="theorem-title"><strong>Exercise
1.1 (Twice as many)</strong></span> How many?</p></div>
</section>
<section id="footnotes" class="footnotes footnotes-end-of-document" role="doc-endnotes"></section>
</body></html>
"""


def test_facts_of_a_page_as_quarto_writes_it():
    assert chapter_number(QUARTO) == "1"
    assert facts(QUARTO, "sec-waves") == {
        "sections": [("sec-drawing", "1.1 Drawing it")],
        "numbers": {
            "fig-wave": "Figure 1.1", "eq-sine": "(1.1)", "tbl-samples": "Table 1.1",
            "exr-double": "Exercise 1.1 (Twice as many)",
        },
        "references": [
            ("Figure 1.1", "", "fig-wave"),
            ("Chapter 2", "counts.html", ""),
            ("Table 2.1", "counts.html", "tbl-points"),
        ],
    }  # fmt: skip


def test_the_comparison_sees_a_difference(tmp_path):
    cell = "```{{python}}\n#| label: fig-a\n#| fig-cap: c\n#| fig-alt: a\n1\n```"
    source = f"# T {{{{#sec-t}}}}\n\n## {{}}S {{{{#sec-s}}}}\n\n{cell}\n\n@fig-a {{}}\n"
    one, two = (
        page(tmp_path, source.format(*words), {1: [drawn()]}).body
        for words in (("", ""), ("Other ", "@sec-s"))
    )
    assert facts(one, "sec-t")["sections"] != facts(two, "sec-t")["sections"]
    assert facts(one, "sec-t")["references"] != facts(two, "sec-t")["references"]
    renumbered = facts(one.replace("1.1", "1.2"), "sec-t")["numbers"]
    assert facts(one, "sec-t")["numbers"] != renumbered
