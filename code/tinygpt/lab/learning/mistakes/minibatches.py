"""Wrong batches."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def labels_left_behind(inputs, labels, batch_size, rng):
    shuffled = inputs[rng.permutation(len(inputs))]
    for start in range(0, len(labels), batch_size):
        yield shuffled[start : start + batch_size], labels[start : start + batch_size]


def last_batch_dropped(inputs, labels, batch_size, rng):
    order = rng.permutation(len(labels))
    for i in range(len(labels) // batch_size):
        rows = order[i * batch_size : (i + 1) * batch_size]
        yield inputs[rows], labels[rows]


def drawn_with_replacement(inputs, labels, batch_size, rng):
    for start in range(0, len(labels), batch_size):
        size = min(batch_size, len(labels) - start)
        rows = rng.integers(0, len(labels), size)
        yield inputs[rows], labels[rows]


def in_order(inputs, labels, batch_size, rng):
    for start in range(0, len(labels), batch_size):
        yield inputs[start : start + batch_size], labels[start : start + batch_size]


def shuffled_inside(inputs, labels, batch_size, rng):
    for start in range(0, len(labels), batch_size):
        rows = start + rng.permutation(min(batch_size, len(labels) - start))
        yield inputs[rows], labels[rows]


def in_place(inputs, labels, batch_size, rng):
    order = rng.permutation(len(labels))
    inputs[...], labels[...] = inputs[order], labels[order]
    for start in range(0, len(labels), batch_size):
        rows = slice(start, start + batch_size)
        yield inputs[rows].copy(), labels[rows].copy()


def same_order_always(inputs, labels, batch_size, rng):
    order = np.random.default_rng(0).permutation(len(labels))
    for start in range(0, len(labels), batch_size):
        rows = order[start : start + batch_size]
        yield inputs[rows], labels[rows]


def first_batch_only(inputs, labels, batch_size, rng):
    rows = rng.permutation(len(labels))[:batch_size]
    return [(inputs[rows], labels[rows])]


MISTAKES = (
    Mistake(
        "labels_left_behind",
        labels_left_behind,
        "Each input should come with its own label, got inputs with the label of another",
        "The inputs are shuffled and the labels are not, or each by a permutation of its own. "
        "Nothing fails: the loss goes to that of guessing and stays there, and with enough "
        "weights the network learns the wrong labels by heart. Index both with the same rows.",
    ),
    Mistake(
        "last_batch_dropped",
        last_batch_dropped,
        "10 examples in batches of 4 should make batches of [4, 4, 2], got [4, 4]",
        "The integer division forgets what is left over. In training other examples are left "
        "out each time, but a data set smaller than a batch gives no batch at all. Let `range` "
        "step by batch_size to the end.",
    ),
    Mistake(
        "drawn_with_replacement",
        drawn_with_replacement,
        "Each example should come once in a pass, got some several times and others never",
        "Every batch is drawn anew from all examples. Of N draws from N about a third of the "
        "examples never come, and others come twice. Cut one permutation into pieces instead.",
    ),
    Mistake(
        "in_order",
        in_order,
        "The examples should come in a random order, got them as is",
        "The rows come as they stand in the file. If it is sorted by class, every batch holds "
        "one class, and each step unlearns the one before. Even where it is not, the same "
        "examples always meet in a batch.",
    ),
    Mistake(
        "shuffled_inside",
        shuffled_inside,
        "Any examples should be able to meet in a batch, got batches of neighbours in the data",
        "The data are cut first and shuffled afterwards. The mean over a batch does not depend on "
        "the order inside it, so nothing has been shuffled at all. Permute all row numbers, then "
        "cut.",
    ),
    Mistake(
        "in_place",
        in_place,
        "minibatches should leave inputs and labels as they were; it changed their order",
        "The caller's arrays are shuffled. Whoever kept row numbers, a split or a view of them "
        "now points at other examples. Shuffle row numbers and index with them.",
    ),
    Mistake(
        "same_order_always",
        same_order_always,
        "A second pass should have a new order, got the same again",
        "A generator is made inside, with the same seed every time, so each epoch has the same "
        "batches in the same order. Use the generator that is handed in: it goes on from where "
        "it was.",
    ),
    Mistake(
        "first_batch_only",
        first_batch_only,
        "10 examples in batches of 4 should make batches of [4, 4, 2], got [4]",
        "One random batch is given, and then it is over. A pass goes through all examples: cut "
        "the permutation into pieces of batch_size.",
    ),
)
