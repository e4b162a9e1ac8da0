"""Optimisers: how a gradient becomes a step."""

import math
from collections.abc import Iterable

import numpy as np

from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float
from tinygpt.validate import (
    describe,
    instance,
    integer,
    number,
    positive_integer,
    probability,
)


class SGD:
    """Stochastic gradient descent with momentum.

    v ← momentum · v + g,  θ ← θ - lr · v

    Args:
        parameters: tensors to change.
        lr: learning rate.
        momentum: at least 0 and below 1.

    Source: Sutskever et al. (2013); in the form that PyTorch uses.
    """

    def __init__(self, parameters, lr: float = 1e-3, momentum: float = 0.0):
        self.parameters = _parameters("SGD", parameters)
        self.lr = number("SGD", "lr", lr, low=0.0)
        self.momentum = probability("SGD", "momentum", momentum)
        self._velocity = [np.zeros_like(p.data) for p in self.parameters if self.momentum]

    def step(self):
        """Change every parameter that has a gradient."""
        for i, parameter in enumerate(self.parameters):
            if parameter.grad is None:
                continue
            step = parameter.grad
            if self.momentum:
                velocity = self._velocity[i]
                velocity *= self.momentum
                velocity += parameter.grad
                step = velocity
            parameter.data -= self.lr * step

    def zero_grad(self):
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.zero_grad()


class AdamW:
    """Adam with weight decay that does not pass through the gradient.

    θ ← θ - lr · weight_decay · θ
    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²
    θ ← θ - lr · m̂ / (√v̂ + eps),  m̂ = m / (1 - β₁ᵗ),  v̂ = v / (1 - β₂ᵗ)

    Args:
        parameters: tensors to change.
        lr: learning rate; it may be set anew before each step.
        betas: how slowly the means of g and g² move, each at least 0 and below 1.
        eps: keeps the division finite.
        weight_decay: fraction of each weight that goes per unit of learning rate.

    Source: Loshchilov and Hutter (2019), Decoupled Weight Decay Regularization, algorithm 2.
    """

    def __init__(
        self,
        parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        where = type(self).__name__
        self.parameters = _parameters(where, parameters)
        self.lr = number(where, "lr", lr, low=0.0)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"{where}: betas must be two numbers, got {describe(betas)}")
        self.betas = tuple(probability(where, "betas", beta) for beta in betas)
        self.eps = number(where, "eps", eps, low=0.0)
        self.weight_decay = number(where, "weight_decay", weight_decay, low=0.0)
        self.steps = 0
        self._mean = [np.zeros_like(p.data) for p in self.parameters]
        self._square = [np.zeros_like(p.data) for p in self.parameters]

    def step(self):
        """Change every parameter that has a gradient."""
        self.steps += 1
        options = self.lr, self.betas, self.eps, self.weight_decay
        for parameter, m, v in zip(self.parameters, self._mean, self._square, strict=True):
            if parameter.grad is not None:
                adamw_step(parameter.data, parameter.grad, m, v, self.steps, *options)

    def zero_grad(self):
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.zero_grad()


def adamw_step(
    weight: Float[np.ndarray, "*S"],
    grad: Float[np.ndarray, "*S"],
    mean: Float[np.ndarray, "*S"],
    square: Float[np.ndarray, "*S"],
    step: int,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> None:
    """Take one step of `AdamW` with one array of weights.

    The weights and both means are changed in place; the gradient stays as it is.

    Args:
        weight: θ.
        grad: g, the gradient of the loss with respect to the weights.
        mean: m, the running mean of g; zeros before the first step.
        square: v, the running mean of g²; zeros before the first step.
        step: t, the number of this step, counted from 1.
        lr, betas, eps, weight_decay: as in `AdamW`.

    Raises:
        TypeError, ValueError: when the first four are not arrays of floats of one shape, or
            another argument is out of range.
    """
    _check_step(weight, grad, mean, square, step)
    _check_options(lr, betas, eps, weight_decay)
    beta1, beta2 = betas
    scratch = grad * (1 - beta1)  # one array to work in: the step makes no others
    mean *= beta1
    mean += scratch
    np.multiply(grad, grad, out=scratch)
    scratch *= 1 - beta2
    square *= beta2
    square += scratch
    np.sqrt(square, out=scratch)
    scratch *= 1 / math.sqrt(1 - beta2**step)
    scratch += eps
    np.divide(mean, scratch, out=scratch)
    scratch *= lr / (1 - beta1**step)
    weight *= 1 - lr * weight_decay
    weight -= scratch


def _check_step(weight, grad, mean, square, step):
    for name, array in (("weight", weight), ("grad", grad), ("mean", mean), ("square", square)):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            raise TypeError(f"adamw_step: {name} must be an array of floats, got {describe(array)}")
        if array.shape != weight.shape:
            raise ValueError(
                f"adamw_step: {name} must have the shape of weight, {weight.shape}, "
                f"got {array.shape}"
            )
    positive_integer("adamw_step", "step", step)


def _check_options(lr, betas, eps, weight_decay):
    number("adamw_step", "lr", lr)
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"adamw_step: betas must be two numbers, got {describe(betas)}")
    for beta in betas:
        probability("adamw_step", "each of betas", beta)
    number("adamw_step", "eps", eps, low=0.0)
    number("adamw_step", "weight_decay", weight_decay, low=0.0)


