"""Answers to learn from; the package's own check their arguments as well."""

import math

import numpy as np
import torch
from torch import nn

from tinygpt import data


def get_batch(ids, batch_size, block_size, rng):
    """Draw random windows of a corpus, and the same windows one position later."""
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)  # (B,)
    places = starts[:, None] + np.arange(block_size + 1)  # (B, T + 1)
    windows = ids[places].astype(np.int64)  # only these are read
    return windows[:, :-1], windows[:, 1:]


def bigram_loss(train, validation, vocab_size, smoothing=0.1):
    """Return what a table of pairs scores: the mean surprise of each token after the last."""
    pairs = train[:-1].astype(np.int64) * vocab_size + train[1:]
    counts = np.bincount(pairs, minlength=vocab_size**2).reshape(vocab_size, vocab_size)
    counts = counts + smoothing  # (V, V)
    p = counts / counts.sum(axis=1, keepdims=True)  # each row sums to 1
    return float(-np.log(p[validation[:-1], validation[1:]]).mean())


@torch.no_grad()
def estimate_loss(model, ids, batch_size, block_size, batches, seed=0):
    """Return the mean loss of a model over random windows, and leave the model as it was."""
    rng = np.random.default_rng(seed)
    was_training = model.training
    model.eval()
    try:
        losses = []
        for _ in range(batches):
            inputs, targets = data.random_batch(ids, batch_size, block_size, rng)
            losses.append(model.loss(torch.tensor(inputs), torch.tensor(targets)).item())
    finally:
        model.train(was_training)
    return sum(losses) / len(losses)


def learning_rate(step, steps, warmup_steps, max_lr, min_lr):
    """Return the learning rate of a step: up in a straight line, then down half a cosine."""
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))  # 0 to 1
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


def train_step(model, optimizer, batches, clip):
    """Make one step of the optimizer, with the mean gradient of several small batches."""
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()  # adds to what the batches before have left
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total
