"""Numbers and references, as a Quarto book gives them in HTML."""

import pytest
from bookbuild.notebook import ChapterError
from pages import Tree, drawn, make_book, page, printed, render, text

ONE = """\
# First {#sec-first}

## A {#sec-a}

$$
x
$$ {#eq-x}

| a |
|---|
| 1 |

: Cap. {#tbl-a}

### A a {#sec-aa}

::: {#exr-a}
Do it.
:::

## B {#sec-b}

#### Deep {#sec-deep}

$$ y $$ {#eq-y}

## Not counted {#sec-plain .unnumbered}

## C {#sec-c}

::: {#exr-b}
Do it too.
:::
"""

TWO = """\
# Second {#sec-second}

@sec-first, @sec-second, @sec-a, @sec-aa, @sec-deep, @sec-c.

@eq-x, @eq-y, @tbl-a, @exr-a, @exr-b, @eq-z, @fig-pair, @fig-pair-2.

[-@sec-a], [-@eq-y], [@eq-x; @eq-y], [see @tbl-a], @Eq-x, [Chapters @sec-first; -@sec-second].

$$ z $$ {#eq-z}

```{python}
#| label: fig-pair
#| fig-cap: Both
#| fig-alt: A thing
#| fig-subcap: [left, right]
1
```
"""


@pytest.fixture
def pages(tmp_path):
    book = make_book(tmp_path, {"one": ONE, "two": TWO})
    return render(book, {"two": {1: [drawn(), drawn()]}})


def references(page) -> list[list[tuple[str, str]]]:
    """By paragraph: the text and the address of each reference."""
    out = []
    for paragraph in Tree(page.body).find("p"):
        links = [n for n in paragraph["children"] if isinstance(n, dict) and n["tag"] == "a"]
        if links:
            out.append([(text(link), link["attrs"]["href"]) for link in links])
    return out


def test_sections_are_numbered_within_the_chapter(pages):
    tree = Tree(pages["one"].body)
    titles = [text(node) for level in "234" for node in tree.find(f"h{level}")]
    assert titles == ["1.1 A", "1.2 B", "Not counted", "1.3 C", "1.1.1 A a", "1.2.0.1 Deep"]
    assert [node["attrs"]["id"] for node in tree.find("section")] == [
        "sec-a", "sec-aa", "sec-b", "sec-deep", "sec-plain", "sec-c"
    ]  # fmt: skip


def test_references_to_sections_and_chapters(pages):
    assert references(pages["two"])[0] == [
        ("Chapter 1", "one.html#sec-first"),
        ("Chapter 2", "#sec-second"),
        ("Section 1.1", "one.html#sec-a"),
        ("Section 1.1.1", "one.html#sec-aa"),
        ("Section 1.2.0.1", "one.html#sec-deep"),
        ("Section 1.3", "one.html#sec-c"),
    ]


def test_references_to_formulas_tables_exercises_and_figures(pages):
    assert [name for name, _ in references(pages["two"])[1]] == [
        "Equation 1.1", "Equation 1.2", "Table 1.1", "Exercise 1.1", "Exercise 1.2",
        "Equation 2.1", "Figure 2.1", "Figure 2.1 (b)",
    ]  # fmt: skip


def test_forms_of_a_reference(pages):
    assert references(pages["two"])[2] == [
        ("1.1", "one.html#sec-a"),
        ("1.2", "one.html#eq-y"),
        ("Equation 1.1", "one.html#eq-x"),
        ("Equation 1.2", "one.html#eq-y"),
        ("see 1.1", "one.html#tbl-a"),
        ("Equation 1.1", "one.html#eq-x"),
        ("Chapters 1", "one.html#sec-first"),
        ("2", "#sec-second"),
    ]


def test_a_list_of_references_is_separated_by_commas(pages):
    paragraph = Tree(pages["two"].body).find("p")[2]
    assert "Equation 1.1, Equation 1.2, see 1.1" in text(paragraph)


def test_name_and_number_of_a_reference_do_not_part_at_the_end_of_a_line(pages):
    assert "Equation\u00a01.1" in pages["two"].body
    assert "Chapter\u00a01" in pages["two"].body


def test_every_reference_points_at_an_id_that_stands_there(pages):
    ids = {
        name: {n["attrs"]["id"] for n in Tree(p.body).find("") if "id" in n["attrs"]} | {p.id}
        for name, p in pages.items()
    }
    for paragraph in references(pages["two"]):
        for _, address in paragraph:
            file, fragment = address.split("#")
            assert fragment in ids[file.removesuffix(".html") or "two"]


def test_captions_carry_the_number(pages):
    captions = [text(node) for node in Tree(pages["two"].body).find("figcaption")]
    assert captions == ["(a) left", "(b) right", "Figure 2.1: Both"]
    assert text(Tree(pages["one"].body).find("figcaption")[0]) == "Table 1.1: Cap."
    numbers = Tree(pages["one"].body).find(".equation-number")
    assert [text(node) for node in numbers] == ["(1.1)", "(1.2)"]
    assert [node["attrs"].get("id") for node in Tree(pages["one"].body).find(".equation")] == [
        "eq-x", "eq-y"
    ]  # fmt: skip


