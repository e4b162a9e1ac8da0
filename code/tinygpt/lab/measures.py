"""Small things that checks measure, and how they write numbers down."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.scratch import Tensor


def shown(value, digits: int = 2) -> str:
    """Return a number with a fixed count of decimals, and never a minus zero."""
    text = f"{float(value):.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def tensor_of(what: str, value, shape: tuple[int, ...]) -> np.ndarray:
    """Return the values of a Tensor that must have this shape.

    Raises:
        CheckFailed: it is something else, or has another shape.
    """
    kind = "None" if value is None else type(value).__name__
    require(isinstance(value, Tensor), f"{what} should return a Tensor, got {kind}")
    require(
        value.shape == shape, f"{what} should return the shape {shape}, got {tuple(value.shape)}"
    )
    return value.data


def has_part(symbol: str, module, name: str) -> None:
    """Fail unless the module has an attribute of this name."""
    owned = [part for part in vars(module) if not part.startswith("_")]
    found = ", ".join(owned) or "nothing"
    require(hasattr(module, name), f"{symbol} should have a part self.{name}, got {found}")


def has_shape(what: str, value, shape: tuple[int, ...]) -> None:
    """Fail unless a parameter has this shape."""
    found = getattr(value, "shape", None)
    got = tuple(found) if found is not None else type(value).__name__
    require(found == shape, f"{what} should have the shape {shape}, got {got}")


def all_gradients(symbol: str, module) -> None:
    """Fail unless each parameter has received a gradient."""
    for name, parameter in module.named_parameters():
        require(
            parameter.grad is not None and np.isfinite(parameter.grad).all(),
            f"After backward every parameter should have a gradient; {symbol} gave none to {name}",
        )


def close(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    """Fail unless two arrays agree; the message holds the largest difference."""
    difference = float(np.abs(found - expected).max(initial=0.0))
    require(
        difference <= tolerance,
        f"{what}; the largest difference should be below {tolerance:g}, got {shown(difference)}",
    )
