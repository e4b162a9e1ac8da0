"""Checks of what works on a model: the estimate of its loss, and one step of training."""

import numpy as np
import torch
from torch.nn import functional as F

from tinygpt import models
from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown

_IDS = np.arange(500) % 10  # after 9 comes 0, so a token's target is known


class NotingGPT(models.GPT):
    """A GPT that notes in which state it is called, and what its loss was."""

    def __init__(self):
        super().__init__(10, 8, 1, 2, max_seq_len=8, dropout_prob=0.5, seed=0)
        self.head.weight.data *= 50  # so that the batches' losses differ
        self.inputs, self.losses, self.modes, self.recorded = [], [], [], []

    def forward(self, tokens):
        logits = super().forward(tokens)
        self.inputs.append(tokens.detach().clone())
        self.modes.append(self.training or self.dropout.training)
        self.recorded.append(torch.is_grad_enabled())
        with torch.no_grad():
            targets = (tokens + 1) % 10
            loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten())
        self.losses.append(loss.item())
        return logits


def test_unit_estimate_loss(estimate_loss):
    """The mean over the batches, with dropout off and no graph."""
    model = NotingGPT()
    value = estimate_loss(model, _IDS, 4, 8, 5)
    kind = kind_of(value)
    require(isinstance(value, (float, np.floating)), f"estimate_loss should be a float, got {kind}")
    calls = len(model.inputs)
    require(calls == 5, f"With batches=5 the model should be asked 5 times, got {calls}")
    shape = tuple(model.inputs[0].shape)
    require(shape == (4, 8), f"The model should be given batches of shape (4, 8), got {shape}")
    require(
        not any(model.modes), "The model should be in eval mode while it is measured; it trained"
    )
    require(
        not any(model.recorded),
        "The loss should be measured inside torch.no_grad(); the model's graph was recorded",
    )
    require(
        not torch.equal(model.inputs[0], model.inputs[1]),
        "Each batch should be drawn anew, got the same one 5 times",
    )
    ratio = value / np.mean(model.losses)
    require(
        abs(ratio - 1) < 1e-4,
        f"The estimate should be the mean of the 5 losses, got {shown(ratio)} times the mean",
    )


def test_mode_estimate_loss(estimate_loss):
    """The model is afterwards in the mode in which it was before, and so is chance."""
    for training, before, other in [
        (True, "training", "in eval mode"),
        (False, "in eval mode", "training"),
    ]:
        model = NotingGPT().train(training)
        torchs, numpys = torch.get_rng_state(), np.random.get_state()[1].copy()
        estimate_loss(model, _IDS, 2, 8, 2, seed=11 + training)  # not the seed of a call before
        undisturbed = {
            "PyTorch's": torch.equal(torch.get_rng_state(), torchs),
            "NumPy's": np.array_equal(np.random.get_state()[1], numpys),
        }
        require(
            all(part.training == training for part in model.modules()),
            f"The model was {before} before; it should be again, and is {other}",
        )
        for whose, same in undisturbed.items():
            require(
                same,
                f"Measuring should leave {whose} shared random numbers as they were; it moved them",
            )
    require(torch.is_grad_enabled(), "Graphs should be recorded again afterwards; they are not")


def test_seed_estimate_loss(estimate_loss):
    """The same seed gives the same windows, another seed gives others."""
    seen = []
    for seed in (3, 3, 4):
        model = NotingGPT()
        estimate_loss(model, _IDS, 2, 8, 3, seed=seed)
        seen.append(torch.cat(model.inputs))
    require(torch.equal(seen[0], seen[1]), "The same seed should give the same windows, got others")
    require(
        not torch.equal(seen[0], seen[2]), "Another seed should give other windows, got the same"
    )


