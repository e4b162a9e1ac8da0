"""Handwritten digits: small enough to train on in seconds, real enough to fail on."""

from typing import NamedTuple

import numpy as np

from tinygpt.data.files import DataError
from tinygpt.shapes import Float, Int
from tinygpt.validate import generator

_PARTS_OF_FIVE = {"train": 3, "validation": 1, "test": 1}


class Examples(NamedTuple):
    """Images and what they show; `images, labels = examples` takes them apart.

    Attributes:
        images: ink of each pixel, float32 from 0 (paper) to 1.
        labels: the digit of each image, int64 from 0 to 9.
    """

    images: Float[np.ndarray, "N 8 8"]
    labels: Int[np.ndarray, " N"]


class Digits(NamedTuple):
    """The three parts of a data set: to learn from, to choose by, to report on once."""

    train: Examples
    validation: Examples
    test: Examples


def load_digits(seed: int = 0) -> Digits:
    """Return scikit-learn's 1,797 digits of 8 by 8 pixels in three parts.

    Three fifths are for training, one fifth each for validation and test. Every part holds
    each digit in the same proportion as the whole (the split is stratified), in the order of
    the original.

    Args:
        seed: another one gives another split; the images stay the same.

    Returns:
        `Digits(train, validation, test)`, each `Examples(images, labels)` with images of
        shape (N, 8, 8) and labels of shape (N,).

    Raises:
        DataError: scikit-learn, whose files hold the images, is not installed.

    Source: Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI; the
        test set of it, as scikit-learn ships it.
    """
    rng = generator("load_digits", seed)
    try:
        from sklearn.datasets import load_digits as read
    except ModuleNotFoundError:
        raise DataError(
            "the digits come with scikit-learn, which is not installed here; "
            "`pip install scikit-learn` installs it"
        ) from None
    bunch = read()
    images = (bunch.images / 16).astype(np.float32)  # the ink is counted from 0 to 16
    labels = bunch.target.astype(np.int64)
    parts = stratified_parts(labels, list(_PARTS_OF_FIVE.values()), rng)
    return Digits(*(Examples(images[rows], labels[rows]) for rows in parts))


def stratified_parts(
    labels: Int[np.ndarray, " N"], shares: list[int], rng: np.random.Generator
) -> list[Int[np.ndarray, " M"]]:
    """Deal the rows of each class out to parts, in proportion to `shares`.

    Returns:
        For each share the row numbers of its part, in ascending order. Each row is in one.
    """
    ends = np.cumsum(shares) / sum(shares)
    parts = [[] for _ in shares]
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        cuts = np.round(ends[:-1] * len(rows)).astype(int)
        for part, dealt in zip(parts, np.split(rows, cuts), strict=True):
            part.append(dealt)
    return [np.sort(np.concatenate(part)) for part in parts]
