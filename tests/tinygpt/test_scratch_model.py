"""MLP, TransformerBlock and GPT: parameters, causality, agreement with PyTorch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_equals_torch, examples, load_into_torch, normal
from plain_gpt import MLP as PlainMLP
from plain_gpt import Block as PlainBlock
from plain_gpt import PlainGPT
from tinygpt.scratch import GPT, MLP, AdamW, Dropout, Tensor, TransformerBlock, create_causal_mask


def small_gpt(**options) -> GPT:
    """A GPT of 2 layers, 16 wide, with 11 tokens and 8 positions."""
    return GPT(11, 16, 2, 4, 8, **{"dropout_prob": 0.0, "seed": 0, **options})


def some_tokens(*shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 11, shape)


# ---- agreement with PyTorch ---------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (1,), (3,), (0,), (2, 3)])
def test_mlp_equals_pytorchs(batch):
    ours = MLP(8, dropout_prob=0.0)
    assert_equals_torch(ours, load_into_torch(ours, PlainMLP(8)), normal(0, *batch, 8))


@pytest.mark.parametrize(("batch", "seq_len"), [(1, 1), (2, 5), (0, 5)])
def test_block_equals_pytorchs(batch, seq_len):
    ours = TransformerBlock(8, 2, dropout_prob=0.0)
    mask = create_causal_mask(seq_len)
    theirs = load_into_torch(ours, PlainBlock(8, 2))
    assert_equals_torch(lambda x: ours(x, mask), theirs, normal(0, batch, seq_len, 8))


@examples
@given(st.integers(0, 3), st.integers(1, 8), st.integers(0, 1000))
def test_gpt_gives_a_plain_pytorch_gpts_logits_and_gradients(batch, seq_len, seed):
    """Weights go across by name."""
    ours = small_gpt(seed=seed)
    theirs = load_into_torch(ours, PlainGPT(11, 16, 2, 4, 8))
    tokens, targets = some_tokens(batch, seq_len), some_tokens(batch, seq_len, seed=1)
    logits = ours(tokens)
    expected = theirs(torch.tensor(tokens))
    np.testing.assert_allclose(logits.data, expected.detach(), rtol=1e-5, atol=1e-5)
    if batch == 0:
        return
    loss = ours.loss(tokens, targets)
    their_loss = theirs.loss(torch.tensor(tokens), torch.tensor(targets))
    assert loss.item() == pytest.approx(their_loss.item(), abs=1e-5)
    loss.backward()
    their_loss.backward()
    for name, parameter in theirs.named_parameters():
        mine = dict(ours.named_parameters())[name].grad
        np.testing.assert_allclose(mine, parameter.grad, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_a_gpt_of_the_usual_size_equals_pytorchs():
    ours = GPT(1000, 256, 6, 8, 256, dropout_prob=0.0, seed=0)
    theirs = load_into_torch(ours, PlainGPT(1000, 256, 6, 8, 256))
    tokens = np.random.default_rng(0).integers(0, 1000, (2, 256))
    expected = theirs(torch.tensor(tokens)).detach()
    np.testing.assert_allclose(ours(tokens).data, expected, rtol=1e-5, atol=1e-5)


# ---- parameters ---------------------------------------------------------------------------------


def test_parameter_names():
    names = [name for name, _ in GPT(11, 16, 1, 4, 8).named_parameters()]
    assert names == [
        "token_embedding.weight",
        "position_embedding.weight",
        *(
            f"blocks.0.{name}"
            for name in (
                "norm1.weight",
                "norm1.bias",
                *(
                    f"attention.{part}.{kind}"
                    for part in ("query", "key", "value", "output")
                    for kind in ("weight", "bias")
                ),
                "norm2.weight",
                "norm2.bias",
                *(f"mlp.{part}.{kind}" for part in ("fc1", "fc2") for kind in ("weight", "bias")),
            )
        ),
        "final_norm.weight",
        "final_norm.bias",
        "head.weight",
    ]


@pytest.mark.slow
def test_the_published_size_is_built_fast_in_2_gb_and_runs():
    """GPT(50000, 768, 12, 12), in a process of its own."""
    program = """
