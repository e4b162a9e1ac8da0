"""The exercises: what to write, checks, hints, and the wrong answers people really write.

In a notebook, beside the chapter:

    from tinygpt import lab
    lab.check("layer_norm", LayerNorm)
    lab.hint("layer_norm")

On the command line: `tinygpt lab`. This package needs NumPy and the standard library only;
the exercises of a chapter may need PyTorch, and are imported when they are asked for.
"""

from collections.abc import Callable
from typing import Any

from tinygpt.lab.borrowing import judge
from tinygpt.lab.chapters import CHAPTERS, chapter_of, find_chapter, find_exercise
from tinygpt.lab.definitions import Chapter, CheckFailed, Exercise, LabError, Mistake, pick
from tinygpt.lab.grading import Result, grade
from tinygpt.lab.listing import Markdown, solution_text, source
from tinygpt.lab.report import hint_text, result_text

_hints_shown: dict[str, int] = {}


class ShownResult(Result):
    """A result that has been printed already, so that a notebook does not print it again."""

    def _ipython_display_(self):
        pass


def check(name: str, answer: Any, *, seconds: float | None = 20.0) -> ShownResult:
    """Check your own function or class, print what came of it, and return it.

    Args:
        name: the exercise, such as "layer_norm".
        answer: the function or class itself, such as LayerNorm (without a call).
        seconds: time limit, where Python can be interrupted. None: no limit.

    Raises:
        LabError: there is no such exercise, or seconds is not a positive number.
    """
    return _check(name, answer, seconds, judge)


def _check(name: str, answer: Any, seconds: float | None, judge: Callable) -> ShownResult:
    chosen = find_exercise(name)
    if seconds is not None and (not isinstance(seconds, (int, float)) or not seconds > 0):
        raise LabError(f"lab.check: seconds must be a number above 0, or None, got {seconds!r}")
    result = judge(chosen, answer, seconds)
    print(result_text(chosen, result, hint=f'lab.hint("{name}")'))
    return ShownResult(**vars(result))


def hint(name: str, number: int | None = None) -> None:
    """Print the next hint of an exercise, or the one with this number, counted from 1.

    Raises:
        LabError: there is no such exercise or hint.
    """
    chosen = find_exercise(name)
    total = len(chosen.hints)
    if number is None:
        number = min(_hints_shown.get(name, 0) + 1, total)
        _hints_shown[name] = number
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= total:
        raise LabError(f"lab.hint: {name} has the hints 1 to {total}, got {number!r}")
    print(hint_text(chapter_of(chosen), chosen, number, number))


def exercise(name: str) -> Exercise:
    """Return an exercise. Raises LabError with the names there are."""
    return find_exercise(name)


def mistakes(name: str) -> tuple[Mistake, ...]:
    """Return the documented wrong answers to an exercise."""
    return find_exercise(name).mistakes


def mistake(name: str, which: str) -> Mistake:
    """Return one wrong answer, such as mistake("layer_norm", "batch_axis").

    Raises:
        LabError: there is no such exercise or mistake.
    """
    by_name = {each.name: each for each in mistakes(name)}
    return by_name[pick(f"mistake of {name}", which, by_name)]


def run_mistake(name: str, which: str) -> ShownResult:
    """Check a documented wrong answer, print what the check says, and return it."""
    return _check(name, mistake(name, which).answer, 20.0, grade)


def solution(name: str) -> Markdown:
    """Return an answer to an exercise as a Markdown code block."""
    return Markdown("```python\n" + solution_text(find_exercise(name)) + "\n```\n")


__all__ = [
    "CHAPTERS",
    "Chapter",
    "CheckFailed",
    "Exercise",
    "LabError",
    "Markdown",
    "Mistake",
    "Result",
    "check",
    "exercise",
    "find_chapter",
    "hint",
    "mistake",
    "mistakes",
    "run_mistake",
    "solution",
    "source",
]
