"""One machine as several: what each combination tells the libraries, and the table of checks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bookbuild import cpus, sweep
from bookbuild.config import read_book
from bookbuild.cpus import COMBINATIONS, Combination, Processor
from bookbuild.kernel import THREADS, pinned_environment
from bookbuild.reference import write_references
from bookbuild.sweep import Outcome, table
from tiny import edit, make_tiny_book

NEW_CPU = {
    "machine": "x86_64", "features": ["X86_V2", "AVX2", "AVX512_SKX"],
    "dispatch": ["X86_V3", "X86_V4", "AVX512_ICL"], "threads": 1,
}  # fmt: skip


def test_there_are_at_least_six_that_differ_and_both_numbers_of_threads():
    environments = [tuple(sorted(c.environment(NEW_CPU["dispatch"]).items())) for c in COMBINATIONS]
    assert len(set(environments)) == len(COMBINATIONS) >= 6
    assert {c.threads for c in COMBINATIONS} == {1, 2}
    assert len({c.name for c in COMBINATIONS}) == len(COMBINATIONS)


@pytest.mark.parametrize(
    ("level", "left_out"), [(4, ""), (3, "X86_V4 AVX512_ICL"), (2, "X86_V3 X86_V4 AVX512_ICL")]
)
def test_numpy_leaves_out_what_is_above_its_level(level, left_out):
    env = Combination("x", numpy_up_to=level).environment(NEW_CPU["dispatch"])
    assert env.get("NPY_DISABLE_CPU_FEATURES", "") == left_out


def reasons(monkeypatch, tmp_path, here, **told):
    """Why each combination is skipped, on a machine whose libraries say this."""

    def ask(root, environment):
        if not environment:
            return here
        answer = {
            "OpenBLAS": environment.get("OPENBLAS_CORETYPE"),
            "PyTorch": environment.get("ATEN_CPU_CAPABILITY", "").upper() or None,
            "threads": int(environment[THREADS]),
        }
        return here | answer | told

    monkeypatch.setattr(cpus, "ask", ask)
    return {p.combination.name: p.skipped for p in cpus.processors(tmp_path)}


def test_what_this_cpu_cannot_do_is_skipped_with_the_reason(monkeypatch, tmp_path):
    old = NEW_CPU | {"features": ["X86_V2", "AVX2"]}
    found = reasons(monkeypatch, tmp_path, old)
    assert found["SkylakeX"] == "this CPU has no AVX-512"
    assert found["Haswell"] is None and found["Nehalem"] is None
    found = reasons(monkeypatch, tmp_path, NEW_CPU | {"machine": "arm64", "features": []})
    assert found["as it is"] is None
    assert found["Nehalem"] == "this processor is arm64, not x86-64"


def test_a_library_that_does_not_do_as_told_is_said(monkeypatch, tmp_path):
    found = reasons(monkeypatch, tmp_path, NEW_CPU, OpenBLAS="Haswell")
    assert found["Nehalem"] == "OpenBLAS does not become Nehalem here, it is Haswell"
    assert found["Haswell"] is None and found["Zen, 2 threads"] is None
    found = reasons(monkeypatch, tmp_path, NEW_CPU, threads=1)
    assert found["as it is, 2 threads"] == "1 threads instead of 2"


def test_threads_are_one_unless_the_sweep_says_two(tmp_path, monkeypatch):
    monkeypatch.delenv(THREADS, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert pinned_environment(tmp_path)["OMP_NUM_THREADS"] == "1"
    env = cpus.environment_for(tmp_path, {THREADS: "2"})
    assert env["OMP_NUM_THREADS"] == env["OPENBLAS_NUM_THREADS"] == env["MKL_NUM_THREADS"] == "2"


def test_what_this_shell_chooses_has_no_part_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    assert "OPENBLAS_CORETYPE" not in cpus.environment_for(tmp_path, {THREADS: "1"})


@pytest.mark.slow
def test_the_libraries_take_the_settings(tmp_path):
    here = cpus.ask(tmp_path, {})
    if here.get("machine") != "x86_64":
        pytest.skip("not x86-64")
    oldest = next(c for c in COMBINATIONS if c.name == "Nehalem")
    said = cpus.ask(tmp_path, oldest.environment(here["dispatch"]))
    assert (said["OpenBLAS"], said["PyTorch"]) == ("Nehalem", "DEFAULT")
    assert said["oneDNN"] == "Intel SSE4.1" and said["threads"] == 1
    assert not set(said["features"]) & set(here["dispatch"])


def processor(name, skipped=None):
    return Processor(Combination(name), {THREADS: "1"}, "", skipped)


def test_the_table_has_a_line_for_each_chapter_and_a_column_for_each_processor():
    here = [processor("one"), processor("two", "no such CPU")]
    said = "book/a.qmd:378: the prose does not say what is computed"
    outcomes = {
        ("book/a.qmd", "one"): Outcome("FAILED", said), ("book/a.qmd", "two"): Outcome("skipped"),
        ("index.qmd", "one"): Outcome("kept"), ("index.qmd", "two"): Outcome("skipped"),
    }  # fmt: skip
    assert table(["book/a.qmd", "index.qmd"], here, outcomes) == (
        "chapter     A            B\n"
        "book/a.qmd  FAILED :378  skipped\n"
        "index.qmd   kept         skipped"
    )


@pytest.fixture
def checked_book(tmp_path, monkeypatch):
    """A tiny book with expected outputs, on a machine that can be two processors of three."""
    root = make_tiny_book(tmp_path)
    book = read_book(root)
    write_references(book, say=lambda _: None)
    here = [processor("one"), processor("two"), processor("three", "this CPU has no AVX-512")]
    monkeypatch.setattr(sweep, "processors", lambda root: here)
    said = []

    def run(*names):
        said.clear()
        only = [root / "book" / f"{name}.qmd" for name in names]
        return sweep.sweep(book, only, say=said.append), "\n".join(said)

    return root, run


@pytest.mark.slow
def test_what_passed_is_kept_and_what_failed_runs_again(checked_book):
    root, run = checked_book
    build = root / ".bookcache/executed"
    before = sorted(build.iterdir())
    failed, said = run("counts")
    assert failed == 0 and "book/counts.qmd  passed  passed  skipped" in said
    assert "C  three: skipped, this CPU has no AVX-512" in said
    assert sorted(build.iterdir()) == before  # another processor's outputs are not the build's
    edit(root / "book/counts.qmd", "The mean of", "So the mean of")
    assert "book/counts.qmd  kept  kept  skipped" in run("counts")[1]
    edit(root / "book/counts.qmd", "is [2.5]", "is [2.6]")
    for _ in range(2):
        failed, said = run("counts")
        assert failed == 2 and "book/counts.qmd  FAILED :17  FAILED :17  skipped" in said
        assert "book/counts.qmd:17: the prose does not say what is computed" in said


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_leaves_no_kernel(tmp_path):
    root = make_tiny_book(tmp_path)
    write_references(read_book(root), say=lambda _: None)
    edit(root / "book/waves.qmd", "print(max(samples))", "import time; time.sleep(120)")
    process = subprocess.Popen(
        [sys.executable, "-m", "bookbuild.cli", "cpus"], cwd=root, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    kept, deadline = root / ".bookcache/cpus", time.monotonic() + 180
    while not (kept.exists() and any(kept.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 130 and "Stopped. What was finished is kept." in err
    assert any("book/counts.qmd" in file.read_text("utf-8") for file in kept.iterdir())
    left = [
        pid
        for pid in os.listdir("/proc")
        if pid.isdigit() and str(root) in _command_and_folder(pid)
    ]
    assert left == []


def _command_and_folder(pid):
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return f"{command} {os.readlink(f'/proc/{pid}/cwd')}"
    except OSError:
        return ""
