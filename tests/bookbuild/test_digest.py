"""What a chapter depends on: a change there, and only there, changes its digest."""

import pytest
from bookbuild.digest import book_inputs
from bookbuild.notebook import ChapterError, read_chapter
from tiny import edit, write


@pytest.fixture
def digest(tiny_book):
    return lambda name="waves": book_inputs(read_chapter(tiny_book / f"book/{name}.qmd"), tiny_book)


def modules(digest, tiny_book, source, **files):
    """The companion modules that a cell with this source reaches."""
    for name, text in files.items():
        write(tiny_book / "code/minilib" / f"{name}.py", text)
    write(tiny_book / "book/waves.qmd", f"```{{python}}\n{source}\n```\n")
    return set(digest()["modules"])


def test_modules_are_followed_through_what_they_import(digest):
    assert set(digest("waves")["modules"]) == {"minilib", "minilib.waves"}
    assert set(digest("counts")["modules"]) == {"minilib", "minilib.counts", "minilib.helpers"}


@pytest.mark.parametrize(
    "source",
    [
        "import minilib.extra",
        "import minilib.extra as e",
        "from minilib import extra",
        "from minilib.extra import thing",
        "def later():\n    from minilib.extra import thing",
        "import importlib\nimportlib.import_module('minilib.extra')",
        "import importlib\nname = 'x'\nimportlib.import_module(f'minilib.{name}')",
        "%matplotlib inline\nimport minilib.extra",
        "!ls\n  from minilib import extra",
    ],
)
def test_every_way_to_import_is_seen(digest, tiny_book, source):
    assert "minilib.extra" in modules(digest, tiny_book, source, extra="thing = 1\n")


@pytest.mark.parametrize(
    "how", ["from . import deep", "from .deep import x", "from .. import deep"]
)
def test_relative_imports_are_followed(digest, tiny_book, how):
    write(tiny_book / "code/minilib/sub/__init__.py", "")
    write(tiny_book / "code/minilib/sub/deep.py", "x = 1\n")
    write(tiny_book / "code/minilib/deep.py", "x = 1\n")
    write(tiny_book / "code/minilib/sub/extra.py", how + "\n")
    found = modules(digest, tiny_book, "import minilib.sub.extra")
    assert ("minilib.deep" if ".." in how else "minilib.sub.deep") in found
    assert {"minilib", "minilib.sub", "minilib.sub.extra"} <= found


def test_what_a_packages_init_imports_counts(digest, tiny_book):
    write(tiny_book / "code/minilib/__init__.py", "from minilib.helpers import total\n")
    assert "minilib.helpers" in digest("waves")["modules"]


def test_an_expression_in_prose_counts(digest, tiny_book):
    text = "[1]{.computed expr=\"__import__('minilib.helpers').helpers.total([1])\"}\n"
    write(tiny_book / "book/waves.qmd", text)
    assert "minilib.helpers" in digest()["modules"]


def test_the_exercises_of_the_chapter_count_and_those_of_others_do_not(digest, tiny_book):
    for name in ("waves", "counts"):
        write(tiny_book / f"code/tinygpt/lab/{name}/__init__.py", "")
    assert "tinygpt.lab.waves" in digest()["modules"]
    assert "tinygpt.lab.counts" not in digest()["modules"]


def test_a_module_with_a_syntax_error_is_still_followed(digest, tiny_book):
    found = modules(digest, tiny_book, "import minilib.bad", bad="import minilib.helpers\ndef (:\n")
    assert {"minilib.bad", "minilib.helpers"} <= found


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("code/minilib/waves.py", "12", "11", {"waves"}),
        ("code/minilib/helpers.py", "sum", "max", {"counts"}),
        ("code/minilib/__init__.py", '"""\n', '"""\nx = 1\n', {"waves", "counts"}),
        ("code/minilib/__init__.py", "tiny", "small", set()),
        ("code/minilib/__init__.py", '"""The tiny book\'s companion."""', "", {"waves", "counts"}),
        ("code/minilib/waves.py", "    return", "    # By its definition.\n    return", set()),
        ("code/minilib/waves.py", "sine(n):\n", "sine(n):\n    'A sine.'\n", {"waves"}),
        ("book/points.csv", "4", "5", {"counts"}),
        ("book/waves.qmd", "difficulty: 1", "difficulty: 2", {"waves"}),
        ("book/counts.qmd", "error: true", "error: false", {"counts"}),
        ("book/waves.qmd", "A wave with", "A curve with", set()),
        ("book/waves.qmd", "code-fold: true", "code-fold: false", set()),
        ("_quarto.yml", "Tiny", "Small", set()),
    ],
)
def test_a_change_shows_in_the_digest_of_those_that_depend_on_it(
    digest, tiny_book, file, old, new, changed
):
    before = {name: digest(name) for name in ("waves", "counts")}
    edit(tiny_book / file, old, new)
    assert {name for name in before if digest(name) != before[name]} == changed


@pytest.mark.parametrize(
    "reading",
    ["print(sine.__doc__)", "print(getattr(sine, '__doc__'))", "help(sine)", "sine?",
     "import inspect\ninspect.getdoc(sine)", "%pdoc sine", "sine.__code__.co_firstlineno"],
)  # fmt: skip
def test_docstrings_count_where_a_cell_can_read_them(digest, tiny_book, reading):
    edit(tiny_book / "book/waves.qmd", "samples = sine(8)", reading)
    before = digest()
    edit(tiny_book / "code/minilib/__init__.py", "tiny", "small")
    assert digest() != before


def test_docstrings_count_where_a_module_of_their_package_can_read_them(digest, tiny_book):
    write(tiny_book / "code/other/__init__.py", "import other.a\n")
    write(tiny_book / "code/other/a.py", '"""One."""\n')
    edit(tiny_book / "code/minilib/waves.py", "import math\n", "import math\nimport other\n")
    before = digest()
    edit(tiny_book / "code/other/a.py", "One", "Two")
    assert digest() == before
    write(tiny_book / "code/other/b.py", "text = lambda f: f.__doc__.upper()\n")
    write(tiny_book / "code/other/__init__.py", "import other.a, other.b\n")
    before = digest()
    edit(tiny_book / "code/other/a.py", "Two", "Three")
    assert digest() != before
    before = digest()
    edit(tiny_book / "code/minilib/__init__.py", "tiny", "small")
    assert digest() == before


def test_strings_that_are_data_count(digest, tiny_book):
    write(tiny_book / "code/minilib/__init__.py", "HINTS = {'a': 'Look at the mean.'}\n")
    before = digest()
    edit(tiny_book / "code/minilib/__init__.py", "mean", "sum")
    assert digest() != before


def test_files_beside_the_modules_of_a_package_count(digest, tiny_book):
    before = digest()
    write(tiny_book / "code/minilib/table.json", "[1]")
    assert digest() != before


def test_versions_of_what_computes_count(digest, monkeypatch):
    before = digest()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0")
    assert digest()["versions"]["torch"] == "0.0" and digest() != before


@pytest.mark.parametrize("data", ["[missing.csv]", "[../outside.csv]", "{a: b}", "[1]"])
def test_data_that_is_not_there_is_refused_with_the_line(digest, tiny_book, data):
    write(tiny_book.parent / "outside.csv", "1\n")
    write(tiny_book / "book/waves.qmd", f"---\ntitle: T\ndata: {data}\n---\n")
    with pytest.raises(ChapterError, match=r"waves\.qmd:3: data (is|lists) .*; (list|there is no)"):
        digest()
