"""Does the live model of the chapter on Shakespeare need its warm-up?

The chapter's model (two blocks, 96 wide, windows of 32, the rate 8e-3 falling along a cosine to
a tenth) in shorter runs, 300 steps in batches of 16: with 50 steps of warm-up and with none,
from four starts. Measured is the validation loss of the last step, on the same 12
batches for both runs of a start.
"""

from tinygpt.data import load_corpus
from tinygpt.models import GPT
from tinygpt.training import Config, train

DATA = ("shakespeare",)
SEEDS = range(4)


def run() -> dict:
    """Return the last validation losses without and with warm-up, one for each start."""
    corpus = load_corpus("shakespeare")

    def loss(warmup, seed):
        model = GPT(
            len(corpus.vocabulary), 96, num_layers=2, num_heads=4, max_seq_len=32,
            dropout_prob=0.0, seed=seed,
        )  # fmt: skip
        config = Config(
            steps=300, batch_size=16, learning_rate=8e-3, min_learning_rate=8e-4,
            warmup_steps=warmup, eval_every=300, eval_batches=12, seed=seed,
        )  # fmt: skip
        return train(model, corpus, config).validation_losses[-1]

    return {
        "steps": 300,
        "without": [loss(0, seed) for seed in SEEDS],
        "with": [loss(50, seed) for seed in SEEDS],
    }
