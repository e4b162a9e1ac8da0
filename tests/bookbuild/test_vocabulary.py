"""The build stops at what is outside the vocabulary: file, line, what is allowed."""

import pytest
from bookbuild.notebook import ChapterError, read_chapter
from bookbuild.pandoc import PandocError, citation_keys
from bookbuild.vocabulary import check_vocabulary
from pages import drawn, make_book, page, printed, render
from tiny import write

# What stands in the chapter, the line of the mistake, words of the message.
# The chapter begins with a title, so the text's first line is line 3.
STOPS = {
    "unknown div": ("::: {.column-margin}\nx\n:::", 3, ".column-margin is not known", "#fig-…"),
    "div without anything": ("::: {}\nx\n:::", 3, "div {} is not known"),
    "bare unknown div": ("Text.\n\n::: warning\nx\n:::", 5, ".warning is not known"),
    "unknown callout": ("::: {.callout-danger}\nx\n:::", 3, "callout-danger", "-caution"),
    "two callouts at once": ("::: {.callout-tip .callout-note}\nx\n:::", 3, "give one of"),
    "unknown box": ("::: {.callout-note .box-fact}\nx\n:::", 3, ".box-fact", "one of .box-facts"),
    "two boxes": ("::: {.callout-note .box-facts .box-answer}\nx\n:::", 3, "give one of"),
    "box without callout": ("::: {.box-facts}\nx\n:::", 3, ".box-facts is not known"),
    "callout attribute": ('::: {.callout-tip tilte="x"}\nx\n:::', 3, "tilte", "known: title"),
    "callout collapse": ('::: {.callout-tip collapse="yes"}\nx\n:::', 3, '"yes"', "true or false"),
    "callout with id": ("::: {#nte-x .callout-note}\nx\n:::", 3, "no id"),
    "empty callout": ("::: {.callout-note}\n:::", 3, "holds nothing"),
    "callout in a callout, unclosed": (
        "::: {.callout-note}\nx\n\n::: {.callout-tip}\ny\n:::", 3, "not closed", ":::"
    ),
    "unclosed div": ("Text.\n\n::: {.callout-note}\nx", 5, "not closed", ":::"),
    "div closed twice": ("::: {.callout-note}\nx\n:::\n\n:::", 7, "not open"),
    "div without a blank line before": ("Text\n::: {.callout-note}\nx\n:::", 4, "blank line"),
    "div indented too far in a list": (
        "- item\n\n      ::: {.callout-note}\n      x\n      :::", 5, "as far as the item's text"
    ),
    "attributes on two lines": ('::: {.callout-note\ntitle="x"}\nx\n:::', 3, "does not open a div"),
    "unknown label of a div": ("::: {#lst-x}\nx\n:::", 3, "#lst-x is not known", "#fig-…"),
    "shortcode": ("Text.\n\n{{< include x.qmd >}}", 5, "shortcode"),
    "shortcode in shown code": ("```\n{{< video x >}}\n```", 4, "shortcode"),
    "raw HTML block": ("Text.\n\n<div>\n\nx\n\n</div>", 5, "raw HTML: <div>", "write Markdown"),
    "raw HTML inline": ("Text with <b>bold</b>.", 3, "raw HTML: <b>"),
    "raw HTML between single quotes": (
        "Text.\n\n<div class='x'>\n\nx\n\n</div>", 5, 'raw HTML: <div class="x">'
    ),
    "raw HTML inline by attribute": ("Text.\n\nText with `<b>`{=html}.", 5, "raw HTML: <b>"),
    "footnote without text": (
        "Text.\n\nLine.\nText[^nope].", 6, "[^nope] has no text", "[^nope]:"
    ),
    "NUL byte": ("Text.\n\nA b\0c.", 5, "a NUL byte"),
    "NUL byte in a cell": ("Text.\n\n```{python}\n'\0'\n```", 6, "a NUL byte"),
    "unknown web component": ("A <my-plot data='x'></my-plot>.", 3, "<my-plot"),
    "script": ("Text.\n\n<script>alert(1)</script>", 5, "raw HTML"),
    "raw LaTeX": ("Text.\n\nA \\textbf{x} word.", 5, "raw LaTeX", "$"),
    "raw LaTeX block": ("\\begin{center}\nx\n\\end{center}", 3, "raw LaTeX"),
    "raw block by attribute": ("```{=html}\n<b>x</b>\n```", 3, "raw html"),
    "ojs": ("```{ojs}\nx\n```", 3, "{ojs} cell", "python"),
    "mermaid": ("Text.\n\n```{mermaid}\ngraph\n```", 5, "{mermaid} cell"),
    "r": ("```{r}\n1\n```", 3, "{r} cell"),
    "cell in a block quote": ("> ```{python}\n> 1\n> ```", 3, "outside block quotes"),
    "cell where no code can stand": (
        "- item\n\n        ```{python}\n        1\n        ```", 5, "sees no code block"
    ),
    "code that is not closed": ("Text.\n\n```python\nx", 5, "not closed", "```"),
    "cell that is not closed": ("Text.\n\n```{python}\nx", 5, "not closed"),
    "formula that is not closed": ("Text.\n\n$$\nx = 1\n\nText.", 5, "not closed", "$$"),
    "formula closed in the next paragraph": ("$$\nx\n\ny\n$$", 3, "not closed"),
    "label on nothing": ("Text {#eq-x}.", 3, "{#eq-x}", "not attached"),
    "label of a formula": ("$$\nx\n$$ {#equ-x}", 5, "{#equ-x}", "{#eq-…}"),
    "label of inline maths": ("Text $x$ {#eq-x}.", 3, "not attached"),
    "id of a heading": ("Text.\n\n## Two {#two}", 5, "the heading's id is two", "sec-"),
    "id of a heading like a figure's": ("## Two {#fig-two}", 3, "begins with sec-"),
    "class of a heading": ("## Two {.big}", 3, ".big", ".unnumbered"),
    "second title": ("Text.\n\n# Two", 5, "a second title", "##"),
    "heading in a list": ("- item\n\n  ## Two", 5, "inside a div, list or quote"),
    "heading deep in a callout": ("::: {.callout-note}\nx\n\n## Two\n:::", 6, "inside a div"),
    "title and heading in a callout": (
        '::: {.callout-note title="x"}\n## Two\n\ny\n:::', 4, "inside a div"
    ),
    "heading in a figure": ("::: {#fig-x}\n## Two\n\ny\n:::", 4, "inside a div"),
    "tabset without tabs": ("::: {.panel-tabset}\nx\n:::", 3, "begins with the heading"),
    "tabs of two levels": ("::: {.panel-tabset}\n## A\n\nx\n\n### B\n:::", 3, "same level"),
    "span": ("A [word]{.term} here.", 3, "a span is only", ".computed"),
    "small capitals": ("A [word]{.smallcaps} here.", 3, "SmallCaps is not in the vocabulary"),
    "span with an id": ("Line.\nA [word]{#w} here.", 4, "a span is only"),
    "computed with more": ('A [1]{.computed expr="1" .x} b.', 3, "computed"),
    "image without alt text": ("Text.\n\n![Caption](a.png)", 5, "no alt text", "fig-alt"),
    "image with blank alt text": ('![Caption](a.png){fig-alt=" "}', 3, "not attached"),
    "figure without caption": ('![](a.png){#fig-x fig-alt="x"}', 3, "no caption"),
    "figure in a sentence": ('A ![b](a.png){#fig-x fig-alt="x"} c', 3, "does not stand alone"),
    "figure label": ('![c](a.png){#img-x fig-alt="x"}', 3, "fig-"),
    "image from elsewhere": ('![c](https://x.org/a.png){fig-alt="x"}', 3, "a file of the book"),
    "image attribute": ('![c](a.png){fig-alt="x" onclick="y"}', 3, "onclick", "known: fig-alt"),
    "image width": ('![c](a.png){fig-alt="x" width="wide"}', 3, '"wide"', "pixels"),
    "image align": ('![c](a.png){fig-alt="x" fig-align="top"}', 3, '"top"', "left or center"),
    "link to a script": ("A [x](javascript:alert) b", 3, "javascript:alert"),
    "link with attributes": ("A [x](https://a.org){target=_blank} b", 3, "no attributes"),
    "table label": ("| a |\n|---|\n| 1 |\n\n: Caption {#tab-x}", 7, "begins with tbl-"),
    "table class": ("| a |\n|---|\n| 1 |\n\n: Caption {.striped}", 7, "no classes"),
    "code with attributes": ('```{.python filename="x.py"}\nx\n```', 3, "one class"),
    "line block": ("| a line\n| b", 3, "LineBlock"),
    "example list": ("Text.\n\n@fig-x. Text.", 5, "begin it with a word"),
    "footnote that is not used": ("Text.\n\n[^a]: Note.", 5, "[^a] is not used"),
    "cell option": ("```{python}\n#| ehco: false\n1\n```", 4, "ehco", "known: eval, echo"),
    "cell option of R": ("```{python}\n#| fig-width: 4\n1\n```", 4, "figsize"),
    "value of echo": ("```{python}\n#| echo: maybe\n1\n```", 4, "'maybe'", "fenced"),
    "value of output": ("```{python}\n#| echo: true\n#| output: all\n1\n```", 5, "'all'", "asis"),
    "value of tolerance": ("```{python}\n#| tolerance: 2\n1\n```", 4, "2", "from 0 to below 1"),
    "cell label": ("```{python}\n#| label: setup\n1\n```", 4, "setup", "fig- or tbl-"),
    "cell label with blanks": (
        "```{python}\n#| label: fig-a b\n1\n```", 4, "small letters, digits and hyphens"
    ),
    "figure cell without caption": (
        '```{python}\n#| fig-alt: "x"\n#| label: fig-x\n1\n```', 5, "no caption", "fig-cap"
    ),
    "figure cell without alt text": (
        '```{python}\n#| label: fig-x\n#| fig-cap: "x"\n1\n```', 4, "no alt text", "fig-alt"
    ),
    "table cell without caption": ("```{python}\n#| label: tbl-x\n1\n```", 4, "no caption"),
    "caption without label": ('```{python}\n#| fig-cap: "x"\n1\n```', 4, "needs a label"),
    "option in a list": ("- item\n\n  ```{python}\n  #| ehco: 1\n  1\n  ```", 6, "ehco"),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPS)
