"""Wrong walks back."""

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch.scalar import topological_order


def overwrites(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in reversed(order):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad = slope * node.grad


def no_start(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    for node in reversed(order):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def forwards(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in order:
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def slope_alone(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in reversed(order):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope


def slope_forgotten(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in reversed(order):
        for parent in node.parents:
            parent.grad += node.grad


def slope_of_the_first_use(result):
    order = topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in reversed(order):
        for parent in node.parents:
            parent.grad += node.slopes[node.parents.index(parent)] * node.grad


def as_soon_as_reached(result):
    for node in topological_order(result):
        node.grad = 0.0
    result.grad = 1.0
    seen, stack = set(), [result]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                parent.grad += slope * node.grad
                stack.append(parent)


def not_reset(result):
    result.grad = 1.0
    for node in reversed(topological_order(result)):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def every_path(result):
    for node in topological_order(result):
        node.grad = 0.0

    stack = [(result, 1.0)]
    while stack:
        node, gradient = stack.pop()
        node.grad += gradient
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            stack.append((parent, slope * gradient))


def handed_on(result):
    result.backward()


MISTAKES = (
    Mistake(
        "overwrites",
        overwrites,
        "The gradient of e, which L uses twice, should be 6.00, got 3.00",
        "One of the two uses is lost. Most often `=` stands where `+=` belongs, and the second "
        "share overwrites the first. Over paths the chain rule adds. Numbers that are used once "
        "come out right, which is why this mistake survives small tests.",
    ),
    Mistake(
        "no_start",
        no_start,
        "The gradient of L itself should be 1.00, got 0.00",
        "Nothing was put in at the end of the graph, and a sum of products with zero is zero. "
        "The derivative of the result with respect to itself is 1: set it before the walk.",
    ),
    Mistake(
        "forwards",
        forwards,
        "The gradient of b should be 6.00, got 0.00",
        "The walk goes from the inputs to the result, so almost every node passes on a gradient "
        "that has not arrived yet. Only the last step had something to pass. Go through the "
        "order in reverse.",
    ),
    Mistake(
        "slope_alone",
        slope_alone,
        "The gradient of b should be 6.00, got 1.00",
        "Each parent got the slope of one edge. Along a path slopes multiply: the parent's share "
        "is the slope times the gradient that the node itself has received.",
    ),
    Mistake(
        "slope_forgotten",
        slope_forgotten,
        "The gradient of e, which L uses twice, should be 6.00, got 2.00",
        "The gradient was handed on unchanged, as if every operation were an addition. It has to "
        "be multiplied by the slope of the edge it passes.",
    ),
    Mistake(
        "as_soon_as_reached",
        as_soon_as_reached,
        "The gradient of x in y = h² + h with h = 2 x should be 26.00, got 2.00",
        "A node passed its gradient on when it was first reached, before all its uses had added "
        "their part; what came later stayed where it was. In reverse topological order everything "
        "has arrived when a node's turn comes.",
    ),
    Mistake(
        "slope_of_the_first_use",
        slope_of_the_first_use,
        "The gradient of x in y = x - x should be 0.00, got 2.00",
        "`index` finds the first place of a parent, so both uses of x got the slope of the first "
        "one, 1. The second is -1. A parent may stand in `parents` twice with different slopes: "
        "go through both tuples together, with `zip`.",
    ),
    Mistake(
        "not_reset",
        not_reset,
        "The gradient of x after a second call should be 24.00, got 72.00",
        "The gradients of the first call were still there, and those of the nodes in between "
        "were passed on again. Set the gradient of every node behind the result to 0 before the "
        "walk.",
    ),
    Mistake(
        "every_path",
        every_path,
        "In 12 doublings of a number backward should look at each of 13 numbers once or a few "
        "times, got 8,204 looks",
        "The gradients are right: this is the chain rule written out as a sum over all paths. "
        "Twelve doublings have 4,096 paths, and thirty have a billion. In topological order one "
        "visit to each node does it.",
    ),
    Mistake(
        "handed_on",
        handed_on,
        "backward should set the gradients itself, got a call of result.backward()",
        "`Value` has a method of this name, and it is the walk that this exercise is about. Call "
        "your `topological_order` instead, start with a gradient of 1 at the result, and pass "
        "gradients on along `parents` and `slopes`.",
    ),
)
