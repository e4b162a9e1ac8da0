"""Answers to learn from, where the package's own code is part of something larger."""

import numpy as np

from tinygpt.scratch import Tensor, arrays, scalar


def backward(result):
    """Set `.grad` of every Value behind `result` to the derivative of `result`."""
    order = scalar.topological_order(result)
    for node in order:
        node.grad = 0.0
    result.grad = 1.0
    for node in reversed(order):  # a node's gradient is complete before it is passed on
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def matmul_backward(grad, a, b):
    """Return the gradients with respect to both factors of c = a @ b."""
    da = grad @ b.swapaxes(-1, -2)  # (..., m, n) @ (..., n, k)
    db = a.swapaxes(-1, -2) @ grad  # (..., k, m) @ (..., m, n)
    return arrays.unbroadcast(da, a.shape), arrays.unbroadcast(db, b.shape)


def matmul_backward_of_the_engine(grad, a, b):
    """Return what the engine's own matrix product passes back."""
    dtype = np.float64
    a, b = (Tensor(x, requires_grad=True, dtype=dtype) for x in (a, b))
    (a @ b).backward(grad)
    return a.grad, b.grad


def numerical_gradient(function, x, eps=1e-5):
    """Return the gradient of a function by central differences, one element at a time."""
    x = np.array(x, dtype=np.float64)  # a copy
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        middle = x[place]
        x[place] = middle + eps
        ahead = function(x)
        x[place] = middle - eps
        behind = function(x)
        x[place] = middle
        gradient[place] = (ahead - behind) / (2 * eps)
    return gradient