def test_stops_at(name, tmp_path):
    text, line, *words = STOPS[name]
    path = write(tmp_path / "one.qmd", f"# Title {{#sec-one}}\n\n{text}\n")
    with pytest.raises(ChapterError) as caught:
        check_vocabulary(read_chapter(path))
    assert (caught.value.path, caught.value.line) == (path, line), caught.value
    for word in words:
        assert word in caught.value.message, caught.value
    assert "\n" not in str(caught.value)


FRONT = {
    "unknown key": ("title: x\nbibliography: y\n", 3, "bibliography", "known: title"),
    "execute": ("execute:\n  ehco: false\n", 3, "ehco"),
    "execute value": ("execute:\n  echo: 3\n", 3, "3", "fenced"),
    "code-fold": ("code-fold: hide\n", 2, "hide", "show"),
    "title and heading": ("title: x\n---\n\n# Two\n\n---\n", 5, "a second title"),
}


@pytest.mark.parametrize("name", FRONT)
def test_stops_in_the_front_matter_at(name, tmp_path):
    text, line, *words = FRONT[name]
    path = write(tmp_path / "one.qmd", f"---\n{text}---\n\nText.\n")
    with pytest.raises(ChapterError) as caught:
        check_vocabulary(read_chapter(path))
    assert caught.value.line == line, caught.value
    assert all(word in caught.value.message for word in words), caught.value


