"""The chapters that have exercises, in the order of the book."""

from tinygpt.lab import transformer
from tinygpt.lab.definitions import Chapter, Exercise, pick

CHAPTERS: tuple[Chapter, ...] = (transformer.CHAPTER,)


def find_chapter(name: object) -> Chapter:
    """Return the chapter of this name.

    Raises:
        LabError: there is none; the sentence lists those there are.
    """
    by_name = {chapter.name: chapter for chapter in CHAPTERS}
    return by_name[pick("chapter", name, by_name)]


def find_exercise(name: object, chapter: Chapter | None = None) -> Exercise:
    """Return the exercise of this name, in one chapter or in all.

    Raises:
        LabError: there is none; the sentence lists those there are.
    """
    chapters = CHAPTERS if chapter is None else (chapter,)
    by_name = {exercise.name: exercise for one in chapters for exercise in one.exercises}
    return by_name[pick("exercise", name, by_name)]


def chapter_of(exercise: Exercise) -> Chapter:
    """Return the chapter that an exercise belongs to."""
    return next(chapter for chapter in CHAPTERS if exercise in chapter.exercises)
