"""How large should a GPT be for how much text?

GPTs of two blocks, 16, 48 and 144 wide, on the first 5,000 and 50,000 characters of
Shakespeare and on all of them: 400 steps of 16 windows of 32 characters, no dropout. The rate
rises for 20 steps to 0.01 and falls to a tenth of it. Measured every 50 steps are the losses on
the text that was trained on and on the validation text.
"""

from dataclasses import replace

from tinygpt.data import load_corpus
from tinygpt.models import GPT
from tinygpt.training import Config, train

DATA = ("shakespeare",)
WIDTHS = [16, 48, 144]
TEXTS = [5_000, 50_000, None]  # characters; None is all of them


def run() -> dict:
    """Return widths, parameters and characters, and the losses (texts × widths × evaluations)."""
    corpus = load_corpus("shakespeare")
    result = {"steps": 400, "widths": WIDTHS, "parameters": [], "characters": [],
              "train": [], "validation": []}  # fmt: skip
    for characters in TEXTS:
        text = replace(corpus, name="a part", train=corpus.train[:characters])
        runs = []
        for width in WIDTHS:
            model = GPT(
                len(corpus.vocabulary), width, num_layers=2, num_heads=4, max_seq_len=32,
                dropout_prob=0.0, seed=0,
            )  # fmt: skip
            config = Config(
                steps=400, batch_size=16, learning_rate=1e-2, min_learning_rate=1e-3,
                warmup_steps=20, eval_every=50, eval_batches=8,
            )  # fmt: skip
            runs.append(train(model, text, config))
            if len(result["parameters"]) < len(WIDTHS):
                result["parameters"].append(model.num_parameters())
        result["characters"].append(len(text.train))
        result["train"].append([each.train_losses for each in runs])
        result["validation"].append([each.validation_losses for each in runs])
    return result
