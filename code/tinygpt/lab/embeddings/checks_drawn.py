"""Checks on tables, ids and positions drawn at random: other sizes, types, bases and places."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Tensor

_TYPES = (np.float64, np.float32)

# ---- the table ----------------------------------------------------------------------------------


def test_drawn_embedding_lookup(embedding):
    """Tables of any size, ids of every integer type and of up to three axes; to the last digits."""
    kinds = (np.uint8, np.int64, np.uint16, np.int32)
    for case in cases(51, 12, rows=(300, 1, 7), width=range(1, 6), kind=kinds, dtype=_TYPES):
        weight = Tensor(
            case.numbers(case.rows, case.width, dtype=case.dtype),
            requires_grad=True,
            dtype=case.dtype,
        )
        shape = tuple(int(n) for n in case.rng.integers(1, 5, int(case.rng.integers(4))))
        limit = min(256, case.rows) if case.kind == np.uint8 else case.rows
        ids = case.integers(0, limit, *shape, dtype=case.kind)
        ids.reshape(-1)[0] = limit - 1
        what = (
            f"In a table of {case.rows} rows of {case.dtype.__name__} ids of "
            f"{case.kind.__name__}, of shape {shape},"
        )
        with undisturbed("embedding", table=weight, ids=ids):
            out = embedding(weight, ids)
        require(
            out.shape == (*shape, case.width) and np.array_equal(out.data, weight.data[ids]),
            f"{what} should give their rows, exactly; they do not",
        )
        upstream = case.numbers(*shape, case.width, dtype=case.dtype)
        weight.grad = np.ones_like(weight.data)  # what another part of a larger loss has left
        with undisturbed("embedding", gradient=upstream, ids=ids):
            out.backward(upstream)
        expected = np.ones((case.rows, case.width))
        np.add.at(expected, ids.reshape(-1), upstream.reshape(-1, case.width))
        difference = float(np.abs(weight.grad - expected).max())
        require(
            difference < (1e-10 if case.dtype == np.float64 else 1e-4),
            f"{what} should add their gradients to their rows; it is off by {difference:.2g}",
        )


def test_drawn_nearest_rows(nearest_rows):
    """Tables of any type and scale, with rows of zeros, copies and opposites; any row, any k."""
    kinds, scales = (np.int64, np.float64, np.float32), (1e-3, 1e3, 1.0)
    for case in cases(52, 14, rows=(2, 60, 3, 9), width=range(1, 6), kind=kinds, scale=scales):
        size = 5.0 if case.kind == np.int64 else case.scale
        table = case.numbers(case.rows, case.width, size=size).astype(case.kind)
        row = int(case.rng.integers(case.rows))
        table[row, 0] = size * 1.5
        for place in case.rng.permutation(case.rows)[: case.rows // 3]:
            if place != row:
                table[place] = table[row] * int(case.rng.choice([0, 0, 2, -1]))
        k = int(case.rng.integers(1, case.rows))
        exact = table.astype(np.float64)
        lengths = np.linalg.norm(exact, axis=1)
        lengths[lengths == 0] = 1
        cosines = exact @ exact[row] / lengths / lengths[row]
        with undisturbed("nearest_rows", table=table):
            found = np.asarray(nearest_rows(table, row, k)).tolist()
        wanted = np.sort(np.delete(cosines, row))[::-1][:k]
        what = f"Of {case.rows} rows of {case.kind.__name__}, of length about {size:g},"
        require(
            len(set(found)) == k and row not in found,
            f"{what} the {k} nearest to row {row} should be {k} others, got {found}",
        )
        require(
            np.allclose(cosines[found], wanted, atol=1e-5),
            f"{what} the {k} nearest to row {row} should be those with the largest cosines, the "
            f"largest first; got {found}",
        )


# ---- positions ----------------------------------------------------------------------------------


def test_drawn_sinusoidal(sinusoidal_positions):
    """Long tables and narrow ones, with any base."""
    for case in cases(53, 8, rows=(1, 3000, 2, 40), pairs=(1, 40, 3), base=(10_000.0, 7.0, 500.0)):
        dim = 2 * case.pairs
        found = sinusoidal_positions(case.rows, dim, case.base)
        theta = case.base ** (-2 * np.arange(case.pairs) / dim)
        turned = np.exp(1j * np.arange(case.rows)[:, None] * theta)
        expected = np.stack([turned.imag, turned.real], axis=-1).reshape(case.rows, dim)
        what = f"The table of {case.rows} positions and {dim} features with base {case.base:g}"
        require(
            np.shape(found) == expected.shape and np.abs(found - expected).max() < 2e-3,
            f"{what} should hold the sines and cosines of the formula; it does not",
        )


def test_drawn_rotary(apply_rotary):
    """Any positions of every integer type, any base and axes in front; and all gradients."""
    kinds = (np.int64, np.uint8, np.int32, None)
    for case in cases(
        54, 12, length=range(1, 8), pairs=range(1, 6), axes=range(3), kind=kinds, dtype=_TYPES
    ):
        shape = (
            *(int(n) for n in case.rng.integers(1, 4, case.axes)),
            case.length,
            2 * case.pairs,
        )
        values = case.numbers(*shape, dtype=case.dtype)
        x = Tensor(values, requires_grad=True, dtype=case.dtype)
        base = float(case.rng.choice([10_000.0, 100.0, 3.0]))
        positions, places = None, np.arange(case.length)
        if case.kind is not None:
            positions = case.integers(0, 120, case.length, dtype=case.kind)
            places = positions.astype(np.int64)
        with undisturbed("apply_rotary", input=x, positions=positions):
            out = apply_rotary(x, positions, base)
        theta = base ** (-np.arange(case.pairs) / case.pairs)
        turn = np.exp(1j * places[:, None] * theta)
        given = "no positions" if positions is None else f"positions {positions.tolist()}"
        what = f"For x of shape {shape}, of {case.dtype.__name__}, with {given} and base {base:g}"
        limit = 1e-9 if case.dtype == np.float64 else 1e-3
        difference = float(np.abs(out.data - _times(values, turn)).max())
        require(
            out.shape == shape and difference < limit,
            f"{what} each pair should be turned by its angle; it is off by {difference:.2g}",
        )
        upstream = case.numbers(*shape, dtype=case.dtype)
        x.grad = np.ones_like(values)  # what another part of a larger loss has left there
        with undisturbed("apply_rotary", gradient=upstream):
            out.backward(upstream)
        difference = float(np.abs(x.grad - 1 - _times(upstream, turn.conj())).max())
        require(
            difference < limit,
            f"{what} each gradient should be turned back, and added to what is there; it is off "
            f"by {difference:.2g}",
        )


def _times(x, turn) -> np.ndarray:
    half = x.shape[-1] // 2
    pairs = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([pairs.real, pairs.imag], axis=-1)
