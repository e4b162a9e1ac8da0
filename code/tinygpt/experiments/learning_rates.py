"""How wide is the range of rates that train, for each optimiser?

The network (64, 64, 10) with a GELU, five epochs of batches of 32 at a constant rate, eight
starts: SGD, SGD with momentum 0.9, Adam, and AdamW with a decay of 0.1, at rates from 0.0001 to
10, three in a decade or two. Measured is the validation loss after the last epoch, at most 10,
so that a run that has flown apart counts as 10.
"""

import numpy as np

from tinygpt.data import load_digits
from tinygpt.scratch import SGD, Adam, AdamW, FeedForward, fit, manual_seed

DATA = ("digits",)
SEEDS = range(8)
RATES = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0]
CEILING = 10.0


def run() -> dict:
    """Return the rates, and for each optimiser the losses (rates × seeds)."""
    train, validation, _ = load_digits()
    makers = {
        "SGD": lambda p, lr: SGD(p, lr=lr),
        "momentum": lambda p, lr: SGD(p, lr=lr, momentum=0.9),
        "Adam": lambda p, lr: Adam(p, lr=lr),
        "AdamW": lambda p, lr: AdamW(p, lr=lr, weight_decay=0.1),
    }

    def loss(make, rate, seed):
        manual_seed(seed)
        model = FeedForward((64, 64, 10))
        with np.errstate(all="ignore"):
            history = fit(
                model, train, validation, make(model.parameters(), rate), epochs=5, seed=seed
            )
        last = history[-1].validation_loss
        return min(last, CEILING) if np.isfinite(last) else CEILING

    losses = {
        name: [[loss(make, rate, seed) for seed in SEEDS] for rate in RATES]
        for name, make in makers.items()
    }
    return {"rates": RATES, "losses": losses}
