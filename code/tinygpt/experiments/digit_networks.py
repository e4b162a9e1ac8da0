"""What does a LeNet gain over an MLP of equal size, and where does it come from?

Both networks of the chapter on LeNet, twelve epochs with its settings, from eight starts: on the
digits as they are and with their pixels shuffled; read in place and moved by one pixel; trained
on moved copies too (eight epochs); and the LeNet with its first or both convolutions kept at
their random start. Measured are accuracies on the test images, how far the first kernels move,
and how sure the LeNet is of its right and of its wrong answers.
"""

import numpy as np

from tinygpt.data import load_digits
from tinygpt.scratch import (
    AdamW,
    CosineSchedule,
    FeedForward,
    LeNet,
    ReLU,
    Tensor,
    accuracy,
    fit,
    initialise,
    manual_seed,
    softmax,
)

DATA = ("digits",)
SEEDS = range(8)
ASIDE = [(0, 1), (0, -1), (1, 0), (-1, 0)]
ORDER = np.random.default_rng(0).permutation(64)


def new(kind, seed):
    """A network at its random start."""
    manual_seed(seed)
    model = LeNet() if kind == "LeNet" else FeedForward((64, 182, 10), ReLU)
    return initialise(model, seed=seed)


def train_on(model, part, held_out, seed, epochs=12, batch=32):
    """Train as the chapter does."""
    steps = epochs * -(-len(part.labels) // batch)
    schedule = CosineSchedule(3e-3, steps, warmup_steps=30, min_lr=1.5e-4)
    fit(model, part, held_out, AdamW(model.parameters(), weight_decay=0.1), epochs, batch,
        schedule, seed)  # fmt: skip
    return model


def shuffled(part):
    """The same images with their pixels in another order."""
    return part._replace(images=part.images.reshape(-1, 64)[:, ORDER].reshape(-1, 8, 8))


def moved(part, down, across):
    """The same images moved by one pixel, with paper coming in at the edge."""
    padded = np.pad(part.images, ((0, 0), (1, 1), (1, 1)))
    return part._replace(images=padded[:, 1 - down : 9 - down, 1 - across : 9 - across])


def run() -> dict:
    """Return each measure as a list, one number for each seed."""
    train, validation, test = load_digits()
    copies = [moved(train, *step) for step in [(0, 0), *ASIDE]]
    more = train._replace(
        images=np.concatenate([part.images for part in copies]),
        labels=np.concatenate([part.labels for part in copies]),
    )

    def aside(model):
        return float(np.mean([accuracy(model, *moved(test, *step)) for step in ASIDE]))

    result = {}
    for kind in ("MLP", "LeNet"):
        plain = [train_on(new(kind, seed), train, validation, seed) for seed in SEEDS]
        result[kind] = [accuracy(model, *test) for model in plain]
        result[f"{kind}, moved"] = [aside(model) for model in plain]
        mixed = [
            train_on(new(kind, seed), shuffled(train), shuffled(validation), seed) for seed in SEEDS
        ]
        result[f"{kind}, shuffled"] = [accuracy(model, *shuffled(test)) for model in mixed]
        taught = [
            train_on(new(kind, seed), more, validation, seed, epochs=8, batch=64) for seed in SEEDS
        ]
        result[f"{kind} + copies"] = [accuracy(model, *test) for model in taught]
        result[f"{kind} + copies, moved"] = [aside(model) for model in taught]
    starts = [new("LeNet", seed).conv1.weight.data for seed in SEEDS]
    ends = [model.conv1.weight.data for model in plain]  # plain holds the LeNets now
    result["change of conv1"] = [
        float(np.linalg.norm(end - start) / np.linalg.norm(start))
        for start, end in zip(starts, ends, strict=True)
    ]
    for label, names in {"conv1 random": ("conv1",), "both random": ("conv1", "conv2")}.items():
        result[label] = [_with_fixed(names, train, validation, test, seed) for seed in SEEDS]
    sure = [softmax(Tensor(model.eval()(Tensor(test.images)).data)).data for model in plain]
    right = [each.argmax(axis=1) == test.labels for each in sure]
    pairs = list(zip(sure, right, strict=True))
    result["sure where right"] = [float(p.max(axis=1)[ok].mean()) for p, ok in pairs]
    result["sure where wrong"] = [float(p.max(axis=1)[~ok].mean()) for p, ok in pairs]
    return result


def _with_fixed(names, train, validation, test, seed):
    """Accuracy of a LeNet some of whose convolutions stay at their start."""
    model = new("LeNet", seed)
    for name in names:
        layer = getattr(model, name)
        layer.weight.requires_grad = layer.bias.requires_grad = False
    return accuracy(train_on(model, train, validation, seed), *test)
