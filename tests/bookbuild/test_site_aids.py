"""What a site adds for its readers: descriptions, reading time, footer, glossary, synonyms."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bookbuild.document import REFERENCES, TERM
from bookbuild.formula import formula_text
from bookbuild.glossary import split_glossary
from bookbuild.outline import describe, read_outline
from bookbuild.search import SynonymError, read_synonyms, search_index
from bookbuild.site import SiteError, write_site
from pages import make_book, page, render

FORMULAS = {
    "d_k": "d_k",
    r"\sqrt{d_k}": "√d_k",
    r"\frac{1}{\sqrt{d_k}}": "1/√d_k",
    r"\frac{a+b}{c}": "(a + b)/c",
    r"x_{i+1}^2": "x_(i + 1)^2",
    r"\sum_{i=1}^{n} x_i": "∑_(i = 1)^n x_i",
    r"QK^\top": "QK⊤",
    r"\hat{y}, \mathrm{softmax}(z)": "y\u0302, softmax(z)",
    r"W \in \mathbb{R}^{C \times T}": "W ∈ ℝ^(C×T)",
    r"(x - \mu)^2": "(x − μ)^2",
    r"-x = -1": "−x = −1",
    r"\begin{aligned} a &= 1 \\ b &= 2 \end{aligned}": "a = 1; b = 2",
    r"\partial L / \partial w": "∂L/∂w",
    r"\text{loss}": "loss",
}


@pytest.mark.parametrize("tex", FORMULAS)
def test_a_formula_is_a_line_that_reads_well(tmp_path, tex):
    body = page(tmp_path, f"# T {{#sec-t}}\n\n${tex}$\n").body
    (math,) = re.findall(r"<math\b.*?</math>", body, re.S)
    assert formula_text(math) == FORMULAS[tex]


def test_the_text_of_a_section_has_the_line_and_not_the_source(tmp_path):
    text = "# T {#sec-t}\n\n## The $d_k$ of it\n\nDivide by $\\sqrt{d_k}$, once.\n"
    section = page(tmp_path, text).sections[1]
    assert (section.title, section.text) == ("The d_k of it", "Divide by √d_k, once.")


def test_the_list_of_works_is_known_as_one(tmp_path):
    sections = page(tmp_path, "# T {#sec-t}\n\n## One\n\nAs @doe2001 says.\n").sections
    assert [section.kind for section in sections] == ["", "", REFERENCES]


DESCRIPTIONS = {
    "<p>One sentence.</p><p>More.</p>": "One sentence.",
    "<ul><li>no</li></ul><p>With <em>words</em> of 3.5 &amp; so.</p>": "With words of 3.5 & so.",
    f"<p>First. {'Second ' * 40}.</p>": "First.",
    f"<p>{'word ' * 60}.</p>": "word " * 39 + "…",
    "<ul><li>nothing</li></ul>": "",
}


@pytest.mark.parametrize("body", DESCRIPTIONS)
def test_a_page_is_described_by_its_first_sentences(body):
    assert describe({}, body) == DESCRIPTIONS[body]


def test_the_front_matter_describes_it_better(tmp_path):
    text = "---\ndescription: >\n  Of its\n  own.\n---\n\n# T {#sec-t}\n\nText.\n"
    assert page(tmp_path, text).description == "Of its own."


def test_words_of_prose_count_and_code_and_works_do_not():
    body = (
        "<p>One two <code>three</code>.</p><pre><code>not this</code></pre><ul><li>four</li>"
        '<li>five</li></ul><section id="w"><h2>Title</h2><div id="refs"><p>not these</p></div>'
        "</section>"
    )
    assert read_outline(body, "", 3).words == 5


TEXT = "# T {#sec-t}\n\nText.\n"


def site_of(tmp_path, extra="", repo="", **changed):
    book = make_book(tmp_path, {"one": TEXT, "glossary": "# G {#sec-g}\n\nWords.\n"}, extra=extra)
    book = replace(book, repo_url=repo or None)
    pages = render(book)
    for name, value in changed.items():
        setattr(pages["one"], name, value)
    write_site(book, list(pages.values()))
    return (book.output / "book/one.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "minutes"), [(0, 5), (1100, 5), (1600, 10), (7000, 35)])
def test_a_chapter_says_how_long_its_prose_takes(tmp_path, words, minutes):
    assert f"About {minutes} minutes to read" in site_of(tmp_path, words=words)


def test_the_footer_leads_to_source_and_errors_where_there_is_a_repository(tmp_path):
    html = site_of(tmp_path, repo="https://example.org/r/")
    assert 'href="https://example.org/r/blob/main/book/one.qmd">Source of this page' in html
    report = 'href="https://example.org/r/issues/new?title=book/one.qmd%3A%20">Report an error'
    assert report in html
    without = site_of(tmp_path)
    assert "Source of this page" not in without
    assert "Report an error" not in without


LICENCES = {
    "license: CC BY\n": "<li>CC BY</li>",
    "license:\n  text: CC BY 4.0\n  url: https://example.org/l\n": (
        '<li><a rel="license" href="https://example.org/l">CC BY 4.0</a></li>'
    ),
}


@pytest.mark.parametrize("extra", LICENCES)
def test_the_footer_has_the_licence(tmp_path, extra):
    assert LICENCES[extra] in site_of(tmp_path, extra)


GLOSSARY = """\
# Words {#sec-words}

