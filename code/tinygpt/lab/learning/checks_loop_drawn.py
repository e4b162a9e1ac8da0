"""Checks of batches and of the loop on data drawn at random, and on how often things happen."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import SGD, Linear, Module, Tensor, cross_entropy

# ---- batches ------------------------------------------------------------------------------------


def test_drawn_minibatches(minibatches):
    """Data of any shape and type: the batches hold its rows as they are."""
    kinds = (np.float64, np.float16, np.float32)
    for case in cases(24, 8, examples=range(1, 24), size=range(1, 9), axes=range(3), kind=kinds):
        shape = (case.examples, *(int(n) for n in case.rng.integers(1, 4, case.axes)))
        inputs = case.numbers(*shape, size=50.0).astype(case.kind)
        labels = case.rng.permutation(case.examples).astype(np.int8)  # says which row it was
        with undisturbed("minibatches", inputs=inputs, labels=labels):
            batches = list(minibatches(inputs, labels, case.size, np.random.default_rng(case.size)))
        what = f"{case.examples} examples in batches of {case.size}"
        left = case.examples % case.size
        expected = [case.size] * (case.examples // case.size) + ([left] if left else [])
        sizes = [len(y) for _, y in batches]
        require(sizes == expected, f"{what} should make batches of {expected}, got {sizes}")
        for x, y in batches:
            require(
                x.dtype == inputs.dtype and y.dtype.kind in "iu" and x.shape[1:] == shape[1:],
                f"Batches of inputs of {case.kind.__name__} and shape {shape} should keep the type "
                f"and the shape behind the first axis, got {x.dtype} and {x.shape}, with labels of "
                f"{y.dtype}",
            )
            place = np.argsort(labels)[y.astype(int)]
            require(np.array_equal(x, inputs[place]), f"{what} should hold the rows as they are")
        every = sorted(int(label) for _, y in batches for label in y)
        require(every == list(range(case.examples)), f"{what} should hold each example once")


def test_chances_minibatches(minibatches):
    """Any two examples meet equally often, and each is equally often the one that is left."""
    rng, passes, count = np.random.default_rng(25), 600, 7
    inputs, labels = np.zeros((count, 1)), np.arange(count)
    together, alone, followed = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    with undisturbed("minibatches"):
        for _ in range(passes):
            batches = [y for _, y in minibatches(inputs, labels, 3, rng)]
            for y in batches[:2]:
                together[np.ix_(y, y)] += 1
            alone[batches[-1]] += 1
            order = np.concatenate(batches)
            np.add.at(followed, np.diff(order) % count, 1)
    pairs = together[~np.eye(count, dtype=bool)]
    for what, found, share, trials in (
        ("two examples should be in one batch of 3 out of 7", pairs, 2 / 7, passes),
        ("each of 7 examples should be the one that is left", alone, 1 / 7, passes),
        ("an example should be followed by the next one", followed[1:], 1 / 6, 6 * passes),
    ):
        wanted, room = share * trials, 6 * (trials * share * (1 - share)) ** 0.5
        worst = float(found[np.abs(found - wanted).argmax()])
        require(
            abs(worst - wanted) < room,
            f"In {passes} passes {what} about {wanted:.0f} times, got {worst:.0f} times",
        )


# ---- the loop -----------------------------------------------------------------------------------


class _Images(Module):
    """Scores of three classes from images of 2 × 2 pixels."""

    def __init__(self, rng):
        self.map = Linear(4, 3)
        self.map.weight.data[...] = rng.standard_normal((3, 4))
        self.map.bias.data[...] = rng.standard_normal(3)

    def forward(self, x):
        return self.map(x.reshape(x.shape[0], 4))


def test_drawn_train_epoch(train_epoch):
    """Any number of batches of any size, larger inputs, and an optimiser with a memory."""
    for case in cases(26, 6, batches=range(1, 7), kind=(np.float32, np.float64)):
        sizes = case.rng.integers(1, 6, case.batches)
        data = [
            (
                case.numbers(int(n), 2, 2, dtype=case.kind),
                case.integers(0, 3, int(n), dtype=np.int32),
            )
            for n in sizes
        ]
        seed = case.integers(0, 99).item()
        model, twin = (_Images(np.random.default_rng(seed)) for _ in range(2))
        with undisturbed("train_epoch", batches=data):
            loss = train_epoch(model, (batch for batch in data), _momentum(model))
        twins, losses = _momentum(twin), []
        for inputs, labels in data:
            twins.zero_grad()
            one = cross_entropy(twin(Tensor(inputs)), labels)
            one.backward()
            twins.step()
            losses.append(one.item())
        what = f"After {case.batches} batches of {', '.join(map(str, sizes))} examples"
        expected = float(np.average(losses, weights=sizes))
        require(
            abs(float(loss) - expected) < 1e-4,
            f"{what} the mean loss of an example should be {shown(expected, 4)}, got "
            f"{shown(loss, 4)}",
        )
        moved = float(np.abs(model.map.weight.data - twin.map.weight.data).max())
        require(
            moved < 1e-4,
            f"{what} the weights should be where one step for each batch leads; they are off by "
            f"{moved:.2g}",
        )


def _momentum(model):
    return SGD(model.parameters(), lr=0.3, momentum=0.5)
