"""Chapters run once, in parallel, and what goes wrong stops with a sentence."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from bookbuild.config import read_book
from bookbuild.execute import CellError, execute_book
from bookbuild.notebook import ChapterError
from bookbuild.printed import without_machine_paths
from tiny import edit, make_tiny_book

WAVES, COUNTS = "book/waves.qmd", "book/counts.qmd"


def one_cell(tmp_path, *code, front="", options=""):
    """A tiny book whose only cells are these, in counts.qmd."""
    cells = "\n".join(f"```{{python}}\n{options}{textwrap.dedent(c)}\n```\n" for c in code)
    text = f"---\n{front}\n---\n\n{cells}" if front else cells
    return make_tiny_book(tmp_path, waves_qmd="# Waves {#sec-waves}\n", counts_qmd=text)


def outputs(root, **options):
    """What each cell of counts.qmd put out, as text."""
    nb = execute_book(read_book(root), say=lambda line: None, **options)[root / COUNTS]
    return [
        "".join(
            o.get("text") or o.get("evalue") or o.get("data", {}).get("text/plain", "")
            for o in c.outputs
        )
        for c in nb.cells
    ]


# What has run


def test_chapters_run_and_keep_their_outputs(_executed):
    root, notebooks, said = _executed
    assert list(notebooks) == [root / name for name in ("index.qmd", WAVES, COUNTS)]
    cells = {c.id: c for c in notebooks[root / WAVES].cells}
    assert cells["c1"].outputs[0].text == "1.000\n"
    assert cells["n1-0"].outputs[0].text == "8\n"
    assert [o.output_type for o in cells["c2"].outputs] == ["display_data"]
    assert sorted(line.split()[0] for line in said) == [COUNTS, WAVES]


def test_a_module_that_changes_during_the_run_is_run_again(tmp_path):
    root = make_tiny_book(
        tmp_path,
        counts_qmd="# C {#sec-c}\n\n```{python}\nfrom minilib.counts import mean\n"
        "with open('code/minilib/counts.py', 'a') as file:\n    print('x = 1', file=file)\n"
        "```\n",
    )
    said = []
    for _ in range(2):
        execute_book(read_book(root), only=[root / COUNTS], say=said.append)
    assert len(said) == 2


def test_figures_have_quartos_resolution(_executed):
    root, notebooks, _ = _executed
    figure = notebooks[root / WAVES].cells[2].outputs[0]
    # 3 inches, less what the tight frame leaves out, at 96 points twice over ("retina")
    assert 250 < figure.metadata["image/png"]["width"] < 288


def test_error_true_keeps_the_error_and_eval_false_does_not_run(_executed):
    root, notebooks, _ = _executed
    *_, raising, shown = notebooks[root / COUNTS].cells
    assert raising.outputs[0].ename == "ValueError" and shown.execution_count is None
    traceback = "\n".join(raising.outputs[0].traceback)
    assert "code/minilib/counts.py" in traceback and str(root) not in traceback


def test_a_second_run_runs_nothing_and_gives_the_same(_executed, executed_book, ran):
    assert ran(executed_book) == []
    again = execute_book(read_book(executed_book))
    for (_, before), after in zip(_executed[1].items(), again.values(), strict=True):
        assert [c.outputs for c in before.cells] == [c.outputs for c in after.cells]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (WAVES, "A wave with", "\n\nA new paragraph.\n\nA wave with"),
        (WAVES, "code-fold: true", "code-fold: false"),
        ("_quarto.yml", "Tiny", "Small"),
        ("code/minilib/helpers.py", "sum(values)\n", "sum(values)\n"),
    ],
)
def test_prose_and_options_of_display_run_nothing_again(executed_book, ran, file, old, new):
    edit(executed_book / file, old, new)
    assert ran(executed_book) == []


def test_cached_outputs_know_where_their_cells_stand_now(executed_book):
    edit(executed_book / WAVES, "# Waves {#sec-waves}\n", "# Waves {#sec-waves}\n\nNew.\n")
    nb = execute_book(read_book(executed_book))[executed_book / WAVES]
    assert nb.cells[0].metadata["book"]["line"] == 13 and nb.cells[0].outputs


def test_a_companion_change_runs_only_the_chapters_that_depend_on_it(executed_book, ran):
    edit(executed_book / "code/minilib/helpers.py", "sum(values)", "sum(values) + 4")
    assert ran(executed_book) == [COUNTS]
    nb = execute_book(read_book(executed_book))[executed_book / COUNTS]
    assert nb.cells[0].outputs[0].data["text/plain"] == "3.5"


@pytest.mark.slow
def test_changed_code_data_and_tags_run_the_chapter_again(executed_book, ran):
    edit(executed_book / "book/points.csv", "4\n", "5\n")
    assert ran(executed_book) == [COUNTS]
    edit(executed_book / COUNTS, "There are", "Here are")
    assert ran(executed_book) == [COUNTS]
    edit(executed_book / COUNTS, "#| eval: false\nmean(everything)", "#| eval: true\nmean(points)")
    assert ran(executed_book) == [COUNTS]
    assert ran(executed_book) == []


@pytest.mark.slow
def test_only_and_fresh_choose_what_runs(executed_book, ran):
    assert ran(executed_book, only=[executed_book / COUNTS]) == []
    assert ran(executed_book, only=[executed_book / COUNTS], fresh=True) == [COUNTS]


def test_a_book_without_cells_starts_no_kernel(tmp_path, ran, monkeypatch):
    monkeypatch.setattr("bookbuild.execute.run_chapter", None)
    root = make_tiny_book(
        tmp_path, waves_qmd="# Waves\n", counts_qmd="```{python}\n#| eval: false\nx\n```"
    )
    assert ran(root) == []


# The kernel does not depend on the machine


def test_the_kernel_is_pinned(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("PYTHONHASHSEED", "123")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    said = outputs(one_cell(
        tmp_path,
        """\
        import os, sys, locale
        from pathlib import Path
        print(os.environ["OMP_NUM_THREADS"], hash("wave"), sys.flags.utf8_mode)
        print(Path("book/counts.qmd").exists(), "MPLBACKEND" in os.environ, "äöü → ∑")
        """,
    ))  # fmt: skip
    expected = subprocess.run(
        [sys.executable, "-c", "print(hash('wave'))"],
        env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert said[0].startswith(f"1 {expected} 1\nTrue ")
    assert said[0].endswith("äöü → ∑\n")


def test_machine_paths_leave_outputs():
    text = (
        f"{Path('/home/me/book')}/code/x.py, /home/me/book/.venv/lib/python3.12/site-packages/a.py"
    )
    assert without_machine_paths(text, Path("/home/me/book")) == "code/x.py, site-packages/a.py"
    text = "/tmp/ipykernel_77/123.py:3: UserWarning, File /usr/lib/python3.11/json/x.py:1"
    assert (
        without_machine_paths(text, Path("/b")) == "<cell>:3: UserWarning, File python/json/x.py:1"
    )


# What goes wrong


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("x = 1\n1 / 0", 3, "the cell raises ZeroDivisionError: division by zero"),
        ("def f(:", 2, "the cell raises SyntaxError: invalid syntax$"),
        (
            "from minilib.counts import mean\n\nmean([])",
            4,
            "raises ValueError: mean: values is empty; give at least one number "
            "(in code/minilib/counts.py:6)",
        ),
        ("import os\nos._exit(3)", 1, "the cell ended its kernel"),
    ],
)
def test_a_cell_that_fails_stops_with_file_line_and_error(tmp_path, code, line, said):
    with pytest.raises(CellError) as caught:
        outputs(one_cell(tmp_path, code))
    message = str(caught.value)
    assert f"counts.qmd:{line}: " in message and said in message + "$"
    assert "\x1b" not in message and "\n" not in message


def test_a_number_that_cannot_be_computed_stops_with_its_line(tmp_path):
    root = make_tiny_book(
        tmp_path, waves_qmd="# W\n", counts_qmd='# C\n\n[8]{.computed expr="nothing"}\n'
    )
    with pytest.raises(
        CellError, match=r"counts\.qmd:3: the computed number `nothing` raises NameE"
    ):
        outputs(root)


def test_a_cell_that_does_not_end_is_stopped(tmp_path):
    root = one_cell(tmp_path, "import time\ntime.sleep(60)", front="execute:\n  timeout: 1")
    start = time.monotonic()
    with pytest.raises(
        CellError, match=r"counts\.qmd:6: the cell runs longer than 1 seconds; make"
    ):
        outputs(root)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("value", ["fast", "0", "-1", "true"])
def test_a_time_limit_that_is_none_is_refused(tmp_path, value):
    root = one_cell(tmp_path, "1", front=f"execute:\n  timeout: {value}")
    with pytest.raises(ChapterError, match=r"counts\.qmd:3: execute: timeout is .*; give seconds"):
        outputs(root)


def test_jobs_is_a_number_of_chapters(tiny_book):
    with pytest.raises(
        ValueError, match="execute_book: jobs is 0; give a whole number, at least 1"
    ):
        execute_book(read_book(tiny_book), jobs=0)


# A build that is stopped


def kernels_of(process):
    return [
        child
        for child in process.children(recursive=True)
        if "ipykernel" in " ".join(child.cmdline())
    ]


def stop_half_way(root, how):
    """Start a build whose last chapter sleeps, stop it once the others have run."""
    edit(root / COUNTS, "mean(points)\n```", "import time\ntime.sleep(60)\n```")
    command = [sys.executable, "-m", "bookbuild.cli", "build", "--renderer", "pandoc"]
    build = subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, encoding="utf-8")
    process, deadline = psutil.Process(build.pid), time.monotonic() + 90
    while not (waves_done := WAVES in _uris(root)) or len(kernels_of(process)) != 1:
        assert time.monotonic() < deadline and build.poll() is None, (waves_done, build.poll())
        time.sleep(0.1)
    kernels = kernels_of(process)
    build.send_signal(how)
    _, said = build.communicate(timeout=30)
    gone, alive = psutil.wait_procs(kernels, timeout=15)
    assert not alive, "a kernel is left"
    return build.returncode, said


def _uris(root):
    try:
        with sqlite3.connect(root / ".bookcache/global.db") as database:
            return [uri for (uri,) in database.execute("SELECT uri FROM nbcache")]
    except sqlite3.Error:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_stopped_half_way_leaves_a_cache_that_the_next_one_uses(
    tiny_book, ran, how, tmp_path, monkeypatch
):
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    code, said = stop_half_way(tiny_book, how)
    if how != signal.SIGKILL:
        assert not list(folder.glob("book-*"))
        assert code == 130 and said.strip() == "Stopped. What was finished is kept."
    assert not (tiny_book / "_site/index.html").exists()
    edit(tiny_book / COUNTS, "import time\ntime.sleep(60)", "mean(points)")
    assert ran(tiny_book) == [COUNTS]  # waves.qmd was finished, and kept


@pytest.mark.slow
def test_results_do_not_depend_on_how_many_chapters_run_at_once(tmp_path):
    code = """
        import numpy as np
        x = np.random.default_rng(0).normal(size=(300, 300))
        print(repr((x @ x).sum()))
    """
    text = f"```{{python}}\n{textwrap.dedent(code)}```\n"
    found = []
    for jobs in (1, 2):
        root = make_tiny_book(tmp_path / str(jobs), waves_qmd=text, counts_qmd=text)
        found += outputs(root, jobs=jobs)
    assert len(set(found)) == 1
