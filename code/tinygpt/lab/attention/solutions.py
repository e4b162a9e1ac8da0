"""Answers to learn from, where the package fuses steps that the exercise takes one by one.

The package computes the masked softmax with a gradient worked out by hand, and its heads are
methods of `MultiHeadAttention`.
"""

import math

import numpy as np

from tinygpt.scratch import scaled_dot_product_attention


def soft_lookup(query, keys, values):
    """Return the mean of the values, weighted by how well their keys match the query."""
    matches = keys @ query  # (S,)
    weights = np.exp(matches - matches.max())  # the largest is 1, so nothing overflows
    weights = weights / weights.sum()
    return weights @ values  # (e,)


def scaled_scores(query, key):
    """Return the match of every query with every key, divided by √d_k."""
    return query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])  # (..., T, S)


def masked_softmax(scores, mask):
    """Return weights over the keys that the mask leaves; zeros where it leaves none."""
    visible = scores.masked_fill(~mask, -math.inf)
    top = visible.data.max(axis=-1, keepdims=True)
    top[np.isinf(top)] = 0  # in a row without a key, -inf - 0 stays -inf, and exp makes it 0
    weights = (visible - top).exp()
    total = weights.sum(axis=-1, keepdims=True)
    return weights / (total + (total.data == 0))  # 0 / 1 in such a row, not 0 / 0


def attend_in_heads(query, key, value, num_heads, mask=None):
    """Split the width into heads, let each attend on its own, and join their answers."""

    def split(x):
        batch, length, width = x.shape
        return x.reshape(batch, length, num_heads, width // num_heads).swapaxes(1, 2)

    heads = scaled_dot_product_attention(split(query), split(key), split(value), mask)
    return heads.swapaxes(1, 2).reshape(query.shape)  # (B, T, h, d_k), then (B, T, C)