ALLOWED = {
    "all callouts": "".join(
        f"::: {{.callout-{name}}}\nx\n:::\n\n"
        for name in ("note", "tip", "important", "caution", "warning")
    ),
    "boxes": "".join(
        f"::: {{.callout-note .box-{name}}}\nx\n:::\n\n"
        for name in ("facts", "predict", "answer", "source")
    ),
    "callout in a callout": "::::: {.callout-note}\nx\n\n::: {.callout-tip}\ny\n:::\n:::::",
    "same number of colons": "::: {.callout-note}\nx\n\n::: {.callout-tip}\ny\n:::\n:::",
    "short form": "::: callout-note\nx\n:::",
    "div in a list": "- item\n\n  ::: {.callout-note}\n  x\n  :::",
    "div in a quote": "> ::: {.callout-note}\n> x\n> :::",
    "comment": "Text. <!-- a note to the author -->\n\n<!-- another\n\nof two -->\n",
    "colons in code": "```\n:::\n::: {.x}\n```\n\nAnd `::: {.x}` or `{{python}}` too.",
    "dollars": "It costs $5 or $6, `$$` in code, \\$\\$ escaped.",
    "maths in a sentence": "As $$x = 1$$ says, $$y$$.",
    "formula in a list": "- item\n\n  $$\n  x\n  $$ {#eq-x}",
    "shown cells": "```{{python}}\n1\n```\n\n````markdown\n```{python}\n1\n```\n````",
    "footnotes": "A[^1] and\n[^two], `[^no]`, \\[^no].\n\n[^1]: One.\n\n[^two]: Two.",
    "plain code": "```python\nx\n```\n\n``` bash\ny\n```\n\n    indented\n",
    "unnumbered": "## References {.unnumbered}\n\n## Others {-}\n\n::: {#refs}\n:::",
    "links": "[a](https://a.org) <https://b.org> [c](mailto:x@y.z) [d](two.qmd#sec-x)",
    "lists": "1. a\n2. b\n\nTerm\n:   definition\n\n- [ ] task\n\n> quote",
    "all cell options": (
        "```{python}\n#| label: fig-x\n#| echo: fenced\n#| eval: false\n#| output: asis\n"
        "#| include: true\n#| error: true\n#| warning: false\n#| code-fold: show\n"
        '#| code-summary: "s"\n#| fig-cap: "c"\n#| fig-alt: ["a", "b"]\n#| fig-align: left\n'
        '#| fig-subcap: ["a", "b"]\n#| layout-ncol: 2\n#| tolerance: 0.1\n#| fig-tolerance: 0.2\n'
        "#| check: false\n#| classes: picture\n1\n```"
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_reads(name, tmp_path):
    path = write(tmp_path / "one.qmd", f"# Title {{#sec-one}}\n\n{ALLOWED[name]}\n")
    check_vocabulary(read_chapter(path))


def test_the_tiny_book_is_in_the_vocabulary(tiny_book):
    for path in tiny_book.rglob("*.qmd"):
        check_vocabulary(read_chapter(path))


def test_a_listed_web_component_passes_and_keeps_only_its_attributes(tmp_path, monkeypatch):
    monkeypatch.setitem(
        __import__("bookbuild.vocabulary").vocabulary.COMPONENTS, "x-demo", frozenset({"data-of"})
    )
    body = page(tmp_path, "# T\n\nA <x-demo data-of='1'></x-demo> b.\n").body
    assert "<x-demo data-of='1'></x-demo>" in body
    with pytest.raises(ChapterError, match="raw HTML: <x-demo onload='1'>"):
        page(tmp_path, "# T\n\nA <x-demo onload='1'></x-demo> b.\n")


def test_a_bibliography_that_is_not_utf8_is_said_with_its_line(tmp_path):
    path = tmp_path / "x.bib"
    path.write_bytes(b"@book{a,\n  title = {\xe4}\n}\n")
    with pytest.raises(PandocError, match=r"x\.bib:2: not UTF-8; save the file as UTF-8"):
        citation_keys([path])


PRINTED = {
    "a div left open": ("::: {.callout-note}\nx\n", "line 1", "not closed"),
    "a div closed twice": ("x\n\n:::\n", "line 3", "not open"),
    "code left open": ("```python\nx\n", "not closed"),
    "raw HTML": ("<b>x</b>\n", "raw HTML"),
    "a title": ("# One more\n", "a second title"),
    "a reference to nothing": ("@fig-none\n", "no label fig-none"),
    "a work that is not cited": ("@nobody2000\n", "nobody2000"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_cell_prints_is_held_to_the_vocabulary_at_the_line_of_the_cell(name, tmp_path):
    text, *words = PRINTED[name]
    source = "# T\n\nText.\n\n```{python}\n#| output: asis\nprint(x)\n```\n"
    with pytest.raises(ChapterError) as caught:
        page(tmp_path, source, {1: [printed(text)]})
    assert caught.value.line == 5
    assert all(word in str(caught.value) for word in words), caught.value


FILES = {
    "image that is missing": ('![c](none.png){fig-alt="x"}', 5, "no image none.png"),
    "image outside the book": ('![c](../../x.png){fig-alt="x"}', 5, "outside the book"),
    "image that is none": ('![c](references.bib){fig-alt="x"}', 5, "no image; give"),
    "link to a missing chapter": ("A [link](two.qmd).", 5, "no such file"),
    "link to a chapter that is not listed": ("A [link](extra.qmd).", 5, "_quarto.yml"),
    "link to a missing file": ("A [link](data/none.csv).", 5, "no such file"),
    "link to a missing anchor": ("A [link](#sec-none).", 5, "#sec-none"),
    "link to a missing anchor elsewhere": ("A [link](../index.qmd#x).", 5, "index.html"),
    "reference": ("As @fig-none shows.", 5, "no label fig-none"),
    "reference in brackets": ("As [@sec-none] says.", 5, "no label sec-none"),
    "citation": ("As @doe1999 says.", 5, "doe1999", "bibliography", "@fig-"),
    "reference and citation": ("See [@sec-one; @doe2001].", 5, "separately"),
    "reference before a citation": ("See @sec-one [@doe2001].", 5, "a word between"),
    "reference to a heading without a number": ("See @sec-plain.", 5, "without a number"),
    "text after a reference": ("See [@sec-one, page 3].", 5, "after the ]"),
    "formula": ("A $\\nonsense{x}$ b.", 5, "\\nonsense"),
    "figure div without image": ("::: {#fig-x}\nText.\n\nCaption.\n:::", 5, "not hold an image"),
    "figure div without caption": ('::: {#fig-x}\n![](a.png){fig-alt="x"}\n:::', 5, "no caption"),
    "table div without table": ("::: {#tbl-x}\nText.\n\nCaption.\n:::", 5, "not hold a table"),
    "layout": ('::: {#fig-x layout-ncol="two"}\n![](a.png){fig-alt="x"}\n\nCap.\n:::', 5, '"two"'),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_rendering_stops_at(name, tmp_path):
    text, line, *words = FILES[name]
    source = f"# T {{#sec-one}}\n\nSame words.\n\n{text}\n\n## P {{#sec-plain .unnumbered}}\n"
    book = make_book(tmp_path, {"one": source})
    write(tmp_path / "book/extra.qmd", "# Extra\n")
    with pytest.raises(ChapterError) as caught:
        render(book)
    assert caught.value.line == line, caught.value
    assert all(word in caught.value.message for word in words), caught.value


def test_a_chapter_without_a_title_stops(tmp_path):
    with pytest.raises(ChapterError, match=r"one\.qmd:1: the chapter has no title"):
        page(tmp_path, "Text.\n")


def test_a_labelled_cell_must_show_what_its_label_says(tmp_path):
    cell = '# T\n\n```{python}\n#| label: fig-x\n#| fig-cap: "c"\n#| fig-alt: "a"\n1\n```\n'
    with pytest.raises(ChapterError, match=r"one\.qmd:3: the cell labelled fig-x draws no image"):
        page(tmp_path, cell, {1: [printed("4\n")]})
    cell = '# T\n\n```{python}\n#| label: tbl-x\n#| tbl-cap: "c"\n#| output: asis\n1\n```\n'
    with pytest.raises(ChapterError, match=r"one\.qmd:3: the cell labelled tbl-x shows no table"):
        page(tmp_path, cell, {1: [printed("Text.\n")]})


def test_an_image_from_a_cell_needs_alt_text_even_without_a_label(tmp_path):
    with pytest.raises(ChapterError, match=r"one\.qmd:3: the cell draws 1 image and fig-alt has 0"):
        page(tmp_path, "# T\n\n```{python}\n1\n```\n", {1: [drawn()]})


def test_ids_that_two_headings_share_stop(tmp_path):
    text = "# T\n\n## Same {#sec-a}\n\n## Other {#sec-a}\n"
    with pytest.raises(ChapterError, match=r"one\.qmd:5: the label sec-a is taken at .*one\.qmd:3"):
        page(tmp_path, text)


def test_ids_that_printed_and_written_headings_share_stop(tmp_path):
    text = "# T\n\n## Same\n\n```{python}\n#| output: asis\n1\n```\n"
    with pytest.raises(ChapterError, match=r"one\.qmd:5: the id same stands twice"):
        page(tmp_path, text, {1: [printed("## Same\n")]})


@pytest.mark.parametrize(
    ("bib", "words"), [(None, "no such file"), ("@book{x, author = {\n", "cannot be read")]
)
def test_a_bibliography_that_cannot_be_read_is_named(bib, words, tmp_path):
    book = make_book(tmp_path, {"one": "# T\n\nAs @doe2001.\n"})
    path = tmp_path / "book/references.bib"
    path.unlink() if bib is None else write(path, bib)
    with pytest.raises(PandocError, match=f"references.bib: .*{words}") as caught:
        render(book)
    assert "\n" not in str(caught.value)
