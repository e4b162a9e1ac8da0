"""Functions of tensors whose gradients are worked out by hand.

Each computes in one step what would take many operations of `Tensor`, and derives in its
docstring the gradient that its closure computes. Written g: the gradient of the loss with
respect to the result.
"""

import math

import numpy as np

from tinygpt.scratch.arrays import as_matrix, axis_of, broadcast_shape, float_array
from tinygpt.scratch.special import normal_cdf
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Integer
from tinygpt.validate import (
    boolean_mask,
    check_choice,
    describe,
    ids_below,
    instance,
    integer_array,
    number,
    probability,
)


def linear(
    x: Float[Tensor, "*B I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, "O"] | None = None
) -> Float[Tensor, "*B O"]:
    """Apply an affine map to the last axis.

    y = x Wᵀ + b

    All rows of x, whatever its leading axes, go through one matrix multiplication, and so do
    their gradients: dx = g W, dW = gᵀ x, db = the sum of g over the rows.

    Raises:
        TypeError: when an argument is not a Tensor.
        ValueError: when the last axis of x is not I long, or another shape does not fit.
    """
    _check_linear(x, weight, bias)
    rows = as_matrix(x.data)  # (N, I)
    out = rows @ weight.data.T  # (N, O)
    if bias is not None:
        out += bias.data

    def backward(grad):
        grad = as_matrix(grad)  # (N, O)
        if bias is not None and bias.requires_grad:
            bias.accumulate(grad.sum(axis=0))
        if weight.requires_grad:
            weight.accumulate(grad.T @ rows)
        if x.requires_grad:
            x.accumulate((grad @ weight.data).reshape(x.shape))

    parents = (x, weight) if bias is None else (x, weight, bias)
    return Tensor.from_operation(out.reshape(*x.shape[:-1], weight.shape[0]), parents, backward)


def _check_linear(x, weight, bias):
    for name, tensor in (("x", x), ("weight", weight), ("bias", bias)):
        if tensor is not None or name != "bias":
            instance("linear", name, tensor, Tensor)
    if weight.ndim != 2:
        raise ValueError(f"linear: weight must have shape (O, I), got {weight.shape}")
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear: the last axis of x must be in_features={weight.shape[1]} long, "
            f"got shape {x.shape}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"linear: bias must have shape {weight.shape[:1]}, got {bias.shape}")


def softmax(x: Float[Tensor, "..."], axis: int = -1, mask=None) -> Float[Tensor, "..."]:
    """Turn scores into weights that are positive and sum to 1.

    p_i = exp(x_i) / Σ_j exp(x_j)

    The maximum is subtracted first, which changes nothing but keeps exp from overflowing.
    From ∂p_i/∂x_j = p_i (δ_ij - p_j) follows dx = p ∘ (g - Σ_j g_j p_j).

    Args:
        x: scores.
        axis: the axis that sums to 1.
        mask: boolean array that broadcasts to x; weights where it is False are exactly 0.
            A row without a single True is all zeros.

    Returns:
        Weights of the shape of x.
    """
    axis = axis_of("softmax", axis, instance("softmax", "x", x, Tensor).ndim)
    scores = x.data
    if mask is not None:
        mask = boolean_mask("softmax", "mask", mask, x.shape)
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    p = scores - _finite_max(scores, axis)
    np.exp(p, out=p)
    total = p.sum(axis=axis, keepdims=True)
    p /= total if mask is None else np.where(total > 0, total, 1)

    def backward(grad):
        dot = (grad * p).sum(axis=axis, keepdims=True)
        grad = grad - dot
        grad *= p
        x.accumulate(grad)

    return Tensor.from_operation(p, (x,), backward)


def log_softmax(x: Float[Tensor, "..."], axis: int = -1) -> Float[Tensor, "..."]:
    """Return the logarithm of softmax, without the loss of digits of taking it afterwards.

    y_i = x_i - log Σ_j exp(x_j),  dx = g - p Σ_j g_j  with p = exp(y)
    """
    axis = axis_of("log_softmax", axis, instance("log_softmax", "x", x, Tensor).ndim)
    y = x.data - _finite_max(x.data, axis)
    y -= np.log(np.exp(y).sum(axis=axis, keepdims=True))

    def backward(grad):
        x.accumulate(grad - np.exp(y) * grad.sum(axis=axis, keepdims=True))

    return Tensor.from_operation(y, (x,), backward)


def cross_entropy(
    logits: Float[Tensor, "*B V"], targets: Integer[np.ndarray, "*B"]
) -> Float[Tensor, ""]:
    """Return the mean negative log-probability, in nats, of the target classes.

    loss = -(1/N) Σ_n log softmax(logits_n)[target_n]

    The gradient is what was predicted minus what was right, dlogits = (p - onehot) / N:
    the log in the loss cancels the exp in the softmax.

    Args:
        logits: scores, (..., V).
        targets: integers from 0 to V - 1, of the shape of logits without its last axis.

    Raises:
        TypeError: when targets are not integers.
        ValueError: when shapes do not fit, a target is outside 0..V-1, or there is none.
    """
    if instance("cross_entropy", "logits", logits, Tensor).ndim == 0:
        raise ValueError("cross_entropy: logits must have shape (..., V), got shape ()")
    targets = integer_array("cross_entropy", "targets", targets)
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"cross_entropy: targets must have shape {logits.shape[:-1]} for logits of shape "
            f"{logits.shape}, got {targets.shape}"
        )
    if targets.size == 0:
        raise ValueError("cross_entropy: targets must hold at least one class, got none")
    ids_below("cross_entropy", "target", targets, logits.shape[-1])
    scores = as_matrix(logits.data)  # (N, V)
    picked = np.arange(targets.size), targets.reshape(-1)
    p = scores - _finite_max(scores, -1)
    target_score = p[picked]  # (N,)
    np.exp(p, out=p)
    total = p.sum(axis=-1, keepdims=True)  # (N, 1)
    loss = (np.log(total[:, 0]) - target_score).mean()

    def backward(grad):
        dlogits = p / total
        dlogits[picked] -= 1
        dlogits *= grad / targets.size
        logits.accumulate(dlogits.reshape(logits.shape))

    return Tensor.from_operation(loss, (logits,), backward)


