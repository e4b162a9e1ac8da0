"""Puts the files of a site into place, one whole file after the other.

A build that is killed, or that runs into a full disk, leaves each file as it was or as it
should be, never half of it. A file that has not changed is not touched. What an earlier
build wrote and this one does not is removed; files of others are left alone.
"""

import errno
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

# Inside the output folder, so that moving a file never crosses a file system; with the
# number of the process, so that two builds (one of them `make serve`) do not meet.
_STAGING = ".partial-"
_MANIFEST = ".bookbuild.json"


class PublishError(Exception):
    """The site cannot be written: where, why, what to do."""


@dataclass(frozen=True)
class Report:
    """What a build has done to the output folder, in numbers of files."""

    written: int
    unchanged: int
    removed: int


def publish(files: dict[str, bytes], output: Path) -> Report:
    """Make `output` hold these files.

    Args:
        files: content by path inside the folder, with forward slashes. They are moved
            into place in this order.
        output: the folder; it is made when there is none.

    Raises:
        PublishError: the output is not a folder, may not be written, or the disk is full.
    """
    at = output
    staging = output / f"{_STAGING}{os.getpid()}"
    try:
        staging.mkdir(parents=True, exist_ok=True)
        _clear_killed(output)
        changed = []
        for name, content in files.items():
            at = output / name
            if not _holds(at, content):
                _write(staging / name, content)
                changed.append(name)
        before = _read_manifest(output)
        # Before the first file moves: a killed build must not forget what it has put there.
        _write_manifest(output, staging, before | set(files))
        for name in changed:
            at = output / name
            at.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / name, at)
        stale = sorted(before - set(files))
        for name in stale:
            at = output / name
            _remove(at, output)
        _clear_quarto(output)
        at = output
        _write_manifest(output, staging, set(files))
    except OSError as error:
        raise PublishError(_explain(error, at, output)) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Report(len(changed), len(files) - len(changed), len(stale))


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _read_manifest(output: Path) -> set[str]:
    try:
        names = json.loads((output / _MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return set()
    if not isinstance(names, list):
        return set()
    return {name for name in names if _inside(name)}


def _inside(name: object) -> bool:
    """Whether a name from the manifest is a file of the site, and not `../elsewhere`."""
    return isinstance(name, str) and not name.startswith("/") and ".." not in name.split("/")


def _write_manifest(output: Path, staging: Path, names: set[str]) -> None:
    content = (json.dumps(sorted(names), indent=0, ensure_ascii=False) + "\n").encode()
    if not _holds(output / _MANIFEST, content):
        _write(staging / _MANIFEST, content)
        os.replace(staging / _MANIFEST, output / _MANIFEST)


def _remove(path: Path, output: Path) -> None:
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == output or any(folder.iterdir()):
            return
        folder.rmdir()


def _clear_killed(output: Path) -> None:
    """Remove what builds have left that were killed."""
    for folder in output.glob(f"{_STAGING}*"):
        if not _runs(folder.name.removeprefix(_STAGING)):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(process: str) -> bool:
    if os.name != "posix" or not process.isdigit():  # elsewhere signal 0 is not a question
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and is another user's
        return True
    return True


def _clear_quarto(output: Path) -> None:
    """Remove what only Quarto's pages use, when the last build was Quarto's."""
    if not (output / "site_libs").is_dir():
        return
    for folder in [output / "site_libs", *output.rglob("*_files")]:
        shutil.rmtree(folder)
    (output / "search.json").unlink(missing_ok=True)


def _explain(error: OSError, at: Path, output: Path) -> str:
    if output.exists() and not output.is_dir():
        return (
            f"{output}: the site cannot be written there, it is a file; "
            "move it away, or name a folder in _quarto.yml (project: output-dir)"
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{at}: the disk is full; free some space and build again, no page is half-written"
    if isinstance(error, PermissionError):
        return (
            f"{error.filename or at}: no permission to write; "
            "make the folder yours, or name another one in _quarto.yml (project: output-dir)"
        )
    if isinstance(error, (IsADirectoryError, NotADirectoryError, FileExistsError)):
        return f"{at}: a folder and a file have the same name here; move away {error.filename}"
    return f"{at}: cannot be written: {error.strerror or error}"
