"""Run an exercise's checks on an answer, here and now, and say what they found."""

import contextlib
import dataclasses
import inspect
import os
import re
import signal
import sys
import threading
import traceback
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinygpt.lab.definitions import (
    CheckFailed,
    Exercise,
    Mistake,
    noting_failures,
    require,
)
from tinygpt.scratch.graph import recording

SOLVED, FAILED, OPEN = "solved", "failed", "open"
_LONGEST_MESSAGE = 200
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|\binf\b|\bnan\b")
_SEED = 1706_03762  # one that no answer seeds with, so that a check sees that it did


class TimeUp(BaseException):
    """The time limit has passed. Not an Exception, so that `except Exception` lets it by."""


@dataclass(frozen=True)
class Result:
    """What came of checking one answer.

    Attributes:
        exercise: the exercise's name.
        status: "solved", "failed" or "open" (not written yet).
        check: the check that failed, such as `test_unit_layer_norm`, or "".
        message: what it said, or "".
        explanation: why, if all that was measured is that of a known mistake, or "".
        printed: the start of what the answer printed, where that was captured.
        cause: of a failure: "measured" by a check, "raised" by the answer, or "late".
    """

    exercise: str
    status: str
    check: str = ""
    message: str = ""
    explanation: str = ""
    printed: str = ""
    cause: str = ""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.status == SOLVED

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {self.status}"]
        if self.message:
            lines[0] += f": {self.message}"
        if self.explanation:
            lines.append(f"From {self.check}. {self.explanation}")
        return "\n".join(lines)


def grade(exercise: Exercise, answer: Any, seconds: float | None = None) -> Result:
    """Check an answer.

    Args:
        exercise: what was asked.
        answer: the function or class that a student wrote.
        seconds: time limit, kept where the platform can interrupt Python: in the main
            thread, outside Windows. None: no limit.
    """
    check_name, cause = "", "raised"
    try:
        with _quiet(), _time_limit(seconds, answer):
            _check_signature(exercise, answer)
            for check in exercise.checks:
                check_name = check.__name__
                check(answer)
    except CheckFailed as failure:
        message, cause = str(failure), "measured"
    except NotImplementedError as error:
        if not _says_torch(error):
            return Result(exercise.name, OPEN, message=_not_written(exercise, error))
        message = _raised(exercise.symbol, error) + line_of(error, answer)
    except TimeUp as error:
        message, cause = str(error), "late"
    except RecursionError as error:
        place = line_of(error, answer)
        message = f"{exercise.symbol} calls itself without end{place}"
    except MemoryError as error:
        place = line_of(error, answer)
        message = f"{exercise.symbol} asks for more memory than there is{place}"
    except SystemExit as error:
        message = f"{exercise.symbol} ends Python with sys.exit{line_of(error, answer)}"
    except Exception as error:
        message = _raised(exercise.symbol, error) + line_of(error, answer)
    else:
        return Result(exercise.name, SOLVED)
    result = Result(exercise.name, FAILED, check_name, message, cause=cause)
    for mistake in recognise(exercise, message):
        if cause == "late" or _agree(exercise, answer, mistake, seconds):
            return dataclasses.replace(result, explanation=mistake.explanation)
    return result


def recognise(exercise: Exercise, message: str) -> list[Mistake]:
    """Return the documented mistakes that give this message.

    Numbers count as equal when they agree to five digits: a student's version of the same
    mistake may round differently in the last one. The line where it happened does not count.
    """
    said = _with_short_numbers(without_line(message))
    return [each for each in exercise.mistakes if _with_short_numbers(each.message) == said]


def _agree(exercise: Exercise, answer: Any, mistake: Mistake, seconds: float | None) -> bool:
    """Whether an answer goes wrong as a mistake does, wherever the checks measure.

    One message can have several causes: an explanation is given when all else that fails, past
    the first failure, is the same too.
    """
    if answer is mistake.answer:
        return True
    found = _all_failures(exercise, answer, seconds)
    expected = found and _all_failures(exercise, mistake.answer, seconds)
    return bool(expected) and all(map(_alike, found, expected))


