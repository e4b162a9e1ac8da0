"""Tensors and automatic differentiation: five pieces to write. Read the chapter beside them.

    tinygpt lab check tensors               check all five
    tinygpt lab check tensors backward      check one
    tinygpt lab hint tensors backward       the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are. Everything
imported here is given, and may be used. The first two pieces work on the graph of `Value`, the
other three on plain NumPy arrays. `scalar.topological_order` and `arrays.unbroadcast` are the
book's own, for when yours are not written yet.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
"""

# ruff: noqa: F401
import numpy as np

from tinygpt.scratch import Value, arrays, scalar
from tinygpt.shapes import Float


def topological_order(result):
    """Return `result` and every Value behind it once, each after all of its parents.

    Args:
        result: a Value. `node.parents` is the tuple of Values that a node was computed from;
            it is empty for a number that was given.

    Returns:
        A list of Values; the last one is `result`. A graph may be 5,000 nodes deep, which is
        deeper than Python lets functions call each other.
    """
    raise NotImplementedError


def backward(result):
    """Set `.grad` of every Value behind `result` to the derivative of `result`.

    Args:
        result: a Value. `node.parents` are the Values that a node was computed from, and
            `node.slopes` the derivatives of the node with respect to each of them, in the
            same order.

    Returns nothing. What `.grad` held before the call does not count. Your topological_order
    may be used; `result.backward()`, which does the same, may not.
    """
    raise NotImplementedError


def unbroadcast(grad, shape):
    """Return a gradient summed over the axes along which broadcasting copied.

    Args:
        grad: NumPy array, the gradient with respect to the broadcast array.
        shape: the shape before broadcasting, a tuple; np.broadcast_to from it to grad.shape
            works.

    Returns:
        NumPy array of this shape: each element the sum of the gradients of its copies.
    """
    raise NotImplementedError


def matmul_backward(grad, a, b):
    """Return the gradients with respect to both factors of c = a @ b.

    Args:
        grad: NumPy array, the gradient with respect to c, (..., m, n).
        a: NumPy array, (..., m, k).
        b: NumPy array, (..., k, n). The leading axes of a and b broadcast.

    Returns:
        Two NumPy arrays, da of the shape of a and db of the shape of b. Your unbroadcast may
        be used.
    """
    raise NotImplementedError


def numerical_gradient(function, x, eps=1e-5):
    """Return the gradient of a function by central differences, one element at a time.

    Args:
        function: takes a NumPy array of the shape of x and returns one number.
        x: NumPy array of any shape, of floats or integers; it is left as it is.
        eps: the size of the nudge, up and down.

    Returns:
        NumPy array of the shape of x, in float64.
    """
    raise NotImplementedError
