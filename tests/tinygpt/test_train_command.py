"""`tinygpt train` in a process of its own: killed, interrupted, shared, and given bad input."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tinygpt.commands import tinygpt
from tinygpt.training.history import History

pytestmark = pytest.mark.slow

SMALL = ["--embed-dim", "16", "--num-layers", "1", "--num-heads", "2", "--block-size", "16"]
SMALL += ["--batch-size", "4", "--eval-every", "20", "--eval-batches", "2"]
SMALL += ["--sample-every", "0", "--device", "cpu", "--checkpoint-every", "10"]
COMMAND = [sys.executable, "-m", "tinygpt", "train"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text("The quick brown fox jumps over the lazy dog.\n" * 100, encoding="utf-8")
    return path


def train(text, out, *options, start=()):
    command = [*(start or COMMAND), "--corpus", str(text), "--out", str(out), *SMALL, *options]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def history(out) -> History:
    return History.read(out / "log.csv")


def steps_on_disk(out: Path) -> int:
    names = [p.name for p in out.glob("checkpoint-*")] if out.is_dir() else []
    return max((int(name.split("-")[1]) for name in names), default=0)


def stop_when_kept(text, out, *options, number, start=()) -> int:
    """Send a signal to a run once a checkpoint is on the disk; return its exit code."""
    command = [*(start or COMMAND), "--corpus", str(text), "--out", str(out), *SMALL, *options]
    run = subprocess.Popen(
        command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not steps_on_disk(out) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(run.pid, number)  # as a terminal does: all processes get it
    _, errors = run.communicate(timeout=120)
    assert number == signal.SIGKILL or errors.count("Go on with `tinygpt train --out") == 1
    return run.returncode


LONG = ["--steps", "200", "--dropout-prob", "0.1"]


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory) -> Path:
    """A run that nothing interrupts."""
    out = tmp_path_factory.mktemp("whole") / "run"
    done = train(text, out, *LONG)
    assert done.returncode == 0 and "Done: validation loss" in done.stdout, done.stderr
    return out


@pytest.mark.parametrize("number, code", [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_killed_run_goes_on_to_the_same_losses(text, whole, tmp_path, number, code):
    out = tmp_path / "cut"
    assert stop_when_kept(text, out, *LONG, number=number) == code
    assert 0 < steps_on_disk(out) < 200
    resume = [*COMMAND, "--out", str(out), "--resume"]  # the run knows the rest
    done = subprocess.run(resume, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert history(out).losses == history(whole).losses
    assert history(out).validation_losses == history(whole).validation_losses
    weights = [run / "checkpoint-000200/model.safetensors" for run in (out, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
TORCHRUN += ["--nproc-per-node", "2", *COMMAND[1:]]


def test_two_processes_train_as_one_does(text, tmp_path):
    options = ["--steps", "20", "--accumulation", "2"]
    alone = train(text, tmp_path / "alone", *options)
    shared = train(text, tmp_path / "shared", *options, start=TORCHRUN)
    assert alone.returncode == shared.returncode == 0, alone.stderr + shared.stderr
    one, two = history(tmp_path / "alone"), history(tmp_path / "shared")
    assert len(two.losses) == 20
    np.testing.assert_allclose(two.losses, one.losses, atol=1e-4)
    np.testing.assert_allclose(two.validation_losses, one.validation_losses, atol=1e-4)
    assert shared.stdout.count("Done: validation loss") == 1


def test_two_processes_that_are_interrupted_go_on_alike(text, tmp_path):
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    options = ["--steps", "120"]
    assert stop_when_kept(text, cut, *options, number=signal.SIGINT, start=TORCHRUN)
    assert 0 < steps_on_disk(cut) < 120
    done = [
        subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        for command in (
            [*TORCHRUN, "--out", str(cut), "--resume"],
            [*TORCHRUN, "--corpus", str(text), "--out", str(whole), *SMALL, *options],
        )
    ]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr + done[1].stderr
    assert history(cut).losses == history(whole).losses


def test_a_compiled_model_trains_alike(text, tmp_path):
    plain = train(text, tmp_path / "plain", "--steps", "5")
    compiled = train(text, tmp_path / "compiled", "--steps", "5", "--compile")
    if compiled.returncode and "compiler" in compiled.stderr.lower():
        pytest.skip(f"torch.compile needs a C++ compiler: {compiled.stderr.splitlines()[-1]}")
    assert plain.returncode == compiled.returncode == 0, compiled.stderr
    losses = [history(tmp_path / name).losses for name in ("plain", "compiled")]
    np.testing.assert_allclose(*losses, atol=1e-4)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--preset", "gpt-5"], "--preset must be one of shakespeare-char, shakespeare-char-long"),
        (["--steps", "0"], "Error: --steps must be an integer from 1 to 2,147,483,647, got 0"),
        (["--num-heads", "3"], "Error: --num-heads 3 does not divide --embed-dim 16"),
        (["--learning-rate", "nan"], "Error: --learning-rate must be a finite number"),
        (["--device", "tpu"], "Error: --device must be auto, cpu, or one that is in this machine"),
        (["--block-size", "5000"], "part of fox.txt has 4,050 tokens; --block-size 5000 needs"),
        (["--corpus", "nowhere.txt"], "nowhere.txt"),
        (["--corpus", "empty.txt"], "empty.txt is empty"),
        (["--corpus", "latin.txt"], "latin.txt"),
        (["--resume"], "run is not there; `tinygpt train --out run` makes one"),
        (["--out", "fox.txt"], "fox.txt"),
    ],
)
def test_bad_input_is_one_sentence(text, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    shutil.copy(text, "fox.txt")
    Path("empty.txt").write_text("", encoding="utf-8")
    Path("latin.txt").write_bytes("é".encode("latin-1") * 100)
    arguments = ["train", "--corpus", "fox.txt", "--out", "run", *SMALL, "--quiet", *options]
    result = CliRunner().invoke(tinygpt, arguments)
    assert result.exit_code in (1, 2) and message in result.output
    assert len(result.output.strip().splitlines()) == 1 and "Traceback" not in result.output


@pytest.mark.parametrize(
    "options, message",
    [
        (["--batch-size", "8"], r"--batch-size is 8, but the run in .* has 4"),
        (["--steps", "5"], r"--steps is 5, but the run in .* make 200; .* not fewer"),
        (["--preset", "shakespeare-char-long"], r"leave out --preset, which is for a new run"),
    ],
)
def test_a_resumed_run_refuses_other_settings(whole, options, message):
    arguments = ["train", "--out", str(whole), "--resume", "--quiet", *options]
    result = CliRunner().invoke(tinygpt, arguments)
    assert result.exit_code == 1
    assert re.search(message, result.output.replace("\n", " "))


def test_with_few_steps_the_warm_up_is_a_tenth_of_them(text, tmp_path):
    done = train(text, tmp_path / "run", "--steps", "30", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Done: validation loss") and done.stdout.count("\n") == 1
    rates = history(tmp_path / "run").learning_rates
    assert rates[:3] == pytest.approx([1e-3, 2e-3, 3e-3]) and rates[3] == 3e-3
