"""Checks of batches, of the table of pairs and of the learning rate."""

import tracemalloc

import numpy as np

from tinygpt import data
from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown
from tinygpt.scratch import CosineSchedule


def test_unit_get_batch(get_batch):
    """Two arrays of the right shape: neighbouring tokens, and those one place later."""
    ids = np.arange(100, 140)
    inputs, targets = pair(get_batch, ids, 4, 8, np.random.default_rng(0))
    for row in inputs.tolist():
        require(
            row == list(range(row[0], row[0] + 8)),
            f"A row should be 8 neighbouring tokens, got a row that is not: {row}",
        )
    places = (targets - inputs).ravel().tolist()
    require(
        len(set(places)) == 1,
        "Each target should be the token one place after its input, got several distances",
    )
    require(
        places[0] == 1,
        f"Each target should be the token one place after its input, got {places[0]} places",
    )


def test_places_get_batch(get_batch):
    """Every window comes, each row is drawn on its own, and the generator decides."""
    inputs, _ = pair(get_batch, np.arange(6), 64, 2, np.random.default_rng(0))
    starts = sorted(set(inputs[:, 0].tolist()))
    require(len(starts) > 1, "64 rows should be drawn each on its own, got one window 64 times")
    require(
        starts == [0, 1, 2, 3],
        f"Of 6 tokens, windows of 2 should begin at [0, 1, 2, 3], got {starts}",
    )
    ids = np.arange(1000)
    drawn = [pair(get_batch, ids, 8, 4, np.random.default_rng(s))[0] for s in (1, 1, 2)]
    require(
        np.array_equal(drawn[0], drawn[1]),
        "Two generators with the same seed should give the same windows, got others",
    )
    require(
        not np.array_equal(drawn[0], drawn[2]),
        "Another generator should give other windows, got the same",
    )


def test_memory_get_batch(get_batch):
    """Any integers become int64, and of a large corpus only the windows are read."""
    ids = np.zeros(4_000_000, dtype=np.uint8)
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        inputs, targets = pair(get_batch, ids, 4, 8, np.random.default_rng(0))
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
    require(
        taken < 1_000_000,
        "get_batch should copy its windows only; of 4,000,000 tokens it copied all",
    )
    for array in (inputs, targets):
        require(
            array.dtype == np.int64,
            f"From a corpus of uint8 the batch should still be int64, got {array.dtype}",
        )


def test_unit_bigram_loss(bigram_loss):
    """The loss of a table that can be counted on paper."""
    train, validation = np.array([0, 1, 0, 1, 1, 1]), np.array([0, 1, 1])
    loss = number("bigram_loss", bigram_loss(train, validation, 3, 1.0))
    require(
        abs(loss - 0.6020) < 1e-3,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should cost "
        f"0.602 nats on average, got {shown(loss, 3)}",
    )


def test_unseen_bigram_loss(bigram_loss):
    """What was never seen is possible: a row without counts is a uniform guess."""
    loss = number("bigram_loss", bigram_loss(np.array([0, 1]), np.array([2, 3]), 4, 0.5))
    require(
        abs(loss - np.log(4)) < 1e-6,
        f"After a token that was never seen, 4 tokens should cost ln 4 = 1.386, "
        f"got {shown(loss, 3)}",
    )


def test_types_bigram_loss(bigram_loss):
    """A corpus kept in single bytes gives the same loss, and stays as it was."""
    rng = np.random.default_rng(0)
    ids = (rng.integers(0, 10, 2000) ** 2).astype(np.uint8)  # 0 to 81
    train, validation, kept = ids[:1500], ids[1500:], ids.copy()
    loss = number("bigram_loss", bigram_loss(train, validation, 90, 0.1))
    expected = data.ngram_loss(train, validation, 90, 0.1)
    require(
        abs(loss - expected) < 1e-6,
        f"On tokens kept as uint8 the loss should be {shown(expected, 3)}, got {shown(loss, 3)}",
    )
    require(np.array_equal(ids, kept), "bigram_loss should leave the corpus as it was")


def test_unit_learning_rate(learning_rate):
    """The rate at the first step, the top, half-way and the end."""
    for step, expected in [(0, 0.1), (9, 1.0), (10, 1.0), (28, 0.9236), (55, 0.6), (100, 0.2)]:
        rate = number("learning_rate", learning_rate(step, 100, 10, 1.0, 0.2))
        require(
            abs(rate - expected) < 1e-4,
            f"With 100 steps, 10 of warm-up, from 1.0 to 0.2, step {step} should have the rate "
            f"{expected:g}, got {shown(rate, 4)}",
        )


def test_after_learning_rate(learning_rate):
    """After the last step the rate stays where it is."""
    for step in (145, 190, 1000):
        rate = number("learning_rate", learning_rate(step, 100, 10, 1.0, 0.2))
        require(
            abs(rate - 0.2) < 1e-6,
            f"After the end, at step {step} of 100, the rate should stay 0.2, got {shown(rate, 4)}",
        )


def test_edges_learning_rate(learning_rate):
    """No warm-up, nothing but warm-up, and other numbers."""
    for steps, warmup, max_lr, min_lr in [(10, 0, 1.0, 0.0), (12, 10, 0.5, 0.1), (37, 5, 3.0, 3.0)]:
        schedule = CosineSchedule(max_lr, steps, warmup, min_lr)
        for step in range(steps + 3):
            rate = number("learning_rate", learning_rate(step, steps, warmup, max_lr, min_lr))
            require(
                abs(rate - schedule(step)) < 1e-6,
                f"With {steps} steps, {warmup} of warm-up, from {max_lr:g} to {min_lr:g}, step "
                f"{step} should have the rate {shown(schedule(step), 4)}, got {shown(rate, 4)}",
            )


def pair(get_batch, ids, batch_size, block_size, rng):
    out = get_batch(ids, batch_size, block_size, rng)
    kind = kind_of(out)
    require(
        isinstance(out, (tuple, list)) and len(out) == 2,
        f"get_batch should return two arrays, inputs and targets, got {kind}",
    )
    for name, array in zip(("inputs", "targets"), out, strict=True):
        require(
            isinstance(array, np.ndarray),
            f"get_batch should return NumPy arrays, got {name} of type {type(array).__name__}",
        )
        shape = (batch_size, block_size)
        require(
            array.shape == shape, f"The {name} should have the shape {shape}, got {array.shape}"
        )
    return out


def number(symbol, value) -> float:
    kind = kind_of(value)
    is_number = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    require(is_number, f"{symbol} should return a number, got {kind}")
    return float(value)
