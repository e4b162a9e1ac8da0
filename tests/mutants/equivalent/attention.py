"""Mutants of the solutions of this chapter that behave as the solutions do."""

_ANY = "-inf minus any finite number is -inf, and exp makes it 0: only not subtracting -inf matters"

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "masked_softmax": [
        ("top[np.isinf(top)] = 0", "top[np.isinf(top)] = 1", _ANY),
        ("top[np.isinf(top)] = 0", "top[np.isinf(top)] = -1", _ANY),
        (
            "return weights / (total + (total.data == 0))",
            "return weights / (total - (total.data == 0))",
            "where the sum is 0 all weights are 0, and 0 / -1 equals 0 / 1",
        ),
    ],
}
