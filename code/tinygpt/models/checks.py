"""One-sentence errors about PyTorch's tensors; `tinygpt.validate` has the others."""

import torch
from torch import Tensor

from tinygpt.validate import describe


def check_floats(where: str, name: str, x):
    """Raise unless x is a tensor of floats."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise TypeError(f"{where}: {name} must be a tensor of floats, got {describe(x)}")


def check_input(where: str, x, weight: Tensor, shape: str):
    """Raise unless x is a tensor of the given shape that a linear map of this weight takes.

    Args:
        where: the method that was called.
        x: its argument of the same name.
        weight: (out, in); x must have its dtype and be `in` wide.
        shape: "(B, T, C)", or "(..., C)" for any leading axes.
    """
    check_floats(where, "x", x)
    width = weight.shape[-1]
    axes = 1 if "..." in shape else shape.count(",") + 1
    if x.ndim < axes or ("..." not in shape and x.ndim > axes) or x.shape[-1] != width:
        raise ValueError(f"{where}: x must have shape {shape} with C={width}, got {tuple(x.shape)}")
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{where}: x must be of {weight.dtype} as the weights, got {describe(x)}")


def check_query_and_key(where: str, query, key):
    """Raise unless query and key are tensors of floats of one shape, (..., T, d)."""
    check_floats(where, "query", query)
    check_floats(where, "key", key)
    if query.ndim < 2 or query.shape[-1] == 0:
        raise ValueError(
            f"{where}: query must have shape (..., T, d) with d at least 1, "
            f"got {tuple(query.shape)}"
        )
    if query.shape != key.shape or query.dtype != key.dtype:
        raise ValueError(f"{where}: key must be like query, {describe(query)}, got {describe(key)}")
