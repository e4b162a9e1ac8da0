"""The two halves of byte-pair encoding: learning merges, and applying them."""

from collections import defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]


def count_pairs(words: Iterable[tuple[list[int], int]]) -> dict[tuple[int, int], int]:
    """Count the pairs of neighbours, each word as often as it occurs.

    A pair counts at every place where it stands, also where two places overlap.
    """
    counts = {}
    for ids, count in words:
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + count
    return counts


def merge_pair(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Replace each occurrence of a pair by one id, from the left, without overlaps."""
    left, right = pair
    merged, place, last = [], 0, len(ids) - 1
    while place <= last:
        if ids[place] == left and place < last and ids[place + 1] == right:
            merged.append(new)
            place += 2
        else:
            merged.append(ids[place])
            place += 1
    return merged


def learn_merges(words: Iterable[tuple[list[int], int]], num_merges: int, first: int) -> list[Pair]:
    """Join the most frequent pair of neighbours into a new id, again and again.

    Of equally frequent pairs the one with the smaller ids is joined. Each merge visits only
    the words that hold its pair, so the work grows with the number of distinct words and not
    with the text.

    Source: Sennrich et al. (2016), algorithm 1; the order of equals is that of Hugging Face's
    `tokenizers`.

    Args:
        words: the distinct words as ids, and how often each occurs.
        num_merges: the most merges to learn; fewer when there is no pair left.
        first: id of the first merge; the next ones follow.

    Returns:
        The pairs, in the order in which they were joined.
    """
    words = [(list(ids), count) for ids, count in words]
    counts, where = defaultdict(int, count_pairs(words)), defaultdict(set)
    for number, (ids, _) in enumerate(words):
        for pair in pairwise(ids):
            where[pair].add(number)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < num_merges:
        noted, pair = heappop(heap)
        if -noted != counts[pair]:  # it has become rarer since it was put here
            if counts[pair]:
                heappush(heap, (-counts[pair], pair))
            continue
        new = first + len(merges)
        merges.append(pair)
        made = set()
        for number in where.pop(pair):
            ids, count = words[number]
            for old in pairwise(ids):
                counts[old] -= count
            ids[:] = merge_pair(ids, pair, new)
            for now in pairwise(ids):
                counts[now] += count
                if new in now:
                    where[now].add(number)
                    made.add(now)
        for now in made:
            heappush(heap, (-counts[now], now))
    return merges


def merge_by_rank(ids: list[int], ranks: dict[Pair, int]) -> list[int]:
    """Join pairs until none is left to join: the earliest-learnt first, from the left.

    A heap holds the pairs that can be joined, and two lists say which ids are neighbours, so
    that n ids take a time of n log n however long the piece is.

    Args:
        ids: one piece, as ids.
        ranks: for each pair that was learnt, its id; an earlier merge has a smaller one.
    """
    ids, end = list(ids), len(ids)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    heap = [(ranks[pair], place) for place, pair in enumerate(pairwise(ids)) if pair in ranks]
    heapify(heap)
    while heap:
        new, left = heappop(heap)
        right = after[left]
        if right == end or ranks.get((ids[left], ids[right])) != new:
            continue  # one of the two has been joined to another neighbour since
        ids[left], ids[right] = new, -1
        after[left] = following = after[right]
        if following < end:
            before[following] = left
            if (pair := (new, ids[following])) in ranks:
                heappush(heap, (ranks[pair], left))
        if (previous := before[left]) >= 0 and (pair := (ids[previous], new)) in ranks:
            heappush(heap, (ranks[pair], previous))
    return [id_ for id_ in ids if id_ >= 0]