class Adam(AdamW):
    """AdamW without weight decay: each parameter steps by its mean gradient over its usual size.

    Args:
        parameters: tensors to change.
        lr: learning rate, about the length of a parameter's step.
        betas: how slowly the means of g and g² move, each at least 0 and below 1.
        eps: keeps the division finite.

    Source: Kingma and Ba (2015), Adam, algorithm 1.
    """

    def __init__(
        self,
        parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ):
        super().__init__(parameters, lr, betas, eps, weight_decay=0.0)


def clip_grad_norm(parameters, max_norm: float) -> float:
    """Scale all gradients together so that their joint length is at most max_norm.

    ‖g‖ = √(Σ g²) over all parameters;  g ← g · max_norm / ‖g‖ when ‖g‖ > max_norm

    Returns:
        The length before scaling.

    Source: Pascanu, Mikolov and Bengio (2013), algorithm 1.
    """
    max_norm = number("clip_grad_norm", "max_norm", max_norm, low=0.0)
    grads = [p.grad for p in _parameters("clip_grad_norm", parameters) if p.grad is not None]
    norm = math.sqrt(sum(float(np.vdot(grad, grad)) for grad in grads))
    if norm > max_norm:
        for grad in grads:
            grad *= max_norm / norm
    return norm


class CosineSchedule:
    """A learning rate that warms up in a straight line and then falls along half a cosine.

    warm-up:  max_lr · (step + 1) / warmup_steps
    after:    min_lr + (max_lr - min_lr) · (1 + cos(π · progress)) / 2

    Args:
        max_lr: the highest rate.
        total_steps: steps until the rate is min_lr; it stays there afterwards.
        warmup_steps: steps of rising, at most total_steps.
        min_lr: the last rate.

    Source: Loshchilov and Hutter (2017), SGDR, equation 5, without restarts.
    """

    def __init__(self, max_lr: float, total_steps: int, warmup_steps: int = 0, min_lr: float = 0.0):
        self.max_lr = number("CosineSchedule", "max_lr", max_lr, low=0.0)
        self.total_steps = positive_integer("CosineSchedule", "total_steps", total_steps)
        self.warmup_steps = integer(
            "CosineSchedule", "warmup_steps", warmup_steps, high=self.total_steps
        )
        self.min_lr = number("CosineSchedule", "min_lr", min_lr, low=0.0, high=self.max_lr)

    def __call__(self, step: int) -> float:
        """Return the rate of a step; the first step is 0 and its rate is not 0."""
        step = integer("CosineSchedule", "step", step)
        if step < self.warmup_steps:
            return self.max_lr * (step + 1) / self.warmup_steps
        falling = max(1, self.total_steps - self.warmup_steps)
        progress = min(1.0, (step - self.warmup_steps) / falling)
        return self.min_lr + (self.max_lr - self.min_lr) * (1 + math.cos(math.pi * progress)) / 2


def _parameters(where, parameters) -> list[Tensor]:
    """Return the parameters as a list, or say what is wrong with them."""
    is_array = hasattr(parameters, "dtype") and not isinstance(parameters, Tensor)
    if not isinstance(parameters, Iterable) or is_array:
        raise TypeError(
            f"{where}: parameters must be a list of Tensors, such as model.parameters(), "
            f"got {describe(parameters)}"
        )
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if not parameters:
        raise ValueError(f"{where}: parameters must hold at least one Tensor, got none")
    for parameter in parameters:
        instance(where, "every parameter", parameter, Tensor)
    places = {}
    for i, parameter in enumerate(parameters):
        if (first := places.setdefault(id(parameter), i)) != i:
            raise ValueError(
                f"{where}: parameters must hold each Tensor once, got one at {first} and at {i}"
            )
    return parameters
