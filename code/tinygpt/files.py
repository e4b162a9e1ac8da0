"""Files that are whole or not there: written beside their place and moved into it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tinygpt.validate import describe


def write_whole(where: str, path: str | os.PathLike, content: bytes):
    """Write a file beside `path` and move it there, so that an interruption leaves the older one.

    Raises:
        TypeError, ValueError: when path is not a path.
        OSError: when the folder does not exist or the disk is full.
    """
    path = checked_path(where, path)
    if not os.path.isdir(path.parent):  # unlike Path.is_dir, also for a name that is too long
        raise FileNotFoundError(f"{where}: the folder of path {str(path)!r} does not exist")
    try:
        with tempfile.TemporaryDirectory(prefix=".save.", dir=path.parent) as beside:
            temporary = Path(beside) / path.name
            temporary.write_bytes(content)
            os.replace(temporary, path)
    except OSError as error:
        raise OSError(f"{where}: could not write {str(path)!r}: {error.strerror}") from error


def read_safetensors(where: str, path: str | os.PathLike, load_file: Callable[[Path], dict]):
    """Return the tensors of a file by name, read by safetensors' `load_file` for some library.

    Raises:
        FileNotFoundError, IsADirectoryError: when there is no file at path.
        ValueError: when it is not a whole safetensors file.
    """
    from safetensors import SafetensorError

    path = checked_path(where, path)
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{where}: path {str(path)!r} is a directory; it must be a file that save wrote"
        )
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{where}: there is no file at path {str(path)!r}")
    try:
        return load_file(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(
            f"{where}: {str(path)!r} is not a whole safetensors file ({error}); "
            "save it again or download it again"
        ) from None
    except TypeError as error:
        raise ValueError(
            f"{where}: {str(path)!r} holds numbers of a kind that NumPy does not have ({error}); "
            "save them as float32"
        ) from None


def take(path: Path) -> IO:
    """Open a file that only one process may have open, until it is closed or ends.

    Raises:
        BlockingIOError: another process has it.
        OSError: it cannot be made.
    """
    file = open(path, "a", encoding="utf-8")  # noqa: SIM115
    try:
        import fcntl
    except ImportError:  # Windows: nobody is kept out
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def checked_path(where: str, path: str | os.PathLike) -> Path:
    """Return `path` as a Path, or say what is wrong with it."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{where}: path must be a string or a Path, got {describe(path)}")
    if "\0" in os.fspath(path):
        raise ValueError(f"{where}: path must hold no null character, got {os.fspath(path)!r}")
    return Path(path)
