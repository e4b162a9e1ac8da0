"""What tables of counts achieve: the loss that a model has to beat."""

import numpy as np

from tinygpt import validate
from tinygpt.data.batches import check_ids
from tinygpt.shapes import Integer

_PIECE = 1 << 20  # tokens
_LARGEST_TABLE = 2**28


def ngram_loss(
    train: Integer[np.ndarray, " N1"],
    validation: Integer[np.ndarray, " N2"],
    vocab_size: int,
    smoothing: float = 0.1,
    length: int = 2,
) -> float:
    """Return the loss of predicting each token by how often it followed the ones before it.

    p(next | before) = (count(before, next) + s) / (count(before) + s V)

    Args:
        train: the tokens that are counted.
        validation: the tokens that are predicted, all but the first `length - 1`.
        vocab_size: number of tokens, V.
        smoothing: s, added to each count, so that what was never seen is possible.
        length: tokens counted together: 1 looks at nothing before, 2 at one token, and so on.
            The table holds V ** length numbers.

    Returns:
        The mean of -ln p over the validation tokens, in nats per token.

    Raises:
        TypeError, ValueError: an argument is of another kind or out of range, or a part is
            shorter than `length`, or the table would be too large.
    """
    vocab_size = validate.positive_integer("ngram_loss", "vocab_size", vocab_size)
    length = validate.positive_integer("ngram_loss", "length", length)
    smoothing = validate.number("ngram_loss", "smoothing", smoothing, low=0.0)
    if vocab_size**length > _LARGEST_TABLE:
        raise ValueError(
            f"ngram_loss: {vocab_size:,} ** {length} counts are more than {_LARGEST_TABLE:,}; "
            "give a smaller length"
        )
    train_counts = _count("train", train, vocab_size, length)
    validation_counts = _count("validation", validation, vocab_size, length)
    before, following = validation_counts.nonzero()
    total = train_counts.sum(axis=1)[before] + smoothing * vocab_size
    with np.errstate(divide="ignore", invalid="ignore"):  # without smoothing it may be infinite
        surprise = -np.log((train_counts[before, following] + smoothing) / total)
    loss = np.average(surprise, weights=validation_counts[before, following])
    return float("inf") if np.isnan(loss) else float(loss)


def _count(name: str, ids: np.ndarray, vocab_size: int, length: int) -> np.ndarray:
    """How often each token followed each run of length - 1: (V ** (length - 1), V)."""
    check_ids("ngram_loss", ids, name)
    if len(ids) < length:
        raise ValueError(
            f"ngram_loss: {name} has {len(ids):,} tokens; length={length} needs at least {length}"
        )
    counts = np.zeros(vocab_size**length, dtype=np.int64)
    for start in range(0, len(ids) - length + 1, _PIECE):
        piece = np.asarray(ids[start : start + _PIECE + length - 1], dtype=np.int64)
        validate.ids_below("ngram_loss", f"{name}: id", piece, vocab_size)
        runs = np.zeros(len(piece) - length + 1, dtype=np.int64)
        for place in range(length):
            runs = runs * vocab_size + piece[place : place + len(runs)]
        counts += np.bincount(runs, minlength=len(counts))
    return counts.reshape(-1, vocab_size)