def test_the_front_page_counts_from_one_without_a_chapter(tmp_path):
    index = (
        "# Front {#sec-front .unnumbered}\n\n## Part\n\n@tbl-i and @sec-one.\n\n"
        "| a |\n|---|\n| 1 |\n\n: Cap. {#tbl-i}\n"
    )
    book = make_book(tmp_path, {"one": "# One {#sec-one}\n\nSee @tbl-i.\n"}, index=index)
    pages = render(book)
    assert pages["index"].number is None and pages["one"].number == "1"
    assert references(pages["index"]) == [
        [("Table 1", "#tbl-i"), ("Chapter 1", "book/one.html#sec-one")]
    ]
    assert text(Tree(pages["index"].body).find("h2")[0]) == "Part"
    assert references(pages["one"]) == [[("Table 1", "../index.html#tbl-i")]]


def test_sections_without_numbers_where_the_book_says_so(tmp_path):
    body = page(tmp_path, "# T\n\n## A {#sec-a}\n\n@sec-a\n", extra="number-sections: false\n").body
    assert text(Tree(body).find("h2")[0]) == "A"
    assert references(page(tmp_path, "# T\n\n## A {#sec-a}\n\n@sec-a\n"))[0][0][0] == "Section 1.1"


def test_what_a_cell_prints_is_numbered_where_it_stands(tmp_path):
    source = (
        "# T\n\n## One\n\n```{python}\n#| output: asis\n1\n```\n\n## Three {#sec-three}\n\n"
        "$$ a $$ {#eq-a}\n\n@sec-two @sec-three @eq-p @eq-a\n"
    )
    shown = printed("## Two {#sec-two}\n\n$$ p $$ {#eq-p}\n")
    result = page(tmp_path, source, {1: [shown]})
    assert [name for name, _ in references(result)[0]] == [
        "Section 1.2", "Section 1.3", "Equation 1.1", "Equation 1.2"
    ]  # fmt: skip


LABELS = {
    "figure": ('![c](a.png){#fig-x fig-alt="a"}', "fig-x"),
    "div": ('::: {#fig-x}\n![](a.png){fig-alt="a"}\n\nCaption.\n:::', "fig-x"),
    "table": ("| a |\n|---|\n| 1 |\n\n: Cap. {#tbl-x}", "tbl-x"),
    "formula": ("$$ x $$ {#eq-x}", "eq-x"),
    "section": ("## S {#sec-x}", "sec-x"),
    "exercise": ("::: {#exr-x}\nDo.\n:::", "exr-x"),
    "cell": ("```{python}\n#| label: fig-x\n#| fig-cap: c\n#| fig-alt: a\n1\n```", "fig-x"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_a_label_that_stands_twice_in_the_book_stops(kind, tmp_path):
    source, label = LABELS[kind]
    first, second = f"# T\n\n{source}\n", f"# T\n\nText.\n\n{source}\n"
    book = make_book(tmp_path, {"one": first, "two": second})
    outputs = {"one": {1: [drawn()]}, "two": {1: [drawn()]}}
    with pytest.raises(ChapterError) as caught:
        render(book, outputs)
    assert caught.value.path.name == "two.qmd"
    line = 5 + source[: source.index(label)].count("\n")
    assert caught.value.line in (5, line)
    assert f"{label} is taken at" in caught.value.message
    assert "one.qmd:3" in caught.value.message or f"one.qmd:{line - 2}" in caught.value.message


def test_a_label_that_stands_twice_in_a_chapter_stops_at_the_second(tmp_path):
    for kind, (source, label) in LABELS.items():
        again = f"# T\n\n{source}\n\nText.\n\n{source}\n"
        last = again.rindex(source)
        with pytest.raises(ChapterError) as caught:
            page(tmp_path, again, {1: [drawn()], 2: [drawn()]})
        lines = (again[:last].count("\n") + 1, again[: again.rindex(label)].count("\n") + 1)
        assert caught.value.line in lines, (kind, caught.value)


def test_a_reference_that_resolves_nowhere_gives_its_own_line(tmp_path):
    source = "# T {#sec-t}\n\n`@fig-none` is code.\n\n- A list\n- that says @fig-none.\n"
    with pytest.raises(ChapterError, match=r"one\.qmd:6: @fig-none"):
        page(tmp_path, source)


def test_a_reference_in_a_caption_resolves(tmp_path):
    source = (
        '# T {#sec-t}\n\n```{python}\n#| label: fig-a\n#| fig-cap: "As in @sec-t and [@doe2001]."\n'
        '#| fig-alt: "A"\n1\n```\n'
    )
    caption = Tree(page(tmp_path, source, {1: [drawn()]}).body).find("figcaption")[0]
    assert text(caption) == "Figure 1.1: As in Chapter 1 and (Doe 2001)."
