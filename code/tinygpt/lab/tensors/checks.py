"""Checks of the walk through a graph of single numbers.

The numbers in messages can be worked out on paper.
"""

from tinygpt.lab.definitions import CheckFailed, kind_of, require
from tinygpt.lab.measures import shown
from tinygpt.scratch import Value

# ---- topological order --------------------------------------------------------------------------


def test_unit_topological_order(topological_order):
    """Each number behind y = w x + b once, after its parents, and y last."""
    w, x, b = Value(2.0), Value(3.0), Value(1.0)
    wx = w * x
    y = wx + b
    _in_order(topological_order, y, {"w": w, "x": x, "b": b, "w x": wx, "y": y})


def test_shared_topological_order(topological_order):
    """Numbers that are used twice, by later numbers too, and numbers that are equal."""
    e = Value(2.0)
    square = e * e
    _in_order(topological_order, square, {"e": e, "e²": square})
    x = Value(2.0)
    p = x * Value(3.0)
    q = p * p
    r = p + q  # q is an ancestor beside p, and needs p first
    _in_order(topological_order, r, {"x": x, "p": p, "q": q, "r": r})
    a, c = Value(1.0), Value(1.0)
    total = a + c
    _in_order(topological_order, total, {"a": a, "c": c, "a + c": total})
    _in_order(topological_order, a, {"a": a})
    s = q + p  # the same graph, with its last two parents in the other order
    _in_order(topological_order, s, {"x": x, "p": p, "q": q, "s": s})


def test_work_topological_order(topological_order):
    """Each number is looked at once, however many paths lead to it, and at any depth."""
    _few_visits("topological_order", topological_order)
    _deep("topological_order", topological_order)


def _in_order(topological_order, result, named):
    order = topological_order(result)
    kind = kind_of(order)
    require(isinstance(order, list), f"topological_order should return a list, got {kind}")
    strange = [type(node).__name__ for node in order if not isinstance(node, Value)]
    require(not strange, f"The list should hold Values, got {', '.join(strange[:1])}")
    names = {id(node): name for name, node in named.items()}
    found = ", ".join(names.get(id(node), f"{node.data:g}") for node in order)
    for name, node in named.items():
        count = sum(other is node for other in order)
        require(count > 0, f"{name} is missing from the order, which is: {found or 'empty'}")
        require(count == 1, f"Each number should come once; {name} comes {count} times")
    places = {id(node): place for place, node in enumerate(order)}
    for name, node in named.items():
        for parent in node.parents:
            above = names.get(id(parent), f"{parent.data:g}")
            require(id(parent) in places, f"{above} is missing from the order, which is: {found}")
            require(
                places[id(parent)] < places[id(node)],
                f"{name} should come after {above}, from which it was computed; the order is: "
                f"{found}",
            )


# ---- backward -----------------------------------------------------------------------------------


def test_unit_backward(backward):
    """L = (w x + b - 4)² at w = 2, x = 3, b = 1: the gradients are 18, 12 and 6."""
    w, x, b = Value(2.0), Value(3.0), Value(1.0)
    e = w * x + b - 4.0
    loss = _WithoutBackward(e.data * e.data, (e, e), (e.data, e.data), "*")
    backward(loss)
    _gradient("L itself", loss, 1)
    _gradient("e, which L uses twice,", e, 6)
    _gradient("b", b, 6)
    _gradient("w", w, 18)
    _gradient("x", x, 12)


def test_shared_backward(backward):
    """A number is passed on only when all that use it have added their part."""
    x = Value(3.0)
    h = x * 2.0
    y = h + h * h  # dy/dh = 1 + 2 h = 13
    backward(y)
    _gradient("h in y = h + h²", h, 13)
    _gradient("x in y = h + h² with h = 2 x", x, 26)
    x = Value(3.0)
    h = x * 2.0
    backward(h * h + h)
    _gradient("x in y = h² + h with h = 2 x", x, 26)
    x = Value(3.0)
    backward(x - x)
    _gradient("x in y = x - x", x, 0)


def test_again_backward(backward):
    """A second call finds the same gradients as the first; so does another result."""
    x = Value(3.0)
    h = x * 2.0
    y = h * h
    backward(y)
    backward(y)
    _gradient("x after a second call", x, 24)
    backward(h)
    _gradient("x in h = 2 x, after a call for h²,", x, 2)


def test_work_backward(backward):
    """Each number is looked at once, however many paths lead to it, and at any depth."""
    _few_visits("backward", backward)
    _deep("backward", backward)


class _WithoutBackward(Value):
    """A Value without the walk that is to be written."""

    def backward(self):
        raise CheckFailed(
            "backward should set the gradients itself, got a call of result.backward()"
        )


def _gradient(what, node, expected):
    require(
        isinstance(node.grad, (int, float)),
        f"The gradient of {what} should be a number, got {type(node.grad).__name__}",
    )
    require(
        abs(node.grad - expected) < 1e-6,
        f"The gradient of {what} should be {shown(expected)}, got {shown(node.grad)}",
    )


# ---- both ---------------------------------------------------------------------------------------


class _Counted(Value):
    """A Value that counts how often its parents are asked for."""

    asked = 0

    @property
    def parents(self):
        type(self).asked += 1
        return Value.parents.__get__(self)

    @parents.setter
    def parents(self, parents):
        Value.parents.__set__(self, parents)


def _few_visits(symbol, function):
    """Twelve doublings have 13 numbers and 4,096 paths."""
    kind = type("Counted", (_Counted,), {"asked": 0})
    y = kind(1.0)
    for _ in range(12):
        y = kind(2 * y.data, (y, y), (1.0, 1.0), "+")
    function(y)
    require(
        kind.asked <= 100,
        f"In 12 doublings of a number {symbol} should look at each of 13 numbers once or a few "
        f"times, got {kind.asked:,} looks",
    )


def _deep(symbol, function):
    x = total = Value(1.0)
    for _ in range(5_000):
        total = total + x
    try:
        function(total)
    except RecursionError:
        deep = False
    else:
        deep = True
    require(deep, f"{symbol} of a sum of 5,000 terms should not need functions nested as deeply")
