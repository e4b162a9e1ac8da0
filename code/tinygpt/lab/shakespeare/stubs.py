"""TinyGPT on Shakespeare: five pieces of training to write. Read the chapter beside them.

    tinygpt lab check shakespeare               check all five
    tinygpt lab check shakespeare get_batch     check one
    tinygpt lab hint shakespeare get_batch      the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
"""

# ruff: noqa: F401
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tinygpt import data, models


def get_batch(ids, batch_size, block_size, rng):
    """Draw random windows of a corpus, and the same windows one position later.

    Args:
        ids: the corpus, a 1-D NumPy array of any integers, which may be larger than memory:
            index it, and turn only what you drew into int64.
        batch_size: number of windows, B.
        block_size: length of a window, T.
        rng: a NumPy generator; rng.integers(low, high, size=n) draws from low to high - 1.

    Returns:
        Two NumPy arrays of int64, inputs and targets, both (B, T). Every window that fits
        into ids with its targets is equally likely.
    """
    raise NotImplementedError


def bigram_loss(train, validation, vocab_size, smoothing=0.1):
    """Return what a table of pairs scores: the mean surprise of each token after the last.

    p(b | a) = (count of a, b + smoothing) / (count of a before anything + smoothing V)

    Args:
        train: the tokens to count, a 1-D NumPy array of integers, perhaps of type uint8.
        validation: the tokens to predict, all but the first one, from the token before.
        vocab_size: number of tokens, V.
        smoothing: added to the count of every pair.

    Returns:
        The mean of -ln p, in nats per token, a float.
    """
    raise NotImplementedError


def estimate_loss(model, ids, batch_size, block_size, batches, seed=0):
    """Return the mean loss of a model over random windows, and leave the model as it was.

    Args:
        model: a models.GPT. model.loss(inputs, targets) takes two tensors of integers, (B, T);
            model.training says in which mode it is, model.eval() and model.train() change it.
        ids: the corpus as numbers, a NumPy array.
        batch_size: number of windows in a batch, B.
        block_size: length of a window, T.
        batches: how many batches to draw, with data.random_batch.
        seed: fixes the draws, with np.random.default_rng(seed).

    Returns:
        The mean of the batches' losses, a float. Dropout is off meanwhile, no graph is
        recorded, and the shared random numbers of PyTorch and NumPy are not touched.
    """
    raise NotImplementedError


def learning_rate(step, steps, warmup_steps, max_lr, min_lr):
    """Return the learning rate of a step: up in a straight line, then down half a cosine.

    Args:
        step: the step, counted from 0.
        steps: the step at which the rate has come down to min_lr; it stays there afterwards.
        warmup_steps: how many steps the rate rises. The first step has max_lr / warmup_steps,
            the last one of them max_lr. 0: no rise.
        max_lr: the highest rate, which step number warmup_steps has as well.
        min_lr: the last rate.
    """
    raise NotImplementedError


def train_step(model, optimizer, batches, clip):
    """Make one step of the optimizer, with the mean gradient of several small batches.

    Args:
        model: a models.GPT, in training mode. model.loss(inputs, targets) is the mean loss.
        optimizer: a torch.optim.Optimizer of the model's parameters.
        batches: a list of pairs of tensors, (inputs, targets), all of one shape. Together
            they are the batch: only one of them has to fit into memory.
        clip: a gradient longer than this is shortened to this length, with
            nn.utils.clip_grad_norm_(parameters, clip).

    Returns:
        The mean loss over the batches, a float.
    """
    raise NotImplementedError
