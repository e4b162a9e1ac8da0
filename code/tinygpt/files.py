"""Files that are whole or not there: written beside their place and moved into it."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from tinygpt.validate import describe


def write_whole(where: str, path: str | os.PathLike, content: bytes):
    """Write a file beside `path` and move it there, so that an interruption leaves the older one.

    Raises:
        TypeError, ValueError: when path is not a path.
        OSError: when the folder does not exist, something other than a file is at path, or the
            disk is full.
    """
    path = checked_path(where, path)
    if kind := special(path):
        raise OSError(f"{where}: path {str(path)!r} is {kind}; give the name of a file")
    if not os.path.isdir(path.parent):  # unlike Path.is_dir, also for a name that is too long
        raise FileNotFoundError(f"{where}: the folder of path {str(path)!r} does not exist")
    try:
        with tempfile.TemporaryDirectory(prefix=".save.", dir=path.parent) as beside:
            temporary = Path(beside) / path.name
            temporary.write_bytes(content)
            os.replace(temporary, path)
    except OSError as error:
        raise OSError(f"{where}: could not write {str(path)!r}: {error.strerror}") from error


def write_folder(where: str, folder: str | os.PathLike, files: Mapping[str, bytes]):
    """Write files into a new folder, beside its place first, so that it is there whole or not.

    Raises:
        TypeError, ValueError: when folder is not a path.
        OSError: when something is there already (an empty folder is filled), it cannot be made,
            or the disk is full.
    """
    folder = checked_path(where, folder, "folder")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise FileExistsError(f"{where}: {str(folder)!r} is there and is no folder; choose another")
    if os.path.isdir(folder) and os.listdir(folder):
        raise FileExistsError(f"{where}: the folder {str(folder)!r} is not empty; choose another")
    beside = folder.parent / f".save.{folder.name}.{os.getpid()}"
    try:
        beside.mkdir(parents=True)
        for name, content in files.items():
            (beside / name).write_bytes(content)
        if os.path.isdir(folder):  # an empty one, which Windows would not replace
            os.rmdir(folder)
        os.replace(beside, folder)
    except OSError as error:
        raise OSError(f"{where}: could not write {str(folder)!r}: {error.strerror}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def special(path: str | os.PathLike) -> str | None:
    """What is at a path, if it is there and is no file: writing to it would replace it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # nothing, or a link to nothing
        return None
    kinds = {
        stat.S_ISDIR: "a folder",
        stat.S_ISFIFO: "a pipe",
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
        stat.S_ISSOCK: "a socket",
    }
    return next((name for is_one, name in kinds.items() if is_one(mode)), None)


def safetensors_with_checksums(
    tensors: Mapping[str, Any], serialise: Callable[..., bytes], **metadata: str
) -> bytes:
    """Return a safetensors file that holds a SHA-256 of each of its tensors.

    Args:
        tensors: arrays of some library by name.
        serialise: safetensors' `save` for that library.
        metadata: what else the header says, such as format="pt".
    """
    sums = _checksums(serialise(tensors))
    return serialise(tensors, metadata=metadata | {_SUMS: json.dumps(sums, sort_keys=True)})


def read_safetensors(where: str, path: str | os.PathLike, load_file: Callable[[Path], dict]):
    """Return the tensors of a file by name, read by safetensors' `load_file` for some library.

    Raises:
        FileNotFoundError, IsADirectoryError: when there is no file at path.
        ValueError: when it is not a whole safetensors file, or a tensor is not what was written.
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
        tensors = load_file(path)
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
    if changed := _changed(path.read_bytes()):
        raise ValueError(
            f"{where}: {changed} in {str(path)!r} is not what was written; the file is damaged, "
            "take another copy of it"
        )
    return tensors


_SUMS = "sha256"  # the entry of the header's metadata
_LENGTH = 8  # bytes that say how long the header is


def _header(content: bytes) -> tuple[dict, memoryview]:
    """The header of a safetensors file, and the numbers that follow it."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    return json.loads(content[_LENGTH:end]), memoryview(content)[end:]


def _checksums(content: bytes) -> dict[str, str]:
    """SHA-256 of each tensor with its type and shape, by name."""
    header, numbers = _header(content)
    header.pop("__metadata__", None)
    sums = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        kind = f"{about['dtype']} {about['shape']} ".encode()
        sums[name] = hashlib.sha256(kind + numbers[start:end]).hexdigest()
    return sums


def _changed(content: bytes) -> str | None:
    """The first tensor that differs from its checksum, where the file holds checksums."""
    kept = (_header(content)[0].get("__metadata__") or {}).get(_SUMS)
    if kept is None:  # written by another program
        return None
    try:
        kept = json.loads(kept)
        names = kept.keys()
    except (ValueError, AttributeError):
        return "the list of checksums"
    found = _checksums(content)
    return next((name for name in found.keys() | names if found.get(name) != kept.get(name)), None)


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


def checked_path(where: str, path: str | os.PathLike, name: str = "path") -> Path:
    """Return `path` as a Path, or say what is wrong with it."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{where}: {name} must be a string or a Path, got {describe(path)}")
    if "\0" in os.fspath(path):
        raise ValueError(f"{where}: {name} must hold no null character, got {os.fspath(path)!r}")
    return Path(path)
