"""Attention: each position takes a weighted mean of values, by how well keys match its query.

A mask is a boolean array in which True means *may attend*. Masks that must all hold are combined
with `&`: `create_causal_mask(T) & create_padding_mask(lengths, T)` has the shape (B, 1, T, T).
A query that its mask leaves no key gets zeros, and its gradient is zero: never NaN.
"""

import math

import numpy as np

from tinygpt.scratch.arrays import broadcast_shape
from tinygpt.scratch.functional import softmax
from tinygpt.scratch.graph import no_grad
from tinygpt.scratch.layers import Dropout, Linear, Module
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Bool, Float, Int
from tinygpt.validate import (
    boolean_mask,
    instance,
    integer_array,
    positive_integer,
    probability,
)


def create_causal_mask(seq_len: int) -> Bool[np.ndarray, "T T"]:
    """Return the mask with which position i attends to positions 0..i only.

    Args:
        seq_len: number of positions, T.

    Returns:
        (T, T), True where the row's position may attend to the column's.
    """
    seq_len = positive_integer("create_causal_mask", "seq_len", seq_len)
    return np.tri(seq_len, dtype=bool)


def create_padding_mask(
    lengths: Int[np.ndarray, "B"] | list[int], seq_len: int
) -> Bool[np.ndarray, "B 1 1 T"]:
    """Return the mask that hides what fills short sequences up to a common length.

    Args:
        lengths: for each sequence, how many of its first positions are real; from 0 to seq_len.
        seq_len: number of positions with the filling, T.

    Returns:
        (B, 1, 1, T), True where the column's position is real. The axes of length 1 stand for
        the heads and the queries, which all see the same keys.

    Raises:
        TypeError: when lengths are not integers.
        ValueError: when lengths have another number of axes than one, or one is not 0..seq_len.
    """
    where = "create_padding_mask"
    seq_len = positive_integer(where, "seq_len", seq_len)
    lengths = integer_array(where, "lengths", lengths)
    if lengths.ndim != 1:
        raise ValueError(f"{where}: lengths must have shape (B,), got {lengths.shape}")
    wrong = lengths[(lengths < 0) | (lengths > seq_len)]
    if wrong.size:
        raise ValueError(
            f"{where}: every length must be from 0 to seq_len={seq_len}, got {wrong[0]}"
        )
    return np.arange(seq_len) < lengths[:, None, None, None]


