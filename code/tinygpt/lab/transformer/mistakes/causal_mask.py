"""Wrong causal masks."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def transposed(seq_len):
    return np.triu(np.ones((seq_len, seq_len), dtype=bool))


def without_itself(seq_len):
    return np.tril(np.ones((seq_len, seq_len), dtype=bool), k=-1)


def true_means_hidden(seq_len):
    return np.triu(np.ones((seq_len, seq_len), dtype=bool), k=1)


def one_too_far(seq_len):
    return np.tril(np.ones((seq_len, seq_len), dtype=bool), k=1)


def everything(seq_len):
    return np.ones((seq_len, seq_len), dtype=bool)


def minus_infinity(seq_len):
    return np.where(np.tri(seq_len) == 1, 0.0, -np.inf)


def one_size(seq_len):
    return np.array(
        [
            [True, False, False, False],
            [True, True, False, False],
            [True, True, True, False],
            [True, True, True, True],
        ]
    )


def ones_and_zeros(seq_len):
    return np.tril(np.ones((seq_len, seq_len)))


def nothing_returned(seq_len):
    mask = np.tri(seq_len, dtype=bool)  # noqa: F841


MISTAKES = (
    Mistake(
        "transposed",
        transposed,
        "Position 3 of 4 should see the positions [0, 1, 2, 3], got [3]",
        "The mask is transposed: `np.triu` keeps what lies above the diagonal, the future. Rows "
        "are the positions that look and columns the positions that are looked at, so the "
        "allowed part lies on and below the diagonal: `np.tri` or `np.tril`.",
    ),
    Mistake(
        "without_itself",
        without_itself,
        "Position 3 of 4 should see the positions [0, 1, 2, 3], got [0, 1, 2]",
        "The diagonal is missing. A position may look at itself, since its own token is known; "
        "what it predicts is the next one. Without the diagonal the first position has nothing "
        "to look at.",
    ),
    Mistake(
        "true_means_hidden",
        true_means_hidden,
        "Position 3 of 4 should see the positions [0, 1, 2, 3], got []",
        "The meaning of True is turned round. In this book, as in PyTorch's "
        "`scaled_dot_product_attention`, True means that a position may attend; some other "
        "libraries mark with True what is hidden. Invert the mask with `~`.",
    ),
    Mistake(
        "one_too_far",
        one_too_far,
        "Position 0 of 4 should see the positions [0], got [0, 1]",
        "The diagonal is shifted by one, so every position sees the token that it should "
        "predict. The loss then falls to almost nothing in training, and the generated text is "
        "nonsense. Use `k=0`.",
    ),
    Mistake(
        "everything",
        everything,
        "Position 0 of 4 should see the positions [0], got [0, 1, 2, 3]",
        "Nothing is masked: the first position sees all four. This is the attention of an "
        "encoder such as BERT. A model that is to predict the next token must not read it.",
    ),
    Mistake(
        "minus_infinity",
        minus_infinity,
        "The mask should hold booleans, got float64",
        "This is a mask to be added to the scores, 0 where allowed and minus infinity where "
        "not. It works with attention written for it, but the attention here takes booleans and "
        "puts in the minus infinity itself. Return the comparison, not the numbers.",
    ),
    Mistake(
        "one_size",
        one_size,
        "create_causal_mask(1) should have the shape (1, 1), got (4, 4)",
        "The mask is right for four tokens and wrong for every other number. A text grows by "
        "one token with each step of generation, so the mask has to follow `seq_len`.",
    ),
    Mistake(
        "ones_and_zeros",
        ones_and_zeros,
        "The mask has the right pattern and should hold booleans, got the numbers 0 and 1",
        "The triangle is right and its type is not: `np.ones` and `np.tri` make floats unless "
        "they are told otherwise. `~` does not invert numbers as it inverts booleans, and "
        "numbers used as an index pick positions. Add `dtype=bool`.",
    ),
    Mistake(
        "nothing_returned",
        nothing_returned,
        "The mask should be a NumPy array, got None",
        "The function makes the mask and does not hand it back. A Python function without a "
        "`return` gives None. End it with `return mask`.",
    ),
)
