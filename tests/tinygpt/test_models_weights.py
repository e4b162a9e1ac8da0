"""Weights between NumPy, PyTorch, files and Hugging Face."""

import numpy as np
import pytest
import torch
from tinygpt import scratch
from tinygpt.models import GPT, copy_weights, load, load_weights, save, weights
from tinygpt.models.huggingface import from_huggingface, to_huggingface

SHAPE = (65, 32, 2, 4, 16)
TOKENS = np.random.default_rng(0).integers(0, 65, (3, 16))


def pair(tie=False):
    return (
        scratch.GPT(*SHAPE, dropout_prob=0.0, tie_weights=tie, seed=3),
        GPT(*SHAPE, dropout_prob=0.0, tie_weights=tie, seed=4),
    )


@pytest.mark.parametrize("tie", [False, True])
def test_numpy_and_pytorch_give_the_same_logits_and_gradients(tie):
    ours, theirs = pair(tie)
    copy_weights(ours, theirs)
    targets = np.roll(TOKENS, -1, axis=1)
    ours.loss(TOKENS, targets).backward()
    theirs.loss(torch.tensor(TOKENS), torch.tensor(targets)).backward()
    logits = theirs(torch.tensor(TOKENS)).detach().numpy()
    np.testing.assert_allclose(ours(TOKENS).data, logits, atol=1e-5)
    gradients = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        np.testing.assert_allclose(parameter.grad, gradients[name].grad, atol=1e-5)


@pytest.mark.parametrize("tie", [False, True])
def test_a_file_of_either_engine_is_read_by_the_other(tie, tmp_path):
    ours, theirs = pair(tie)
    save(tmp_path / "torch.safetensors", theirs)
    scratch.save(tmp_path / "numpy.safetensors", ours)
    expected = {name: value.clone() for name, value in weights(theirs).items()}
    load(tmp_path / "numpy.safetensors", theirs)
    for name, value in ours.state_dict().items():
        assert np.array_equal(value, weights(theirs)[name].numpy())
    scratch.load(tmp_path / "torch.safetensors", ours)
    assert all(np.array_equal(ours.state_dict()[name], expected[name].numpy()) for name in expected)


def test_a_tied_weight_is_stored_once_and_still_tied_after_loading(tmp_path):
    from safetensors import safe_open

    _, model = pair(tie=True)
    save(tmp_path / "tied.safetensors", model)
    with safe_open(tmp_path / "tied.safetensors", "pt") as file:
        assert "token_embedding.weight" in file.keys() and "head.weight" not in file.keys()  # noqa: SIM118
    _, again = pair(tie=True)
    load(tmp_path / "tied.safetensors", again)
    assert again.head.weight.data_ptr() == again.token_embedding.weight.data_ptr()
    assert torch.equal(again.head.weight, model.head.weight)


def test_a_damaged_file_is_named_and_changes_nothing(tmp_path):
    _, model = pair()
    path = tmp_path / "model.safetensors"
    save(path, model)
    before = {name: value.clone() for name, value in weights(model).items()}
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="load: .* is not a whole safetensors file"):
        load(path, model)
    with pytest.raises(FileNotFoundError, match="load: there is no file at path"):
        load(tmp_path / "none.safetensors", model)
    with pytest.raises(FileNotFoundError, match="save: the folder of path"):
        save(tmp_path / "no" / "model.safetensors", model)
    assert all(torch.equal(before[name], value) for name, value in weights(model).items())


def test_weights_of_another_model_are_named_and_change_nothing():
    _, model = pair()
    state = {name: value + 1 for name, value in weights(model).items()}
    before = model.head.weight.clone()
    wrong = [
        ({n: v for n, v in state.items() if n != "head.weight"}, "state lacks head.weight"),
        (state | {"extra": torch.zeros(1)}, "state has extra, which this model does not"),
        (state | {"head.weight": torch.zeros(2, 2)}, r"head.weight must be floats of shape \(65, "),
    ]
    for bad, message in wrong:
        with pytest.raises(ValueError, match=f"GPT.load_weights: {message}"):
            load_weights(model, bad)
    assert torch.equal(model.head.weight, before)


def test_the_gelu_must_be_the_same_for_weights_to_be_copied():
    exact, plain = GPT(*SHAPE, exact_gelu=True, seed=1), GPT(*SHAPE, seed=2)
    before = weights(plain)
    for target in (plain, scratch.GPT(*SHAPE)):
        for pair in ((exact, target), (target, exact)):
            with pytest.raises(ValueError, match=r"copy_weights: source and target must have the"):
                copy_weights(*pair)
    assert all(torch.equal(before[name], now) for name, now in weights(plain).items())


