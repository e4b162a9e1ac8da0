"""Which of 24 blocks does a gradient reach, in each order of the norm, after twenty steps?

GPTs of 24 blocks, 32 wide, whose weights keep the variance of what passes through, trained with
AdamW at the rate 0.003 on windows of 32 characters of Shakespeare, from eight seeds, which draw
weights and batches. Kept is the gradient of the first block's first MLP matrix, relative to that
of the last block, before the first step and after the twentieth; of the post-norm stacks also how
large the branches are and what the norms divide by, as means over all blocks but the first.
"""

import numpy as np

from tinygpt import data
from tinygpt.scratch import GPT, AdamW, TransformerBlock, manual_seed

DATA = ("shakespeare",)
SEEDS = range(8)
STEPS, DEPTH, WIDTH = 20, 24, 32


class PostNorm(TransformerBlock):
    """A block that normalises the stream itself, and notes the spread of what it adds."""

    def forward(self, x, mask=None):
        from_attention = self.attention(x, mask)
        first = x + from_attention
        middle = self.norm1(first)
        from_mlp = self.mlp(middle)
        second = middle + from_mlp
        parts = from_attention, first, from_mlp, second
        self.spreads = [float(part.data.std(axis=-1).mean()) for part in parts]
        return self.norm2(second)


class NoResidual(TransformerBlock):
    """A block whose halves replace their input."""

    def forward(self, x, mask=None):
        return self.mlp(self.norm2(self.attention(self.norm1(x), mask)))


def run() -> dict:
    """Return for each order, before and after, one number or row of spreads for each seed."""
    corpus = data.load_corpus("shakespeare")
    orders = {"pre-norm": TransformerBlock, "post-norm": PostNorm, "no residual": NoResidual}
    found = {"ratio": {}, "spreads": {"before": [], "after": []}}
    for name, block_class in orders.items():
        found["ratio"][name] = {"before": [], "after": []}
        for seed in SEEDS:
            for when, stack in train(block_class, corpus, seed):
                norms = [float(np.linalg.norm(b.mlp.fc1.weight.grad)) for b in stack.blocks]
                found["ratio"][name][when].append(norms[0] / norms[-1])
                if block_class is PostNorm:
                    spreads = np.mean([block.spreads for block in stack.blocks[1:]], axis=0)
                    found["spreads"][when].append(spreads.tolist())
    return found


def train(block_class, corpus, seed):
    """Train a stack; hand it back with its gradients before the first step and after the last."""
    manual_seed(seed)
    rng = np.random.default_rng(seed)
    stack = GPT(len(corpus.vocabulary), WIDTH, DEPTH, 4, 32, dropout_prob=0.0, seed=seed)
    stack.blocks = [block_class(WIDTH, 4, dropout_prob=0.0) for _ in range(DEPTH)]
    for p in [p for block in stack.blocks for p in block.parameters() if p.ndim == 2]:
        p.data[...] = rng.normal(0, p.shape[1] ** -0.5, p.shape)
    optimizer = AdamW(stack.parameters(), lr=3e-3)
    for step in range(STEPS + 1):
        stack.zero_grad()
        stack.loss(*data.random_batch(corpus.train, 8, 32, rng)).backward()
        if step in (0, STEPS):
            yield "after" if step else "before", stack
        optimizer.step()
