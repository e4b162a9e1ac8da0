"""What is solved, kept in `.tinygpt_lab.json` beside the student's file."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tinygpt.lab.definitions import LabError
from tinygpt.lab.grading import FAILED, OPEN, SOLVED, Result

FILE_NAME = ".tinygpt_lab.json"
_VERSION = 1


class Record:
    """The results and the hints taken in one folder.

    Args:
        folder: where the student's files are.

    Attributes:
        trouble: one sentence when the record on disk cannot be read, else "".
    """

    def __init__(self, folder: Path):
        self.path = folder / FILE_NAME
        self.trouble = ""
        self._data = self._read()

    def status(self, chapter: str, exercise: str) -> str:
        """Return "solved", "failed" or "open"."""
        status = self._entry(chapter, exercise).get("status")
        return status if status in (SOLVED, FAILED) else OPEN

    def hints(self, chapter: str, exercise: str) -> int:
        """Return how many hints have been shown."""
        count = self._entry(chapter, exercise).get("hints")
        return count if isinstance(count, int) and count >= 0 else 0

    def is_current(self, chapter: str, exercise: str, path: Path) -> bool:
        """Whether the result is that of the file as it is now."""
        return self._entry(chapter, exercise).get("file") == digest_of(path)

    def note_result(self, chapter: str, result: Result, digest: str) -> None:
        """Keep a result, and the digest of the file that it was for."""
        self._update(chapter, result.exercise, status=result.status, file=digest)

    def note_hints(self, chapter: str, exercise: str, count: int) -> None:
        """Keep how many hints have been shown."""
        self._update(chapter, exercise, hints=count)

    def _entry(self, chapter, exercise) -> dict:
        exercises = self._data.get(chapter)
        entry = exercises.get(exercise) if isinstance(exercises, dict) else None
        return entry if isinstance(entry, dict) else {}

    def _update(self, chapter, exercise, **values) -> None:
        with self._locked():
            self._data = self._read()  # another check may have written in the meantime
            entry = self._entry(chapter, exercise) | values
            exercises = self._data.get(chapter)
            self._data[chapter] = (exercises if isinstance(exercises, dict) else {}) | {
                exercise: entry
            }
            if self.trouble and self.path.exists():
                os.replace(self.path, self.path.with_suffix(".damaged.json"))
                self.trouble = ""
            text = json.dumps({"version": _VERSION, "chapters": self._data}, indent=2)
            write_beside(self.path, text + "\n")

    def _read(self) -> dict:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError):
            return self._unreadable()
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            return self._unreadable()
        chapters = whole.get("chapters") if isinstance(whole, dict) else None
        return chapters if isinstance(chapters, dict) else self._unreadable()

    def _unreadable(self) -> dict:
        self.trouble = (
            f"{FILE_NAME} cannot be read, so earlier results are not known. The next check "
            "sets it aside and starts a new one."
        )
        return {}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other checks of this folder out. Where folders cannot be locked, do without."""
        try:
            import fcntl

            folder = os.open(self.path.parent, os.O_RDONLY)
        except (ImportError, OSError):
            yield
            return
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def digest_of(path: Path) -> str:
    """Return a short fingerprint of a file, or "" when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def write_beside(path: Path, text: str) -> None:
    """Write a text beside `path` and move it into place.

    Raises:
        LabError: the file cannot be written; what was there is still there.
    """
    beside = None
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        beside = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)
        os.replace(beside, path)
    except OSError as error:
        raise LabError(
            f"{path.name} cannot be written in {path.parent}: {error.strerror or error}"
        ) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)
