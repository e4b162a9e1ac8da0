"""Parameters on disk: round trips, tied weights, damaged files, interruptions."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from plain_gpt import PlainGPT
from tinygpt.scratch import GPT, Linear, Sequential, load, save


def make(seed=0, **options) -> GPT:
    return GPT(11, 16, 2, 4, 8, seed=seed, **options)


def assert_same(one, two):
    first, second = one.state_dict(), two.state_dict()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_state_dict_round_trip():
    one, two = make(0), make(1)
    two.load_state_dict(one.state_dict())
    assert_same(one, two)


def test_state_dict_is_a_copy():
    model = make()
    before = model.state_dict()
    model.head.weight.data += 1
    assert (before["head.weight"] != model.head.weight.data).all()
    model.load_state_dict(before)
    model.head.weight.data += 1
    assert (before["head.weight"] != model.head.weight.data).all()


@pytest.mark.parametrize("tied", [False, True])
def test_file_round_trip(tmp_path, tied):
    one, two = make(0, tie_weights=tied), make(1, tie_weights=tied)
    path = tmp_path / "gpt.safetensors"
    save(path, one)
    assert load(path, two) is two
    assert_same(one, two)
    load(str(path), two)
    assert (two.head.weight is two.token_embedding.weight) == tied
    assert os.listdir(tmp_path) == ["gpt.safetensors"]


def test_a_tied_weight_is_stored_once(tmp_path):
    path = tmp_path / "gpt.safetensors"
    save(path, make(tie_weights=True))
    stored = safetensors.numpy.load_file(path)
    assert "head.weight" not in stored and "token_embedding.weight" in stored


def test_a_tied_model_takes_a_file_that_names_its_weight_twice(tmp_path):
    one, two = make(0, tie_weights=True), make(1, tie_weights=True)
    state = one.state_dict()
    state["head.weight"] = state["token_embedding.weight"].copy()
    two.load_state_dict(state)
    assert_same(one, two)
    state["head.weight"] += 1
    with pytest.raises(ValueError, match=r"head\.weight and token_embedding\.weight are one"):
        two.load_state_dict(state)


def test_pytorch_reads_what_we_write_and_we_what_it_writes(tmp_path):
    ours, theirs = make(), PlainGPT(11, 16, 2, 4, 8)
    save(tmp_path / "ours.safetensors", ours)
    theirs.load_state_dict(safetensors.torch.load_file(tmp_path / "ours.safetensors"))
    tokens = np.array([[1, 2, 3]])
    ours.eval()
    expected = theirs(torch.tensor(tokens)).detach()
    np.testing.assert_allclose(ours(tokens).data, expected, rtol=1e-5, atol=1e-5)
    safetensors.torch.save_file(theirs.half().state_dict(), tmp_path / "half.safetensors")
    load(tmp_path / "half.safetensors", ours)
    assert ours.head.weight.dtype == np.float32
    np.testing.assert_array_equal(ours.head.weight.data, theirs.head.weight.detach().float())


def test_non_contiguous_weights_are_written_right(tmp_path):
    one, two = Linear(3, 4), Linear(3, 4)
    one.weight.data = np.arange(12, dtype=np.float32).reshape(3, 4).T
    save(tmp_path / "x.safetensors", one)
    load(tmp_path / "x.safetensors", two)
    assert_same(one, two)


@pytest.mark.parametrize("damage", ["truncated", "corrupt header", "empty", "text", "pickle"])
def test_a_damaged_file_gives_one_sentence_and_changes_nothing(tmp_path, damage):
    path = tmp_path / "gpt.safetensors"
    save(path, make())
    whole = path.read_bytes()
    path.write_bytes(
        {
            "truncated": whole[: len(whole) // 2],
            "corrupt header": whole[:8] + b"#" + whole[9:],
            "empty": b"",
            "text": "Übung\n".encode() * 100,
            "pickle": b"\x80\x05K\x2a." * 100,
        }[damage]
    )
    model, before = make(1), make(1)
    with pytest.raises(ValueError) as error:
        load(path, model)
    message = str(error.value)
    assert message.startswith(f"load: {str(path)!r} is not a whole safetensors file (")
    assert message.endswith("save it again or download it again") and "\n" not in message
    assert_same(model, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("head.weight"), "GPT.load_state_dict: state lacks head.weight"),
        (
            lambda state: state.update({"new.weight": np.zeros(1, dtype=np.float32)}),
            "GPT.load_state_dict: state has new.weight, which this model does not",
        ),
        (
            lambda state: state.update({"head.weight": np.zeros((3, 4), dtype=np.float32)}),
            "GPT.load_state_dict: head.weight must be floats of shape (11, 16), "
            "got ndarray of float32 with shape (3, 4)",
        ),
        (
            lambda state: state.update({"head.weight": np.zeros((11, 16), dtype=int)}),
            "GPT.load_state_dict: head.weight must be floats of shape (11, 16), "
            "got ndarray of int64 with shape (11, 16)",
        ),
        (lambda state: state.clear(), "and 34 more"),
    ],
)
def test_other_parameters_give_one_sentence_and_change_nothing(change, message):
    model, before, state = make(1), make(1), make(0).state_dict()
    change(state)
    with pytest.raises(ValueError) as error:
        model.load_state_dict(state)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert_same(model, before)


@pytest.mark.parametrize("cause", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_save_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch, cause):
    path = tmp_path / "gpt.safetensors"
    save(path, make(0))

    def half(path, content, write=Path.write_bytes):
        write(path, content[: len(content) // 2])
        raise cause

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises((KeyboardInterrupt, OSError)) as error:
        save(path, make(1))
    if not isinstance(cause, type):
        assert str(error.value) == (f"save: could not write {str(path)!r}: No space left on device")
    assert_same(load(path, make(2)), make(0))
    assert os.listdir(tmp_path) == ["gpt.safetensors"]


def test_a_saved_file_is_readable_for_others(tmp_path):
    path = tmp_path / "x.safetensors"
    save(path, Linear(1, 1))
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_any_name_and_any_module(tmp_path):
    path = tmp_path / "größe 大.bin"
    one, two = Sequential(Linear(2, 3), Linear(3, 1)), Sequential(Linear(2, 3), Linear(3, 1))
    save(path, one)
    load(path, two)
    assert_same(one, two)
