"""Checks of sinusoidal and rotary positions, on angles that can be looked up."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.measures import close, has_graph, shown, tensor_of
from tinygpt.scratch import Tensor

# ---- sinusoidal ---------------------------------------------------------------------------------


def test_unit_sinusoidal(sinusoidal_positions):
    """Three positions of four features: the angles are 0, 1, 2 and 0, 0.01, 0.02."""
    table = _table(sinusoidal_positions(3, 4), (3, 4))
    for t, angles in enumerate(([0, 0], [1, 0.01], [2, 0.02])):
        expected = [f(angle) for angle in angles for f in (np.sin, np.cos)]
        require(
            np.allclose(table[t], expected, atol=1e-4),
            f"Position {t} of 4 features should be {_listed(expected)}; got {_listed(table[t])}",
        )


def test_base_sinusoidal(sinusoidal_positions):
    """With base 100 and 4 features the second pair turns by 0.1 radians a position."""
    found = _table(sinusoidal_positions(2, 4, base=100.0), (2, 4))[1, 2]
    require(
        abs(found - np.sin(0.1)) < 1e-4,
        "With base 100 feature 2 of 4 at position 1 should be sin(0.1) = 0.100, got "
        f"{shown(found, 3)}",
    )


def test_shapes_sinusoidal(sinusoidal_positions):
    """Other sizes, and rows whose dot products depend on the distance alone."""
    for length, dim in ((1, 2), (50, 16), (7, 64)):
        table = _table(sinusoidal_positions(length, dim), (length, dim))
        angles = np.arange(length)[:, None] * 10_000.0 ** (-np.arange(0, dim, 2) / dim)
        expected = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)
        close(f"The table of {length} positions and {dim} features is wrong", table, expected)


def _table(value, shape) -> np.ndarray:
    require(
        isinstance(value, np.ndarray),
        f"sinusoidal_positions should return a NumPy array, got {type(value).__name__}",
    )
    require(
        value.shape == shape,
        f"sinusoidal_positions{shape} should return the shape {shape}, got {value.shape}",
    )
    require(value.dtype.kind == "f", f"The table should hold floats, got {value.dtype}")
    return value


# ---- rotary -------------------------------------------------------------------------------------


def test_unit_rotary(apply_rotary):
    """One pair, (1, 0), at three positions; then two pairs at position 1."""
    turned = _turned(apply_rotary, np.tile([1.0, 0.0], (3, 1)))
    for t in range(3):
        expected = [np.cos(t), np.sin(t)]
        require(
            np.allclose(turned[t], expected, atol=1e-4),
            f"The pair (1, 0) at position {t} should become {_listed(expected)}; "
            f"got {_listed(turned[t])}",
        )
    features = np.tile([1.0, 2.0, 3.0, 4.0], (2, 1))
    turned = _turned(apply_rotary, features)[1]
    expected = _expected(features, np.arange(2))[1]
    require(
        np.allclose(turned, expected, atol=1e-4),
        "With the pairs (1, 3) and (2, 4) the features 1, 2, 3, 4 at position 1 should become "
        f"{_listed(expected)}; got {_listed(turned)}",
    )


def test_positions_rotary(apply_rotary):
    """Every row is turned by its own position, also alone; another base turns otherwise."""
    one = Tensor([[1.0, 0.0]])
    turned = tensor_of("apply_rotary", apply_rotary(one, np.array([7])), (1, 2))[0]
    expected = [np.cos(7), np.sin(7)]
    require(
        np.allclose(turned, expected, atol=1e-4),
        f"The pair (1, 0), alone, with positions=[7], should become {_listed(expected)}; "
        f"got {_listed(turned)}",
    )
    three = Tensor(np.tile([1.0, 0.0], (3, 1)))
    positions = np.array([3, 0, 8])
    turned = tensor_of("apply_rotary", apply_rotary(three, positions), (3, 2))
    for row, t in enumerate(positions):
        expected = [np.cos(t), np.sin(t)]
        require(
            np.allclose(turned[row], expected, atol=1e-4),
            f"With positions=[3, 0, 8] row {row}, a pair (1, 0), should be turned for position "
            f"{t}, to {_listed(expected)}; got {_listed(turned[row])}",
        )
    x = Tensor([[1.0, 1.0, 0.0, 0.0]])
    turned = tensor_of("apply_rotary", apply_rotary(x, np.array([1]), base=100.0), (1, 4))[0]
    require(
        abs(turned[3] - np.sin(0.1)) < 1e-4,
        "With base 100 the second of two pairs, (1, 0), at position 1 should end in sin(0.1) = "
        f"0.100, got {shown(turned[3], 3)}",
    )


def test_gradient_rotary(apply_rotary):
    """The gradient is turned back by the same angle."""
    x = Tensor(np.tile([1.0, 0.0], (2, 1)), requires_grad=True)
    out = apply_rotary(x)
    has_graph("apply_rotary", out)
    out.backward(np.tile(np.float32([1.0, 0.0]), (2, 1)))
    require(x.grad is not None, "The gradient should reach the input of apply_rotary, got None")
    expected = [np.cos(1), -np.sin(1)]
    require(
        np.allclose(x.grad[1], expected, atol=1e-4),
        "A gradient of (1, 0) at position 1 should be turned back to "
        f"{_listed(expected)}; got {_listed(x.grad[1])}",
    )


def test_shapes_rotary(apply_rotary):
    """With batch and heads in front; the input stays as it was."""
    rng = np.random.default_rng(0)
    for shape in ((5, 4), (2, 3, 6), (2, 5, 5, 8)):
        before = rng.normal(size=shape)
        turned = _turned(apply_rotary, before)
        close(
            f"For x of shape {shape} the rows along the second-to-last axis should be turned",
            turned,
            _expected(before, np.arange(shape[-2])),
        )


def _turned(apply_rotary, values) -> np.ndarray:
    x = Tensor(values.copy())
    before = x.data.copy()
    turned = tensor_of("apply_rotary", apply_rotary(x), values.shape)
    require(
        np.array_equal(x.data, before),
        "apply_rotary should leave its input as it was; it changed it",
    )
    return turned


def _expected(x, positions, base=10_000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    pairs = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def _listed(row) -> str:
    return ", ".join(shown(value, 3) for value in row)
