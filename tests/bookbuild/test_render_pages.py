"""Whole pages: valid HTML, contents, text for the search, links, citations, footnotes."""

import re

import pytest
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from bookbuild.notebook import ChapterError
from bookbuild.render import render_pages
from pages import Tree, make_book, page, printed, render, text
from tiny import edit


@pytest.fixture
def tiny_pages(executed_book):
    book = read_book(executed_book)
    return {page.entry.href: page for page in render_pages(book, execute_book(book))}


def test_the_tiny_book_renders(tiny_pages):
    assert list(tiny_pages) == ["index.html", "book/waves.html", "book/counts.html"]
    waves, counts = tiny_pages["book/waves.html"], tiny_pages["book/counts.html"]
    assert (waves.number, waves.title, waves.id) == ("1", "Waves", "sec-waves")
    assert (counts.number, counts.title) == ("2", "Counts")
    assert tiny_pages["index.html"].number is None
    links = {text(n): n["attrs"]["href"] for n in Tree(counts.body).find("a.quarto-xref")}
    assert links == {"Figure 1.1": "waves.html#fig-wave", "Table 2.1": "#tbl-points"}
    assert list(waves.figures) == ["book/waves_files/fig-wave-output-1.png"]


def test_every_page_is_valid_and_every_id_stands_once(tiny_pages):
    for result in tiny_pages.values():
        ids = [n["attrs"]["id"] for n in Tree(result.body).find("") if "id" in n["attrs"]]
        assert len(ids) == len(set(ids)) and result.id not in ids
        assert not re.search(r"book-|data-line|:::|\?\?", result.body)
        for node in Tree(result.body).find("p"):
            inside = {c["tag"] for c in node["children"] if isinstance(c, dict)}
            assert not inside & {"div", "p", "figure", "table", "ul", "pre"}


def test_rendering_twice_gives_the_same(executed_book):
    book = read_book(executed_book)
    first, second = (render_pages(book, execute_book(book)) for _ in range(2))
    assert [(p.body, p.notebook, p.figures) for p in first] == [
        (p.body, p.notebook, p.figures) for p in second
    ]


def test_title_in_html_and_as_text(tmp_path):
    result = page(tmp_path, "# The *big* $x$ `code` & \"more\" {#sec-t}\n\nText.\n")
    assert result.title == "The big x code & “more”"
    assert result.title_html.startswith("The <em>big</em> <math")
    assert "<code>code</code> &amp; “more”" in result.title_html
    assert Tree(result.title_html) and "h1" not in result.body


def test_title_from_the_front_matter(tmp_path):
    result = page(tmp_path, "---\ntitle: The *big* one\n---\n\nText.\n")
    assert (result.title, result.title_html) == ("The big one", "The <em>big</em> one")
    assert result.id == ""


SECTIONS = """\
# T {#sec-t}

Before $E = mc^2$.[^n]

## One [link](https://a.org) & @sec-t [^m] {#sec-one}

First text.

### Inner `code` {#sec-inner}

Inner text, "quoted".

#### Deep {#sec-deep}

Deep text.

## References {.unnumbered .unlisted}

[^n]: A note.
[^m]: Another.
"""


def test_contents(tmp_path):
    toc = page(tmp_path, SECTIONS).toc
    assert [(item.level, item.id) for item in toc] == [(2, "sec-one"), (3, "sec-inner")]
    assert toc[0].html == (
        '<span class="header-section-number">1.1</span> One link &amp; Chapter\u00a01'
    )
    assert toc[1].html.endswith("</span> Inner <code>code</code>")
    deeper = page(tmp_path, SECTIONS, extra="toc-depth: 4\n").toc
    assert [item.id for item in deeper] == ["sec-one", "sec-inner", "sec-deep"]


def test_text_for_the_search(tmp_path):
    sections = page(tmp_path, SECTIONS).sections
    assert [(s.id, s.title) for s in sections[:4]] == [
        ("", "T"), ("sec-one", "One link & Chapter 1"), ("sec-inner", "Inner code"),
        ("sec-deep", "Deep"),
    ]  # fmt: skip
    assert sections[0].text == "Before E = mc^2."
    assert sections[2].text == "Inner text, “quoted”."
    assert "A note." in " ".join(section.text for section in sections)


def test_text_for_the_search_keeps_words_apart_and_code(tmp_path):
    source = "# T\n\n- one\n- two\n\n| a | b |\n|---|---|\n| c | d |\n\n```{python}\nf(x)\n```\n"
    (section,) = page(tmp_path, source, {1: [printed("out\n")]}).sections
    assert section.text.split() == ["one", "two", "a", "b", "c", "d", "f(x)", "out"]


