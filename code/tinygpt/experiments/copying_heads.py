"""Does a model that copies always find the two heads, and do two questions need two heads?

A reader of one and of two layers of attention is trained on strings of different letters, each
written twice, from eight starts: its loss at the end, how much weight the first layer puts on the
position before and the second on the letter to be read, and how often it is right, on strings of
twelve letters (as in training) and of six (shorter than any in training). Then one layer is to
name the last two letters, with one, two and four heads; with one head also the larger of its
mean weights on the two places, out of their sum.
"""

import numpy as np

from tinygpt.scratch import (
    AdamW,
    Embedding,
    Linear,
    Module,
    MultiHeadAttention,
    create_causal_mask,
    cross_entropy,
    manual_seed,
)

DATA = ()
SEEDS = range(8)
LETTERS = 16


class Reader(Module):
    """Letters and positions as vectors, layers of attention that add to them, scores."""

    def __init__(self, letters, length, width, heads, outputs, layers=1):
        self.token, self.position = Embedding(letters, width), Embedding(length, width)
        self.layers = [MultiHeadAttention(width, heads) for _ in range(layers)]
        self.scores = Linear(width, outputs)

    def forward(self, ids):
        x = self.token(ids) + self.position(np.arange(ids.shape[1]))
        for attention in self.layers:
            x = x + attention(x, create_causal_mask(ids.shape[1]))
        return self.scores(x)


def twice(rng, count, length):
    """Strings of different letters, each written twice, (count, 2 * length)."""
    half = rng.permuted(np.tile(np.arange(LETTERS), (count, 1)), axis=1)[:, :length]
    return np.concatenate([half, half], axis=1)


def train(layers, seed, steps=400):
    """Train on strings of 8 to 16 letters; return model and losses."""
    manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Reader(LETTERS, 32, 64, heads=1, outputs=LETTERS, layers=layers)
    optimizer = AdamW(model.parameters(), weight_decay=0)
    losses = []
    for step in range(steps):
        length = int(rng.integers(8, 17))
        ids = twice(rng, 32, length)
        loss = cross_entropy(model(ids[:, :-1])[:, length:], ids[:, length + 1 :])
        model.zero_grad()
        loss.backward()
        optimizer.lr = 5e-3 * (1 - step / steps)
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def looks(model, length):
    """Weight on the position before (layer 1), on the one to read (layer 2); share right."""
    ids = twice(np.random.default_rng(7), 64, length)
    mask, asks = create_causal_mask(2 * length), np.arange(length, 2 * length - 1)
    read = asks - length + 1
    x = model.token(ids) + model.position(np.arange(2 * length))
    first = model.layers[0].weights(x, mask).data[:, 0]
    x = x + model.layers[0](x, mask)
    second = model.layers[1].weights(x, mask).data[:, 0]
    guess = model.scores(x + model.layers[1](x, mask)).data[:, asks].argmax(-1)
    measured = first[:, read, read - 1], second[:, asks, read], guess == ids[:, asks + 1]
    return [float(each.mean()) for each in measured]


def two_letters_back(heads, seed, steps=300):
    """Train one layer to name the last two letters; how often it is right, and the larger share."""
    manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Reader(26, 8, 32, heads, outputs=52)
    optimizer = AdamW(model.parameters(), lr=0.01, weight_decay=0)
    for _ in range(steps):
        ids = rng.integers(0, 26, (32, 8))
        targets = np.stack([ids[:, 1:-1], ids[:, :-2]], axis=-1)  # (B, T - 2, 2)
        scores = model(ids)[:, 2:].reshape(32, 6, 2, 26)
        model.zero_grad()
        cross_entropy(scores, targets).backward()
        optimizer.step()
    x = model.token(ids) + model.position(np.arange(8))
    weights = model.layers[0].weights(x, create_causal_mask(8)).data[:, 0]
    rows = np.arange(2, 8)
    back = [weights[:, rows, rows - n].mean() for n in (1, 2)]
    right = (scores.data.argmax(axis=-1) == targets).mean()
    return [float(right), float(max(back) / sum(back))]


def run() -> dict:
    """Return what each start gave, for each of the questions."""
    found = {"one layer": [], "two layers": [], "twelve": [], "six": []}
    for seed in SEEDS:
        found["one layer"].append(float(np.mean(train(1, seed)[1][-50:])))
        model, losses = train(2, seed)
        found["two layers"].append(float(np.mean(losses[-50:])))
        for name, length in (("twelve", 12), ("six", 6)):
            found[name].append(looks(model, length))
    heads = {str(heads): [two_letters_back(heads, seed) for seed in SEEDS] for heads in (1, 2, 4)}
    return found | {"heads": heads}
