"""Wrong versions of top-p."""

import math

import torch

from tinygpt.lab.definitions import Mistake


def crossing_dropped(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    kept_in_order = ordered.cumsum(dim=-1) <= p
    kept_in_order[..., 0] = True
    kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)
    return logits.masked_fill(~kept, -math.inf)


def not_sorted(logits, p):
    probabilities = logits.softmax(dim=-1)
    sum_before = probabilities.cumsum(dim=-1) - probabilities
    return logits.masked_fill(sum_before >= p, -math.inf)


def order_not_undone(logits, p):
    ordered = logits.softmax(dim=-1).sort(dim=-1, descending=True).values
    sum_before = ordered.cumsum(dim=-1) - ordered
    return logits.masked_fill(sum_before >= p, -math.inf)


def from_the_least(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1)
    kept_in_order = ordered.cumsum(dim=-1) <= p
    kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)
    return logits.masked_fill(~kept, -math.inf)


def each_against_p(logits, p):
    return logits.masked_fill(logits.softmax(dim=-1) < p, -math.inf)


def scores_summed(logits, p):
    ordered, order = logits.sort(dim=-1, descending=True)
    sum_before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, sum_before < p)
    return logits.masked_fill(~kept, -math.inf)


def none_left(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    sum_before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, sum_before < p)
    return logits.masked_fill(~kept, -math.inf)


def one_count_for_all(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    sum_before = ordered.cumsum(dim=-1) - ordered
    count = max(int((sum_before < p).sum(dim=-1).flatten()[0]), 1)
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order[..., :count], True)
    return logits.masked_fill(~kept, -math.inf)


def in_place(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    sum_before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, sum_before < p)
    kept.scatter_(-1, order[..., :1], True)
    logits[~kept] = -math.inf
    return logits


def reached_and_one_more(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    sum_before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, sum_before <= p)
    return logits.masked_fill(~kept, -math.inf)


def equals_kept(logits, p):
    probabilities = logits.softmax(dim=-1)
    ordered = probabilities.sort(dim=-1, descending=True).values
    count = ((ordered.cumsum(dim=-1) - ordered) < p).sum(dim=-1, keepdim=True).clamp(min=1)
    limit = ordered.gather(-1, count - 1)
    return logits.masked_fill(probabilities < limit, -math.inf)


def rounded_to_one(logits, p):
    ordered, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    kept_in_order = ordered.cumsum(dim=-1) - ordered < p
    kept_in_order[..., 0] = True
    kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)
    return logits.masked_fill(~kept, -math.inf)


_UNIT = "Of the probabilities 0.05, 0.50, 0.15, 0.30 p=0.6 should keep the tokens [1, 3], got "

MISTAKES = (
    Mistake(
        "crossing_dropped",
        crossing_dropped,
        _UNIT + "[1]",
        "The token that carries the sum across p was dropped. 0.50 is not yet 0.6; with 0.30 it "
        "is 0.80, and only then do the tokens hold 0.6. Keep a token while the sum *before* it is "
        "below p.",
    ),
    Mistake(
        "not_sorted",
        not_sorted,
        _UNIT + "[0, 1, 2]",
        "The sum ran in the order of the vocabulary: 0.05, 0.55, 0.70. Which tokens stay then "
        "depends on their numbers. Sort from the likeliest down first.",
    ),
    Mistake(
        "order_not_undone",
        order_not_undone,
        _UNIT + "[0, 1]",
        "The first two of the *sorted* tokens stay, and that pattern was laid over the unsorted "
        "ones. Carry it back to where the tokens came from: "
        "`torch.zeros_like(kept).scatter(-1, order, kept)`.",
    ),
    Mistake(
        "from_the_least",
        from_the_least,
        _UNIT + "[0, 2, 3]",
        "`sort` sorts upwards, so the sum began with the least likely tokens, and the best one "
        "was the first to go. Ask for `descending=True`.",
    ),
    Mistake(
        "each_against_p",
        each_against_p,
        _UNIT + "[]",
        "Each probability was compared with p by itself, and none is as large as 0.6. It is the "
        "sum of the likeliest ones that has to reach p.",
    ),
    Mistake(
        "scores_summed",
        scores_summed,
        _UNIT + "[0, 1, 2, 3]",
        "The scores themselves were summed. They are not probabilities: here they are negative, "
        "and their sum never reaches p. Take the softmax first.",
    ),
    Mistake(
        "none_left",
        none_left,
        "Of the probabilities 0.05, 0.90, 0.05 p=0 should keep the tokens [1], got []",
        "With p = 0 no sum is below p, not even the empty one, and every score is -inf. A softmax "
        "of nothing but -inf is nan. Keep the likeliest token whatever p is.",
    ),
    Mistake(
        "reached_and_one_more",
        reached_and_one_more,
        "Of four equal scores p=0.5 should keep exactly 2, got 3",
        "Two of the four hold 0.5, so p is reached and nothing more is needed. With `<=` a third "
        "stays, before which the sum is just p. Keep a token while the sum before it is *below* p.",
    ),
    Mistake(
        "equals_kept",
        equals_kept,
        "Of four equal scores p=0.5 should keep exactly 2, got 4",
        "The probability of the last token needed became a limit, and all that are as likely "
        "passed it. The smallest set has only two of them. Keep places of the sorted order, not "
        "everything above a limit.",
    ),
    Mistake(
        "one_count_for_all",
        one_count_for_all,
        "At p=0.7 row 1 of a sure and an even one should keep [1, 2, 3], got [3]",
        "How many tokens stay was found in the first row and used for all. Each row has its own "
        "count; that it adapts is what sets top-p apart from top-k.",
    ),
    Mistake(
        "rounded_to_one",
        rounded_to_one,
        "Of the scores 20, 0, -1 p=1 should keep the tokens [0, 1, 2], got [0]",
        "The first probability is so near to 1 that a 32-bit float rounds it to 1, and the sum "
        "seems to be reached. With p = 1 nothing may go: return all scores in that case. Sums in "
        "double precision, `logits.double()`, make the same error rarer for other p.",
    ),
    Mistake(
        "in_place",
        in_place,
        "keep_top_p should leave its input as it was; it changed it",
        "`logits[...] = -inf` writes into the scores that were handed in, and whoever looks at "
        "them afterwards finds -inf. `masked_fill` makes a new tensor.",
    ),
)
