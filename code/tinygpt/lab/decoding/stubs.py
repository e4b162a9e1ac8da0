"""Decoding: four pieces to write, in PyTorch. Read the chapter beside them.

    tinygpt lab check decoding                check all four
    tinygpt lab check decoding temperature    check one
    tinygpt lab hint decoding temperature     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
`sampling.keep_top_k` and the others there are the book's own.
"""

# ruff: noqa: F401
import math

import torch
from torch import Tensor

from tinygpt import sampling
from tinygpt.sampling import Beam


def next_token_probabilities(logits, temperature):
    """Return the probabilities from which the next token is drawn: softmax(logits / temperature).

    Args:
        logits: torch.Tensor of scores, (..., V); -inf for a token that must not come.
        temperature: 0 or more; 0 puts everything on the highest score, the first of equals.

    Returns:
        torch.Tensor of floats, of the same shape; each row sums to 1.
    """
    raise NotImplementedError


def keep_top_k(logits, k):
    """Keep the k highest scores of each row and set the rest to -inf.

    Exactly k stay, also where scores are equal; with k above V all stay.

    Args:
        logits: torch.Tensor of scores, (..., V). It stays as it is.
        k: how many to keep, at least 1.

    Returns:
        A new torch.Tensor of the same shape and type.
    """
    raise NotImplementedError


def keep_top_p(logits, p):
    """Keep the smallest set of tokens whose probability reaches p; set the rest to -inf.

    The tokens are taken from the likeliest down until their sum is p or more. One always stays.

    Args:
        logits: torch.Tensor of scores, (..., V); their softmax is what is summed, in float64. It
            stays as it is.
        p: from 0 to 1; with 1 all stay, also where the sum rounds to 1 early.

    Returns:
        A new torch.Tensor of the same shape and type.
    """
    raise NotImplementedError


def beam_search(model, prompt, max_new_tokens, num_beams):
    """Search for the likeliest continuations, keeping a few texts at every length.

    Each step lengthens every kept text by every token and keeps the num_beams likeliest of these;
    of equally likely ones any will do.

    Args:
        model: model(tokens) maps a tensor of ids (B, T) to logits (B, T, V). It reads at most
            model.max_seq_len tokens and has model.vocab_size of them. It is in eval mode.
        prompt: list of ids.
        max_new_tokens: how many tokens to add, at least 1.
        num_beams: how many texts to keep.

    Returns:
        A list of Beam(tokens, log_probability), the likeliest first: `tokens` is a tensor of
        the prompt and what was added, `log_probability` a float for what was added.
    """
    raise NotImplementedError
