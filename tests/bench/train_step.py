"""One training step of the NumPy GPT, and of the same model in plain PyTorch.

4 layers, 128 wide, 4 heads, 65 tokens, 64 positions, batch 12, AdamW: nanoGPT's setting for a
laptop. Both start from the same weights, use the same number of threads and take turns.
"""

import statistics
import time

import numpy as np
import torch
from tinygpt.scratch import GPT, AdamW

from tests.tinygpt.plain_gpt import PlainGPT

VOCAB, WIDTH, LAYERS, HEADS, LENGTH, BATCH = 65, 128, 4, 4, 64, 12


def measure(rounds: int = 15, steps: int = 5, at_most: float = 60.0) -> tuple[float, float]:
    """Return the seconds that a step takes, in NumPy and in PyTorch: medians over all rounds.

    On a busy machine, fewer rounds: no new one begins after `at_most` seconds.
    """
    rng = np.random.default_rng(0)
    tokens, targets = rng.integers(0, VOCAB, (2, BATCH, LENGTH))
    model = GPT(VOCAB, WIDTH, LAYERS, HEADS, LENGTH, dropout_prob=0.0, seed=0)
    rival = PlainGPT(VOCAB, WIDTH, LAYERS, HEADS, LENGTH)
    rival.load_state_dict({name: torch.tensor(a) for name, a in model.state_dict().items()})
    optimizer = AdamW(model.parameters(), lr=1e-3)
    rival_optimizer = torch.optim.AdamW(rival.parameters(), lr=1e-3)
    torch_tokens, torch_targets = torch.tensor(tokens), torch.tensor(targets)

    def numpy_step():
        optimizer.zero_grad()
        loss = model.loss(tokens, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    def torch_step():
        rival_optimizer.zero_grad()
        loss = rival.loss(torch_tokens, torch_targets)
        loss.backward()
        rival_optimizer.step()
        return loss.item()

    seconds = {numpy_step: [], torch_step: []}
    for warm_up in range(3):
        losses = numpy_step(), torch_step()
        if abs(losses[0] - losses[1]) > 1e-3:
            raise AssertionError(f"step {warm_up}: the two models differ, losses {losses}")
    deadline = time.perf_counter() + at_most
    while len(seconds[torch_step]) < rounds and time.perf_counter() < deadline:
        for step, times in seconds.items():
            start = time.perf_counter()
            for _ in range(steps):
                step()
            times.append((time.perf_counter() - start) / steps)
    return statistics.median(seconds[numpy_step]), statistics.median(seconds[torch_step])


def main():
    """Print both times and the ratio of throughputs."""
    ours, theirs = measure()
    print(
        f"GPT training step, {torch.get_num_threads()} threads: "
        f"NumPy {ours * 1e3:.1f} ms, PyTorch {theirs * 1e3:.1f} ms: "
        f"{theirs / ours:.2f} x PyTorch's throughput (at least 0.50 wanted)"
    )
