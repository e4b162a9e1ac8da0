"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "generate": [
        (
            "chosen = (cumulative <= draws).sum(axis=-1)",
            "chosen = (cumulative < draws).sum(axis=-1)",
            "they differ only where a draw equals a sum exactly, about once in 2**53 for each "
            "sum; with an integer seed no check can make it happen",
        ),
    ],
}
