"""A cell that puts out too much, does not end, or ends its kernel does no harm."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
from bookbuild.config import read_book
from bookbuild.execute import CellError, execute_book
from bookbuild.kernel_extension import CUT, LIMIT, OutputLimit
from bookbuild.owned import OwnedFolder, remove_abandoned
from bookbuild.reference import write_references
from test_check import check, messages
from tiny import make_tiny_book, write

COUNTS = "book/counts.qmd"


def one_cell(tmp_path, code, front=""):
    """A tiny book whose only cell is this one, at line 5 of counts.qmd."""
    front = front or "code-fold: false"
    text = f"---\n{front}\n---\n\n```{{python}}\n{textwrap.dedent(code)}\n```\n"
    text += "\n# C {#sec-counts}\n"
    return make_tiny_book(tmp_path, waves_qmd="# Waves {#sec-waves}\n", counts_qmd=text)


def outputs(root):
    return execute_book(read_book(root), say=lambda line: None)[root / COUNTS].cells[0].outputs


# Too much


def test_a_short_output_is_left_alone():
    limit = OutputLimit()
    stream = {"name": "stdout", "text": "x" * LIMIT}
    assert limit.keep("stream", stream) and stream["text"] == "x" * LIMIT
    result = {"data": {"text/plain": "1", "image/png": "p" * 2 * LIMIT}, "metadata": {}}
    assert limit.keep("execute_result", result) and len(result["data"]["image/png"]) == 2 * LIMIT


def test_a_stream_is_cut_once_and_said():
    limit = OutputLimit()
    pieces = []
    for _ in range(2500):
        stream = {"name": "stdout", "text": "x" * 999}
        if limit.keep("stream", stream):
            pieces.append(stream["text"])
    assert "".join(pieces) == "x" * LIMIT + f"\n{CUT}\n"
    assert limit.keep("stream", {"name": "stderr", "text": "x"})
    limit.reset()
    assert limit.keep("stream", {"name": "stdout", "text": "x"})


def test_displays_are_cut_by_their_length_and_by_their_number():
    limit = OutputLimit()
    given = {"text/plain": "x" * 5 * LIMIT, "text/markdown": "y"}
    content = {"data": given}
    assert limit.keep("display_data", content)
    assert content["data"]["text/plain"] == "x" * LIMIT + f"\n{CUT}\n"
    assert len(given["text/plain"]) == 5 * LIMIT  # the cell's own is not changed
    assert not limit.keep("display_data", {"data": {"text/plain": "x"}})
    limit.reset()
    kept = [c for c in ({"data": {"text/plain": "1"}} for _ in range(LIMIT // 50))
            if limit.keep("display_data", c)]  # fmt: skip
    assert len(kept) < LIMIT // 90 and kept[-1]["data"]["text/plain"] == CUT


def test_an_error_is_cut_and_a_cleared_output_begins_again():
    limit = OutputLimit()
    error = {"ename": "E", "evalue": "x" * 2 * LIMIT, "traceback": ["y" * 2 * LIMIT]}
    assert limit.keep("error", error) and len(error["evalue"]) == len(error["traceback"][0])
    assert len(error["evalue"]) == LIMIT
    for _ in range(3):
        assert limit.keep("stream", {"name": "stdout", "text": "x" * LIMIT})
        assert limit.keep("clear_output", {"wait": True})


@pytest.mark.slow
def test_fifty_megabytes_are_cut_alike_in_build_reference_and_check(tmp_path):
    root = one_cell(
        tmp_path,
        """
        import sys
        for _ in range(5):
            print("x" * 9_999_999)
        print("y" * 9_999_999, file=sys.stderr)
        "z" * 9_999_999
        """,
    )
    kept = outputs(root)
    assert kept[0].text == "x" * LIMIT + f"\n{CUT}\n"
    texts = [o.get("text") or o.data["text/plain"] for o in kept]
    assert len(texts) == 3 and all(len(t) < LIMIT + 200 and t.count(CUT) == 1 for t in texts)
    write_references(read_book(root), say=lambda line: None)
    reference = root / "tests/reference/book/counts.ipynb"
    assert CUT in reference.read_text(encoding="utf-8") and reference.stat().st_size < 3 * LIMIT
    out, code = check(root, COUNTS)
    assert code == 0, out


@pytest.mark.slow
def test_controls_reach_no_product(tmp_path, bookbuild):
    root = one_cell(
        tmp_path,
        """
        from IPython.display import Markdown
        print("plain \\0 \\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x08 end")
        display(Markdown("mark \\x00 \\x1b[1mdown"))
        "value \\x00".encode().decode()
        """,
    )
    write_references(read_book(root), say=lambda line: None)
    done = bookbuild(root, "build", "--renderer", "pandoc")
    assert done.returncode == 0, done.stderr
    files = [root / "tests/reference/book/counts.ipynb", root / "_site/book/counts.html",
             root / "_site/book/counts.ipynb", root / "_site/search-index.js"]  # fmt: skip
    assert "plain  red   end" in files[1].read_text(encoding="utf-8")
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not [c for c in text if ord(c) < 32 and c not in "\n\t\r"], file
        if file.suffix == ".ipynb":
            assert "\\u0000" not in text.split('"cell_type": "code"')[-1].split("source")[0]


# Without end


ENDLESS = {
    "sleeps": "import time\ntime.sleep(600)",
    "computes": "while True: pass",
    "catches the interrupt": "import time\nwhile True:\n    try: time.sleep(1)\n    except: pass",
    "prints": "while True:\n    try:\n        while True: print('x' * 999)\n    except: pass",
    "has children": (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(600)'], start_new_session=True)\nsubprocess.run(['sleep', '600'])"
    ),
}


def started_by(root):
    """Processes that run in the book's folder: kernels, and what they have started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.cwd() == str(root):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_a_cell_without_end_is_stopped_and_nothing_of_it_is_left(tmp_path, code):
    root = one_cell(tmp_path, code, front="execute: {timeout: 2}")
    said = r"counts\.qmd:5: the cell runs longer than 2 seconds; make it faster"
    for run in (
        lambda: outputs(root),
        lambda: write_references(read_book(root), say=lambda line: None),
    ):
        start = time.monotonic()
        with pytest.raises(CellError, match=said):
            run()
        assert time.monotonic() - start < 30
        assert not psutil.wait_procs(started_by(root), timeout=5)[1]


