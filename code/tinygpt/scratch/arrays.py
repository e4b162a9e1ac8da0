"""What the operations of `Tensor` need of plain NumPy arrays."""

import math

import numpy as np

from tinygpt.validate import describe, flag, is_integer


def float_array(data, dtype, where: str = "Tensor", name: str = "data") -> np.ndarray:
    """Return a new array of `dtype`, float32 or float64, with the values of `data`."""
    if not isinstance(dtype, (type, np.dtype)) or dtype not in (np.float32, np.float64):
        raise TypeError(f"{where}: dtype must be np.float32 or np.float64, got {describe(dtype)}")
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(
            f"{where}: {name} must be rectangular, got rows of unequal length"
        ) from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{where}: {name} must be real numbers, got {describe(data)}")
    return np.array(array, dtype=dtype)


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return `grad` summed over the axes along which `shape` was broadcast.

    An element that broadcasting used n times gets the sum of its n gradients.
    """
    added = grad.ndim - len(shape)
    stretched = (added + i for i, n in enumerate(shape) if n == 1)
    summed = (*range(added), *stretched)
    return grad if grad.shape == shape else np.asarray(grad.sum(axis=summed)).reshape(shape)


def as_matrix(a: np.ndarray) -> np.ndarray:
    """Return `a` with all axes but the last made into one (rows that hold nothing included)."""
    return a.reshape(math.prod(a.shape[:-1]), a.shape[-1])


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b; with a single matrix b, all rows of a go through one multiplication."""
    if a.ndim > 2 and b.ndim == 2:
        return (as_matrix(a) @ b).reshape(*a.shape[:-1], b.shape[-1])
    return a @ b


def broadcast_shape(where: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which arrays of these shapes broadcast, or say that they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = " and ".join(str(shape) for shape in shapes)
        raise ValueError(f"{where}: shapes {given} do not broadcast") from None


def check_matmul(where: str, a: tuple[int, ...], b: tuple[int, ...]):
    """Raise unless arrays of shapes a and b can be multiplied."""
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ValueError(
            f"{where}: shapes {a} and {b} do not fit; the last axis of the left must equal the "
            "second-to-last of the right"
        )
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ValueError(f"{where}: batch axes of shapes {a} and {b} do not broadcast") from None


def transposed_matmul(a: np.ndarray, grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return aᵀ @ grad, summed over the batch axes that the matrix of `shape` does not have."""
    if len(shape) == 2:
        return as_matrix(a).T @ as_matrix(grad)
    return unbroadcast(a.swapaxes(-1, -2) @ grad, shape)


def comparison(symbol: str, compare):
    """Return the method of Tensor that compares element by element, giving a boolean array."""

    def method(self, other):
        other = other.data if isinstance(other, type(self)) else other
        try:
            return compare(self.data, other)
        except (TypeError, ValueError):
            values = float_array(other, np.float64, f"Tensor {symbol}", "the other operand")
            broadcast_shape(f"Tensor {symbol}", self.shape, values.shape)
            raise

    return method


def axis_of(where: str, axis, ndim: int) -> int:
    """Return a single axis, counted from the front."""
    if not is_integer(axis):
        raise TypeError(f"{where}: axis must be an integer, got {describe(axis)}")
    return axes_of(where, axis, ndim)[0]


def axes_of(where: str, axis, ndim: int, keepdims: bool = False) -> tuple[int, ...]:
    """Return `axis` (None: all of them) as a tuple of axes counted from the front."""
    flag(where, "keepdims", keepdims)
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if not is_integer(one):
            raise TypeError(f"{where}: axis must be an integer, got {describe(one)}")
        if not -ndim <= one < ndim:
            there_are = f"is outside -{ndim}..{ndim - 1}" if ndim else "of a tensor without axes"
            raise ValueError(f"{where}: axis {one} {there_are}")
    axes = tuple(int(one) % ndim for one in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{where}: axis {axis} names one axis twice")
    return axes


def count_over(where: str, axis, shape: tuple[int, ...], keepdims: bool = False) -> int:
    """Return how many elements a reduction over `axis` takes together; at least one."""
    count = math.prod(shape[a] for a in axes_of(where, axis, len(shape), keepdims))
    if count == 0:
        raise ValueError(f"{where}: no elements over axis={axis} of shape {shape}")
    return count


def is_basic_index(index) -> bool:
    """True if `index` picks no element twice and gives a view: integers, slices, None, `...`."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(is_integer(p) or isinstance(p, slice) or p is None or p is ... for p in parts)