def test_links_to_chapters_become_links_to_pages(tmp_path):
    one = (
        "# One {#sec-one}\n\n[a](two.qmd) [b](two.qmd#sec-x) [c](../index.qmd) [d](#sec-one)\n"
        "[e](https://x.org/a.qmd) [f](references.bib) [g](two.ipynb) [h](/book/two.qmd#sec-x)\n"
        "[i](one.qmd)\n"
    )
    book = make_book(tmp_path, {"one": one, "two": "# Two\n\n## X {#sec-x}\n"})
    links = Tree(render(book)["one"].body).find("a")
    assert {text(link): link["attrs"]["href"] for link in links} == {
        "a": "two.html", "b": "two.html#sec-x", "c": "../index.html", "d": "#sec-one",
        "e": "https://x.org/a.qmd", "f": "references.bib", "g": "two.ipynb",
        "h": "two.html#sec-x", "i": "#",
    }  # fmt: skip


def test_citations_and_their_works(tmp_path):
    result = page(tmp_path, "# T\n\n@doe2001 says [@doe2001, p. 3; see -@doe2001].\n\n## A\n")
    read = Tree(result.body)
    assert text(read.find("p")[0]).startswith("Doe (2001) says (Doe 2001, 3;")
    (section,) = read.find("section#quarto-bibliography")
    assert text(section) == "References Doe, Jane. 2001. Works. P."
    assert read.find("#refs > #ref-doe2001") and result.toc[-1].id == "a"


def test_works_stand_where_the_author_puts_them(tmp_path):
    source = "# T\n\nAs @doe2001.\n\n## Read on {#sec-r}\n\n::: {#refs}\n:::\n\n## End {#sec-e}\n"
    read = Tree(page(tmp_path, source).body)
    assert read.find("section#sec-r > #refs > #ref-doe2001")
    assert not read.find("#quarto-bibliography")


def test_a_page_without_citations_has_no_references(tmp_path):
    read = Tree(page(tmp_path, "# T\n\n`@doe2001` and a@b.org.\n").body)
    assert not read.find("#refs")


def test_a_citation_printed_by_a_cell(tmp_path):
    source = "# T\n\n```{python}\n#| output: asis\n1\n```\n"
    assert Tree(page(tmp_path, source, {1: [printed("See @doe2001.\n")]}).body).find("#ref-doe2001")


def test_footnotes(tmp_path):
    source = (
        "# T\n\nOne.[^a] Two.^[Inline *note*.]\n\n## S\n\n"
        "[^a]: First.\n\n    Second paragraph.\n"
    )
    read = Tree(page(tmp_path, source).body)
    (notes,) = read.find("section.footnotes")
    assert notes["attrs"]["role"] == "doc-endnotes"
    assert [n["attrs"]["href"] for n in read.find("a.footnote-ref")] == ["#fn1", "#fn2"]
    assert [text(n).removesuffix("↩︎") for n in read.find("section.footnotes > ol > li")] == [
        "First. Second paragraph.", "Inline note."
    ]  # fmt: skip


def test_comments_do_not_reach_the_page(tmp_path):
    body = page(tmp_path, "# T\n\nText <!-- secret --> more.\n\n<!-- secret -->\n").body
    assert "secret" not in body and text(Tree(body).find("p")[0]) == "Text more."


def test_a_formula_that_cannot_be_read_stops_at_its_line(tmp_path):
    source = "# T\n\nText.\n\n$$\na = 1\n\\badness{x}\n$$\n"
    with pytest.raises(ChapterError, match=r"one\.qmd:\d: a formula cannot be read") as caught:
        page(tmp_path, source)
    assert caught.value.line in (5, 6, 7)


def test_an_error_in_one_chapter_names_that_chapter(executed_book):
    edit(executed_book / "book/counts.qmd", "@tbl-points lists", "@tbl-pionts lists")
    book = read_book(executed_book)
    with pytest.raises(ChapterError, match=r"counts\.qmd:\d+: @tbl-pionts: the book has no label"):
        render_pages(book, execute_book(book))


def test_the_same_under_another_locale(executed_book, tmp_path):
    """UTF-8 does not depend on the machine's settings."""
    import os
    import subprocess
    import sys

    script = (
        "import sys\nfrom pathlib import Path\nfrom pages import page\n"
        "out = page(Path(sys.argv[1]), '# Tïtle → “x” 数\\n\\n– π ≈ 3\\n')\n"
        "assert out.title == 'Tïtle → “x” 数', ascii(out.title)\n"
        "assert '– π ≈ 3' in out.body, ascii(out.body)\n"
    )
    environment = os.environ | {"LC_ALL": "C", "PYTHONPATH": os.path.dirname(__file__)}
    environment["PYTHONUTF8"] = "0"
    (tmp_path / "s.py").write_text(script, encoding="utf-8")
    subprocess.run(
        [sys.executable, str(tmp_path / "s.py"), str(tmp_path / "b")], env=environment, check=True
    )
