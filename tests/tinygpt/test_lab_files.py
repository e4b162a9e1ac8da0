"""A student's file may do anything; the check says what, in one line, and goes on."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tinygpt import lab
from tinygpt.lab import isolation
from tinygpt.lab.grading import FAILED
from tinygpt.lab.isolation import check_file
from tinygpt.lab.listing import solution_text, source_text, start_text
from tinygpt.lab.record import FILE_NAME, Record, digest_of, write_beside
from tinygpt.lab.student import check_here

CHAPTER = lab.find_chapter("transformer")
MASK = lab.exercise("causal_mask")
HEAD = "import numpy as np\nimport os, sys, signal\n\n\ndef create_causal_mask(seq_len):\n    "

LOOPS = {
    "loop": (
        HEAD + "while True: pass\n",
        "no answer after 1 seconds; it was still running, in line 6 (create_causal_mask)",
    ),
    "loop while importing": (
        "while True:\n    pass\n",
        "no answer after 1 seconds; it was still running, in line ",
    ),
    "loop that swallows everything": (
        HEAD + "while True:\n        try: 1 / 0\n        except BaseException: pass\n",
        "no answer after 1 seconds; it was still running",
    ),
    "loop inside NumPy": (
        HEAD + "a = np.ones((9000, 9000))\n    return a @ a @ a @ a @ a\n",
        "no answer after 1 seconds; it was still running",
    ),
    "prints without end": (
        HEAD + "while True: print('spam' * 1000)\n",
        "no answer after 1 seconds; it was still running",
    ),
}

HOSTILE = {
    "exception": (HEAD + "return 1 / 0\n", "raised ZeroDivisionError: division by zero (line 6)"),
    "sys.exit": (HEAD + "sys.exit(0)\n", "create_causal_mask ends Python with sys.exit (line 6)"),
    "os._exit": (HEAD + "os._exit(0)\n", "ended itself with exit code 0 before an answer"),
    "kills itself": (
        HEAD + "os.kill(os.getpid(), signal.SIGKILL)\n",
        "the process of the check was ended by SIGKILL",
    ),
    "crash": (
        "import ctypes\n" + HEAD + "ctypes.string_at(0)\n",
        "the process of the check was ended by SIGSEGV",
    ),
    "closes everything": (
        "import os\nos.closerange(0, 100)\n" + HEAD + "return 1\n",
        "the process of the check ",
    ),
    "recursion": (HEAD + "return create_causal_mask(1)\n", "calls itself without end (line 6)"),
    "memory": (HEAD + "return np.ones((10**7, 10**7))\n", "more memory than there is (line 6)"),
    "keyboard": (HEAD + "raise KeyboardInterrupt\n", "create_causal_mask raised KeyboardInterrupt"),
    "waits for input": (HEAD + "input()\n", "raised EOFError"),
    "leaves a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n"
        + HEAD + "return 1\n",
        "The mask should be a NumPy array, got int",
    ),
    "exit handler": (
        "import atexit, time\natexit.register(time.sleep, 99)\n" + HEAD + "return 1\n",
        "The mask should be a NumPy array, got int",
    ),
    "no standard output": (
        "import sys\nsys.stdout.close()\nsys.stdout = None\n" + HEAD + "return 1\n",
        "The mask should be a NumPy array, got int",
    ),
    "damages NumPy": ("import numpy\nnumpy.ndarray = int\n" + HEAD + "return 1\n", "4), got int"),
}

# These say what they are before or while they are imported.
BROKEN = {
    "exception while importing": (
        "import numpy as np\n1 / 0\n",
        "work_lab.py cannot be imported: ZeroDivisionError: division by zero (line 2)",
    ),
    "unknown import": ("import numpie\n", "ModuleNotFoundError: No module named 'numpie' (line 1)"),
    "sys.exit while importing": (
        "import sys\nsys.exit(0)\n",
        "work_lab.py ends Python when it is imported, with sys.exit (line 2); remove that",
    ),
    "syntax": ("def f(:\n    pass\n", "work_lab.py is not Python in line 1: invalid syntax"),
    "null byte": ("x = 1\n\0", "work_lab.py is not Python"),
    "Latin-1": (
        b"x = 1\n# caf\xe9\n",
        "work_lab.py is not UTF-8: byte 0xe9 in line 2; save it as UTF-8",
    ),
    "UTF-16": ("x = 1\n".encode("utf-16"), "work_lab.py is not UTF-8: byte 0xff in line 1"),
    "byte order mark": (b"\xef\xbb\xbf" + HEAD.encode() + b"return 1\n", "array, got int"),
    "coding line": (
        b"# coding: latin-1\n" + HEAD.encode() + b"raise ValueError('\xc3\xa9')\n",
        "create_causal_mask raised ValueError: é (line 7)",
    ),
    "Windows line ends": ((HEAD + "return 1\n").replace("\n", "\r\n").encode(), "array, got int"),
    "missing name": ("x = 1\n", "work_lab.py has no function create_causal_mask"),
    "wrong signature": (
        "def create_causal_mask(): pass\n",
        "should be written as create_causal_mask(seq_len), got create_causal_mask()",
    ),
    "not a function": ("create_causal_mask = 3\n", "create_causal_mask should be a function, got"),
    "the book's own": (
        "from tinygpt.scratch import create_causal_mask\n",
        "create_causal_mask is the book's own; write it yourself",
    ),
    "empty file": ("", "work_lab.py has no function create_causal_mask"),
}


def check_text(folder, content, exercise=MASK, seconds=30.0):
    path = folder / "work_lab.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return check_file(CHAPTER, exercise, path, seconds)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file_is_reported_in_one_line(tmp_path, case):
    content, expected = HOSTILE[case]
    result = check_text(tmp_path, content)
    assert result.status == FAILED
    assert expected in result.message and "\n" not in result.message


@pytest.mark.parametrize("case", BROKEN)
def test_broken_file_is_reported_in_one_line(tmp_path, case):
    content, expected = BROKEN[case]
    path = tmp_path / "work_lab.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    result = check_here(MASK, path)
    assert result.status == FAILED
    assert expected in result.message and "\n" not in result.message


@pytest.mark.parametrize(
    "case", ["loop", *(pytest.param(name, marks=pytest.mark.slow) for name in list(LOOPS)[1:])]
)
def test_endless_file_is_stopped(tmp_path, case):
    content, expected = LOOPS[case]
    begin = time.perf_counter()
    result = check_text(tmp_path, content, seconds=1)
    assert time.perf_counter() - begin < 60
    assert result.status == FAILED
    assert result.message.startswith(expected)
    assert len(result.printed) < 3000


@pytest.mark.slow
def test_memory_is_limited(tmp_path):
    content = HEAD + "kept = []\n    while True: kept.append(np.ones(10**8, np.uint8))\n"
    result = check_text(tmp_path, content)
    assert "create_causal_mask asks for more memory than there is" in result.message


def test_what_is_printed_is_shown_and_cut(tmp_path):
    result = check_text(tmp_path, HEAD + "print('mask für', seq_len)\n")
    assert result.printed == "mask für 4"
    result = check_text(tmp_path, HEAD + "print('x' * 100_000)\n")
    assert result.printed.startswith("xxx") and result.printed.endswith("bytes more")
    assert len(result.printed) < 3000


def test_processes_that_the_file_starts_are_ended(tmp_path):
    program = "import time; time.sleep(120)"
    start = f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {program!r}])"
    begin = time.perf_counter()
    result = check_text(tmp_path, f"{start}\nprint(child.pid)\n{HEAD}return 1\n")
    assert time.perf_counter() - begin < 60
    pid = int(result.printed)
    deadline = time.monotonic() + 10
    while _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(pid)


def test_files_beside_do_not_stand_in_for_libraries(tmp_path):
    for name in ("colorsys.py", "numpy.py", "tinygpt.py"):
        (tmp_path / name).write_text("raise RuntimeError\n", encoding="utf-8")
    (tmp_path / "my_helper.py").write_text("SIZE = 3\n", encoding="utf-8")
    imports = "import colorsys\nfrom my_helper import SIZE\n"
    result = check_text(tmp_path, imports + HEAD + "return SIZE\n")
    assert result.message == "The mask should be a NumPy array, got int"


def test_a_file_with_an_unusual_name(tmp_path):
    path = tmp_path / "numpy é 'x'.py"
    path.write_text(HEAD + "while True: pass\n", encoding="utf-8")
    result = check_file(CHAPTER, MASK, path, 1)
    assert result.message.endswith("in line 6 (create_causal_mask)")


def test_solved_file_passes_and_a_mistake_is_explained(tmp_path):
    norm = lab.exercise("layer_norm")
    solved = start_text(CHAPTER).replace(source_text(norm.stub), solution_text(norm))
    assert check_text(tmp_path, solved, norm).passed
    wrong = solved.replace("axis=-1", "axis=0")
    result = check_text(tmp_path, wrong, norm)
    known = lab.mistake("layer_norm", "batch_axis")
    assert (result.message, result.explanation) == (known.message, known.explanation)
    assert result.check == "test_unit_layer_norm"


def test_python_that_does_not_start_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation.sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(lab.LabError, match=r"^The check cannot start a Python process: No such"):
        check_text(tmp_path, HEAD)


# ---- the record ---------------------------------------------------------------------------------


def test_results_and_hints_are_kept(tmp_path):
    path = tmp_path / "work_lab.py"
    path.write_text("x = 1\n", encoding="utf-8")
    record = Record(tmp_path)
    record.note_result("transformer", lab.Result("mlp", "solved"), digest_of(path))
    record.note_hints("transformer", "mlp", 2)
    again = Record(tmp_path)
    assert again.status("transformer", "mlp") == "solved"
    assert again.hints("transformer", "mlp") == 2
    assert again.status("transformer", "generate") == "open"
    assert again.is_current("transformer", "mlp", path)
    path.write_text("x = 2\n", encoding="utf-8")
    assert not again.is_current("transformer", "mlp", path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [FILE_NAME, "work_lab.py"]


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff\xfe", b"[]", b'{"chapters": 3}', b"[" * 100_000, b""],
    ids=["cut", "not UTF-8", "list", "wrong type", "deep", "empty"],
)
def test_a_damaged_record_is_set_aside(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    record = Record(tmp_path)
    assert record.trouble.startswith(f"{FILE_NAME} cannot be read")
    assert record.status("transformer", "mlp") == "open"
    record.note_hints("transformer", "mlp", 1)
    assert Record(tmp_path).hints("transformer", "mlp") == 1
    assert not Record(tmp_path).trouble
    assert (tmp_path / ".tinygpt_lab.damaged.json").read_bytes() == content


@pytest.mark.parametrize(
    "entry", [3, None, {"status": 4, "hints": "x"}, {"status": "cheated", "hints": -1}]
)
def test_strange_entries_count_as_open(tmp_path, entry):
    text = json.dumps({"version": 1, "chapters": {"transformer": {"mlp": entry}}})
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    record = Record(tmp_path)
    assert record.status("transformer", "mlp") == "open"
    assert record.hints("transformer", "mlp") == 0
    record.note_hints("transformer", "mlp", 1)
    assert Record(tmp_path).hints("transformer", "mlp") == 1


def test_two_checks_at_once_lose_nothing(tmp_path):
    """Each writer reads the whole record, so a lost update would drop others' results."""
    names = [f"exercise{i}" for i in range(40)]

    def note(name):
        Record(tmp_path).note_result("transformer", lab.Result(name, "solved"), "")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(note, names))
    record = Record(tmp_path)
    assert [record.status("transformer", name) for name in names] == ["solved"] * len(names)


def test_a_full_disk_leaves_the_old_record(tmp_path, monkeypatch):
    record = Record(tmp_path)
    record.note_hints("transformer", "mlp", 1)
    before = record.path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(lab.LabError, match="cannot be written in .*: No space left on device"):
        record.note_hints("transformer", "mlp", 2)
    assert record.path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [FILE_NAME]


def test_a_folder_that_is_gone(tmp_path):
    with pytest.raises(lab.LabError, match="^x.py cannot be written in .*: No such file"):
        write_beside(tmp_path / "gone" / "x.py", "")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:  # a zombie whose parent has not collected it is not running
        return stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return not stat.parent.parent.exists()
