"""Saving and loading parameters as safetensors: names, shapes and numbers, nothing executable.

Source: https://huggingface.co/docs/safetensors, "Format".
"""

import os

import numpy as np

from tinygpt.files import read_safetensors, safetensors_with_checksums, write_whole
from tinygpt.scratch.layers import Module
from tinygpt.validate import instance


def save(path: str | os.PathLike, module: Module):
    """Write the parameters of a module to a file; a tied one once, under its first name.

    The file is written beside its place and moved there when complete, so an interruption
    leaves an older file as it was.

    Raises:
        OSError: when the folder does not exist or the disk is full.
    """
    from safetensors.numpy import save as serialise

    instance("save", "module", module, Module)
    state = {name: np.ascontiguousarray(p.data) for name, p in module.named_parameters()}
    write_whole("save", path, safetensors_with_checksums(state, serialise))


def load(path: str | os.PathLike, module: Module) -> Module:
    """Read parameters that `save` (or PyTorch, by the same names) wrote into a module.

    A NaN among the values is loaded like any other number; a model that holds one says so
    when it generates.

    Returns:
        The module.

    Raises:
        FileNotFoundError: when there is no such file.
        IsADirectoryError: when path is a directory.
        ValueError: when it is not a whole safetensors file, or its names or shapes are not
            the module's. The module is then unchanged.
    """
    from safetensors.numpy import load_file

    instance("load", "module", module, Module)
    module.load_state_dict(read_safetensors("load", path, load_file))
    return module
