"""Gradients by nudging: slow, approximate, and independent of every backward pass.

Source: Griewank and Walther (2008), Evaluating Derivatives, chapter 1 (difference quotients).
"""

import math
from collections.abc import Callable

import numpy as np

from tinygpt.scratch.arrays import float_array
from tinygpt.scratch.graph import no_grad
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Shaped
from tinygpt.validate import check_callable, instance, real


class GradientError(ArithmeticError):
    """A backward pass and finite differences disagree; the text says where and by how much."""


def numerical_gradient(
    function: Callable, x: Shaped[np.ndarray, "..."], eps: float = 1e-5
) -> Float[np.ndarray, "..."]:
    """Return the gradient of a function by central differences, one element at a time.

    ∂f/∂x_i ≈ (f(x + ε e_i) - f(x - ε e_i)) / 2ε

    The error is about ε² (of the formula) + δ/ε (of rounding), with δ = 1e-16 in float64.

    Args:
        function: takes an array of the shape of x and returns one number.
        x: where to take the gradient, floats or integers; left as it is.
        eps: the size of the nudge, in units of x.

    Returns:
        The gradient, float64, of the shape of x. It takes two calls for each element.

    Raises:
        TypeError: function cannot be called, or does not return a number.
        ValueError: eps is not a finite number above 0.
    """
    check_callable("numerical_gradient", "function", function)
    eps = _positive("numerical_gradient", "eps", eps)
    x = float_array(x, np.float64, "numerical_gradient", "x")  # a copy
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        middle = x[place]
        x[place] = middle + eps
        ahead = _one_number(function(x))
        x[place] = middle - eps
        behind = _one_number(function(x))
        x[place] = middle
        gradient[place] = (ahead - behind) / (2 * eps)
    return gradient


def check_gradients(
    function: Callable, *arrays, eps: float = 1e-5, tolerance: float = 1e-6
) -> float:
    """Compare a function's backward pass with central differences, in float64.

    A result of several elements is made one number by weights that are fixed at random:
    a sum would miss every error that cancels in it.

    Args:
        function: takes a Tensor for each array and returns a Tensor.
        arrays: where to check, each an array or nested list of numbers.
        eps: the size of the nudge.
        tolerance: how far the two may differ, relative to the larger of them and 1.

    Returns:
        The largest relative difference.

    Raises:
        GradientError: a difference exceeds the tolerance.
        TypeError, ValueError: an argument is of another kind.
    """
    check_callable("check_gradients", "function", function)
    tolerance = _positive("check_gradients", "tolerance", tolerance)
    arrays = [float_array(a, np.float64, "check_gradients", "every array") for a in arrays]
    tensors = [Tensor(array, requires_grad=True, dtype=np.float64) for array in arrays]
    result = instance("check_gradients", "the function's result", function(*tensors), Tensor)
    weights = np.random.default_rng(0).normal(size=result.shape)
    result.backward(weights)
    worst = 0.0
    for which, tensor in enumerate(tensors):
        numeric = numerical_gradient(_along(function, arrays, which, weights), arrays[which], eps)
        found = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad
        scale = np.maximum(1.0, np.maximum(np.abs(found), np.abs(numeric)))
        error = np.abs(found - numeric) / scale
        # NaN passes no comparison, so it counts as the worst.
        if not (error <= tolerance).all():
            place = np.unravel_index(np.nan_to_num(error, nan=np.inf).argmax(), error.shape)
            raise GradientError(
                f"check_gradients: input {which} at {[int(i) for i in place]}: backward gives "
                f"{found[place]:.6g}, central differences give {numeric[place]:.6g}"
            )
        worst = max(worst, float(error.max(initial=0.0)))
    return worst


def _along(function, arrays, which, weights):
    """Return the weighted result as a function of one of the arrays."""

    @no_grad()
    def one_number(x):
        inputs = [x if i == which else array for i, array in enumerate(arrays)]
        result = function(*(Tensor(a, dtype=np.float64) for a in inputs))
        return (result.data * weights).sum()

    return one_number


def _one_number(value) -> float:
    """Return what the function gave as a float: a number, or an array or tensor of one."""
    if math.prod(getattr(value, "shape", (0,))) == 1 and hasattr(value, "item"):
        value = value.item()
    return real("numerical_gradient", "the function's result", value)


def _positive(where, name, value) -> float:
    value = real(where, name, value)
    if not 0 < value < np.inf:
        raise ValueError(f"{where}: {name} must be a finite number above 0, got {value}")
    return value
