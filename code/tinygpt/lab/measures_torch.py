"""Small things that checks of PyTorch answers measure; `measures` has those for the NumPy engine.

Only the chapters that need PyTorch import this module. While a check runs, the lab has seeded
PyTorch: the layers that a check makes begin with the same weights on every run.
"""

import contextlib

import torch
from torch import Tensor, nn

from tinygpt.lab import undisturbed
from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown


def tensor_of(what: str, value, shape: tuple[int, ...]) -> Tensor:
    """Return the values of a torch.Tensor that must have this shape, without their graph.

    Raises:
        CheckFailed: it is something else, or has another shape.
    """
    kind = kind_of(value)
    require(isinstance(value, Tensor), f"{what} should return a torch.Tensor, got {kind}")
    require(
        tuple(value.shape) == shape,
        f"{what} should return the shape {shape}, got {tuple(value.shape)}",
    )
    return value.detach()


def has_part(symbol: str, module: nn.Module, name: str) -> None:
    """Fail unless the module has a layer or a parameter of this name."""
    owned = [part for part, _ in module.named_children()]
    owned += [part for part, _ in module.named_parameters(recurse=False)]
    found = ", ".join(owned) or "nothing"
    require(hasattr(module, name), f"{symbol} should have a part self.{name}, got {found}")


def close(what: str, found: Tensor, expected: Tensor, tolerance: float = 1e-4) -> None:
    """Fail unless two tensors agree; the message holds the largest difference."""
    difference = float((found.detach() - expected.detach()).abs().max()) if found.numel() else 0.0
    got = f"{difference:.1e}"
    if difference >= 0.01 or float(got) <= tolerance:
        got = shown(difference, beside=tolerance)
    require(
        difference <= tolerance,
        f"{what}; the largest difference should be below {tolerance:g}, got {got}",
    )


def has_graph(symbol: str, out: Tensor) -> None:
    """Fail unless a result remembers how it was computed."""
    require(out.requires_grad, f"{symbol} should be made of PyTorch operations, got no graph")


def all_gradients(symbol: str, module: nn.Module) -> None:
    """Fail unless each parameter has received a gradient."""
    for name, parameter in module.named_parameters():
        require(
            parameter.grad is not None and bool(parameter.grad.isfinite().all()),
            f"After backward every parameter should have a gradient; {symbol} gave none to {name}",
        )


def globals_left_alone(symbol: str):
    """Fail if the code inside changes what all code shares; drawing is fine: dropout does."""
    return undisturbed.globals_left_alone(symbol, draws=True)


@contextlib.contextmanager
def left_alone(symbol: str, *inputs: Tensor):
    """Fail if the code inside changes one of these tensors."""
    before = [value.detach().clone() for value in inputs]
    with globals_left_alone(symbol):
        yield
    for value, kept in zip(inputs, before, strict=True):
        require(
            torch.equal(value.detach(), kept),
            f"{symbol} should leave its input as it was; it changed it",
        )
