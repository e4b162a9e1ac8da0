"""Wrong temperatures."""

import torch

from tinygpt.lab.definitions import Mistake


def multiplied(logits, temperature):
    return torch.softmax(logits * temperature, dim=-1)


def probabilities_divided(logits, temperature):
    return torch.softmax(logits, dim=-1) / temperature


def powers_not_divided(logits, temperature):
    return torch.softmax(logits, dim=-1) ** (1 / temperature)


def ignored(logits, temperature):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    return torch.softmax(logits, dim=-1)


def divided_by_zero(logits, temperature):
    return torch.softmax(logits / temperature, dim=-1)


def nearly_zero(logits, temperature):
    return torch.softmax(logits / max(temperature, 1e-6), dim=-1)


def wrong_axis(logits, temperature):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    return torch.softmax(logits / temperature, dim=0)


def overflow(logits, temperature):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    weights = torch.exp(logits / temperature)
    return weights / weights.sum(dim=-1, keepdim=True)


def one_token_returned(logits, temperature):
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1)


def greedy_too_early(logits, temperature):
    if temperature < 0.1:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    return torch.softmax(logits / temperature, dim=-1)


def integers_at_zero(logits, temperature):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1])
    return torch.softmax(logits / temperature, dim=-1)


MISTAKES = (
    Mistake(
        "multiplied",
        multiplied,
        "At odds of 9 to 1, temperature 0.5 should give the first token 0.99, got 0.75",
        "The scores were multiplied by the temperature. Odds of 9 to 1 became 3 to 1, as they "
        "should at temperature 2. Divide: a low temperature makes differences larger.",
    ),
    Mistake(
        "probabilities_divided",
        probabilities_divided,
        "At odds of 9 to 1, temperature 0.5 should give the first token 0.99, got 1.80",
        "The probabilities were divided instead of the scores, so they no longer sum to 1, and "
        "their odds are the same at every temperature. Divide first, then take the softmax.",
    ),
    Mistake(
        "powers_not_divided",
        powers_not_divided,
        "At odds of 9 to 1, temperature 0.5 should give the first token 0.99, got 0.81",
        "A power of 1 / temperature is what dividing the scores does to the probabilities, but "
        "afterwards they must be divided by their new sum. 0.81 and 0.01 sum to 0.82.",
    ),
    Mistake(
        "ignored",
        ignored,
        "At odds of 9 to 1, temperature 0.5 should give the first token 0.99, got 0.90",
        "The temperature makes no difference: the odds are 9 to 1 at 0.5 as they are at 1. "
        "Divide the scores by it before the softmax.",
    ),
    Mistake(
        "divided_by_zero",
        divided_by_zero,
        "At temperature 0 scores of 1, 3 and 2 should give the probabilities 0.00, 1.00, 0.00, "
        "got nan, nan, nan",
        "A score divided by 0 is infinite, and the softmax of infinities is nan. The smaller the "
        "temperature, the surer the likeliest token; at 0 take it directly with argmax.",
    ),
    Mistake(
        "nearly_zero",
        nearly_zero,
        "At temperature 0 the first of equal scores is taken: 1, 3 and 3 should give 0.00, 1.00, "
        "0.00, got 0.00, 0.50, 0.50",
        "A tiny temperature in place of 0 works until two scores are equal: then it still draws. "
        "Temperature 0 promises the same text every time, so a rule is needed, and argmax has "
        "one: the first.",
    ),
    Mistake(
        "integers_at_zero",
        integers_at_zero,
        "At temperature 0 the probabilities should be floats too, got torch.int64",
        "`one_hot` gives integers. A sum or a comparison hides it, and a function that draws from "
        "probabilities refuses them. `.to(logits.dtype)` makes them floats.",
    ),
    Mistake(
        "greedy_too_early",
        greedy_too_early,
        "Scores that lie 0.11 apart have odds of 9 to 1 at temperature 0.05; the first token "
        "should get 0.90, got 1.00",
        "A small temperature was taken for 0. What it does depends on how far the scores lie "
        "apart, and close ones leave a choice at any temperature above 0. Only 0 itself needs a "
        "case of its own.",
    ),
    Mistake(
        "wrong_axis",
        wrong_axis,
        "For logits of shape (3, 4) every row should sum to 1.00, got 1.33",
        "The softmax ran over the rows of the batch, so texts share out a probability that each "
        "of them should have for itself. The tokens are the last axis: `dim=-1`.",
    ),
    Mistake(
        "overflow",
        overflow,
        "Scores of 1000 and 999 should give 0.73, 0.27, got nan, nan",
        "exp(1000) is larger than any number a float holds. A softmax does not change when the "
        "largest score is subtracted first, and `torch.softmax` does that.",
    ),
    Mistake(
        "one_token_returned",
        one_token_returned,
        "next_token_probabilities should return the shape (2,), got (1,)",
        "A token was drawn already. The function returns the probabilities of all tokens, so that "
        "they can be looked at, cut and drawn from.",
    ),
)
