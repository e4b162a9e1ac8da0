"""2,000 iterations of the NumPy GPT on Shakespeare, with nanoGPT's setting for a laptop."""

import time

import numpy as np
from tinygpt import data
from tinygpt.scratch import GPT, AdamW, CosineSchedule, clip_grad_norm, no_grad

ITERATIONS, LENGTH, BATCH = 2_000, 64, 12


def main():
    """Train, print the losses on the way and a sample; fail if the last one is 2.0 or more."""
    text = data.shakespeare()
    vocabulary = data.CharVocabulary(text)
    train, validation = data.train_val_split(vocabulary.encode(text), 0.9)
    model = GPT(len(vocabulary), 128, 4, 4, LENGTH, dropout_prob=0.0, seed=1337)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0.1)
    schedule = CosineSchedule(1e-3, ITERATIONS, warmup_steps=100, min_lr=1e-4)
    rng = np.random.default_rng(1337)
    print(
        f"{len(text):,} characters, {len(vocabulary)} distinct; "
        f"{model.num_parameters():,} parameters; {ITERATIONS:,} iterations"
    )
    start = time.perf_counter()
    for step in range(ITERATIONS):
        tokens, targets = data.random_batch(train, BATCH, LENGTH, rng)
        optimizer.lr = schedule(step)
        optimizer.zero_grad()
        loss = model.loss(tokens, targets)
        loss.backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 250 == 0:
            print(
                f"{step + 1:5,}: train {loss.item():.3f}, validation "
                f"{validation_loss(model, validation):.3f}, {time.perf_counter() - start:.0f} s"
            )
    final = validation_loss(model, validation, batches=200)
    prompt = vocabulary.encode("\n")
    print(vocabulary.decode(model.generate(prompt, 300, temperature=0.8, seed=0)))
    print(
        f"\nvalidation loss after {ITERATIONS:,} iterations: {final:.3f} per character (2.0 wanted)"
    )
    if final >= 2.0:
        raise SystemExit(1)


@no_grad()
def validation_loss(model, ids, batches=40) -> float:
    """Return the mean loss over random batches, always the same ones."""
    rng = np.random.default_rng(0)
    return float(
        np.mean(
            [model.loss(*data.random_batch(ids, BATCH, LENGTH, rng)).item() for _ in range(batches)]
        )
    )
