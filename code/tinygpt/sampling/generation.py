"""One token after another: drawing the continuation of a batch of prompts."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tinygpt.sampling.decoder import Decoder, Tokens, check_model, last_logits, token_list
from tinygpt.sampling.probabilities import draw, next_token_probabilities
from tinygpt.shapes import Int
from tinygpt.validate import describe, integer, number, positive_integer


def generate(
    model: Decoder,
    prompts: Sequence[Tokens] | Int[Tensor, "B T"],
    max_new_tokens: int = 50,
    temperature: float = 1.0,
    *,
    top_k: int | None = None,
    top_p: float | None = None,
    stop_token: int | None = None,
    seed: int | None = None,
) -> list[Int[Tensor, "_"]]:
    """Continue each prompt, drawing one token at a time from the model's own probabilities.

    next token ~ next_token_probabilities(logits, temperature, top_k, top_p), with the logits
    at the last position of the text so far. The model reads the last max_seq_len tokens of it.

    Each prompt has random numbers of its own, made from the seed and its place in the batch, so
    the text that continues it does not depend on the other prompts.

    Args:
        model: a causal model, such as a GPT. It is in eval mode while it runs, and afterwards
            as it was.
        prompts: sequences of ids, of any lengths from 1.
        max_new_tokens: how many tokens to add to each at most.
        temperature: below 1 sharpens, above 1 flattens; 0 takes the best token always (greedy).
        top_k: draw from this many tokens; None, or a number above V: from all.
        top_p: draw from the likeliest tokens that reach this probability together.
        stop_token: a text ends with this token, which is part of it.
        seed: fixes the draws; None draws differently every time.

    Returns:
        For each prompt a tensor on the CPU: the whole prompt, then the new tokens.

    Raises:
        TypeError, ValueError: a prompt is empty or holds an id outside the vocabulary, an
            argument is out of range, or the model's scores are not finite.
    """
    check_model("generate", model)
    if isinstance(prompts, (str, bytes)) or not isinstance(prompts, (Sequence, np.ndarray, Tensor)):
        raise TypeError(f"generate: prompts must be a list of prompts, got {describe(prompts)}")
    if isinstance(prompts, (np.ndarray, Tensor)) and prompts.ndim == 0:
        raise TypeError(f"generate: prompts must be a list of prompts, got {describe(prompts)}")
    for prompt in prompts:
        if prompt is None or isinstance(prompt, (str, bytes)):
            raise TypeError(
                f"generate: each prompt must be a list of ids, got {describe(prompt)}; "
                "encode a text first"
            )
        if not isinstance(prompt, Sequence) and np.ndim(prompt) == 0:
            raise TypeError(
                "generate: prompts must be a list of prompts; put one prompt into a list"
            )
    texts = [
        token_list("generate", f"prompt {row}", prompt, model.vocab_size)
        for row, prompt in enumerate(prompts)
    ]
    options = _check_options("generate", model, max_new_tokens, temperature, top_k, top_p)
    stop_token = _check_stop("generate", model, stop_token)
    streams = [_random_stream("generate", seed, row) for row in range(len(texts))]
    for _ in _steps(model, texts, streams, *options, stop_token):
        pass
    return [torch.tensor(text) for text in texts]


def generate_tokens(
    model: Decoder,
    prompt: Tokens,
    max_new_tokens: int = 50,
    temperature: float = 1.0,
    *,
    top_k: int | None = None,
    top_p: float | None = None,
    stop_token: int | None = None,
    seed: int | None = None,
    row: int = 0,
) -> Iterator[int]:
    """Continue one prompt and yield each new token as soon as it is drawn.

    With the same arguments these are the tokens that `generate` adds to the prompt in place
    `row` of its batch. Between two tokens the model is as it was, also in training mode.

    Raises:
        TypeError, ValueError: as for `generate`, before the first token.
    """
    check_model("generate_tokens", model)
    text = token_list("generate_tokens", "prompt", prompt, model.vocab_size)
    options = _check_options("generate_tokens", model, max_new_tokens, temperature, top_k, top_p)
    stop_token = _check_stop("generate_tokens", model, stop_token)
    row = integer("generate_tokens", "row", row)
    stream = _random_stream("generate_tokens", seed, row)
    return (token for (token,) in _steps(model, [text], [stream], *options, stop_token))


def _steps(
    model, texts, streams, max_new_tokens, temperature, top_k, top_p, stop_token
) -> Iterator[list[int]]:
    """Lengthen each text by a token per step, until all have ended; yield the new tokens."""
    going = list(range(len(texts)))
    for _ in range(max_new_tokens):
        if not going:
            return
        logits = last_logits(model, [texts[row] for row in going])  # (B, V)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        uniform = [streams[row].random() for row in going]
        new = draw(probabilities, torch.tensor(uniform, dtype=torch.float64)).tolist()
        for row, token in zip(going, new, strict=True):
            texts[row].append(token)
        going = [row for row in going if texts[row][-1] != stop_token]
        yield new


def _check_options(where, model, max_new_tokens, temperature, top_k, top_p) -> tuple:
    return (
        integer(where, "max_new_tokens", max_new_tokens),
        number(where, "temperature", temperature, low=0.0),
        None if top_k is None else positive_integer(where, "top_k", top_k),
        None if top_p is None else number(where, "top_p", top_p, low=0.0, high=1.0),
    )


def _check_stop(where, model, stop_token) -> int | None:
    if stop_token is None:
        return None
    return integer(where, "stop_token", stop_token, high=model.vocab_size - 1)


def _random_stream(where, seed, row) -> np.random.Generator:
    """Return the random numbers of a row; those of two rows have nothing to do with another."""
    entropy = None if seed is None else integer(where, "seed", seed)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(row,)))
