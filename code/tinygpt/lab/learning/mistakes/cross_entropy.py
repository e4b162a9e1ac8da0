"""Wrong losses."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor, softmax


def exp_overflow(logits, targets):
    exponentials = logits.exp()
    p = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return -p[np.arange(len(targets)), targets].log().mean()


def log_of_softmax(logits, targets):
    p = softmax(logits)
    return -p[np.arange(len(targets)), targets].log().mean()


def largest_not_subtracted(logits, targets):
    log_total = logits.exp().sum(axis=-1).log()
    return (log_total - logits[np.arange(len(targets)), targets]).mean()


def small_number_in_the_log(logits, targets):
    p = softmax(logits)
    return -(p[np.arange(len(targets)), targets] + 1e-9).log().mean()


def every_row_with_every_target(logits, targets):
    shifted = logits - Tensor(logits.data.max(axis=-1, keepdims=True))
    log_p = shifted - shifted.exp().sum(axis=-1, keepdims=True).log()
    return -log_p[:, targets].mean()


def one_largest_for_all(logits, targets):
    shifted = logits - float(logits.data.max())
    log_total = shifted.exp().sum(axis=-1).log()
    return (log_total - shifted[np.arange(len(targets)), targets]).mean()


def over_the_batch(logits, targets):
    shifted = logits - Tensor(logits.data.max(axis=0, keepdims=True))
    log_p = shifted - shifted.exp().sum(axis=0, keepdims=True).log()
    return -log_p[np.arange(len(targets)), targets].mean()


def mean_over_classes(logits, targets):
    shifted = logits - Tensor(logits.data.max(axis=-1, keepdims=True))
    log_p = shifted - shifted.exp().sum(axis=-1, keepdims=True).log()
    right = np.eye(logits.shape[-1])[targets]
    return -(log_p * right).mean()


def sum_over_the_batch(logits, targets):
    shifted = logits - Tensor(logits.data.max(axis=-1, keepdims=True))
    log_total = shifted.exp().sum(axis=-1).log()
    return (log_total - shifted[np.arange(len(targets)), targets]).sum()


def softmax_twice(logits, targets):
    p = softmax(logits)
    log_total = p.exp().sum(axis=-1).log()
    return (log_total - p[np.arange(len(targets)), targets]).mean()


def without_the_graph(logits, targets):
    shifted = logits.data - logits.data.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=-1))
    return Tensor((log_total - shifted[np.arange(len(targets)), targets]).mean())


def gradient_of_the_sum(logits, targets):
    shifted = logits.data - logits.data.max(axis=-1, keepdims=True)
    p = np.exp(shifted)
    total = p.sum(axis=-1, keepdims=True)
    rows = np.arange(len(targets))
    loss = (np.log(total[:, 0]) - shifted[rows, targets]).mean()

    def backward(grad):
        change = p / total
        change[rows, targets] -= 1
        logits.accumulate(change * grad)

    return Tensor.from_operation(loss, (logits,), backward)


MISTAKES = (
    Mistake(
        "exp_overflow",
        exp_overflow,
        "The loss of the logits [[200.0, 0.0]] with the targets [0] should be 0, got nan",
        "In float32 the exponential of 89 is already infinite, and infinity divided by infinity "
        "is NaN. One such example makes every weight NaN at the next step. Subtract each row's "
        "largest score first: the probabilities stay what they are.",
    ),
    Mistake(
        "log_of_softmax",
        log_of_softmax,
        "The loss of the logits [[0.0, 200.0]] with the targets [0] should be 200, got inf",
        "The softmax is right, but the probability of the right class is too small for float32 "
        "and rounds to 0, whose logarithm is minus infinity. Do not go through the probability: "
        "the log of the sum of exponentials minus the right score is the same loss.",
    ),
    Mistake(
        "largest_not_subtracted",
        largest_not_subtracted,
        "The loss of the logits [[200.0, 0.0]] with the targets [0] should be 0, got inf",
        "The logarithm is taken of the sum, which is good, but e to the 200 has overflowed before. "
        "Subtract the largest score of each row first; it drops out of the difference.",
    ),
    Mistake(
        "small_number_in_the_log",
        small_number_in_the_log,
        "The loss of the logits [[0.0, 200.0]] with the targets [0] should be 200, got 20.7",
        "A small number keeps the logarithm finite and hides what was lost: the loss stops "
        "growing at 20.7, -ln of 1e-9, and beyond it there is no gradient. Stay with logarithms: "
        "the log of the sum of exponentials minus the right score.",
    ),
    Mistake(
        "every_row_with_every_target",
        every_row_with_every_target,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        "got 1.253",
        "`log_p[:, targets]` takes the targets of all rows from every row, (B, B) numbers, and "
        "not one from each. Two arrays of integers go in pairs: "
        "`log_p[np.arange(B), targets]`.",
    ),
    Mistake(
        "one_largest_for_all",
        one_largest_for_all,
        "The loss of the logits [[500.0, 500.0], [-500.0, -500.0]] with the targets [0, 1] should "
        "be 0.693, got -inf",
        "One largest score for the whole batch is subtracted. A row far below it has only "
        "exponentials that round to 0, and the log of their sum is minus infinity. Take the "
        "largest of each row, `max(axis=-1, keepdims=True)`.",
    ),
    Mistake(
        "over_the_batch",
        over_the_batch,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        "got 0.410",
        "The sum of exponentials runs over axis 0, the batch, so each class is compared with "
        "itself in other examples. The classes of one example must sum to 1: that is the last "
        "axis.",
    ),
    Mistake(
        "mean_over_classes",
        mean_over_classes,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        "got 0.251",
        "The product with the one-hot rows has B · V entries, of which B are not zero, and the "
        "mean divides by all of them. The loss is too small by the number of classes. Sum over "
        "the classes before you average over the batch.",
    ),
    Mistake(
        "sum_over_the_batch",
        sum_over_the_batch,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        "got 1.506",
        "The losses of the rows are added and not averaged. Then the gradient grows with the "
        "batch, and a learning rate that is right for 32 examples is twice too large for 64.",
    ),
    Mistake(
        "softmax_twice",
        softmax_twice,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        "got 0.948",
        "The scores go through a softmax, and the loss takes the softmax of the result once "
        "more. Numbers between 0 and 1 can never become very unequal probabilities, so the loss "
        "stays high and training crawls. The loss wants the raw scores.",
    ),
    Mistake(
        "without_the_graph",
        without_the_graph,
        "cross_entropy should be made of Tensor operations, got no graph",
        "The value is right, but it was computed from `logits.data`, with NumPy, so the engine "
        "does not know how it came about. `backward` reaches nothing and the weights never move. "
        "Use the Tensor's own operations.",
    ),
    Mistake(
        "gradient_of_the_sum",
        gradient_of_the_sum,
        "The gradient of row 0 of the logits [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]] with the targets "
        "[0, 2] should be [-0.167, 0.122, 0.045], got [-0.335, 0.245, 0.09]",
        "The loss is a mean over the rows, and the gradient is that of their sum. It must be "
        "divided by the number of rows too, as every gradient of a mean.",
    ),
)
