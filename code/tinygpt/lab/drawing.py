"""Inputs for checks, drawn at random from a seed, in more than one regime.

    for case in cases(0, 8, batch=range(1, 4), length=range(1, 9), size=(1.0, 500.0)):
        scores = case.numbers(case.batch, case.length, size=case.size)

The same seed gives the same inputs on every machine: NumPy's generators promise that.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class Case:
    """One drawn choice: an attribute for each name, and ways to fill arrays.

    Attributes:
        rng: the generator of this case.
    """

    def __init__(self, rng: np.random.Generator, chosen: dict[str, Any]):
        self.rng = rng
        self.__dict__.update(chosen)
        self._chosen = chosen

    def __str__(self) -> str:
        """Return what was chosen, for a message: "batch=2, length=7"."""
        return ", ".join(f"{name}={value}" for name, value in self._chosen.items())

    def numbers(self, *shape: int, dtype=np.float64, size: float = 1.0, offset: float = 0.0):
        """Return normal numbers, times `size`, plus `offset`."""
        return np.asarray(offset + size * self.rng.standard_normal(shape)).astype(dtype)

    def integers(self, low: int, high: int, *shape: int, dtype=np.int64):
        """Return integers from `low` up to and without `high`."""
        return np.asarray(self.rng.integers(low, high, shape)).astype(dtype)

    def mask(self, *shape: int, kind: str = "some") -> np.ndarray:
        """Return a boolean mask whose last axis are the keys; True is what stays.

        Args:
            shape: of the mask.
            kind: "some" leaves each row at least one key, "empty" leaves some rows none, "all"
                hides nothing, "causal" hides what comes after.
        """
        if kind not in MASKS:
            raise ValueError(f"mask: kind must be one of {', '.join(MASKS)}, got {kind!r}")
        if kind == "all":
            return np.ones(shape, dtype=bool)
        if kind == "causal":
            return np.broadcast_to(np.tri(*shape[-2:], dtype=bool), shape).copy()
        mask = self.rng.random(shape) < 0.6
        rows = mask.reshape(-1, shape[-1])
        rows[np.arange(len(rows)), self.rng.integers(0, shape[-1], len(rows))] = True
        if kind == "empty":
            rows[self.rng.integers(0, len(rows))] = False
        return mask

    def narrowed(self, *shape: int) -> tuple[int, ...]:
        """Return a shape that broadcasts to `shape`: leading axes left out, or some of length 1.

        The last two stay, so that a mask still tells queries and keys apart.
        """
        leading = [n if self.rng.random() < 0.5 else 1 for n in shape[:-2]]
        return (*leading[int(self.rng.integers(0, len(leading) + 1)) :], *shape[-2:])


MASKS = ("some", "empty", "all", "causal")


def cases(seed: int, count: int, **choices: Sequence) -> Iterator[Case]:
    """Give `count` cases, each with one value of every choice.

    Every value of a choice comes once before one comes again, in a drawn order; the first and
    the last come first, since mistakes like to hide between one and many.

    Args:
        seed: what decides all of it.
        count: how many.
        choices: what to choose from, such as `length=range(1, 9)` or `dtype=(np.float32,)`.
    """
    rng = np.random.default_rng(seed)
    orders = {name: _order(rng, len(values), count) for name, values in choices.items()}
    for number in range(count):
        chosen = {name: values[orders[name][number]] for name, values in choices.items()}
        yield Case(np.random.default_rng((seed, number)), chosen)


def _order(rng, size: int, count: int) -> list[int]:
    if size == 0:
        raise ValueError("cases: each choice needs at least one value")
    ends = [0, size - 1] if size > 1 else [0]
    order = [*rng.permutation(ends), *(1 + rng.permutation(max(0, size - 2)))]
    while len(order) < count:
        order += list(rng.permutation(size))
    return [int(place) for place in order]
