"""What an exercise is made of."""

import contextlib
import contextvars
import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any


class LabError(ValueError):
    """A request that the lab cannot carry out; its text is one sentence for the reader."""


class CheckFailed(AssertionError):
    """What a check found wrong; its text is the message that the student reads."""


_noted: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("noted", default=None)


def require(condition, message: str) -> None:
    """Go on if `condition` holds. An `assert` that `python -O` cannot remove."""
    if condition:
        return
    noted = _noted.get()
    if noted is None:
        raise CheckFailed(message)
    noted.append(message)


@contextlib.contextmanager
def noting_failures() -> Iterator[list[str]]:
    """Let `require` note what fails and go on, to see all that a check measures."""
    noted: list[str] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def kind_of(value: object) -> str:
    """Return what a check was given instead of what it wanted: None, or the name of its type."""
    return "None" if value is None else type(value).__name__


@dataclass(frozen=True)
class Mistake:
    """A complete wrong answer that people really write.

    Attributes:
        name: short name, unique within its exercise.
        answer: the function or class, as a student would hand it in.
        message: what the check says about it, to the letter, without a "(line 12)" at its end.
        explanation: why this version gives this message, in two or three sentences.
        helpers: what the answer is made of besides itself, shown before it.
    """

    name: str
    answer: Any
    message: str
    explanation: str
    helpers: tuple = ()


@dataclass(frozen=True)
class Exercise:
    """One thing to write.

    Attributes:
        name: how commands and cells call it, such as `layer_norm`.
        symbol: the name of the function or class to write, such as `LayerNorm`.
        title: its heading.
        goal: one sentence that says what to write.
        section: the anchor of the chapter's section to read for it.
        section_title: that section's heading.
        stub: where the student starts; raises NotImplementedError.
        solution: an answer to learn from: the package's own code where that is short enough.
        book: the package's version, which must pass as well.
        checks: functions of one argument, the student's object, in the order they run.
        hints: from a nudge to nearly the answer.
        mistakes: wrong answers with their messages.
    """

    name: str
    symbol: str
    title: str
    goal: str
    section: str
    section_title: str
    stub: Any
    solution: Any
    book: Any
    checks: tuple[Callable, ...]
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class Chapter:
    """The exercises of one chapter.

    Attributes:
        name: the chapter's file name without its ending, such as `transformer`.
        title: its title.
        stubs: the module whose source the student's file starts as.
        exercises: in the order of the chapter.
    """

    name: str
    title: str
    stubs: ModuleType
    exercises: tuple[Exercise, ...]

    @property
    def file_name(self) -> str:
        """The student's file."""
        return student_file(self.name)


def student_file(chapter: str) -> str:
    """Return the name of the file in which a student writes a chapter's exercises."""
    return f"{chapter}_lab.py"


def pick(kind: str, name: object, allowed: Iterable[str]) -> str:
    """Return `name` if it is allowed.

    Raises:
        LabError: it is not; the sentence lists what is and names the closest.
    """
    allowed = list(allowed)
    if isinstance(name, str) and name in allowed:
        return name
    shown = name if isinstance(name, str) else repr(name)
    close = difflib.get_close_matches(str(name).lower(), allowed, n=1, cutoff=0.5)
    suggestion = f" Did you mean {close[0]}?" if close else ""
    raise LabError(f"There is no {kind} {shown!r}; there is {_listed(allowed)}.{suggestion}")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
