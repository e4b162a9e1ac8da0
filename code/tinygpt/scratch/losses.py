"""Squashing functions, and the losses of regression and of yes-or-no questions.

The gradients are worked out by hand, as in `functional`. Written g: the gradient of the loss
with respect to the result. `functional.cross_entropy` is the loss of more than two classes.
"""

import numpy as np

from tinygpt.scratch.arrays import float_array
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float
from tinygpt.validate import instance


def sigmoid(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Squash each element into a probability.

    y = σ(x) = 1 / (1 + exp(-x)),  dx = g y (1 - y)

    Computed from exp(-|x|), which is at most 1 and so never overflows.

    Source: Goodfellow, Bengio and Courville (2016), Deep Learning, section 3.10.
    """
    y = _sigmoid(instance("sigmoid", "x", x, Tensor).data)
    return Tensor.from_operation(y, (x,), lambda grad: x.accumulate(grad * (y * (1 - y))))


def tanh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Squash each element into -1..1.

    y = tanh x = 2 σ(2x) - 1,  dx = g (1 - y²)
    """
    return instance("tanh", "x", x, Tensor).tanh()


def mean_squared_error(
    predictions: Float[Tensor, "..."], targets: Float[Tensor, "..."] | np.ndarray | list | float
) -> Float[Tensor, ""]:
    """Return the mean squared distance of predictions from targets.

    loss = (1/N) Σ_n d_n² with d = predictions - targets;  dpredictions = 2 g d / N = -dtargets

    Args:
        predictions: numbers of any shape, at least one.
        targets: numbers of the same shape; a Tensor among them gets its gradient too.

    Raises:
        TypeError: when predictions are no Tensor or targets no numbers.
        ValueError: when their shapes differ or there is none.
    """
    targets = _targets("mean_squared_error", "predictions", predictions, targets)
    difference = predictions.data - targets.data
    scale = predictions.dtype.type(2 / difference.size)

    def backward(grad):
        slope = difference * (scale * grad)
        if targets.requires_grad:
            targets.accumulate(-slope)
        predictions.accumulate(slope)

    return Tensor.from_operation(np.square(difference).mean(), (predictions, targets), backward)


def binary_cross_entropy(
    logits: Float[Tensor, "..."], targets: Float[Tensor, "..."] | np.ndarray | list | float
) -> Float[Tensor, ""]:
    """Return the mean negative log-probability, in nats, of yes-or-no answers.

    With p = σ(logits):
    loss = -(1/N) Σ_n [t_n log p_n + (1 - t_n) log(1 - p_n)]
         =  (1/N) Σ_n [max(x_n, 0) - x_n t_n + log(1 + exp(-|x_n|))]

    It takes logits x, not probabilities: the second line is the same, but nothing in it
    overflows, and no log sees 0. The gradient is what was predicted minus what was right:
    dlogits = g (p - t) / N.  dtargets = -g x / N.

    Args:
        logits: scores of any shape, at least one; a positive one says yes.
        targets: 1 for yes, 0 for no, or probabilities between, of the same shape; a Tensor
            among them gets its gradient too.

    Raises:
        TypeError: when logits are no Tensor or targets no numbers.
        ValueError: when their shapes differ, there is none, or a target is outside 0..1.

    Source: Goodfellow, Bengio and Courville (2016), Deep Learning, section 6.2.2.2.
    """
    targets = _targets("binary_cross_entropy", "logits", logits, targets)
    x, t = logits.data, targets.data
    outside = ~((t >= 0) & (t <= 1))
    if outside.any():
        raise ValueError(
            f"binary_cross_entropy: targets must be between 0 and 1, got {t[outside].flat[0]}"
        )
    losses = np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))

    def backward(grad):
        share = x.dtype.type(1 / x.size) * grad
        if targets.requires_grad:
            targets.accumulate(-x * share)
        logits.accumulate((_sigmoid(x) - t) * share)

    return Tensor.from_operation(losses.mean(), (logits, targets), backward)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, decay, x.dtype.type(1)) / (1 + decay))


def _targets(where: str, name: str, given, targets) -> Tensor:
    """Return targets as a Tensor of the dtype of `given`, checked to have its shape."""
    instance(where, name, given, Tensor)
    if not isinstance(targets, Tensor):
        targets = Tensor.from_operation(
            float_array(targets, given.dtype, where, "targets"), (), None
        )
    if targets.shape != given.shape:
        raise ValueError(
            f"{where}: targets must have the shape of {name}, {given.shape}, got {targets.shape}"
        )
    if given.size == 0:
        raise ValueError(f"{where}: {name} must hold at least one number, got none")
    return targets


__all__ = ["binary_cross_entropy", "mean_squared_error", "sigmoid", "tanh"]
