"""Checks of data and rates on inputs drawn from a seed: types, sizes, defaults, and chance."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.shakespeare.checks import number, pair
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import CosineSchedule

_TYPES = (np.uint8, np.int64, np.uint16, np.int32)


def test_drawn_get_batch(get_batch):
    """Windows of a corpus in any type, where no token says what comes after it."""
    for case in cases(
        1, 16, dtype=_TYPES, rows=range(1, 9), length=range(1, 12), more=(1, 300, 2, 40)
    ):
        ids = case.integers(0, 256, case.length + case.more, dtype=case.dtype)
        with undisturbed("get_batch", ids=ids):
            inputs, targets = pair(get_batch, ids, case.rows, case.length, case.rng)
        what = f"From {len(ids)} tokens of {ids.dtype}"
        for name, array in (("inputs", inputs), ("targets", targets)):
            require(
                array.dtype == np.int64, f"{what} the {name} should be int64, got {array.dtype}"
            )
        windows = np.lib.stride_tricks.sliding_window_view(ids, case.length + 1)
        for row in np.concatenate([inputs, targets[:, -1:]], axis=1):
            require(
                bool((windows == row).all(axis=1).any()),
                f"{what} each row should be {case.length} neighbouring tokens and the one after "
                f"them, got {row.tolist()}",
            )
        require(
            np.array_equal(inputs[:, 1:], targets[:, :-1]),
            f"{what} the targets should be the inputs one place later; they are not",
        )


def test_chance_get_batch(get_batch):
    """Every place equally often, each row by itself, and the generator moves on."""
    rng = np.random.default_rng(0)
    inputs, _ = pair(get_batch, np.arange(14), 8000, 4, rng)
    counts = np.bincount(inputs[:, 0], minlength=10)
    require(
        len(counts) == 10 and counts.min() > 640 and counts.max() < 960,
        "Each of the 10 places should come in about 10% of 8,000 windows, got from "
        f"{shown(counts.min() / 80, 0)}% to {shown(counts.max() / 80, 0)}%",
    )
    ids = np.arange(5000)
    twice = [pair(get_batch, ids, 2, 4, rng)[0][:, 0] for _ in range(200)]
    apart = len({int(second - first) for first, second in twice})
    require(
        apart > 150,
        "Two rows should be drawn each on its own, so that they lie apart by another number of "
        f"tokens each time; in 200 batches there were {apart} distances",
    )
    require(
        len({int(first) for first, _ in twice}) > 150,
        "The next batch of the same generator should be another one, got the same again",
    )


def test_drawn_bigram_loss(bigram_loss):
    """Against pairs counted one by one, in any type and with any smoothing, 0.1 by default."""
    for case in cases(
        2, 10, dtype=_TYPES, vocabulary=(2, 250, 7, 60), smoothing=(None, 10.0, 0.001, 1.0),
        train=range(2, 400), validation=range(2, 60),
    ):  # fmt: skip
        train, validation = (
            case.integers(0, case.vocabulary, count, dtype=case.dtype)
            for count in (case.train, case.validation)
        )
        given = () if case.smoothing is None else (case.smoothing,)
        with undisturbed("bigram_loss", train=train, validation=validation):
            loss = number("bigram_loss", bigram_loss(train, validation, case.vocabulary, *given))
        counts = np.full((case.vocabulary, case.vocabulary), given[0] if given else 0.1)
        for first, second in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
            counts[first, second] += 1
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
        expected = -logs[validation[:-1].astype(int), validation[1:].astype(int)].mean()
        smoothing = f"smoothing {given[0]:g}" if given else "the default smoothing"
        require(
            abs(loss - expected) < 1e-6 * max(1, expected),
            f"On {case.train} and {case.validation} tokens of {train.dtype} with {smoothing} the "
            f"loss should be {shown(expected, 6)}, got {shown(loss, 6)}",
        )


def test_drawn_learning_rate(learning_rate):
    """Every step of schedules of any length, also with one step after the warm-up, or none."""
    for case in cases(
        3, 12, warmup=range(20), after=(0, 30, 1, 2, 7), max_lr=(1.0, 6e-4), min_lr=(0.0, 6e-5)
    ):
        steps = max(1, case.warmup + case.after)
        schedule = CosineSchedule(case.max_lr, steps, case.warmup, case.min_lr)
        for step in range(steps + 4):
            if step == case.warmup == steps:
                continue  # the highest and the last rate at once: either will do
            rate = learning_rate(step, steps, case.warmup, case.max_lr, case.min_lr)
            rate = number("learning_rate", rate)
            require(
                abs(rate - schedule(step)) < 1e-6 * case.max_lr,
                f"With {steps} steps, {case.warmup} of warm-up, from {case.max_lr:g} to "
                f"{case.min_lr:g}, step {step} should have the rate {schedule(step):.4g}, got "
                f"{rate:.4g}",
            )
