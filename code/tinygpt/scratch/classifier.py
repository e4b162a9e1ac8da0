"""Learning from labelled examples: a network, batches, the loop, and what comes out right."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tinygpt.scratch.functional import cross_entropy
from tinygpt.scratch.graph import no_grad
from tinygpt.scratch.layers import GELU, Dropout, Linear, Module, evaluation_mode
from tinygpt.scratch.optim import SGD, AdamW
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Int
from tinygpt.validate import (
    check_callable,
    describe,
    generator,
    instance,
    integer_array,
    iterable,
    positive_integer,
)


class FeedForward(Module):
    """Linear maps with a bend between them, from flat inputs to one score per class.

    x → Linear → bend → dropout → … → Linear

    Args:
        sizes: length of the input, of each hidden layer, and the number of classes; at least
            two numbers. Two make a linear classifier.
        activation: makes the bend, such as `ReLU` or `GELU`.
        dropout_prob: dropout after each bend, in training.
    """

    def __init__(
        self,
        sizes: tuple[int, ...] | list[int],
        activation: Callable[[], Module] = GELU,
        dropout_prob: float = 0.0,
    ):
        if not isinstance(sizes, (list, tuple)) or len(sizes) < 2:
            raise ValueError(
                "FeedForward: sizes must be at least two numbers, the length of the input and the "
                f"number of classes, got {describe(sizes)}"
            )
        check_callable("FeedForward", "activation", activation)
        self.linears = [Linear(*pair) for pair in zip(sizes[:-1], sizes[1:], strict=True)]
        self.activation = activation()
        self.dropout = Dropout(dropout_prob)

    def forward(self, x: Float[Tensor, "B ..."]) -> Float[Tensor, "B V"]:
        """Map a batch of inputs, flattened, to scores (B, classes)."""
        if instance("FeedForward.forward", "x", x, Tensor).ndim == 0:
            raise ValueError("FeedForward.forward: x must have shape (B, ...), got ()")
        x = x.reshape(x.shape[0], -1)  # (B, pixels)
        for layer in self.linears[:-1]:
            x = self.dropout(self.activation(layer(x)))  # (B, hidden)
        return self.linears[-1](x)


def minibatches(
    inputs: Float[np.ndarray, "N ..."],
    labels: Int[np.ndarray, " N"],
    batch_size: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Float[np.ndarray, "B ..."], Int[np.ndarray, " B"]]]:
    """Go through all examples once, in a new random order, a batch at a time.

    One permutation of the row numbers serves inputs and labels alike, so that each input keeps
    its label. The last batch may be smaller.

    Args:
        inputs: one example per row.
        labels: the class of each example.
        batch_size: examples in a batch, B.
        rng: source of the order.

    Yields:
        Inputs and labels of a batch.

    Raises:
        TypeError, ValueError: an argument is of another kind, or the lengths differ.
    """
    labels = _examples("minibatches", inputs, labels)
    batch_size = positive_integer("minibatches", "batch_size", batch_size)
    order = instance("minibatches", "rng", rng, np.random.Generator).permutation(len(labels))
    starts = range(0, len(labels), batch_size)
    batches = (order[start : start + batch_size] for start in starts)
    return ((inputs[rows], labels[rows]) for rows in batches)


@no_grad()
def evaluate(
    model: Module,
    inputs: Float[np.ndarray, "N ..."],
    labels: Int[np.ndarray, " N"],
    batch_size: int = 512,
) -> tuple[float, float]:
    """Return the mean loss in nats and the share of examples classified rightly.

    Dropout is off meanwhile, no graph is kept, and the model is left in the mode it was in.

    Args:
        model: maps a Tensor of inputs to scores (B, classes).
        inputs: one example per row.
        labels: the class of each example.
        batch_size: examples at a time; it bounds the memory and changes nothing else.
    """
    labels = _examples("evaluate", inputs, labels)
    batch_size = positive_integer("evaluate", "batch_size", batch_size)
    loss, right = 0.0, 0
    with evaluation_mode(model):
        for start in range(0, len(labels), batch_size):
            rows = slice(start, start + batch_size)
            scores = model(Tensor(inputs[rows]))  # (B, classes)
            loss += cross_entropy(scores, labels[rows]).item() * len(labels[rows])
            right += int((scores.data.argmax(axis=-1) == labels[rows]).sum())
    return loss / len(labels), right / len(labels)


def accuracy(
    model: Module, inputs: Float[np.ndarray, "N ..."], labels: Int[np.ndarray, " N"]
) -> float:
    """Return the share of examples whose highest score is that of their label."""
    return evaluate(model, inputs, labels)[1]


def train_epoch(
    model: Module,
    batches: Iterable[tuple[Float[np.ndarray, "B ..."], Int[np.ndarray, " B"]]],
    optimizer: SGD | AdamW,
) -> float:
    """Take one step for each batch; return the mean loss per example, each before its step.

    Args:
        model: maps a Tensor of inputs to scores (B, classes); it is put into training mode.
        batches: inputs and labels, such as `minibatches` gives.
        optimizer: holds the model's parameters.
    """
    instance("train_epoch", "model", model, Module)
    _check_optimizer("train_epoch", optimizer)
    batches = _batches(batches)
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)  # the last batch may be smaller
        count += len(labels)
    return total / count


class Epoch(NamedTuple):
    """What one pass over the training examples left behind.

    Attributes:
        train_loss: mean loss of its batches, in training mode, each before its step.
        validation_loss: mean loss on the validation examples afterwards.
        validation_accuracy: share of them that is classified rightly.
    """

    train_loss: float
    validation_loss: float
    validation_accuracy: float


def fit(
    model: Module,
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    optimizer: SGD | AdamW,
    epochs: int,
    batch_size: int = 32,
    schedule: Callable[[int], float] | None = None,
    seed: int = 0,
) -> list[Epoch]:
    """Train a classifier, and measure it on examples that it does not learn from.

    Args:
        model: maps a Tensor of inputs to scores (B, classes).
        train: inputs and labels to learn from, such as `load_digits().train`.
        validation: inputs and labels to measure on after each epoch.
        optimizer: holds the model's parameters.
        epochs: how many times every training example is used.
        batch_size: examples in a step.
        schedule: the learning rate of each step, counted from 0; None leaves the optimiser's.
        seed: fixes the order of the examples.

    Returns:
        One `Epoch` for each pass. The model is left in training mode.
    """
    instance("fit", "model", model, Module)
    _check_optimizer("fit", optimizer)
    _check_pair("fit", "train", train)
    _check_pair("fit", "validation", validation)
    if schedule is not None:
        check_callable("fit", "schedule", schedule)
    epochs = positive_integer("fit", "epochs", epochs)
    rng, history = generator("fit", seed), []
    for epoch in range(epochs):
        batches = minibatches(*train, batch_size, rng)
        if schedule is not None:
            steps = math.ceil(len(train[1]) / batch_size)
            batches = _scheduled(batches, optimizer, schedule, epoch * steps)
        loss = train_epoch(model, batches, optimizer)
        history.append(Epoch(loss, *evaluate(model, *validation)))
    return history


def _scheduled(batches, optimizer, schedule, first_step):
    """Set the learning rate of each batch just before it is handed out."""
    for step, batch in enumerate(batches, first_step):
        optimizer.lr = schedule(step)
        yield batch


def _batches(batches):
    """Yield the batches, each checked to be a pair; there must be one at least."""
    batch = None
    for batch in iterable("train_epoch", "batches", batches, "inputs and labels"):
        _check_pair("train_epoch", "every batch", batch)
        yield batch
    if batch is None:
        raise ValueError("train_epoch: batches must hold at least one, got none")


def _check_optimizer(where: str, optimizer):
    if not callable(getattr(optimizer, "step", None)) or isinstance(optimizer, type):
        raise TypeError(f"{where}: optimizer must be one, such as SGD, got {describe(optimizer)}")


def _check_pair(where: str, name: str, pair):
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"{where}: {name} must be two arrays, inputs and labels, got {describe(pair)}"
        )


def _examples(where: str, inputs, labels) -> np.ndarray:
    """Return the labels as int64, or say that there must be one for each input."""
    instance(where, "inputs", inputs, np.ndarray)
    labels = integer_array(where, "labels", labels)
    if labels.ndim != 1 or inputs.shape[:1] != labels.shape or labels.size == 0:
        raise ValueError(
            f"{where}: labels must hold one class for each of the inputs, got inputs of shape "
            f"{inputs.shape} and labels of shape {labels.shape}"
        )
    return labels
