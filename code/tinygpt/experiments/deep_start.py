"""Does the scale of the first weights decide what twenty layers learn, from any start?

A network of twenty layers, 100 wide, with ReLUs, ten passes over the training digits: once with
weights of standard deviation √(2/n), once with half of it, from eight starts. SGD with momentum
0.9 and the rate 0.003; the halved network also with Adam, with the usual ε and with a far
smaller one. Measured is the share of the validation images that is read rightly.
"""

from tinygpt.data import load_digits
from tinygpt.scratch import SGD, Adam, FeedForward, ReLU, fit, initialise

DATA = ("digits",)
SEEDS = range(8)


def run() -> dict:
    """Return for each setting the accuracies, one for each seed."""
    train, validation, _ = load_digits()

    def share(seed, gain, make_optimizer):
        model = initialise(FeedForward((64, *[100] * 19, 10), ReLU), gain, seed=seed)
        history = fit(model, train, validation, make_optimizer(model), epochs=10, seed=seed)
        return history[-1].validation_accuracy

    def momentum(model):
        return SGD(model.parameters(), lr=0.003, momentum=0.9)

    settings = {
        "as they were": (2**0.5, momentum),
        "halved": (2**-0.5, momentum),
        "halved, Adam": (2**-0.5, lambda model: Adam(model.parameters())),
        "halved, Adam, small eps": (2**-0.5, lambda model: Adam(model.parameters(), eps=1e-16)),
        "as they were, Adam": (2**0.5, lambda model: Adam(model.parameters())),
    }
    return {name: [share(seed, *setting) for seed in SEEDS] for name, setting in settings.items()}
