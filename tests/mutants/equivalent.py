"""Mutants that no check can tell from the solution: what changes, and why nothing follows.

For each exercise: the lines before, the lines after, and the reason. At most one mutant in
ten of an exercise may stand here. `python -m tests.mutants` fails when a line here names no
mutant any more, or one that is found after all.
"""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {}
