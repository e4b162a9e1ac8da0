"""`pytest book` fails for each way in which a chapter and what it expects can part."""

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bookbuild.compare import small_figure
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from bookbuild.reference import reference_path, write_references
from tiny import edit, make_tiny_book, write

# Every cell of it has something to check; the comments name the tests that break it.
COUNTS = """\
# Counts {#sec-counts}

```{python}
import time, warnings
from minilib.counts import mean

print(f"{mean([1, 2]) / 4:.3f}")  # changed
```

The mean is [1.5]{.computed expr="mean([1, 2])"}, of [2]{.computed expr="len([1, 2])"}.

```{python}
#| fig-alt: "A line."
import matplotlib.pyplot as plt

plt.subplots(figsize=(3, 2))[1].plot([1, 2, 3]);
```

```{python}
mean([1, 2]);
```

```{python}
warnings.warn("harmless")
object()
```

```{python}
#| tolerance: 0.02
print("loss 2.00")
```

```{python}
#| tolerance: {rtol: 0.01, atol: 0.05}
print("loss 3.00")
```

```{python}
#| error: true
mean([])
```

```{python}
#| check: false
print(time.perf_counter())
```

```{python}
#| eval: false
mean(everything)
```

```{python}
print("never ran")
```

About [2.0]{.computed expr="2.04" tolerance="0.03"}.
"""


def line_of(root, text):
    lines = (root / "book/counts.qmd").read_text(encoding="utf-8").split("\n")
    return next(i for i, line in enumerate(lines, 1) if text in line)


def cell_of(root, text):
    """The line at which the cell opens that contains `text`."""
    lines = (root / "book/counts.qmd").read_text(encoding="utf-8").split("\n")
    return max(i for i in range(1, line_of(root, text)) if lines[i - 1] == "```{python}")


@pytest.fixture(scope="module")
def _checked(tmp_path_factory):
    waves = "# Waves {#sec-waves}\n\n```{python}\nfrom minilib.waves import sine\n\nsine(4)\n```\n"
    root = make_tiny_book(tmp_path_factory.mktemp("checked"), counts_qmd=COUNTS, waves_qmd=waves)
    write_references(read_book(root), say=lambda line: None)
    return root


@pytest.fixture
def book(_checked, tmp_path):
    """A book with a reference for each chapter."""
    root = tmp_path / "tinybook"
    shutil.copytree(_checked, root)
    return root


def check(root, *arguments, folder="."):
    """Run pytest as a reader would. Returns what it printed, and its exit code."""
    options = ["-p", "bookbuild.check", "-p", "no:cacheprovider", "--color=no", "-rs"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(arguments or ["book", "index.qmd"])],
        cwd=root / folder, capture_output=True, encoding="utf-8", timeout=200,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout, done.returncode


def messages(out):
    """What failed, each message with the lines below it, by the place it names."""
    section = re.split(r"^=+ (?:short test|\d+ failed)", out, flags=re.MULTILINE)[0]
    section = section.partition("= FAILURES =")[2]
    parts = re.split(r"^_+ .* _+$", section, flags=re.MULTILINE)[1:]
    return {part.strip().split(": ")[0]: part.strip() for part in parts}


def reference(root, name="counts"):
    return reference_path(root, root / f"book/{name}.qmd")


def change_reference(root, source, change):
    """Change the reference of the one cell whose code contains `source`."""
    path = reference(root)
    nb = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in nb["cells"] if source in "".join(cell["source"])]
    change(cell)
    path.write_text(json.dumps(nb), encoding="utf-8")


def test_a_book_as_it_is_expected_passes(book):
    out, code = check(book)
    assert code == 0, out
    # 3 references, 3 of labels, and every cell and number except the one that is not to run
    assert re.search(r"19 passed", out) and "failed" not in out


def kept(root):
    return list(root.glob(".bookcache/executed/*"))


def test_the_build_runs_nothing_that_the_check_has_run(book):
    shutil.rmtree(book / ".bookcache")
    check(book, "book/counts.qmd", "-k", "line-5")  # the rest of the chapter has not run
    assert not kept(book)
    check(book, "book/counts.qmd")
    source = book / "book/counts.qmd"
    ran = []
    ours = execute_book(read_book(book), only=[source], say=ran.append)[source]
    assert ran == []
    fresh = execute_book(read_book(book), only=[source], say=ran.append, fresh=True)[source]
    assert len(ran) == 1
    for one, other in zip(ours.cells, fresh.cells, strict=True):
        if "perf_counter()" not in one.source and "object()" not in one.source:
            clean = [json.loads(json.dumps(cell.outputs)) for cell in (one, other)]
            for output in clean[0] + clean[1]:
                output.pop("execution_count", None)
            assert clean[0] == clean[1], one.source


