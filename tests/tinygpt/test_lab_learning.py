"""The exercises of learning: right answers in other words pass, and each demand is needed."""

import math

import numpy as np
import pytest
from tinygpt import lab, scratch
from tinygpt.lab.grading import FAILED, grade
from tinygpt.scratch import Tensor

RIGHT, WRONG = [], []


def right(exercise):
    return lambda answer: RIGHT.append((exercise, answer)) or answer


def wrong(exercise, message):
    return lambda answer: WRONG.append((exercise, answer, message)) or answer


# ---- cross-entropy ------------------------------------------------------------------------------


@right("cross_entropy")
def through_log_softmax(logits, targets):
    return -scratch.log_softmax(logits)[np.arange(len(targets)), targets].mean()


@right("cross_entropy")
def with_one_hot_rows(logits, targets):
    right_ones = np.eye(logits.shape[-1])[targets]
    return -(scratch.log_softmax(logits) * right_ones).sum(axis=-1).mean()


@right("cross_entropy")
def with_the_largest_in_the_graph(logits, targets):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return (shifted.exp().sum(axis=-1).log() - shifted[np.arange(len(targets)), targets]).mean()


@wrong("cross_entropy", "cross_entropy should return a Tensor, got float64")
def a_number(logits, targets):
    p = scratch.log_softmax(logits).data
    return -np.float64(p[np.arange(len(targets)), targets].mean())


@wrong("cross_entropy", "cross_entropy should return the shape (), got (2,)")
def a_loss_for_each_row(logits, targets):
    return -scratch.log_softmax(logits)[np.arange(len(targets)), targets]


@wrong("cross_entropy", "cross_entropy should leave the logits as they were; it changed them")
def in_place(logits, targets):
    logits.data -= logits.data.max(axis=-1, keepdims=True)
    return scratch.cross_entropy(logits, targets)


@wrong("cross_entropy", "The gradient should reach the logits, got None")
def of_a_copy(logits, targets):
    return scratch.cross_entropy(Tensor(logits.data, requires_grad=True), targets)


@wrong("cross_entropy", "The loss of the logits [[0.0, 200.0]] with the targets [0] should be 200,")
def with_a_floor(logits, targets):
    p = scratch.softmax(logits) + 1e-9
    return -p[np.arange(len(targets)), targets].log().mean()


# ---- first weights ------------------------------------------------------------------------------


@right("he_weights")
def uniform_of_the_right_spread(in_features, out_features, gain=2**0.5, *, rng):
    bound = gain * math.sqrt(3 / in_features)
    return rng.uniform(-bound, bound, (out_features, in_features)).astype(np.float32)


@wrong("he_weights", "The weights should be float32, got float64")
def of_float64(in_features, out_features, gain=2**0.5, *, rng):
    return rng.normal(0, gain / math.sqrt(in_features), (out_features, in_features))


@wrong("he_weights", "With 400 inputs and gain 1 the weights should have a standard deviation of")
def for_a_hundred_inputs(in_features, out_features, gain=2**0.5, *, rng):
    return rng.normal(0, gain / 10, (out_features, in_features)).astype(np.float32)


@wrong("he_weights", "Another generator should give other weights, got the same")
def from_a_seed_of_its_own(in_features, out_features, gain=2**0.5, *, rng):
    return scratch.he_weights(in_features, out_features, gain, rng=np.random.default_rng(3))


# ---- a step of AdamW ----------------------------------------------------------------------------


@right("adamw_step")
def with_one_factor(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean += (1 - betas[0]) * (grad - mean)
    square += (1 - betas[1]) * (grad * grad - square)
    root = np.sqrt(square / (1 - betas[1] ** step)) + eps
    weight[:] = weight - lr * weight_decay * weight - lr / (1 - betas[0] ** step) * mean / root


@wrong("adamw_step", "adamw_step should leave the gradient as it was")
def gradient_scaled(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    scratch.adamw_step(weight, grad, mean, square, step, lr, betas, eps, weight_decay)
    grad *= 0


@wrong("adamw_step", "The first step with lr=0.1 should change the weights by [-0.1, 0.1, -0.1]")
def uphill(weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    scratch.adamw_step(weight, grad, mean, square, step, -lr, betas, eps, weight_decay)


@wrong("adamw_step", "After three steps with betas=(0.5, 0.75), eps=0.01 and weight_decay=0.1 the")
def betas_ignored(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    scratch.adamw_step(weight, grad, mean, square, step, lr, (0.9, 0.999), eps, weight_decay)


# ---- batches and the loop -----------------------------------------------------------------------


@right("minibatches")
def as_a_list_of_splits(inputs, labels, batch_size, rng):
    order = rng.permutation(len(labels))
    pieces = np.split(order, range(batch_size, len(labels), batch_size))
    return [(inputs[rows], labels[rows]) for rows in pieces]


@wrong("minibatches", "A batch should be a pair of arrays, got ndarray")
def inputs_only(inputs, labels, batch_size, rng):
    order = rng.permutation(len(labels))
    return (inputs[order[i : i + batch_size]] for i in range(0, len(order), batch_size))


@wrong("minibatches", "5 examples in batches of 8 should make batches of [5], got [5, 0]")
def one_too_many(inputs, labels, batch_size, rng):
    order = rng.permutation(len(labels))
    for start in range(0, max(len(labels), batch_size + 1), batch_size):
        rows = order[start : start + batch_size]
        yield inputs[rows], labels[rows]


@right("train_epoch")
def with_the_mean_at_the_end(model, batches, optimizer):
    model.train()
    losses, sizes = [], []
    for inputs, labels in batches:
        loss = scratch.cross_entropy(model.forward(Tensor(inputs)), labels)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        sizes.append(len(labels))
    return np.average(losses, weights=sizes)


@wrong("train_epoch", "The first step should follow the gradient of the mean loss of the first")
def the_sum_of_the_loss(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = scratch.cross_entropy(model(Tensor(inputs)), labels) * len(labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
        count += len(labels)
    return total / count


@wrong("train_epoch", "Two batches should make two steps, got 0")
def only_measures(model, batches, optimizer):
    return float(np.mean([scratch.evaluate(model, *batch)[0] for batch in batches]))


@pytest.mark.parametrize(("exercise", "answer"), RIGHT, ids=lambda v: getattr(v, "__name__", v))
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message


@pytest.mark.parametrize(
    ("exercise", "answer", "message"), WRONG, ids=[answer.__name__ for _, answer, _ in WRONG]
)
def test_each_demand_is_needed(exercise, answer, message):
    result = grade(lab.exercise(exercise), answer)
    assert result.status == FAILED
    assert result.message.startswith(message)
