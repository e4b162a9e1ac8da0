"""Fused functions, layers and attention against PyTorch and finite differences."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from oracle import assert_agrees, assert_equals_torch, examples, load_into_torch, normal
from plain_gpt import plain_attention
from tinygpt import scratch
from tinygpt.scratch import Tensor
from tinygpt.scratch.special import normal_cdf
from torch import nn
from torch.nn import functional as F

seeds = st.integers(0, 2**32 - 1)
full_shapes = array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)
batches = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)  # leading axes
widths = st.integers(1, 6)


@examples
@given(st.data(), seeds)
def test_softmax_and_log_softmax(data, seed):
    shape = data.draw(full_shapes)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = 5 * normal(seed, *shape)
    assert_agrees(lambda x: scratch.softmax(x, axis), lambda x: x.softmax(axis), x)
    assert_agrees(lambda x: scratch.log_softmax(x, axis), lambda x: x.log_softmax(axis), x)


def test_softmax_of_an_empty_batch():
    assert_agrees(scratch.softmax, lambda x: x.softmax(-1), np.zeros((0, 3)))
    assert_agrees(scratch.log_softmax, lambda x: x.log_softmax(-1), np.zeros((2, 0, 3)))


@pytest.mark.filterwarnings("ignore:overflow")
def test_softmax_of_huge_scores_neither_overflows_nor_underflows():
    x = Tensor([[1e30, 0.0, -1e30], [3e38, 3e38, -3e38]])
    np.testing.assert_array_equal(scratch.softmax(x).data, [[1, 0, 0], [0.5, 0.5, 0]])
    np.testing.assert_allclose(scratch.log_softmax(x).data[0], [0, -1e30, -2e30], rtol=1e-6)


@examples
@given(full_shapes, seeds)
def test_softmax_over_a_part(shape, seed):
    part = normal(seed + 1, *shape) > 0
    mask = torch.tensor(part)
    assert_agrees(
        lambda x: scratch.softmax(x, mask=part),
        lambda x: torch.nan_to_num(x.masked_fill(~mask, -math.inf).softmax(-1), nan=0.0),
        normal(seed, *shape),
    )


def test_a_row_without_a_single_place_is_all_zeros_and_so_is_its_gradient():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    weights = scratch.softmax(x, mask=np.array([[True, True], [False, False]]))
    np.testing.assert_array_equal(weights.data[1], [0, 0])
    (weights * Tensor([1.0, 5.0])).sum().backward()
    np.testing.assert_array_equal(x.grad[1], [0, 0])
    assert np.isfinite(x.grad).all() and x.grad[0].any()


@examples
@given(batches, widths, seeds)
def test_cross_entropy(batch, classes, seed):
    if 0 in batch:
        batch = (*batch, 0)
        with pytest.raises(ValueError, match="at least one class, got none"):
            scratch.cross_entropy(Tensor(np.zeros((*batch, 3))), np.zeros(batch, dtype=int))
        return
    targets = np.asarray(np.random.default_rng(seed).integers(0, classes, batch))
    assert_agrees(
        lambda x: scratch.cross_entropy(x, targets),
        lambda x: F.cross_entropy(x.reshape(-1, classes), torch.tensor(targets).reshape(-1)),
        5 * normal(seed, *batch, classes),
    )


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_cross_entropy_takes_any_integers(dtype, without_type_checks):
    logits = Tensor([[1.0, 2.0, 3.0]])
    assert scratch.cross_entropy(logits, np.array([2], dtype=dtype)).item() == pytest.approx(
        0.40760595
    )


@examples
@given(batches, st.integers(1, 9), seeds)
def test_layer_norm(batch, width, seed):
    # A single feature, or equal ones, have variance 0: 1 / √eps magnifies every rounding error.
    eps = 1e-5 if width > 2 else 1.0
    assert_agrees(
        lambda x, w, b: scratch.layer_norm(x, w, b, eps),
        lambda x, w, b: F.layer_norm(x, (width,), w, b, eps),
        normal(seed, *batch, width),
        normal(seed + 1, width),
        normal(seed + 2, width),
        gradient_tolerance=3e-4 if width < 5 else 1e-4,
    )


def test_layer_norm_of_large_offsets_and_of_a_constant_row():
    x = np.array([[1000.0, 1001.0, 1002.0, 1003.0], [7.0, 7.0, 7.0, 7.0]])
    assert_equals_torch(
        lambda x: scratch.layer_norm(x, Tensor(np.ones(4)), Tensor(np.zeros(4))),
        lambda x: F.layer_norm(x, (4,)),
        x,
        value=1e-4,
        gradient=1e-4,
    )


@pytest.mark.parametrize("approximate", ["tanh", "none"])
@examples
@given(batches, seeds)
def test_gelu(approximate, shape, seed):
    assert_agrees(
        lambda x: scratch.gelu(x, approximate),
        lambda x: F.gelu(x, approximate=approximate),
        3 * normal(seed, *shape),
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["tanh", "none"])
def test_far_out_the_slope_of_gelu_is_1_or_0(form, dtype):
    sizes = [50.0, 1e6, 1e13, 1e15, 1e19, 1e20, 1e30, 3.4e38]
    sizes += [1e154, 1e200, 1e296, 1.7e308] if dtype == np.float64 else []
    x = Tensor(np.array([-1, 1])[:, None] * sizes, requires_grad=True, dtype=dtype)
    value = scratch.gelu(x, form)
    value.sum().backward()
    np.testing.assert_array_equal(value.data, np.maximum(x.data, 0))
    np.testing.assert_array_equal(x.grad, x.data > 0)


@pytest.mark.filterwarnings("ignore:overflow")
def test_gelu_far_from_zero():
    x = np.array([-1e30, -100, -20, -9, -5, 5, 9, 20, 100, 1e30])
    for form in ("tanh", "none"):
        result = scratch.gelu(Tensor(x), form)
        np.testing.assert_allclose(
            result.data, F.gelu(torch.tensor(x, dtype=torch.float32), approximate=form), atol=1e-6
        )


def test_the_normal_distribution_is_exact_to_eleven_digits():
    x = np.linspace(-12, 12, 4001)
    density, below = normal_cdf(x)
    exact = [0.5 * math.erfc(-z / math.sqrt(2)) for z in x]
    np.testing.assert_allclose(below, exact, rtol=1e-12, atol=5e-12)
    np.testing.assert_allclose(density, np.exp(-x * x / 2) / math.sqrt(2 * math.pi), rtol=1e-12)
    single = normal_cdf(x.astype(np.float32))[1]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, rtol=2e-5, atol=1e-7)


@examples
@given(batches, widths, st.integers(1, 7), seeds)
def test_embedding(shape, width, rows, seed):
    ids = np.asarray(np.random.default_rng(seed).integers(0, rows, shape))
    assert_agrees(
        lambda w: scratch.embedding(w, ids),
        lambda w: F.embedding(torch.tensor(ids), w),
        normal(seed, rows, width),
    )


@examples
@given(batches, widths, widths, st.booleans(), seeds)
def test_linear(batch, width_in, width_out, with_bias, seed):
    arrays = [normal(seed, *batch, width_in), normal(seed + 1, width_out, width_in)]
    arrays += [normal(seed + 2, width_out)] if with_bias else []
    assert_agrees(scratch.linear, F.linear, *arrays)


def test_dropout_drops_a_share_and_keeps_the_mean():
    x = Tensor(np.ones((200, 500)), requires_grad=True)
    y = scratch.dropout(x, 0.3, np.random.default_rng(0))
    assert (y == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert y.data.mean() == pytest.approx(1.0, abs=0.01)
    assert set(np.unique(y.data)) == {np.float32(0), np.float32(1 / 0.7)}
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, y.data)  # the gradient passes where the input did
    assert y.dtype == np.float32
    assert scratch.dropout(x, 0.0, np.random.default_rng(0)) is x


def test_dropout_follows_training_mode_and_seed():
    layer, x = scratch.Dropout(0.5), Tensor(np.ones(100))
    scratch.manual_seed(3)
    first = layer(x).data
    assert (layer(x).data != first).any()
    scratch.manual_seed(3)
    np.testing.assert_array_equal(layer(x).data, first)
    assert layer.eval()(x) is x
    assert layer.train()(x) is not x


LAYERS = {
    "Linear": (lambda: scratch.Linear(4, 3), lambda: nn.Linear(4, 3)),
    "Linear without bias": (
        lambda: scratch.Linear(4, 3, bias=False),
        lambda: nn.Linear(4, 3, bias=False),
    ),
    "LayerNorm": (lambda: scratch.LayerNorm(4), lambda: nn.LayerNorm(4)),
    "GELU": (lambda: scratch.GELU(), lambda: nn.GELU(approximate="tanh")),
    "exact GELU": (lambda: scratch.GELU("none"), lambda: nn.GELU()),
    "ReLU": (lambda: scratch.ReLU(), lambda: nn.ReLU()),
    "Dropout off": (lambda: scratch.Dropout(0.5).eval(), lambda: nn.Dropout(0.5).eval()),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (0,), (2, 0)])
def test_layers(name, batch):
    """Values, and gradients of the input and of every parameter."""
    make_ours, make_theirs = LAYERS[name]
    ours = make_ours()
    theirs = load_into_torch(ours, make_theirs())
    assert_equals_torch(ours, theirs, normal(0, *batch, 4))
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad, other.grad, rtol=1e-4, atol=1e-4, err_msg=name)


def test_embedding_and_sequential_layers():
    scratch.manual_seed(0)
    ours = scratch.Sequential(scratch.Embedding(7, 4), scratch.Linear(4, 3), scratch.ReLU())
    names = [name for name, _ in ours.named_parameters()]
    assert names == ["layers.0.weight", "layers.1.weight", "layers.1.bias"]
    ids = np.array([[0, 6, 6], [1, 2, 3]])
    theirs = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3), nn.ReLU())
    state = {name.removeprefix("layers."): torch.tensor(a) for name, a in ours.state_dict().items()}
    theirs.load_state_dict(state)
    result, expected = ours(ids), theirs(torch.tensor(ids))
    np.testing.assert_allclose(result.data, expected.detach(), rtol=1e-5, atol=1e-6)
    result.sum().backward()
    expected.sum().backward()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad, other.grad, rtol=1e-4, atol=1e-5)


def test_first_weights_follow_the_seed_and_stay_in_their_bounds():
    scratch.manual_seed(1)
    first = scratch.Linear(100, 50)
    scratch.manual_seed(1)
    again = scratch.Linear(100, 50)
    np.testing.assert_array_equal(first.weight.data, again.weight.data)
    for values in (first.weight.data, first.bias.data):
        assert np.abs(values).max() <= 0.1
        assert values.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.2)
    assert (first.weight.data != scratch.Linear(100, 50).weight.data).any()


def test_causal_mask():
    mask = scratch.create_causal_mask(4)
    assert mask.dtype == np.bool_
    np.testing.assert_array_equal(mask, torch.ones(4, 4).tril().bool())
    np.testing.assert_array_equal(scratch.create_causal_mask(1), [[True]])


@examples
@given(batches, widths, widths, widths, widths, st.sampled_from(["none", "some", "causal"]), seeds)
def test_attention(batch, t, s, d, e, kind, seed):
    """With some rows fully masked, as PyTorch without its NaN."""
    mask = {
        "none": None,
        "some": normal(seed, t, s) > 0.3,
        "causal": np.tri(t, s, dtype=bool),
    }[kind]
    torch_mask = None if mask is None else torch.tensor(mask)
    assert_agrees(
        lambda q, k, v: scratch.scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: plain_attention(q, k, v, torch_mask),
        normal(seed, *batch, t, d),
        normal(seed + 1, *batch, s, d),
        normal(seed + 2, *batch, s, e),
    )


def test_attention_equals_pytorchs_own():
    q, k, v = (normal(i, 2, 4, 6, 8) for i in range(3))
    mask = scratch.create_causal_mask(6)
    assert_equals_torch(
        lambda q, k, v: scratch.scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        *(q, k, v),
    )


@pytest.mark.parametrize("batch", [0, 1, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_equals_pytorchs(batch, masked):
    ours = scratch.MultiHeadAttention(8, 2)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    state = ours.state_dict()
    parts = ("query", "key", "value")
    with torch.no_grad():
        for name, joined in (("weight", theirs.in_proj_weight), ("bias", theirs.in_proj_bias)):
            joined.copy_(torch.tensor(np.concatenate([state[f"{part}.{name}"] for part in parts])))
            getattr(theirs.out_proj, name).copy_(torch.tensor(state[f"output.{name}"]))
    mask = scratch.create_causal_mask(5) if masked else None
    their_mask = None if mask is None else torch.tensor(~mask)
    if batch == 0:  # PyTorch's refuses an empty batch
        assert ours(Tensor(np.zeros((0, 5, 8))), mask).shape == (0, 5, 8)
        return
    assert_equals_torch(
        lambda x: ours(x, mask),
        lambda x: theirs(x, x, x, attn_mask=their_mask, need_weights=False)[0],
        normal(0, batch, 5, 8),
    )
    for name, rows in zip(parts, theirs.in_proj_weight.grad.chunk(3), strict=True):
        mine = getattr(ours, name).weight.grad
        np.testing.assert_allclose(mine, rows, rtol=1e-4, atol=1e-4)


def test_single_head_attention_is_attention_over_its_projections():
    ours, x = scratch.SingleHeadAttention(6, 4), normal(0, 2, 5, 6)
    mask = scratch.create_causal_mask(5)
    parts = {name: nn.Linear(6, 4) for name in ("query", "key", "value")}
    theirs = load_into_torch(ours, nn.ModuleDict(parts))
    assert_equals_torch(
        lambda x: ours(x, mask),
        lambda x: F.scaled_dot_product_attention(
            *(theirs[name](x) for name in parts), is_causal=True
        ),
        x,
    )


def test_attention_weights_drop_out_in_training_only():
    scratch.manual_seed(0)
    attention, x = scratch.MultiHeadAttention(8, 2, dropout_prob=0.5), Tensor(normal(0, 1, 4, 8))
    assert (attention(x).data != attention(x).data).any()
    attention.eval()
    np.testing.assert_array_equal(attention(x).data, attention(x).data)
