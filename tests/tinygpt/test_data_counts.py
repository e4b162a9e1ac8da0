"""The loss of tables of counts, against counting in the plainest way."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import data
from tinygpt.data import counts

tokens = st.lists(st.integers(0, 3), min_size=3, max_size=40)


@given(tokens, tokens, st.integers(1, 3), st.floats(0.01, 2), st.integers(1, 50))
def test_as_counted_one_by_one(train, validation, length, smoothing, piece):
    runs = lambda ids: [tuple(ids[i : i + length]) for i in range(len(ids) - length + 1)]  # noqa: E731
    seen = Counter(runs(train))
    before = Counter(run[:-1] for run in runs(train))
    surprises = [
        -math.log((seen[run] + smoothing) / (before[run[:-1]] + smoothing * 4))
        for run in runs(validation)
    ]
    arrays = [np.array(part, dtype=np.uint8) for part in (train, validation)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_PIECE", piece)
        loss = data.ngram_loss(*arrays, 4, smoothing, length)
    assert loss == pytest.approx(sum(surprises) / len(surprises))


def test_one_worked_by_hand():
    """p(1|0) = (2 + 1) / (3 + 3), p(0|1) = (2 + 1) / (2 + 3)."""
    loss = data.ngram_loss(np.array([0, 1, 0, 1, 0, 2]), np.array([0, 1, 0]), 3, smoothing=1)
    assert loss == pytest.approx(-(math.log(1 / 2) + math.log(3 / 5)) / 2)


def test_without_smoothing_the_unseen_is_infinitely_surprising():
    ids = np.array([0, 1, 0])
    assert data.ngram_loss(ids, ids, 3, smoothing=0) == 0
    assert data.ngram_loss(ids, np.array([0, 2]), 3, smoothing=0) == math.inf
    assert data.ngram_loss(ids, np.array([2, 2]), 3, smoothing=0) == math.inf


IDS = np.arange(10)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train": [1, 2]}, "train must be a 1-D NumPy array of integers, got "),
        ({"validation": IDS * 1.0}, "validation must be a 1-D NumPy array of integers, got "),
        ({"validation": IDS[:1]}, "validation has 1 tokens; length=2 needs at least 2"),
        ({"train": IDS + 1}, "train: id 10 is outside 0..9"),
        ({"vocab_size": 0}, "vocab_size must be a positive integer, got 0"),
        ({"smoothing": -1}, "smoothing must be a finite number, 0 or more, got -1"),
        ({"length": 9}, "10 ** 9 counts are more than 268,435,456; give a smaller length"),
        ({"length": 0}, "length must be a positive integer, got 0"),
    ],
)
def test_a_wrong_argument_is_one_sentence(changed, message, without_type_checks):
    with pytest.raises((TypeError, ValueError), match="^ngram_loss: " + re.escape(message)):
        data.ngram_loss(**{"train": IDS, "validation": IDS, "vocab_size": 10} | changed)
