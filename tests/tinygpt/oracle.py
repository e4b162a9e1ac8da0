"""What the engine's tests compare it with: PyTorch, and finite differences."""

import numpy as np
import torch
from hypothesis import settings
from tinygpt.scratch import Tensor

examples = settings(max_examples=12, deadline=None, derandomize=True)


def assert_agrees(ours, theirs, *arrays, value_tolerance=1e-5, gradient_tolerance=1e-4):
    """Values and gradients equal PyTorch's in float32, and finite differences in float64."""
    assert_equals_torch(ours, theirs, *arrays, value=value_tolerance, gradient=gradient_tolerance)
    assert_equals_finite_differences(ours, *arrays)


def assert_equals_torch(ours, theirs, *arrays, value=1e-5, gradient=1e-4):
    """`ours(*Tensors)` and `theirs(*torch tensors)` have the same value and gradients."""
    mine = [Tensor(array, requires_grad=True) for array in arrays]
    other = [torch.tensor(array, dtype=torch.float32, requires_grad=True) for array in arrays]
    result, expected = ours(*mine), theirs(*other)
    assert result.dtype == np.float32
    assert result.shape == tuple(expected.shape)
    np.testing.assert_allclose(result.data, expected.detach().numpy(), rtol=value, atol=value)
    upstream = np.random.default_rng(0).standard_normal(result.shape).astype(np.float32)
    result.backward(upstream)
    expected.backward(torch.tensor(upstream))
    for one, two in zip(mine, other, strict=True):
        assert one.grad.dtype == np.float32
        assert one.grad.shape == one.shape
        np.testing.assert_allclose(one.grad, two.grad.numpy(), rtol=gradient, atol=gradient)


def assert_equals_finite_differences(function, *arrays, step=1e-5, tolerance=1e-6):
    """In float64, the gradients predict what a small step in a random direction changes.

    (f(x + step d) - f(x - step d)) / (2 step) = the sum over all inputs of gradient · d
    """
    rng = np.random.default_rng(1)
    tensors = [Tensor(array, requires_grad=True, dtype=np.float64) for array in arrays]
    result = function(*tensors)
    assert result.dtype == np.float64
    upstream = rng.standard_normal(result.shape)
    result.backward(upstream)
    for _ in range(2):
        directions = [rng.standard_normal(tensor.shape) for tensor in tensors]
        ahead, behind = (
            (function(*_moved(tensors, directions, size)).data * upstream).sum()
            for size in (step, -step)
        )
        numeric = (ahead - behind) / (2 * step)
        predicted = sum((t.grad * d).sum() for t, d in zip(tensors, directions, strict=True))
        np.testing.assert_allclose(predicted, numeric, rtol=tolerance, atol=tolerance)


def _moved(tensors, directions, size):
    return [
        Tensor(tensor.data + size * direction, dtype=np.float64)
        for tensor, direction in zip(tensors, directions, strict=True)
    ]


def normal(seed: int, *shape: int) -> np.ndarray:
    """Return standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def load_into_torch(ours, theirs):
    """Copy the parameters of a scratch module into a PyTorch one by name, and return it."""
    state = {name: torch.tensor(array) for name, array in ours.state_dict().items()}
    theirs.load_state_dict(state)
    return theirs
