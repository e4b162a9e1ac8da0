"""Small things that checks measure, and how they write numbers down."""

import contextlib

import numpy as np

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.undisturbed import globals_left_alone
from tinygpt.scratch import GELU, Dropout, Tensor


def shown(value, digits: int = 2, *, beside: float | None = None) -> str:
    """Return a number with a fixed count of decimals, and never a minus zero.

    With more decimals where it would read as the number `beside` it, or as being on the other
    side of it: "should be below 0.001, got 0.00" tells nobody anything.
    """
    value = float(value)
    text = f"{value:.{digits}f}"
    if beside is not None and np.isfinite(value) and value != beside:
        while digits < 17 and (float(text) == beside or (float(text) > beside) != (value > beside)):
            digits += 1
            text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def array_of(what: str, value) -> np.ndarray:
    """Return what must be a NumPy array.

    Raises:
        CheckFailed: it is something else.
    """
    is_array = isinstance(value, np.ndarray)
    require(is_array, f"{what} should return a NumPy array, got {kind_of(value)}")
    return value


def tensor_of(what: str, value, shape: tuple[int, ...]) -> np.ndarray:
    """Return the values of a Tensor that must have this shape.

    Raises:
        CheckFailed: it is something else, or has another shape.
    """
    require(isinstance(value, Tensor), f"{what} should return a Tensor, got {kind_of(value)}")
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
        f"{what}; the largest difference should be below {tolerance:g}, got "
        f"{shown(difference, beside=tolerance)}",
    )


def input_gradient(symbol: str, x: Tensor) -> None:
    """Fail unless the input of a module has received a gradient."""
    require(x.grad is not None, f"The gradient should reach the input of {symbol}, got None")


def has_graph(symbol: str, out: Tensor) -> None:
    """Fail unless a result remembers how it was computed."""
    require(out.requires_grad, f"{symbol} should be made of Tensor operations, got no graph")


def leaves_alone(symbol: str, module, x: Tensor, mask: np.ndarray | None = None) -> None:
    """Fail if a call of the module changes anything but its result."""
    for training in (True, False):
        module.train(training)
        values, state = x.data.copy(), module.state_dict()
        kept = None if mask is None else mask.copy()
        with globals_left_alone(symbol):
            module(x) if mask is None else module(x, mask)
        require(
            np.array_equal(x.data, values),
            f"{symbol} should leave its input as it was; it changed it",
        )
        require(
            mask is None or np.array_equal(mask, kept),
            f"{symbol} should leave the mask as it was; it changed it",
        )
        require(
            all(part.training == training for _, part in module.modules()),
            f"{symbol} should stay in {'training' if training else 'eval mode'} when it is "
            "called; it switched",
        )
        for name, value in module.state_dict().items():
            require(
                name in state and np.array_equal(value, state[name]),
                f"{symbol} should leave its parameters as they were; a call changed {name}",
            )


@contextlib.contextmanager
def layers_made(symbol: str):
    """Collect the layers that are made inside; fail if one is given the data to work on."""
    made, before = [], {kind: kind.__init__ for kind in (Dropout, GELU)}

    def noting(kind):
        def __init__(self, *args, **kwargs):
            name = kind.__name__
            require(
                not any(isinstance(value, Tensor) for value in (*args, *kwargs.values())),
                f"{symbol} hands a Tensor to {name}(...), which makes the layer; make it first, "
                f"then call it: {name}()(x)",
            )
            made.append(name)
            before[kind](self, *args, **kwargs)

        return __init__

    for kind in before:
        kind.__init__ = noting(kind)
    try:
        yield made
    finally:
        for kind, original in before.items():
            kind.__init__ = original
