"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {}
