"""Does a tied model learn more in the same steps than one with two tables?

GPTs of two blocks, 64 wide, on windows of 32 characters of Shakespeare, trained with AdamW from
eight seeds, tied and untied, on equal batches. The validation loss is measured after 200 and after
1,000 steps. Of the untied models the correlation between the two tables is kept too: whether the
characters that are alike in the one are alike in the other, for the 40 commonest characters.
"""

import numpy as np
import torch
from torch.nn import functional as F

from tinygpt import data, models, training

DATA = ("shakespeare",)
SEEDS = range(8)
MEASURED = (200, 1000)


def run() -> dict:
    """Return losses and correlations, for each number of steps a list of one for each seed."""
    torch.set_num_threads(1)
    corpus = data.load_corpus("shakespeare")
    kinds = "untied", "tied"
    losses = {kind: {str(steps): [] for steps in MEASURED} for kind in kinds}
    alike = {str(steps): [] for steps in (0, *MEASURED)}
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    common = np.argsort(counts, kind="stable")[-40:].copy()
    for seed in SEEDS:
        for kind in kinds:
            model = models.GPT(
                len(corpus.vocabulary), 64, 2, 4, 32, dropout_prob=0.0,
                tie_weights=kind == "tied", seed=seed,
            )  # fmt: skip
            if kind == "untied":
                alike["0"].append(correlation(model, common))
            for step in train(model, corpus, np.random.default_rng(seed)):
                loss = training.evaluate(model, corpus.validation, 16, 32, batches=40)
                losses[kind][str(step)].append(loss)
                if kind == "untied":
                    alike[str(step)].append(correlation(model, common))
    return {"losses": losses, "correlation": alike}


def train(model, corpus, rng):
    """Train the model; hand back each number of steps at which it is to be measured."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
    for step in range(1, MEASURED[-1] + 1):
        batch = data.random_batch(corpus.train, 8, 32, rng)
        loss = model.loss(*map(torch.from_numpy, batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in MEASURED:
            yield step


def correlation(model, rows):
    """The correlation of the cosines within one table with those within the other."""
    two = []
    for table in (model.token_embedding.weight, model.head.weight):
        unit = F.normalize(table.detach()[rows], dim=-1)
        two.append((unit @ unit.T)[tuple(torch.tril_indices(len(rows), len(rows), -1))].numpy())
    return float(np.corrcoef(*two)[0, 1])
