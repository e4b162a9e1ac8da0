"""Writing text, a token at a time: this book's two engines with the same weights."""

import numpy as np
from tinygpt import sampling, scratch, training
from tinygpt.models import copy_weights

from tests.bench.race import Contestant, race

PROMPT, NEW = 16, 48


def measure(rounds: int = 7) -> dict[str, float]:
    """Return tokens per second of each engine and batch."""
    model = training.build_model(training.ModelConfig(), 75, seed=0).eval()
    numpy_model = scratch.GPT(75, 128, 4, 4, 64, dropout_prob=0.0, tie_weights=True)
    copy_weights(model, numpy_model)
    prompts = np.random.default_rng(0).integers(0, 75, (8, PROMPT))
    texts = {
        "PyTorch": (1, lambda _: sampling.generate(model, list(prompts[:1]), NEW, 0.0)),
        "PyTorch, 8 at once": (8, lambda _: sampling.generate(model, list(prompts), NEW, 0.0)),
        "NumPy": (1, lambda _: numpy_model.generate(prompts[:1], NEW, 0.0)),
    }
    contestants = {name: Contestant(batch * NEW, write) for name, (batch, write) in texts.items()}
    return race(contestants, rounds, _must_be_whole)


def _must_be_whole(texts: dict):
    for name, written in texts.items():
        if len(written[0]) != PROMPT + NEW:
            raise AssertionError(f"{name}: wrote {len(written[0])} tokens")