def test_what_is_no_model_is_named(without_type_checks, tmp_path):
    with pytest.raises(TypeError, match="copy_weights: source must be a model, got dict"):
        copy_weights({}, pair()[1])
    with pytest.raises(TypeError, match="save: model must be a Module, got None"):
        save(tmp_path / "model.safetensors", None)


def test_a_tied_model_refuses_two_different_heads():
    _, tied = pair(tie=True)
    state = weights(tied) | {"head.weight": torch.zeros(65, 32)}
    with pytest.raises(ValueError, match="are one parameter, but differ"):
        load_weights(tied, state)


def test_a_model_without_numbers_takes_none():
    with torch.device("meta"):
        empty = GPT(*SHAPE)
    with pytest.raises(ValueError, match="the model is on the device meta, which holds no"):
        copy_weights(pair()[1], empty)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda s: s | {"transformer.h.2.ln_1.weight": s["transformer.ln_f.weight"]},
         "state has transformer.h.2.ln_1.weight, which a model of 2 blocks does not"),
        (lambda s: s | {"transformer.h.0.attn.c_attn.bias": torch.zeros(5)},
         r"transformer.h.0.attn.c_attn.bias must have shape \(96,\), got \(5,\)"),
        (lambda s: {n: v for n, v in s.items() if "ln_f" not in n}, "state lacks transformer.ln_f"),
    ],
)  # fmt: skip
def test_a_state_of_another_gpt2_is_named_and_changes_nothing(change, message):
    _, model = pair()
    before = model.head.weight.clone()
    with pytest.raises(ValueError, match=message):
        from_huggingface(change(to_huggingface(pair()[1])), model)
    assert torch.equal(model.head.weight, before)


def test_names_do_without_the_first_part_and_the_head_without_its_own(without_type_checks):
    """As in a `GPT2Model`, and in the GPT-2 that can be downloaded."""
    source, target = GPT(*SHAPE, tie_weights=True, seed=1), GPT(*SHAPE, tie_weights=True, seed=2)
    state = to_huggingface(source)
    del state["lm_head.weight"]
    short = {name.removeprefix("transformer."): value for name, value in state.items()}
    short["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)  # a mask
    from_huggingface(short, target)
    assert all(
        torch.equal(weights(source)[name], weights(target)[name]) for name in weights(source)
    )
    with pytest.raises(ValueError, match=r"state has \S*wte.weight with and without transformer"):
        from_huggingface(short | state, target)
    for wrong in ({"wte.weight": 1}, {3: torch.ones(1)}, [1]):
        with pytest.raises(TypeError, match=r"^from_huggingface: \w.* must be a \w+, got "):
            from_huggingface(wrong, target)


@pytest.fixture(scope="module")
def gpt2():
    """A function that makes a small random GPT2LMHeadModel."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    def make(tie: bool):
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            vocab_size=65, n_positions=16, n_embd=32, n_layer=2, n_head=4, tie_word_embeddings=tie
        )
        model = transformers.GPT2LMHeadModel(config).eval()
        for name, parameter in model.named_parameters():  # biases too, so that a swap shows
            if name.endswith("bias"):
                torch.nn.init.normal_(parameter, std=0.02)
        return model

    return make


@pytest.mark.slow
@pytest.mark.parametrize("tie", [False, True])
def test_weights_go_to_hugging_face_and_back(gpt2, tie):
    theirs, model = gpt2(tie), GPT(*SHAPE, dropout_prob=0.0, tie_weights=tie, seed=1).eval()
    tokens = torch.tensor(TOKENS)
    with torch.no_grad():
        before = theirs(tokens).logits
        from_huggingface(theirs.state_dict(), model)
        torch.testing.assert_close(model(tokens), before, atol=1e-4, rtol=1e-4)
        other = GPT(*SHAPE, dropout_prob=0.0, tie_weights=tie, seed=2).eval()
        theirs.load_state_dict(to_huggingface(other), strict=False)
        torch.testing.assert_close(other(tokens), theirs(tokens).logits, atol=1e-4, rtol=1e-4)
        back = from_huggingface(to_huggingface(other), model)
    assert all(torch.equal(weights(other)[name], weights(back)[name]) for name in weights(other))
    assert theirs.load_state_dict(to_huggingface(other), strict=False).unexpected_keys == []
