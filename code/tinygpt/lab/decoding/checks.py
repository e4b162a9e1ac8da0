"""Checks of what is done to the scores before a token is drawn.

The scores are logarithms of probabilities that can be added up on paper.
"""

import math

import torch

from tinygpt.lab.definitions import require
from tinygpt.lab.measures import shown
from tinygpt.lab.measures_torch import close, left_alone, tensor_of

# ---- temperature --------------------------------------------------------------------------------


def test_unit_temperature(next_token_probabilities):
    """Odds of 9 to 1 become 81 to 1 at temperature 0.5 and 3 to 1 at temperature 2."""
    logits = torch.tensor([math.log(9), 0.0])
    for temperature, expected in ((1.0, 0.9), (0.5, 81 / 82), (2.0, 0.75)):
        with left_alone("next_token_probabilities", logits):
            found = next_token_probabilities(logits, temperature)
        first = tensor_of("next_token_probabilities", found, (2,))[0]
        require(
            abs(first - expected) < 1e-3,
            f"At odds of 9 to 1, temperature {temperature:g} should give the first token "
            f"{shown(expected)}, got {shown(first)}",
        )
        total = found.sum()
        require(abs(total - 1) < 1e-3, f"Probabilities should sum to 1.00, got {shown(total)}")


def test_zero_temperature(next_token_probabilities):
    """Temperature 0 gives all to the highest score, the first of equals; 0.05 does not."""
    found = tensor_of(
        "next_token_probabilities", next_token_probabilities(torch.tensor([1.0, 3.0, 2.0]), 0), (3,)
    )
    require(
        bool(((found - torch.tensor([0, 1, 0])).abs() < 1e-6).all()),
        "At temperature 0 scores of 1, 3 and 2 should give the probabilities 0.00, 1.00, 0.00, "
        f"got {_listed(found)}",
    )
    found = tensor_of(
        "next_token_probabilities", next_token_probabilities(torch.tensor([1.0, 3.0, 3.0]), 0), (3,)
    )
    require(
        bool(((found - torch.tensor([0, 1, 0])).abs() < 1e-6).all()),
        "At temperature 0 the first of equal scores is taken: 1, 3 and 3 should give 0.00, 1.00, "
        f"0.00, got {_listed(found)}",
    )
    require(
        found.is_floating_point(),
        f"At temperature 0 the probabilities should be floats too, got {found.dtype}",
    )
    close_scores = torch.tensor([0.05 * math.log(9), 0.0])
    found = tensor_of(
        "next_token_probabilities", next_token_probabilities(close_scores, 0.05), (2,)
    )
    require(
        abs(found[0] - 0.9) < 1e-3,
        "Scores that lie 0.11 apart have odds of 9 to 1 at temperature 0.05; the first token "
        f"should get 0.90, got {shown(found[0])}",
    )


def test_shapes_temperature(next_token_probabilities):
    """Every row by itself, whatever the leading axes; large scores; forbidden tokens."""
    found = tensor_of(
        "next_token_probabilities",
        next_token_probabilities(torch.tensor([[1000.0, 999.0], [0.0, 0.0]]), 1.0),
        (2, 2),
    )
    require(
        bool(found.isfinite().all()),
        f"Scores of 1000 and 999 should give 0.73, 0.27, got {_listed(found[0])}",
    )
    for shape in ((3, 4), (2, 3, 4)):
        for logits, temperature in ((torch.zeros(shape), 0.7), (torch.randn(shape), 0)):
            rows = next_token_probabilities(logits, temperature)
            rows = tensor_of("next_token_probabilities", rows, shape)
            total = rows.sum(dim=-1).flatten()[0]
            require(
                abs(total - 1) < 1e-3,
                f"For logits of shape {shape} every row should sum to 1.00, got {shown(total)}",
            )
            best = (rows.argmax(dim=-1) == logits.argmax(dim=-1)).all()
            require(bool(best), f"For logits of shape {shape} each row has its own highest score")
    hidden = torch.tensor([0.0, -math.inf, 0.0])
    found = tensor_of("next_token_probabilities", next_token_probabilities(hidden, 0.5), (3,))
    require(
        bool(found[1] == 0) and abs(found[0] - 0.5) < 1e-3,
        f"Scores of 0, -inf and 0 should give 0.50, 0.00, 0.50, got {_listed(found)}",
    )


# ---- top-k --------------------------------------------------------------------------------------


def test_unit_top_k(keep_top_k):
    """Of 1, 4, 2, 3 the two highest stay, at their places; the rest becomes -inf."""
    logits = torch.tensor([1.0, 4.0, 2.0, 3.0])
    out = tensor_of("keep_top_k", keep_top_k(logits.clone(), 2), (4,))
    _rest_is_minus_infinity(out, logits, (1, 3))
    kept = kept_tokens(out)
    require(
        kept == [1, 3],
        f"Of the scores 1, 4, 2, 3 k=2 should keep the tokens [1, 3], got {kept}",
    )
    _scores_stay(out, logits, kept)


def test_edges_top_k(keep_top_k):
    """Exactly k of equal scores; all when k exceeds the vocabulary."""
    kept = kept_tokens(tensor_of("keep_top_k", keep_top_k(torch.full((4,), 2.0), 2), (4,)))
    require(len(kept) == 2, f"Of four equal scores k=2 should keep 2, got {len(kept)}")
    kept = kept_tokens(tensor_of("keep_top_k", keep_top_k(torch.arange(4.0), 10), (4,)))
    require(len(kept) == 4, f"With k=10 all 4 tokens should stay, got {len(kept)}")


