"""Learning: answers that are wrong in some regime are found, unusual right ones pass."""

import numpy as np
import pytest
from edited import edited
from tinygpt import lab, scratch
from tinygpt.lab.grading import FAILED, grade
from tinygpt.scratch import Tensor

ROTATED = "np.roll(np.arange(len(labels)), rng.integers(1, len(labels) + 1))"
STRIDE = "(np.arange(len(labels)) * 11 + rng.integers(len(labels))) % len(labels)"
WRONG = [
    (
        "cross_entropy",
        "large_scores_made_smaller",
        [("logits - Tensor(", "logits * (1 if abs(logits.data).max() < 600 else 0.1) - Tensor(")],
    ),
    (
        "cross_entropy",
        "a_floor_far_below",
        [
            (
                "return (log_total - right).mean()",
                "return (log_total - right).mean() * float((log_total - right).mean().data < 900)",
            )
        ],
    ),
    ("cross_entropy", "float32", [("logits - Tensor(", "logits * np.float32(1 + 1e-7) - Tensor(")]),
    (
        "cross_entropy",
        "flat_places_in_small_integers",
        [
            (
                "shifted[np.arange(len(targets)), targets]",
                "shifted.reshape(-1)[(np.arange(len(targets)) * logits.shape[-1]).astype("
                "targets.dtype) + targets]",
            )
        ],
    ),
    ("cross_entropy", "targets_cleared", [("return", "targets[...] = 0; return")]),
    (
        "he_weights",
        "equal_rows",
        [
            ("(out_features, in_features)", "(1, in_features)"),
            ("return weights", "return np.tile(weights, (out_features, 1))"),
        ],
    ),
    (
        "he_weights",
        "equal_columns",
        [
            ("(out_features, in_features)", "(out_features, 1)"),
            ("return weights", "return np.tile(weights, (1, in_features))"),
        ],
    ),
    (
        "he_weights",
        "last_row_like_the_first",
        [
            (
                "return weights",
                "weights[out_features // 2 :] *= -1; weights[-1] = weights[0]; return weights",
            )
        ],
    ),
    (
        "he_weights",
        "the_same_again",
        [(":", "    rng = np.random.default_rng(rng.bit_generator.seed_seq)")],
    ),
    ("he_weights", "the_global_seed_set", [(":", "    np.random.seed(int(rng.integers(9)))")]),
    (
        "he_weights",
        "at_most_100_inputs",
        [
            (
                "math.sqrt(in_features)",
                "math.sqrt(min(in_features, 400) if in_features > 90 else 50)",
            )
        ],
    ),
    (
        "adamw_step",
        "means_start_at_the_first_step",
        [(":", "    mean *= step > 3; square *= step > 3")],
    ),
    (
        "adamw_step",
        "decay_after_the_step",
        [
            ("weight *= 1 - lr * weight_decay", ""),
            ("+ eps)", "+ eps); weight *= 1 - lr * weight_decay"),
        ],
    ),
    ("adamw_step", "correction_ends", [(":", "    step = min(step, 50)")]),
    ("adamw_step", "other_eps", [("eps=1e-08", "eps=1e-07")]),
    ("adamw_step", "grad_with_decay_kept", [(":", "    grad += 0 * weight; grad -= 1e-12")]),
    ("minibatches", "rotated", [("rng.permutation(len(labels))", ROTATED)]),
    ("minibatches", "stride", [("rng.permutation(len(labels))", STRIDE)]),
    (
        "minibatches",
        "first_stays_first",
        [("rng.permutation(len(labels))", "np.append(0, 1 + rng.permutation(len(labels) - 1))")],
    ),
    (
        "minibatches",
        "only_batches_shuffled",
        [
            (
                "rng.permutation(len(labels))",
                "np.argsort(rng.random(len(labels)).repeat(2)[: len(labels)], kind='stable')",
            )
        ],
    ),
    ("minibatches", "float32", [("inputs[rows],", "inputs[rows].astype(np.float32),")]),
    ("minibatches", "flattened", [("inputs[rows],", "inputs[rows].reshape(len(rows), -1),")]),
    ("minibatches", "the_global_generator_too", [("order =", "np.random.permutation(3); order =")]),
    ("train_epoch", "two_batches", [("in batches:", "in list(batches)[:2]:")]),
    (
        "train_epoch",
        "momentum_switched_off",
        [
            (
                "optimizer.step()",
                "optimizer.step(); optimizer.momentum = 0",
            )
        ],
    ),
    (
        "train_epoch",
        "last_batch_size_counts",
        [("return total / count", "return total / count if count < 5 else total / len(labels)")],
    ),
    (
        "train_epoch",
        "batches_scaled",
        [("optimizer.zero_grad()", "inputs *= 0.5; optimizer.zero_grad()")],
    ),
    (
        "train_epoch",
        "flat_inputs",
        [("Tensor(inputs)", "Tensor(inputs - inputs.mean() * (inputs.ndim > 2))")],
    ),
]


@pytest.mark.parametrize(
    ("exercise", "changes"),
    [pytest.param(name, changes, id=f"{name}-{what}") for name, what, changes in WRONG],
)
def test_what_is_wrong_somewhere_is_found(exercise, changes):
    result = grade(lab.exercise(exercise), edited(exercise, *changes))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


def by_logits_one_by_one(logits, targets):
    total = Tensor(np.zeros((), logits.dtype), dtype=logits.dtype)
    for row, target in enumerate(targets):
        shifted = logits[row] - logits.data[row].max()
        total = total + shifted.exp().sum().log() - shifted[int(target)]
    return total / len(targets)


def in_float32(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.standard_normal((in_features, out_features), dtype=np.float32).T
    return weights * np.float32(gain * in_features**-0.5)


def through_out(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    np.copyto(mean, betas[0] * mean + (1 - betas[0]) * grad)
    np.copyto(square, betas[1] * square + (1 - betas[1]) * grad * grad)
    root = np.sqrt(square) / np.sqrt(1 - betas[1] ** step) + eps
    weight -= lr * (weight_decay * weight + mean / (1 - betas[0] ** step) / root)
    return weight


def shuffled_indices(inputs, labels, batch_size, rng):
    order = np.arange(len(inputs))
    rng.shuffle(order)
    while len(order):
        rows, order = order[:batch_size], order[batch_size:]
        yield [inputs.take(rows, axis=0), labels.take(rows, axis=0)]


def with_scratch_alone(model, batches, optimizer):
    model.train(True)
    seen = []
    for x, y in batches:
        for parameter in model.parameters():
            parameter.grad = None
        loss = scratch.cross_entropy(model(Tensor(x)), y)
        loss.backward()
        optimizer.step()
        seen += [loss.item()] * len(y)
    return float(np.mean(seen))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("cross_entropy", by_logits_one_by_one),
        ("he_weights", in_float32),
        ("adamw_step", through_out),
        ("minibatches", shuffled_indices),
        ("train_epoch", with_scratch_alone),
    ],
)
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message
