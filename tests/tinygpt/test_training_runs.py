"""A run on the disk: resumed to the bit, and never half a file."""

import errno
import json
import shutil
import signal

import numpy as np
import pytest
import torch
from test_training_loop import corpus, model, settings
from tinygpt import data, training
from tinygpt.models import GPT
from tinygpt.training import checkpoint
from tinygpt.training.history import History

CONFIG = settings(steps=6, eval_every=3, checkpoint_every=2, sample_every=3, warmup_steps=1)


class Killed(Exception):
    """What ends a run in these tests, at a step of their choice."""


def killed_at(step):
    def observe(number, model, history):
        if number == step:
            raise Killed

    return observe


def finished(folder, **options):
    net = model(**options)
    history = training.train(net, corpus(), CONFIG, folder)
    return net, history


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder, model and history of a run with dropout that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    net, history = finished(folder, dropout_prob=0.2)
    return folder, net, history


@pytest.mark.parametrize("killed", [3, 6])
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path, whole, killed):
    _, expected, history = whole
    with pytest.raises(Killed):
        training.train(
            model(dropout_prob=0.2), corpus(), CONFIG, tmp_path, on_eval=killed_at(killed)
        )
    torch.manual_seed(99)  # whatever has happened in between
    net = model(dropout_prob=0.2, seed=5)
    resumed = training.train(net, corpus(), CONFIG, tmp_path, resume=True)
    assert resumed.losses == history.losses
    assert resumed.gradient_norms == history.gradient_norms
    assert resumed.validation_losses == history.validation_losses
    for ours, theirs in zip(net.parameters(), expected.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_finished_run_leaves_what_it_promises(whole):
    folder, net, history = whole
    assert sorted(path.name for path in folder.iterdir()) == [
        ".tinygpt",
        "checkpoint-000006",
        "log.csv",
        "loss.png",
        "samples",
    ]
    assert sorted(path.name for path in (folder / "checkpoint-000006").iterdir()) == [
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
    sample = (folder / "samples/step-000003.txt").read_text(encoding="utf-8")
    assert len(sample) == 301 and set(sample) <= set("abc")
    logged = History.read(folder / "log.csv")
    assert logged.losses == history.losses
    assert logged.validation_losses == history.validation_losses
    loaded, vocabulary, state = training.load_run(folder)
    assert vocabulary.characters == "abc" and state["step"] == 6 and not loaded.training
    assert state["validation_loss"] == history.validation_losses[-1]
    tokens = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(loaded(tokens), net.eval()(tokens))


def test_a_finished_run_that_is_resumed_is_the_same(tmp_path, whole):
    folder, _, history = whole
    shutil.copytree(folder, tmp_path / "run")
    again = training.train(model(dropout_prob=0.2), corpus(), CONFIG, tmp_path / "run", resume=True)
    assert again.losses == history.losses


def test_a_fresh_run_never_writes_over_another(whole):
    with pytest.raises(training.CheckpointError, match="holds a run already; go on with it"):
        training.train(model(), corpus(), CONFIG, whole[0])


def test_a_run_without_its_log_is_not_written_over(tmp_path, whole):
    shutil.copytree(whole[0], tmp_path / "run")
    (tmp_path / "run/log.csv").unlink()
    with pytest.raises(training.CheckpointError, match="holds a run already"):
        training.train(model(), corpus(), CONFIG, tmp_path / "run")


def test_a_run_that_ended_before_its_first_checkpoint_can_start_anew(tmp_path):
    with pytest.raises(Killed):
        never = settings(steps=6, eval_every=3, checkpoint_every=6, warmup_steps=1)
        training.train(model(), corpus(), never, tmp_path, on_eval=killed_at(3))
    assert len(training.train(model(), corpus(), CONFIG, tmp_path).losses) == 6


def test_ctrl_c_during_an_evaluation_keeps_the_step(tmp_path, capfd):
    def interrupt(step, net, history):
        if step == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    late = settings(steps=6, eval_every=3, checkpoint_every=6, warmup_steps=1)
    with pytest.raises(KeyboardInterrupt):
        training.train(model(), corpus(), late, tmp_path, on_eval=interrupt, progress=True)
    assert "Stopping after this step; Ctrl-C once more stops at once." in capfd.readouterr().err
    assert training.load_run(tmp_path)[2]["step"] == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_one_process_at_a_time_trains_in_a_folder(tmp_path):
    def another(step, net, history):
        with pytest.raises(training.CheckpointError, match="another process is training there"):
            training.train(model(), corpus(), CONFIG, tmp_path, resume=True)

    training.train(
        model(),
        corpus(),
        CONFIG,
        tmp_path,
        on_eval=lambda *given: another(*given) if given[0] == 3 else None,
    )


def test_what_a_killed_run_left_half_written_goes(tmp_path, whole):
    shutil.copytree(whole[0], tmp_path / "run")
    (tmp_path / "run/.checkpoint-000012.99").mkdir()
    training.train(model(dropout_prob=0.2), corpus(), CONFIG, tmp_path / "run", resume=True)
    assert not list((tmp_path / "run").glob(".checkpoint*"))


def test_bad_weights_do_not_replace_a_good_checkpoint(tmp_path):
    def spoil(step, net, history):
        with torch.no_grad():
            net.head.weight.fill_(float("nan"))

    config = settings(steps=6, eval_every=3, checkpoint_every=1, warmup_steps=1)
    with pytest.raises(training.TrainingError, match="holds what is not a number"):
        training.train(model(), corpus(), config, tmp_path, on_eval=spoil)
    assert training.load_run(tmp_path)[2]["step"] == 2


def test_a_frozen_parameter_is_kept_with_the_rest(tmp_path):
    def frozen():
        net = model(tie_weights=False)
        net.position_embedding.weight.requires_grad_(False)
        return net

    with pytest.raises(Killed):
        training.train(frozen(), corpus(), CONFIG, tmp_path, on_eval=killed_at(3))
    assert len(training.train(frozen(), corpus(), CONFIG, tmp_path, resume=True).losses) == 6


def test_the_samples_of_a_run_are_no_corpus(tmp_path):
    (tmp_path / "mine.txt").write_text("abc" * 300, encoding="utf-8")
    text = data.load_corpus(tmp_path)
    net = GPT(len(text.vocabulary), 16, 1, 2, 8)
    training.train(net, text, CONFIG, tmp_path / "run")
    assert list((tmp_path / "run/samples").iterdir())
    assert data.load_corpus(tmp_path).digest == text.digest


@pytest.mark.parametrize(
    "change, message",
    [
        ({"config": settings(steps=5)}, "train: steps is 5, but the run in .* not fewer"),
        ({"model": {"dropout_prob": 0.1}}, "train: dropout_prob is 0.1, but the run in .* has 0.2"),
        ({"corpus": "other"}, "train: letters is not the text of the run in"),
    ],
)
def test_another_setting_is_not_the_same_run(whole, change, message):
    text = corpus()
    if "corpus" in change:
        text = data.Corpus(
            text.name, text.vocabulary, text.train, text.validation, change["corpus"]
        )
    net = model(**{"dropout_prob": 0.2} | change.get("model", {}))
    with pytest.raises(ValueError, match=message):
        training.train(net, text, change.get("config", CONFIG), whole[0], resume=True)


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    def no_room(path, net):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill_the_disk(step, net, history):
        if step == 3:
            monkeypatch.setattr(checkpoint, "save", no_room)

    with pytest.raises(training.CheckpointError, match="checkpoint-000004: cannot be written"):
        training.train(model(), corpus(), CONFIG, tmp_path, on_eval=fill_the_disk)
    monkeypatch.undo()
    assert training.load_run(tmp_path)[2]["step"] == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".ch")]
    assert len(training.train(model(), corpus(), CONFIG, tmp_path, resume=True).losses) == 6