def layer_norm(
    x: Float[Tensor, "*B C"],
    weight: Float[Tensor, "C"],
    bias: Float[Tensor, "C"],
    eps: float = 1e-5,
) -> Float[Tensor, "*B C"]:
    """Give each row mean 0 and variance 1, then scale and shift its features.

    y = n ∘ w + b,  n = (x - μ) / σ,  σ = √(var + eps), μ and var over the last axis

    With s = g ∘ w, a row of n does not change when its x is shifted or (but for eps) scaled;
    the gradient is s without its parts along these two directions:
    dx = (s - mean(s) - n mean(s ∘ n)) / σ.  dw = Σ g ∘ n and db = Σ g over all rows.

    Source: Ba, Kiros and Hinton (2016), Layer Normalization, equations 3 and 4.
    """
    _check_layer_norm(x, weight, bias, eps)
    rows = as_matrix(x.data)  # (N, C)
    width = rows.dtype.type(rows.shape[1])
    normed = rows - rows.sum(axis=1, keepdims=True) / width
    variance = np.einsum("nc,nc->n", normed, normed)[:, None] / width
    inverse_std = 1 / np.sqrt(variance + rows.dtype.type(eps))  # (N, 1)
    normed *= inverse_std
    out = normed * weight.data
    out += bias.data

    def backward(grad):
        grad = as_matrix(grad)
        if bias.requires_grad:
            bias.accumulate(grad.sum(axis=0))
        if weight.requires_grad:
            weight.accumulate(np.einsum("nc,nc->c", grad, normed))
        if x.requires_grad:
            dx = grad * weight.data
            along_scale = np.einsum("nc,nc->n", dx, normed)[:, None] / width
            dx -= dx.sum(axis=1, keepdims=True) / width
            dx -= normed * along_scale
            dx *= inverse_std
            x.accumulate(dx.reshape(x.shape))

    return Tensor.from_operation(out.reshape(x.shape), (x, weight, bias), backward)


def _check_layer_norm(x, weight, bias, eps):
    for name, tensor in (("x", x), ("weight", weight), ("bias", bias)):
        instance("layer_norm", name, tensor, Tensor)
    if weight.ndim != 1 or weight.shape != bias.shape:
        raise ValueError(
            f"layer_norm: weight and bias must have shape (C,), got {weight.shape} and {bias.shape}"
        )
    if x.shape[-1:] != weight.shape:
        raise ValueError(
            f"layer_norm: the last axis of x must be {weight.shape[0]} long, got shape {x.shape}"
        )
    number("layer_norm", "eps", eps, low=0.0)


def gelu(x: Float[Tensor, "..."], approximate: str = "tanh") -> Float[Tensor, "..."]:
    """Gate each element by the probability that a standard normal number is below it.

    "none":  y = x Φ(x),  dx = g (Φ(x) + x φ(x))
    "tanh":  y = x (1 + tanh u) / 2 = x s  with u = √(2/π) (x + 0.044715 x³), s = 1 / (1 + exp(-2u))
             dx = g (s + x s') = g (s + y (1 - s) 2u')  with u' = √(2/π) (1 + 3 · 0.044715 x²)

    Source: Hendrycks and Gimpel (2016), Gaussian Error Linear Units, section 2.
    """
    instance("gelu", "x", x, Tensor)
    check_choice("gelu", "approximate", approximate, ("tanh", "none"))
    out, slope = _gelu_tanh(x.data) if approximate == "tanh" else _gelu_exact(x.data)

    def backward(grad):
        dx = slope()
        dx *= grad
        x.accumulate(dx)

    return Tensor.from_operation(out, (x,), backward)


# Beyond, the slope is 0 or 1 to the last digit, in float64 too.
_FLAT = 40.0


def _gelu_exact(x):
    density, below = normal_cdf(x)
    return x * below, lambda: np.asarray(below + x * density)


