"""Wrong versions of top-k."""

import math

import torch

from tinygpt.lab.definitions import Mistake


def values_only(logits, k):
    return logits.topk(k, dim=-1).values


def lowest(logits, k):
    order = logits.argsort(dim=-1)
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order[..., :k], True)
    return logits.masked_fill(~kept, -math.inf)


def one_too_many(logits, k):
    ordered = logits.sort(dim=-1, descending=True).values
    return logits.masked_fill(logits < ordered[..., k, None], -math.inf)


def one_too_few(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits <= limit, -math.inf)


def zeros(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, 0.0)


def probabilities_returned(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf).softmax(dim=-1).log()


def equals_kept(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)


def one_limit_for_all(logits, k):
    order = logits.flatten().argsort(descending=True, stable=True)[: k * logits[..., 0].numel()]
    kept = torch.zeros(logits.numel(), dtype=torch.bool).scatter(0, order, True)
    return logits.masked_fill(~kept.view_as(logits), -math.inf)


def in_place(logits, k):
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return logits.scatter_(-1, order[..., k:], -math.inf)


def order_taken_for_rank(logits, k):
    order = logits.argsort(dim=-1, descending=True)
    return logits.masked_fill(order >= k, -math.inf)


def k_above_the_vocabulary(logits, k):
    places = logits.topk(k, dim=-1).indices
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, True)
    return logits.masked_fill(~kept, -math.inf)


MISTAKES = (
    Mistake(
        "values_only",
        values_only,
        "keep_top_k should return the shape (4,), got (2,)",
        "`topk` gives the k highest scores without the places that they came from, so nobody "
        "knows any more which tokens they belong to. Keep the shape, and set the others to -inf.",
    ),
    Mistake(
        "lowest",
        lowest,
        "Of the scores 1, 4, 2, 3 k=2 should keep the tokens [1, 3], got [0, 2]",
        "`argsort` sorts upwards, so its first k places are those of the lowest scores. Ask for "
        "`descending=True`.",
    ),
    Mistake(
        "one_too_many",
        one_too_many,
        "Of the scores 1, 4, 2, 3 k=2 should keep the tokens [1, 3], got [1, 2, 3]",
        "Counting starts at 0: the k-th highest score stands at place k - 1, and place k holds "
        "the next one, which should go.",
    ),
    Mistake(
        "one_too_few",
        one_too_few,
        "Of the scores 1, 4, 2, 3 k=2 should keep the tokens [1, 3], got [1]",
        "The k-th highest score is itself one of the k. Drop what is below it, with `<`, not "
        "what is equal to it.",
    ),
    Mistake(
        "order_taken_for_rank",
        order_taken_for_rank,
        "Of the scores 1, 4, 2, 3 k=2 should keep the tokens [1, 3], got [0, 3]",
        "`argsort` says which token stands first, second, third. It was read as the rank of token "
        "0, 1, 2, which is the other way round. Its first k numbers are the tokens to keep: "
        "`scatter` True to those places.",
    ),
    Mistake(
        "k_above_the_vocabulary",
        k_above_the_vocabulary,
        "keep_top_k raised RuntimeError: selected index k out of range",
        "There are fewer tokens than k, and `topk` refuses to look for more than there are. Then "
        "all stay: ask it for `min(k, logits.shape[-1])`, or slice a sorted order, which needs no "
        "case of its own.",
    ),
    Mistake(
        "zeros",
        zeros,
        "A token that is dropped should get the score -inf, so that its probability is 0; "
        "token 0 got 0.00",
        "A score of 0 is not a probability of 0: a softmax turns it into exp(0) = 1 over the sum, "
        "which may be more than the token had before. exp(-inf) is 0.",
    ),
    Mistake(
        "probabilities_returned",
        probabilities_returned,
        "The score of a token that is kept, 4.00, should stay as it is, got -0.31",
        "The kept scores were normalised. The softmax that follows would give the same "
        "probabilities, but only if nothing is done in between; the function promises scores, so "
        "that it can stand before or after another one.",
    ),
    Mistake(
        "equals_kept",
        equals_kept,
        "Of four equal scores k=2 should keep 2, got 4",
        "Everything that is not below the k-th score was kept, and all four are equal to it. Some "
        "libraries do this. Here k is a promise: take the first k places of a sorted order "
        "instead of a limit.",
    ),
    Mistake(
        "one_limit_for_all",
        one_limit_for_all,
        "Row 0 of two should keep its own best, [0, 1], got [0, 1, 2, 3]",
        "The rows were ranked together. A text whose scores are all high then keeps more than k "
        "tokens, and another none at all. Sort along the last axis, each row by itself.",
    ),
    Mistake(
        "in_place",
        in_place,
        "keep_top_k should leave its input as it was; it changed it",
        "`scatter_`, with an underscore, writes into the scores that were handed in, and whoever "
        "looks at them afterwards finds -inf. Use `masked_fill` or `scatter`, which make a new "
        "tensor.",
    ),
)
