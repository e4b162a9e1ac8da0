"""Checks of what an estimate and a step leave as it was, with several optimisers."""

import copy

import numpy as np
import torch
from torch import nn

from tinygpt import data, models
from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.shakespeare.checks_training import NotingGPT
from tinygpt.lab.undisturbed import undisturbed

_OPTIMISERS = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
    "SGD with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
}


def test_drawn_estimate_loss(estimate_loss):
    """Any sizes and types; the whole corpus is drawn from; gradients stay, and the seed is 0."""
    for case in cases(
        1, 6, rows=range(1, 6), length=range(1, 9), batches=range(1, 7), training=(True, False),
        dtype=(np.uint8, np.int64),
    ):  # fmt: skip
        model = NotingGPT().train(case.training)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        ids = (np.arange(1000) % 10).astype(case.dtype)
        with undisturbed("estimate_loss", model=model, ids=ids):
            value = estimate_loss(model, ids, case.rows, case.length, case.batches, seed=4)
        shapes = {tuple(tokens.shape) for tokens in model.inputs}
        require(
            shapes == {(case.rows, case.length)} and len(model.inputs) == case.batches,
            f"The model should be given {case.batches} batches of shape "
            f"{(case.rows, case.length)}, got {len(model.inputs)} of {sorted(shapes)}",
        )
        mean = float(np.mean(model.losses))
        require(
            abs(value - mean) < 1e-4 * abs(mean),
            f"The estimate over {case.batches} batches should be their mean {shown(mean, 4)}, got "
            f"{shown(value, 4)}",
        )
    ids = np.repeat(np.arange(10), 100)  # so that a token tells the place that it comes from
    runs = []
    for seed in ({}, {"seed": 0}):
        model = NotingGPT()
        estimate_loss(model, ids, 16, 4, 8, **seed)
        runs.append(torch.stack(model.inputs))
    found = len(runs[0].unique())
    require(
        found == 10,
        "128 windows should come from everywhere in the corpus; they hold tokens of "
        f"{found} of its 10 parts",
    )
    require(torch.equal(*runs), "Without a seed the windows should be those of seed=0, got others")
    rng = np.random.default_rng(0)
    expected = [data.random_batch(ids, 16, 4, rng)[0] for _ in range(8)]
    require(
        np.array_equal(runs[0].numpy(), expected),
        "The windows should be drawn by data.random_batch with np.random.default_rng(seed), one "
        "generator for all batches; they are others",
    )


def test_steps_train_step(train_step):
    """Three steps are those of plain training with all at once, whatever the optimiser."""
    for case in cases(
        2, 4, optimiser=list(_OPTIMISERS), batches=range(1, 6), rows=range(1, 4),
        length=range(2, 8), clip=(0.05, 100.0),
    ):  # fmt: skip
        ours = models.GPT(10, 8, 1, 2, max_seq_len=8, dropout_prob=0.0, seed=1).train()
        theirs = copy.deepcopy(ours)
        steppers = [_OPTIMISERS[case.optimiser](model.parameters()) for model in (ours, theirs)]
        for step in range(3):
            torch.rand(1)  # so that seeding anew would show
            tokens = torch.tensor(case.integers(0, 10, case.batches, case.rows, case.length + 1))
            pairs = [(rows[:, :-1], rows[:, 1:]) for rows in tokens]
            with undisturbed("train_step", batches=pairs):
                value = train_step(ours, steppers[0], pairs, case.clip)
            steppers[1].zero_grad()
            loss = theirs.loss(tokens[..., :-1].flatten(0, 1), tokens[..., 1:].flatten(0, 1))
            loss.backward()
            nn.utils.clip_grad_norm_(theirs.parameters(), case.clip)
            steppers[1].step()
            what = f"With {case.optimiser}, {case.batches} batches and clip={case.clip:g}"
            require(
                abs(value - loss.item()) < 1e-4,
                f"{what} the loss of step {step} should be {shown(loss, 4)}, got {shown(value, 4)}",
            )
            away = max(
                float((mine - other).detach().abs().max())
                for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True)
            )
            require(
                away < 2e-3,
                f"{what} the weights after step {step} should be those of one step on all at "
                f"once, to 0.002; they differ by {away:.1e}",
            )
        kept = [
            {name for name, value in state.items() if value is not None}
            for state in steppers[1].state.values()
        ]
        found = [set(state) for state in steppers[0].state.values()]
        require(
            len(found) == len(kept) and all(a >= b for a, b in zip(found, kept, strict=True)),
            f"With {case.optimiser} the optimizer should keep what it remembers of the steps",
        )
        require(
            steppers[0].param_groups[0]["lr"] == steppers[1].param_groups[0]["lr"],
            "train_step should leave the settings of the optimizer as they were; it changed lr",
        )
