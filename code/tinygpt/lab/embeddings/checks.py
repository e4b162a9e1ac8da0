"""Checks of the table: looking up, its gradient, and which rows are near."""

import contextlib

import numpy as np

from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.measures import close, has_graph, shown, tensor_of
from tinygpt.scratch import Tensor

# ---- embedding_lookup ---------------------------------------------------------------------------


def test_unit_embedding_lookup(embedding):
    """Three rows of two numbers; the ids 2, 0, 2; gradients of 1, 10 and 100."""
    weight = _Table([[1, 2], [3, 4], [5, 6], [7, 8]], requires_grad=True)
    before = weight.data.copy()
    out = embedding(weight, np.array([2, 0, 2]))
    rows = tensor_of("embedding", out, (3, 2))
    require(
        np.array_equal(rows, [[5, 6], [1, 2], [5, 6]]),
        "In a table with the rows 1 2, 3 4, 5 6 and 7 8 the ids 2, 0, 2 should give 5 6, 1 2, "
        f"5 6; got {_rows(rows)}",
    )
    has_graph("embedding", out)
    out.backward(np.array([[1, 1], [10, 10], [100, 100]], dtype=np.float32))
    require(
        np.array_equal(weight.data, before),
        "backward should fill the gradient and leave the table to the optimizer; it changed the "
        "table",
    )
    grad = _gradient(weight, (4, 2))
    require(
        grad[2, 0] == 101,
        "Id 2 was looked up twice, with gradients of 1 and 100, so its row should get 101.00, "
        f"got {shown(grad[2, 0])}",
    )
    require(
        grad[0, 0] == 10 and grad[1, 0] == 0,
        "Id 0 was looked up once, with a gradient of 10, and id 1 never: their rows should get "
        f"10.00 and 0.00, got {shown(grad[0, 0])} and {shown(grad[1, 0])}",
    )
    close(
        "Each feature should get its own gradient",
        grad,
        np.array([[10] * 2, [0] * 2, [101] * 2, [0] * 2]),
    )


def test_twice_embedding_lookup(embedding):
    """A table that is used twice in one loss gets both gradients."""
    weight = Tensor(np.zeros((3, 2)), requires_grad=True)
    total = embedding(weight, np.array([0, 1])) + embedding(weight, np.array([1, 2])) * 10.0
    total.sum().backward()
    found = _gradient(weight)[1, 0]
    require(
        found == 11,
        "A table that is used twice should get both gradients, 1 and 10, together 11.00; got "
        f"{shown(found)}",
    )


def test_shapes_embedding_lookup(embedding):
    """Ids of every shape; nothing but the gradient changes; ids that are not in the table."""
    rng = np.random.default_rng(0)
    for shape in ((4,), (2, 3), (2, 3, 4), ()):
        weight = Tensor(rng.normal(size=(5, 3)), requires_grad=True)
        ids, before = rng.integers(0, 5, size=shape), weight.data.copy()
        kept = np.copy(ids)
        out = embedding(weight, ids)
        rows = tensor_of(f"embedding for ids of shape {shape}", out, (*shape, 3))
        close(f"For ids of shape {shape} the rows are wrong", rows, before[ids])
        upstream = rng.normal(size=(*shape, 3)).astype(np.float32)
        expected = np.zeros((5, 3))
        np.add.at(expected, np.reshape(ids, -1), upstream.reshape(-1, 3))
        out.backward(upstream)
        close(
            f"For ids of shape {shape} the gradient is wrong", _gradient(weight, (5, 3)), expected
        )
        require(
            np.array_equal(weight.data, before) and np.array_equal(ids, kept),
            "embedding should leave the table and the ids as they were; it changed them",
        )
    for wrong, what in ((-1, "the last row"), (5, "a row")):
        with contextlib.suppress(ValueError):
            try:
                embedding(Tensor(np.ones((5, 3)), requires_grad=True), np.array([0, wrong]))
            except IndexError:
                what = "NumPy's IndexError"
            raise CheckFailed(
                f"In a table of 5 rows the id {wrong} should raise a ValueError, got {what}"
            )


def _gradient(weight, shape=(3, 2)) -> np.ndarray:
    require(weight.grad is not None, "After backward the table should have a gradient, got None")
    require(
        weight.grad.shape == shape,
        f"The gradient should have the shape of the table, {shape}, got {weight.grad.shape}",
    )
    return weight.grad


