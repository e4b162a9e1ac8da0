"""Sigmoid, tanh and the losses beside cross-entropy, against PyTorch and finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from oracle import assert_agrees, examples, normal
from tinygpt import scratch
from tinygpt.scratch import Tensor
from torch.nn import functional as F

seeds = st.integers(0, 2**32 - 1)
shapes = array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=5)


@examples
@given(shapes, seeds)
def test_sigmoid_and_tanh(shape, seed):
    x = 3 * normal(seed, *shape)
    assert_agrees(scratch.sigmoid, torch.sigmoid, x)
    assert_agrees(scratch.tanh, torch.tanh, x)


@pytest.mark.filterwarnings("error")
def test_sigmoid_keeps_its_digits_far_from_0_and_never_overflows():
    x = np.array([-1e30, -80.0, -30.0, 0.0, 30.0, 1e30, -np.inf, np.inf])
    ours = scratch.sigmoid(Tensor(x, dtype=np.float64))
    np.testing.assert_allclose(ours.data, torch.sigmoid(torch.tensor(x)).numpy(), rtol=1e-12)
    assert scratch.sigmoid(Tensor([-1e30, 1e30])).data.tolist() == [0.0, 1.0]


@examples
@given(shapes, seeds)
def test_mean_squared_error_also_of_targets_that_learn(shape, seed):
    assert_agrees(
        scratch.mean_squared_error, F.mse_loss, normal(seed, *shape), normal(seed + 1, *shape)
    )


@examples
@given(shapes, seeds)
def test_binary_cross_entropy_also_of_targets_that_learn(shape, seed):
    targets = np.random.default_rng(seed).uniform(0.1, 0.9, shape)
    assert_agrees(
        scratch.binary_cross_entropy,
        F.binary_cross_entropy_with_logits,
        3 * normal(seed, *shape),
        targets,
    )


@pytest.mark.parametrize("targets", [[1, 0, 1], np.array([True, False, True])])
def test_targets_may_be_plain_numbers(targets):
    logits = Tensor([2.0, -1.0, 0.5], requires_grad=True)
    expected = torch.tensor([2.0, -1.0, 0.5], requires_grad=True)
    loss = scratch.binary_cross_entropy(logits, targets)
    loss.backward()
    F.binary_cross_entropy_with_logits(expected, torch.tensor([1.0, 0.0, 1.0])).backward()
    np.testing.assert_allclose(logits.grad, expected.grad.numpy(), rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_binary_cross_entropy_of_huge_logits_is_finite():
    logits = Tensor([1e4, -1e4, 1e30], requires_grad=True)
    loss = scratch.binary_cross_entropy(logits, [0.0, 1.0, 1.0])
    assert loss.item() == pytest.approx(2e4 / 3)
    loss.backward()
    np.testing.assert_allclose(logits.grad, [1 / 3, -1 / 3, 0], atol=1e-7)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda x: scratch.sigmoid([1.0]), "sigmoid: x must be a Tensor"),
        (lambda x: scratch.tanh(None), "tanh: x must be a Tensor"),
        (
            lambda x: scratch.mean_squared_error([1.0], x),
            "mean_squared_error: predictions must be a Tensor",
        ),
        (
            lambda x: scratch.mean_squared_error(x, [1.0]),
            "mean_squared_error: targets must have the shape of predictions, (2,), got (1,)",
        ),
        (
            lambda x: scratch.binary_cross_entropy(x, ["a", "b"]),
            "binary_cross_entropy: targets must be real numbers",
        ),
        (
            lambda x: scratch.binary_cross_entropy(x, [0.0, 1.5]),
            "binary_cross_entropy: targets must be between 0 and 1, got 1.5",
        ),
        (
            lambda x: scratch.binary_cross_entropy(x, [0.0, np.nan]),
            "binary_cross_entropy: targets must be between 0 and 1, got nan",
        ),
        (
            lambda x: scratch.mean_squared_error(Tensor([]), []),
            "mean_squared_error: predictions must hold at least one number, got none",
        ),
    ],
)
def test_wrong_arguments_are_named(call, sentence):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(Tensor([0.5, -0.5]))
    assert str(caught.value).startswith(sentence)
