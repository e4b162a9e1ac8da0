"""The GELU of the PyTorch models against PyTorch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygpt.models import GPT, gelu
from torch.nn import functional as F


def value_and_slope(function, x):
    x = x.clone().requires_grad_()
    value = function(x)
    (slope,) = torch.autograd.grad(value.sum(), x)
    return value.detach(), slope


def theirs(x):
    return F.gelu(x, approximate="tanh")


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8))
def test_values_and_slopes_are_pytorchs(numbers):
    x = torch.tensor(numbers, dtype=torch.float32)
    exact = value_and_slope(theirs, x.double())
    for ours, want in zip(value_and_slope(gelu, x), exact, strict=True):
        torch.testing.assert_close(ours, want.float(), atol=5e-6, rtol=1e-6)


def test_every_place_between_the_tails():
    x = torch.linspace(-12, 12, 10_001)
    exact = value_and_slope(theirs, x.double())
    for ours, want in zip(value_and_slope(gelu, x), exact, strict=True):
        torch.testing.assert_close(ours, want.float(), atol=5e-6, rtol=0)


def test_the_input_is_left_as_it_was():
    x = torch.randn(5, 3, requires_grad=True)
    before = x.detach().clone()
    gelu(x).square().sum().backward()
    assert torch.equal(x, before)
    with torch.no_grad():
        assert torch.equal(gelu(x), gelu(x.detach().requires_grad_()))
    assert torch.equal(x, before)


def test_the_exact_form_is_x_times_the_normal_distribution():
    from statistics import NormalDist

    x = torch.linspace(-6, 6, 401, requires_grad=True)
    value = gelu(x, exact=True)
    (slope,) = torch.autograd.grad(value.sum(), x)
    normal = NormalDist()
    for at, y, dy in zip(x.tolist(), value.tolist(), slope.tolist(), strict=True):
        assert abs(y - at * normal.cdf(at)) < 2e-6
        assert abs(dy - (normal.cdf(at) + at * normal.pdf(at))) < 2e-6
    assert (gelu(x) - value).abs().max() > 1e-4  # it is the other form


@pytest.mark.parametrize("exact", [True, False])
def test_the_models_take_the_form_that_they_are_asked_for(exact):
    model = GPT(7, 8, 1, 2, 4, dropout_prob=0.0, exact_gelu=exact)
    mlp, x = model.blocks[0].mlp, 100 * torch.randn(50, 8)
    expected = mlp.fc2(F.gelu(mlp.fc1(x), approximate="none" if exact else "tanh"))
    torch.testing.assert_close(mlp(x), expected, atol=5e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_kinds_of_numbers_take_pytorchs_kernel(dtype):
    x = torch.randn(100, dtype=dtype)
    assert torch.equal(gelu(x), theirs(x))
    assert gelu(x).dtype == dtype


def test_views_and_empty_tensors():
    x = torch.randn(6, 4)[::2].mT.requires_grad_()
    for ours, want in zip(value_and_slope(gelu, x), value_and_slope(theirs, x), strict=True):
        torch.testing.assert_close(ours, want, atol=5e-6, rtol=1e-6)
    assert gelu(torch.empty(0, 3)).shape == (0, 3)
