"""Windows of a corpus and the tokens that follow: what a model trains on."""

from collections.abc import Iterator

import numpy as np

from tinygpt import validate
from tinygpt.shapes import Int, Integer


def train_val_split(
    ids: Integer[np.ndarray, " N"], train_fraction: float = 0.9
) -> tuple[Integer[np.ndarray, " N1"], Integer[np.ndarray, " N2"]]:
    """The first `train_fraction` of a corpus for training, the rest for validation.

    The cut is at `int(train_fraction * N)`, on every machine. Both parts are views.

    Raises:
        TypeError, ValueError: an argument is of another kind, or one part would be empty.
    """
    check_ids("train_val_split", ids)
    train_fraction = check_fraction("train_val_split", train_fraction)
    cut = int(train_fraction * len(ids))
    if cut == 0:
        raise ValueError(
            f"train_val_split: train_fraction={train_fraction} of {len(ids):,} ids leaves none "
            "to train on; give more ids or a larger fraction"
        )
    return ids[:cut], ids[cut:]


def random_batch(
    ids: Integer[np.ndarray, " N"], batch_size: int, block_size: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "B T"], Int[np.ndarray, "B T"]]:
    """Random windows of a corpus, and the same windows one position later.

    Of a memory-mapped array only the windows are read.

    Args:
        ids: the corpus as numbers, at least `block_size + 1` of them.
        batch_size: number of windows, B.
        block_size: length of a window, T.
        rng: source of the windows' positions.

    Returns:
        Inputs and targets, both int64 of shape (B, T), with `targets[:, t]` the token after
        `inputs[:, t]`.

    Raises:
        TypeError, ValueError: an argument is of another kind, or the corpus is too short.
    """
    check_ids("random_batch", ids)
    batch_size = validate.positive_integer("random_batch", "batch_size", batch_size)
    block_size = validate.positive_integer("random_batch", "block_size", block_size)
    validate.instance("random_batch", "rng", rng, np.random.Generator)
    if len(ids) <= block_size:
        raise ValueError(
            f"random_batch: the corpus has {len(ids):,} tokens; block_size={block_size} needs "
            f"at least {block_size + 1:,}"
        )
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)]  # (B, T + 1)
    windows = windows.astype(np.int64, copy=False)
    return windows[:, :-1], windows[:, 1:]


def sequential_batches(
    ids: Integer[np.ndarray, " N"], batch_size: int, block_size: int
) -> Iterator[tuple[Int[np.ndarray, "B T"], Int[np.ndarray, "B T"]]]:
    """Windows side by side, in order, which together predict each token once.

    The N - 1 tokens after the first are the targets. They are cut into windows of
    `block_size`, given `batch_size` at a time; the last batch of these may hold fewer.
    What is left at the end, fewer than `block_size` tokens, comes as one batch of one
    shorter window. A mean over all tokens therefore weights each batch by `targets.size`.

    Args:
        ids: the corpus as numbers, at least 2 of them.
        batch_size: the most windows in a batch, B.
        block_size: length of a window, T.

    Yields:
        Inputs and targets, both int64 of shape (B, T), or smaller as said above.

    Raises:
        TypeError, ValueError: an argument is of another kind, or there is nothing to predict.
    """
    check_ids("sequential_batches", ids)
    batch_size = validate.positive_integer("sequential_batches", "batch_size", batch_size)
    block_size = validate.positive_integer("sequential_batches", "block_size", block_size)
    if len(ids) < 2:
        raise ValueError(
            f"sequential_batches: the corpus has {len(ids)} tokens; a prediction needs at least 2"
        )
    return _windows(ids, batch_size, block_size)


def _windows(ids: np.ndarray, batch_size: int, block_size: int) -> Iterator:
    whole = (len(ids) - 1) // block_size * block_size
    for start in range(0, whole, batch_size * block_size):
        stop = min(start + batch_size * block_size, whole)
        yield _pair(ids, start, stop, block_size)
    if whole < len(ids) - 1:
        yield _pair(ids, whole, len(ids) - 1, len(ids) - 1 - whole)


def _pair(ids: np.ndarray, start: int, stop: int, length: int) -> tuple:
    chunk = np.asarray(ids[start : stop + 1], dtype=np.int64)  # from the disk once
    return chunk[:-1].reshape(-1, length), chunk[1:].reshape(-1, length)


def check_fraction(where: str, train_fraction) -> float:
    """Return the fraction of a corpus to train on, or say that it must be between 0 and 1."""
    fraction = validate.real(where, "train_fraction", train_fraction)
    if not 0 < fraction < 1:
        raise ValueError(f"{where}: train_fraction must be between 0 and 1, got {train_fraction}")
    return fraction


def check_ids(where: str, ids, name: str = "ids") -> None:
    """Say that tokens must be a 1-D array of integers, if they are not."""
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{where}: {name} must be a 1-D NumPy array of integers, got {validate.describe(ids)}"
        )
