"""Where a token stands, as numbers: a table of waves to add, or an angle to turn by.

A learned table of positions needs nothing of its own: it is an `Embedding` whose ids are the
positions.
"""

import numpy as np

from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Integer
from tinygpt.validate import instance, integer_array, number, positive_integer


def rotary_frequencies(dim: int, base: float = 10_000.0) -> Float[np.ndarray, "P"]:
    """Return by what angle each pair of features turns from one position to the next.

    θ_i = base^(-2i / dim) for i = 0 .. dim/2 - 1

    The first pair turns by 1 radian a position, the later ones ever more slowly.

    Args:
        dim: number of features, even.
        base: at least 1; the larger, the more slowly the last pairs turn.

    Returns:
        (dim / 2,) in radians per position, float64.

    Raises:
        TypeError, ValueError: when an argument is of another kind or size.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.5; Su et al. (2021),
    RoFormer, section 3.2.2, which takes the same angles.
    """
    dim = _even("rotary_frequencies", "dim", dim)
    base = number("rotary_frequencies", "base", base, low=1.0)
    return base ** (-np.arange(0, dim, 2) / dim)


def sinusoidal_positions(
    num_positions: int, dim: int, base: float = 10_000.0
) -> Float[np.ndarray, "T C"]:
    """Return a table with a row of sines and cosines for each position.

    P[t, 2i] = sin(t θ_i),  P[t, 2i + 1] = cos(t θ_i),  θ_i = base^(-2i / dim)

    Args:
        num_positions: number of rows, T; they stand for the positions 0 to T - 1.
        dim: length of a row, C, even.
        base: as for `rotary_frequencies`.

    Returns:
        (T, C), float64; every row has the length √(C / 2). Added to a Tensor it takes the
        Tensor's type.

    Raises:
        TypeError, ValueError: when an argument is of another kind or size.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.5.
    """
    num_positions = positive_integer("sinusoidal_positions", "num_positions", num_positions)
    dim = _even("sinusoidal_positions", "dim", dim)
    angles = np.arange(num_positions)[:, None] * rotary_frequencies(dim, base)  # (T, C/2)
    table = np.empty((num_positions, dim))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def apply_rotary(
    x: Float[Tensor, "*B T d"],
    positions: Integer[np.ndarray, "..."] | None = None,
    base: float = 10_000.0,
) -> Float[Tensor, "*B T d"]:
    """Turn every query or key by an angle that is proportional to its position.

    (a, b) → (a cos tθ_i - b sin tθ_i,  a sin tθ_i + b cos tθ_i)
    for a = x[..., t, i] and b = x[..., t, i + d/2]

    The dot product of a query turned for position m with a key turned for position n depends
    on m - n alone. A turn is undone by its transpose, so the gradient is turned back: the same
    formula with the sine's sign changed.

    The paper pairs neighbouring features, 2i and 2i + 1. The pairs here, i and i + d/2, are
    those of LLaMA in Hugging Face; they are the paper's with the features in another order.

    Args:
        x: queries or keys, d even.
        positions: integers that broadcast to (..., T); None: 0 to T - 1.
        base: as for `rotary_frequencies`.

    Returns:
        A Tensor of the shape of x; no row changes its length.

    Raises:
        TypeError, ValueError: when an argument is of another kind, or positions do not fit.

    Source: Su et al. (2021), RoFormer, sections 3.2.2 and 3.4.2.
    """
    cos, sin = _turns(x, positions, base)  # (..., T, d/2) each
    return Tensor.from_operation(
        _rotated(x.data, cos, sin),
        (x,),
        lambda grad: x.accumulate(_rotated(grad, cos, -sin)),
    )


def _rotated(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    out = np.empty_like(x)
    np.subtract(a * cos, b * sin, out=out[..., :half])
    np.add(a * sin, b * cos, out=out[..., half:])
    return out


def _turns(x, positions, base):
    """Return the cosine and the sine of every angle, in the type of x."""
    if instance("apply_rotary", "x", x, Tensor).ndim < 2:
        raise ValueError(f"apply_rotary: x must have shape (..., T, d), got {x.shape}")
    dim = _even("apply_rotary", "the last axis of x", x.shape[-1])
    if positions is None:
        positions = np.arange(x.shape[-2])
    positions = integer_array("apply_rotary", "positions", positions)
    try:
        fits = np.broadcast_shapes(positions.shape, x.shape[:-1]) == x.shape[:-1]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"apply_rotary: positions of shape {positions.shape} do not broadcast to "
            f"{x.shape[:-1]}, the shape of x without its last axis"
        )
    # In float64: at position 100,000 a float32 angle is off by thousandths of a radian.
    angles = positions[..., None] * rotary_frequencies(dim, base)
    return np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)


def _even(where, name, value) -> int:
    value = positive_integer(where, name, value)
    if value % 2:
        raise ValueError(f"{where}: {name} must be even, got {value}")
    return value
