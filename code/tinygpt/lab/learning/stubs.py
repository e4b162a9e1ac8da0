"""Layers, losses and learning: five pieces to write. Read the chapter beside them.

    tinygpt lab check learning                  check all five
    tinygpt lab check learning cross_entropy    check one
    tinygpt lab hint learning cross_entropy     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
`scratch.cross_entropy` is the book's own, for when yours is not written yet.
"""

# ruff: noqa: F401
import math

import numpy as np

from tinygpt import scratch
from tinygpt.scratch import Tensor, evaluation_mode, no_grad


def cross_entropy(logits, targets):
    """Return the mean of -ln p of the right class, where p is the softmax of the logits.

    Args:
        logits: Tensor (B, V) of scores, as large or small as they may be.
        targets: NumPy array of integers, (B,): the right class of each row.

    Returns:
        A Tensor with one element and shape (), through which `backward` reaches the logits.

    Tensor has + - * /, and the methods .exp(), .log(), .max(axis=, keepdims=),
    .sum(axis=, keepdims=) and .mean(); `t[rows, columns]` picks one element for each pair of
    two integer arrays, and `t.data` is the NumPy array.
    """
    raise NotImplementedError


def he_weights(in_features, out_features, gain=2**0.5, *, rng):
    """Draw the weights of a linear map that keeps the mean square of what passes through.

    Args:
        in_features: how many numbers are summed for one output, I.
        out_features: number of outputs, O.
        gain: makes up for the function that follows; 1 where nothing follows.
        rng: a NumPy generator; rng.standard_normal(shape) draws from N(0, 1).

    Returns:
        A NumPy array of float32, (O, I), with mean 0 and standard deviation gain / √I.
    """
    raise NotImplementedError


def adamw_step(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    """Take one step of AdamW, changing `weight`, `mean` and `square` in place.

    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²
    θ ← θ - lr · weight_decay · θ
    θ ← θ - lr · m̂ / (√v̂ + eps),  m̂ = m / (1 - β₁ᵗ),  v̂ = v / (1 - β₂ᵗ)

    Args:
        weight: NumPy array of any shape, θ.
        grad: its gradient, g, which stays as it is.
        mean: running mean of the gradient, m.
        square: running mean of its square, v.
        step: number of this step, t, from 1 on.
        lr: learning rate.
        betas: β₁ and β₂.
        eps: keeps the division finite.
        weight_decay: how strongly weights shrink.

    Returns:
        None. `a *= 2` and `a[...] = b` change an array in place; `a = 2 * a` makes a new one.
    """
    raise NotImplementedError


def minibatches(inputs, labels, batch_size, rng):
    """Go through all examples once, in a random order, a batch at a time.

    Args:
        inputs: NumPy array with one example per row, (N, ...).
        labels: NumPy array of integers, (N,).
        batch_size: examples in a batch.
        rng: a NumPy generator; rng.permutation(n) gives 0 to n - 1 in random order.

    Yields:
        Inputs and labels of a batch, a pair of arrays. The last batch holds what is left.
        Both arguments stay as they are. A generator (`yield`) or a list are both fine.
    """
    raise NotImplementedError


def train_epoch(model, batches, optimizer):
    """Take one step for each batch; return the mean loss per example.

    Args:
        model: a Module; model(Tensor(inputs)) gives logits (B, V), and model.train() puts it
            into training mode.
        batches: pairs of inputs and labels, which can be gone through once.
        optimizer: with .zero_grad() and .step(), over the model's parameters. Gradients of
            earlier batches may still be there.

    Returns:
        A Python float: the loss of each batch before its step, averaged over all examples.
    """
    raise NotImplementedError
