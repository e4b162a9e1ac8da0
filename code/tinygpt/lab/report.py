"""The lab in words, for a terminal."""

import textwrap

from tinygpt.lab.chapters import CHAPTERS
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.grading import FAILED, OPEN, SOLVED, Result
from tinygpt.lab.record import Record

_WIDTH = 76
_PRINTED_LINES = 12


def result_text(exercise: Exercise, result: Result, width: int = 0) -> str:
    """Return a result as an aligned line, with the explanation and what was printed below."""
    head = f"{exercise.name:<{width}}  {result.status}"
    if result.message:
        head += f": {result.message}"
    lines = [head]
    if result.explanation:
        lines += _wrap(f"From {result.check}. {result.explanation}")
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
        path = record.path.parent / chapter.file_name
        exercises = chapter.exercises
        width = max(len(exercise.name) for exercise in exercises)
        statuses = [record.status(chapter.name, exercise.name) for exercise in exercises]
        lines.append(
            f"{chapter.title} ({chapter.name}): "
            f"{statuses.count(SOLVED)} of {len(exercises)} solved"
        )
        for exercise, status in zip(exercises, statuses, strict=True):
            line = f"  {exercise.name:<{width}}  {status:<6}  "
            line += f"read {chapter.title}, section {exercise.section_title}"
            hints = min(record.hints(chapter.name, exercise.name), len(exercise.hints))
            if hints:
                line += f"  ({hints} of {len(exercise.hints)} hints taken)"
            if status != OPEN and not record.is_current(chapter.name, exercise.name, path):
                line += f"  ({chapter.file_name} has changed since)"
            lines.append(line)
        lines.append(_next_step(chapter, path, statuses))
    return "\n".join(lines)


def _next_step(chapter, path, statuses) -> str:
    if not path.exists():
        return f"  Next: `tinygpt lab start {chapter.name}` writes {chapter.file_name} here."
    for wanted in (FAILED, OPEN):
        if wanted in statuses:
            exercise = chapter.exercises[statuses.index(wanted)]
            return f"  Next: `tinygpt lab check {chapter.name} {exercise.name}`"
    return "  All solved."


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
