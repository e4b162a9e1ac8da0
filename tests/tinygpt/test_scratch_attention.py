"""Attention's masks, its fully masked rows, its heads, and attention to another sequence."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import (
    assert_agrees,
    assert_equals_finite_differences,
    assert_equals_torch,
    examples,
    normal,
)
from tinygpt import scratch
from tinygpt.scratch import MultiHeadAttention, Tensor
from torch import nn
from torch.nn import functional as F

lengths = st.integers(1, 6)
seeds = st.integers(0, 1000)


def as_pytorchs(ours):
    """PyTorch's own layer with the weights of ours."""
    state = ours.state_dict()
    width = state["output.weight"].shape[0]
    theirs = nn.MultiheadAttention(width, ours.num_heads, batch_first=True)
    with torch.no_grad():
        for kind, joined in (("weight", theirs.in_proj_weight), ("bias", theirs.in_proj_bias)):
            parts = [state[f"{part}.{kind}"] for part in ("query", "key", "value")]
            joined.copy_(torch.tensor(np.concatenate(parts)))
            getattr(theirs.out_proj, kind).copy_(torch.tensor(state[f"output.{kind}"]))
    return theirs


# ---- masks --------------------------------------------------------------------------------------


def test_padding_mask_is_true_for_the_first_positions():
    mask = scratch.create_padding_mask([3, 0, 4], 4)
    assert mask.shape == (3, 1, 1, 4) and mask.dtype == np.bool_
    np.testing.assert_array_equal(mask[:, 0, 0], [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(9, 12))
@examples
def test_padding_mask_has_as_many_trues_as_the_sequence_has_positions(counts, seq_len):
    mask = scratch.create_padding_mask(np.array(counts), seq_len)
    np.testing.assert_array_equal(mask.sum(-1).ravel(), counts)
    np.testing.assert_array_equal(mask, np.sort(mask)[..., ::-1])


def test_masks_combine():
    both = scratch.create_causal_mask(3) & scratch.create_padding_mask([2, 3], 3)
    assert both.shape == (2, 1, 3, 3)
    np.testing.assert_array_equal(both[0, 0], [[1, 0, 0], [1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(both[1, 0], scratch.create_causal_mask(3))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.booleans(), seeds)
@examples
def test_what_fills_a_sequence_up_changes_nothing(counts, causal, seed):
    """A short sequence gives the same answers alone and in a batch with longer ones."""
    scratch.manual_seed(seed)
    attention, rng = MultiHeadAttention(8, 2), np.random.default_rng(seed)
    batch = Tensor(rng.normal(size=(len(counts), 6, 8)))
    mask = scratch.create_padding_mask(counts, 6)
    together = attention(batch, mask & scratch.create_causal_mask(6) if causal else mask).data
    for row, count in enumerate(counts):
        alone_mask = scratch.create_causal_mask(count) if causal else None
        alone = attention(batch[row : row + 1, :count], alone_mask).data[0]
        np.testing.assert_allclose(together[row, :count], alone, atol=1e-5)


# ---- rows without a key -------------------------------------------------------------------------


def test_a_row_without_a_key_gives_zeros_and_passes_no_gradient():
    mask = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    given_ = [Tensor(normal(i, 2, 3, 4), requires_grad=True) for i in range(3)]
    weights = scratch.attention_weights(*given_[:2], mask)
    np.testing.assert_array_equal(weights.data[:, 1], 0)
    np.testing.assert_allclose(weights.data.sum(-1), [[1, 0, 1]] * 2, rtol=1e-6)
    out = scratch.scaled_dot_product_attention(*given_, mask)
    np.testing.assert_array_equal(out.data[:, 1], 0)
    out.backward(normal(3, 2, 3, 4))
    assert all(np.isfinite(t.grad).all() for t in given_)
    np.testing.assert_array_equal(given_[0].grad[:, 1], 0)


def test_a_sequence_without_positions_gives_the_output_bias_and_finite_gradients():
    attention = MultiHeadAttention(4, 2)
    attention.output.bias.data[...] = 7
    x = Tensor(normal(0, 2, 3, 4), requires_grad=True)
    out = attention(x, scratch.create_padding_mask([0, 2], 3))
    np.testing.assert_array_equal(out.data[0], 7)
    (out * out).sum().backward()
    np.testing.assert_array_equal(x.grad[0], 0)
    assert all(np.isfinite(p.grad).all() for p in attention.parameters())


@given(lengths, lengths, seeds)
@examples
def test_any_mask_gives_pytorchs_values_and_gradients(t, s, seed):
    """Fully masked rows too: PyTorch's fused attention gives zeros for them as well."""
    mask = np.random.default_rng(seed).random((2, 1, t, s)) > 0.5
    assert_agrees(
        lambda q, k, v: scratch.scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(mask)),
        normal(seed, 2, 3, t, 4),
        normal(seed + 1, 2, 3, s, 4),
        normal(seed + 2, 2, 3, s, 5),
    )


# ---- another sequence ---------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("padded", [False, True])
def test_cross_attention_is_pytorchs(heads, padded):
    ours = MultiHeadAttention(8, heads)
    theirs = as_pytorchs(ours)
    mask = scratch.create_padding_mask([4, 7], 7) if padded else None
    hidden = None if mask is None else torch.tensor(~mask[:, 0, 0])
    assert_equals_torch(
        lambda x, context: ours(x, mask, context=context),
        lambda x, context: theirs(x, context, context, key_padding_mask=hidden)[0],
        normal(0, 2, 3, 8),
        normal(1, 2, 7, 8),
    )
    for name, rows in zip(
        ("query", "key", "value"), theirs.in_proj_weight.grad.chunk(3), strict=True
    ):
        found = getattr(ours, name).weight.grad
        np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.output.weight.grad, theirs.out_proj.weight.grad, atol=1e-4)


def test_weights_of_each_head_are_pytorchs():
    ours = MultiHeadAttention(8, 4)
    x, context = Tensor(normal(0, 2, 3, 8)), Tensor(normal(1, 2, 5, 8))
    mask = scratch.create_padding_mask([2, 5], 5)
    _, expected = as_pytorchs(ours)(
        *(torch.tensor(t.data) for t in (x, context, context)),
        key_padding_mask=torch.tensor(~mask[:, 0, 0]),
        average_attn_weights=False,
    )
    found = ours.weights(x, mask, context)
    np.testing.assert_allclose(found.data, expected.detach(), atol=1e-6)
    assert not found.requires_grad


def test_gradients_of_cross_attention_predict_small_steps():
    ours = MultiHeadAttention(4, 2)
    mask = scratch.create_padding_mask([0, 3], 5)
    for parameter in ours.parameters():
        parameter.data = parameter.data.astype(np.float64)
    assert_equals_finite_differences(
        lambda x, context: ours(x, mask, context), normal(0, 2, 3, 4), normal(1, 2, 5, 4)
    )


def test_a_sequence_that_asks_itself_is_self_attention():
    attention, x = MultiHeadAttention(8, 2), Tensor(normal(0, 2, 5, 8))
    np.testing.assert_array_equal(attention(x).data, attention(x, context=x).data)
    assert (attention(x).data != attention(x, context=x * 2).data).all()


@given(lengths, lengths, seeds)
@examples
def test_the_order_of_keys_does_not_matter_and_that_of_queries_is_kept(t, s, seed):
    scratch.manual_seed(seed)
    attention, rng = MultiHeadAttention(4, 2), np.random.default_rng(seed)
    x, context = Tensor(rng.normal(size=(1, t, 4))), Tensor(rng.normal(size=(1, s, 4)))
    asked, answering = rng.permutation(t), rng.permutation(s)
    expected = attention(x, context=context).data[:, asked]
    found = attention(x[:, asked], context=context[:, answering]).data
    np.testing.assert_allclose(found, expected, atol=1e-5)


# ---- what bad input says ------------------------------------------------------------------------

X = Tensor(np.zeros((2, 3, 4)))
ERRORS = {
    "create_padding_mask: seq_len must be a positive integer, got 0": lambda: (
        scratch.create_padding_mask([1], 0)
    ),
    "create_padding_mask: lengths must be integers, got float64": lambda: (
        scratch.create_padding_mask(np.array([1.5]), 3)
    ),
    "create_padding_mask: lengths must have shape (B,), got (1, 1)": lambda: (
        scratch.create_padding_mask(np.array([[1]]), 3)
    ),
    "create_padding_mask: every length must be from 0 to seq_len=3, got 4": lambda: (
        scratch.create_padding_mask([2, 4], 3)
    ),
    "create_padding_mask: every length must be from 0 to seq_len=3, got -1": lambda: (
        scratch.create_padding_mask([2, -1], 3)
    ),
    "MultiHeadAttention.forward: context must have shape (2, S, 4) for x of shape (2, 3, 4), "
    "got (1, 5, 4)": lambda: MultiHeadAttention(4, 2)(X, context=Tensor(np.zeros((1, 5, 4)))),
    "MultiHeadAttention.forward: context must have shape (2, S, 4) for x of shape (2, 3, 4), "
    "got (2, 4)": lambda: MultiHeadAttention(4, 2)(X, context=Tensor(np.zeros((2, 4)))),
    "MultiHeadAttention.forward: context must be a Tensor, got ndarray of bool with shape (3, 3)": (
        lambda: MultiHeadAttention(4, 2)(X, context=scratch.create_causal_mask(3))
    ),
    "MultiHeadAttention.weights: x must have shape (B, T, C), got (3, 4)": lambda: (
        MultiHeadAttention(4, 2).weights(X[0])
    ),
    "attention: mask of shape (3, 3) does not broadcast to (2, 2, 3, 5)": lambda: (
        MultiHeadAttention(4, 2)(X, scratch.create_causal_mask(3), Tensor(np.zeros((2, 5, 4))))
    ),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_the_argument(message, without_type_checks):
    with pytest.raises((TypeError, ValueError)) as error:
        ERRORS[message]()
    assert str(error.value) == message
