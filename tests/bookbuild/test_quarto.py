"""Quarto, where it is: how it is called, and what happens before it renders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bookbuild.prerender import drop_stale_caches
from tiny import edit

PRERENDER = Path(__file__).parents[2] / "code/bookbuild/prerender.py"

FAKE = """\
#!{python}
import json, os, sys
call = {{"arguments": sys.argv[1:], "cwd": os.getcwd()}}
call["env"] = {{k: os.environ.get(k) for k in ("QUARTO_PYTHON", "OMP_NUM_THREADS", "PYTHONPATH")}}
open({record!r}, "a", encoding="utf-8").write(json.dumps(call) + "\\n")
sys.exit({code})
"""


@pytest.fixture
def fake_quarto(tmp_path, monkeypatch):
    """Puts a `quarto` on PATH that records how it is called."""

    def install(code=0):
        record, program = tmp_path / "calls.jsonl", tmp_path / "bin/quarto"
        program.parent.mkdir(exist_ok=True)
        text = FAKE.format(python=sys.executable, record=str(record), code=code)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        return lambda: [json.loads(line) for line in record.read_text("utf-8").splitlines()]

    return install


@pytest.mark.parametrize("renderer", ["auto", "quarto"])
def test_quarto_renders_when_it_is_on_the_path(tiny_book, bookbuild, fake_quarto, renderer):
    calls = fake_quarto()
    done = bookbuild(tiny_book, "build", "--renderer", renderer)
    assert done.returncode == 0 and "The site is _site/index.html" in done.stdout, done.stderr
    (call,) = calls()
    assert call["arguments"] == ["render", str(tiny_book), "--to", "html"]
    assert call["cwd"] == str(tiny_book)
    assert call["env"]["QUARTO_PYTHON"] == sys.executable
    assert call["env"]["OMP_NUM_THREADS"] == "1"
    assert call["env"]["PYTHONPATH"].split(os.pathsep)[0] == str(tiny_book / "code")
    # Once through the book's own cache: for the numbers in prose, and for the exit code.
    assert "Run " in done.stdout and (tiny_book / ".bookcache").exists()


def test_serving_with_quarto_is_its_preview(tiny_book, bookbuild, fake_quarto):
    calls = fake_quarto()
    assert bookbuild(tiny_book, "serve", "--port", "8123").returncode == 0
    assert calls()[0]["arguments"] == ["preview", str(tiny_book), "--port", "8123", "--no-browser"]


def test_a_quarto_that_fails_is_one_sentence(tiny_book, bookbuild, fake_quarto):
    fake_quarto(code=3)
    done = bookbuild(tiny_book, "build")
    assert done.returncode == 1
    assert done.stderr == (
        "bookbuild: quarto render ended with exit code 3; what it said stands above\n"
    )


def test_no_quarto_is_one_sentence(tiny_book, bookbuild):
    env = os.environ | {"PATH": "/nowhere"}
    done = bookbuild(tiny_book, "build", "--renderer", "quarto", env=env)
    assert (done.returncode, done.stderr) == (
        1,
        "bookbuild: there is no quarto on PATH; install it from quarto.org, "
        "or use --renderer pandoc\n",
    )


# Before Quarto renders


def prerender(root, python=sys.executable, **env):
    return subprocess.run(
        [python, str(PRERENDER)], cwd=root, env=os.environ | env,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip


def test_stale_caches_are_dropped_when_the_companion_changes(tiny_book):
    caches = [tiny_book / ".jupyter_cache", tiny_book / "book/.jupyter_cache"]

    def run():
        for cache in caches:
            (cache / "executed").mkdir(parents=True, exist_ok=True)
        done = prerender(tiny_book)
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stdout.splitlines() if line.startswith("pre-render")]
        return [cache.exists() for cache in caches], said

    assert run()[0] == [False, False]  # nobody knows what they were made from
    assert run() == ([True, True], [])
    edit(tiny_book / "book/waves.qmd", "A wave", "A curve")
    assert run() == ([True, True], [])
    edit(tiny_book / "code/minilib/helpers.py", "sum", "max")
    assert run() == (
        [False, False],
        [
            "pre-render: the code or data of the book changed; "
            ".jupyter_cache, book/.jupyter_cache dropped"
        ],
    )
    assert run() == ([True, True], [])


def test_caches_of_others_are_left(tmp_path):
    theirs = tmp_path / ".venv/x/.jupyter_cache"
    theirs.mkdir(parents=True)
    assert drop_stale_caches(tmp_path, {}) == "" and theirs.exists()


def test_the_digest_is_kept_only_after_the_caches_are_gone(tmp_path, monkeypatch):
    (tmp_path / ".jupyter_cache").mkdir()

    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        drop_stale_caches(tmp_path, {"a": 1})
    monkeypatch.undo()
    assert drop_stale_caches(tmp_path, {"a": 1}) == ".jupyter_cache"


def test_a_chapter_that_cannot_be_read_stops_with_its_line(tiny_book):
    edit(tiny_book / "book/waves.qmd", "#| code-fold: true", "#| code-fold: [")
    done = prerender(tiny_book)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "waves.qmd:" in done.stderr and "not YAML in the cell options" in done.stderr


def test_without_the_requirements_it_says_so(tiny_book):
    # -S: no site-packages, as in a Python that has none of them.
    done = subprocess.run(
        [sys.executable, "-S", str(PRERENDER)], cwd=tiny_book, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the book's requirements are not installed" in done.stderr
    assert "set QUARTO_PYTHON" in done.stderr


def test_the_project_runs_it_before_rendering():
    import yaml

    settings = yaml.safe_load((PRERENDER.parents[2] / "_quarto.yml").read_text(encoding="utf-8"))
    assert settings["project"]["pre-render"] == "code/bookbuild/prerender.py"
    assert settings["execute"]["cache"] is True
