"""Chapters are read as Quarto reads them: which fences are cells, and what is in them."""

import textwrap

import pytest
import yaml
from bookbuild.notebook import ChapterError, read_chapter, to_notebook
from hypothesis import given
from hypothesis import strategies as st
from tiny import write


@pytest.fixture
def chapter(tmp_path):
    def read(text):
        return read_chapter(write(tmp_path / "x.qmd", textwrap.dedent(text)))

    return read


# Which fences are cells


@pytest.mark.parametrize(
    "info",
    ["{python}", " {python}", "{python .wide}", "{python #fig-a}", "{python, echo=FALSE}",
     "{python }", "{python}  "],
)  # fmt: skip
def test_a_backtick_fence_with_python_in_braces_is_a_cell(chapter, info):
    assert [c.source for c in chapter(f"```{info}\nx = 1\n```\n").cells] == ["x = 1"]


@pytest.mark.parametrize(
    "info",
    ["python", "{.python}", "{{python}}", "{.python .numberLines}", "{r}", "{python3}", "{=python}",
     "", "{mermaid}", "text {python}", "{ python}", "{pythonista}"],
)  # fmt: skip
def test_every_other_info_string_is_shown_and_not_run(chapter, info):
    assert chapter(f"```{info}\nx = 1\n```\n").cells == []


def test_tilde_fences_and_fences_in_block_quotes_are_not_cells(chapter):
    assert chapter("~~~{python}\nx = 1\n~~~\n").cells == []
    assert chapter("> ```{python}\n> x = 1\n> ```\n").cells == []


def test_a_fence_inside_a_longer_fence_is_not_a_cell(chapter):
    assert chapter("````markdown\n```{python}\nx = 1\n```\n````\n").cells == []


def test_four_ticks_hold_a_string_with_three(chapter):
    found = chapter('````{python}\nprint("""\n```{python}\n```\n""")\n````\n')
    assert [c.source for c in found.cells] == ['print("""\n```{python}\n```\n""")']


def test_what_quarto_and_pandoc_read_differently_is_refused(chapter):
    with pytest.raises(ChapterError, match=r"x\.qmd:3: the cell opens with ``` and closes"):
        chapter("```{python}\nx = 1\n````\n")
    with pytest.raises(ChapterError, match=r"x\.qmd:2: a cell between tildes"):
        chapter("~~~\n```{python}\nx = 1\n```\n~~~\n")


CODE = st.lists(
    st.sampled_from(["x = 1", "", "    y = 2", "print('```')", "# note", "#: |", "'::: {.note}'"]),
    max_size=5,
)
SHOWN = st.sampled_from(
    ["```python", "```{.python}", "```{{python}}", "~~~{python}", "```", "```{r}"]
)


@st.composite
def blocks(draw):
    """Lines of Markdown, and the sources of the cells in them."""
    kind = draw(st.sampled_from(["cell", "shown", "prose", "div", "list", "tabset"]))
    if kind == "prose":
        return draw(
            st.sampled_from([["Text with `` ```{python} `` in it."], ["# Heading"], [""]])
        ), []
    if kind == "shown":
        fence = draw(SHOWN)
        return [fence, *draw(CODE), fence[:3]], []
    if kind == "cell":
        code, ticks = draw(CODE), "`" * draw(st.integers(3, 5))
        options = draw(
            st.sampled_from([[], ["#| echo: false"], ["#| label: fig-a", "#| eval: true"]])
        )
        source = "\n".join(code).strip("\n")
        return [ticks + "{python}", *options, *code, ticks], [source]
    inner, cells = [], []
    for lines, found in draw(st.lists(blocks(), max_size=3)):
        inner += [*lines, ""]
        cells += found
    if kind == "list":
        return ["1. An item:", "", *("   " + line if line else "" for line in inner)], cells
    name = draw(st.sampled_from([".callout-note", ".panel-tabset", "#exr-a"]))
    return ["::::: {" + name + "}", "", "## Title", "", *inner, ":::::"], cells


@given(st.lists(blocks(), max_size=5))
def test_cells_are_found_in_divs_lists_and_tabsets_at_any_depth(tmp_path_factory, document):
    lines = [line for block, _ in document for line in [*block, ""]]
    path = write(tmp_path_factory.mktemp("cells") / "x.qmd", "\n".join(lines))
    found = read_chapter(path)
    # A cell in a list is dedented as a whole, which is the same to Python.
    sources = [textwrap.dedent(s).strip() for _, found in document for s in found]
    assert [textwrap.dedent(c.source).strip() for c in found.cells] == sources
    for cell in found.cells:
        assert "{python}" in found.lines[cell.line - 1]
        assert found.lines[cell.end - 1].strip().strip("`") == ""
        if cell.source:
            first = cell.source.split("\n")[0]
            assert found.lines[cell.code_line - 1].strip() == first.strip()


def test_a_cell_in_a_list_is_dedented(chapter):
    cell = chapter("1. Item\n\n   ```{python}\n   for i in x:\n       print(i)\n   ```\n").cells[0]
    assert (cell.source, cell.indent) == ("for i in x:\n    print(i)", "   ")
    cell = chapter("- Item\n\n  ```{python}\n    x = 1\n    y = 2\n  ```\n").cells[0]
    assert cell.source == "x = 1\ny = 2"


# Options


def test_option_lines_are_yaml_and_do_not_run(chapter):
    cell = chapter(
        "```{python}\n#| label: fig-a\n#| fig-cap: |\n#|   Two\n# | echo: false\nx\n```"
    ).cells[0]
    assert cell.options == {"label": "fig-a", "fig-cap": "Two\n", "echo": False}
    assert (cell.source, cell.code_line) == ("x", 6)


