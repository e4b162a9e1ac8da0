"""What checks share: that an answer leaves things alone, and inputs drawn from a seed."""

import random
import sys

import numpy as np
import pytest
import torch
from tinygpt import models, scratch
from tinygpt.lab import measures_torch
from tinygpt.lab.definitions import CheckFailed
from tinygpt.lab.drawing import MASKS, cases
from tinygpt.lab.measures import close, shown
from tinygpt.lab.undisturbed import undisturbed

MODEL = scratch.GPT(5, 4, 1, 1, max_seq_len=4, seed=0)
TORCH_MODEL = models.GPT(5, 4, 1, 1, max_seq_len=4)


def _stepped():
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    weight.grad = torch.ones(2)
    optimizer.step()
    return optimizer


def _engine_stepped():
    weight = scratch.Tensor([1.0], requires_grad=True)
    weight.grad = np.ones(1, dtype=np.float32)
    optimizer = scratch.AdamW([weight])
    optimizer.step()
    return optimizer


DISTURBED = {
    "array": (np.ones(3), lambda x: x.__imul__(2), "its thing as it was; it changed it"),
    "view's length": (np.ones(3), lambda x: x.resize(2, refcheck=False), "it changed it"),
    "list": ([1, 2], lambda x: x.append(3), "it changed the length"),
    "item of a list": ([np.ones(2)], lambda x: x[0].__imul__(2), "it changed it"),
    "order of a list": ([1, 2], lambda x: x.reverse(), "it changed it"),
    "dictionary": ({"a": 1}, lambda x: x.update(b=2), "it changed the keys"),
    "nested": ({"a": [[1]]}, lambda x: x["a"][0].append(2), "it changed it"),
    "Tensor": (scratch.Tensor([1.0]), lambda x: x.data.__imul__(2), "it changed it"),
    "gradient": (
        scratch.Tensor([1.0], requires_grad=True),
        lambda x: (x * 2).sum().backward(),
        "it changed the gradient",
    ),
    "torch tensor": (torch.ones(2), lambda x: x.mul_(2), "it changed it"),
    "torch bool": (torch.ones(2, dtype=torch.bool), lambda x: x.zero_(), "it changed it"),
    "parameter": (MODEL, lambda m: m.head.weight.data.__imul__(2), "it changed head.weight"),
    "mode": (MODEL, lambda m: m.train(not m.training), "it changed the mode"),
    "torch parameter": (
        TORCH_MODEL,
        lambda m: m.head.weight.data.mul_(2),
        "it changed head.weight",
    ),
    "torch mode": (TORCH_MODEL, lambda m: m.blocks[0].train(not m.training), "the mode of blocks."),
    "torch gradient": (
        TORCH_MODEL,
        lambda m: m(torch.tensor([[1]])).sum().backward(),
        "it changed the gradient of",
    ),
    "frozen": (TORCH_MODEL, lambda m: m.head.weight.requires_grad_(False), "requires_grad of"),
    "optimiser": (_stepped(), lambda o: o.state.clear(), "it changed the state"),
    "optimiser's rate": (_stepped(), lambda o: o.param_groups[0].update(lr=9), "the state"),
    "engine's optimiser": (_engine_stepped(), lambda o: setattr(o, "lr", 9.0), "it changed it"),
}


@pytest.mark.parametrize("kind", DISTURBED)
def test_change_of_an_argument_is_found_and_named(kind):
    thing, change, said = DISTURBED[kind]
    with undisturbed("f", thing=thing):
        pass
    with pytest.raises(CheckFailed) as failure, undisturbed("f", draws=True, thing=thing):
        change(thing)
    assert str(failure.value).startswith("f should leave its thing as it was; ")
    assert said in str(failure.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: np.random.rand(), "draws from them or seeds them"),
        (lambda: random.random(), "draws from them or seeds them"),
        (lambda: torch.rand(1), "draws from them or seeds them"),
        (lambda: torch.set_default_dtype(torch.float64), "default dtype as it was; it set it to"),
        (
            lambda: torch.set_grad_enabled(False),
            "recording of graphs as it was; it switched it off",
        ),
        (lambda: scratch.graph.recording.set(False), "graphs on, as it was; it is off"),
    ],
)
def test_change_of_what_is_shared_is_found(change, said, monkeypatch):
    monkeypatch.delitem(sys.modules, "beartype", raising=False)
    kept = np.random.get_state(), random.getstate(), torch.get_rng_state()
    try:
        with pytest.raises(CheckFailed, match=said), undisturbed("f"):
            change()
    finally:
        np.random.set_state(kept[0])
        random.setstate(kept[1])
        torch.set_rng_state(kept[2])
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
    assert scratch.graph.recording.get()


