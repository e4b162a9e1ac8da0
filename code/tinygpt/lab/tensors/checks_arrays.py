"""Checks of the backward steps of whole arrays, and of gradients by nudging."""

import numpy as np

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import close, shown

# ---- unbroadcast --------------------------------------------------------------------------------


def test_unit_unbroadcast(unbroadcast):
    """A row added to four rows gets the sum down its columns; a column the sum of its rows."""
    grad = np.arange(12.0).reshape(4, 3)
    _summed(unbroadcast, grad, (3,), [18, 22, 26])
    _summed(unbroadcast, grad, (4, 1), [[3], [12], [21], [30]])
    _summed(unbroadcast, grad, (1, 3), [[18, 22, 26]])
    _summed(unbroadcast, grad, (), 66)
    _summed(unbroadcast, grad, (4, 3), grad.tolist())


def test_shapes_unbroadcast(unbroadcast):
    """New axes in front and stretched ones at once; the sum of products stays what it was."""
    rng = np.random.default_rng(0)
    for shape, to in [
        ((3, 1), (2, 3, 4)),
        ((1,), (5,)),
        ((1, 1), (2, 3)),
        ((2, 1, 4), (2, 3, 4)),
        ((1, 3), (1, 3)),
        ((3, 3), (3, 3, 3)),
        ((3,), (0, 3)),
        ((4,), (2, 3, 5, 4)),
    ]:
        grad, x = rng.integers(-3, 4, to).astype(float), rng.integers(-3, 4, shape).astype(float)
        kept = grad.copy()
        found = _array(
            "unbroadcast", unbroadcast(grad, shape), shape, f"for a gradient of shape {to}"
        )
        require(np.array_equal(grad, kept), "unbroadcast should leave grad as it was")
        # Copying and summing are each other's transpose: <grad, copies of x> = <sums, x>.
        expected, got = (grad * np.broadcast_to(x, to)).sum(), (found * x).sum()
        require(
            abs(expected - got) < 1e-6,
            f"From {to} to {shape} each element should get the sum over its copies; weighted by "
            f"x the sums should add up to {shown(expected)}, got {shown(got)}",
        )


def _summed(unbroadcast, grad, shape, expected):
    found = unbroadcast(grad.copy(), shape)
    found = _array("unbroadcast", found, shape, f"for a gradient of shape {grad.shape}")
    require(
        np.abs(found - np.array(expected)).max() < 1e-6,
        f"Of the gradient {_listed(grad)} the shape {shape} should get {_listed(expected)}, "
        f"got {_listed(found)}",
    )


# ---- matmul_backward ----------------------------------------------------------------------------


def test_unit_matmul_backward(matmul_backward):
    """Only c[0, 0] counts: it is row 0 of a times column 0 of b."""
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    grad = np.array([[1.0, 0.0], [0.0, 0.0]])
    da, db = _pair(matmul_backward, grad, a, b)
    for name, found, expected in (("da", da, [[5, 7], [0, 0]]), ("db", db, [[1, 0], [2, 0]])):
        require(
            np.abs(found - expected).max() < 1e-6,
            "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
            f"{name} = {_listed(expected)}, got {_listed(found)}",
        )


def test_shapes_matmul_backward(matmul_backward):
    """Matrices that are not square, by the directional derivative."""
    for m, k, n in ((2, 3, 4), (1, 5, 1), (4, 1, 2)):
        _directional(matmul_backward, (m, k), (k, n))


def test_batches_matmul_backward(matmul_backward):
    """Leading axes stay in place; a factor that all share gets the sum over them."""
    for left, right in (
        ((2, 2, 2), (2, 2, 2)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 2, 2), (2, 2)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (1, 6, 3, 4)),
    ):
        _directional(matmul_backward, left, right)


