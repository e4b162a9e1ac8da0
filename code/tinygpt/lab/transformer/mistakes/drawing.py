"""Wrong ways to draw a token, in generations that are right otherwise."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import no_grad, softmax


def _choose(p, rng):
    """Draw a token for each row of probabilities."""
    return np.array([rng.choice(len(row), p=row) for row in p])


@no_grad()
def chosen_from_nan(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1].astype(np.float64)
        weights = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
        chosen = _choose(weights / weights.sum(axis=-1, keepdims=True), rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def float32_probabilities(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :])[:, -1]
        if temperature == 0:
            chosen = logits.data.argmax(axis=-1)
        else:
            chosen = _choose(softmax(logits / temperature), rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def not_normalised(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1].astype(np.float64)
        if temperature == 0:
            chosen = logits.argmax(axis=-1)
        else:
            chosen = _choose(np.exp(logits / temperature), rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


MISTAKES = (
    Mistake(
        "chosen_from_nan",
        chosen_from_nan,
        "At temperature 0 the tokens should be drawn from probabilities, got NaN",
        "The scores were divided by a temperature of 0, and 0 / 0 is not a number; `rng.choice` "
        "refuses it. The smaller the temperature, the surer the likeliest token. At 0 nothing is "
        "drawn: take the argmax.",
        (_choose,),
    ),
    Mistake(
        "float32_probabilities",
        float32_probabilities,
        "The probabilities of a draw should sum to 1 to the precision of float64, got float32; "
        "convert the scores to float64 first",
        "The model's scores are float32, with seven digits, and so are these probabilities. "
        "`rng.choice` adds them up in float64. Of a list, or a Tensor as here, it allows an error "
        "of 0.00000002. Only of a NumPy array it sees the type, and allows 0.0003 in float32. "
        "Start from `logits.data[:, -1].astype(np.float64)`.",
        (_choose,),
    ),
    Mistake(
        "not_normalised",
        not_normalised,
        "The probabilities of a draw should sum to 1; they do not",
        "`np.exp` of the scores gives positive weights of any size. They become probabilities "
        "when each row is divided by its own sum, `weights.sum(axis=-1, keepdims=True)`.",
        (_choose,),
    ),
)