def test_cells_in_another_order_run_in_a_fresh_kernel_and_are_not_kept(tmp_path):
    cells = ["n = globals().get('n', 0) + 1\nprint(n)", "n += 10\nprint(n)"]
    text = "# C {#sec-c}\n\n" + "\n".join(f"```{{python}}\n{c}\n```\n" for c in cells)
    root = make_tiny_book(tmp_path, counts_qmd=text)
    write_references(read_book(root), say=lambda line: None)
    shutil.rmtree(root / ".bookcache")
    (root / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    items.reverse()\n", encoding="utf-8"
    )
    out, code = check(root, "book/counts.qmd")
    assert code == 0, out
    assert not kept(root)


@pytest.mark.parametrize("what", ["a module that changes", "an output taken back", "a failure"])
def test_what_a_build_would_not_give_is_not_kept(tmp_path, what):
    cell = "from minilib.counts import mean\n\nprint(mean([1, 2]))"
    if what == "a module that changes":
        path = "code/minilib/counts.py"
        cell += f"\nwith open({path!r}, 'a') as file:\n    print('x = 1', file=file)"
    if what == "an output taken back":
        cell = "from IPython.display import clear_output\n\nclear_output()\nprint(1)"
    root = make_tiny_book(tmp_path, counts_qmd=f"# C {{#sec-c}}\n\n```{{python}}\n{cell}\n```\n")
    write_references(read_book(root), say=lambda line: None)
    shutil.rmtree(root / ".bookcache", ignore_errors=True)
    if what == "a failure":
        change_reference(root, "mean", lambda cell: cell["outputs"][0].update(text="9\n"))
    out, code = check(root, "book/counts.qmd")
    assert code == (what == "a failure"), out
    assert not kept(root)


