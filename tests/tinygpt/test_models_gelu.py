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


@pytest.mark.parametrize("exact", [False, True])
def test_derivatives_of_derivatives_are_pytorchs(exact):
    def third(function):
        x = torch.linspace(-5, 5, 41, requires_grad=True)
        found = function(x) * x  # so that what comes back to the GELU depends on x too
        for _ in range(3):
            (found,) = torch.autograd.grad(found.sum(), x, create_graph=True)
            yield found.detach()

    form = "none" if exact else "tanh"
    expected = third(lambda x: F.gelu(x, approximate=form))
    for ours, want in zip(third(lambda x: gelu(x, exact)), expected, strict=True):
        torch.testing.assert_close(ours, want, atol=2e-5, rtol=1e-5)


def test_second_derivatives_agree_with_finite_differences():
    x = torch.linspace(-4, 4, 33, requires_grad=True)
    (slope,) = torch.autograd.grad(gelu(x).square().sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    ahead, behind = (value_and_slope(lambda x: theirs(x).square(), x.detach().double() + s)[1]
                     for s in (1e-6, -1e-6))  # fmt: skip
    torch.testing.assert_close(bend, ((ahead - behind) / 2e-6).float(), atol=1e-4, rtol=1e-4)


TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(lambda x: f(x).sum())(x),
    "vmap": lambda f, x: torch.func.vmap(f)(x),
    "vmap of grad": lambda f, x: torch.func.vmap(torch.func.grad(f))(x),
    "grad of grad": lambda f, x: torch.func.vmap(torch.func.grad(torch.func.grad(f)))(x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x.cos(),))[1],
    "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "hessian": lambda f, x: torch.func.hessian(lambda x: (f(x) * x).sum())(x),
    "around a constant": lambda f, x: torch.func.vmap(lambda y: f(x).sum() * y)(x),
    "grad inside": lambda f, x: torch.autograd.functional.hvp(lambda x: f(x).sum(), x, x)[1],
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_functions_of_functions_are_pytorchs(transform):
    x = torch.linspace(-3, 3, 13)
    torch.testing.assert_close(transform(gelu, x), transform(theirs, x), atol=5e-6, rtol=1e-5)


def test_derivatives_taken_forwards_are_pytorchs():
    from torch.autograd import forward_ad

    x = torch.linspace(-3, 3, 13)
    with forward_ad.dual_level():
        ours, expected = (forward_ad.unpack_dual(f(forward_ad.make_dual(x, x.cos()))).tangent
                          for f in (gelu, theirs))  # fmt: skip
    torch.testing.assert_close(ours, expected, atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize("size", [12.0, 1e6, 1e13, 1e15, 1e19, 1e20, 1e30, 3.4e38])
def test_far_out_the_slope_is_1_or_0_and_bends_no_more(size):
    x = torch.tensor([-size, size], requires_grad=True)
    value = gelu(x)
    (slope,) = torch.autograd.grad(value.sum(), x, retain_graph=True)
    assert value.tolist() == [0.0, x[1].item()]
    assert slope.tolist() == [0.0, 1.0]
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    assert slope.tolist() == [0.0, 1.0] and bend.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", [None, 1.0, [1.0], torch.tensor([1, 2])])
def test_what_is_no_tensor_of_floats_is_named(without_type_checks, wrong):
    with pytest.raises(TypeError, match="^gelu: x must be a tensor of floats, got "):
        gelu(wrong)
    with pytest.raises(TypeError, match="^gelu: exact must be a bool, got str 'yes'"):
        gelu(torch.ones(2), "yes")


def test_views_and_empty_tensors():
    x = torch.randn(6, 4)[::2].mT.requires_grad_()
    for ours, want in zip(value_and_slope(gelu, x), value_and_slope(theirs, x), strict=True):
        torch.testing.assert_close(ours, want, atol=5e-6, rtol=1e-6)
    assert gelu(torch.empty(0, 3)).shape == (0, 3)
