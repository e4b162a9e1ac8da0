"""Checks of decoding on inputs drawn from a seed: shapes, types, equal scores, and long texts."""

import hashlib
import math

import numpy as np
import torch

from tinygpt.lab.decoding.checks import kept_tokens
from tinygpt.lab.decoding.checks_beam import Table, beams_of
from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import shown
from tinygpt.lab.measures_torch import close, tensor_of
from tinygpt.lab.undisturbed import undisturbed

_SHAPES = ((1,), (2, 3, 4, 5), (9,), (3, 40), (2, 1, 7))
_TYPES = (torch.float32, torch.float64)


def test_drawn_temperature(next_token_probabilities):
    """Large scores, tokens that must not come and equal ones, at any temperature, as precise."""
    for case in cases(
        1, 48, shape=_SHAPES, dtype=_TYPES, temperature=(0, 100.0, 1, 0.01, 0.7),
        size=(0.02, 1e4, 1.0, 50.0), hidden=(False, True),
    ):  # fmt: skip
        scores = np.round(case.numbers(*case.shape, size=case.size), 1 if case.hidden else 6)
        if case.hidden:
            scores[~case.mask(*case.shape)] = -math.inf
        logits = torch.tensor(scores).to(case.dtype)
        with undisturbed("next_token_probabilities", logits=logits):
            out = next_token_probabilities(logits, case.temperature)
        found = tensor_of("next_token_probabilities", out, case.shape)
        what = f"for {case.dtype} of shape {case.shape} and size {case.size:g}"
        what = f"The probabilities at temperature {case.temperature:g} {what}"
        require(found.is_floating_point(), f"{what} should be floats, got {found.dtype}")
        best = logits.double().amax(dim=-1, keepdim=True)
        if case.temperature == 0:
            expected = (logits.double() == best).double()
            expected *= expected.cumsum(dim=-1) == 1  # the first of equals
        else:
            weights = ((logits.double() - best) / case.temperature).exp()
            expected = weights / weights.sum(dim=-1, keepdim=True)
        exact = 1e-9 if case.dtype == torch.float64 else 1e-3
        close(f"{what} differ", found.double(), expected, exact)


def test_drawn_top_k(keep_top_k):
    """Any k, type and shape, with equal scores and with tokens that are hidden already."""
    for case in cases(2, 20, shape=_SHAPES, dtype=_TYPES, k=(1, 100, 2, 5), equal=(False, True)):
        logits = torch.tensor(case.numbers(*case.shape, size=2.0)).to(case.dtype)
        logits = logits.round() if case.equal else logits
        logits[torch.tensor(~case.mask(*case.shape))] = -math.inf
        with undisturbed("keep_top_k", logits=logits):
            out = keep_top_k(logits, case.k)
        found = tensor_of("keep_top_k", out, case.shape)
        what = f"With k={case.k} and {case.dtype} of shape {case.shape}"
        _same_scores(what, found, logits)
        count = found.isfinite().sum(dim=-1)
        expected = logits.isfinite().sum(dim=-1).clamp(max=case.k)
        require(
            torch.equal(count, expected),
            f"{what}, some hidden, {expected.flatten()[0]} should stay in the first row and "
            f"likewise in the others, got {count.flatten()[0]}",
        )
        dropped = logits.masked_fill(found.isfinite(), -math.inf).amax(dim=-1)
        lowest = found.masked_fill(~found.isfinite(), math.inf).amin(dim=-1)
        require(bool((dropped <= lowest).all()), f"{what} a dropped score is above a kept one")


def test_drawn_top_p(keep_top_p):
    """The smallest set in any row, type and shape; sums as close as float64 can tell."""
    for case in cases(
        3, 24, shape=_SHAPES, dtype=_TYPES, p=(0.0, 1.0, 0.5, 0.9, 0.25), equal=(False, True)
    ):
        logits = torch.tensor(case.numbers(*case.shape, size=2.0)).to(case.dtype)
        logits = logits * 0 + 1 if case.equal else logits
        with undisturbed("keep_top_p", logits=logits):
            out = keep_top_p(logits, case.p)
        found = tensor_of("keep_top_p", out, case.shape)
        what = f"With p={case.p:g} and {case.dtype} of shape {case.shape}"
        _same_scores(what, found, logits)
        kept = found.isfinite()
        probabilities = logits.double().softmax(dim=-1)
        ordered = probabilities.sort(dim=-1, descending=True).values
        before = ordered.cumsum(dim=-1) - ordered
        count = (before < case.p - 1e-9).sum(dim=-1).clamp(min=1)
        count = torch.full_like(count, case.shape[-1]) if case.p == 1 else count
        require(
            torch.equal(kept.sum(dim=-1), count),
            f"{what} {count.flatten()[0]} tokens should stay in the first row and likewise in the "
            f"others, got {kept.sum(dim=-1).flatten()[0]}",
        )
        dropped = probabilities.masked_fill(kept, 0.0).amax(dim=-1)
        lowest = probabilities.masked_fill(~kept, 1.0).amin(dim=-1)
        require(bool((dropped <= lowest).all()), f"{what} a likelier token is dropped")
    for scores, p in (((60.0, 0.0, -1.0), 1.0), ((0.0, -21.0), 1 - 1e-12)):
        kept = kept_tokens(keep_top_p(torch.tensor(scores), p))
        require(
            len(kept) == len(scores),
            f"Of the scores {scores} p={p:.13g} should keep every token, got {kept}; all stay "
            "at p=1, and sums are to be made in float64",
        )


