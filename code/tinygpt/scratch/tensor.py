"""A NumPy array that remembers how it was computed, and can run the chain rule backwards.

Each operation computes its result and keeps, in a closure beside it, one step of the chain
rule: from the gradient with respect to the result, those with respect to the inputs.
`Tensor.backward` calls these closures in turn, from the loss to the leaves.

Source: Griewank and Walther (2008), Evaluating Derivatives, chapter 3 (reverse mode).
"""

import numpy as np

from tinygpt.scratch import graph
from tinygpt.scratch.arrays import (
    axes_of,
    axis_of,
    broadcast_shape,
    check_matmul,
    comparison,
    count_over,
    float_array,
    is_basic_index,
    matmul,
    transposed_matmul,
    unbroadcast,
)
from tinygpt.validate import boolean_mask, flag, number, real


class Tensor:
    """An array of floats with reverse-mode differentiation.

    Args:
        data: an array, a nested list or a number; another Tensor gives its values.
        requires_grad: whether `backward` computes a gradient for this tensor.
        dtype: np.float32 (the default) or np.float64.

    Attributes:
        data: the values, an ndarray.
        grad: the gradient, an ndarray of the same shape, or None. It accumulates over
            several `backward` calls until `zero_grad`.

    Raises:
        TypeError: when data are not numbers, or dtype or requires_grad is none of its values.
    """

    __slots__ = ("__weakref__", "_backward", "_parents", "data", "grad", "requires_grad")
    __array_ufunc__ = None  # so that `ndarray * Tensor` calls Tensor.__rmul__

    def __init__(self, data, requires_grad: bool = False, dtype=None):
        self.data = float_array(data, np.float32 if dtype is None else dtype)
        self.grad = None
        self.requires_grad = flag("Tensor", "requires_grad", requires_grad)
        self._parents = ()
        self._backward = None

    # ---- the graph --------------------------------------------------------------------------

    @staticmethod
    def from_operation(data, parents, backward) -> "Tensor":
        """Return the result of an operation on `parents`.

        `backward(grad)` gets the gradient of the loss with respect to the result and calls
        `accumulate` on each parent. It is kept only if a parent needs a gradient.
        """
        out = Tensor.__new__(Tensor)
        out.data = np.asarray(data)
        out.grad = None
        out.requires_grad = graph.recording.get() and any(p.requires_grad for p in parents)
        out._parents = parents if out.requires_grad else ()
        out._backward = backward if out.requires_grad else None
        return out

    def accumulate(self, grad):
        """Add `grad` to this tensor's gradient, summed over the axes that broadcasting added.

        The array is handed over: the caller keeps no other use for it, so that later
        additions may happen in place.
        """
        if not self.requires_grad:
            return
        grad = unbroadcast(np.asarray(grad, self.data.dtype), self.data.shape)
        if self.grad is None:
            self.grad = grad
        else:
            self.grad += grad

    def backward(self, grad=None):
        """Add to every leaf's `.grad` the derivative of this tensor with respect to the leaf.

        The graph is freed on the way: closures, saved arrays and inner gradients.

        Args:
            grad: gradient with respect to this tensor, of its shape; 1 if it has one element.

        Raises:
            RuntimeError: when nothing was recorded, or the graph has been freed.
            ValueError: when grad is needed or has another shape.
        """
        grad = graph.initial_gradient(self, grad)
        order = graph.topological_order(self)
        self.accumulate(grad)
        while order:  # from the result to the leaves, dropping each node on the way
            node = order.pop()
            node._backward(node.grad)
            node.grad, node._parents, node._backward = None, (), graph.freed

    def zero_grad(self):
        """Forget the gradient."""
        self.grad = None

    def detach(self) -> "Tensor":
        """Return a tensor with the same values (shared memory) and no history."""
        return Tensor.from_operation(self.data, (), None)

    # ---- arithmetic -------------------------------------------------------------------------

    def __add__(self, other):
        other = self._operand("+", other)

        def backward(grad):
            if other.requires_grad:
                other.accumulate(grad.copy())
            self.accumulate(grad)

        return Tensor.from_operation(self.data + other.data, (self, other), backward)

    def __mul__(self, other):
        other = self._operand("*", other)

        def backward(grad):
            if self.requires_grad:
                self.accumulate(grad * other.data)
            if other.requires_grad:
                other.accumulate(grad * self.data)

        return Tensor.from_operation(self.data * other.data, (self, other), backward)

    def __truediv__(self, other):
        other = self._operand("/", other)
        ratio = self.data / other.data

        def backward(grad):
            grad = grad / other.data
            if other.requires_grad:
                other.accumulate(-grad * ratio)
            self.accumulate(grad)

        return Tensor.from_operation(ratio, (self, other), backward)

    def __pow__(self, exponent):
        exponent = number("Tensor **", "exponent", exponent)
        if exponent == 0:  # constant, also at 0 where the formula is 0 · ∞
            return self._elementwise(np.ones_like(self.data), lambda: 0)
        return self._elementwise(
            self.data**exponent, lambda: exponent * self.data ** (exponent - 1)
        )

    def __neg__(self):
        return self._elementwise(-self.data, lambda: -1)

    def __sub__(self, other):
        other = self._operand("-", other)

        def backward(grad):
            if other.requires_grad:
                other.accumulate(-grad)
            self.accumulate(grad)

        return Tensor.from_operation(self.data - other.data, (self, other), backward)

    def __matmul__(self, other):
        other = self._operand("@", other, broadcast=False)
        a, b = self.data, other.data
        check_matmul("Tensor @", a.shape, b.shape)
        if b.ndim == 1:  # a vector on the right counts as one column
            return (self @ other[:, None])[..., 0]
        if a.ndim == 1:  # and on the left as one row
            return (self[None, :] @ other)[..., 0, :]

        def backward(grad):
            if self.requires_grad:  # dA = dC Bᵀ
                self.accumulate(matmul(grad, b.swapaxes(-1, -2)))
            if other.requires_grad:  # dB = Aᵀ dC
                other.accumulate(transposed_matmul(a, grad, b.shape))

        return Tensor.from_operation(matmul(a, b), (self, other), backward)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return self._operand("-", other) - self

    def __rtruediv__(self, other):
        return self._operand("/", other) / self

    def __rpow__(self, base):
        return number("Tensor **", "exponent", self)  # always an error: a Tensor is no number

    def __rmatmul__(self, other):
        return self._operand("@", other, broadcast=False) @ self

    # ---- elementwise functions --------------------------------------------------------------

    def _elementwise(self, out, derivative):
        """Return the result of a function of each element, given its derivative as a closure."""
        return Tensor.from_operation(
            out, (self,), lambda grad: self.accumulate(grad * derivative())
        )

    def exp(self):
        """Return y = e to the power of x; dy/dx = y."""
        out = np.exp(self.data)
        return self._elementwise(out, lambda: out)

    def log(self):
        """Return the natural logarithm of x; dy/dx = 1 / x."""
        return self._elementwise(np.log(self.data), lambda: 1 / self.data)

    def sqrt(self):
        """Return y = √x; dy/dx = 1 / (2 y)."""
        out = np.sqrt(self.data)
        return self._elementwise(out, lambda: 0.5 / out)

    def tanh(self):
        """Return y = tanh x; dy/dx = 1 - y²."""
        out = np.tanh(self.data)
        return self._elementwise(out, lambda: 1 - out * out)

    def relu(self):
        """Return max(x, 0); dy/dx = 1 where x > 0 and 0 elsewhere."""
        return self._elementwise(np.maximum(self.data, 0), lambda: self.data > 0)

    def masked_fill(self, mask, value: float):
        """Return a copy with `value` where `mask` is True; no gradient flows through those."""
        mask = boolean_mask("Tensor.masked_fill", "mask", mask, self.shape)
        value = real("Tensor.masked_fill", "value", value)
        return Tensor.from_operation(
            np.where(mask, self.dtype.type(value), self.data),
            (self,),
            lambda grad: self.accumulate(np.where(mask, self.dtype.type(0), grad)),
        )

    # ---- reductions -------------------------------------------------------------------------

    def sum(self, axis=None, keepdims=False):
        """Return the sum over `axis` (all axes by default)."""
        axis = axes_of("Tensor.sum", axis, self.ndim, keepdims)

        def backward(grad):
            grad = grad if keepdims else np.expand_dims(grad, axis)
            self.accumulate(np.broadcast_to(grad, self.shape).copy())

        return Tensor.from_operation(self.data.sum(axis=axis, keepdims=keepdims), (self,), backward)

    def mean(self, axis=None, keepdims=False):
        """Return the mean over `axis` (all axes by default)."""
        count = count_over("Tensor.mean", axis, self.shape, keepdims)
        return self.sum(axis, keepdims) * (1.0 / count)

    def var(self, axis=None, keepdims=False):
        """Return the variance over `axis`: the mean of the squared deviations (divided by n)."""
        count_over("Tensor.var", axis, self.shape, keepdims)
        centred = self - self.mean(axis, keepdims=True)
        return (centred * centred).mean(axis, keepdims)

    def max(self, axis=None, keepdims=False):
        """Return the largest element over `axis`; equal ones share its gradient evenly."""
        count_over("Tensor.max", axis, self.shape, keepdims)
        axis = axes_of("Tensor.max", axis, self.ndim)
        largest = self.data.max(axis=axis, keepdims=True)

        def backward(grad):
            grad = grad if keepdims else np.expand_dims(grad, axis)
            chosen = self.data == largest
            self.accumulate(chosen * (grad / chosen.sum(axis=axis, keepdims=True)))

        out = largest if keepdims else largest.squeeze(axis)
        return Tensor.from_operation(out, (self,), backward)

    def min(self, axis=None, keepdims=False):
        """Return the smallest element over `axis`; equal ones share its gradient evenly."""
        count_over("Tensor.min", axis, self.shape, keepdims)
        return -(-self).max(axis, keepdims)

    # ---- shape ------------------------------------------------------------------------------

    def reshape(self, *shape):
        """Return the same elements in another shape; one length may be -1."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        try:
            out = self.data.reshape(shape)
        except (TypeError, ValueError):
            raise ValueError(
                f"Tensor.reshape: shape {self.shape} of {self.size} elements does not fit into "
                f"{tuple(shape)}"
            ) from None
        return Tensor.from_operation(
            out, (self,), lambda grad: self.accumulate(grad.reshape(self.shape))
        )

    def transpose(self, *axes):
        """Return the tensor with its axes in the given order; reversed when none are given."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        axes = tuple(axes) if axes else tuple(reversed(range(self.ndim)))
        if sorted(axes_of("Tensor.transpose", axes, self.ndim)) != list(range(self.ndim)):
            raise ValueError(
                f"Tensor.transpose: axes must name each of the {self.ndim} axes once, got {axes}"
            )
        return Tensor.from_operation(
            self.data.transpose(axes),
            (self,),
            lambda grad: self.accumulate(grad.transpose(np.argsort(np.mod(axes, self.ndim)))),
        )

    def swapaxes(self, axis1: int, axis2: int):
        """Return the tensor with two axes exchanged."""
        axis1 = axis_of("Tensor.swapaxes", axis1, self.ndim)
        axis2 = axis_of("Tensor.swapaxes", axis2, self.ndim)
        return Tensor.from_operation(
            self.data.swapaxes(axis1, axis2),
            (self,),
            lambda grad: self.accumulate(grad.swapaxes(axis1, axis2)),
        )

    @property
    def T(self):
        """The tensor with its axes reversed."""
        return self.transpose()

    def __getitem__(self, index):
        try:
            out = self.data[index]
        except (IndexError, TypeError, ValueError) as error:
            raise IndexError(f"Tensor index: {error}") from None

        def backward(grad):
            full = np.zeros_like(self.data)
            if is_basic_index(index):
                full[index] = grad
            else:  # an element picked twice gets both gradients
                np.add.at(full, index, grad)
            self.accumulate(full)

        return Tensor.from_operation(out, (self,), backward)

    # ---- everyday ---------------------------------------------------------------------------

    shape = property(lambda self: self.data.shape, doc="The length of each axis.")
    ndim = property(lambda self: self.data.ndim, doc="The number of axes.")
    size = property(lambda self: self.data.size, doc="The number of elements.")
    dtype = property(lambda self: self.data.dtype, doc="np.float32 or np.float64.")

    def item(self) -> float:
        """Return the only element as a Python float."""
        if self.size != 1:
            raise ValueError(f"Tensor.item: needs exactly one element, got shape {self.shape}")
        return self.data.item()

    def numpy(self) -> np.ndarray:
        """Return the values, sharing memory."""
        return self.data

    def __float__(self):
        return float(self.item())

    def __bool__(self):
        return bool(self.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len: a tensor without axes has no length")
        return len(self.data)

    def __repr__(self):
        values = np.array2string(self.data, precision=4, suppress_small=True, prefix="Tensor(")
        return f"Tensor({values}{', requires_grad=True' if self.requires_grad else ''})"

    # Comparisons give boolean arrays, so hashing goes by identity.
    __hash__ = object.__hash__
    __eq__ = comparison("==", np.equal)
    __ne__ = comparison("!=", np.not_equal)
    __lt__ = comparison("<", np.less)
    __le__ = comparison("<=", np.less_equal)
    __gt__ = comparison(">", np.greater)
    __ge__ = comparison(">=", np.greater_equal)

    def _operand(self, symbol: str, other, broadcast: bool = True) -> "Tensor":
        """Return the other operand as a Tensor of this dtype, checked to fit."""
        if not isinstance(other, Tensor):
            other = Tensor.from_operation(
                float_array(other, self.dtype, f"Tensor {symbol}", "the other operand"), (), None
            )
        if broadcast:
            broadcast_shape(f"Tensor {symbol}", self.data.shape, other.data.shape)
        return other
