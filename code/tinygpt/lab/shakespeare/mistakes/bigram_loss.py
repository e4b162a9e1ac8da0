"""Wrong tables of pairs."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def _counts(train, vocab_size):
    """How often each token followed each other one; this part is right."""
    pairs = train[:-1].astype(np.int64) * vocab_size + train[1:]
    return np.bincount(pairs, minlength=vocab_size**2).reshape(vocab_size, vocab_size)


def joint(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum()
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def over_columns(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum(axis=0)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def in_bits(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log2(p[validation[:-1], validation[1:]]).mean())


def summed(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log(p[validation[:-1], validation[1:]]).sum())


def counted_once(train, validation, vocab_size, smoothing=0.1):
    counts = np.full((vocab_size, vocab_size), smoothing)
    counts[train[:-1], train[1:]] += 1
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def on_the_training_text(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log(p[train[:-1], train[1:]]).mean())


def smoothed_above_only(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size)
    p = (counts + smoothing) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def not_smoothed(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size)
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def last_token_counted(train, validation, vocab_size, smoothing=0.1):
    before = np.bincount(train, minlength=vocab_size)[:, None]
    p = (_counts(train, vocab_size) + smoothing) / (before + smoothing * vocab_size)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


def perplexity(train, validation, vocab_size, smoothing=0.1):
    counts = _counts(train, vocab_size) + smoothing
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(np.exp(-np.log(p[validation[:-1], validation[1:]]).mean()))


def bytes_overflow(train, validation, vocab_size, smoothing=0.1):
    pairs = train[:-1] * vocab_size + train[1:]
    counts = np.bincount(pairs, minlength=vocab_size**2).reshape(vocab_size, vocab_size)
    counts = counts + smoothing
    p = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


MISTAKES = (
    Mistake(
        "joint",
        joint,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 1.540",
        "The counts are divided by their total, which gives the probability of the pair and "
        "not that of its second token. Whoever predicts knows the first one. Divide each row by "
        "its own sum.",
        (_counts,),
    ),
    Mistake(
        "over_columns",
        over_columns,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.847",
        "Each column sums to 1, so this is the probability of the token *before*. The row is "
        "the token that is known, and the row has to sum to 1: `axis=1`, with `keepdims=True` so "
        "that it divides row by row.",
        (_counts,),
    ),
    Mistake(
        "in_bits",
        in_bits,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.868",
        "`np.log2` measures in bits, and PyTorch's cross-entropy in nats. One nat is 1.44 bits, "
        "so a baseline in bits is easy to beat by mistake. Use `np.log`.",
        (_counts,),
    ),
    Mistake(
        "summed",
        summed,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 1.204",
        "The surprise is added up over the text, so it grows with its length. A loss per token "
        "can be compared between texts: take the mean.",
        (_counts,),
    ),
    Mistake(
        "counted_once",
        counted_once,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.805",
        "`counts[a, b] += 1` with arrays of places adds 1 to each place once, however often it "
        "is named. So a pair seen a thousand times counts as one. `np.bincount` of "
        "`a * vocab_size + b` counts them all, and so does `np.add.at`.",
    ),
    Mistake(
        "on_the_training_text",
        on_the_training_text,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.701",
        "The loss is measured on the text that was counted. A table that has seen the answers "
        "looks better than it is, the more so the larger it is. Measure on the validation "
        "tokens.",
        (_counts,),
    ),
    Mistake(
        "smoothed_above_only",
        smoothed_above_only,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got -0.203",
        "The counts are smoothed and the sums they are divided by are not, so each row sums to "
        "more than 1 and the loss is too good, here even below zero. Smooth first, then divide "
        "each row by its own sum.",
        (_counts,),
    ),
    Mistake(
        "not_smoothed",
        not_smoothed,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.203",
        "Nothing is added to the counts. A pair that the training text never holds then has the "
        "probability 0 and costs an infinite loss, and one such pair in the validation text is "
        "enough. Add `smoothing` to every count.",
        (_counts,),
    ),
    Mistake(
        "last_token_counted",
        last_token_counted,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 0.679",
        "The sums are counts of single tokens, and the last token of the text is among them, "
        "though nothing follows it. Its row then sums to less than 1. Divide each row by the sum "
        "of that row.",
        (_counts,),
    ),
    Mistake(
        "perplexity",
        perplexity,
        "After counting [0, 1, 0, 1, 1, 1] with smoothing 1, the pairs of [0, 1, 1] should "
        "cost 0.602 nats on average, got 1.826",
        "This is the exponential of the loss, the perplexity: how many equally likely tokens "
        "would surprise as much. The loss itself was asked for, so leave out `np.exp`.",
        (_counts,),
    ),
    Mistake(
        "bytes_overflow",
        bytes_overflow,
        "On tokens kept as uint8 the loss should be 2.387, got 4.296",
        "The corpus is kept in single bytes, and a byte times V stays a byte: 255 is followed "
        "by 0, without a warning. The pairs are then counted in the wrong places. Convert to "
        "int64 before multiplying.",
    ),
)
