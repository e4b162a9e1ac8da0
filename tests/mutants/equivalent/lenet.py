"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "im2col": [
        (
            "columns = np.empty((batch, channels, kernel_size, kernel_size, rows, places), "
            "x.dtype)",
            "columns = np.ones((batch, channels, kernel_size, kernel_size, rows, places), x.dtype)",
            "The loops write to every place, whatever stood there before.",
        ),
    ],
}