def test_rows_top_k(keep_top_k):
    """Every row by itself, whatever the leading axes; the input stays as it was."""
    logits = torch.tensor([[9.0, 8.0, 7.0, 6.0], [1.0, 2.0, 3.0, 4.0]])
    with left_alone("keep_top_k", logits):
        out = tensor_of("keep_top_k", keep_top_k(logits, 2), (2, 4))
    for row, expected in enumerate(([0, 1], [2, 3])):
        kept = kept_tokens(out[row])
        require(
            kept == expected,
            f"Row {row} of two should keep its own best, {expected}, got {kept}",
        )
    for shape, k in (((2, 3, 7), 3), ((50,), 1), ((1, 5), 5)):
        logits = torch.randn(shape)
        expected = logits.masked_fill(logits < logits.topk(k).values[..., -1:], -math.inf)
        out = tensor_of("keep_top_k", keep_top_k(logits.clone(), k), shape)
        same = torch.equal(out, expected)
        require(same, f"keep_top_k of logits of shape {shape} with k={k} keeps other tokens")


# ---- top-p --------------------------------------------------------------------------------------


def test_unit_top_p(keep_top_p):
    """The likeliest tokens stay until their sum reaches p, with the one that crosses it."""
    logits = torch.tensor([0.05, 0.5, 0.15, 0.3]).log()
    for p, expected in ((0.6, [1, 3]), (0.9, [1, 2, 3])):
        out = tensor_of("keep_top_p", keep_top_p(logits.clone(), p), (4,))
        kept = kept_tokens(out)
        require(
            kept == expected,
            f"Of the probabilities 0.05, 0.50, 0.15, 0.30 p={p} should keep the tokens "
            f"{expected}, got {kept}",
        )
        _scores_stay(out, logits, kept)


def test_edges_top_p(keep_top_p):
    """One token always stays; a sure one stays alone; p = 1 keeps all; a reached p is enough."""
    logits = torch.tensor([0.05, 0.9, 0.05]).log()
    for p, expected in ((0.5, [1]), (0.0, [1]), (1.0, [0, 1, 2])):
        kept = kept_tokens(tensor_of("keep_top_p", keep_top_p(logits.clone(), p), (3,)))
        require(
            kept == expected,
            f"Of the probabilities 0.05, 0.90, 0.05 p={p:g} should keep the tokens "
            f"{expected}, got {kept}",
        )
    kept = kept_tokens(tensor_of("keep_top_p", keep_top_p(torch.full((4,), 2.0), 0.5), (4,)))
    require(len(kept) == 2, f"Of four equal scores p=0.5 should keep exactly 2, got {len(kept)}")


def test_rows_top_p(keep_top_p):
    """Every row by itself, the input stays as it was; p = 1 keeps all also where sums round."""
    logits = torch.tensor([[0.04, 0.9, 0.04, 0.02], [0.22, 0.24, 0.26, 0.28]]).log() + 3
    with left_alone("keep_top_p", logits):
        out = tensor_of("keep_top_p", keep_top_p(logits, 0.7), (2, 4))
    for row, expected in enumerate(([1], [1, 2, 3])):
        kept = kept_tokens(out[row])
        require(
            kept == expected,
            f"At p=0.7 row {row} of a sure and an even one should keep {expected}, got {kept}",
        )
    for shape, p in (((2, 3, 7), 0.8), ((50,), 0.3), ((1, 5), 0.99)):
        logits = 2 * torch.randn(shape)
        out = tensor_of("keep_top_p", keep_top_p(logits.clone(), p), shape)
        probabilities = logits.softmax(dim=-1)
        likelier = probabilities[..., None, :] > probabilities[..., :, None]
        before = (likelier * probabilities[..., None, :]).sum(dim=-1)
        expected = logits.masked_fill(before >= p, -math.inf)
        same = torch.equal(out.isfinite(), expected.isfinite())
        require(same, f"keep_top_p of logits of shape {shape} with p={p} keeps other tokens")
        found = out.masked_fill(~out.isfinite(), 0)
        close("The kept scores stay as they were", found, logits * expected.isfinite())
    kept = kept_tokens(keep_top_p(torch.tensor([20.0, 0.0, -1.0]), 1.0))
    require(
        kept == [0, 1, 2],
        f"Of the scores 20, 0, -1 p=1 should keep the tokens [0, 1, 2], got {kept}",
    )


def kept_tokens(row) -> list[int]:
    return (row > -math.inf).nonzero().flatten().tolist()


def _listed(row) -> str:
    return ", ".join(shown(value) for value in row)


def _rest_is_minus_infinity(out, logits, best):
    """A dropped token's score of 0, or a large negative number, still has a probability."""
    for token in range(len(logits)):
        changed = token not in best and out[token] != logits[token]
        require(
            not changed or bool(out[token] == -math.inf),
            "A token that is dropped should get the score -inf, so that its probability is 0; "
            f"token {token} got {shown(out[token])}",
        )


def _scores_stay(out, logits, kept):
    for token in kept:
        require(
            abs(out[token] - logits[token]) < 1e-4,
            f"The score of a token that is kept, {shown(logits[token])}, should stay as it is, "
            f"got {shown(out[token])}",
        )
