"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "split_special": [
        (
            "longest_first = sorted(special_tokens, key=len, reverse=True)",
            "longest_first = sorted(special_tokens, reverse=True)",
            "Of two tokens that begin at one place the shorter is the start of the longer, and "
            "stands before it in the dictionary: backwards the longer comes first, as by length.",
        ),
    ],
}
