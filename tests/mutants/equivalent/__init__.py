"""Mutants that no check can tell from the solution: what changes, and why nothing follows.

A module for each chapter, and in it for each exercise: the lines before, the lines after, and
the reason. At most one mutant in ten of an exercise may stand here. `python -m tests.mutants`
fails when a line names no mutant any more, or one that is found after all.
"""

import importlib

from tinygpt.lab import CHAPTERS


def equivalent_mutants() -> dict[str, list[tuple[str, str, str]]]:
    """Return the lists of all chapters, by exercise."""
    found = {}
    for chapter in CHAPTERS:
        found |= importlib.import_module(f"{__name__}.{chapter.name}").EQUIVALENT
    return found
