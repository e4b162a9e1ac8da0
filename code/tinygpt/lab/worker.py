"""The process in which a student's file runs.

It says on its standard output, in lines of JSON, that it is ready and what the result is. With
the result goes a word that the parent has given, so that a line which the student's code writes
there is no result.
Everything that the student's code prints goes to standard error, where the parent collects it.
"""

import contextlib
import faulthandler
import json
import os
import sys
from pathlib import Path

from tinygpt.lab.chapters import find_chapter, find_exercise
from tinygpt.lab.grading import result_as_dict
from tinygpt.lab.student import check_here


def main() -> None:
    """Check one exercise of a file: chapter, exercise, path, seconds, bytes of memory."""
    chapter_name, exercise_name, file_name, seconds, memory = sys.argv[1:]
    exercise = find_exercise(exercise_name, find_chapter(chapter_name))
    path = Path(file_name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    word = _word()
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")
    sys.path.append(str(path.parent))  # at the end: a `random.py` beside the file hides nothing
    _limit_memory(int(memory))
    _say(answers, {"ready": True})
    # A watchdog outside Python's control: it writes where every thread is, and ends the process.
    faulthandler.dump_traceback_later(float(seconds), exit=True, file=answers)
    result = check_here(exercise, path)
    faulthandler.cancel_dump_traceback_later()
    with contextlib.suppress(Exception):  # they may be closed, or something else by now
        sys.stdout.flush()
        sys.stderr.flush()
    _say(answers, {"result": result_as_dict(result), "word": word})  # the parent ends this process
    os._exit(0)  # threads and exit handlers of the student's have no say any more


def _word() -> str:
    """Take the word that the parent gives; nothing else can be read from standard input."""
    word = sys.stdin.readline().strip()
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
    return word


def _say(answers, what) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    size += _mapped()
    for limit, value in [(resource.RLIMIT_AS, size), (resource.RLIMIT_CORE, 0)]:
        _, hard = resource.getrlimit(limit)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(limit, (value, hard))
        except (ValueError, OSError):  # macOS refuses some
            continue


def _mapped() -> int:
    """Bytes of address space in use: PyTorch maps gigabytes of libraries on some machines."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):  # not Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
