"""Wrong look-ups."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def hard(query, keys, values):
    return values[np.argmax(keys @ query)]


def shares(query, keys, values):
    matches = keys @ query
    return (matches / matches.sum()) @ values


def not_normalised(query, keys, values):
    return np.exp(keys @ query) @ values


def keys_averaged(query, keys, values):
    weights = np.exp(keys @ query)
    return (weights / weights.sum()) @ keys


def weights_returned(query, keys, values):
    weights = np.exp(keys @ query)
    return weights / weights.sum()


def overflows(query, keys, values):
    weights = np.exp(keys @ query)
    return (weights / weights.sum()) @ values


def scaled(query, keys, values):
    weights = np.exp(keys @ query / np.sqrt(len(query)))
    return (weights / weights.sum()) @ values


def product_unsummed(query, keys, values):
    weights = np.exp(query * keys)
    return (weights / weights.sum()).T @ values


MISTAKES = (
    Mistake(
        "hard",
        hard,
        "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should "
        "begin with 23.64 and 3.46, got 30.00 and 6.00",
        "The value of the best match is taken whole, as in a dictionary. It has no "
        "gradient with respect to query and keys: a small change of a match changes "
        "nothing, until the winner changes. The soft look-up takes a little of every "
        "value, so each match can be made better by a small step.",
    ),
    Mistake(
        "shares",
        shares,
        "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should "
        "begin with 23.64 and 3.46, got 21.43 and 2.57",
        "Each match is divided by the sum of the matches. That breaks as soon as one is "
        "negative or the sum is near 0. Exponentials are positive for every match, and "
        "turn a difference of matches into a ratio of weights.",
    ),
    Mistake(
        "not_normalised",
        not_normalised,
        "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should "
        "begin with 23.64 and 3.46, got 824.24 and 120.51",
        "The exponentials are used as they are, so the weights sum to more than 1 and the "
        "answer is no average: it lies outside all the values. Divide by their sum.",
    ),
    Mistake(
        "scaled",
        scaled,
        "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should "
        "begin with 23.64 and 3.46, got 22.55 and 3.02",
        "The matches are divided by the root of the width. Attention in a model does that, and "
        "the next exercise; here the dot products go into the softmax as they are.",
    ),
    Mistake(
        "keys_averaged",
        keys_averaged,
        "soft_lookup should return the shape (3,), got (2,)",
        "The weights average the keys. Keys say where to look, values say what is there. "
        "With values of the width of the keys this mistake would run without an error.",
    ),
    Mistake(
        "weights_returned",
        weights_returned,
        "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should "
        "begin with 23.64 and 3.46, got 0.21 and 0.21",
        "These are the weights, one for each key. The answer is the average that they "
        "describe: `weights @ values`.",
    ),
    Mistake(
        "overflows",
        overflows,
        "With matches 0, 1000, 2000 the best one's value should be the answer, 60.00, got nan",
        "exp(1000) is larger than any float, so it becomes inf, and inf / inf is nan. "
        "Subtract the largest match before `np.exp`. All weights are then divided by one "
        "factor, which the sum takes out again.",
    ),
    Mistake(
        "product_unsummed",
        product_unsummed,
        "soft_lookup should return the shape (3,), got (2, 3)",
        "`query * keys` multiplies feature by feature and does not add up. A match is the "
        "sum of these products, the dot product: `keys @ query`.",
    ),
)
