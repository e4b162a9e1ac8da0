"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "nearest_rows": [
        (
            "unit = table / np.where(lengths == 0, 1, lengths)",
            "unit = table / np.where(lengths == 0, 2, lengths)",
            "A row of zeros stays one, whatever it is divided by. (A row so short that the "
            "squares of its numbers are 0 has no cosine that either line finds.)",
        ),
    ],
    "sinusoidal": [
        (
            "table = np.empty((num_positions, dim))",
            "table = np.ones((num_positions, dim))",
            "The sines fill the even columns and the cosines the odd ones: all are written.",
        ),
        (
            "table[:, 0::2] = np.sin(angles)",
            "table[:, ::2] = np.sin(angles)",
            "A slice without a start begins at 0.",
        ),
    ],
}