def _gelu_tanh(x):
    a = 2 * math.sqrt(2 / math.pi)
    b = 0.044715 * a
    s = x.copy()
    with np.errstate(over="ignore"):  # exp = inf gives s = 0
        s *= x
        s *= -b
        s -= a
        s *= x  # -2u
        np.exp(s, out=s)
    s += 1
    np.reciprocal(s, out=s)
    y = x * s

    def slope():
        dx = x.copy()
        np.clip(dx, -_FLAT, _FLAT, out=dx)  # x² of a huge x is infinite, and ∞ · 0 is NaN
        dx *= dx
        dx *= 3 * b
        dx += a  # 2u'
        dx *= np.minimum(y, _FLAT)
        dx *= 1 - s
        dx += s
        return dx

    return y, slope


def embedding(
    weight: Float[Tensor, "V C"], ids: Integer[np.ndarray, "..."]
) -> Float[Tensor, "... C"]:
    """Look up a row of `weight` for each id.

    y_i = W[id_i];  dW[v] = the sum of g_i over all i with id_i = v

    Raises:
        TypeError: when ids are not integers.
        ValueError: when an id is outside 0..V-1.
    """
    if instance("embedding", "weight", weight, Tensor).ndim != 2:
        raise ValueError(f"embedding: weight must have shape (V, C), got {weight.shape}")
    ids = integer_array("embedding", "ids", ids)
    ids_below("embedding", "id", ids, weight.shape[0])

    def backward(grad):
        full = np.zeros_like(weight.data)
        np.add.at(full, ids.reshape(-1), as_matrix(grad))
        weight.accumulate(full)

    return Tensor.from_operation(weight.data[ids], (weight,), backward)


def dropout(x: Float[Tensor, "..."], p: float, rng: np.random.Generator) -> Float[Tensor, "..."]:
    """Set each element to 0 with probability p and divide the others by 1 - p.

    The expected value stays what it was. Source: Srivastava et al. (2014), Dropout.
    """
    instance("dropout", "x", x, Tensor)
    instance("dropout", "rng", rng, np.random.Generator)
    p = probability("dropout", "p", p)
    if p == 0.0:
        return x
    scale = x.dtype.type(1 / (1 - p))
    factor = (rng.random(x.shape, dtype=np.float32) >= p) * scale
    return Tensor.from_operation(x.data * factor, (x,), lambda g: x.accumulate(g * factor))


def where(condition, x, y) -> Tensor:
    """Take x where condition is True and y elsewhere; so do the gradients."""
    dtype = np.float64 if getattr(y, "dtype", None) == np.float64 else np.float32
    if not isinstance(x, Tensor):
        x = Tensor.from_operation(float_array(x, dtype, "where", "x"), (), None)
    if not isinstance(y, Tensor):
        y = Tensor.from_operation(float_array(y, x.dtype, "where", "y"), (), None)
    shape = broadcast_shape("where", getattr(condition, "shape", ()), x.shape, y.shape)
    condition = boolean_mask("where", "condition", condition, shape)
    out = np.where(condition, x.data, y.data)

    def backward(grad):
        x.accumulate(np.where(condition, grad, 0))
        y.accumulate(np.where(condition, 0, grad))

    return Tensor.from_operation(out, (x, y), backward)


def concatenate(tensors, axis: int = 0) -> Tensor:
    """Join tensors along an axis; each gets its part of the gradient."""
    tensors = _tensors("concatenate", tensors)
    axis = axis_of("concatenate", axis, tensors[0].ndim)
    try:
        out = np.concatenate([t.data for t in tensors], axis)
    except ValueError:
        raise ValueError(
            f"concatenate: shapes {[t.shape for t in tensors]} differ outside axis {axis}"
        ) from None

    def backward(grad):
        ends = np.cumsum([t.shape[axis] for t in tensors])[:-1]
        for tensor, part in zip(tensors, np.split(grad, ends, axis), strict=True):
            tensor.accumulate(part)

    return Tensor.from_operation(out, tensors, backward)


def stack(tensors, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis; each gets its part of the gradient."""
    tensors = _tensors("stack", tensors)
    axis = axis_of("stack", axis, tensors[0].ndim + 1)
    if len({t.shape for t in tensors}) > 1:
        raise ValueError(f"stack: shapes {[t.shape for t in tensors]} differ")

    def backward(grad):
        for tensor, part in zip(tensors, np.moveaxis(grad, axis, 0), strict=True):
            tensor.accumulate(part)

    return Tensor.from_operation(np.stack([t.data for t in tensors], axis), tensors, backward)


def _tensors(where, tensors) -> tuple[Tensor, ...]:
    """Return a non-empty tuple of tensors, or say what is wrong with it."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(f"{where}: tensors must be a non-empty list, got {describe(tensors)}")
    return tuple(instance(where, "every element", tensor, Tensor) for tensor in tensors)


def _finite_max(x, axis):
    """Return the maximum over `axis`, and 0 where that is -inf, so that x - max is never NaN."""
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    return np.where(np.isneginf(top), x.dtype.type(0), top)


__all__ = [
    "concatenate",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "softmax",
    "stack",
    "where",
]
