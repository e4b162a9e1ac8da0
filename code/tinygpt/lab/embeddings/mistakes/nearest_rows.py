"""Wrong searches for the nearest rows."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def dot_product(table, row, k):
    scores = table @ table[row]
    scores[row] = -np.inf
    return np.argsort(-scores)[:k]


def itself_included(table, row, k):
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-30)
    cosines = table @ table[row] / (lengths * lengths[row])
    return np.argsort(-cosines, kind="stable")[:k]


def first_dropped(table, row, k):
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-30)
    cosines = table @ table[row] / (lengths * lengths[row])
    return np.argsort(cosines, kind="stable")[::-1][1 : k + 1]


def upwards(table, row, k):
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-30)
    cosines = table @ table[row] / (lengths * lengths[row])
    cosines[row] = np.inf
    return np.argsort(cosines)[:k]


def euclidean(table, row, k):
    distances = np.linalg.norm(table - table[row], axis=1)
    distances[row] = np.inf
    return np.argsort(distances)[:k]


def zero_row(table, row, k):
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit @ unit[row]
    cosines[row] = -np.inf
    return np.argsort(cosines)[::-1][:k]


def minus_one(table, row, k):
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-30)
    cosines = table @ table[row] / (lengths * lengths[row])
    cosines[row] = -1
    return np.argsort(-cosines, kind="stable")[:k]


def unsorted(table, row, k):
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-30)
    cosines = table @ table[row] / (lengths * lengths[row])
    cosines[row] = -np.inf
    return np.argpartition(-cosines, k)[:k]


def in_place(table, row, k):
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-30)
    cosines = table @ table[row]
    cosines[row] = -np.inf
    return np.argsort(-cosines)[:k]


_START = (
    "Of the rows (1, 0), (2, 1), (10, 10), (6, 0) and (-1, 0) the two nearest to row 0 should be "
    "[3, 1], got "
)

MISTAKES = (
    Mistake(
        "dot_product",
        dot_product,
        _START + "[2, 3]",
        "The dot product was not divided by the length of each row, so the longest row wins "
        "although it points elsewhere. The rows of a trained table differ in length, and the "
        "longest would be near to everything.",
    ),
    Mistake(
        "itself_included",
        itself_included,
        _START + "[0, 3]",
        "Every row is nearest to itself, with a cosine of 1. Set that entry to minus infinity "
        "before you sort.",
    ),
    Mistake(
        "first_dropped",
        first_dropped,
        _START + "[0, 1]",
        "The first of the sorted rows was dropped, in the belief that it is the row itself. "
        "Another row that points the same way has the same cosine and may come before it. Set the "
        "row's own entry to minus infinity instead.",
    ),
    Mistake(
        "upwards",
        upwards,
        _START + "[4, 2]",
        "`np.argsort` sorts upwards, so its first places are the rows that point furthest away. "
        "Sort the negative cosines.",
    ),
    Mistake(
        "euclidean",
        euclidean,
        _START + "[1, 4]",
        "These are the rows whose ends lie closest, whatever their direction. The row (6, 0) "
        "points exactly the same way and lies far off; (-1, 0) points the opposite way and lies "
        "near. The cosine looks at directions only.",
    ),
    Mistake(
        "zero_row",
        zero_row,
        "A row of zeros counts as a cosine of 0; of (1, 1), (0, 0), (1, 0) and (-1, -2) the three "
        "nearest to row 0 should be [2, 1, 3], got [1, 2, 3]",
        "A row of zeros, which tables keep for padding, has the length 0. The division gives NaN, "
        "`argsort` puts NaN at the end, and turning the order round makes it the first. Divide by "
        "at least a tiny number.",
    ),
    Mistake(
        "minus_one",
        minus_one,
        "Of the rows (3, 0), (0, 1), (-2, 0) the two nearest to row 0 should be [1, 2], got [1, 0]",
        "The row's own entry was set to -1, which another row can have too: one that points the "
        "opposite way. Minus infinity is below them all.",
    ),
    Mistake(
        "unsorted",
        unsorted,
        "In a random table of 2000 rows the 1000 nearest are the right ones in the wrong order; "
        "the largest cosine should come first",
        "`np.argpartition` puts the k largest in front, in any order. It is faster than a sort "
        "when the table is long; sort the k that it found afterwards.",
    ),
    Mistake(
        "in_place",
        in_place,
        "nearest_rows should leave the table as it was; it changed it",
        "`table /= ...` divides the array that was handed in, and the model it belongs to goes on "
        "with other weights. Write `table = table / ...`, which makes a new one.",
    ),
)