def test_each_change_fails_with_file_line_and_both_values(book):
    def replace(old, new):
        def change(cell):
            text = json.dumps(cell["outputs"])
            assert old in text
            cell["outputs"] = json.loads(text.replace(old, new))

        return change

    def another_figure(cell):
        import io

        from PIL import Image

        png = base64.b64decode("".join(cell["outputs"][0]["data"]["image/png"]))
        image = Image.open(io.BytesIO(png))
        image.paste("red", (100, 50, 160, 90))
        file = io.BytesIO()
        image.save(file, "PNG")
        picture = base64.b64encode(small_figure(file.getvalue())).decode()
        cell["outputs"][0]["data"]["image/png"] = picture

    def never_ran(cell):
        cell["execution_count"], cell["outputs"] = None, []

    change_reference(book, "# changed", replace("0.375", "0.376"))
    change_reference(book, "plt.subplots", another_figure)
    change_reference(book, "object()", lambda cell: cell.update(outputs=[]))
    change_reference(book, "loss 2.00", replace("2.00", "2.10"))
    change_reference(book, "loss 3.00", replace("3.00", "3.05"))  # within the tolerance
    change_reference(book, "mean([])", replace("give at least", "give more than"))
    change_reference(book, "never ran", never_ran)
    edit(book / "book/counts.qmd", "[1.5]", "[1.6]")
    edit(book / "book/counts.qmd", "[2.0]", "[2.1]")
    out, code = check(book)
    found = messages(out)
    gone = f"book/counts.qmd:{line_of(book, 'warnings.warn') - 1}"
    assert re.search(r"reference: nothing\n  now:       a value: <object .*>$", found.pop(gone))
    at = {name: f"book/counts.qmd:{line_of(book, name)}" for name in ("[1.6]", "[2.1]")}
    for source in ("import time", "import matplotlib", 'loss 2.00"', "mean([])", "never ran"):
        at[source] = f"book/counts.qmd:{cell_of(book, source)}"
    assert code == 1
    assert set(found) == set(at.values()) - {at["[2.1]"]}, out
    assert found[at["import time"]].endswith(
        "the output has changed\n  reference: 0.376\n  now:       0.375"
    )
    assert found[at['loss 2.00"']].endswith(
        "beyond the tolerance of 0.02\n  reference: loss 2.10\n  now:       loss 2.00"
    )
    assert "reference: ValueError: mean: values is empty; give more than" in found[at["mean([])"]]
    assert "the reference of this cell never ran; run make reference" in found[at["never ran"]]
    number = found[at["[1.6]"]]
    assert "in the prose: 1.6\n" in number and "computed:     1.5 " in number
    figure = found[at["import matplotlib"]]
    assert re.search(r"the figure has changed: RMS distance 0\.\d+, allowed 0\.004", figure)
    for name in re.findall(r"\S+\.png", figure):
        assert (book / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_cell_that_raises_or_ends_its_kernel_fails_and_none_follows(book):
    edit(book / "code/minilib/waves.py", "return [", "return [][n], [")
    edit(book / "code/minilib/helpers.py", "return sum(values)", "import os; os._exit(1)")
    out, code = check(book)
    found = messages(out)
    assert code == 1 and set(found) == {"book/waves.qmd:6", "book/counts.qmd:3"}
    assert (
        "the cell raises IndexError: list index out of range (in code/minilib/waves.py:5)"
        in (found["book/waves.qmd:6"])
    )
    assert found["book/counts.qmd:3"].endswith("the cell ended its kernel")
    assert "not run, after book/counts.qmd:3" in out


@pytest.mark.slow
def test_a_cell_that_does_not_end_fails(book):
    text = (book / "book/counts.qmd").read_text(encoding="utf-8")
    write(book / "book/counts.qmd", "---\nexecute: {timeout: 2}\n---\n" + text)
    edit(book / "code/minilib/helpers.py", "return sum(values)", "import time; time.sleep(60)")
    out, code = check(book, "book/counts.qmd")
    assert code == 1 and list(messages(out)) == ["book/counts.qmd:6"]
    assert "the cell runs longer than 2 seconds" in out


# What is seen without running anything


@pytest.fixture
def check_here(book, capsys, monkeypatch):
    """`check` of the book in this process, which is faster."""

    def run(*arguments, folder="."):
        monkeypatch.chdir(book / folder)
        options = ["-p", "bookbuild.check", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
        code = pytest.main([*options, "--color=no", "-rs", *arguments])
        out = capsys.readouterr()
        assert "Traceback" not in out.out + out.err, out.out + out.err
        return out.out, code

    return run


def failing(check_here):
    """The one message about the references; nothing ran."""
    out, code = check_here("book/counts.qmd")
    (message,) = messages(out).values()
    assert code == 1 and "1 failed, 1 skipped in" in out and "labels are not known" in out
    return message


def test_a_chapter_without_a_reference_fails(book, check_here):
    reference(book).unlink()
    assert failing(check_here) == (
        "book/counts.qmd:3: there is no tests/reference/book/counts.ipynb; "
        "look at the chapter and run make reference"
    )


def test_a_chapter_whose_cells_are_not_those_of_the_reference_fails(book, check_here):
    edit(book / "book/counts.qmd", "[1, 2]) / 4:.3f", "[1, 2]) / 3:.3f")
    message = failing(check_here)
    assert message.startswith(
        "book/counts.qmd:3: the cell is not the one that tests/reference/book/"
    )
    assert message.endswith(
        '  reference: print(f"{mean([1, 2]) / 4:.3f}")  # changed\n'
        '  now:       print(f"{mean([1, 2]) / 3:.3f}")  # changed'
    )


def test_a_computed_number_replaced_by_a_typed_one_fails(book, check_here):
    edit(book / "book/counts.qmd", '[1.5]{.computed expr="mean([1, 2])"}', "1.6")
    out, code = check_here("book/counts.qmd")
    (message,) = messages(out).values()
    assert code == 1 and message == (
        f"book/counts.qmd:{line_of(book, 'The mean is 1.6')}: '1.6' is typed where a computed "
        'number stood; write [value]{.computed expr="…"}, or run make reference if it is none any '
        "more"
    )


def test_a_cell_more_than_the_reference_fails(book, check_here):
    path = book / "book/counts.qmd"
    text = path.read_text(encoding="utf-8")
    write(path, text + "\n```{python}\n1\n```\n")
    assert failing(check_here).startswith(
        f"book/counts.qmd:{text.count(chr(10)) + 2}: the chapter has 11 cells, "
        "tests/reference/book/counts.ipynb has 10"
    )


def test_a_reference_that_is_no_notebook_fails(book, check_here):
    reference(book).write_text('{"cells": [', encoding="utf-8")
    assert failing(check_here).startswith(
        "book/counts.qmd:1: tests/reference/book/counts.ipynb is not a notebook"
    )


def test_a_reference_that_is_not_utf8_fails(book, check_here):
    reference(book).write_bytes(b'{"cells": ["\xff"]}')
    message = failing(check_here)
    assert message.startswith(
        "book/counts.qmd:1: tests/reference/book/counts.ipynb is not a notebook ("
    )
    assert message.endswith("; run make reference")


@pytest.mark.parametrize("damage", ["AAAA", "A", lambda png: png[: len(png) // 2 // 4 * 4]])
def test_a_damaged_figure_in_a_reference_is_one_sentence(book, check_here, damage):
    def change(cell):
        (output,) = cell["outputs"]
        png = "".join(output["data"]["image/png"]).replace("\n", "")
        output["data"]["image/png"] = damage if isinstance(damage, str) else damage(png)

    change_reference(book, "plt.subplots", change)
    out, code = check_here("book/counts.qmd")
    line = line_of(book, "import matplotlib") - 2
    assert code == 1 and list(messages(out).values()) == [
        f"book/counts.qmd:{line}: the expected figure in tests/reference/book/counts.ipynb "
        "is not a PNG; run make reference"
    ]


@pytest.mark.parametrize(
    ("option", "before", "said"),
    [
        ("#| error: [", 0, "not YAML in the cell options"),
        ("#| tolerance: much", 1, "tolerance is 'much'; give a share"),
    ],
)
def test_a_chapter_that_cannot_be_read_is_an_error(book, check_here, option, before, said):
    edit(book / "book/counts.qmd", "#| error: true", option)
    out, code = check_here("book/counts.qmd")
    line = line_of(book, option) - before
    assert code == 2 and f"\nbook/counts.qmd:{line}: {said}" in out and "1 error in" in out


def test_a_book_that_cannot_be_read_is_an_error(book, check_here):
    edit(book / "_quarto.yml", "book/counts.qmd", "book/nothing.qmd")
    out, code = check_here("book", "index.qmd")
    assert code == 2 and "chapters lists book/nothing.qmd; there is no such .qmd file" in out


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "said"),
    [
        ("index.qmd", "@sec-waves", "@sec-wave", "index.qmd:3", "the book has no label sec-wave"),
        ("index.qmd", "@sec-waves", "@fig-x", "index.qmd:3", "the book has no label fig-x"),
        ("index.qmd", "@sec-waves", "@eq-sine", "index.qmd:3", "the book has no label eq-sine"),
        ("index.qmd", "@sec-waves", "@euler1784", "index.qmd:3", "@euler1784 is not a work in"),
        ("index.qmd", "then count", "[see @euler1784]", "index.qmd:3", "@euler1784 is not a wo"),
        ("book/waves.qmd", "{#sec-waves}", "{#sec-curves}", "index.qmd:3", "no label sec-waves"),
        ("book/waves.qmd", "{#sec-waves}", "{#sec-counts}", "book/counts.qmd:1", "is taken at"),
    ],
)
def test_what_no_reference_can_find_is_said_with_its_line(
    book, check_here, file, old, new, place, said
):
    edit(book / file, old, new)
    out, code = check_here("book", "index.qmd", "-k", "labels")
    ((at, message),) = messages(out).items()
    assert code == 1 and at == place and said in message, out
    assert str(book) not in message


def test_a_label_that_a_cell_prints_is_known(tmp_path, monkeypatch, capsys):
    cell = "```{python}\n#| output: asis\nprint('## Printed {#sec-printed}')\n```\n"
    root = make_tiny_book(
        tmp_path, counts_qmd=f"# C {{#sec-counts}}\n\n{cell}", waves_qmd="# W {#sec-waves}\n\n"
        "See @sec-printed.\n",
    )  # fmt: skip
    write_references(read_book(root), say=lambda line: None)
    monkeypatch.chdir(root)
    options = ["-p", "bookbuild.check", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    assert pytest.main([*options, "book", "-k", "labels"]) == 0
    printed = {"text": "## Printed {#sec-p}\n"}
    change_reference(root, "Printed", lambda cell: cell["outputs"][0].update(printed))
    assert pytest.main([*options, "book", "-k", "labels"]) == 1
    assert "book/waves.qmd:3: @sec-printed: the book has no label" in capsys.readouterr().out


# What is collected


def test_only_chapters_of_the_book_are_collected_from_wherever_pytest_runs(book, check_here):
    write(book / "book/draft.qmd", "```{python}\n1 / 0\n```\n")
    out, code = check_here("--collect-only", "-q", "../book", "../index.qmd", folder="code")
    assert code == 0 and "draft" not in out
    names = re.findall(r"^\S+\.qmd::.*$", out, flags=re.MULTILINE)
    assert len(names) == 19 and "book/waves.qmd::line-3" in "\n".join(names)
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_one_cell_alone_runs_after_those_before_it(book):
    line = line_of(book, "mean([1, 2]);") - 1
    out, code = check(book, f"book/counts.qmd::line-{line}")
    assert code == 0 and "1 passed" in out


@pytest.mark.slow
def test_it_works_in_two_processes(book):
    change_reference(book, "never ran", lambda cell: cell.update(outputs=[]))
    out, code = check(book, "-n", "2", "--dist", "loadfile", "book", "index.qmd")
    assert code == 1 and "1 failed, 18 passed" in out
    assert "reference: nothing" in out


def test_the_tests_of_this_project_check_its_chapters():
    settings = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^addopts = ".*-p bookbuild\.check', settings, flags=re.MULTILINE)