def attention_weights(
    query: Float[Tensor, "*B T d"],
    key: Float[Tensor, "*B S d"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[Tensor, "*B T S"]:
    """Return how much each query attends to each key.

    softmax(Q Kᵀ / √d), over the keys that the mask leaves

    Args:
        query, key: (..., T, d) and (..., S, d).
        mask: True = may attend; broadcasts to (..., T, S). None: every key.

    Returns:
        (..., T, S); a row sums to 1, or is all zeros when the mask leaves it no key.

    Source: Vaswani et al. (2017), Attention Is All You Need, equation 1.
    """
    _check_shapes(query, key, key, mask)
    scores = (query * (1 / math.sqrt(query.shape[-1]))) @ key.swapaxes(-1, -2)  # (..., T, S)
    return softmax(scores, mask=mask)


def scaled_dot_product_attention(
    query: Float[Tensor, "*B T d"],
    key: Float[Tensor, "*B S d"],
    value: Float[Tensor, "*B S e"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[Tensor, "*B T e"]:
    """Return for each query the mean of the values, weighted by `attention_weights`.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d) V
    """
    _check_shapes(query, key, value)
    return attention_weights(query, key, mask) @ value  # (..., T, e)


class SingleHeadAttention(Module):
    """Self-attention with one head and no output projection.

    Args:
        embed_dim: width of the input, C.
        head_dim: width of queries, keys, values and output, d.
    """

    def __init__(self, embed_dim: int, head_dim: int):
        embed_dim = positive_integer("SingleHeadAttention", "embed_dim", embed_dim)
        head_dim = positive_integer("SingleHeadAttention", "head_dim", head_dim)
        self.query = Linear(embed_dim, head_dim)
        self.key = Linear(embed_dim, head_dim)
        self.value = Linear(embed_dim, head_dim)

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[np.ndarray, "..."] | None = None
    ) -> Float[Tensor, "B T d"]:
        """Let every position of x attend to the positions that the mask allows."""
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), mask)


class MultiHeadAttention(Module):
    """Attention in several heads side by side, each over its own slice of the width.

    Self-attention by default: queries, keys and values are maps of one sequence. With a
    `context` it is cross-attention: the keys and values are maps of that other sequence.

    Args:
        embed_dim: width of input and output, C.
        num_heads: number of heads, h; it must divide embed_dim. d_k = C / h.
        dropout_prob: dropout on the attention weights and on the output, in training.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout_prob: float = 0.0):
        embed_dim = positive_integer("MultiHeadAttention", "embed_dim", embed_dim)
        self.num_heads = positive_integer("MultiHeadAttention", "num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiHeadAttention: num_heads={num_heads} does not divide embed_dim={embed_dim}"
            )
        self.query = Linear(embed_dim, embed_dim)
        self.key = Linear(embed_dim, embed_dim)
        self.value = Linear(embed_dim, embed_dim)
        self.output = Linear(embed_dim, embed_dim)
        self.dropout = Dropout(probability("MultiHeadAttention", "dropout_prob", dropout_prob))

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[np.ndarray, "..."] | None = None,
        context: Float[Tensor, "B S C"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Let every position of x attend to the positions that the mask allows.

        Args:
            x: the sequence that asks, (B, T, C).
            mask: True = may attend; broadcasts to (B, h, T, S). None: every position.
            context: the sequence that is asked, (B, S, C). None: x itself, and S = T.

        Raises:
            ValueError: when shapes do not fit.
        """
        context = _context("MultiHeadAttention.forward", x, context)
        query = self._split_heads(self.query(x))  # (B, h, T, d_k)
        key = self._split_heads(self.key(context))  # (B, h, S, d_k)
        value = self._split_heads(self.value(context))  # (B, h, S, d_k)
        weights = self.dropout(attention_weights(query, key, mask))  # (B, h, T, S)
        return self.dropout(self.output(self._merge_heads(weights @ value)))  # (B, T, C)

    @no_grad()
    def weights(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[np.ndarray, "..."] | None = None,
        context: Float[Tensor, "B S C"] | None = None,
    ) -> Float[Tensor, "B h T S"]:
        """Return the attention weights of each head, to look at; arguments as in `forward`."""
        context = _context("MultiHeadAttention.weights", x, context)
        query, key = self._split_heads(self.query(x)), self._split_heads(self.key(context))
        return attention_weights(query, key, mask)

    def _split_heads(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B h T d_k"]:
        batch, seq_len, width = x.shape
        x = x.reshape(batch, seq_len, self.num_heads, width // self.num_heads)  # (B, T, h, d_k)
        return x.swapaxes(1, 2)  # (B, h, T, d_k)

    def _merge_heads(self, x: Float[Tensor, "B h T d_k"]) -> Float[Tensor, "B T C"]:
        batch, heads, seq_len, head_dim = x.shape
        return x.swapaxes(1, 2).reshape(batch, seq_len, heads * head_dim)  # (B, T, C)


def _context(where, x, context):
    """Return the sequence that is asked: x itself when there is no other."""
    if instance(where, "x", x, Tensor).ndim != 3:
        raise ValueError(f"{where}: x must have shape (B, T, C), got {x.shape}")
    if context is None:
        return x
    if instance(where, "context", context, Tensor).ndim != 3 or (
        context.shape[::2] != x.shape[::2]
    ):
        raise ValueError(
            f"{where}: context must have shape ({x.shape[0]}, S, {x.shape[2]}) for x of shape "
            f"{x.shape}, got {context.shape}"
        )
    return context


def _check_shapes(query, key, value, mask=None):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if instance("attention", name, tensor, Tensor).ndim < 2:
            raise ValueError(f"attention: {name} must have shape (..., T, d), got {tensor.shape}")
    if query.shape[-1] == 0:
        raise ValueError(
            f"attention: query and key must be at least 1 wide, got shape {query.shape}"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"attention: query and key must have one width, got {query.shape} and {key.shape}"
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"attention: key and value must have one length, got {key.shape} and {value.shape}"
        )
    where = "attention: batch axes of query and key"
    batch = broadcast_shape(where, query.shape[:-2], key.shape[:-2])
    if mask is not None:
        boolean_mask("attention", "mask", mask, (*batch, query.shape[-2], key.shape[-2]))
