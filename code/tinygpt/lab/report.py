"""The lab in words, for a terminal."""

import textwrap
from pathlib import Path

from tinygpt.lab.chapters import CHAPTERS, chapter_of
from tinygpt.lab.definitions import Chapter, Exercise, student_file
from tinygpt.lab.grading import FAILED, OPEN, SOLVED, Result
from tinygpt.lab.record import Record

_WIDTH = 76
_PRINTED_LINES = 12


def result_text(exercise: Exercise, result: Result, width: int = 0, hint: str = "") -> str:
    """Return a result as an aligned line, with the explanation and what was printed below.

    Where no known mistake explains the failure, the next hint is named: by `hint`, or as the
    command that gives it.
    """
    head = f"{exercise.name:<{width}}  {result.status}"
    if result.message:
        head += f": {result.message}"
    lines = [head]
    if result.explanation:
        lines += _wrap(f"From {result.check}. {result.explanation}")
    elif result.cause in ("measured", "raised", "late"):
        hint = hint or f"tinygpt lab hint {chapter_of(exercise).name} {exercise.name}"
        lines.append(f"    `{hint}` gives the next hint.")
    if result.printed:
        lines.append("    Your code printed:")
        printed = result.printed.splitlines()
        lines += [f"    | {line}" for line in printed[:_PRINTED_LINES]]
        if len(printed) > _PRINTED_LINES:
            lines.append("    | …")
    return "\n".join(lines)


def summary_text(results: list[Result]) -> str:
    """Return one line that counts what is solved."""
    solved = sum(result.passed for result in results)
    return f"{solved} of {len(results)} solved."


def hint_text(chapter: Chapter, exercise: Exercise, first: int, last: int) -> str:
    """Return the hints `first` to `last`, counted from 1, and what comes after them."""
    total = len(exercise.hints)
    lines = []
    for number in range(first, last + 1):
        lines.append(f"Hint {number} of {total} for {exercise.name}:")
        lines += _wrap(exercise.hints[number - 1])
    if last == total:
        lines.append(
            f"That was the last hint. `tinygpt lab solution {chapter.name} {exercise.name}` "
            "shows an answer."
        )
    return "\n".join(lines)


def status_text(record: Record) -> str:
    """Return what is solved, what is open and where to read, for every chapter."""
    lines = [record.trouble] if record.trouble else []
    for chapter in CHAPTERS:
        path = record.path.parent / student_file(chapter.name)
        width = max(map(len, chapter.exercises))
        statuses = {name: record.status(chapter.name, name) for name in chapter.exercises}
        lines.append(
            f"{chapter.title} ({chapter.name}): "
            f"{list(statuses.values()).count(SOLVED)} of {len(statuses)} solved"
        )
        for name, status in statuses.items():
            line = f"  {name:<{width}}  {status:<6}  "
            line += f"read {chapter.title}, section {chapter.exercises[name]}"
            if hints := record.hints(chapter.name, name):
                line += f"  ({hints} {'hint' if hints == 1 else 'hints'} taken)"
            if status != OPEN and not record.is_current(chapter.name, name, path):
                line += f"  ({path.name} has changed since)"
            lines.append(line)
        lines.append(_next_step(chapter.name, path, statuses))
    return "\n".join(lines)


def _next_step(chapter: str, path: Path, statuses: dict[str, str]) -> str:
    if not path.exists():
        return f"  Next: `tinygpt lab start {chapter}` writes {path.name} here."
    for wanted in (FAILED, OPEN):
        for name, status in statuses.items():
            if status == wanted:
                return f"  Next: `tinygpt lab check {chapter} {name}`"
    return "  All solved."


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
