"""Checks on graphs and arrays drawn at random: other shapes, types, orders in memory and sizes."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Value

# ---- graphs of single numbers -------------------------------------------------------------------


def test_drawn_topological_order(topological_order):
    """Graphs of any form, with up to four parents a number; no number is changed."""
    for case in cases(11, 6, size=range(2, 26)):
        nodes = _graph(case)
        before = _contents(nodes)
        order = list(topological_order(nodes[-1]))
        places = {id(node): place for place, node in enumerate(order)}
        wanted = {id(node) for node in _behind(nodes[-1])}
        found = f"in a drawn graph of {len(wanted)} numbers"
        require(
            len(order) == len(wanted) and set(places) == wanted,
            f"Each number behind the result should come once {found}; the list has {len(order)}",
        )
        late = [
            node
            for node in order
            for parent in node.parents
            if places.get(id(parent), -1) >= places[id(node)]
        ]
        require(not late, f"Each number should come after all of its parents {found}; one does not")
        require(places[id(nodes[-1])] == len(order) - 1, f"The result should come last {found}")
        _unchanged("topological_order", nodes, before)


def test_drawn_backward(backward):
    """The derivatives of graphs of any form; nothing but `.grad` changes."""
    for case in cases(12, 6, size=range(2, 26)):
        nodes = _graph(case)
        before = _contents(nodes)
        backward(nodes[-1])
        size = len(nodes)
        slopes, place = np.zeros((size, size)), {id(node): i for i, node in enumerate(nodes)}
        for node in nodes:
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                slopes[place[id(node)], place[id(parent)]] += slope
        # Paths of any length: 1 + A + A² + ... = (1 - A)⁻¹.
        expected = np.linalg.inv(np.eye(size) - slopes)[-1]
        for node in _behind(nodes[-1]):
            wanted = expected[place[id(node)]]
            require(
                abs(node.grad - wanted) <= 1e-8 * max(1.0, abs(wanted)),
                f"In a drawn graph of {size} numbers the gradient of one should be "
                f"{shown(wanted, 4)}, got {shown(node.grad, 4)}",
            )
        _unchanged("backward", nodes, before, grads=False)


def _graph(case) -> list[Value]:
    """Numbers of which each is made of up to four earlier ones, one of them perhaps twice.

    The last is made of all that no other is made of: every number is behind it.
    """
    nodes = []
    for number in range(case.size):
        count = int(case.rng.integers(5)) if nodes else 0
        parents = [nodes[int(case.rng.integers(number))] for _ in range(count)]
        if number == case.size - 1:
            used = {id(parent) for node in nodes for parent in node.parents}
            parents = [node for node in nodes if id(node) not in used]
        slopes = tuple(float(slope) for slope in case.rng.standard_normal(len(parents)))
        node = Value(float(case.rng.integers(-2, 3)), tuple(parents), slopes)
        node.grad = float(case.rng.integers(1, 9))
        nodes.append(node)
    return nodes


def _behind(result: Value) -> list[Value]:
    found, waiting = {}, [result]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(node.parents)
    return list(found.values())


def _contents(nodes) -> list[tuple]:
    return [(n.data, tuple(map(id, n.parents)), tuple(n.slopes), n.grad) for n in nodes]


def _unchanged(symbol, nodes, before, grads=True):
    last = None if grads else 3
    same = all(a[:last] == b[:last] for a, b in zip(_contents(nodes), before, strict=True))
    require(same, f"{symbol} should leave the numbers of the graph as they were; it changed one")


# ---- whole arrays -------------------------------------------------------------------------------

_TYPES = (np.float64, np.float32)


def test_drawn_unbroadcast(unbroadcast):
    """Up to five axes, some of length 1 or none, of both types; to the last digits."""
    for case in cases(13, 12, axes=range(6), dtype=_TYPES):
        full = tuple(int(n) for n in case.rng.choice([0, 1, 2, 3, 4], case.axes, p=_LENGTHS))
        shape = _copied(case, full)
        grad = case.numbers(*full, dtype=case.dtype)
        with undisturbed("unbroadcast", grad=grad):
            found = np.asarray(unbroadcast(grad, shape))
        what = f"The gradient of shape {full}, of {case.dtype.__name__}, summed to {shape}"
        _agree(what, found, _summed(grad, shape), case.dtype)


def test_drawn_matmul_backward(matmul_backward):
    """Sizes from 1 on, up to two batch axes on either side, of both types; to the last digits."""
    for case in cases(14, 12, axes=range(3), m=range(1, 5), k=range(1, 6), n=range(1, 4)):
        dtype = _TYPES[int(case.rng.integers(2))]
        batch = tuple(int(n) for n in case.rng.integers(1, 4, case.axes))
        left, right = _copied(case, batch), _copied(case, batch)
        a = case.numbers(*left, case.m, case.k, dtype=dtype)
        b = case.numbers(*right, case.k, case.n, dtype=dtype)
        grad = case.numbers(*np.broadcast_shapes(left, right), case.m, case.n, dtype=dtype)
        with undisturbed("matmul_backward", grad=grad, a=a, b=b):
            da, db = matmul_backward(grad, a, b)
        for name, found, product, factor in (
            ("da", da, np.einsum("...mn,...kn->...mk", grad, b), a),
            ("db", db, np.einsum("...mk,...mn->...kn", a, grad), b),
        ):
            full = np.broadcast_shapes(product.shape, factor.shape)
            expected = _summed(np.broadcast_to(product, full), factor.shape)
            what = f"For {a.shape} @ {b.shape}, of {dtype.__name__}, {name}"
            _agree(what, np.asarray(found), expected, dtype)


def test_drawn_numerical_gradient(numerical_gradient):
    """Floats and integers of every size, in any order in memory; the result is of float64."""
    types = (np.float64, np.uint8, np.float32, np.int8, np.float16, np.int64)
    for case in cases(15, 12, dtype=types, order=("C", "F"), axes=range(4)):
        shape = tuple(int(n) for n in case.rng.integers(1, 4, case.axes))
        x = np.asarray(case.integers(0, 100, *shape).astype(case.dtype), order=case.order)
        factors = case.numbers(*shape)

        def function(values, factors=factors):
            values = np.asarray(values, dtype=np.float64)
            return float((factors * values**2).sum() + np.sin(values).sum())

        with undisturbed("numerical_gradient", x=x):
            found = numerical_gradient(function, x)
        what = f"The gradient at x of shape {shape}, of {case.dtype.__name__}"
        expected = 2 * factors * x.astype(np.float64) + np.cos(x.astype(np.float64))
        require(
            np.shape(found) == shape and np.abs(found - expected).max(initial=0.0) < 1e-3,
            f"{what}, should be that of the formula; it is not",
        )
        kind = getattr(found, "dtype", type(found).__name__)
        require(kind == np.float64, f"{what}, should be of float64, got {kind}")
    seen = []
    numerical_gradient(lambda x: seen.append(float(np.ravel(x)[0])) or 0.0, np.zeros(1))
    require(
        sorted(seen)[:: max(1, len(seen) - 1)] == [-1e-5, 1e-5],
        "Without eps an element of 0 should be nudged to 1e-05 and -1e-05, got "
        f"{', '.join(f'{value:g}' for value in seen)}",
    )


_LENGTHS = (0.05, 0.2, 0.25, 0.25, 0.25)


def _copied(case, full: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to this one."""
    shape = tuple(n if case.rng.random() < 0.5 else 1 for n in full)
    return shape[int(case.rng.integers(len(shape) + 1)) :]


def _summed(grad, shape) -> np.ndarray:
    """The sum over the copies of each element, which `bincount` tells by their number."""
    size = int(np.prod(shape))
    copies = np.broadcast_to(np.arange(size).reshape(shape), grad.shape)
    sums = np.bincount(copies.reshape(-1), grad.reshape(-1).astype(np.float64), size)
    return sums.reshape(shape)


def _agree(what, found, expected, dtype):
    require(
        found.shape == expected.shape,
        f"{what} should have the shape {expected.shape}, got {found.shape}",
    )
    difference = np.abs(found - expected).max(initial=0.0)
    limit = 1e-10 if dtype == np.float64 else 1e-4
    require(
        difference <= limit, f"{what} should be exact to {limit:g}, it is off by {difference:.2g}"
    )
