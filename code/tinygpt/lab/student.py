"""Load a student's file, whatever is in it."""

import sys
import traceback
import types
from pathlib import Path

from tinygpt.lab import integrity
from tinygpt.lab.borrowing import judge
from tinygpt.lab.definitions import CheckFailed, Exercise
from tinygpt.lab.grading import FAILED, SOLVED, Result, describe_error
from tinygpt.lab.integrity import reading_noted

_LARGEST_FILE = 10_000_000


def check_here(exercise: Exercise, path: Path) -> Result:
    """Check one exercise of a student's file in this process."""
    try:
        with reading_noted(path) as read:
            before = integrity.snapshot(exercise)
            result = judge(exercise, answer_in(load(path), exercise, path))
        if result.status == SOLVED and (changed := integrity.changed_since(before)):
            raise CheckFailed(f"{path.name} changes {changed}, with which it is checked")
        if result.status == SOLVED and read:
            raise CheckFailed(f"{path.name} reads the book's own {read[0]}; write it yourself")
        return result
    except CheckFailed as failure:
        return Result(exercise.name, FAILED, message=str(failure))
    except BaseException as error:  # such as KeyboardInterrupt, raised by the file itself
        message = f"{exercise.symbol} raised {type(error).__name__}"
        return Result(exercise.name, FAILED, message=message)


def load(path: Path) -> types.ModuleType:
    """Run a student's file as a module.

    Raises:
        CheckFailed: one sentence on why it cannot be run.
    """
    name = "student" if path.stem in sys.modules else path.stem
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = str(path)
    code = _compile(path, _read(path))
    try:
        exec(code, vars(module))
    except NotImplementedError as error:
        place = _line(error, path)
        raise CheckFailed(f"{path.name} calls something not written yet{place}") from None
    except SystemExit as error:
        raise CheckFailed(
            f"{path.name} ends Python when it is imported, with sys.exit{_line(error, path)}; "
            "remove that"
        ) from None
    except BaseException as error:
        raise CheckFailed(
            f"{path.name} cannot be imported: {describe_error(error)}{_line(error, path)}"
        ) from None
    return module


def answer_in(module: types.ModuleType, exercise: Exercise, path: Path):
    """Return the object that the exercise asks for.

    Raises:
        CheckFailed: the file does not define it.
    """
    if exercise.symbol not in vars(module):
        kind = "class" if isinstance(exercise.stub, type) else "function"
        raise CheckFailed(
            f"{path.name} has no {kind} {exercise.symbol}; `tinygpt lab start` in an empty folder "
            "writes a file that shows it"
        )
    return vars(module)[exercise.symbol]


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CheckFailed(f"There is no file {path.name}") from None
    except OSError as error:
        raise CheckFailed(f"{path.name} cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST_FILE:
        raise CheckFailed(f"{path.name} has {len(content):,} bytes; that is no exercise file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CheckFailed(
            f"{path.name} is not UTF-8: byte 0x{content[error.start]:02x} in line {line}; "
            "save it as UTF-8"
        ) from None


def _compile(path: Path, text: str) -> types.CodeType:
    try:
        return compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f" in line {error.lineno}" if error.lineno else ""
        raise CheckFailed(f"{path.name} is not Python{place}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CheckFailed(f"{path.name} is not Python: {describe_error(error)}") from None


def _line(error: BaseException, path: Path) -> str:
    walked = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in walked if frame.f_code.co_filename == str(path)]
    return f" (line {lines[-1]})" if lines else ""
