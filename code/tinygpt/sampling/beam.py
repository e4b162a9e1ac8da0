"""Beam search: the likeliest text as a whole, rather than the likeliest next token."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tinygpt.sampling.decoder import Decoder, Tokens, check_model, last_logits, token_list
from tinygpt.shapes import Int
from tinygpt.validate import integer, number, positive_integer


@dataclass(frozen=True, eq=False)
class Beam:
    """A text that beam search has kept.

    Attributes:
        tokens: the prompt and what was added to it.
        log_probability: of what was added, given the prompt, in nats.
    """

    tokens: Int[Tensor, "T"]
    log_probability: float


def beam_search(
    model: Decoder,
    prompt: Tokens,
    max_new_tokens: int = 50,
    num_beams: int = 4,
    *,
    length_penalty: float = 0.0,
    stop_token: int | None = None,
) -> list[Beam]:
    """Search for the likeliest continuations, keeping the best few texts at every length.

    score(y) = Σₜ log p(yₜ | prompt, y₁ … yₜ₋₁) / |y|^length_penalty

    Each step lengthens every text of the beam by every token and keeps the num_beams best. A
    text that has ended stays in the beam with the score it has. One beam is greedy decoding;
    with V^(max_new_tokens - 1) beams nothing is ever dropped too early and the search is exact.

    Args:
        model: a causal model, such as a GPT.
        prompt: ids of one text.
        max_new_tokens: how many tokens to add at most.
        num_beams: how many texts to keep, and to run the model on, at every step.
        length_penalty: 0 ranks by probability, which favours short texts; 1 by the mean log
            probability of a token; below 0 favours short texts still more. From -10 to 10.
        stop_token: a text ends with this token.

    Returns:
        Up to num_beams texts, the best first; fewer where fewer are possible.

    Raises:
        TypeError, ValueError: the prompt is empty or holds an id outside the vocabulary, an
            argument is out of range, or the model's scores are not finite.

    Source: Graves (2012), Sequence Transduction with Recurrent Neural Networks, section 2.5; the
    length penalty as a power is that of Hugging Face's generate.
    """
    where = "beam_search"
    check_model(where, model)
    text = token_list(where, "prompt", prompt, model.vocab_size)
    max_new_tokens = integer(where, "max_new_tokens", max_new_tokens)
    num_beams = positive_integer(where, "num_beams", num_beams)
    length_penalty = number(where, "length_penalty", length_penalty, low=-10.0, high=10.0)
    if stop_token is not None:
        stop_token = integer(where, "stop_token", stop_token, high=model.vocab_size - 1)

    def score(candidate) -> float:
        tokens, log_probability = candidate
        return log_probability / max(len(tokens) - len(text), 1) ** length_penalty

    def ended(tokens) -> bool:
        return len(tokens) > len(text) and tokens[-1] == stop_token

    beams = [(text, 0.0)]  # (tokens, log probability), the best first
    for _ in range(max_new_tokens):
        going = [beam for beam in beams if not ended(beam[0])]
        if not going:
            break
        candidates = [beam for beam in beams if ended(beam[0])]
        candidates += _lengthened(model, going, num_beams)
        beams = sorted(candidates, key=score, reverse=True)[:num_beams]
    return [Beam(torch.tensor(tokens), log_probability) for tokens, log_probability in beams]


def _lengthened(model, beams, num_beams) -> list[tuple[list[int], float]]:
    """Return the num_beams best of all texts that are one token longer than those given.

    The given texts are of one length, so their log probabilities rank as their scores do.
    """
    logits = last_logits(model, [tokens for tokens, _ in beams]).cpu().double()
    if not logits.amax(dim=-1).isfinite().all():
        raise ValueError("beam_search: logits must be finite; check the model's weights")
    so_far = torch.tensor([log_probability for _, log_probability in beams], dtype=torch.float64)
    totals = so_far[:, None] + logits.log_softmax(dim=-1)  # (beams, V)
    best, where = totals.flatten().sort(descending=True, stable=True)
    return [
        (beams[index // logits.shape[1]][0] + [index % logits.shape[1]], total)
        for total, index in zip(best[:num_beams].tolist(), where[:num_beams].tolist(), strict=True)
        if total > -torch.inf
    ]
