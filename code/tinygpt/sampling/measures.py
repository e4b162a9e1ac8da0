"""What to measure on probabilities and on texts."""

import torch
from torch import Tensor

from tinygpt.sampling.decoder import Decoder, Tokens, check_model, logits_along, token_list
from tinygpt.shapes import Float
from tinygpt.validate import describe, instance, integers, positive_integer


def entropy(probabilities: Float[Tensor, "*B V"]) -> Float[Tensor, "*B"]:
    """Return how uncertain a choice is, in nats: H(p) = -Σᵢ pᵢ log pᵢ, with 0 log 0 = 0.

    It is 0 for a certain token and log V for V equally likely ones; exp(H) is the number of
    equally likely tokens that would be as uncertain.

    Source: Shannon (1948), A Mathematical Theory of Communication, section 6.

    Raises:
        TypeError, ValueError: probabilities are no tensor of floats with at least one axis.
    """
    instance("entropy", "probabilities", probabilities, Tensor)
    if probabilities.ndim == 0 or not probabilities.is_floating_point():
        raise ValueError(
            "entropy: probabilities must be floats of shape (..., V), got "
            f"{describe(probabilities)}"
        )
    return torch.special.entr(probabilities).sum(dim=-1)


def surprise(model: Decoder, tokens: Tokens) -> Float[Tensor, "_"]:
    """Return -log p of each token after the first, given up to max_seq_len before it, in nats.

    Its mean is the cross-entropy of the text.

    Args:
        model: a causal model, such as a GPT.
        tokens: a text of T ids.

    Returns:
        T - 1 numbers, in double precision.
    """
    check_model("surprise", model)
    text = token_list("surprise", "tokens", tokens, model.vocab_size)
    if len(text) == 1:
        return torch.zeros(0, dtype=torch.float64)
    log_probabilities = logits_along(model, text[:-1]).double().log_softmax(dim=-1)  # (T - 1, V)
    following = torch.tensor(text[1:])
    return -log_probabilities.gather(1, following[:, None])[:, 0]


def repetition(tokens: Tokens, n: int = 4) -> float:
    """Return the share of a text's n-grams that have already been in it.

    1 - distinct n-grams / n-grams; 0 for a text shorter than n.

    Source: Welleck et al. (2020), Neural Text Generation with Unlikelihood Training
    (seq-rep-n).

    Raises:
        TypeError, ValueError: tokens are no sequence of integers, or n no positive integer.
    """
    n = positive_integer("repetition", "n", n)
    if isinstance(tokens, Tensor):
        tokens = tokens.tolist()
    text = integers("repetition", "tokens", tokens)
    grams = [tuple(text[start : start + n]) for start in range(len(text) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
