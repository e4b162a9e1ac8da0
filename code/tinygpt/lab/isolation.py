"""Check a student's file in a process of its own, which may do whatever it likes.

An endless loop, a crash or a gigabyte of output there is one line of text here.
"""

import contextlib
import json
import os
import queue
import re
import secrets
import signal
import subprocess
import sys
import threading
from pathlib import Path

import tinygpt
from tinygpt.lab.definitions import Chapter, Exercise, LabError
from tinygpt.lab.grading import FAILED, Result

SECONDS = 20.0
_MEMORY = 4 * 1024**3  # beyond what Python, NumPy and PyTorch take
_START_SECONDS = 120.0  # to import NumPy or PyTorch on a machine that is busy
_KEPT_OUTPUT = 2000
# A check needs no shape types; without jaxtyping, Python starts in half the time.
_START = """
import sys
sys.path.append(sys.argv.pop(1))
sys.modules["jaxtyping"] = None
from tinygpt.lab.worker import main
del sys.modules["jaxtyping"]
main()
"""


def check_file(
    chapter: Chapter, exercise: Exercise, path: Path, seconds: float = SECONDS
) -> Result:
    """Check one exercise of a student's file.

    Args:
        chapter, exercise: what was asked.
        path: the student's file.
        seconds: time limit for loading the file and running the checks.

    Raises:
        LabError: no process can be started.
    """
    package_folder = str(Path(tinygpt.__file__).resolve().parent.parent)
    options = [chapter.name, exercise.name, str(path.resolve()), str(seconds), str(_MEMORY)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, package_folder, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=path.resolve().parent,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise LabError(f"The check cannot start a Python process: {error.strerror}") from None
    try:
        word = secrets.token_hex(16)
        with contextlib.suppress(OSError):  # it has ended already
            process.stdin.write(f"{word}\n".encode("ascii"))
            process.stdin.close()
        printed = _Printed(process.stderr)
        answers = queue.Queue()
        threading.Thread(target=_forward, args=(process.stdout, answers), daemon=True).start()
        result = _wait(process, answers, exercise, path, seconds, word)
    finally:  # also at Ctrl-C
        _end(process)
    printed.wait()
    return Result(**{**vars(result), "printed": printed.text()})


def _wait(process, answers, exercise, path, seconds, word) -> Result:
    """Follow the worker until it answers, ends or runs out of time."""
    stuck = []  # the watchdog's traceback
    ready, left = False, _START_SECONDS
    while True:
        try:
            line = answers.get(timeout=left)
        except queue.Empty:
            if not ready:
                raise LabError(f"Python did not start within {left:g} seconds") from None
            return _late(exercise, path, seconds, stuck)
        if line is None:
            break
        try:
            said = json.loads(line)
        except ValueError:
            stuck.append(line)
            continue
        if isinstance(said, dict) and "result" in said:
            if said.get("word") == word:
                return Result(**said["result"])
            message = f"{path.name} writes a result of its own where the check writes its"
            return Result(exercise.name, FAILED, message=message)
        ready, left = True, seconds + 5.0
    if stuck:
        return _late(exercise, path, seconds, stuck)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
    return Result(exercise.name, FAILED, message=_ending(process.returncode))


def _late(exercise, path, seconds, stuck) -> Result:
    # faulthandler writes what is not ASCII in a path as escapes.
    name = re.escape(str(path.resolve()).encode("ascii", "backslashreplace").decode("ascii"))
    found = re.search(rf'File "{name}", line (\d+) in (\S+)', "\n".join(stuck))
    place = f", in line {found[1]} ({found[2]})" if found else ""
    message = f"no answer after {seconds:g} seconds; it was still running{place}"
    return Result(exercise.name, FAILED, message=message)


def _ending(code: int | None) -> str:
    if code is None:
        return "the process of the check closed its output before an answer"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        causes = {
            "SIGSEGV": "; a very deep recursion is the usual cause",
            "SIGKILL": "; it was killed, or the machine had no memory left",
        }
        return f"the process of the check was ended by {name}{causes.get(name, '')}"
    return f"the process of the check ended itself with exit code {code} before an answer"


def _end(process) -> None:
    """End the worker and what it started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)


def _forward(pipe, answers) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in pipe:
            answers.put(line.decode("utf-8", errors="replace").rstrip())
    answers.put(None)


class _Printed:
    """Drains what the student's code prints, and keeps only the start."""

    def __init__(self, pipe):
        self._kept, self._size = b"", 0
        self._thread = threading.Thread(target=self._drain, args=(pipe,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the end of the output, but not for a process that holds it open."""
        self._thread.join(timeout=2)

    def text(self) -> str:
        shown = self._kept.decode("utf-8", errors="replace").rstrip()
        more = self._size - len(self._kept)
        return f"{shown}\n… and {more:,} bytes more" if more else shown

    def _drain(self, pipe):
        with contextlib.suppress(ValueError, OSError):
            while chunk := pipe.read1(65536):
                self._kept += chunk[: max(0, _KEPT_OUTPUT - len(self._kept))]
                self._size += len(chunk)
