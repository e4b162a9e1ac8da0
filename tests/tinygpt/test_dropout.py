"""Dropout falls where a GPT has it, as often and as strongly as it says, and only in training.

The weights are chosen so that what comes out shows what was dropped: in front of each dropout
stand equal numbers, so that a number that was kept is told by its size.
"""

import numpy as np
import pytest
import torch
from tinygpt import models, scratch
from torch import nn

P, WIDTH = 0.25, 64
SCALE = 1 / (1 - P)
KINDS = ["numpy", "fused", "explicit"]


class Same(scratch.Module):
    """Stands where a layer was, and hands on what it gets."""

    def forward(self, x):
        return x


def attention(kind):
    """Attention that takes all earlier positions equally, and shows position c in feature c."""
    if kind == "numpy":
        scratch.manual_seed(0)
        module = scratch.MultiHeadAttention(WIDTH, 1, P)
    else:
        torch.manual_seed(0)
        module = models.MultiHeadAttention(WIDTH, 1, P, fused_attention=kind == "fused")
    for name, parameter in module.named_parameters():
        same = name in ("value.weight", "output.weight")
        _fill(parameter, np.eye(WIDTH) if same else 0.0)
    return module


def gpt(kind, **ones):
    """A GPT whose residual stream holds only what the named parameters, all 1, put there."""
    settings = (5, WIDTH, 1, 1, WIDTH)
    if kind == "numpy":
        model = scratch.GPT(*settings, dropout_prob=P, seed=0)
        model.final_norm, model.head = Same(), Same()
    else:
        torch.manual_seed(0)
        model = models.GPT(*settings, dropout_prob=P, fused_attention=kind == "fused")
        model.final_norm, model.head = nn.Identity(), nn.Identity()
    wanted = {name.replace("__", ".") for name in ones}
    names = {name for name, _ in model.named_parameters()}
    assert wanted <= names
    for name, parameter in model.named_parameters():
        _fill(parameter, 1.0 if name in wanted else 0.0)
    return model


def run(module, kind, x):
    if kind != "numpy":
        return module(torch.tensor(x)).detach().numpy()
    if isinstance(module, scratch.GPT):
        return module(x).data
    return module(scratch.Tensor(x), scratch.create_causal_mask(x.shape[1])).data


def _fill(parameter, values):
    data = parameter.data if isinstance(parameter.data, np.ndarray) else parameter.data.numpy()
    data[...] = values


def assert_dropped(numbers, sizes, share):
    """Every number is 0 or one of the sizes; about this share of them is 0."""
    kept = numbers[numbers != 0]
    np.testing.assert_allclose(kept, np.broadcast_to(sizes, numbers.shape)[numbers != 0], rtol=1e-5)
    deviation = np.sqrt(share * (1 - share) / numbers.size)
    assert abs((numbers == 0).mean() - share) < 5 * deviation


@pytest.mark.parametrize("kind", KINDS)
def test_attention_drops_weights_and_then_its_output(kind):
    x = np.broadcast_to(np.eye(WIDTH, dtype=np.float32), (8, WIDTH, WIDTH))
    out = run(attention(kind), kind, x.copy())
    past = np.tril(np.ones((WIDTH, WIDTH), dtype=bool))
    weights = np.broadcast_to(1 / np.arange(1, WIDTH + 1)[:, None], (8, WIDTH, WIDTH))
    assert (out[:, ~past] == 0).all()
    assert_dropped(out[:, past], weights[:, past] * SCALE**2, 1 - (1 - P) ** 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_weight_is_missing_from_every_feature(kind):
    out = run(attention(kind), kind, np.ones((64, 2, WIDTH), dtype=np.float32))[:, 1]  # (B, C)
    highest = out.max(axis=1)  # what the output's own dropout has left
    np.testing.assert_allclose(out, np.where(out == 0, 0, highest[:, None]), rtol=1e-5)
    sizes = np.array([0, 0.5, 1.0]) * SCALE**2  # of two weights of 1/2: none, one, both are kept
    kept = np.abs(highest[:, None] - sizes).argmin(axis=1)
    np.testing.assert_allclose(highest, sizes[kept], rtol=1e-5)
    assert set(kept) == {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "source", ["token_embedding.weight", "blocks.0.attention.output.bias", "blocks.0.mlp.fc2.bias"]
)
def test_each_of_the_three_writers_to_the_stream_is_dropped_once(kind, source):
    model = gpt(kind, **{source.replace(".", "__"): True})
    out = run(model, kind, np.zeros((8, WIDTH), dtype=np.int64))
    assert_dropped(out, SCALE, P)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_dropped_outside_training(kind):
    x = np.broadcast_to(np.eye(WIDTH, dtype=np.float32), (2, WIDTH, WIDTH)).copy()
    out = run(attention(kind).eval(), kind, x)
    expected = np.tril(np.ones((WIDTH, WIDTH))) / np.arange(1, WIDTH + 1)[:, None]
    np.testing.assert_allclose(out, np.broadcast_to(expected, out.shape), rtol=1e-5)
    for source in ("token_embedding.weight", "blocks.0.mlp.fc2.bias"):
        model = gpt(kind, **{source.replace(".", "__"): True}).eval()
        assert (run(model, kind, np.zeros((2, WIDTH), dtype=np.int64)) == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_training_again_after_an_evaluation_drops_again(kind):
    module = attention(kind).eval().train()
    x = np.broadcast_to(np.eye(WIDTH, dtype=np.float32), (1, WIDTH, WIDTH)).copy()
    assert not np.array_equal(run(module, kind, x), run(module, kind, x))
