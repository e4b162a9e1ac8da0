"""Wrong batches."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def not_shifted(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size)].astype(np.int64)
    return windows, windows


def shifted_back(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)].astype(np.int64)
    return windows[:, 1:], windows[:, :-1]


def last_token_only(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)].astype(np.int64)
    return windows[:, :-1], windows[:, -1]


def last_window_missing(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids) - block_size - 1, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)].astype(np.int64)
    return windows[:, :-1], windows[:, 1:]


def over_the_end(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids), size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)].astype(np.int64)
    return windows[:, :-1], windows[:, 1:]


def one_window(ids, batch_size, block_size, rng):
    start = rng.integers(0, len(ids) - block_size)
    window = ids[start : start + block_size + 1].astype(np.int64)
    windows = np.tile(window, (batch_size, 1))
    return windows[:, :-1], windows[:, 1:]


def other_generator(ids, batch_size, block_size, rng):
    starts = np.random.randint(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)].astype(np.int64)
    return windows[:, :-1], windows[:, 1:]


def whole_corpus(ids, batch_size, block_size, rng):
    ids = ids.astype(np.int64)
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)]
    return windows[:, :-1], windows[:, 1:]


def small_integers(ids, batch_size, block_size, rng):
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)]
    return windows[:, :-1], windows[:, 1:]


MISTAKES = (
    Mistake(
        "not_shifted",
        not_shifted,
        "Each target should be the token one place after its input, got 0 places",
        "Inputs and targets are the same windows, so the model is asked for the token that it "
        "has just read. It learns to copy, the loss falls to almost nothing, and what it writes "
        "is one letter over and over. Draw one token more and cut it off at either end.",
    ),
    Mistake(
        "shifted_back",
        shifted_back,
        "Each target should be the token one place after its input, got -1 places",
        "Inputs and targets are exchanged: the model is asked for the token before each one. "
        "It can look that up, for it stands in the input, and learns nothing about what comes "
        "next.",
    ),
    Mistake(
        "last_token_only",
        last_token_only,
        "The targets should have the shape (4, 8), got (4,)",
        "One target for each window: the token after its end. That trains too, but each "
        "window then teaches one prediction where it could teach T. A causal model predicts at "
        "every position, so give it a target at every position.",
    ),
    Mistake(
        "last_window_missing",
        last_window_missing,
        "Of 6 tokens, windows of 2 should begin at [0, 1, 2, 3], got [0, 1, 2]",
        "`rng.integers` leaves out its upper end already. Of N tokens, a window of T with its "
        "targets can begin at 0 to N - T - 1, so the upper end is `len(ids) - block_size`; one "
        "less, and the last token is never a target.",
    ),
    Mistake(
        "over_the_end",
        over_the_end,
        "get_batch raised IndexError: index 40 is out of bounds for axis 0 with size 40",
        "Some windows begin so late that they run over the end of the corpus. With a large "
        "corpus this happens once in many thousand batches, hours into a run. The last possible "
        "beginning leaves room for T + 1 tokens.",
    ),
    Mistake(
        "one_window",
        one_window,
        "64 rows should be drawn each on its own, got one window 64 times",
        "One beginning is drawn for the whole batch, so all rows are alike. The mean over B "
        "equal rows is no better an estimate than one row, at B times the price. Draw "
        "`size=batch_size` beginnings.",
    ),
    Mistake(
        "other_generator",
        other_generator,
        "Two generators with the same seed should give the same windows, got others",
        "The windows come from NumPy's shared random numbers and not from `rng`. Then a run "
        "cannot be repeated, and a run that was stopped cannot go on as if it had not been. Use "
        "the generator that is handed in.",
    ),
    Mistake(
        "whole_corpus",
        whole_corpus,
        "get_batch should copy its windows only; of 4,000,000 tokens it copied all",
        "The whole corpus becomes int64 at each call, eight bytes for each token. A corpus on "
        "the disk is read through from end to end for every batch, and one larger than memory "
        "ends the program. Index first, convert what came out.",
    ),
    Mistake(
        "small_integers",
        small_integers,
        "From a corpus of uint8 the batch should still be int64, got uint8",
        "The windows keep the corpus's type, single bytes here. PyTorch takes bytes for a mask "
        "and refuses them as targets, and sums of them overflow. Convert the windows with "
        "`.astype(np.int64)`.",
    ),
)