@pytest.mark.slow
@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_the_check_stops_a_cell_without_end_too(tmp_path, code):
    root = one_cell(tmp_path, "1", front="execute: {timeout: 2}")
    write_references(read_book(root), say=lambda line: None)
    endless = one_cell(tmp_path / "b", code, front="execute: {timeout: 2}")
    reference = endless / "tests/reference/book/counts.ipynb"
    reference.parent.mkdir(parents=True)
    shutil.copy(root / "tests/reference/book/counts.ipynb", reference)
    nb = json.loads(reference.read_text(encoding="utf-8"))
    nb["cells"][0]["source"] = code
    reference.write_text(json.dumps(nb), encoding="utf-8")
    start = time.monotonic()
    out, exit_code = check(endless, COUNTS)
    assert exit_code == 1 and time.monotonic() - start < 40
    assert "the cell runs longer than 2 seconds; make it faster" in messages(out)[f"{COUNTS}:5"]
    assert not psutil.wait_procs(started_by(endless), timeout=5)[1]


# exit()


@pytest.mark.parametrize("code", ["exit()", "quit()", "import sys; sys.exit()", "raise SystemExit"])
def test_exit_is_an_error_with_its_line(tmp_path, code):
    with pytest.raises(CellError, match=r"counts\.qmd:[56]: the cell calls exit, and the cells"):
        outputs(one_cell(tmp_path, code))


@pytest.mark.slow
@pytest.mark.parametrize("code", ["exit()", "import sys; sys.exit()", "import os; os._exit(0)"])
def test_exit_is_an_error_in_the_check(tmp_path, code):
    root = one_cell(tmp_path, f"if 'done' in open('x').read():\n    {code}")
    write(root / "x", "")
    write_references(read_book(root), say=lambda line: None)
    write(root / "x", "done")
    out, exit_code = check(root, COUNTS)
    (message,) = messages(out).values()
    assert exit_code == 1 and message.startswith(f"{COUNTS}:")
    assert "ended its kernel" in message if "_exit" in code else "calls exit" in message


# Folders of killed runs


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path):
    script = "from bookbuild.owned import OwnedFolder as F\nprint(f := F().__enter__(), flush=True)"
    script += "\ninput()"
    env = os.environ | {"TMPDIR": str(tmp_path)}
    owners = [
        subprocess.Popen([sys.executable, "-c", script], env=env, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]  # fmt: skip
    killed, alive = (tmp_path / owner.stdout.readline().strip() for owner in owners)
    owners[0].send_signal(signal.SIGKILL)
    owners[0].wait()
    other = tmp_path / "book-of-another-program"
    other.mkdir()
    (tmp_path / "book-link").symlink_to(tmp_path)
    remove_abandoned(tmp_path)
    assert not killed.exists() and alive.exists() and other.exists()
    owners[1].communicate("\n")
    remove_abandoned(tmp_path)
    assert not alive.exists() and other.exists()


def test_the_folder_of_another_user_stays(tmp_path, monkeypatch):
    folder = tmp_path / "book-x"
    folder.mkdir()
    (folder / "owner").touch()
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    remove_abandoned(tmp_path)
    assert folder.exists()
    monkeypatch.undo()
    remove_abandoned(tmp_path)
    assert not folder.exists()


def test_a_folder_goes_with_its_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with OwnedFolder() as folder:
        assert folder.parent == tmp_path
        remove_abandoned(tmp_path)
        assert folder.exists()
    assert not list(tmp_path.iterdir())