import resource, time
start = time.process_time()
from tinygpt.scratch import GPT
model = GPT(50000, 768, 12, 12)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kB on Linux, bytes on macOS
print(model.num_parameters(), sum(block.num_parameters() for block in model.blocks))
print(seconds, peak)
print(*model.forward([[1, 2, 3]]).shape)
print(*model.generate([1, 2, 49999], max_new_tokens=2).shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    counts, build, logits, generated = done.stdout.splitlines()
    assert counts == "162642432 85054464"
    assert (logits, generated) == ("1 3 50000", "5")
    seconds, peak = (float(number) for number in build.split())
    assert seconds < 10
    assert peak * (1 if sys.platform == "darwin" else 1024) < 2e9


def test_first_weights_are_gpt2s():
    model = GPT(100, 64, 8, 4, 50, seed=0)
    weights = {name: tensor.data for name, tensor in model.named_parameters()}
    for name, values in weights.items():
        if name.endswith("bias"):
            assert not values.any(), name
        elif "norm" in name:
            assert (values == 1).all(), name
        else:
            to_stream = name.endswith(("attention.output.weight", "mlp.fc2.weight"))
            expected = 0.02 / 4 if to_stream else 0.02  # √(2 · 8 layers) = 4
            assert values.std() == pytest.approx(expected, rel=0.05), name
    assert model.loss(some_tokens(4, 50), some_tokens(4, 50, seed=1)).item() == pytest.approx(
        np.log(100), abs=0.05
    )


@pytest.mark.parametrize("tied", [False, True])
def test_every_parameter_gets_a_gradient(tied):
    model = small_gpt(tie_weights=tied, dropout_prob=0.1)
    model.loss(some_tokens(2, 8), some_tokens(2, 8, seed=1)).backward()
    for name, parameter in model.named_parameters():
        if name.endswith("key.bias"):  # adds the same to all scores of a row: softmax drops it
            assert np.abs(parameter.grad).max() < 1e-6, name
        else:
            assert np.abs(parameter.grad).max() > 1e-6, name
    model.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_tied_weights_are_one_parameter_with_both_gradients():
    tied, separate = small_gpt(tie_weights=True), small_gpt()
    assert tied.head.weight is tied.token_embedding.weight
    assert separate.num_parameters() - tied.num_parameters() == 11 * 16
    assert "head.weight" not in tied.state_dict()
    state = tied.state_dict()
    separate.load_state_dict({**state, "head.weight": state["token_embedding.weight"]})
    tokens, targets = some_tokens(2, 8), some_tokens(2, 8, seed=1)
    for model in (tied, separate):
        model.loss(tokens, targets).backward()
    np.testing.assert_allclose(
        tied.token_embedding.weight.grad,
        separate.token_embedding.weight.grad + separate.head.weight.grad,
        rtol=1e-5,
        atol=1e-8,
    )


def test_the_same_seed_gives_the_same_model():
    for one, two, three in zip(
        *(small_gpt(seed=seed).parameters() for seed in (5, 5, 6)), strict=True
    ):
        np.testing.assert_array_equal(one.data, two.data)
        assert one.ndim == 1 or (one.data != three.data).any()


# ---- causality and repeatability ----------------------------------------------------------------


@pytest.mark.parametrize(("width", "heads", "length"), [(16, 4, 8), (96, 3, 33)])
def test_no_position_sees_a_later_one(width, heads, length):
    """Change token t: what comes out before t is the same to the bit, at t it is not."""
    model = GPT(11, width, 2, heads, length, dropout_prob=0.0, seed=0)
    tokens = some_tokens(3, length)
    before = model(tokens).data
    for t in range(length):
        changed = tokens.copy()
        changed[:, t] = (changed[:, t] + 1) % 11
        after = model(changed).data
        np.testing.assert_array_equal(before[:, :t], after[:, :t])
        assert (before[:, t] != after[:, t]).any()


def test_the_other_sequences_of_a_batch_do_not_matter():
    model = small_gpt()
    one, two = some_tokens(2, 8), some_tokens(2, 8)
    two[1] = some_tokens(8, seed=9)
    np.testing.assert_array_equal(model(one).data[0], model(two).data[0])


def test_without_dropout_training_mode_has_no_randomness():
    model, tokens = small_gpt(), some_tokens(2, 8)
    assert model.training
    np.testing.assert_array_equal(model(tokens).data, model(tokens).data)


def test_two_training_runs_are_equal_to_the_bit(without_type_checks):
    def train():
        model = small_gpt(dropout_prob=0.2, seed=3)
        optimizer = AdamW(model.parameters(), lr=1e-2)
        for step in range(5):
            model.zero_grad()
            model.loss(some_tokens(2, 8, seed=step), some_tokens(2, 8, seed=step + 1)).backward()
            optimizer.step()
        return model.state_dict()

    first, second = train(), train()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_a_training_step_stays_in_float32(monkeypatch):
    """Results and gradients, before any of them is cast."""
    seen, make, accumulate = [], Tensor.from_operation, Tensor.accumulate

    def from_operation(data, parents, backward):
        seen.append(np.asarray(data).dtype)
        return make(data, parents, backward)

    def record(tensor, grad):
        seen.append(np.asarray(grad).dtype)
        accumulate(tensor, grad)

    monkeypatch.setattr(Tensor, "from_operation", staticmethod(from_operation))
    monkeypatch.setattr(Tensor, "accumulate", record)
    model = small_gpt(dropout_prob=0.1)
    model.loss(some_tokens(2, 8), some_tokens(2, 8, seed=1)).backward()
    AdamW(model.parameters()).step()
    assert len(seen) > 100 and set(seen) == {np.dtype(np.float32)}
    assert all(parameter.dtype == np.float32 for parameter in model.parameters())


def test_gradients_of_two_halves_add_up_to_that_of_the_whole():
    model = small_gpt()
    tokens, targets = some_tokens(4, 8), some_tokens(4, 8, seed=1)
    model.loss(tokens, targets).backward()
    whole = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    for half in (slice(0, 2), slice(2, 4)):
        (model.loss(tokens[half], targets[half]) * 0.5).backward()
    for parameter, expected in zip(model.parameters(), whole, strict=True):
        np.testing.assert_allclose(parameter.grad, expected, rtol=1e-4, atol=1e-7)


def test_it_learns_a_sequence_by_heart(without_type_checks):
    model = small_gpt()
    optimizer = AdamW(model.parameters(), lr=1e-2)
    tokens = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9])
    for _ in range(60):
        model.zero_grad()
        loss = model.loss(tokens[:-1], tokens[1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    np.testing.assert_array_equal(model.generate([1], 8, temperature=0), tokens)


# ---- shapes -------------------------------------------------------------------------------------


def test_shapes_of_forward_and_loss():
    model = small_gpt()
    assert model(some_tokens(3, 5)).shape == (3, 5, 11)
    assert model(some_tokens(5)).shape == (1, 5, 11)
    assert model([1, 2, 3]).shape == (1, 3, 11)
    assert model(some_tokens(0, 5)).shape == (0, 5, 11)
    assert model(some_tokens(2, 8)).dtype == np.float32
    one = model.loss(some_tokens(5), some_tokens(5, seed=1))
    two = model.loss(some_tokens(5)[None], some_tokens(5, seed=1)[None])
    assert one.shape == () and one.item() == two.item()


def test_a_fully_masked_position_gives_no_nan():
    block, x = TransformerBlock(8, 2), Tensor(normal(0, 1, 3, 8), requires_grad=True)
    mask = create_causal_mask(3)
    mask[1] = False
    result = block(x, mask)
    result.sum().backward()
    assert np.isfinite(result.data).all() and np.isfinite(x.grad).all()


def test_train_and_eval_reach_every_module():
    model = small_gpt(dropout_prob=0.5)
    assert model.eval() is model
    modules = [module for _, module in model.modules()]
    assert sum(isinstance(module, Dropout) for module in modules) == 5
    assert not any(module.training for module in modules)
    model.train()
    assert all(module.training for module in modules)
