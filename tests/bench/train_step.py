"""Training with nanoGPT's setting for a laptop: this book's two engines, and nanoGPT's idiom.

4 layers, 128 wide, 4 heads, 64 positions, batch 12. All three train on the same text with
batches of the same size, use the same number of threads, and take turns.
"""

import numpy as np
import torch
from tinygpt import data, scratch, training
from tinygpt.scratch import AdamW, clip_grad_norm

from tests.bench.idiom import Idiom, Trainer
from tests.bench.race import Contestant, race

PRESET = training.PRESETS["shakespeare-char"]
SHAPE, CONFIG = PRESET.model, PRESET.training
BATCH, LENGTH = CONFIG.batch_size, SHAPE.max_seq_len


def measure(rounds: int = 60, steps: int = 4, at_most: float = 120.0) -> dict[str, float]:
    """Return tokens per second of each contestant."""
    corpus = data.load_corpus("shakespeare")
    trainers = {
        "PyTorch": _pytorch(corpus),
        "nanoGPT's idiom": _idiom(corpus),
        "NumPy": _numpy(corpus),
    }
    contestants = {
        # The first update after another contestant's waits for caches and threads.
        name: Contestant(
            steps * BATCH * LENGTH,
            lambda _, train=train: train(steps),
            ready=lambda train=train: train(1),
        )
        for name, train in trainers.items()
    }
    return race(contestants, rounds, _must_train, at_most)


def _must_train(losses: dict[str, float]):
    for name, loss in losses.items():
        if not 1.0 < loss < 5.0:
            raise AssertionError(f"{name}: does not train, loss {loss}")


def _pytorch(corpus):
    model = training.build_model(SHAPE, len(corpus.vocabulary), CONFIG.seed)
    updates = training.Updates(model, corpus, CONFIG)
    number = iter(range(1, CONFIG.steps + 1))
    return lambda steps: [updates.make(next(number)) for _ in range(steps)][-1].loss


def _idiom(corpus):
    model = Idiom(
        len(corpus.vocabulary), SHAPE.embed_dim, SHAPE.num_layers, SHAPE.num_heads, LENGTH
    )
    trainer = Trainer(model, torch.tensor(corpus.train.astype(np.int64)), BATCH, LENGTH)
    return lambda steps: [trainer.update() for _ in range(steps)][-1]


def _numpy(corpus):
    model = scratch.GPT(
        len(corpus.vocabulary),
        SHAPE.embed_dim,
        SHAPE.num_layers,
        SHAPE.num_heads,
        LENGTH,
        dropout_prob=0.0,
        tie_weights=True,
        seed=CONFIG.seed,
    )
    optimizer = AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    rng = np.random.default_rng(0)

    def update() -> float:
        optimizer.zero_grad()
        loss = model.loss(*data.random_batch(corpus.train, BATCH, LENGTH, rng))
        loss.backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return lambda steps: [update() for _ in range(steps)][-1]
