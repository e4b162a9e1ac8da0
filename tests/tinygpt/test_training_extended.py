"""A run that goes on further, weights that start another run, and checksums of what is kept."""

import os
import re
import shutil
import time

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from tinygpt import data, scratch, training
from tinygpt.commands import tinygpt
from tinygpt.commands.options import by_option
from tinygpt.commands.train import PRESETS
from tinygpt.models import GPT, load, save

SMALL = "--embed-dim 16 --num-layers 1 --num-heads 2 --block-size 8 --batch-size 4 --eval-every 4"
SMALL = [*SMALL.split(), "--eval-batches", "2", "--sample-every", "0", "--device", "cpu"]
FOX = "The quick brown fox jumps over the lazy dog.\n" * 40


def call(*arguments):
    return CliRunner().invoke(tinygpt, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def fox(tmp_path_factory):
    """A text, and a run of eight steps on it."""
    folder = tmp_path_factory.mktemp("fox")
    (folder / "fox.txt").write_text(FOX, encoding="utf-8")
    start = ["train", "--corpus", folder / "fox.txt", "--out", folder / "run", "--steps", "8"]
    made = call(*start, *SMALL, "--quiet")
    assert made.exit_code == 0, made.output
    return folder


def test_quiet_prints_the_last_line_alone(fox, tmp_path):
    shutil.copytree(fox / "run", tmp_path / "run")
    printed = call("train", "--out", tmp_path / "run", "--resume", "--quiet").output
    assert printed.startswith("Done: validation loss ") and printed.count("\n") == 1


def test_a_run_goes_on_to_more_steps_on_the_longer_cosine(fox, tmp_path):
    shutil.copytree(fox / "run", tmp_path / "run")
    longer = call("train", "--out", tmp_path / "run", "--resume", "--steps", "20", "--quiet")
    assert longer.exit_code == 0 and "after 20 steps" in longer.output
    config = training.preset_of(tmp_path / "run").training
    rates = np.loadtxt(tmp_path / "run/log.csv", delimiter=",", skiprows=1, usecols=2)
    cosine = scratch.CosineSchedule(
        config.learning_rate, 20, config.warmup_steps, config.min_learning_rate
    )
    assert config.steps == 20 and len(rates) == 20
    np.testing.assert_allclose(rates[8:], [cosine(n) for n in range(8, 20)])
    before = np.loadtxt(fox / "run/log.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    after = np.loadtxt(tmp_path / "run/log.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    np.testing.assert_array_equal(after[:8], before)


def test_a_new_run_starts_from_the_weights_of_another(fox, tmp_path):
    tuned = ["train", "--corpus", fox / "fox.txt", "--init-from", fox / "run", "--quiet"]
    tuned += ["--steps", "4", "--batch-size", "4", "--eval-every", "4", "--eval-batches", "2"]
    tuned += ["--learning-rate", "1e-12", "--sample-every", "0"]
    result = call(*tuned, "--out", tmp_path / "a")
    assert result.exit_code == 0, result.output
    first, vocabulary, _ = training.load_run(fox / "run")
    second, same, state = training.load_run(tmp_path / "a")
    assert same.to_json() == vocabulary.to_json() and state["step"] == 4
    for ours, theirs in zip(second.parameters(), first.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--embed-dim", "32"], "--init-from takes shape and vocabulary from the run; leave out"),
        (["--tokenizer", "bpe"], "--init-from takes shape and vocabulary from the run; leave out"),
        (["--resume"], "--init-from starts a new run; leave it out to go on with one"),
        (["--corpus", "greek.txt"], "characters that the vocabulary lacks, such as 'α'"),
        (["--init-from", "nowhere"], "nowhere is not there"),
    ],
)
def test_weights_that_cannot_start_a_run(fox, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "greek.txt").write_text("αβγ" * 200, encoding="utf-8")
    shutil.copytree(fox / "run", tmp_path / "run")
    start = ["train", "--corpus", fox / "fox.txt", "--init-from", fox / "run"]
    result = call(*start, "--out", "run" if "--resume" in options else "new", *options)
    assert result.exit_code == 1 and message in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_help_names_the_presets():
    assert list(training.PRESETS) == list(PRESETS)
    printed = re.sub(r"\s+", "", call("train", "--help").output)  # a long name is broken anywhere
    assert "Anamedsetting:shakespeare-charorshakespeare-char-long." in printed


def test_speed_counts_the_updates_alone(monkeypatch):
    ids = np.arange(400, dtype=np.uint8) % 3
    corpus = data.Corpus("letters", data.CharVocabulary("abc"), ids[:300], ids[300:], "")
    clock = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))  # a second for each look
    config = training.Config(steps=4, batch_size=2, warmup_steps=1, eval_every=4, eval_batches=2)
    updates = training.Updates(GPT(3, 16, 1, 2, 8), corpus, config)
    for number in range(1, 4):
        updates.make(number)
        time.perf_counter(), time.perf_counter()  # a sample and a checkpoint
    assert updates.speed == 2 * 8  # tokens of an update, which took one second


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("place", [0.3, 0.6, 0.99])
def test_a_flipped_bit_is_named(fox, tmp_path, file, place):
    shutil.copytree(fox / "run", tmp_path / "run")
    path = tmp_path / "run/checkpoint-000008" / file
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    content[start + int(place * (len(content) - start))] ^= 1 << 3
    path.write_bytes(content)
    result = call("train", "--out", tmp_path / "run", "--resume", "--steps", "9", "--quiet")
    assert result.exit_code == 1 and len(result.output.strip().splitlines()) == 1
    assert f"{file}' is not what was written; the file is damaged" in result.output
    assert any(name in result.output for name in ("weight", "bias", "step"))


