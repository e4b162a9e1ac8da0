"""Checks of counting, joining and learning.

The ids are small numbers, so that every expected value can be found on paper.
"""

import copy

from tinygpt.lab.definitions import kind_of, require

# ---- counting -----------------------------------------------------------------------------------


def test_unit_count_pairs(count_pairs):
    """The pairs of two words that occur three times and once."""
    words = [([1, 2, 3], 3), ([2, 3], 1)]
    found = _counts(count_pairs, words)
    for pair, expected in {(1, 2): 3, (2, 3): 4}.items():
        got = found.get(pair, 0)
        require(
            got == expected,
            f"With the words 1 2 3 (three times) and 2 3 (once) the pair {pair} should have the "
            f"count {expected}, got {got}",
        )
    others = [pair for pair in found if pair not in ((1, 2), (2, 3))]
    require(
        not others,
        "In the words 1 2 3 and 2 3 the only pairs are (1, 2) and (2, 3), got "
        f"{others[:1]} as well",
    )


def test_edges_count_pairs(count_pairs):
    """Repeats within a word, overlapping places, and words without a pair."""
    got = _counts(count_pairs, [([1, 2, 1, 2], 1)]).get((1, 2), 0)
    require(got == 2, f"The word 1 2 1 2 holds the pair (1, 2) twice, got {got}")
    got = _counts(count_pairs, [([1, 1, 1], 1)]).get((1, 1), 0)
    require(
        got == 2,
        f"In the word 1 1 1 the pair (1, 1) stands at two places, which overlap; got {got}",
    )
    for words in ([], [([5], 4)], [([], 2)]):
        found = _counts(count_pairs, words)
        require(not found, f"The words {words} hold no pair, got {found}")


def _counts(count_pairs, words):
    before = copy.deepcopy(words)
    found = count_pairs(words)
    require(
        isinstance(found, dict), f"count_pairs should return a dictionary, got {kind_of(found)}"
    )
    require(words == before, "count_pairs should leave the words as they were; it changed them")
    return {pair: count for pair, count in found.items() if count}


# ---- joining ------------------------------------------------------------------------------------


def test_unit_merge_pair(merge_pair):
    """Every occurrence becomes one id; what is no occurrence stays."""
    _merged(merge_pair, [1, 2, 3, 1, 2], (1, 2), 9, [9, 3, 9])
    _merged(merge_pair, [1, 2, 3], (2, 3), 9, [1, 9])
    _merged(merge_pair, [1, 2, 3], (1, 3), 9, [1, 2, 3])
    _merged(merge_pair, [2, 1], (1, 2), 9, [2, 1])


def test_edges_merge_pair(merge_pair):
    """Overlaps go to the left one; ids of several digits; short lists; the input stays."""
    _merged(merge_pair, [1, 1, 1], (1, 1), 9, [9, 1])
    _merged(merge_pair, [1, 1, 1, 1], (1, 1), 9, [9, 9])
    _merged(merge_pair, [11, 2, 1, 22], (1, 2), 9, [11, 2, 1, 22])
    for ids in ([], [1]):
        _merged(merge_pair, ids, (1, 2), 9, ids)


def _merged(merge_pair, ids, pair, new, expected):
    given = list(ids)
    found = merge_pair(given, pair, new)
    require(isinstance(found, list), f"merge_pair should return a list, got {kind_of(found)}")
    require(
        found == expected,
        f"Joining {pair} to {new} in {ids} should give {expected}, got {found}",
    )
    require(given == ids, "merge_pair should leave its input as it was; it changed it")


# ---- learning -----------------------------------------------------------------------------------


def test_unit_learn_merges(learn_merges):
    """The most frequent pair first, then the most frequent of what that made."""
    _learnt(learn_merges, [([1, 2, 3], 5), ([1, 2], 2), ([2, 3], 1)], 1, 10, [(1, 2)])
    _learnt(learn_merges, [([1, 2, 3], 5), ([1, 2], 2), ([2, 3], 1)], 2, 10, [(1, 2), (10, 3)])
    words = [([1, 2, 3, 4], 2), ([1, 2], 3), ([3, 4], 1)]
    _learnt(learn_merges, words, 3, 10, [(1, 2), (3, 4), (10, 11)])


def test_ties_learn_merges(learn_merges):
    """Of equally frequent pairs the smaller tuple, wherever it stands."""
    _learnt(learn_merges, [([1, 2], 2), ([3, 4], 2)], 1, 10, [(1, 2)])
    _learnt(learn_merges, [([3, 4], 2), ([1, 2], 2)], 1, 10, [(1, 2)])
    _learnt(learn_merges, [([2, 1], 1), ([1, 9], 1)], 2, 10, [(1, 9), (2, 1)])
    _learnt(learn_merges, [([1, 1, 1], 1), ([2, 3], 2)], 1, 10, [(1, 1)])


def test_edges_learn_merges(learn_merges):
    """Stops when no pair is left, joins inside words only, and leaves the words as they were."""
    _learnt(learn_merges, [([1, 2], 3)], 5, 10, [(1, 2)])
    _learnt(learn_merges, [], 5, 10, [])
    _learnt(learn_merges, [([1], 9), ([2], 9), ([3, 4], 1)], 5, 10, [(3, 4)])
    _learnt(learn_merges, [([1, 2], 3)], 0, 10, [])
    words = [([n % 5, n % 3, (n * n) % 7, n % 4, n % 2], 1 + n % 6) for n in range(20)]
    _learnt(learn_merges, words, 12, 10, _learn(words, 12, 10))


def _learnt(learn_merges, words, num_merges, first, expected):
    given = copy.deepcopy(words)
    found = learn_merges(given, num_merges, first)
    require(isinstance(found, list), f"learn_merges should return a list, got {kind_of(found)}")
    of = f"{len(words)} words" if len(words) > 3 else f"the words {words}"
    require(
        found == expected,
        f"{num_merges} merges from {of} should be {expected}, got {found}",
    )
    require(given == words, "learn_merges should leave the words as they were; it changed them")


def _learn(words, num_merges, first):
    from tinygpt.tokenizers import learn_merges

    return learn_merges(words, num_merges, first)