def _directional(matmul_backward, left, right):
    """<grad, da' b + a db'> = <da, da'> + <db, db'> for any directions da' and db'."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, left).astype(float), rng.integers(-3, 4, right).astype(float)
    grad = rng.integers(-3, 4, (a @ b).shape).astype(float)
    da, db = _pair(matmul_backward, grad, a, b)
    for name, factor, found in (("a", a, da), ("b", b, db)):
        direction = rng.integers(-3, 4, factor.shape).astype(float)
        change = direction @ b if name == "a" else a @ direction
        expected, got = (grad * change).sum(), (found * direction).sum()
        require(
            abs(expected - got) < 1e-6,
            f"For shapes {left} @ {right} a step of {name} should change the loss by "
            f"{shown(expected)}, by d{name} it is {shown(got)}",
        )


def _pair(matmul_backward, grad, a, b):
    kept = [x.copy() for x in (grad, a, b)]
    found = matmul_backward(grad, a, b)
    kind = kind_of(found)
    is_pair = isinstance(found, (tuple, list)) and len(found) == 2
    require(is_pair, f"matmul_backward should return two arrays, da and db, got {kind}")
    same = all(np.array_equal(x, y) for x, y in zip((grad, a, b), kept, strict=True))
    require(same, "matmul_backward should leave its arguments as they were")
    what = f"for {a.shape} @ {b.shape}"
    da = _array("matmul_backward", found[0], a.shape, f"as da {what}")
    return da, _array("matmul_backward", found[1], b.shape, f"as db {what}")


# ---- numerical_gradient -------------------------------------------------------------------------


def test_unit_numerical_gradient(numerical_gradient):
    """Of x³ with a nudge of 0.1, exactly 3 x² + 0.01; then of x₀² x₁, one element at a time."""
    found = numerical_gradient(lambda x: (x**3).sum(), np.array([1.0, 2.0]), eps=0.1)
    found = _array("numerical_gradient", found, (2,), "for x of shape (2,)")
    require(
        np.abs(found - [3.01, 12.01]).max() < 1e-3,
        "Of the sum of x³ at [1, 2] with eps=0.1 central differences should give "
        f"[3.01, 12.01], got {_listed(found)}",
    )
    found = numerical_gradient(lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]), eps=0.1)
    require(
        np.abs(found - np.array([4, 1])).max() < 1e-3,
        f"Of x[0]² x[1] at [1, 2] with eps=0.1 they should give [4, 1], got {_listed(found)}",
    )


def test_inputs_numerical_gradient(numerical_gradient):
    """float32 and integers are nudged in float64; x is left alone; eps is 1e-5 by default."""
    x = np.array([0.7])
    numerical_gradient(np.sum, x)
    now = float(x[0])
    require(now == 0.7, f"x should be left as it was; before it was 0.7, afterwards it is {now}")
    for kind, value in ((np.float32, 1000), (np.int64, 3)):
        square = lambda x: (np.asarray(x, np.float64) ** 2).sum()  # noqa: E731
        found = numerical_gradient(square, np.array([value], dtype=kind))
        found = float(_array("numerical_gradient", found, (1,), "for x of shape (1,)")[0])
        require(
            abs(found - 2 * value) < 1e-3,
            f"The gradient of x² at {value}, given in {kind.__name__}, should be "
            f"{shown(2 * value)}, got {shown(found)}",
        )
    error = float(numerical_gradient(lambda x: (x**3).sum(), np.array([1.0]))[0]) - 3
    require(abs(error) < 1e-8, f"With the default eps the error for x³ should be tiny, got {error}")


def test_shapes_numerical_gradient(numerical_gradient):
    """Any shape, the shape of x each time the function is called, and two calls an element."""
    for shape in ((2, 3), (), (0,), (2, 1, 2)):
        x = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
        seen = []

        def function(x, seen=seen):
            seen.append(np.shape(x))
            return np.sin(x).sum()

        found = numerical_gradient(function, x)
        found = _array("numerical_gradient", found, shape, f"for x of shape {shape}")
        what = f"For x of shape {shape} the gradient of the sum of sin x is cos x"
        close(what, found, np.asarray(np.cos(x)), 1e-6)
        other = [s for s in seen if s != shape]
        require(not other, f"The function should get arrays of shape {shape}, got {other[:1]}")
        most = 2 * x.size + 1
        require(
            len(seen) <= most,
            f"For {x.size} elements the function should be called at most {most} times, got "
            f"{len(seen)}",
        )


# ---- all ----------------------------------------------------------------------------------------


def _array(symbol, value, shape, when):
    is_array = isinstance(value, (np.ndarray, np.floating))
    kind = kind_of(value)
    require(is_array, f"{symbol} should return a NumPy array {when}, got {kind}")
    value = np.asarray(value)
    require(
        value.shape == shape,
        f"{symbol} should return the shape {shape} {when}, got {value.shape}",
    )
    return value


def _listed(values) -> str:
    values = np.asarray(values, dtype=float)
    if values.ndim == 0:
        return f"{float(values) + 0.0:.6g}"
    return f"[{', '.join(_listed(value) for value in values)}]"
