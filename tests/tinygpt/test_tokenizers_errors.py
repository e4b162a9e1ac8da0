"""The parts of byte-pair encoding say in one sentence what they were given and what is allowed."""

import pytest
import torch
from tinygpt import sampling, tokenizers

WRONG = [None, 3, "ab", [1.5], [None], {"a": 1}, object()]


CALLS = [
    ("ids", lambda x: tokenizers.merge_pair(x, (1, 2), 3)),
    ("pair", lambda x: tokenizers.merge_pair([1, 2], x, 3)),
    ("new", lambda x: tokenizers.merge_pair([1, 2], (1, 2), x)),
    ("words", lambda x: tokenizers.count_pairs(x)),
    ("words", lambda x: tokenizers.learn_merges(x, 1, 256)),
    ("num_merges", lambda x: tokenizers.learn_merges([([1, 2], 1)], x, 256)),
    ("ids", lambda x: tokenizers.merge_by_rank(x, {})),
    ("ranks", lambda x: tokenizers.merge_by_rank([1, 2], x)),
    ("token", lambda x: tokenizers.visible(x)),
    ("model", lambda x: sampling.logits_along(x, [1])),
    ("probabilities", lambda x: sampling.entropy(x)),
    ("tokens", lambda x: sampling.repetition(x)),
]
ALLOWED = {"new": int, "num_merges": int, "ranks": dict}
CASES = [
    (name, call, value)
    for name, call in CALLS
    for value in WRONG
    if type(value) is not ALLOWED.get(name)
]


@pytest.mark.parametrize(
    "name, call, value",
    CASES,
    ids=[f"{n}-{case[0]}-{type(case[2]).__name__}" for n, case in enumerate(CASES)],
)
def test_a_wrong_argument_is_one_sentence(without_type_checks, name, call, value):
    with pytest.raises((TypeError, ValueError), match=rf"^\w+: .*\b{name}\b") as caught:
        call(value)
    assert "\n" not in str(caught.value)


def test_what_is_allowed_still_is(without_type_checks):
    assert tokenizers.merge_pair([1, 2, 1, 2], [1, 2], 9) == [9, 9]
    assert tokenizers.merge_by_rank((1, 2), {(1, 2): 9}) == [9]
    assert tokenizers.count_pairs([((1, 2), 3)]) == {(1, 2): 3}
    assert sampling.repetition(torch.tensor([1, 1, 1]), 1) == pytest.approx(2 / 3)
