"""Saving and loading parameters as safetensors: names, shapes and numbers, nothing executable.

Source: https://huggingface.co/docs/safetensors, "Format".
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from tinygpt.scratch.layers import Module
from tinygpt.validate import describe, instance


def save(path: str | os.PathLike, module: Module):
    """Write the parameters of a module to a file; a tied one once, under its first name.

    The file is written beside its place and moved there when complete, so an interruption
    leaves an older file as it was.

    Raises:
        OSError: when the folder does not exist or the disk is full.
    """
    from safetensors.numpy import save as serialise

    path = _path("save", path)
    instance("save", "module", module, Module)
    if not os.path.isdir(path.parent):  # unlike Path.is_dir, also for a name that is too long
        raise FileNotFoundError(f"save: the folder of path {str(path)!r} does not exist")
    state = {name: np.ascontiguousarray(p.data) for name, p in module.named_parameters()}
    try:
        with tempfile.TemporaryDirectory(prefix=".save.", dir=path.parent) as beside:
            temporary = Path(beside) / path.name
            temporary.write_bytes(serialise(state))
            os.replace(temporary, path)
    except OSError as error:
        raise OSError(f"save: could not write {str(path)!r}: {error.strerror}") from error


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
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = _path("load", path)
    instance("load", "module", module, Module)
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"load: path {str(path)!r} is a directory; it must be a file that save wrote"
        )
    if not os.path.isfile(path):
        raise FileNotFoundError(f"load: there is no file at path {str(path)!r}")
    try:
        state = load_file(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(
            f"load: {str(path)!r} is not a whole safetensors file ({error}); "
            "save it again or download it again"
        ) from None
    except TypeError as error:
        raise ValueError(
            f"load: {str(path)!r} holds numbers of a kind that NumPy does not have ({error}); "
            "save them as float32"
        ) from None
    module.load_state_dict(state)
    return module


def _path(where, path) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{where}: path must be a string or a Path, got {describe(path)}")
    if "\0" in os.fspath(path):
        raise ValueError(f"{where}: path must hold no null character, got {os.fspath(path)!r}")
    return Path(path)