def damage(checkpoint_, name, content):
    path = checkpoint_ / name
    if content is None:
        path.unlink()
    elif callable(content):
        path.write_bytes(content(path.read_bytes()))
    else:
        path.write_text(content, encoding="utf-8")


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("model.safetensors", lambda b: b[:-50], "is damaged: .* is not a whole safetensors file"),
        ("model.safetensors", None, "is damaged: load: there is no file"),
        ("state.json", "{", "state.json: cannot be read"),
        ("state.json", "[]", "must hold an object, got list"),
        ("state.json", "{}", "is damaged"),
        ("state.json", "[" * 100_000, "state.json: cannot be read"),
        (
            "state.json",
            lambda b: b.replace(b'"embed_dim": 16', b'"embed_dim": 1' + b"0" * 400),
            "damaged: ModelConfig: embed_dim must be .*, got an integer of 401 digits",
        ),
        (
            "state.json",
            lambda b: b.replace(b'"exact_gelu": false', b'"width": 1'),
            "damaged: .*model lacks exact_gelu",
        ),
    ],
)
def test_a_damaged_checkpoint_is_named(tmp_path, whole, name, content, message):
    run = tmp_path / "run"
    shutil.copytree(whole[0], run)
    damage(run / "checkpoint-000006", name, content)
    with pytest.raises(training.CheckpointError, match=message):
        training.load_run(run)
    with pytest.raises(training.CheckpointError, match=message.replace("is damaged: load", ".*")):
        training.train(model(dropout_prob=0.2), corpus(), CONFIG, run, resume=True)