class _Reading:
    """A model whose scores depend on every token that it reads, and on the order of them."""

    def __init__(self, vocab_size, max_seq_len, seed):
        self.vocab_size, self.max_seq_len, self.seed = vocab_size, max_seq_len, seed
        self.training, self.widest = False, 0

    def __call__(self, tokens):
        longest = tokens.shape[1]
        require(
            longest <= self.max_seq_len,
            f"The model reads at most {self.max_seq_len} tokens at once, got {longest}",
        )
        self.widest = max(self.widest, len(tokens))
        rows = [[self._scores(text[: n + 1]) for n in range(longest)] for text in tokens.tolist()]
        return torch.tensor(rows)

    def _scores(self, text):
        """The same for the same text, on every machine."""
        said = f"{self.seed} {[int(token) for token in text]}".encode()
        number = int.from_bytes(hashlib.sha256(said).digest()[:8], "little")
        return (2 * np.random.default_rng(number).standard_normal(self.vocab_size)).tolist()

    def log_probabilities(self, text):
        """Of each next token after a text of any length."""
        scores = np.array(self._scores(text[-self.max_seq_len :]))
        return scores - np.log(np.exp(scores).sum())


def test_drawn_beam_search(beam_search):
    """With a model that reads the whole text, what a search by hand keeps; prompts stay."""
    for case in cases(
        4, 10, vocabulary=range(2, 6), longest=range(1, 7), prompt=range(1, 9),
        new=range(1, 6), beams=(1, 7, 2, 4),
    ):  # fmt: skip
        model = _Reading(case.vocabulary, case.longest, int(case.rng.integers(1000)))
        prompt = case.integers(0, case.vocabulary, case.prompt).tolist()
        texts = [(tuple(prompt), 0.0)]
        for _ in range(case.new):
            longer = [
                ((*text, token), total + more)
                for text, total in texts
                for token, more in enumerate(model.log_probabilities(text))
            ]
            texts = sorted(longer, key=lambda text: -text[1])[: case.beams]
        with undisturbed("beam_search", prompt=prompt):
            beams = beams_of(beam_search, model, prompt, case.new, case.beams, copied=False)
        what = f"With num_beams={case.beams} and a model that reads {case.longest} tokens, "
        require(
            model.widest <= case.beams,
            f"{what}at most {case.beams} texts should be run at once, got {model.widest}",
        )
        require(
            len(beams) == len(texts),
            f"{what}{len(texts)} texts should come back, got {len(beams)}",
        )
        for place, ((text, total), (expected, sum_of_logs)) in enumerate(
            zip(beams, texts, strict=False)
        ):
            require(
                tuple(text) == expected,
                f"{what}text {place} after {prompt} should be {list(expected)}, got {text}",
            )
            require(
                abs(total - sum_of_logs) < 1e-3,
                f"{what}{text} should have the log probability {shown(sum_of_logs, 3)}, got "
                f"{shown(total, 3)}",
            )
    beams = beams_of(beam_search, Table([[0.25] * 4] * 4), [0], 600, 2)
    totals = [total for _, total in beams]
    expected = 600 * math.log(0.25)
    require(
        max(abs(total - expected) for total in totals) < 0.1,
        "600 tokens of probability 0.25 each should have the log probability "
        f"{shown(expected, 1)}, got {', '.join(shown(total, 1) for total in totals)}",
    )
    require(
        len({tuple(text) for text, _ in beams}) == len(beams),
        "Also among equally likely texts each should be kept once; one came twice",
    )


def _same_scores(what, found, logits):
    require(found.dtype == logits.dtype, f"{what} the type should stay, got {found.dtype}")
    kept = found != -math.inf
    require(
        torch.equal(found[kept], logits[kept]),
        f"{what} a score that is kept should stay exactly as it is; one changed",
    )
