"""Embeddings and positions: four pieces to write. Read the chapter beside them.

    tinygpt lab check embeddings               check all four
    tinygpt lab check embeddings rotary        check one
    tinygpt lab hint embeddings rotary         the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
"""

# ruff: noqa: F401
import numpy as np

from tinygpt.scratch import Tensor, concatenate


def embedding(weight, ids):
    """Look up a row of the table for each id, and write the gradient yourself.

    Args:
        weight: Tensor, the table, (V, C). `weight.data` is its NumPy array.
        ids: NumPy array of integers from 0 to V - 1, of any shape.

    Returns:
        Tensor of the rows, the shape of ids with C behind it. Make it with
        `Tensor.from_operation(values, (weight,), backward)`. There `backward(grad)` gets the
        gradient with respect to the rows, an array of their shape, and hands
        `weight.accumulate(...)` the one with respect to the table, an array (V, C).

    Raises:
        ValueError: an id is negative, or V or more.
    """
    raise NotImplementedError


def nearest_rows(table, row, k):
    """Find the rows that point most nearly in the direction of a given one.

    cosine(u, v) = u · v / (|u| |v|)

    Args:
        table: NumPy array (V, C). It stays as it is. A row of zeros points nowhere: its cosine
            with any row counts as 0.
        row: number of the row to compare with, which is not all zeros.
        k: how many to return, less than V.

    Returns:
        NumPy array of k row numbers, those with the largest cosine, the largest first, without
        `row` itself.
    """
    raise NotImplementedError


def sinusoidal_positions(num_positions, dim, base=10_000.0):
    """Make the table of sines and cosines that is added to the embeddings.

    P[t, 2i] = sin(t θ_i),  P[t, 2i + 1] = cos(t θ_i),  θ_i = base^(-2i / dim)

    Args:
        num_positions: number of rows, for the positions 0, 1, 2 and so on.
        dim: number of columns, even.
        base: the larger, the more slowly the last columns change.

    Returns:
        NumPy array of floats, (num_positions, dim).
    """
    raise NotImplementedError


def apply_rotary(x, positions=None, base=10_000.0):
    """Turn each pair of features by an angle that is proportional to the position.

    (a, b) → (a cos tθ_i - b sin tθ_i,  a sin tθ_i + b cos tθ_i),  θ_i = base^(-2i / d)
    for a = x[..., t, i] and b = x[..., t, i + d/2]

    Args:
        x: Tensor of queries or keys, (..., T, d), d even. It stays as it is.
        positions: NumPy array of T integers, the position of each row; None: 0 to T - 1.
        base: as above.

    Returns:
        Tensor of the shape of x, through which gradients flow.
    """
    raise NotImplementedError
