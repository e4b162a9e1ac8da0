"""Checks on inputs drawn at random: other sizes, types and starting points than the first ones."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Tensor

_TYPES = (np.float64, np.float32)

# ---- cross-entropy ------------------------------------------------------------------------------


def test_drawn_cross_entropy(cross_entropy):
    """Any number of rows and classes, scores up to thousands, targets of every integer type."""
    rows, classes = (5, 1, 2, 9, 300), (1, 2, 3, 40, 300)
    sizes, kinds = (1.0, 1e4, 30.0), (np.uint8, np.int64, np.int32, np.uint16)
    for case in cases(21, 12, rows=rows, classes=classes, size=sizes, kind=kinds, dtype=_TYPES):
        values = case.numbers(case.rows, case.classes, size=case.size, dtype=case.dtype)
        targets = case.integers(0, min(case.classes, 256), case.rows, dtype=case.kind)
        logits = Tensor(values, requires_grad=True, dtype=case.dtype)
        with undisturbed("cross_entropy", logits=logits, targets=targets):
            loss = cross_entropy(logits, targets)
        exact = values.astype(np.float64)
        exact -= exact.max(axis=1, keepdims=True)
        p = np.exp(exact)
        total = p.sum(axis=1, keepdims=True)
        picked = np.arange(case.rows), targets.astype(int)
        expected = float((np.log(total[:, 0]) - exact[picked]).mean())
        limit = (1e-9 if case.dtype == np.float64 else 1e-4) * max(1.0, abs(expected))
        what = (
            f"Of {case.rows} rows with {case.classes} classes, scores of {case.dtype.__name__} "
            f"up to about {2 * case.size:g} and targets of {case.kind.__name__},"
        )
        require(
            abs(loss.item() - expected) <= limit,
            f"{what} the loss should be {shown(expected, 6)}, got {shown(loss.item(), 6)}",
        )
        logits.grad = np.ones_like(values)  # what another part of a larger loss has left there
        (loss * 3.0).backward()
        slope = p / total
        slope[picked] -= 1
        difference = np.abs(logits.grad - 1 - 3 * slope / case.rows).max()
        require(
            difference < (1e-9 if case.dtype == np.float64 else 1e-5),
            f"{what} three times the loss should add three times its gradient to what is there; "
            f"it is off by {difference:.2g}",
        )


# ---- first weights ------------------------------------------------------------------------------


def test_drawn_he_weights(he_weights):
    """Every weight by itself: no row or column is like another, and no call like the last."""
    for case in cases(22, 6, inputs=(3, 60, 400), outputs=(400, 4, 60), gain=(1.0, 0.0, 5.0)):
        rng = np.random.default_rng(case.integers(0, 1000).item())
        size = case.inputs, case.outputs
        with undisturbed("he_weights"):
            weights, next_ones = (
                np.asarray(he_weights(*size, case.gain, rng=rng), np.float64) for _ in range(2)
            )
        if case.gain == 0:
            require(not weights.any(), "With a gain of 0 all weights should be 0, got others")
            continue
        require(
            not np.array_equal(weights, next_ones),
            "A second call with the same generator should draw other weights, got the same",
        )
        scaled = weights / (case.gain / case.inputs**0.5)
        more = next_ones / (case.gain / case.inputs**0.5)
        rows = np.concatenate([scaled, more])
        _unlike("rows", rows, case)
        _unlike("columns", rows.T, case)
        far = float(np.abs(rows.mean(axis=1)).max()) * case.inputs**0.5
        require(
            far < 6 and abs(float(rows.mean())) * rows.size**0.5 < 6,
            f"For {case.inputs} inputs and {case.outputs} outputs each row should have a mean of "
            "about 0; one has not",
        )
        off = abs(float((rows**2).mean()) - 1) * rows.size**0.5
        require(
            off < 12,
            f"For {case.inputs} inputs, {case.outputs} outputs and a gain of {case.gain:g} the "
            f"standard deviation should be {case.gain / case.inputs**0.5:.3f}, got "
            f"{shown(rows.std() * case.gain / case.inputs**0.5, 3)}",
        )


def _unlike(which, vectors, case):
    """Independent numbers: a product of two vectors of n has a deviation of √n."""
    products = vectors @ vectors.T
    np.fill_diagonal(products, 0)
    largest = float(np.abs(products).max()) / vectors.shape[1] ** 0.5
    if vectors.shape[1] >= 60:
        require(
            largest < 7,
            f"For {case.inputs} inputs and {case.outputs} outputs the weights should be drawn one "
            f"by one; two {which} are alike",
        )


# ---- a step of AdamW ----------------------------------------------------------------------------


def test_drawn_adamw_step(adamw_step):
    """From any step and any means, arrays of any shape and type, and every setting."""
    shapes = ((3,), (2, 3, 2), (4, 5), (1, 1))
    steps = (1, 2, 7, 100, 5000)
    for case in cases(23, 10, shape=shapes, step=steps, decay=(0.0, 0.5), dtype=_TYPES):
        weight, grad, mean = (case.numbers(*case.shape, dtype=case.dtype) for _ in range(3))
        square = case.numbers(*case.shape, dtype=case.dtype) ** 2
        beta1, beta2 = (float(case.rng.choice([0.0, 0.5, 0.9, 0.99])) for _ in range(2))
        lr, eps = float(case.rng.choice([0.5, 0.01])), float(case.rng.choice([1e-8, 0.1]))
        exact = [x.astype(np.float64) for x in (weight, grad, mean, square)]
        with undisturbed("adamw_step", gradient=grad):
            adamw_step(weight, grad, mean, square, case.step, lr, (beta1, beta2), eps, case.decay)
        theta, g, m, v = exact
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        theta = theta * (1 - lr * case.decay)
        theta -= lr * m / (1 - beta1**case.step) / (np.sqrt(v / (1 - beta2**case.step)) + eps)
        limit = 1e-9 if case.dtype == np.float64 else 1e-2
        for name, found, expected in (("mean", mean, m), ("square", square, v)):
            _agree(case, f"the array {name}", found, expected, limit)
        _agree(case, "the weight", weight, theta, limit)
    weight, mean, square = np.zeros(1), np.zeros(1), np.zeros(1)
    adamw_step(weight, np.array([-1e-8]), mean, square, 1, 0.1)
    require(
        abs(weight[0] - 0.05) < 1e-3,
        "Without eps it should be 1e-8: with a gradient of -1e-8 the first step should be "
        f"0.1 · 1e-8 / (1e-8 + 1e-8) = 0.050, got {shown(weight[0], 3)}",
    )


def _agree(case, what, found, expected, limit):
    difference = float(np.abs(found - expected).max())
    require(
        difference <= limit * max(1.0, float(np.abs(expected).max())),
        f"In step {case.step} of weights of shape {case.shape}, of {case.dtype.__name__}, with "
        f"weight_decay={case.decay:g} {what} should follow the formula; it is off by "
        f"{difference:.2g}",
    )
