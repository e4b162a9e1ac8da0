"""`tinygpt lab`: the exercises."""

import math
import os
import shutil
from pathlib import Path

import click

from tinygpt.lab.chapters import find_chapter, find_exercise
from tinygpt.lab.definitions import LabError
from tinygpt.lab.isolation import SECONDS, check_file
from tinygpt.lab.listing import solution_text, start_text
from tinygpt.lab.record import Record, digest_of, write_beside
from tinygpt.lab.report import hint_text, result_text, status_text, summary_text


@click.group(invoke_without_command=True)
@click.pass_context
def lab(context: click.Context) -> None:
    """The exercises. Without a command: what is solved and what is open."""
    if context.invoked_subcommand is None:
        click.echo(status_text(Record(Path.cwd())))


@lab.command()
def status() -> None:
    """Show what is solved, what is open, and where to read."""
    click.echo(status_text(Record(Path.cwd())))


@lab.command()
@click.argument("chapter_name", metavar="CHAPTER")
@click.option("--force", is_flag=True, help="Start over; your file is kept under another name.")
def start(chapter_name: str, force: bool) -> None:
    """Write a chapter's exercises to a file in the current folder."""
    chapter = find_chapter(chapter_name)
    path = Path.cwd() / chapter.file_name
    if os.path.lexists(path):
        if not force:
            click.echo(
                f"{path.name} is already here and was left as it is. To start over, use "
                f"`tinygpt lab start {chapter.name} --force`; your file is then kept as a backup.",
                err=True,
            )
            click.get_current_context().exit(1)
        click.echo(f"Your file is kept as {_back_up(path).name}.")
    write_beside(path, start_text(chapter))
    click.echo(f"Wrote {path.name}: {len(chapter.exercises)} exercises.")
    click.echo(f"Next: open it in an editor, then `tinygpt lab check {chapter.name}`.")


def _not_nan(context: click.Context, option: click.Parameter, seconds: float) -> float:
    if math.isnan(seconds):  # it passes every comparison of click's
        raise click.BadParameter("nan is not in the range 0<x<=86400.")
    return seconds


@lab.command()
@click.argument("chapter_name", metavar="CHAPTER")
@click.argument("exercise_names", metavar="[EXERCISE]...", nargs=-1)
@click.option("--file", "file_name", type=click.Path(path_type=Path), help="Another file to check.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True, max=86400),
    callback=_not_nan,
    default=SECONDS,
    show_default=True,
    help="Time limit for each exercise.",
)
def check(
    chapter_name: str, exercise_names: tuple[str, ...], file_name: Path | None, seconds: float
) -> None:
    """Check your file: a whole chapter, or some exercises."""
    chapter = find_chapter(chapter_name)
    exercises = [find_exercise(name, chapter) for name in dict.fromkeys(exercise_names)]
    exercises = exercises or list(chapter.exercises)
    path = file_name or Path(chapter.file_name)
    if not path.is_file():
        hint_ = f"; `tinygpt lab start {chapter.name}` writes one" if file_name is None else ""
        raise LabError(f"There is no file {path} in {Path.cwd()}{hint_}")
    record = Record(path.resolve().parent)
    if record.trouble:
        click.echo(record.trouble, err=True)
    width = max(len(exercise.name) for exercise in exercises)
    results, unrecorded = [], ""
    for exercise in exercises:
        digest = digest_of(path)
        result = check_file(chapter, exercise, path, seconds)
        results.append(result)
        click.echo(result_text(exercise, result, width))
        try:
            record.note_result(chapter.name, result, digest)
        except LabError as error:
            unrecorded = f"These results are not recorded: {error}."
    click.echo(summary_text(results))
    if unrecorded:
        click.echo(unrecorded, err=True)
    click.get_current_context().exit(0 if all(result.passed for result in results) else 1)


@lab.command()
@click.argument("chapter_name", metavar="CHAPTER")
@click.argument("exercise_name", metavar="EXERCISE")
@click.option("--all", "show_all", is_flag=True, help="Show every hint.")
def hint(chapter_name: str, exercise_name: str, show_all: bool) -> None:
    """Show the next hint for an exercise."""
    chapter = find_chapter(chapter_name)
    exercise = find_exercise(exercise_name, chapter)
    record, total = Record(Path.cwd()), len(exercise.hints)
    last = total if show_all else min(record.hints(chapter.name, exercise.name) + 1, total)
    click.echo(hint_text(chapter, exercise, 1 if show_all else last, last))
    try:
        record.note_hints(chapter.name, exercise.name, last)
    except LabError as error:
        click.echo(f"The next hint will be the same: {error}.", err=True)


@lab.command()
@click.argument("chapter_name", metavar="CHAPTER")
@click.argument("exercise_name", metavar="EXERCISE")
def solution(chapter_name: str, exercise_name: str) -> None:
    """Print an answer to an exercise."""
    chapter = find_chapter(chapter_name)
    click.echo(solution_text(find_exercise(exercise_name, chapter)))


def _back_up(path: Path) -> Path:
    """Copy a file beside itself, under a name that is free.

    Raises:
        LabError: it cannot be copied.
    """
    number = 1
    while os.path.lexists(copy := path.with_suffix(f".backup{number}.py")):
        number += 1
    try:
        shutil.copy2(path, copy)
    except OSError as error:
        raise LabError(f"{path.name} cannot be kept as {copy.name}: {error.strerror}") from None
    return copy