def test_a_step_that_is_no_number_is_named(tmp_path, whole):
    run = tmp_path / "run"
    shutil.copytree(whole[0], run)
    damage(
        run / "checkpoint-000006", "state.json", lambda b: b.replace(b'"step": 6', b'"step": true')
    )
    with pytest.raises(training.CheckpointError, match="state.json is damaged: step is True"):
        training.train(model(dropout_prob=0.2), corpus(), CONFIG, run, resume=True)


@pytest.mark.parametrize("content", [lambda b: b[:-9], None])
def test_damaged_moments_are_named(tmp_path, whole, content):
    run = tmp_path / "run"
    shutil.copytree(whole[0], run)
    damage(run / "checkpoint-000006", "optimizer.safetensors", content)
    with pytest.raises(training.CheckpointError, match="checkpoint is damaged: .*optimizer"):
        training.train(model(dropout_prob=0.2), corpus(), CONFIG, run, resume=True)
    assert training.load_run(run)[2]["step"] == 6  # it can still generate


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda lines: ["a,b\n"], "the first line must be step,loss"),
        (lambda lines: lines[:3], "has 2 of the 6 steps of checkpoint-000006"),
        (lambda lines: [*lines[:2], "2,x,1,1,,,\n", *lines[3:]], "log.csv:3: not a row of 7"),
    ],
)
def test_a_damaged_log_is_named(tmp_path, whole, change, message):
    run = tmp_path / "run"
    shutil.copytree(whole[0], run)
    lines = (run / "log.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "log.csv").write_text("".join(change(lines)), encoding="utf-8")
    with pytest.raises(training.LogError, match=message):
        training.train(model(dropout_prob=0.2), corpus(), CONFIG, run, resume=True)


def test_half_a_row_at_the_end_of_a_log_is_left_out(tmp_path, whole):
    text = (whole[0] / "log.csv").read_text(encoding="utf-8")
    (tmp_path / "log.csv").write_text(text[:-5], encoding="utf-8")
    assert History.read(tmp_path / "log.csv").steps == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("size", [{"num_layers": 2**31 - 1}, {"embed_dim": 4_000_000}])
def test_a_model_that_does_not_fit_is_refused_before_it_is_built(size):
    shape = training.ModelConfig(**size)
    with pytest.raises(ValueError, match="does not fit into memory; choose smaller ones"):
        training.build_model(shape, 65)


def test_a_checkpoint_that_was_not_written_is_passed_over(tmp_path, whole):
    shutil.copytree(whole[0], tmp_path / "run")
    (tmp_path / "run/checkpoint-000007").mkdir()
    assert training.load_run(tmp_path / "run")[2]["step"] == 6


def test_where_there_is_no_run_the_command_for_one_is_named(tmp_path):
    with pytest.raises(training.CheckpointError, match="has no checkpoint; `tinygpt train --out"):
        training.load_run(tmp_path)
    with pytest.raises(training.CheckpointError, match="is not there"):
        training.load_run(tmp_path / "nowhere")
    (tmp_path / "a.txt").write_text("no run", encoding="utf-8")
    with pytest.raises(training.CheckpointError, match="a.txt is a file; name the folder of a"):
        training.load_run(tmp_path / "a.txt")
    with pytest.raises(training.CheckpointError, match="has no checkpoint"):
        training.train(model(), corpus(), CONFIG, tmp_path, resume=True)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(training.CheckpointError, match="file: cannot be made .File exists"):
        training.train(model(), corpus(), CONFIG, tmp_path / "file")


def test_what_comes_with_the_book_generates_and_says_how_it_was_made():
    net, vocabulary, state = training.pretrained()
    assert net.num_parameters() * 4 < 4e6 and state["command"].startswith("tinygpt train --preset")
    text = vocabulary.decode(net.generate(vocabulary.encode("ROMEO:\n"), 200, 0.0).tolist())
    assert text.startswith("ROMEO:\n") and len(set(text.split())) > 5
    assert json.dumps(state)
    with pytest.raises(ValueError, match="name must be one of .*shakespeare-char.*, got 'gpt-5'"):
        training.pretrained("gpt-5")


@pytest.mark.slow
def test_the_model_of_the_book_has_the_loss_it_claims():
    net, vocabulary, state = training.pretrained()
    text = data.load_corpus("shakespeare")
    assert text.vocabulary.characters == vocabulary.characters
    config = state["training"]
    loss = training.evaluate(
        net, text.validation, config["batch_size"], 128, config["eval_batches"], config["seed"]
    )
    np.testing.assert_allclose(loss, state["validation_loss"], atol=1e-4)
