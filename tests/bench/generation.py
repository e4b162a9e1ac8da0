"""Writing text, a token at a time: this book's two engines with the same weights."""

import statistics
import time

import numpy as np
from tinygpt import sampling, scratch, training
from tinygpt.models import copy_weights

PROMPT, NEW = 16, 48


def measure(rounds: int = 7) -> dict[str, float]:
    """Return tokens per second of each engine and batch: the median over all rounds."""
    model = training.build_model(training.ModelConfig(), 75, seed=0).eval()
    numpy_model = scratch.GPT(75, 128, 4, 4, 64, dropout_prob=0.0, tie_weights=True)
    copy_weights(model, numpy_model)
    prompts = np.random.default_rng(0).integers(0, 75, (8, PROMPT))
    contestants = {
        "PyTorch": (1, lambda: sampling.generate(model, list(prompts[:1]), NEW, 0.0)),
        "PyTorch, 8 at once": (8, lambda: sampling.generate(model, list(prompts), NEW, 0.0)),
        "NumPy": (1, lambda: numpy_model.generate(prompts[:1], NEW, 0.0)),
    }
    speeds = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, (batch, write) in contestants.items():
            start = time.perf_counter()
            texts = write()
            speeds[name].append(batch * NEW / (time.perf_counter() - start))
            if len(texts[0]) != PROMPT + NEW:
                raise AssertionError(f"{name}: wrote {len(texts[0])} tokens")
    return {name: statistics.median(each[1:]) for name, each in speeds.items()}
