"""Wrong causal attentions."""

import math

import torch
from torch.nn import functional as F

from tinygpt.lab.definitions import Mistake


def not_scaled(query, key, value):
    scores = query @ key.transpose(-2, -1)
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1) @ value


def scaled_by_width(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.shape[-1]
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1) @ value


def not_masked(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value


def mask_upside_down(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(past, -math.inf).softmax(dim=-1) @ value


def not_itself(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return scores.masked_fill(future, -math.inf).softmax(dim=-1) @ value


def mask_after_softmax(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.softmax(dim=-1).masked_fill(~past, 0.0) @ value


def softmax_over_queries(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-2) @ value


def masked_with_zero(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.tril().softmax(dim=-1) @ value


def masked_with_minus_ten(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -10.0).softmax(dim=-1) @ value


def weights_returned(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1)


def heads_transposed(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1) @ value


def fused(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


_CASE = "With scaled matches 2, 0, 1 and values 10, 20, 30, position "

MISTAKES = (
    Mistake(
        "not_scaled",
        not_scaled,
        _CASE + "2 should get 15.79, got 12.50",
        "The matches are still 4, 0 and 2: they are not divided by √d_k, here 2, or by the root "
        "of another length, such as that of a value, here 1. d_k is the last axis of the queries "
        "and keys. The largest match takes nearly all the weight before anything is learnt, and "
        "the gradient through the softmax is close to 0.",
    ),
    Mistake(
        "scaled_by_width",
        scaled_by_width,
        _CASE + "2 should get 15.79, got 18.01",
        "The matches are divided by d_k = 4 instead of its root. A dot product of d_k random "
        "terms has a spread of √d_k; divided by d_k the matches all come close to 0 and the "
        "weights close to equal.",
    ),
    Mistake(
        "not_masked",
        not_masked,
        _CASE + "0 should get 10.00, got 15.79",
        "Position 0 reads positions 1 and 2. In training it would read the answer off, and the "
        "loss would fall to almost 0; in generation there is nothing to read. Fill the scores "
        "above the diagonal with -inf before the softmax.",
    ),
    Mistake(
        "mask_upside_down",
        mask_upside_down,
        _CASE + "2 should get 15.79, got nan",
        "`masked_fill` fills where its mask is True. With the past as the mask, the past is "
        "hidden and the future seen; the last position has no future, so its scores are all -inf "
        "and their softmax is 0 / 0. Fill where it is not the past: `~past`.",
    ),
    Mistake(
        "not_itself",
        not_itself,
        _CASE + "2 should get 15.79, got 11.19",
        "`triu()` holds the diagonal too, so each position is hidden from itself. Position 0 then "
        "has nothing to look at and gives nan. Use `triu(1)`, or `tril()` the other way round.",
    ),
    Mistake(
        "mask_after_softmax",
        mask_after_softmax,
        _CASE + "0 should get 10.00, got 6.65",
        "The softmax has already divided by a sum that counts the future. The weights that are "
        "left add up to less than 1, and how much less tells what is hidden: position 0 keeps "
        "0.665 of its own value.",
    ),
    Mistake(
        "softmax_over_queries",
        softmax_over_queries,
        _CASE + "2 should get 15.79, got 43.33",
        "The weights sum to 1 over the queries (dim=-2) instead of over the keys (dim=-1). Each "
        "column sums to 1 then, and a row, which should be an average, sums to anything.",
    ),
    Mistake(
        "masked_with_zero",
        masked_with_zero,
        _CASE + "0 should get 10.00, got 13.20",
        "`scores.tril()` puts zeros above the diagonal, and a score of 0 is not no weight: e⁰ is "
        "1, as much as a match of 0 gets. Hidden scores have to be -inf.",
    ),
    Mistake(
        "masked_with_minus_ten",
        masked_with_minus_ten,
        "Attention over inputs of shape (2, 3, 5, 4); the largest difference should be below "
        "0.0001, got 6.7e-04",
        "e⁻¹⁰ is small and not 0, so a little of the future leaks in; and matches have no lower "
        "bound, so any number that hides today may be the largest in its row tomorrow. -inf is "
        "below every match.",
    ),
    Mistake(
        "weights_returned",
        weights_returned,
        "causal_attention should return the shape (1, 1, 3, 1), got (1, 1, 3, 3)",
        "These are the weights, one row of T for each position. Attention is the average that "
        "they describe: multiply them with the values, `weights @ value`.",
    ),
    Mistake(
        "heads_transposed",
        heads_transposed,
        "causal_attention raised RuntimeError: Expected size for first two dimensions of batch2 "
        "tensor to be: [3, 4] but got: [3, 1].",
        "`transpose(1, 2)` swaps heads and positions. The last two axes of the keys have to "
        "change places, which is `transpose(-2, -1)` or `.mT`. Only with the axes right do the "
        "heads stay apart.",
    ),
    Mistake(
        "fused",
        fused,
        "causal_attention should compute the weights itself, got a call of "
        "F.scaled_dot_product_attention",
        "This is the right answer and not the exercise. The fused call gives the same numbers and "
        "never keeps the weights; here you write the steps that it fuses.",
    ),
)
