"""GELU in both of its forms, with a gradient of our own where PyTorch's is slow."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from tinygpt.shapes import Float

# 2u = a x + b x³
_A = 2 * math.sqrt(2 / math.pi)
_B = _A * 0.044715


def gelu(x: Float[Tensor, "*S"], exact: bool = False) -> Float[Tensor, "*S"]:
    """Return the Gaussian error linear unit, in the tanh form that GPT-2 uses or exactly.

    exact:      GELU(x) = x Φ(x), with Φ the standard normal distribution function
    tanh form:  GELU(x) ≈ x/2 · (1 + tanh u) = x σ(2u), with u = √(2/π) (x + 0.044715 x³)

    On the CPU, PyTorch's tanh is slow enough to cost a small GPT a twentieth of its training
    time. There σ takes its place, and the slope is computed on the way forward, where σ is at
    hand. Elsewhere, and under torch.compile, PyTorch's own kernel is the fast one.

    Source: Hendrycks and Gimpel (2016), section 2.
    """
    if exact:
        return F.gelu(x)
    if x.device.type == "cpu" and x.dtype == torch.float32 and not torch.compiler.is_compiling():
        return _Gelu.apply(x)
    return F.gelu(x, approximate="tanh")


class _Gelu(torch.autograd.Function):
    """x σ(2u) and its slope, σ + 3 w σ (1 - σ) with w = x (a + 3 b x²) / 3 = 2u - 2 a x / 3.

    Eight passes over the numbers, in two arrays of the size of x: time goes into moving them.
    """

    @staticmethod
    def forward(ctx, x):
        doubled = x * x
        torch.add(torch.tensor(_A), doubled, alpha=_B, out=doubled).mul_(x)  # 2u
        sigmoid = doubled.sigmoid()
        if ctx.needs_input_grad[0]:
            slope = doubled.sub_(x, alpha=2 * _A / 3)  # w
            torch.ops.aten.sigmoid_backward.grad_input(slope, sigmoid, grad_input=slope)
            ctx.save_for_backward(torch.add(sigmoid, slope, alpha=3, out=slope))
        return sigmoid.mul_(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        (slope,) = ctx.saved_tensors
        return gradient * slope
