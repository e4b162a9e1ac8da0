"""A single number that remembers how it was computed: the smallest engine that differentiates.

Every edge of the graph carries its slope as a number, so that the chain rule can be read off:
along a path slopes multiply, over paths they add. `Tensor` does the same for whole arrays.

Source: Griewank and Walther (2008), Evaluating Derivatives, chapter 3 (reverse mode).
"""

import math

from tinygpt.validate import instance, number


class Value:
    """A number with the numbers it was computed from.

    Args:
        data: the number.
        parents, slopes: the Values it was computed from; its derivative with respect to each.
        operation: a name for pictures, "" for a number that was given.

    Attributes:
        grad: the derivative of a later result with respect to this number, after that
            result's `backward`.
    """

    __slots__ = ("data", "grad", "operation", "parents", "slopes")

    def __init__(self, data, parents=(), slopes=(), operation=""):
        self.data = number("Value", "data", data)
        self.grad = 0.0
        self.parents, self.slopes, self.operation = parents, slopes, operation

    def backward(self):
        """Set `.grad` of every number behind this one to the derivative of this one.

        A number's gradient is complete when all that use it have passed theirs on.
        """
        order = topological_order(self)
        for node in order:
            node.grad = 0.0
        self.grad = 1.0
        for node in reversed(order):
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                parent.grad += slope * node.grad

    def __add__(self, other):
        other = _value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0), "+")

    def __mul__(self, other):
        other = _value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data), "*")

    def __pow__(self, exponent):
        exponent = number("Value **", "exponent", exponent)
        slope = exponent * self.data ** (exponent - 1) if exponent else 0.0
        return Value(self.data**exponent, (self,), (slope,), f"** {exponent:g}")

    def tanh(self):
        """Return y = tanh x; dy/dx = 1 - y²."""
        y = math.tanh(self.data)
        return Value(y, (self,), (1 - y * y,), "tanh")

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        other = _value(other)
        return Value(self.data - other.data, (self, other), (1.0, -1.0), "-")

    def __neg__(self):
        return self * -1.0

    def __rsub__(self, other):
        return _value(other) - self

    def __repr__(self):
        return f"Value({self.data:g})"


def topological_order(result: Value) -> list[Value]:
    """Return `result` and every Value behind it once, each after all of its parents.

    A depth-first walk with its own stack: a long sum is deeper than Python lets functions nest.
    """
    result = instance("topological_order", "result", result, Value)
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in reversed(node.parents))
    return order


def _value(other) -> Value:
    return other if isinstance(other, Value) else Value(other)
