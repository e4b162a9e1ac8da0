"""Answers to learn from, where the package's own code also checks its arguments."""

import math

import numpy as np

from tinygpt import scratch
from tinygpt.scratch import Tensor


def cross_entropy(logits, targets):
    """Return the mean of -ln p of the right class, where p is the softmax of the logits."""
    shifted = logits - Tensor(logits.data.max(axis=-1, keepdims=True))  # (B, V)
    log_total = shifted.exp().sum(axis=-1).log()  # (B,)
    right = shifted[np.arange(len(targets)), targets]  # (B,)
    return (log_total - right).mean()


def he_weights(in_features, out_features, gain=2**0.5, *, rng):
    """Draw the weights of a linear map that keeps the mean square of what passes through."""
    weights = rng.standard_normal((out_features, in_features)) * gain / math.sqrt(in_features)
    return weights.astype(np.float32)


def adamw_step(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    """Take one step of AdamW, changing `weight`, `mean` and `square` in place."""
    beta1, beta2 = betas
    mean *= beta1
    mean += (1 - beta1) * grad
    square *= beta2
    square += (1 - beta2) * grad**2
    corrected_mean = mean / (1 - beta1**step)
    corrected_square = square / (1 - beta2**step)
    weight *= 1 - lr * weight_decay
    weight -= lr * corrected_mean / (np.sqrt(corrected_square) + eps)


def minibatches(inputs, labels, batch_size, rng):
    """Go through all examples once, in a random order, a batch at a time."""
    order = rng.permutation(len(labels))
    for start in range(0, len(labels), batch_size):
        rows = order[start : start + batch_size]
        yield inputs[rows], labels[rows]


def train_epoch(model, batches, optimizer):
    """Take one step for each batch; return the mean loss per example."""
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = scratch.cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count