About them.

| term | meaning |
|:--|:--|
| key, query | *two* words |
| $d_k$ | a width |

: All. {#tbl-words}
"""


def test_each_row_of_the_glossary_is_a_place_of_its_own(tmp_path):
    book = make_book(tmp_path, {"one": TEXT, "glossary": GLOSSARY})
    pages = render(book)
    split = split_glossary(pages["glossary"])
    terms = [section for section in split.sections if section.kind == TERM]
    assert [(term.id, term.title, term.text) for term in terms] == [
        ("term-key-query", "key, query", "two words"),
        ("term-d_k", "d_k", "a width"),
    ]
    for term in terms:
        assert split.body.count(f'id="{term.id}"') == 1
    assert "two words" not in split.sections[0].text
    assert "About them." in split.sections[0].text
    assert split_glossary(pages["one"]) is pages["one"]
    index = search_index([split], [["a", "b"]])
    index = json.loads(index.removeprefix("window.bookIndex = ").removesuffix(";\n"))
    assert index["sections"][-1] == [0, "term-d_k", "d_k", "a width", "term"]
    assert index["synonyms"] == [["a", "b"]]


def test_synonyms_are_groups_of_words(tmp_path):
    path = tmp_path / "synonyms.yml"
    assert read_synonyms(path) == []
    path.write_text("- [RoPE, rotary positions]\n", encoding="utf-8")
    assert read_synonyms(path) == [["RoPE", "rotary positions"]]


@pytest.mark.parametrize("text", ["a: b\n", "- [one]\n", "- [1, 2]\n", "- word\n", "- [a, b\n", ""])
def test_what_are_no_synonyms_is_refused(tmp_path, text):
    path = tmp_path / "synonyms.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SynonymError, match=r"synonyms\.yml"):
        read_synonyms(path)
    write = make_book(tmp_path / "book", {"one": TEXT})
    (write.root / "book/synonyms.yml").write_text(text, encoding="utf-8")
    with pytest.raises(SiteError, match=r"synonyms\.yml"):
        write_site(write, list(render(write).values()))


def test_a_drawing_says_how_wide_it_has_to_be(tmp_path):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 80"{}>{}</svg>'
    sizes = {
        svg.format(' font-size="12"', "<style>.a { font-size: 16px; }</style>"): 550,
        svg.format("", "<style>.a { font: italic 10px/1.2 serif; }</style>"): 660,
        svg.format("", '<text style="font-size: 22px">a</text>'): 300,
        svg.format("", "<path d='M0 0'/>"): None,
    }
    for drawing, size in sizes.items():
        (tmp_path / "d.svg").write_text(drawing, encoding="utf-8")
        text = '# T {#sec-t}\n\n![](../d.svg){fig-alt="a" width="50%"}\n'
        book = make_book(tmp_path, {"one": text})
        body = render(book)["one"].body
        found = re.search(r'<svg [^>]*style="([^"]*)"', body)[1]
        wanted = f"--legible: {size}px; width: 50%" if size else "width: 50%"
        assert found == wanted


def test_the_book_has_a_word_of_each_group_of_synonyms():
    root = Path(__file__).resolve().parents[2]
    text = " ".join(path.read_text(encoding="utf-8") for path in (root / "book").glob("*.qmd"))
    text = re.sub(r"[^\w]+", " ", text.lower())
    groups = read_synonyms(root / "book/synonyms.yml")
    empty = [
        group
        for group in groups
        if not any(re.sub(r"[^\w]+", " ", word.lower()) in text for word in group)
    ]
    assert groups
    assert not empty
