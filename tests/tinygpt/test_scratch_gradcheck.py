"""Finite differences, against derivatives known in closed form, PyTorch's and broken ones."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from oracle import examples, normal
from tinygpt.scratch import Tensor, layer_norm, softmax
from tinygpt.scratch.gradcheck import GradientError, check_gradients, numerical_gradient


@examples
@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.integers(0, 99))
def test_the_numerical_gradient_is_that_of_the_formula(shape, seed):
    x, c = normal(seed, *shape), normal(seed + 1, *shape)
    found = numerical_gradient(lambda x: (c * np.sin(x)).sum(), x)
    assert found.shape == shape and found.dtype == np.float64
    np.testing.assert_allclose(found, c * np.cos(x), atol=1e-9)


def test_it_agrees_with_torch():
    x = normal(3, 2, 3)
    theirs = torch.tensor(x, requires_grad=True)
    (theirs.softmax(-1) ** 2).sum().backward()
    found = numerical_gradient(lambda x: (torch.tensor(x).softmax(-1) ** 2).sum(), x)
    np.testing.assert_allclose(found, theirs.grad.numpy(), atol=1e-9)


def test_it_takes_two_calls_for_each_element_and_leaves_x_alone():
    calls = []
    x = np.arange(6.0).reshape(2, 3)
    numerical_gradient(lambda x: calls.append(x.copy()) or x.sum(), x, eps=0.5)
    assert len(calls) == 12
    assert all(np.abs(call - x).sum() == 0.5 for call in calls)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))


def test_central_differences_are_exact_for_a_square_and_quarter_their_error_for_a_cube():
    assert numerical_gradient(lambda x: x**2, np.array(3.0), eps=1.0) == 6.0
    errors = [numerical_gradient(lambda x: x**3, np.array(1.0), eps) - 3 for eps in (0.2, 0.1)]
    np.testing.assert_allclose(errors, [0.04, 0.01])


def test_right_gradients_pass():
    x, w, b = normal(0, 3, 4), normal(1, 4), normal(2, 4)
    assert 0 < check_gradients(layer_norm, x, w, b) < 1e-8
    assert check_gradients(lambda x, w: (x @ w).tanh().mean(), x, normal(3, 4, 2)) < 1e-8
    assert check_gradients(lambda x: x * 1.0, np.zeros((0, 3))) == 0.0


def scaled(factor):
    """x², with a gradient that is wrong by a factor."""
    return lambda x: Tensor.from_operation(
        x.data**2, (x,), lambda grad: x.accumulate(factor * 2 * x.data * grad)
    )


def test_a_wrong_gradient_is_named_with_its_place_and_both_numbers():
    assert check_gradients(scaled(1.0), [1.0, -2.0]) < 1e-8
    with pytest.raises(GradientError, match=r"input 0 at \[1\]: backward gives"):
        check_gradients(scaled(1.001), [0.0, -2.0])
    with pytest.raises(GradientError, match="backward gives nan"):
        check_gradients(scaled(np.nan), [1.0])


def test_an_input_that_backward_does_not_reach_counts_as_zero():
    assert check_gradients(lambda x, y: x + 0 * y.detach(), [1.0], [2.0]) < 1e-8
    with pytest.raises(GradientError, match="input 1 at .*: backward gives 0, central"):
        check_gradients(lambda x, y: x + y.detach(), [1.0], [2.0])


def test_errors_that_cancel_in_a_sum_are_found():
    """The sum of a softmax is 1, so the gradient of the sum is zero, and so is no gradient."""
    broken = lambda x: softmax(x).detach() + 0 * x  # noqa: E731
    with pytest.raises(GradientError):
        check_gradients(broken, normal(0, 5))


@pytest.mark.parametrize("eps", [0.0, -1e-5, np.inf, np.nan])
def test_a_nudge_must_be_a_positive_number(eps):
    with pytest.raises(ValueError, match="eps must be a finite number above 0"):
        numerical_gradient(np.sum, np.ones(2), eps)
    with pytest.raises(ValueError, match="tolerance must be a finite number above 0"):
        check_gradients(lambda x: x, [1.0], tolerance=eps)


def test_the_function_must_return_a_tensor():
    with pytest.raises(TypeError, match="the function's result must be a Tensor, got"):
        check_gradients(lambda x: x.data, [1.0])