def test_options_after_the_first_line_of_code_are_comments(chapter):
    cell = chapter("```{python}\nx\n#| echo: false\n```").cells[0]
    assert cell.options == {} and cell.source == "x\n#| echo: false"


def test_the_front_matter_sets_defaults_for_all_cells(chapter):
    front = "---\nexecute:\n  eval: false\n  timeout: 3\n---\n"
    cells = "```{python}\nx\n```\n\n```{python}\n#| eval: true\ny\n```\n"
    first, second = chapter(front + cells).cells
    assert first.options == {"eval": False} and first.tags == ["skip-execution", "nbval-skip"]
    assert second.options == {"eval": True} and second.tags == []


def test_tags_say_which_cells_do_not_run_and_which_raise(chapter):
    cells = chapter(
        "```{python}\n#| eval: false\nx\n```\n\n```{python}\n#| error: true\ny\n```"
    ).cells
    assert [c.tags for c in cells] == [["skip-execution", "nbval-skip"], ["raises-exception"]]


# Numbers in prose


def test_a_computed_number_stands_after_the_cells_before_it(chapter):
    found = chapter(
        """\
        ```{python}
        n = 8
        ```

        It has [8]{.computed expr="n"}, or [\\"8\\"]{.computed expr="f'\\"{n}\\"'" tolerance="0.1"}.

        ```{python}
        #| fig-cap: 'With [8]{.computed expr="n"} of them.'
        n
        ```
        """
    ).computed
    assert [(n.typed, n.expr, n.line, n.after, n.tolerance) for n in found] == [
        ("8", "n", 5, 1, None),
        ('\\"8\\"', "f'\"{n}\"'", 5, 1, 0.1),
        ("8", "n", 8, 2, None),
    ]


def test_a_computed_number_that_is_shown_as_code_is_none(chapter):
    text = '`[8]{.computed expr="n"}`\n\n```markdown\n[8]{.computed expr="n"}\n```\n'
    assert chapter(text).computed == []


def test_the_notebook_holds_cells_and_numbers_in_order(chapter):
    nb = to_notebook(
        chapter('[1]{.computed expr="1"}\n\n```{python}\nx\n```\n\n[2]{.computed expr="2"}\n')
    )
    assert [(c.id, c.source) for c in nb.cells] == [
        ("n0-0", "print(1)"), ("c1", "x"), ("n1-0", "print(2)"),
    ]  # fmt: skip


# Files


def test_line_ends_and_byte_order_marks_of_windows_are_read(tmp_path):
    path = tmp_path / "x.qmd"
    path.write_bytes("\ufeff---\r\ntitle: T\r\n---\r\n\r\n```{python}\r\nx\r\n```\r\n".encode())
    found = read_chapter(path)
    assert found.front == {"title": "T"} and [c.source for c in found.cells] == ["x"]


def test_a_form_feed_does_not_end_a_line(chapter):
    assert chapter("a\x0cb\u2028c\n\n```{python}\nx = '\x0c'\n```\n").cells[0].line == 3


PIECES = ["```{python}", "```", "````", "~~~", "---", "#| a: [", '[8]{.computed expr="n"}', "> "]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.sampled_from(PIECES) | ANY_TEXT, max_size=12).map("\n".join))
def test_any_text_is_read_or_refused_with_a_line(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "x.qmd"
    path.write_bytes(text.encode("utf-8"))
    try:
        read_chapter(path)
    except ChapterError as error:
        assert error.line >= 1 and "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Text\n\n```{python}\nx\n", 3, "the cell that opens here is not closed"),
        ("```{python}\nx\n\n```{python}\ny\n```\n", 1, "opens here is not closed before line 4"),
        ("```python\nx\n", 1, "the code block that opens here is not closed"),
        ("---\ntitle: x\n", 1, "the front matter that opens here is not closed"),
        ("---\ntitle: [\n---\n", 2, "not YAML in the front matter: expected"),
        ("---\na: 2026-13-01\n---\n", 2, "not YAML in the front matter: month must be"),
        ("---\n- a\n---\n", 2, "write `key: value` lines"),
        ("---\nexecute: fast\n---\n", 2, "execute is 'fast'; write `key: value` lines"),
        ("```{python}\n#| echo: [\nx\n```\n", 2, "not YAML in the cell options"),
        ("```{python}\n#| echo\nx\n```\n", 2, "write `key: value` lines"),
        ("a\n[8]{.computed}\n", 2, 'is written [value]{.computed expr="expression"}'),
        ('[8]{.computed expr="n" tolerance="two"}\n', 1, "tolerance is 'two'; give a share"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_what_is_allowed(chapter, text, line, said):
    with pytest.raises(ChapterError) as caught:
        chapter(text)
    assert caught.value.line == line and said in str(caught.value)
    assert f"x.qmd:{line}: " in str(caught.value) and "\n" not in str(caught.value)


def test_a_chapter_that_is_not_utf8_is_refused_with_the_line(tmp_path):
    path = tmp_path / "x.qmd"
    path.write_bytes(b"a\nb\xe9\n")
    with pytest.raises(ChapterError, match=r"x\.qmd:2: not UTF-8; save the chapter as UTF-8"):
        read_chapter(path)


@given(
    st.dictionaries(st.sampled_from(["echo", "label", "fig-cap"]), st.text("ab: #'\"", min_size=1))
)
def test_options_of_any_content_come_back(tmp_path_factory, options):
    text = yaml.safe_dump(options, allow_unicode=True, width=1000) if options else ""
    lines = [f"#| {line}" for line in text.splitlines()]
    body = "\n".join(["```{python}", *lines, "x", "```"])
    path = write(tmp_path_factory.mktemp("options") / "x.qmd", body)
    assert read_chapter(path).cells[0].options == options
