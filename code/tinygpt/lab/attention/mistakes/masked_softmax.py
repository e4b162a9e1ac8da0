"""Wrong masked softmaxes."""

import math

import numpy as np

from tinygpt.lab.definitions import Mistake


def _softmax(scores, axis=-1):
    weights = (scores - scores.data.max(axis=axis, keepdims=True)).exp()
    return weights / weights.sum(axis=axis, keepdims=True)


def mask_after_softmax(scores, mask):
    return _softmax(scores).masked_fill(~mask, 0)


def mask_inverted(scores, mask):
    return _softmax(scores.masked_fill(mask, -math.inf))


def masked_with_zero(scores, mask):
    return _softmax(scores.masked_fill(~mask, 0))


def rows_of_nan(scores, mask):
    return _softmax(scores.masked_fill(~mask, -math.inf))


def large_negative(scores, mask):
    return _softmax(scores.masked_fill(~mask, -1e9))


def over_the_queries(scores, mask):
    return _softmax(scores.masked_fill(~mask, -math.inf), axis=-2)


def patched_forward_only(scores, mask):
    weights = _softmax(scores + np.where(mask, 0, -math.inf))
    return weights.masked_fill(np.isnan(weights.data), 0)


def overflows(scores, mask):
    weights = scores.exp() * mask
    total = weights.sum(axis=-1, keepdims=True)
    return weights / (total + (total.data == 0))


MISTAKES = (
    Mistake(
        "mask_after_softmax",
        mask_after_softmax,
        "With the scores 2, 3, 1 and the second hidden, the weights should be 0.73, 0.00, "
        "0.27, got 0.24, 0.00, 0.09",
        "The softmax has already divided by a sum that counts the hidden score. The "
        "weights that are left sum to 0.33, and how much is missing tells how large the "
        "hidden score is. Mask the scores, or divide each row by its sum once more.",
        (_softmax,),
    ),
    Mistake(
        "mask_inverted",
        mask_inverted,
        "With the scores 2, 3, 1 and the second hidden, the weights should be 0.73, 0.00, "
        "0.27, got 0.00, 1.00, 0.00",
        "What should be hidden is all that is seen. `masked_fill` fills where its "
        "argument is True, and in this book True means may attend, so the fill goes where "
        "the mask is not True: `~mask`.",
        (_softmax,),
    ),
    Mistake(
        "masked_with_zero",
        masked_with_zero,
        "With the scores 2, 3, 1 and the second hidden, the weights should be 0.73, 0.00, "
        "0.27, got 0.67, 0.09, 0.24",
        "Hidden scores are set to 0, and a score of 0 is not a weight of 0: exp(0) is 1. "
        "Set them to -inf; exp(-inf) is exactly 0.",
        (_softmax,),
    ),
    Mistake(
        "rows_of_nan",
        rows_of_nan,
        "A row that may attend to nothing should have the weights 0.00, 0.00, 0.00, got "
        "nan, nan, nan",
        "In a row without a key every score is -inf, and subtracting the largest one gives "
        "-inf - (-inf); or every exponential is 0, and dividing by their sum gives 0 / 0. Both "
        "are nan. One such row, say of an empty sequence in a batch, makes the loss nan, and "
        "then every weight of the model.",
        (_softmax,),
    ),
    Mistake(
        "large_negative",
        large_negative,
        "A row that may attend to nothing should have the weights 0.00, 0.00, 0.00, got "
        "0.33, 0.33, 0.33",
        "-1e9 stands for minus infinity, and in a row where all scores are -1e9 they are "
        "equal again: the hidden keys share the weight. Nothing looks wrong, and padding "
        "flows into the answer.",
        (_softmax,),
    ),
    Mistake(
        "over_the_queries",
        over_the_queries,
        "With the scores 2, 3, 1 and the second hidden, the weights should be 0.73, 0.00, "
        "0.27, got 0.88, 0.00, 0.73",
        "The softmax runs over the queries, axis -2, so each column sums to 1 and a row "
        "to anything. A query shares its weight among keys: axis -1.",
        (_softmax,),
    ),
    Mistake(
        "patched_forward_only",
        patched_forward_only,
        "The gradient of the scores should be finite, with 0 in a row that may attend to "
        "nothing, got nan",
        "The nan weights are replaced by 0 afterwards, and forward all looks well. But "
        "the backward pass goes through the same steps, and 0 times nan is nan. Keep nan "
        "from arising: take 0 for the largest score of such a row and 1 for its sum.",
        (_softmax,),
    ),
    Mistake(
        "overflows",
        overflows,
        "With the scores 1000, 0, 0 and the third hidden, the first weight should be 1.00, got nan",
        "The exponentials are taken of the scores as they are. exp(89) is already too "
        "large for float32, and inf / inf is nan. Subtract each row's largest visible "
        "score first.",
    ),
)
