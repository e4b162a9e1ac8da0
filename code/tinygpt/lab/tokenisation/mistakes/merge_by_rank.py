"""Wrong versions of encoding a piece."""

from itertools import pairwise

from tinygpt.lab.definitions import Mistake
from tinygpt.tokenizers import merge_pair


def by_position(ids, ranks):
    ids, place = list(ids), 0
    while place < len(ids) - 1:
        pair = (ids[place], ids[place + 1])
        if pair in ranks:
            ids[place : place + 2] = [ranks[pair]]
            place = 0
        else:
            place += 1
    return ids


def latest_first(ids, ranks):
    ids = list(ids)
    while known := [pair for pair in pairwise(ids) if pair in ranks]:
        best = max(known, key=ranks.get)
        ids = merge_pair(ids, best, ranks[best])
    return ids


def one_merge(ids, ranks):
    known = [pair for pair in pairwise(ids) if pair in ranks]
    if not known:
        return list(ids)
    best = min(known, key=ranks.get)
    return merge_pair(ids, best, ranks[best])


def unknown_pair(ids, ranks):
    ids = list(ids)
    while len(ids) > 1:
        best = min(pairwise(ids), key=lambda pair: ranks.get(pair, 10**9))
        ids = merge_pair(ids, best, ranks[best])
    return ids


def no_pair(ids, ranks):
    ids = list(ids)
    while True:
        best = min(pairwise(ids), key=lambda pair: ranks.get(pair, 10**9))
        if best not in ranks:
            return ids
        ids = merge_pair(ids, best, ranks[best])


def as_listed(ids, ranks):
    ids = list(ids)
    for pair, new in ranks.items():
        ids = merge_pair(ids, pair, new)
    return ids


def longest_match(ids, ranks):
    strings = {}
    for (left, right), new in sorted(ranks.items(), key=lambda item: item[1]):
        strings[new] = strings.get(left, (left,)) + strings.get(right, (right,))
    found, place = [], 0
    while place < len(ids):
        fitting = [new for new, s in strings.items() if tuple(ids[place : place + len(s)]) == s]
        best = max(fitting, key=lambda new: len(strings[new]), default=ids[place])
        found.append(best)
        place += len(strings.get(best, (best,)))
    return found


def first_occurrence(ids, ranks):
    ids = list(ids)
    for pair, new in sorted(ranks.items(), key=lambda item: item[1]):
        for place in range(len(ids) - 1):
            if (ids[place], ids[place + 1]) == pair:
                ids[place : place + 2] = [new]
                break
    return ids


def without_end(ids, ranks):
    ids = list(ids)
    while ids:
        known = [pair for pair in pairwise(ids) if pair in ranks]
        if not known:
            break
        best = min(known, key=ranks.get)
        ids = merge_pair(ids, best, ranks[best])
        ranks.pop(best)
    return ids


MISTAKES = (
    Mistake(
        "latest_first",
        latest_first,
        "With the merges {(1, 2): 10, (2, 3): 11} the ids [1, 2, 3] should become [10, 3], got "
        "[1, 11]",
        "The pair with the largest id was joined, which was learnt last. Training joined (1, 2) "
        "while there was no 11 yet. Take the smallest: `min(known, key=ranks.get)`.",
    ),
    Mistake(
        "by_position",
        by_position,
        "With the merges {(2, 3): 10, (1, 2): 11, (1, 10): 12} the ids [1, 2, 3] should become "
        "[12], got [11, 3]",
        "The first pair from the left that is known was joined. In training (2, 3) came first, so "
        "the model has seen this word as 12 and never as 11 3. Encoding repeats the merges in "
        "the order in which they were learnt.",
    ),
    Mistake(
        "one_merge",
        one_merge,
        "With the merges {(2, 3): 10, (1, 2): 11, (1, 10): 12} the ids [1, 2, 3] should become "
        "[12], got [1, 10]",
        "One merge was applied, and it made a pair that is known as well. Look again after every "
        "merge, until no neighbours are a known pair.",
    ),
    Mistake(
        "unknown_pair",
        unknown_pair,
        "merge_by_rank raised KeyError: (10, 3)",
        "No pair was known any more, and one was joined nevertheless. Most pieces do not end as a "
        "single id. Stop when the best pair is not in `ranks`.",
    ),
    Mistake(
        "no_pair",
        no_pair,
        "merge_by_rank raised ValueError: min() arg is an empty sequence",
        "A single id has no neighbour, so there is no pair to choose from, and `min` of nothing "
        "is an error. A piece may begin as one id or end as one. Go on only while there are two.",
    ),
    Mistake(
        "as_listed",
        as_listed,
        "With the merges {(2, 3): 11, (1, 2): 10} the ids [1, 2, 3] should become [10, 3], got "
        "[1, 11]",
        "The merges were applied in the order in which the dictionary lists them. What counts is "
        "the id: the smaller one was learnt earlier. Sort by it, or take the smallest each time.",
    ),
    Mistake(
        "first_occurrence",
        first_occurrence,
        "With the merges {(1, 2): 10} the ids [1, 2, 1, 2] should become [10, 10], got [10, 1, 2]",
        "Each merge was applied at the first place where its pair stands, and at no other. In "
        "training it was applied everywhere. Join every occurrence before you look for the next "
        "pair.",
    ),
    Mistake(
        "longest_match",
        longest_match,
        "With the merges {(3, 4): 10, (1, 2): 11, (11, 3): 12, (12, 4): 13} the ids [1, 2, 3, 4] "
        "should become [11, 10], got [13]",
        "At each place the longest token that fits was taken. That is how WordPiece encodes, not "
        "BPE: here 3 4 was learnt first, so the 3 is gone before 1 2 3 could be built. Follow the "
        "order of the merges.",
    ),
    Mistake(
        "without_end",
        without_end,
        "merge_by_rank should leave its input as it was; it changed it",
        "Each merge was taken out of `ranks` after its use. The next piece then meets a "
        "dictionary without it and is encoded differently. Nothing has to be removed: a pair that "
        "was joined everywhere does not come back.",
    ),
)
