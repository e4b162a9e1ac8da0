"""GELU in both of its forms, with a gradient of our own where PyTorch's is slow."""

import math

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional as F

from tinygpt.models.checks import check_floats
from tinygpt.shapes import Float
from tinygpt.validate import flag

# 2u = a x + b x³
_A = 2 * math.sqrt(2 / math.pi)
_B = _A * 0.044715

# In float32, σ(±_TAIL) is 0 or 1, and so is the slope at ±_FLAT and beyond.
_TAIL = 112.0
_FLAT = 11.0


def gelu(x: Float[Tensor, "*S"], exact: bool = False) -> Float[Tensor, "*S"]:
    """Return the Gaussian error linear unit, in the tanh form that GPT-2 uses or exactly.

    exact:      GELU(x) = x Φ(x), with Φ the standard normal distribution function
    tanh form:  GELU(x) ≈ x/2 · (1 + tanh u) = x σ(2u), with u = √(2/π) (x + 0.044715 x³)

    On the CPU, PyTorch's tanh is slow enough to cost a small GPT a twentieth of its training
    time. There σ takes its place, and the slope is computed on the way forward, where σ is at
    hand. Elsewhere, under torch.compile and inside torch.func, PyTorch's own kernel is the one.

    Raises:
        TypeError: when x is not a tensor of floats or exact is no bool.

    Source: Hendrycks and Gimpel (2016), section 2.
    """
    check_floats("gelu", "x", x)
    if flag("gelu", "exact", exact):
        return F.gelu(x)
    return _Gelu.apply(x) if _runs_ours(x) else F.gelu(x, approximate="tanh")


def _runs_ours(x: Tensor) -> bool:
    """True where our way is the faster one, and its derivatives are taken backwards."""
    if x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_compiling():
        return False
    # PyTorch asks itself the first in the same way; it has no public name.
    in_torch_func = torch._C._are_functorch_transforms_active()
    return not in_torch_func and forward_ad.unpack_dual(x).tangent is None


class _Gelu(torch.autograd.Function):
    """x σ(2u) and its slope, σ + 3 w σ (1 - σ) with w = x (a + 3 b x²) / 3 = 2u - 2 a x / 3.

    Nine passes over the numbers, in two arrays of the size of x: time goes into moving them.
    """

    @staticmethod
    def forward(ctx, x):
        doubled = x * x
        torch.add(torch.tensor(_A), doubled, alpha=_B, out=doubled).mul_(x)  # 2u
        doubled.clamp_(-_TAIL, _TAIL)  # x³ may be infinite, and ∞ · 0 below would be NaN
        sigmoid = doubled.sigmoid()
        if ctx.needs_input_grad[0]:
            slope = torch.sub(x, doubled, alpha=1.5 / _A, out=doubled)  # -3 w / 2a
            torch.ops.aten.sigmoid_backward.grad_input(slope, sigmoid, grad_input=slope)
            torch.add(sigmoid, slope, alpha=-2 * _A, out=slope)
            ctx.save_for_backward(x, slope)
        return sigmoid.mul_(x)

    @staticmethod
    def backward(ctx, gradient):
        x, slope = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: the gradient itself gets derivatives
            inner = x.clamp(-_FLAT, _FLAT)
            return torch.ops.aten.gelu_backward(gradient, inner, approximate="tanh")
        return gradient * slope
