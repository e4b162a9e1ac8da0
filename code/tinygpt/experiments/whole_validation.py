"""How far does the recorded loss of the model `shakespeare-char` depend on its batches?

The committed model, measured on 20 random batches of the validation text with the seed that its
file names, on 20 batches with each of three other seeds, on the first 50,000 characters in order,
and on the whole validation text in order.
"""

from tinygpt.data import load_corpus
from tinygpt.training import evaluate, pretrained

DATA = ("shakespeare",)
SEEDS = range(1, 4)


def run() -> dict:
    """Return the four kinds of losses, and how many characters the whole text has."""
    corpus = load_corpus("shakespeare")
    model, _, about = pretrained("shakespeare-char")
    options = about["training"]
    sizes = options["batch_size"], model.max_seq_len, options["eval_batches"]

    def in_order(text):
        return evaluate(model, text, 32, model.max_seq_len)

    return {
        "recorded": evaluate(model, corpus.validation, *sizes, seed=options["seed"]),
        "other seeds": [
            evaluate(model, corpus.validation, *sizes, seed=options["seed"] + seed)
            for seed in SEEDS
        ],
        "50,000": in_order(corpus.validation[:50_000]),
        "whole": in_order(corpus.validation),
        "characters": len(corpus.validation),
    }