def test_drawing_may_be_allowed_and_seeding_is_not():
    kept = torch.get_rng_state()
    try:
        with undisturbed("f", draws=True):
            torch.rand(3)
        with pytest.raises(CheckFailed, match="it seeds them"), undisturbed("f", draws=True):
            torch.manual_seed(torch.initial_seed() + 1)
    finally:
        torch.set_rng_state(kept)


def test_nothing_is_wrong_with_an_error_of_the_answers_own():
    with pytest.raises(KeyError), undisturbed("f", thing=[1]):
        raise KeyError


def test_a_drawn_array_without_axes_is_an_array():
    [case] = cases(0, 1)
    for drawn in (case.numbers(), case.integers(0, 5)):
        assert isinstance(drawn, np.ndarray) and drawn.shape == ()


def test_cases_are_the_same_for_a_seed_and_reach_every_choice():
    choices = {"length": range(1, 6), "dtype": ("a", "b"), "one": (7,)}
    first, again = (list(cases(3, 9, **choices)) for _ in range(2))
    assert [str(case) for case in first] == [str(case) for case in again]
    assert np.array_equal(first[4].numbers(2, 3), again[4].numbers(2, 3))
    assert not np.array_equal(first[4].numbers(2, 3), first[5].numbers(2, 3))
    assert {case.length for case in first[:5]} == {1, 2, 3, 4, 5}
    assert {case.length for case in first[:2]} == {1, 5}
    assert {case.dtype for case in first[:2]} == {"a", "b"}
    other = [str(case) for case in cases(4, 9, **choices)]
    assert other != [str(case) for case in first]


def test_drawn_arrays_have_the_type_and_size_asked_for():
    [case] = cases(0, 1)
    large = case.numbers(100, dtype=np.float32, size=500.0, offset=-1000.0)
    assert large.dtype == np.float32 and -1100 < large.mean() < -900 and large.std() > 300
    ids = case.integers(3, 6, 50, dtype=np.uint8)
    assert ids.dtype == np.uint8 and set(ids.tolist()) == {3, 4, 5}


@pytest.mark.parametrize("kind", MASKS)
def test_masks_leave_what_their_kind_says(kind):
    for case in cases(1, 20, shape=((3, 4), (2, 5, 5), (2, 3, 4, 6))):
        mask = case.mask(*case.shape, kind=kind)
        assert mask.shape == case.shape and mask.dtype == bool
        assert mask.any(axis=-1).all() == (kind != "empty")
        if kind == "causal":
            assert not np.triu(mask, 1).any() and mask[..., -1, : case.shape[-2]].all()
    with pytest.raises(ValueError, match="kind must be one of"):
        case.mask(2, 2, kind="none")


def test_narrowed_shapes_broadcast_to_the_whole():
    found = {case.narrowed(2, 3, 4, 5) for case in cases(2, 60)}
    assert all(np.broadcast_shapes(shape, (2, 3, 4, 5)) == (2, 3, 4, 5) for shape in found)
    assert {(4, 5), (2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 4, 5), (3, 4, 5)} <= found


@pytest.mark.parametrize(
    ("value", "beside", "expected"),
    [
        (0.0012, 0.001, "0.0012"),
        (0.004, 0.001, "0.004"),
        (0.00101, 0.001, "0.00101"),
        (0.000012, 1e-5, "0.000012"),
        (2.004, 2.0, "2.004"),
        (-1e-9, 0.0, "-0.000000001"),
        (3.14159, 0.001, "3.14"),
        (2.0, 2.0, "2.00"),
        (float("nan"), 0.001, "nan"),
        (float("inf"), 0.001, "inf"),
    ],
)
def test_a_number_is_shown_with_digits_enough_to_differ(value, beside, expected):
    assert shown(value, beside=beside) == expected


def test_a_comparison_that_fails_shows_that_it_does():
    with pytest.raises(CheckFailed, match="should be below 0.001, got 0.0012"):
        close("It", np.array([0.0012]), np.array([0.0]), 0.001)
    with pytest.raises(CheckFailed, match="should be below 0.001, got 0.00101"):
        measures_torch.close("It", torch.tensor([0.00101]), torch.tensor([0.0]), 0.001)
