"""Generation: what is drawn, when it stops, and what it leaves as it was."""

import numpy as np
import pytest
import torch
from tinygpt.scratch import GPT
from torch.nn import functional as F


def small_gpt(**options) -> GPT:
    """A GPT of 2 layers, 16 wide, with 11 tokens and 8 positions."""
    return GPT(11, 16, 2, 4, 8, **{"dropout_prob": 0.0, "seed": 0, **options})


def some_tokens(*shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 11, shape)


def test_generate_continues_the_prompt():
    model, prompt = small_gpt(), some_tokens(2, 3)
    result = model.generate(prompt, max_new_tokens=4, seed=0)
    assert result.shape == (2, 7) and result.dtype.kind == "i"
    np.testing.assert_array_equal(result[:, :3], prompt)
    assert model.generate(prompt[0], 4).shape == (7,)
    assert model.generate([1, 2, 3], 4).shape == (7,)
    assert len(model.generate(some_tokens(0, 3), 4)) == 0
    np.testing.assert_array_equal(model.generate(prompt, 0), prompt)


def test_greedy_generation_takes_the_best_and_crops_to_the_context(without_type_checks):
    """Against a loop written out, well beyond max_seq_len."""
    model, tokens = small_gpt(), some_tokens(2, 3)
    result = model.generate(tokens, 20, temperature=0)
    for _ in range(20):
        best = model(tokens[:, -8:]).data[:, -1].argmax(-1)
        tokens = np.concatenate([tokens, best[:, None]], 1)
    np.testing.assert_array_equal(result, tokens)
    long = some_tokens(30)
    np.testing.assert_array_equal(
        model.generate(long, 5, temperature=0)[30:],
        model.generate(long[-8:], 5, temperature=0)[8:],
    )


def test_sampling_follows_softmax_of_logits_over_temperature():
    model = small_gpt()
    for parameter in model.parameters():
        parameter.data *= 20  # far from uniform
    prompt = np.array([3, 1])
    logits = torch.tensor(model(prompt).data[0, -1])
    for temperature in (0.5, 1.0, 3.0):
        drawn = model.generate(np.tile(prompt, (20_000, 1)), 1, temperature, seed=0)[:, -1]
        share = np.bincount(drawn, minlength=11) / 20_000
        expected = F.softmax(logits / temperature, -1).numpy()
        np.testing.assert_allclose(share, expected, atol=0.015)


def test_a_tiny_temperature_is_greedy_and_a_huge_one_uniform(without_type_checks):
    model, prompt = small_gpt(), some_tokens(4, 3)
    np.testing.assert_array_equal(
        model.generate(prompt, 5, 1e-300, seed=0), model.generate(prompt, 5, 0)
    )
    drawn = model.generate(np.tile(prompt[0], (11_000, 1)), 1, 1e300, seed=0)[:, -1]
    assert np.bincount(drawn, minlength=11).min() > 850


def test_generation_repeats_with_its_seed(without_type_checks):
    model, prompt = small_gpt(), some_tokens(2, 3)
    one, two, three = (model.generate(prompt, 30, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != three).any()


def test_generation_stops_at_the_stop_token(without_type_checks):
    model = small_gpt()
    free = model.generate([1, 2], 40, seed=0)
    stop = int(free[5])
    first = 2 + int(np.flatnonzero(free[2:] == stop)[0])
    np.testing.assert_array_equal(
        model.generate([1, 2], 40, stop_token=stop, seed=0), free[: first + 1]
    )
    batch = model.generate(some_tokens(5, 2), 200, stop_token=4, seed=0)
    ends = [2 + int(np.flatnonzero(row[2:] == 4)[0]) for row in batch]
    assert len(set(ends)) > 1 and batch.shape[1] == max(ends) + 1
    for row, end in zip(batch, ends, strict=True):
        assert (row[end:] == 4).all()
    with_stop_in_prompt = model.generate([4, 1], 3, stop_token=4, seed=0)
    assert len(with_stop_in_prompt) > 2


def test_generation_switches_dropout_off_and_training_back_on(monkeypatch, without_type_checks):
    model = small_gpt(dropout_prob=0.5)
    model.blocks[0].eval()  # a part that was frozen stays so
    np.testing.assert_array_equal(
        model.generate([1], 30, temperature=0), model.generate([1], 30, temperature=0)
    )
    assert model.training and not model.blocks[0].training and model.blocks[1].training

    def interrupted(x):
        raise KeyboardInterrupt

    monkeypatch.setattr(model.head, "forward", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.generate([1])
    assert model.training and not model.blocks[0].training


def test_generation_records_nothing():
    model, seen = small_gpt(), []
    forward = model.forward
    model.forward = lambda tokens: seen.append(forward(tokens)) or seen[-1]
    model.generate([1], 2)
    assert len(seen) == 2 and not any(logits.requires_grad for logits in seen)
