"""Optimisers, clipping and schedule against PyTorch's."""

import math

import numpy as np
import pytest
import torch
from oracle import normal
from tinygpt.scratch import GPT, SGD, Adam, AdamW, CosineSchedule, Tensor, clip_grad_norm

SHAPES = [(3, 4), (4,), (1,), (2, 1, 3)]


def both(dtype=np.float32):
    """Return the same parameters for the engine and for PyTorch."""
    arrays = [normal(i, *shape).astype(dtype) for i, shape in enumerate(SHAPES)]
    return (
        [Tensor(a, requires_grad=True, dtype=dtype) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )


def set_gradients(ours, theirs, step):
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        grad = normal(100 * step + i, *mine.shape).astype(mine.dtype) * 10.0 ** (i - 2)
        mine.grad, other.grad = grad, torch.tensor(grad)


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (SGD, torch.optim.SGD, {"lr": 0.1}),
        (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (Adam, torch.optim.Adam, {}),
        (Adam, torch.optim.Adam, {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-3}),
        (AdamW, torch.optim.AdamW, {}),
        (AdamW, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.0}),
        (AdamW, torch.optim.AdamW, {"betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.3}),
    ],
)
def test_twenty_steps_equal_pytorchs(ours, theirs, options):
    mine, other = both()
    optimizer, rival = ours(mine, **options), theirs(other, **options)
    for step in range(20):
        set_gradients(mine, other, step)
        rate = 0.01 * (step + 1)  # the rate may change at every step
        optimizer.lr = rival.param_groups[0]["lr"] = rate
        optimizer.step()
        rival.step()
    for one, two in zip(mine, other, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one.data, two.detach(), rtol=1e-5, atol=1e-5)


def test_in_float64_they_agree_to_twelve_digits():
    mine, other = both(np.float64)
    optimizer, rival = AdamW(mine), torch.optim.AdamW(other)
    for step in range(20):
        set_gradients(mine, other, step)
        optimizer.step()
        rival.step()
    for one, two in zip(mine, other, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_allclose(one.data, two.detach(), rtol=1e-12)


@pytest.mark.parametrize("make", [SGD, Adam, AdamW])
def test_a_parameter_without_gradient_is_left_alone(make):
    used, unused = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    optimizer = make([used, unused], lr=0.1)
    used.grad = np.ones(1, dtype=np.float32)
    optimizer.step()
    assert used.data[0] != 1 and unused.data[0] == 1
    optimizer.zero_grad()
    assert used.grad is None


def test_weight_decay_does_not_pass_through_the_gradient():
    x = Tensor([2.0], requires_grad=True)
    x.grad = np.zeros(1, dtype=np.float32)
    AdamW([x], lr=0.1, weight_decay=0.5).step()
    assert x.data[0] == pytest.approx(2 * (1 - 0.1 * 0.5))


def test_a_tied_parameter_is_listed_and_stepped_once():
    model = GPT(5, 4, 1, 1, 4, dropout_prob=0.0, tie_weights=True, seed=0)
    tied = model.head.weight
    before = tied.data.copy()
    tied.grad = np.ones_like(before)
    SGD(model.parameters(), lr=0.25).step()
    np.testing.assert_array_equal(tied.data, before - np.float32(0.25))


@pytest.mark.parametrize("max_norm", [0.1, 1.0, 1e6, 0.0])
def test_clipping_equals_pytorchs(max_norm):
    mine, other = both()
    set_gradients(mine, other, 0)
    norm = clip_grad_norm(mine, max_norm)
    assert norm == pytest.approx(torch.nn.utils.clip_grad_norm_(other, max_norm).item(), rel=1e-5)
    for one, two in zip(mine, other, strict=True):
        assert one.grad.dtype == np.float32
        np.testing.assert_allclose(one.grad, two.grad, rtol=1e-4, atol=1e-6)
    assert clip_grad_norm([Tensor([1.0], requires_grad=True)], 1.0) == 0.0


def test_the_schedule_warms_up_in_a_line_and_falls_along_a_cosine():
    schedule = CosineSchedule(0.4, 100, warmup_steps=4, min_lr=0.1)
    np.testing.assert_allclose([schedule(step) for step in range(5)], [0.1, 0.2, 0.3, 0.4, 0.4])
    assert schedule(52) == pytest.approx(0.25)  # half way down
    rates = [schedule(step) for step in range(4, 130)]
    assert rates == sorted(rates, reverse=True)
    assert schedule(100) == schedule(1000) == pytest.approx(0.1)


def test_without_warm_up_it_is_pytorchs_cosine():
    schedule = CosineSchedule(0.4, 50, min_lr=0.1)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50, eta_min=0.1)
    for step in range(51):
        assert schedule(step) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-9)
        optimizer.step()
        theirs.step()


def test_a_schedule_of_warm_up_alone():
    schedule = CosineSchedule(1.0, 4, warmup_steps=4)
    assert [schedule(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert math.isfinite(schedule(4))


def test_adam_names_itself_in_its_errors():
    with pytest.raises(ValueError, match="^Adam: lr must be a finite number, 0 or more, got -1"):
        Adam([Tensor([1.0], requires_grad=True)], lr=-1)
