"""Temporary folders that the next run removes when a run was killed and could not.

The owner holds a lock on a file in its folder. The system gives the lock back however the
owner ends, and no later process with the same number is taken for it.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

import psutil

from bookbuild.kernel_extension import WORKSPACE

try:
    import fcntl
except ImportError:  # Windows, where a folder of a killed build stays
    fcntl = None

PREFIX = "book-"
_LOCK = "owner"


class OwnedFolder:
    """A temporary folder; a context manager, whose value is the folder's path."""

    _swept: set[str] = set()  # the places where this process has looked already

    def __enter__(self) -> Path:
        place = tempfile.gettempdir()
        if place not in self._swept:
            self._swept.add(place)
            remove_abandoned(Path(place))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)
        return self.path

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def remove_abandoned(place: Path) -> None:
    """Remove the folders in `place` that are this user's and whose owner has ended."""
    if fcntl is None:
        return
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_processes(folder)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """Lock the folder's file before it has its name: without it, nobody removes the folder."""
    if fcntl is None:
        return None
    new = folder / f"{_LOCK}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(new, folder / _LOCK)
    return lock


def end_processes(folder: Path) -> None:
    """Kill whatever was started with this folder as its workspace: kernels, and their children.

    A child is known by its environment, whichever group or parent it has by now.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(WORKSPACE) == str(folder):
                process.kill()
