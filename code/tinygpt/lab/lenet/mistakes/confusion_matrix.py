"""Wrong confusion matrices."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def transposed(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes), dtype=int)
    np.add.at(matrix, (predictions, labels), 1)
    return matrix


def counted_once(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes), dtype=int)
    matrix[labels, predictions] += 1
    return matrix


def mistakes_only(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes), dtype=int)
    wrong = labels != predictions
    np.add.at(matrix, (labels[wrong], predictions[wrong]), 1)
    return matrix


def shares_of_rows(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes))
    np.add.at(matrix, (labels, predictions), 1)
    return matrix / matrix.sum(axis=1, keepdims=True).clip(1)


def floats(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes))
    np.add.at(matrix, (labels, predictions), 1)
    return matrix


def classes_that_occur(labels, predictions, num_classes):
    classes = np.unique(np.concatenate([labels, predictions]))
    matrix = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(matrix, (np.searchsorted(classes, labels), np.searchsorted(classes, predictions)), 1)
    return matrix


def bins_missing(labels, predictions, num_classes):
    counts = np.bincount(num_classes * labels + predictions)
    return counts.reshape(num_classes, num_classes)


MISTAKES = (
    Mistake(
        "counted_once",
        counted_once,
        "The matrix should count all 5 examples, got 4",
        "`matrix[labels, predictions] += 1` reads all places, adds 1 and writes them back, so a "
        "place that is named twice still gets 1. Use np.add.at, or np.bincount.",
    ),
    Mistake(
        "transposed",
        transposed,
        "With the labels 0, 0, 0, 1, 2 called 0, 0, 1, 1, 1 the matrix should be [[2, 1, 0], "
        "[0, 1, 0], [0, 1, 0]], got [[2, 0, 0], [1, 1, 1], [0, 0, 0]]",
        "Rows and columns are exchanged. Here a row is what the example is, and a column what it "
        "was called, as in scikit-learn. Both are in use, so a table should say which it is.",
    ),
    Mistake(
        "mistakes_only",
        mistakes_only,
        "The matrix should count all 5 examples, got 2",
        "Only the mistakes are counted. The diagonal holds what is right; without it the matrix "
        "does not say whether two mistakes are many.",
    ),
    Mistake(
        "shares_of_rows",
        shares_of_rows,
        "The matrix should count all 5 examples, got 3",
        "The rows are divided by their sums. Shares are good to look at, but they hide how many "
        "examples there were, and counts can always be divided later.",
    ),
    Mistake(
        "floats",
        floats,
        "The counts should be integers, got float64",
        "np.zeros makes floats unless it is told otherwise. Counts are whole numbers: `dtype=int`.",
    ),
    Mistake(
        "classes_that_occur",
        classes_that_occur,
        "For 4 classes confusion_matrix should return the shape (4, 4), got (2, 2)",
        "The matrix has a row for each class that occurs. On a small test set a class may be "
        "missing, and then all rows after it would stand for other classes than they say.",
    ),
    Mistake(
        "bins_missing",
        bins_missing,
        "confusion_matrix raised ValueError: cannot reshape array of size 8 into shape (3,3)",
        "np.bincount ends with the largest number that occurs. With `minlength=num_classes ** 2` "
        "the pairs after it are counted too, as zeros, and the reshape fits.",
    ),
)