def _alike(one: tuple[list[str], str], other: tuple[list[str], str]) -> bool:
    """Whether two answers fail alike in a check; one that raises an error is not heard out."""
    (said, error), (others, others_error) = one, other
    if bool(error) == bool(others_error):
        return said == others and error == others_error
    return others[: len(said)] == said if error else said[: len(others)] == others


def _all_failures(exercise: Exercise, answer: Any, seconds: float | None) -> list | None:
    """For each check what fails in it, past the first failure. None: no time for it."""
    failures = []
    for check in exercise.checks:
        ended = ""
        with noting_failures() as noted, _unheard():
            try:
                with _quiet(), _time_limit(seconds, answer):
                    check(answer)
            except TimeUp:
                return None
            except CheckFailed as failure:
                noted.append(str(failure))
            except (Exception, SystemExit) as error:
                ended = type(error).__name__
        # What is wrong, not by how much: it differs with the numbers that an answer draws.
        said = [_NUMBER.sub("#", without_line(message)) for message in noted]
        failures.append((said, ended))
    return failures


def without_line(message: str) -> str:
    """Return a message without the " (line 12)" at its end."""
    return re.sub(r" \(line \d+\)$", "", message)


def describe_error(error: BaseException) -> str:
    """Return an exception as one short line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # an exception class of the student's own
        text = ""
    if len(text) > _LONGEST_MESSAGE:
        text = text[:_LONGEST_MESSAGE] + " …"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_of(error: BaseException, answer: Any) -> str:
    """Return " (line 12)" for the last line of the answer's own file that was running."""
    own = _file_of(answer)
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == own
    ]
    return f" (line {lines[-1]})" if lines else ""


def result_as_dict(result: Result) -> dict[str, str]:
    """Return a result as plain strings, for JSON."""
    return dataclasses.asdict(result)


def _raised(symbol: str, error: Exception) -> str:
    """Say what was raised; what NumPy says of a Tensor is put into other words."""
    text = str(error) if isinstance(error, TypeError) else ""
    if "does not support ufuncs" in text or "unexpected keyword argument 'dtype'" in text:
        return (
            f"{symbol} calls a NumPy function on a Tensor, which has methods of its own, such "
            "as x.sqrt() and x.mean()"
        )
    for theirs, ours in (("dim", "axis"), ("keepdim", "keepdims")):
        if f"unexpected keyword argument '{theirs}'" in text:
            return f"{symbol} writes {theirs}=, as PyTorch does; here it is {ours}="
    described = describe_error(error)
    if "before Module.__init__() call" in described:
        return f"{symbol}.__init__ should begin with super().__init__(), got parts before it"
    if "can't allocate memory" in described:
        return f"{symbol} asks for more memory than there is"
    return f"{symbol} raised {described}"


