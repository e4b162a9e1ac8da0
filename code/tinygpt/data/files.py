"""Where corpora are kept, and files that are there whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tinygpt.files import checked_path, special
from tinygpt.validate import describe

# A full disk, or one's share of it.
NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class DataError(RuntimeError):
    """A corpus that cannot be had: no network, no such file, damaged, no room."""


def data_dir() -> Path:
    """Where fetched corpora are kept: `TINYGPT_DATA`, or `tinygpt` in the user's cache folder."""
    if chosen := os.environ.get("TINYGPT_DATA"):
        return Path(chosen).expanduser()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tinygpt"
    except RuntimeError:
        raise DataError(
            "there is no home folder to keep corpora in; set TINYGPT_DATA to a folder"
        ) from None


@contextmanager
def replacing(
    path: Path, otherwise: str = "give a folder that can be written to"
) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place when the block ends without an error.

    Until then a reader meets the old file or none, also when the process is killed.

    Args:
        path: the file to replace; its folder is made if it is not there.
        otherwise: what to do where the folder cannot be written to, for the message.

    Raises:
        TypeError, ValueError: path is no path.
        DataError: the file cannot be written (full disk, no permission, a file in the way), or
            something other than a file is at path.
    """
    path = checked_path("write_atomically", path)
    if kind := special(path):
        raise DataError(f"{path}: is {kind}; give the name of a file")
    beside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            beside = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())  # on the disk before its name is, should the power fail
        beside.chmod(0o644)  # as for any file; a temporary one is for its owner alone
        os.replace(beside, path)
    except OSError as error:
        full = error.errno in NO_ROOM
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); {'free some room, or ' * full}"
            f"{otherwise}"
        ) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def write_atomically(
    path: Path, content: bytes, otherwise: str = "give a folder that can be written to"
) -> None:
    """Write `content` to `path`, whole or not at all; see `replacing`."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"write_atomically: content must be bytes, got {describe(content)}; encode a text first"
        )
    with replacing(path, otherwise) as file:
        file.write(content)
