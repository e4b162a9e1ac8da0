"""A network for labelled examples, its batches and its loop, against PyTorch's."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import examples, normal
from tinygpt import data
from tinygpt.scratch import (
    SGD,
    AdamW,
    CosineSchedule,
    Embedding,
    FeedForward,
    LayerNorm,
    Linear,
    Module,
    ReLU,
    Sequential,
    Tensor,
    accuracy,
    cross_entropy,
    evaluate,
    fit,
    he_weights,
    initialise,
    manual_seed,
    minibatches,
)

INPUTS = normal(0, 23, 2, 3).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, 4, 23)


def network(dropout=0.0):
    manual_seed(0)
    return FeedForward((6, 5, 4), ReLU, dropout)


@given(st.integers(1, 30), st.integers(1, 12))
@examples
def test_batches_hold_each_example_once_with_its_label(count, size):
    inputs = np.arange(count, dtype=np.float32)[:, None]
    labels = np.arange(count) * 2
    batches = list(minibatches(inputs, labels, size, np.random.default_rng(0)))
    assert [len(y) for _, y in batches[:-1]] == [size] * (len(batches) - 1)
    assert 1 <= len(batches[-1][1]) <= size
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    np.testing.assert_array_equal(2 * x[:, 0], y)
    assert sorted(y) == sorted(labels)


def test_the_order_is_new_for_every_pass():
    rng = np.random.default_rng(0)
    first, second = (
        np.concatenate([y for _, y in minibatches(INPUTS, np.arange(23), 5, rng)]) for _ in range(2)
    )
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(23))


@pytest.mark.parametrize("batch_size", [1, 4, 23, 512])
def test_evaluate_is_the_mean_over_examples_whatever_the_batch(batch_size):
    model = network(dropout=0.5)
    scores = model.eval()(Tensor(INPUTS)).data
    loss, share = evaluate(model.train(), INPUTS, LABELS, batch_size)
    expected = torch.nn.functional.cross_entropy(torch.tensor(scores), torch.tensor(LABELS))
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    assert share == np.mean(scores.argmax(axis=-1) == LABELS) == accuracy(model, INPUTS, LABELS)


def test_evaluate_leaves_modes_and_gradients_alone():
    model = network(dropout=0.5).train()
    evaluate(model, INPUTS, LABELS)
    assert all(part.training for _, part in model.modules())
    assert all(p.grad is None for p in model.parameters())
    model.dropout.eval()
    evaluate(model, INPUTS, LABELS)
    assert model.training and not model.dropout.training


def test_an_epoch_equals_pytorchs():
    model = network()
    theirs = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 4))
    with torch.no_grad():
        for mine, other in zip(model.parameters(), theirs.parameters(), strict=True):
            other.copy_(torch.tensor(mine.data))
    schedule = CosineSchedule(0.1, 10)
    history = fit(
        model, (INPUTS, LABELS), (INPUTS, LABELS), AdamW(model.parameters()), 2, 8, schedule, seed=3
    )
    optimizer, rng = torch.optim.AdamW(theirs.parameters()), np.random.default_rng(3)
    step, losses = 0, []
    for _ in range(2):
        total = 0.0
        for x, y in minibatches(INPUTS, LABELS, 8, rng):
            loss = torch.nn.functional.cross_entropy(
                theirs(torch.tensor(x.reshape(len(x), -1))), torch.tensor(y)
            )
            optimizer.param_groups[0]["lr"] = schedule(step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            total += loss.item() * len(y)
        losses.append(total / len(LABELS))
    np.testing.assert_allclose([epoch.train_loss for epoch in history], losses, rtol=1e-4)
    for mine, other in zip(model.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.data, other.detach(), atol=1e-4)
    assert history[-1][1:] == evaluate(model, INPUTS, LABELS)
    assert model.training


@pytest.mark.slow
def test_the_digits_are_learnt_as_well_as_by_a_linear_classifier_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    train, validation, _ = data.load_digits()
    flat = lambda images: images.reshape(len(images), -1)  # noqa: E731
    linear = LogisticRegression(max_iter=500).fit(flat(train.images), train.labels)
    manual_seed(0)
    model = FeedForward((64, 64, 10))
    history = fit(model, train, validation, AdamW(model.parameters(), lr=3e-3), 15)
    share = history[-1].validation_accuracy
    assert share >= linear.score(flat(validation.images), validation.labels) - 0.01
    assert share > 0.95


@given(st.integers(50, 400), st.floats(0.1, 3))
@examples
def test_weights_have_the_spread_that_keeps_the_mean_square(inputs, gain):
    weights = he_weights(inputs, 300, gain, rng=np.random.default_rng(0))
    assert weights.shape == (300, inputs) and weights.dtype == np.float32
    assert weights.std() == pytest.approx(gain / math.sqrt(inputs), rel=0.03)


def test_he_weights_have_the_spread_of_pytorchs():
    theirs = torch.empty(400, 300)
    torch.nn.init.kaiming_normal_(theirs, nonlinearity="relu")
    ours = he_weights(300, 400, rng=np.random.default_rng(0))
    assert ours.std() == pytest.approx(theirs.std().item(), rel=0.02)


def test_a_signal_keeps_its_mean_square_through_twenty_layers():
    layers = [part for _ in range(20) for part in (Linear(256, 256), ReLU())]
    stack = initialise(Sequential(*layers))
    x = Tensor(normal(0, 64, 256))
    assert 0.3 < (stack(x).data ** 2).mean() < 3


def test_initialise_changes_weights_and_biases_of_maps_and_nothing_else():
    class Mixed(Module):
        def __init__(self):
            self.table, self.norm, self.map = Embedding(5, 4), LayerNorm(4), Linear(4, 300)
            self.bare = Linear(4, 2, bias=False)

    model = Mixed()
    before = model.state_dict()
    assert initialise(model, gain=1.0, seed=5) is model
    for name, after in model.state_dict().items():
        same = np.array_equal(after, before[name])
        assert same == name.startswith(("table", "norm")), name
    assert not model.map.bias.data.any()
    assert model.map.weight.data.std() == pytest.approx(0.5, rel=0.1)


def test_a_kernel_counts_what_one_output_sums():
    class Kernel(Module):
        def __init__(self):
            self.weight = Tensor(np.zeros((200, 3, 5, 5)), requires_grad=True)

    kernel = initialise(Kernel(), gain=1.0)
    assert kernel.weight.data.std() == pytest.approx(1 / math.sqrt(75), rel=0.03)


def test_two_sizes_make_a_linear_classifier():
    model = FeedForward([6, 4])
    expected = INPUTS.reshape(23, 6) @ model.linears[0].weight.data.T + model.linears[0].bias.data
    np.testing.assert_allclose(model(Tensor(INPUTS)).data, expected, rtol=1e-5)
    loss = cross_entropy(model(Tensor(INPUTS)), LABELS)
    loss.backward()
    assert model.linears[0].weight.grad.shape == (4, 6)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeedForward((6,)), "FeedForward: sizes must be at least two numbers, the length"),
        (lambda: FeedForward((6, 0)), "Linear: out_features must be a positive integer, got 0"),
        (
            lambda: minibatches(INPUTS, LABELS[:9], 4, np.random.default_rng(0)),
            r"minibatches: labels must hold one class for each of the inputs, got inputs of shape "
            r"\(23, 2, 3\) and labels of shape \(9,\)",
        ),
        (
            lambda: minibatches(INPUTS, LABELS, 0, np.random.default_rng(0)),
            "minibatches: batch_size must be a positive integer, got 0",
        ),
        (
            lambda: minibatches(INPUTS, LABELS, 4, 0),
            "minibatches: rng must be a Generator, got int 0",
        ),
        (lambda: evaluate(network(), INPUTS, LABELS * 1.0), "evaluate: labels must be integers"),
        (
            lambda: fit(network(), (INPUTS, LABELS), (INPUTS, LABELS), SGD([Tensor(1.0)]), 0),
            "fit: epochs must be a positive integer, got 0",
        ),
        (lambda: he_weights(0, 1, rng=None), "he_weights: in_features must be a positive integer"),
        (
            lambda: he_weights(1, 1, -1.0, rng=None),
            "he_weights: gain must be a finite number, 0 or more, got -1.0",
        ),
        (lambda: initialise(Tensor(1.0)), "initialise: module must be a Module, got Tensor"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
