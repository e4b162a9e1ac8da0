"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "bigram_loss": [
        (
            "return float(-np.log(p[validation[:-1], validation[1:]]).mean())",
            "return -np.log(p[validation[:-1], validation[1:]]).mean()",
            "a mean of float64 numbers is an np.float64, which is a float",
        ),
    ],
}
