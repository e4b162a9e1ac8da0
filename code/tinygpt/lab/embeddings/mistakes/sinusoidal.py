"""Wrong tables of sines and cosines."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def _interleaved(angles):
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)


def halves(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def swapped(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(num_positions, dim)


def from_one(num_positions, dim, base=10_000.0):
    positions = np.arange(1, num_positions + 1)[:, None]
    return _interleaved(positions * base ** (-np.arange(0, dim, 2) / dim))


def half_the_exponent(num_positions, dim, base=10_000.0):
    positions = np.arange(num_positions)[:, None]
    return _interleaved(positions * base ** (-np.arange(dim // 2) / dim))


def twice_the_exponent(num_positions, dim, base=10_000.0):
    positions = np.arange(num_positions)[:, None]
    return _interleaved(positions * base ** (-2 * np.arange(0, dim, 2) / dim))


def own_angle_for_each(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * base ** (-np.arange(dim) / dim)
    table = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, 1::2])
    return table


def degrees(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return _interleaved(np.radians(angles))


def transposed(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return _interleaved(angles).T


def base_ignored(num_positions, dim, base=10_000.0):
    angles = np.arange(num_positions)[:, None] * 10_000.0 ** (-np.arange(0, dim, 2) / dim)
    return _interleaved(angles)


MISTAKES = (
    Mistake(
        "halves",
        halves,
        "Position 0 of 4 features should be 0.000, 1.000, 0.000, 1.000; got 0.000, 0.000, 1.000, "
        "1.000",
        "The sines fill the first half and the cosines the second. Marian and others order them "
        "so, and it works just as well. The paper puts the two of one angle side by side, and a "
        "trained model needs the order it was trained with.",
    ),
    Mistake(
        "swapped",
        swapped,
        "Position 0 of 4 features should be 0.000, 1.000, 0.000, 1.000; got 1.000, 0.000, 1.000, "
        "0.000",
        "Cosine and sine have changed places. The even features, 0, 2, 4 and so on, are sines, "
        "and the odd ones cosines.",
    ),
    Mistake(
        "from_one",
        from_one,
        "Position 0 of 4 features should be 0.000, 1.000, 0.000, 1.000; got 0.841, 0.540, 0.010, "
        "1.000",
        "The count begins at 1, so every row is that of the next position. Distances stay right, "
        "and a model trained so works; one that was trained from 0 does not. Use "
        "`np.arange(num_positions)`.",
    ),
    Mistake(
        "half_the_exponent",
        half_the_exponent,
        "Position 1 of 4 features should be 0.841, 0.540, 0.010, 1.000; got 0.841, 0.540, 0.100, "
        "0.995",
        "The exponent is i / dim instead of 2i / dim, so the slowest pair is too fast: ten "
        "times with 4 features, and up to a hundred times with many. Take "
        "`np.arange(0, dim, 2) / dim`, or `np.arange(dim // 2) / (dim // 2)`.",
        helpers=(_interleaved,),
    ),
    Mistake(
        "twice_the_exponent",
        twice_the_exponent,
        "Position 1 of 4 features should be 0.841, 0.540, 0.010, 1.000; got 0.841, 0.540, 0.000, "
        "1.000",
        "The factor 2 of 2i is there twice: `np.arange(0, dim, 2)` counts in steps of 2 already. "
        "The last pairs then hardly move at all.",
        helpers=(_interleaved,),
    ),
    Mistake(
        "own_angle_for_each",
        own_angle_for_each,
        "Position 1 of 4 features should be 0.841, 0.540, 0.010, 1.000; got 0.841, 0.995, 0.010, "
        "1.000",
        "Every feature got an angle of its own. A sine and a cosine must share one: only then is "
        "the pair a point on a circle, a shift a turn, and the dot product of two rows a function "
        "of their distance.",
    ),
    Mistake(
        "degrees",
        degrees,
        "Position 1 of 4 features should be 0.841, 0.540, 0.010, 1.000; got 0.017, 1.000, 0.000, "
        "1.000",
        "The angles were taken as degrees. They are radians, which is what `np.sin` and `np.cos` "
        "expect: one position turns the first pair by 57 degrees. Nothing has to be converted.",
        helpers=(_interleaved,),
    ),
    Mistake(
        "transposed",
        transposed,
        "sinusoidal_positions(3, 4) should return the shape (3, 4), got (4, 3)",
        "The table lies on its side. A row stands for a position, so that it can be added to the "
        "row of the token.",
        helpers=(_interleaved,),
    ),
    Mistake(
        "base_ignored",
        base_ignored,
        "With base 100 feature 2 of 4 at position 1 should be sin(0.1) = 0.100, got 0.010",
        "The base is written into the formula, and the argument is not used. Models for longer "
        "texts take a larger one.",
        helpers=(_interleaved,),
    ),
)
