"""What scores become before a token is drawn: temperature, top-k, top-p, and the draw."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from tinygpt.shapes import Float, Int
from tinygpt.validate import describe, number, positive_integer


def keep_top_k(logits: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """Keep the k highest scores of each row and set the rest to -inf.

    Exactly k stay: of equal scores those with the lower ids, as argmax takes the first of
    equals. With k above V all stay.

    Args:
        logits: scores, (..., V).
        k: how many to keep, at least 1.

    Source: Fan, Lewis and Dauphin (2018), Hierarchical Neural Story Generation, section 5.
    """
    _check_logits("keep_top_k", logits)
    k = positive_integer("keep_top_k", "k", k)
    order = logits.argsort(dim=-1, descending=True, stable=True)  # (..., V)
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order[..., :k], True)
    return logits.masked_fill(~kept, -math.inf)


def keep_top_p(logits: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """Keep the smallest set of tokens whose probability reaches p; set the rest to -inf.

    The tokens are taken from the likeliest down until their sum is p or more, so the one that
    crosses p is kept. Of equal ones those with the lower ids come first. One always stays, even
    with p = 0; with p = 1 all stay.

    Args:
        logits: scores, (..., V); their softmax is what is summed, in double precision.
        p: from 0 to 1.

    Source: Holtzman et al. (2020), The Curious Case of Neural Text Degeneration, section 3.1.
    """
    _check_logits("keep_top_p", logits)
    p = number("keep_top_p", "p", p, low=0.0, high=1.0)
    if p == 1.0:  # the sum may round to 1 before the last token
        return logits
    probabilities = logits.double().softmax(dim=-1)
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    sum_before = F.pad(ordered.cumsum(dim=-1)[..., :-1], (1, 0))  # (..., V), 0 for the first
    kept_in_order = sum_before < p
    kept_in_order[..., 0] = True
    kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)
    return logits.masked_fill(~kept, -math.inf)


def next_token_probabilities(
    logits: Float[Tensor, "*B V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "*B V"]:
    """Return the probabilities from which the next token is drawn.

    p = softmax(keep_top_p(keep_top_k(logits / temperature, top_k), top_p))

    The order counts: temperature changes how many tokens top-p keeps, and top-p sums what
    top-k has left.

    Args:
        logits: scores, (..., V); -inf for a token that must not come.
        temperature: below 1 sharpens, above 1 flattens; 0 puts everything on the highest
            score, the first of equals.
        top_k: keep this many tokens; None keeps all.
        top_p: keep the likeliest that reach this probability; None keeps all.

    Returns:
        Probabilities (..., V), in double precision on the CPU.

    Raises:
        ValueError: a row has no finite highest score, or an argument is out of range.
    """
    temperature = number("next_token_probabilities", "temperature", temperature, low=0.0)
    _check_logits("next_token_probabilities", logits)
    logits = logits.detach().cpu().double()
    highest = _highest("next_token_probabilities", logits)  # (..., 1)
    if temperature == 0:
        best = logits.argmax(dim=-1)
        return F.one_hot(best, logits.shape[-1]).double()
    logits = (logits - highest) / temperature  # at most 0, so a tiny temperature gives -inf
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return logits.softmax(dim=-1)


def draw(probabilities: Float[Tensor, "*B V"], uniform: Float[Tensor, "*B"]) -> Int[Tensor, "*B"]:
    """Return the token of each row at which the cumulative probability passes u.

    This inverts the cumulative distribution: with u uniform between 0 and 1, token i comes with
    probability pᵢ, and each draw takes one random number whatever the vocabulary.

    Args:
        probabilities: (..., V), in double precision; a row need not sum to 1 exactly.
        uniform: one number from 0 to below 1 for each row, (...).
    """
    cumulative = probabilities.cumsum(dim=-1)
    return (cumulative <= uniform[..., None] * cumulative[..., -1:]).sum(dim=-1)


def _check_logits(where: str, logits):
    """Say that scores must be a tensor of floats with a last axis, if they are not."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise TypeError(f"{where}: logits must be a tensor of floats, got {describe(logits)}")
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(
            f"{where}: logits must have shape (..., V) with V at least 1, got {tuple(logits.shape)}"
        )


def _highest(where: str, logits: Float[Tensor, "*B V"]) -> Float[Tensor, "*B 1"]:
    """Return each row's highest score, or say that one is not finite."""
    highest = logits.amax(dim=-1, keepdim=True)
    if not highest.isfinite().all():
        wrong = highest[~highest.isfinite()][0].item()
        given = "NaN" if math.isnan(wrong) else "infinity"
        raise ValueError(f"{where}: logits must be finite, got {given}; check the model's weights")
    return highest
