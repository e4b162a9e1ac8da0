"""The Transformer: five pieces to write. Read the chapter beside them.

    tinygpt lab check transformer               check all five
    tinygpt lab check transformer layer_norm    check one
    tinygpt lab hint transformer layer_norm     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
`scratch.LayerNorm` and `scratch.MLP` are the book's own, for when yours are not written yet.
"""

# ruff: noqa: F401
import numpy as np

from tinygpt import scratch
from tinygpt.scratch import (
    GELU,
    GPT,
    Dropout,
    Linear,
    Module,
    MultiHeadAttention,
    Tensor,
    gelu,
    no_grad,
    softmax,
)
from tinygpt.shapes import Bool, Float, Int


class LayerNorm(Module):
    """Normalise each position's features to mean 0 and variance 1, then scale and shift.

    y = (x - mean) / sqrt(variance + eps) * weight + bias

    Args:
        normalized_shape: length of the last axis, C.
        eps: added to the variance, so that a constant row does not divide by zero.

    Attributes:
        weight: Tensor (C,) of ones, with requires_grad=True.
        bias: Tensor (C,) of zeros, with requires_grad=True.
    """

    def __init__(self, normalized_shape, eps=1e-5):
        raise NotImplementedError

    def forward(self, x):
        """Map a Tensor (..., C) to a Tensor of the same shape, each row by its own statistics.

        Tensor has the operators + - * / **, and the methods .mean(axis=, keepdims=),
        .sum(axis=, keepdims=) and .sqrt().
        """
        raise NotImplementedError


def create_causal_mask(seq_len):
    """Return the mask with which each position attends to itself and the ones before it.

    Args:
        seq_len: number of positions, T.

    Returns:
        A NumPy array of booleans, (T, T): mask[i, j] is True when position i may attend
        to position j.
    """
    raise NotImplementedError


class MLP(Module):
    """Two linear maps with a GELU between them, the same at every position.

    Args:
        embed_dim: width of input and output, C.
        hidden_dim: width between the two maps; 4 C when None.
        dropout_prob: dropout on the output, in training.

    Attributes:
        fc1: Linear from C to hidden_dim.
        fc2: Linear from hidden_dim to C.
    """

    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        raise NotImplementedError

    def forward(self, x):
        """Map a Tensor (..., C) to a Tensor of the same shape."""
        raise NotImplementedError


class TransformerBlock(Module):
    """Attention, then an MLP; each reads a normalised copy and adds to the residual stream.

    Args:
        embed_dim: width of the residual stream, C.
        num_heads: number of attention heads.
        mlp_ratio: width of the MLP's hidden layer, in multiples of C.
        dropout_prob: dropout inside attention and MLP, in training.

    Attributes:
        norm1: LayerNorm before the attention.
        attention: MultiHeadAttention(embed_dim, num_heads, dropout_prob).
        norm2: LayerNorm before the MLP.
        mlp: MLP.
    """

    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        raise NotImplementedError

    def forward(self, x, mask=None):
        """Map a Tensor (B, T, C) to a Tensor of the same shape.

        Args:
            x: the residual stream.
            mask: which position may attend to which, for `self.attention(x, mask)`.
        """
        raise NotImplementedError


def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    """Continue each prompt, one token at a time, each drawn by the model's own scores.

    Args:
        model: a GPT. model(tokens) gives a Tensor of logits (B, T, V), of which `.data` is
            the NumPy array, in float32; it reads at most model.max_seq_len tokens. model.eval()
            switches dropout off, model.train() on; model.training says which.
        prompt_tokens: NumPy array of integers, (B, T).
        max_new_tokens: how many tokens to add.
        temperature: below 1 sharpens, above 1 flattens; 0 takes the likeliest token always.
        seed: fixes the draws, with np.random.default_rng(seed).

    Returns:
        NumPy array of integers, (B, T + max_new_tokens): each prompt and its continuation.
        The model is left in the mode it was in, and the prompt as it was.

    Compute probabilities in float64, from `logits.data[:, -1].astype(np.float64)`: in float32
    they may not sum to 1 closely enough for rng.choice, and a small temperature becomes 0.
    """
    raise NotImplementedError
