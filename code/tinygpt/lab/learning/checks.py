"""Checks of the loss, the first weights and the optimiser's step.

Inputs are chosen so that the numbers in messages can be worked out on paper.
"""

import math

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.measures import array_of, has_graph, shown, tensor_of
from tinygpt.scratch import Tensor

# ---- cross-entropy ------------------------------------------------------------------------------

LOGITS = [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


def test_unit_cross_entropy(cross_entropy):
    """The mean surprise of two rows that can be worked out by hand."""
    loss = _loss(cross_entropy, LOGITS, [0, 2])
    require(
        abs(loss - 0.7531) < 1e-3,
        "The loss of the logits [2, 1, 0] and [0, 0, 0] with the targets 0 and 2 should be 0.753, "
        f"got {shown(loss, 3)}",
    )
    loss = _loss(cross_entropy, [[1.0, -1.0]] * 3 + [[5.0, 2.0]], [0, 1, 1, 0])
    require(
        abs(loss - 1.1070) < 1e-3,
        f"The loss of four rows with two classes should be 1.107, got {shown(loss, 3)}",
    )


def test_stable_cross_entropy(cross_entropy):
    """Large and small scores give finite losses, each row by its own largest score."""
    for rows, targets, expected in [
        ([[200.0, 0.0]], [0], 0.0),
        ([[0.0, 200.0]], [0], 200.0),
        ([[-300.0, -300.0]], [1], math.log(2)),
        ([[500.0, 500.0], [-500.0, -500.0]], [0, 1], math.log(2)),
    ]:
        loss = _loss(cross_entropy, rows, targets)
        require(
            abs(loss - expected) < 1e-3,
            f"The loss of the logits {rows} with the targets {targets} should be {expected:.3g}, "
            f"got {loss:.3g}",
        )


def test_gradient_cross_entropy(cross_entropy):
    """The gradient is the probabilities minus the right answers, over the number of rows."""
    for rows, targets in [(LOGITS, [0, 2]), ([[300.0, 0.0], [0.0, 0.0]], [1, 0])]:
        logits = Tensor(rows, requires_grad=True)
        loss = cross_entropy(logits, np.array(targets))
        has_graph("cross_entropy", loss)
        loss.backward()
        require(logits.grad is not None, "The gradient should reach the logits, got None")
        p = np.exp(np.array(rows) - np.max(rows, axis=1, keepdims=True))
        expected = p / p.sum(axis=1, keepdims=True)
        expected[np.arange(2), targets] -= 1
        expected /= 2
        require(
            np.isfinite(logits.grad).all() and np.abs(logits.grad - expected).max() < 1e-4,
            f"The gradient of row 0 of the logits {rows} with the targets {targets} should be "
            f"{_list(expected[0])}, got {_list(logits.grad[0])}",
        )
        require(
            np.array_equal(logits.data, np.array(rows, np.float32)),
            "cross_entropy should leave the logits as they were; it changed them",
        )


def _loss(cross_entropy, rows, targets) -> float:
    return float(tensor_of("cross_entropy", cross_entropy(Tensor(rows), np.array(targets)), ()))


# ---- first weights ------------------------------------------------------------------------------


def test_unit_he_weights(he_weights):
    """Shape, type and spread of many weights, with the gain of a ReLU."""
    weights = _weights(he_weights, 100, 20_000, rng=np.random.default_rng(0))
    mean = float(weights.mean())
    require(abs(mean) < 1e-3, f"The weights should have a mean of about 0, got {shown(mean, 3)}")
    _spread(weights, "With 100 inputs and a gain of √2", 0.1414)


def test_gain_he_weights(he_weights):
    """Another gain and another number of inputs give another spread."""
    rng = np.random.default_rng(0)
    _spread(_weights(he_weights, 100, 20_000, gain=3.0, rng=rng), "With a gain of 3", 0.3)
    _spread(_weights(he_weights, 400, 2_500, gain=1.0, rng=rng), "With 400 inputs and gain 1", 0.05)


def test_generator_he_weights(he_weights):
    """The generator that is handed in decides."""
    first, same, other = (
        _weights(he_weights, 5, 4, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    require(
        np.array_equal(first, same),
        "Two generators with the same seed should give the same weights, got others",
    )
    require(
        not np.array_equal(first, other),
        "Another generator should give other weights, got the same",
    )


def _weights(he_weights, inputs, outputs, **options):
    weights = array_of("he_weights", he_weights(inputs, outputs, **options))
    require(
        weights.shape == (outputs, inputs),
        f"For {inputs} inputs and {outputs:,} outputs the weights should have the shape "
        f"{(outputs, inputs)}, got {weights.shape}",
    )
    require(weights.dtype == np.float32, f"The weights should be float32, got {weights.dtype}")
    return weights


def _spread(weights, when, expected):
    spread = float(weights.astype(np.float64).std())
    require(
        abs(spread - expected) < 0.01 * expected,
        f"{when} the weights should have a standard deviation of {expected:.3f}, "
        f"got {shown(spread, 3)}",
    )


# ---- a step of AdamW ----------------------------------------------------------------------------


def test_unit_adamw_step(adamw_step):
    """The first step is as long as the learning rate, whatever the gradient."""
    weight, grad = np.array([1.0, -2.0, 3.0]), np.array([4.0, -25.0, 0.01])
    kept = grad.copy()
    before, mean, square = weight.copy(), np.zeros(3), np.zeros(3)
    adamw_step(weight, grad, mean, square, 1, 0.1)
    require(np.array_equal(grad, kept), "adamw_step should leave the gradient as it was")
    require(
        not np.array_equal(weight, before),
        "adamw_step should change the array weight itself, which is as it was",
    )
    _equal(
        "The first step with lr=0.1 should change the weights by",
        weight - before,
        [-0.1, 0.1, -0.1],
    )
    _equal("After the first step the array mean should hold", mean, 0.1 * grad)
    _equal("After the first step the array square should hold", square, 0.001 * grad**2)


def test_constant_adamw_step(adamw_step):
    """Under a gradient that stays the same, every step is as long as the learning rate."""
    weight, mean, square = np.zeros(1), np.zeros(1), np.zeros(1)
    for step in (1, 2, 3, 4):
        before = weight.copy()
        adamw_step(weight, np.array([-2.0]), mean, square, step, 0.1)
        moved = float((weight - before)[0])
        require(
            abs(moved - 0.1) < 1e-4,
            "Under a constant gradient every step should be lr=0.1 long; step "
            f"{step} is {shown(moved, 3)}",
        )


def test_decay_adamw_step(adamw_step):
    """Weight decay shrinks the weight by lr · weight_decay, and stays out of the means."""
    weight, mean, square = np.array([2.0]), np.zeros(1), np.zeros(1)
    adamw_step(weight, np.zeros(1), mean, square, 1, 0.1, weight_decay=0.2)
    require(
        abs(weight[0] - 1.96) < 1e-4,
        "With a gradient of 0, lr=0.1 and weight_decay=0.2, a weight of 2 should become 1.960, "
        f"got {shown(weight[0], 3)}",
    )


def test_options_adamw_step(adamw_step):
    """eps stands beside the root, and other betas hold over several steps."""
    weight, mean, square = np.zeros(1), np.zeros(1), np.zeros(1)
    adamw_step(weight, np.array([-1.0]), mean, square, 1, 0.1, eps=1.0)
    require(
        abs(weight[0] - 0.05) < 1e-4,
        "With a gradient of -1 and eps=1 the first step should be 0.1 / (√1 + 1) = 0.050, "
        f"got {shown(weight[0], 3)}",
    )
    weight, mean, square = np.ones((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    for step in (1, 2, 3):
        grad = np.array([[1.0, -1.0], [2.0, 0.5]]) * (4 - step)
        adamw_step(weight, grad, mean, square, step, 0.1, (0.5, 0.75), 0.01, 0.1)
    expected = [[0.7008, 1.2398], [0.7003, 0.7019]]  # PyTorch's
    difference = float(np.abs(weight - expected).max())
    require(
        difference < 1e-3,
        "After three steps with betas=(0.5, 0.75), eps=0.01 and weight_decay=0.1 the weights "
        f"should be {_list(expected[0])} in row 0, got {_list(weight[0])}",
    )


def _equal(what, found, expected):
    require(
        np.allclose(found, expected, rtol=1e-3, atol=1e-6),
        f"{what} {_list(expected)}, got {_list(found)}",
    )


def _list(values) -> str:
    return f"[{', '.join(f'{float(value) + 0:.3g}' for value in values)}]"
