"""From which starts, and with which warm-up, does each order of the norm train?

A GPT of eight blocks, 32 wide, on windows of 32 characters of Shakespeare, trained with AdamW
from eight seeds, which draw the weights and the batches. The large start keeps the variance of
what passes through a matrix; the small one is GPT-2's. Kept are the losses, averaged over 20
steps. Of the stacks from the large start the cosine of two positions after the last block is kept
too, before training and after it.
"""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tinygpt import data, models

DATA = ("shakespeare",)
SEEDS = range(8)
WINDOW = 20


class PostNorm(models.TransformerBlock):
    """A block that normalises the stream itself, after each addition."""

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


PRE = models.TransformerBlock
SETTINGS = {  # order, start, learning rate, steps of warm-up, steps
    "post-norm, large start": (PostNorm, "large", 3e-3, 1, 360),
    "post-norm, large start, warm-up 50": (PostNorm, "large", 3e-3, 50, 360),
    "post-norm, large start, warm-up 200": (PostNorm, "large", 3e-3, 200, 600),
    "post-norm, large start, warm-up 400": (PostNorm, "large", 3e-3, 400, 600),
    "post-norm, large start, third of the rate": (PostNorm, "large", 1e-3, 1, 360),
    "pre-norm, large start": (PRE, "large", 3e-3, 1, 160),
    "pre-norm, small start, rate 0.1": (PRE, "small", 0.1, 1, 160),
    "pre-norm, small start": (PRE, "small", 3e-3, 1, 160),
    "post-norm, small start": (PostNorm, "small", 3e-3, 1, 160),
}


def run() -> dict:
    """Return for each setting the smoothed losses and the cosines, one list for each seed."""
    torch.set_num_threads(1)
    corpus = data.load_corpus("shakespeare")
    found = {name: {"losses": [], "cosine before": [], "cosine": []} for name in SETTINGS}
    for seed in SEEDS:
        for name, (block_class, start, rate, warmup, steps) in SETTINGS.items():
            model = stack(block_class, start, seed, len(corpus.vocabulary))
            found[name]["cosine before"].append(alikeness(model, corpus))
            losses = fit(model, corpus, seed, rate, warmup, steps)
            found[name]["losses"].append(losses.reshape(-1, WINDOW).mean(axis=1).tolist())
            found[name]["cosine"].append(alikeness(model, corpus))
    return found


def stack(block_class, start, seed, vocab_size, depth=8, width=32):
    """A GPT with blocks of this class, whose weights are the same for every class."""
    model = models.GPT(vocab_size, width, depth, 4, 32, dropout_prob=0.0, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = block_class(width, 4, dropout_prob=0.0)
        model.blocks[i].load_state_dict(block.state_dict())
        for p in model.blocks[i].parameters() if start == "large" else []:
            if p.ndim == 2:
                nn.init.normal_(p, 0.0, 1 / math.sqrt(p.shape[1]), generator=generator)
    return model


def fit(model, corpus, seed, rate, warmup, steps):
    """Train on batches of eight windows of 32 characters; return the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99))
    rng, losses = np.random.default_rng(seed), []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / warmup)
        batch = data.random_batch(corpus.train, 8, 32, rng)
        loss = model.loss(*map(torch.from_numpy, batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


@torch.no_grad()
def alikeness(model, corpus):
    """The mean cosine of two positions of a text after the last block."""
    ids = torch.from_numpy(corpus.validation[: 8 * 32].astype(np.int64).reshape(8, 32))
    x = model.token_embedding(ids) + model.position_embedding.weight
    for block in model.blocks:
        x = block(x)
    unit = F.normalize(x, dim=-1)
    return ((unit @ unit.mT).sum((1, 2)) - 32).mean().item() / (32 * 31)
