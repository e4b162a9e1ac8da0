"""Weights by name: to a file and back, and between the NumPy and the PyTorch GPT."""

import os
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from tinygpt import scratch
from tinygpt.files import read_safetensors, safetensors_with_checksums, write_whole
from tinygpt.validate import describe, first_few, instance


def save(path: str | os.PathLike, model: nn.Module):
    """Write the parameters of a model to a safetensors file; a tied one once.

    The file has the names and shapes of `scratch.save`, so either engine reads it. It is
    written beside its place and moved there when complete.

    Raises:
        OSError: when the folder does not exist or the disk is full.
    """
    from safetensors.torch import save as serialise

    instance("save", "model", model, nn.Module)
    write_whole("save", path, safetensors_with_checksums(weights(model), serialise))


def load(path: str | os.PathLike, model: nn.Module) -> nn.Module:
    """Read parameters from a file into a model and return it; on any error it is unchanged.

    Raises:
        FileNotFoundError, IsADirectoryError: when there is no file at path.
        ValueError: when it is not a whole safetensors file, or its names or shapes are not
            the model's.
    """
    from safetensors.torch import load_file

    instance("load", "model", model, nn.Module)
    load_weights(model, read_safetensors("load", path, load_file))
    return model


def copy_weights(source: nn.Module | scratch.Module, target: nn.Module | scratch.Module):
    """Copy every parameter of one model into the other by name, between NumPy and PyTorch.

    Raises:
        TypeError: when one of them is not a model.
        ValueError: when the names or shapes are not the same, or the two compute another GELU;
            the target is then unchanged.
    """
    for name, model in (("source", source), ("target", target)):
        if not isinstance(model, (nn.Module, scratch.Module)):
            raise TypeError(f"copy_weights: {name} must be a model, got {describe(model)}")
    if getattr(source, "exact_gelu", False) != getattr(target, "exact_gelu", False):
        raise ValueError(
            "copy_weights: source and target must have the same GELU, got the exact one and the "
            "tanh form; the NumPy GPT has only the tanh form, exact_gelu=False"
        )
    state = weights(source) if isinstance(source, nn.Module) else source.state_dict()
    if isinstance(target, nn.Module):
        load_weights(target, state)
    else:
        target.load_state_dict({name: np.asarray(value) for name, value in state.items()})


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Return every parameter by name, on the CPU, a tied one once, under its first name."""
    instance("weights", "model", model, nn.Module)
    return {
        name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()
    }


@torch.no_grad()
def load_weights(model: nn.Module, state: Mapping[str, Tensor | np.ndarray]):
    """Copy values into the parameters by name; on any error nothing is changed.

    A tied parameter may be given under each of its names, with equal values.

    Raises:
        TypeError: when model is no module, or state no mapping from names to tensors or arrays.
        ValueError: when names or shapes are not those of the model.
    """
    instance("load_weights", "model", model, nn.Module)
    where = f"{type(model).__name__}.load_weights"
    _check_state(where, state)
    every_name = dict(model.named_parameters(remove_duplicate=False))
    first_name = {id(parameter): name for name, parameter in model.named_parameters()}
    if any(parameter.is_meta for parameter in every_name.values()):
        raise ValueError(f"{where}: the model is on the device meta, which holds no numbers")
    tensors = {name: torch.as_tensor(value) for name, value in state.items()}
    if missing := [name for name in first_name.values() if name not in tensors]:
        raise ValueError(f"{where}: state lacks {first_few(missing)}")
    if unknown := [name for name in tensors if name not in every_name]:
        raise ValueError(f"{where}: state has {first_few(unknown)}, which this model does not")
    for name, tensor in tensors.items():
        if tensor.shape != every_name[name].shape or not tensor.is_floating_point():
            raise ValueError(
                f"{where}: {name} must be floats of shape {tuple(every_name[name].shape)}, "
                f"got {describe(tensor)}"
            )
        first = first_name[id(every_name[name])]
        if not torch.equal(tensor.nan_to_num(), tensors[first].nan_to_num()):
            raise ValueError(f"{where}: {name} and {first} are one parameter, but differ")
    for name in first_name.values():
        every_name[name].copy_(tensors[name])


def _check_state(where, state):
    """Raise unless state maps names to tensors or arrays of numbers."""
    for name, value in instance(where, "state", state, Mapping).items():
        instance(where, "every name in state", name, str)
        numbers = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
        if not isinstance(value, Tensor) and not numbers:
            raise TypeError(
                f"{where}: {name} must be a tensor or an array of floats, got {describe(value)}"
            )
