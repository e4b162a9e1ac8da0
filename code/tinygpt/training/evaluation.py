"""The loss of a model on text it is not trained on."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn

from tinygpt import data
from tinygpt.sampling.decoder import evaluating
from tinygpt.shapes import Integer
from tinygpt.validate import instance, integer, positive_integer


def evaluate(
    model: nn.Module,
    ids: Integer[np.ndarray, " N"],
    batch_size: int,
    block_size: int,
    batches: int | None = None,
    seed: int = 0,
) -> float:
    """Return the mean loss in nats per token, with dropout off and no gradients.

    Args:
        model: anything with `loss(tokens, targets)`.
        ids: the tokens to predict.
        batch_size: windows in a batch.
        block_size: tokens in a window.
        batches: how many random batches, always the same ones for a seed; None takes every
            token once, in windows side by side.
        seed: chooses the random batches.

    Raises:
        TypeError, ValueError: an argument is of another kind, or the text is too short.
    """
    instance("evaluate", "model", model, nn.Module)
    integer("evaluate", "seed", seed)
    if batches is None:
        pairs: Iterable = data.sequential_batches(ids, batch_size, block_size)
    else:
        rng = np.random.default_rng(seed)
        pairs = (
            data.random_batch(ids, batch_size, block_size, rng)
            for _ in range(positive_integer("evaluate", "batches", batches))
        )
    device = next(model.parameters()).device
    total, count = 0.0, 0
    with evaluating(model):
        for pair in pairs:
            tokens, targets = (torch.as_tensor(part, device=device) for part in pair)
            total += model.loss(tokens, targets).item() * targets.numel()
            count += targets.numel()
    return total / count
