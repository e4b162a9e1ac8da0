"""Checks of beam search, on a model that is a table."""

import itertools
import math

import torch

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown


class Table:
    """A model whose next token depends on the last one alone, by a table of probabilities.

    The scores of a row are shifted by a number of its own, which a softmax removes. `widest` and
    `longest` say how much it was asked to read at once.
    """

    def __init__(self, rows, max_seq_len=8):
        probabilities = torch.tensor(rows, dtype=torch.float64)
        shift = torch.arange(1, len(rows) + 1, dtype=torch.float64)
        self.log_probabilities = probabilities.log()
        self.scores = self.log_probabilities + shift[:, None]
        self.vocab_size, self.max_seq_len = len(rows), max_seq_len
        self.widest = 0

    def __call__(self, tokens):
        found = tuple(tokens.shape) if isinstance(tokens, torch.Tensor) else type(tokens).__name__
        require(
            isinstance(found, tuple) and len(found) == 2,
            f"The model should be given a tensor of shape (B, T), got {found}",
        )
        require(
            found[1] <= self.max_seq_len,
            f"The model reads at most {self.max_seq_len} tokens at once, got {found[1]}",
        )
        self.widest = max(self.widest, found[0])
        return self.scores[tokens]


# The likeliest first token, 1, leads to an even choice, the other, 2, to a sure one.
TRAP = [[0.0, 0.6, 0.4], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]


def test_unit_beam_search(beam_search):
    """One beam is greedy; two find the likelier text, 0.4 · 1 against 0.6 · 0.5."""
    for num_beams, best, probability in ((1, [0, 1, 0], 0.3), (2, [0, 2, 2], 0.4)):
        beams = beams_of(beam_search, Table(TRAP), [0], 2, num_beams)
        require(
            len(beams) == num_beams,
            f"With num_beams={num_beams} as many texts should come back, got {len(beams)}",
        )
        totals = [log_probability for _, log_probability in beams]
        require(
            totals == sorted(totals, reverse=True),
            "The beams should come likeliest first, got the log probabilities "
            f"{', '.join(shown(total) for total in totals)}",
        )
        text, log_probability = beams[0]
        equal = num_beams == 1 and text == [0, 1, 1]  # as likely: which of them is not asked
        require(
            text == best or equal,
            f"With num_beams={num_beams} the best text after [0] should be {best}, got {text}",
        )
        require(
            abs(log_probability - math.log(probability)) < 1e-3,
            f"The text {text} should have the log probability {shown(math.log(probability))}, "
            f"got {shown(log_probability)}",
        )


def test_exact_beam_search(beam_search):
    """With enough beams it finds what trying every text finds."""
    rows = torch.softmax(2 * torch.randn(4, 4, dtype=torch.float64), dim=-1)
    table = Table(rows.tolist())
    every = {
        (0, *new): sum(
            table.log_probabilities[a, b].item() for a, b in itertools.pairwise((0, *new))
        )
        for new in itertools.product(range(4), repeat=3)
    }
    expected = sorted(every, key=every.get, reverse=True)
    beams = beams_of(beam_search, table, [0], 3, 100)
    require(
        len(beams) == 64, f"4 tokens make 64 texts of 3; 100 beams should find 64, got {len(beams)}"
    )
    for (text, log_probability), likeliest in zip(beams[:5], expected, strict=False):
        same = tuple(text) == likeliest and abs(log_probability - every[likeliest]) < 1e-3
        require(same, "With 100 beams the texts should come in the order of their probability")


def test_work_beam_search(beam_search):
    """The model is run on num_beams texts at most, and on their last max_seq_len tokens."""
    table = Table([[0.25] * 4] * 4)
    beams_of(beam_search, table, [0, 1], 4, 3)
    require(
        table.widest <= 3,
        f"With num_beams=3 the model should run on at most 3 texts at once, got {table.widest}",
    )
    beams = beams_of(beam_search, Table(TRAP, max_seq_len=4), [0, 1, 0, 1], 4, 2)
    found = len(beams[0][0])
    require(found == 8, f"4 tokens after a prompt of 4 should make a text of 8, got {found}")


def beams_of(beam_search, model, prompt, max_new_tokens, num_beams, copied=True):
    """The texts as (list of ids, log probability)."""
    prompt = list(prompt) if copied else prompt
    beams = beam_search(model, prompt, max_new_tokens, num_beams)
    kind = kind_of(beams)
    require(isinstance(beams, (list, tuple)), f"beam_search should return a list, got {kind}")
    for beam in beams:
        fits = hasattr(beam, "tokens") and hasattr(beam, "log_probability")
        require(fits, f"beam_search should return a list of Beam, got one of {type(beam).__name__}")
        tokens, total = beam.tokens, beam.log_probability
        require(
            isinstance(tokens, torch.Tensor) and tokens.ndim == 1,
            f"The tokens of a Beam should be a tensor of shape (T,), got {_kind_of(tokens)}",
        )
        require(
            isinstance(total, float),
            f"The log_probability of a Beam should be a float, got {_kind_of(total)}",
        )
    return [([int(token) for token in beam.tokens], float(beam.log_probability)) for beam in beams]


def _kind_of(value) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"
