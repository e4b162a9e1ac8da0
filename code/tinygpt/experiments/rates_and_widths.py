"""Which learning rate suits which width of a GPT, in a run that is much too short?

GPTs of two blocks on Shakespeare, 32 and 128 wide, 150 steps of 16 windows of 32 characters, 20
of them warm-up, at five rates from 0.001 to 0.1, each from two starts. Measured is the
validation loss of the last step.
"""

from tinygpt.data import load_corpus
from tinygpt.models import GPT
from tinygpt.training import Config, train

DATA = ("shakespeare",)
SEEDS = range(2)
WIDTHS = [32, 128]
RATES = [1e-3, 3e-3, 1e-2, 3e-2, 0.1]


def run() -> dict:
    """Return the widths, the rates, and the losses (widths × rates × seeds)."""
    corpus = load_corpus("shakespeare")

    def loss(width, rate, seed):
        model = GPT(
            len(corpus.vocabulary), width, num_layers=2, num_heads=4, max_seq_len=32,
            dropout_prob=0.0, seed=seed,
        )  # fmt: skip
        config = Config(
            steps=150, batch_size=16, learning_rate=rate, min_learning_rate=rate / 10,
            warmup_steps=20, eval_every=150, eval_batches=8, seed=seed,
        )  # fmt: skip
        return train(model, corpus, config).validation_losses[-1]

    losses = [[[loss(width, rate, seed) for seed in SEEDS] for rate in RATES] for width in WIDTHS]
    return {"steps": 150, "widths": WIDTHS, "rates": RATES, "losses": losses}
