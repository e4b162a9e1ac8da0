"""What sampling asks of a model, and how it calls one."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from tinygpt.shapes import Float, Int
from tinygpt.validate import describe, ids_below, integer_array, positive_integer

Tokens = Int[Tensor, "T"] | np.ndarray | Sequence[int]


@runtime_checkable
class Decoder(Protocol):
    """A causal model: token ids (B, T) in, scores (B, T, V) of each next token out.

    The scores at a position depend on the tokens up to it and on none after.
    """

    max_seq_len: int
    vocab_size: int

    def __call__(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]: ...


def last_logits(model: Decoder, texts: Sequence[Sequence[int]]) -> Float[Tensor, "B V"]:
    """Return the scores of the token after each text, of whatever lengths.

    Each text is cropped to its last max_seq_len tokens and padded on the right. A causal model
    does not see the padding from where a text ends, so no mask is needed.
    """
    windows = [torch.tensor(text[-model.max_seq_len :]) for text in texts]
    tokens = pad_sequence(windows, batch_first=True).to(device_of(model))  # (B, T)
    last = torch.tensor([len(window) - 1 for window in windows], device=tokens.device)
    with evaluating(model):
        logits = model(tokens)  # (B, T, V)
        return logits[torch.arange(len(texts), device=tokens.device), last]


def logits_along(model: Decoder, tokens: Tokens, batch_size: int = 64) -> Float[Tensor, "T V"]:
    """Return the scores at every position of a text of any length, on the CPU.

    Row t holds the scores of the token after position t, from the last max_seq_len tokens up
    to t: what the model would have gone by, had it written the text.

    Raises:
        TypeError, ValueError: the model is no decoder, the text is empty or holds an id outside
            the vocabulary, or batch_size is no positive integer.
    """
    check_model("logits_along", model)
    batch_size = positive_integer("logits_along", "batch_size", batch_size)
    text = token_list("logits_along", "tokens", tokens, model.vocab_size)
    with evaluating(model):
        start = torch.tensor([text[: model.max_seq_len]], device=device_of(model))
        parts = [model(start)[0].cpu()]  # (min(T, max_seq_len), V)
    ends = range(model.max_seq_len + 1, len(text) + 1)
    for first in range(0, len(ends), batch_size):
        windows = [text[end - model.max_seq_len : end] for end in ends[first : first + batch_size]]
        parts.append(last_logits(model, windows).cpu())
    return torch.cat(parts)


@contextlib.contextmanager
def evaluating(model: Decoder) -> Iterator[None]:
    """Switch dropout and the recording of gradients off, and afterwards back as they were."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    were_training = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        with torch.no_grad():
            yield
    finally:
        for module, training in zip(modules, were_training, strict=True):
            module.training = training


def device_of(model: Decoder) -> torch.device:
    """Return where the model's parameters are; the CPU for a model without any."""
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device


def check_model(where: str, model) -> Decoder:
    """Return `model`, or say what it lacks."""
    if not isinstance(model, Decoder):
        raise TypeError(
            f"{where}: model must be callable and have max_seq_len and vocab_size, as a GPT has, "
            f"got {describe(model)}"
        )
    return model


def token_list(where: str, name: str, tokens: Tokens, vocab_size: int) -> list[int]:
    """Return one text's ids as a list, or say what is wrong with them."""
    if isinstance(tokens, Tensor):
        tokens = tokens.detach().cpu().numpy()
    ids = integer_array(where, name, tokens)
    if ids.ndim != 1:
        raise ValueError(f"{where}: {name} must be one sequence of ids, got shape {ids.shape}")
    if ids.size == 0:
        raise ValueError(
            f"{where}: {name} is empty; give at least one token to continue, such as a line break"
        )
    return ids_below(where, f"{name}: id", ids, vocab_size).tolist()