def _says_torch(error: NotImplementedError) -> bool:
    """Whether PyTorch raised it, about a missing forward or an operation that it lacks."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    inside = frame.f_globals.get("__name__", "").partition(".")[0] == "torch"
    return inside or "aten::" in str(error) or "meta tensor" in str(error)


def _check_signature(exercise: Exercise, answer) -> None:
    """Whether the answer can be called as its stub can, and is the same kind of thing."""
    symbol, stub = exercise.symbol, exercise.stub
    if isinstance(stub, type):
        kind = "a class" if isinstance(answer, type) else _kind(answer)
        require(isinstance(answer, type), f"{symbol} should be a class, got {kind}")
        base = stub.__mro__[1]
        called = "nn.Module" if base.__module__.startswith("torch.") else "Module"
        require(
            issubclass(answer, base),
            f"{symbol} should be a {base.__name__}: start it with `class {symbol}({called}):`",
        )
        for method in ("__init__", "forward"):
            written = getattr(answer, method, None)
            name = symbol if method == "__init__" else f"{symbol}.{method}"
            own = callable(written) and written is not getattr(base, method, None)
            require(own, f"{symbol} should have a method {method} of its own, got none")
            _check_parameters(name, getattr(stub, method), written)
    else:
        is_function = callable(answer) and not isinstance(answer, type)
        require(is_function, f"{symbol} should be a function, got {_kind(answer)}")
        _check_parameters(symbol, stub, answer)


def _check_parameters(name, stub, written) -> None:
    asked = _parameters(stub)
    try:
        given = _parameters(written)
    except (TypeError, ValueError):  # built-ins tell nothing; calling them will
        return
    kinds = {parameter.kind for parameter in given}
    if inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD in kinds:
        return
    names = [p.name for p in given]
    known = [p.name for p in asked]
    positional = [p.name for p in asked if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    # The first one is handed over by position: `self`, `x`, `model` may have another name.
    in_place = names[1 : len(positional)] == positional[1:]
    present = all(p in names for p in known[1:])
    extra = [p for p in given[1:] if p.name not in known and p.default is p.empty and p.kind < 4]
    extra = [p for p in extra if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    if not (names and in_place and present and not extra):
        raise CheckFailed(
            f"{name} should be written as {_call(name, stub)}, got {_call(name, written)}"
        )


def _parameters(function) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _call(name, function) -> str:
    parameters = [p.replace(annotation=p.empty) for p in _parameters(function)]
    shown = [str(p) for p in parameters if p.name != "self"]
    stars = [i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY]
    if stars:
        shown.insert(stars[0] - (len(parameters) - len(shown)), "*")
    return f"{name}({', '.join(shown)})"


def _kind(value) -> str:
    if isinstance(value, type):
        return "a class"
    return "a function" if inspect.isroutine(value) else f"{type(value).__name__}"


def _not_written(exercise: Exercise, error: NotImplementedError) -> str:
    """Say which part is missing: this one, or another that it uses."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    missing = frames[-1].f_code.co_qualname.split(".")[0]
    if missing == exercise.symbol or not missing.isidentifier():
        return "not written yet"
    if getattr(exercise.stub, "__name__", "") == missing:
        return "not written yet"
    message = f"{exercise.symbol} uses {missing}, which is not written yet; write that first"
    package = ".".join(exercise.book.__module__.split(".")[:2])  # tinygpt.scratch, tinygpt.models
    if hasattr(sys.modules[package], missing):
        message += f", or use the book's, {package.rpartition('.')[2]}.{missing}"
    return message


def _with_short_numbers(text: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.5g}", text)


def _file_of(answer) -> str:
    """The file that an answer's code was compiled from."""
    values = [answer]
    if isinstance(answer, type):
        values = [value for base in answer.__mro__ for value in vars(base).values()]
    for value in values:
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename
    return ""


@contextlib.contextmanager
def _unheard():
    """Throw away what is printed inside: the answer has printed it before."""
    with contextlib.ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        yield


@contextlib.contextmanager
def _quiet():
    """No warnings: a student who divides by zero reads the check's message instead.

    What all code shares is afterwards what it was: whether graphs are recorded, and PyTorch's
    random numbers, which start at the same place in every check.
    """
    recorded, torch = recording.get(), sys.modules.get("torch")
    if torch is not None:
        drawn, graphs = torch.get_rng_state(), torch.is_grad_enabled()
        dtype = torch.get_default_dtype()
        torch.manual_seed(_SEED)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        recording.set(recorded)
        if torch is not None:
            torch.set_rng_state(drawn)
            torch.set_grad_enabled(graphs)
            torch.set_default_dtype(dtype)


@contextlib.contextmanager
def _time_limit(seconds, answer):
    """Raise TimeUp in the running code when the time has passed, and again every second."""
    in_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not in_main or not hasattr(signal, "setitimer"):
        yield
        return
    own = _file_of(answer)

    def time_up(signal_number, frame):
        while frame is not None and frame.f_code.co_filename != own:
            frame = frame.f_back
        place = f" in line {frame.f_lineno}" if frame else ""
        raise TimeUp(f"no answer after {seconds:g} seconds; it was still running{place}")

    before = signal.signal(signal.SIGALRM, time_up)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
