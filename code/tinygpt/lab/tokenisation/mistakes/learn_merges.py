"""Wrong versions of learning merges."""

from collections import Counter
from itertools import pairwise

from tinygpt.lab.definitions import Mistake
from tinygpt.tokenizers import merge_pair


def _count(words):
    counts = Counter()
    for ids, count in words:
        for pair in pairwise(ids):
            counts[pair] += count
    return counts


def _join(words, pair, new):
    return [(merge_pair(ids, pair, new), count) for ids, count in words]


def counted_once(words, num_merges, first):
    counts = _count(words)
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]


def first_met(words, num_merges, first):
    merges = []
    for new in range(first, first + num_merges):
        counts = _count(words)
        if not counts:
            break
        best = max(counts, key=counts.get)
        words = _join(words, best, new)
        merges.append(best)
    return merges


def largest_of_equals(words, num_merges, first):
    merges = []
    for new in range(first, first + num_merges):
        counts = _count(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        words = _join(words, best, new)
        merges.append(best)
    return merges


def without_an_end(words, num_merges, first):
    merges = []
    for new in range(first, first + num_merges):
        counts = _count(words)
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = _join(words, best, new)
        merges.append(best)
    return merges


def same_new_id(words, num_merges, first):
    merges = []
    while len(merges) < num_merges:
        counts = _count(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = _join(words, best, first)
        merges.append(best)
    return merges


def new_ids_given_back(words, num_merges, first):
    merges = {}
    for new in range(first, first + num_merges):
        counts = _count(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = _join(words, best, new)
        merges[best] = new
    return merges


def words_changed(words, num_merges, first):
    merges = []
    for new in range(first, first + num_merges):
        counts = _count(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        for place, (ids, count) in enumerate(words):
            words[place] = (merge_pair(ids, best, new), count)
        merges.append(best)
    return merges


def only_more_than_once(words, num_merges, first):
    merges = []
    for new in range(first, first + num_merges):
        counts = _count(words)
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        words = _join(words, best, new)
        merges.append(best)
    return merges


_HELPERS = (_count, _join)
_WORDS = "[([1, 2, 3], 5), ([1, 2], 2), ([2, 3], 1)]"


def from_256(words, num_merges, first):
    merges = []
    for new in range(256, 256 + num_merges):
        counts = _count(words)
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        words = _join(words, merges[-1], new)
    return merges


MISTAKES = (
    Mistake(
        "from_256",
        from_256,
        f"2 merges from the words {_WORDS} should be [(1, 2), (10, 3)], got [(1, 2), (256, 3)]",
        "The new ids began at 256. They begin at `first`, which is 10 here, and larger than 256 in "
        "a vocabulary with special tokens.",
        helpers=_HELPERS,
    ),
    Mistake(
        "counted_once",
        counted_once,
        f"2 merges from the words {_WORDS} should be [(1, 2), (10, 3)], got [(1, 2), (2, 3)]",
        "The pairs were counted once and the most frequent ones taken. But joining changes the "
        "counts: five of the six places of (2, 3) follow a 1, and that 2 is part of 10 now. Join, "
        "then count again.",
        helpers=(_count,),
    ),
    Mistake(
        "same_new_id",
        same_new_id,
        "3 merges from the words [([1, 2, 3, 4], 2), ([1, 2], 3), ([3, 4], 1)] should be [(1, 2), "
        "(3, 4), (10, 11)], got [(1, 2), (3, 4), (10, 10)]",
        "Every merge got the id `first`, so two different strings share it. The n-th merge, "
        "counted from 0, makes the id first + n.",
        helpers=_HELPERS,
    ),
    Mistake(
        "new_ids_given_back",
        new_ids_given_back,
        "learn_merges should return a list, got dict",
        "A dictionary from pair to id is what encoding needs, and it is easily made from the "
        "list. Asked for is the list of pairs: their order is all that training has learnt.",
        helpers=_HELPERS,
    ),
    Mistake(
        "first_met",
        first_met,
        "1 merges from the words [([3, 4], 2), ([1, 2], 2)] should be [(1, 2)], got [(3, 4)]",
        "`max` takes the first of equals that it meets, so the merges depend on the order of the "
        "words. The same text read from two files in another order would give another "
        "vocabulary. Put the pair into the key.",
        helpers=_HELPERS,
    ),
    Mistake(
        "largest_of_equals",
        largest_of_equals,
        "1 merges from the words [([1, 2], 2), ([3, 4], 2)] should be [(1, 2)], got [(3, 4)]",
        "`max` over (count, pair) takes the largest pair of equals. Any rule would do if all "
        "programs kept to it. Asked for is the smallest, which is what Hugging Face's trainer "
        "takes: `min` over (-count, pair).",
        helpers=_HELPERS,
    ),
    Mistake(
        "only_more_than_once",
        only_more_than_once,
        "2 merges from the words [([2, 1], 1), ([1, 9], 1)] should be [(1, 9), (2, 1)], got []",
        "Learning stopped at pairs that occur once. That is a setting of some trainers, the "
        "smallest frequency. Asked for here are merges as long as there is a pair.",
        helpers=_HELPERS,
    ),
    Mistake(
        "without_an_end",
        without_an_end,
        "learn_merges raised ValueError: min() arg is an empty sequence",
        "When every word is a single id there is no pair left, and `min` of nothing is an error. "
        "A short text runs out of pairs before the vocabulary is full; then stop and return what "
        "there is.",
        helpers=_HELPERS,
    ),
    Mistake(
        "words_changed",
        words_changed,
        "learn_merges should leave the words as they were; it changed them",
        "The joined words were written back into the list that was handed in. A second training "
        "from the same words would begin where the first one ended. Give the result a list of "
        "its own.",
        helpers=_HELPERS,
    ),
)