class _Table(Tensor):
    """A table that refuses what would have the engine write the gradient."""

    def __getitem__(self, index):
        raise CheckFailed(
            "embedding should write its own gradient; it indexes the Tensor, which brings one"
        )

    def __matmul__(self, other):
        raise CheckFailed(
            "embedding should write its own gradient; it multiplies by the Tensor, which brings one"
        )

    __rmatmul__ = __matmul__

    def __iter__(self):
        raise CheckFailed(
            "Tensor.from_operation should get the parents as a tuple, (weight,), got weight itself"
        )

    def accumulate(self, grad):
        require(
            np.shape(grad) == self.shape,
            "weight.accumulate should get an array of the shape of the table, "
            f"{self.shape}, got {np.shape(grad)}",
        )
        super().accumulate(grad)


def _rows(rows) -> str:
    return ", ".join(" ".join(f"{value:g}" for value in row) for row in rows)


# ---- nearest_rows -------------------------------------------------------------------------------


def test_unit_nearest_rows(nearest_rows):
    """Five arrows in the plane, of different lengths."""
    table = np.array([[1.0, 0.0], [2.0, 1.0], [10.0, 10.0], [6.0, 0.0], [-1.0, 0.0]])
    found = _found(nearest_rows(table.copy(), 0, 2), 2)
    require(
        found == [3, 1],
        "Of the rows (1, 0), (2, 1), (10, 10), (6, 0) and (-1, 0) the two nearest to row 0 should "
        f"be [3, 1], got {found}",
    )


def test_zeros_nearest_rows(nearest_rows):
    """A row of zeros has the cosine 0: behind an acute angle, before an obtuse one."""
    table = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [-1.0, -2.0]])
    with np.errstate(all="ignore"):
        found = _found(nearest_rows(table, 0, 3), 3)
    require(
        found == [2, 1, 3],
        "A row of zeros counts as a cosine of 0; of (1, 1), (0, 0), (1, 0) and (-1, -2) the three "
        f"nearest to row 0 should be [2, 1, 3], got {found}",
    )


def test_opposite_nearest_rows(nearest_rows):
    """The row itself is left out even where another has the cosine -1, on either side of it."""
    table = np.array([[3.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    for row, rows, expected in ((0, table, [1, 2]), (2, table[::-1], [1, 0])):
        found = _found(nearest_rows(rows.copy(), row, 2), 2)
        require(
            found == expected,
            f"Of the rows {', '.join(f'({x:g}, {y:g})' for x, y in rows)} the two nearest to row "
            f"{row} should be {expected}, got {found}",
        )


def test_random_nearest_rows(nearest_rows):
    """Other sizes; the table stays as it is."""
    rng = np.random.default_rng(0)
    for size, width, k in ((6, 3, 5), (40, 8, 4), (40, 1, 1), (2000, 4, 1000)):
        table = rng.normal(size=(size, width)) * rng.uniform(0.1, 9, size=(size, 1))
        before, row = table.copy(), int(rng.integers(size))
        found = _found(nearest_rows(table, row, k), k)
        require(
            np.array_equal(table, before),
            "nearest_rows should leave the table as it was; it changed it",
        )
        unit = before / np.linalg.norm(before, axis=1, keepdims=True)
        cosines = np.delete(unit @ unit[row], row)
        best = np.sort(cosines)[::-1][:k]
        given = (unit @ unit[row])[found]
        require(
            row in found or np.allclose(given, best) or not np.allclose(sorted(given), best[::-1]),
            f"In a random table of {size} rows the {k} nearest are the right ones in the wrong "
            "order; the largest cosine should come first",
        )
        require(
            row not in found and np.allclose(given, best),
            f"In a random table of {size} rows the {k} nearest are not those with the largest "
            "cosines",
        )


def _found(rows, k) -> list[int]:
    require(
        isinstance(rows, np.ndarray),
        f"nearest_rows should return a NumPy array, got {type(rows).__name__}",
    )
    require(
        rows.shape == (k,), f"nearest_rows should return {k} row numbers, got shape {rows.shape}"
    )
    require(rows.dtype.kind in "iu", f"Row numbers should be integers, got {rows.dtype}")
    return rows.tolist()
