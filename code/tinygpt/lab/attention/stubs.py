"""Attention: five pieces to write. Read the chapter beside them.

    tinygpt lab check attention               check all five
    tinygpt lab check attention soft_lookup   check one
    tinygpt lab hint attention soft_lookup    the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
In every mask True means *may attend*.
"""

# ruff: noqa: F401
import math

import numpy as np

from tinygpt import scratch
from tinygpt.scratch import Linear, Module, Tensor, scaled_dot_product_attention


def soft_lookup(query, keys, values):
    """Return the mean of the values, weighted by how well their keys match one query.

    The weights are the softmax of the dot products of query and keys, not scaled.

    Args:
        query: NumPy array (d_k,).
        keys: NumPy array (S, d_k).
        values: NumPy array (S, e).

    Returns:
        NumPy array (e,).
    """
    raise NotImplementedError


def scaled_scores(query, key):
    """Return the match of every query with every key, divided by the root of their width.

    Args:
        query: Tensor (..., T, d_k).
        key: Tensor (..., S, d_k). The axes before the last two are the same: none, (B,) or
            (B, h).

    Returns:
        Tensor (..., T, S). Tensor has the operators + - * / @ and the method .swapaxes(i, j).
    """
    raise NotImplementedError


def masked_softmax(scores, mask):
    """Return weights over the keys that the mask leaves, made of exp, sum and division.

    Args:
        scores: Tensor (..., T, S), any finite numbers.
        mask: NumPy array of booleans that broadcasts to scores; True = may attend.

    Returns:
        Tensor of the shape of scores. Weights are exactly 0 where the mask is False; each row
        sums to 1, or is all zeros if the mask leaves it nothing. Never NaN, in the gradient
        neither.

    Tensor has .masked_fill(where, number), .exp(), .sum(axis=, keepdims=), and `.data`, the
    NumPy array, for what needs no gradient.
    """
    raise NotImplementedError


def attend_in_heads(query, key, value, num_heads, mask=None):
    """Split the width into heads, let each attend on its own, and join their answers.

    Args:
        query: Tensor (B, T, C).
        key, value: Tensors (B, S, C).
        num_heads: h, a divisor of C. Head i has the features from i · C/h on, C/h of them.
        mask: for scaled_dot_product_attention(query, key, value, mask); broadcasts to
            (B, h, T, S).

    Returns:
        Tensor (B, T, C): the answers of the heads side by side, in their order.

    Tensor has .reshape(...) and .swapaxes(i, j).
    """
    raise NotImplementedError


class MultiHeadAttention(Module):
    """Attention in heads; over x itself, or over another sequence.

    Args:
        embed_dim: width of input and output, C.
        num_heads: number of heads, h.

    Attributes:
        query, key, value, output: Linear from C to C.
    """

    def __init__(self, embed_dim, num_heads):
        raise NotImplementedError

    def forward(self, x, mask=None, context=None):
        """Map a Tensor (B, T, C) to a Tensor of the same shape.

        Args:
            x: the sequence that asks.
            mask: which position may attend to which; broadcasts to (B, h, T, S).
            context: the sequence that is asked, (B, S, C). None: x itself.
        """
        raise NotImplementedError
