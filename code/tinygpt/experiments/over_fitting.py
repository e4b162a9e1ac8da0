"""What do the remedies for over-fitting do, and what becomes of a batch's gradient meanwhile?

The chapter's network (64, 128, 128, 10) and 200 training digits, 20,000 examples seen, AdamW with
the rate 0.003, from eight starts; once as it is, and once with each remedy. Measured are the
lowest validation loss on the way, the last one, and the last accuracy; for the plain network also
the mean length of the gradient of a batch of 32, before training and after.
"""

import numpy as np

from tinygpt.data import Examples, load_digits
from tinygpt.scratch import AdamW, FeedForward, Tensor, cross_entropy, fit, manual_seed

DATA = ("digits",)
SEEDS = range(8)


def batch_gradient(model, examples, draws: int = 50) -> float:
    """The mean length of the gradient of a random batch of 32."""
    rng, lengths = np.random.default_rng(0), []
    for _ in range(draws):
        rows = rng.integers(0, len(examples.labels), 32)
        model.zero_grad()
        cross_entropy(model(Tensor(examples.images[rows])), examples.labels[rows]).backward()
        lengths.append(np.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters())))
    return float(np.mean(lengths))


def run() -> dict:
    """Return for each remedy its losses and accuracies, and the lengths of the gradients."""
    train, validation, _ = load_digits()
    few = Examples(train.images[:200], train.labels[:200])
    more = Examples(train.images[:1000], train.labels[:1000])
    settings = {
        "none": (0.0, 0.0, few),
        "dropout 0.5": (0.5, 0.0, few),
        "weight decay 1.0": (0.0, 1.0, few),
        "five times the images": (0.0, 0.0, more),
    }
    result = {name: {"lowest": [], "end": [], "accuracy": [], "epoch": []} for name in settings}
    result["gradient"] = {"before": [], "after": []}
    for name, (dropout, decay, examples) in settings.items():
        for seed in SEEDS:
            manual_seed(seed)
            model = FeedForward((64, 128, 128, 10), dropout_prob=dropout)
            if name == "none":
                result["gradient"]["before"].append(batch_gradient(model, few))
            optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=decay)
            epochs = 20_000 // len(examples.labels)
            history = fit(model, examples, validation, optimizer, epochs, seed=seed)
            losses = [epoch.validation_loss for epoch in history]
            result[name]["lowest"].append(min(losses))
            result[name]["epoch"].append(1 + int(np.argmin(losses)))
            result[name]["end"].append(losses[-1])
            result[name]["accuracy"].append(history[-1].validation_accuracy)
            if name == "none":
                result["gradient"]["after"].append(batch_gradient(model, few))
    return result
