"""Attention: answers that are wrong for some inputs only, and right ones."""

# ruff: noqa: E501

import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, SOLVED, grade

_SDPA = "scaled_dot_product_attention(split(query), split(key), split(value), mask)"
_MASKED = "visible = scores.masked_fill(~mask, -math.inf)"
_SCORES = "return query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])"
_CONTEXT = "context = _context('MultiHeadAttention.forward', x, context)"
_WEIGHTS = "attention_weights(query, key, mask)"

WRONG = {
    "soft_lookup": {
        "whole numbers out": ("return weights @ values", "return (weights @ values).astype(values.dtype)"),
        "eight keys at most": ("matches = keys @ query", "keys = keys[:8]; values = values[:8]; matches = keys @ query"),
        "query scaled in place": ("matches = keys @ query", "matches = keys @ query; query *= 2"),
        "matches cut off at 50": ("matches = keys @ query", "matches = np.clip(keys @ query, -50, 50)"),
    },
    "scaled_scores": {
        "gradient too large": (_SCORES, "root = math.sqrt(query.shape[-1])\n    return query @ key.swapaxes(-1, -2) - (query @ key.swapaxes(-1, -2)).detach() * (1 - 1 / root)"),
        "query scaled in place": (_SCORES, "query.data /= math.sqrt(query.shape[-1])\n    return query @ key.swapaxes(-1, -2)"),
        "root of at most 3": (_SCORES, "return query @ key.swapaxes(-1, -2) / min(3.0, math.sqrt(query.shape[-1]))"),
        "batch axes exchanged when there are two": (_SCORES, "turned = key.swapaxes(-1, -2) if key.ndim < 4 else key.swapaxes(-1, -2)[:1] + 0 * key.swapaxes(-1, -2)\n    return query @ turned / math.sqrt(query.shape[-1])"),
    },
    "masked_softmax": {
        "the first text's mask": (_MASKED, "mask = mask[:1] if mask.ndim > 3 else mask\n    " + _MASKED),
        "the first row's mask": (_MASKED, "mask = mask[..., :1, :] if mask.ndim > 3 else mask\n    " + _MASKED),
        "a billion for infinity": (_MASKED, "visible = scores.masked_fill(~mask, -1e9)\n    empty = ~mask.any(axis=-1, keepdims=True)\n    visible = visible.masked_fill(empty, -math.inf)"),
        "largest of all scores": ("top = visible.data.max", "top = scores.data.max"),
        "no mask beyond 16": (_MASKED, "mask = mask if mask.shape[-1] <= 16 else mask | True\n    " + _MASKED),
        "mask turned in place": (_MASKED, "mask ^= True\n    visible = scores.masked_fill(mask, -math.inf)"),
    },
    "attend_in_heads": {
        "the first head's mask": (_SDPA, _SDPA.replace("mask)", "mask if mask is None or mask.ndim < 3 else mask[..., :1, :, :])")),
        "the first text's mask": (_SDPA, _SDPA.replace("mask)", "mask if mask is None or mask.ndim < 4 else mask[:1])")),
        "the last query's mask": (_SDPA, _SDPA.replace("mask)", "mask if mask is None else mask[..., -1:, :])")),
        "no mask beyond 16": (_SDPA, _SDPA.replace("mask)", "None if key.shape[1] > 16 else mask)")),
        "value without half its gradient": (_SDPA, _SDPA.replace("split(value)", "split(value * 0.5 + value.detach() * 0.5)")),
    },
    "multi_head_attention": {
        "x where the context is as long": (_CONTEXT, "context = x if context is None or context.shape == x.shape else context"),
        "the first head's mask": (_WEIGHTS, "attention_weights(query, key, mask if mask is None or mask.ndim < 3 else mask[..., :1, :, :])"),
        "the first text's mask": (_WEIGHTS, "attention_weights(query, key, mask if mask is None or mask.ndim < 4 else mask[:1])"),
        "no mask with a context": (_CONTEXT, "mask = mask if context is None or mask is None or mask.ndim == 4 and mask.shape[2] == 1 else None\n        " + _CONTEXT),
        "context without gradient to the keys": ("self.key(context)", "self.key(context.detach())"),
    },
}  # fmt: skip

RIGHT = {
    "soft_lookup": {"values first": ("return weights @ values", "return values.T @ weights")},
    "scaled_scores": {
        "query scaled first": (_SCORES, "return (query * query.shape[-1] ** -0.5) @ key.swapaxes(-2, -1)")
    },
    "masked_softmax": {
        "another number for infinity": ("top[np.isinf(top)] = 0", "top = np.nan_to_num(top, neginf=7.0)"),
        "a mask spread out": (_MASKED, "mask = np.broadcast_to(mask, scores.shape)\n    " + _MASKED),
    },
    "attend_in_heads": {
        "a mask spread out": (_SDPA, _SDPA.replace("mask)", "mask if mask is None else np.broadcast_to(mask, (len(key.data), num_heads, query.shape[1], key.shape[1])))"))
    },
}  # fmt: skip


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in WRONG for n in WRONG[e]])
def test_a_wrong_answer_fails(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, WRONG[exercise][name]))
    assert result.status == FAILED
    assert result.cause == "measured", result.message


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in RIGHT for n in RIGHT[e]])
def test_a_right_answer_passes(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, RIGHT[exercise][name]))
    assert result.status == SOLVED, result.message


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("axis=-1, keepdims=True)\n    return", "dim=-1, keepdims=True)\n    return", "dim=, as PyTorch does; here it is axis="),
        ("keepdims=True)\n    return", "keepdim=True)\n    return", "keepdim=, as PyTorch does; here it is keepdims="),
    ],
)  # fmt: skip
def test_a_habit_of_pytorch_is_named(before, after, said):
    result = grade(lab.exercise("masked_softmax"), edited("masked_softmax", (before, after)))
    assert result.message.startswith(f"masked_softmax writes {said}")
