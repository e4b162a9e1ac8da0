"""A changed docstring or comment runs the chapters again that show it, and no others."""

import pytest
from tiny import edit, make_tiny_book, write

COUNTS = "book/counts.qmd"
MODULE = "code/minilib/counts.py"
TEXT = """\
import warnings


def mean(values):
    \"\"\"Return the middle of all values.\"\"\"
    if not values:  # this cannot go well
        raise ValueError("mean: values is empty; give at least one number")
    if len(values) == 1:
        warnings.warn("one value", stacklevel=1)
    return sum(values) / len(values)
"""


def book(tmp_path, cell, options=""):
    cell = f"import minilib.counts\nfrom minilib.counts import mean\n{cell}"
    cell = f"```{{python}}\n{options}{cell}\n```\n"
    return make_tiny_book(
        tmp_path, waves_qmd="# Waves\n", counts_qmd=f"# C\n\n{cell}", counts_py=TEXT
    )


FILE = "minilib.counts.__file__"
SEEING = {
    "a listing": "import inspect\nprint(inspect.getsource(mean))",
    "its length": "import inspect\nprint(len(inspect.getsource(mean)))",
    "a file read": f"from pathlib import Path\nprint(len(Path({FILE}).read_text()))",
    "another process": f"import subprocess\nprint(subprocess.getoutput('cat ' + {FILE}))",
    "the line of a warning": "mean([1])",
    "the loader": "print(len(minilib.counts.__loader__.get_source('minilib.counts')))",
    "a docstring": "print(getattr(mean, '__d' + 'oc__'))",
    "a docstring in another shape": "print(getattr(mean, '__d' + 'oc__').replace(' ', '\\n  '))",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cell", SEEING.values(), ids=SEEING)
def test_a_chapter_that_shows_a_text_runs_again_when_it_changes(tmp_path, ran, cell):
    root = book(tmp_path, cell)
    assert ran(root) == [COUNTS] and ran(root) == []
    edit(root / MODULE, "middle of all", "middle of all the")
    assert ran(root) == [COUNTS] and ran(root) == []


def test_a_traceback_that_shows_a_line_runs_again_when_the_lines_move(tmp_path, ran):
    root = book(tmp_path, "mean([])", options="#| error: true\n")
    assert ran(root) == [COUNTS]
    edit(root / MODULE, '"""Return', '"""\n    Return')
    assert ran(root) == [COUNTS]


def test_a_chapter_that_shows_nothing_of_a_text_does_not_run_again(tmp_path, ran):
    root = book(tmp_path, "print(mean([1, 2]))")
    assert ran(root) == [COUNTS]
    edit(root / MODULE, "middle of all", "middle of all the")
    assert ran(root) == []
    edit(root / MODULE, "cannot go well", "goes wrong")
    assert ran(root) == []
    edit(root / MODULE, "/ len(values)", "/ max(1, len(values))")
    assert ran(root) == [COUNTS]
    write(root / MODULE, (root / MODULE).read_text(encoding="utf-8") + "\n\n# The end.\n")
    assert ran(root) == []