class _NotingSGD(torch.optim.SGD):
    """Plain gradient descent that notes the gradient of each step, that of a closure too."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr)
        self.gradients = []

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = self.param_groups[0]["params"]
        missing = sum(parameter.grad is None for parameter in parameters)
        require(
            not missing,
            f"At optimizer.step() each of the {len(parameters)} parameters should have a "
            f"gradient; {missing} have none",
        )
        self.gradients.append(torch.cat([parameter.grad.flatten() for parameter in parameters]))
        super().step()
        return loss


class _TracedGPT(models.GPT):
    """A GPT that notes each forward with its shape and mode, and each backward."""

    def __init__(self):
        super().__init__(10, 8, 1, 2, max_seq_len=8, dropout_prob=0.0, seed=0)
        self.events, self.shapes, self.modes = "", [], []

    def forward(self, tokens):
        logits = super().forward(tokens)
        self.events += "f"
        self.shapes.append(tuple(tokens.shape))
        self.modes.append(self.training and self.dropout.training)
        if logits.requires_grad:
            logits.register_hook(self._note_backward)
        return logits

    def _note_backward(self, gradient):
        self.events += "b"


def _setting(lr, batches=4):
    model = _TracedGPT()
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(10, (batches, 2, 9), generator=generator)
    pairs = [(rows[:, :-1], rows[:, 1:]) for rows in tokens]
    model.loss(tokens[:, :, :-1].flatten(0, 1), tokens[:, :, 1:].flatten(0, 1)).backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    model.events, model.shapes, model.modes = "", [], []
    return model, _NotingSGD(list(model.parameters()), lr), pairs, expected


def test_unit_train_step(train_step):
    """One step, with the mean gradient of all batches."""
    model, optimizer, pairs, expected = _setting(lr=0.1)
    train_step(model, optimizer, pairs, 10.0)
    steps = len(optimizer.gradients)
    require(steps == 1, f"4 small batches should make one step of the optimizer, got {steps}")
    _is_mean(optimizer.gradients[0], expected, "The gradient should be the mean over 4 batches")


def test_memory_train_step(train_step):
    """One small batch at a time is in memory, and the model stays in training mode."""
    model, optimizer, pairs, _ = _setting(lr=0.1)
    train_step(model, optimizer, pairs, 10.0)
    other = [shape for shape in model.shapes if shape != (2, 8)]
    require(
        not other,
        f"The model should be given one small batch of shape (2, 8) at a time, got {other[:1]}",
    )
    before = model.events.split("b", 1)[0].count("f")
    require(
        before == 1,
        "Each small batch should have its backward before the next one is asked for; the first "
        f"backward came after {before} of them",
    )
    require(
        all(model.modes),
        "The model should be in training mode while it trains; it was in eval mode",
    )
    require(
        all(part.training for part in model.modules()),
        "The model should still be in training mode after the step; it is in eval mode",
    )


def test_again_train_step(train_step):
    """A second step starts from no gradient."""
    model, optimizer, pairs, expected = _setting(lr=0.0)
    train_step(model, optimizer, pairs, 1e9)
    train_step(model, optimizer, pairs, 1e9)
    what = "A second step with the same batches and weights should have the same gradient"
    _is_mean(optimizer.gradients[1], expected, what)


def test_clip_train_step(train_step):
    """A long gradient is shortened as a whole, a short one is left alone."""
    model, optimizer, pairs, expected = _setting(lr=0.1)
    train_step(model, optimizer, pairs, 0.001)
    length = float(optimizer.gradients[0].norm())
    require(
        abs(length - 0.001) < 1e-5,
        f"With clip=0.001 the step should have a gradient of length 0.001, got {length:.2g}",
    )
    found = optimizer.gradients[0] / 0.001
    away = float((found - expected / expected.norm()).abs().max())
    require(
        away < 1e-3,
        "Clipping should keep the direction of the mean gradient; this one points elsewhere",
    )


def test_loss_train_step(train_step):
    """The returned number is the mean loss before the step."""
    model, optimizer, pairs, _ = _setting(lr=0.1)
    model.head.weight.data *= 50
    losses = [model.loss(*pair).item() for pair in pairs]
    value = train_step(model, optimizer, pairs, 1.0)
    kind = kind_of(value)
    require(isinstance(value, (float, np.floating)), f"train_step should be a float, got {kind}")
    require(
        abs(value - np.mean(losses)) < 1e-4,
        f"The losses of the 4 batches have the mean {shown(np.mean(losses))}, got {shown(value)}",
    )


def _is_mean(found, expected, what):
    ratio = float(found @ expected / (expected @ expected))
    same_direction = float((found - ratio * expected).norm() / found.norm().clamp(min=1e-12))
    require(same_direction < 1e-2, f"{what}; this one points elsewhere")
    require(abs(ratio - 1) < 1e-2, f"{what}, got {shown(ratio)} times it")