def test_every_flipped_bit_of_a_small_file_is_refused_or_harmless(tmp_path):
    net = scratch.Linear(2, 1)
    scratch.save(tmp_path / "w", net)
    whole = (tmp_path / "w").read_bytes()
    state = net.state_dict()
    for bit in range(8 * len(whole)):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        (tmp_path / "flipped").write_bytes(content)
        other = scratch.Linear(2, 1)
        try:
            scratch.load(tmp_path / "flipped", other)
        except ValueError as error:
            assert "\n" not in str(error)
        else:  # a bit of the header that says nothing about the numbers
            loaded = other.state_dict()
            assert all(np.array_equal(loaded[name], state[name]) for name in state)


def test_both_engines_check_each_others_checksums(tmp_path):
    numpy_net, torch_net = scratch.GPT(5, 8, 1, 2, 4), GPT(5, 8, 1, 2, 4)
    scratch.save(tmp_path / "numpy", numpy_net)
    load(tmp_path / "numpy", torch_net)
    save(tmp_path / "torch", torch_net)
    assert b"sha256" in (tmp_path / "torch").read_bytes()[:3000]
    scratch.load(tmp_path / "torch", numpy_net)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system here")
def test_nothing_but_a_file_is_written_over(fox, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, kind in [("pipe", "a pipe"), ("folder", "a folder")]:
        path = tmp_path / name
        with pytest.raises(OSError, match=f"is {kind}; give the name of a file"):
            save(path, GPT(5, 8, 1, 2, 4))
        with pytest.raises(data.DataError, match=f"is {kind}; give the name of a file"):
            data.write_atomically(path, b"")
        made = call("tokenizer", path, "--corpus", fox / "fox.txt")
        assert made.exit_code == 1 and f"PATH is {kind}" in made.output
    os.symlink("/dev/null", tmp_path / "device")
    with pytest.raises(OSError, match="is a device; give the name of a file"):
        save(tmp_path / "device", GPT(5, 8, 1, 2, 4))


def test_texts_that_teach_nothing_or_lead_nowhere(tmp_path):
    (tmp_path / "ones.txt").write_text("1" * 500, encoding="utf-8")
    with pytest.raises(data.DataError, match="has one distinct character, '1', in 500 places"):
        data.load_corpus(tmp_path / "ones.txt")
    os.symlink("loop", tmp_path / "loop")
    with pytest.raises(data.DataError, match="is a link that leads nowhere, or to itself"):
        data.load_corpus(tmp_path / "loop")


@pytest.mark.parametrize("options", [["--num-layers", 10**6], ["--batch-size", 10**8]])
def test_what_does_not_fit_is_refused_before_it_is_tried(fox, tmp_path, monkeypatch, options):
    monkeypatch.setattr(training.Updates, "make", None)  # nothing may be computed
    sized = [each for each in SMALL if each not in ("--embed-dim", "16")]
    start = ["train", "--corpus", fox / "fox.txt", "--out", tmp_path / "run", *sized]
    result = call(*start, "--embed-dim", "128", *options, "--quiet")
    assert result.exit_code == 1 and "does not fit into memory" in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_messages_speak_of_options():
    names = {"max_seq_len": "--block-size", "steps": "--steps", "num_heads": "--num-heads"}
    assert by_option("ModelConfig: max_seq_len must be 1 or more, got 0", names) == (
        "--block-size must be 1 or more, got 0"
    )
    assert by_option("MultiHeadAttention: num_heads=3 does not divide", names) == (
        "--num-heads 3 does not divide"
    )
    # The name of a file and an English word stay as they are.
    assert by_option("steps.txt: not UTF-8", names) == "steps.txt: not UTF-8"
    assert by_option("it has made 3 steps", names) == "it has made 3 steps"
