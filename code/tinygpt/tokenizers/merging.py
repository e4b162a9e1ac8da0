"""The two halves of byte-pair encoding: learning merges, and applying them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import pairwise

from tinygpt import validate

Pair = tuple[int, int]


def count_pairs(words: Iterable[tuple[list[int], int]]) -> dict[tuple[int, int], int]:
    """Count the pairs of neighbours, each word as often as it occurs.

    A pair counts at every place where it stands, also where two places overlap.

    Raises:
        TypeError, ValueError: words are no pairs of a list of ids and a count.
    """
    counts = {}
    for ids, count in _checked_words("count_pairs", words):
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + count
    return counts


def merge_pair(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Replace each occurrence of a pair by one id, from the left, without overlaps.

    Raises:
        TypeError, ValueError: ids are no list of integers, pair is no two of them, or new none.
    """
    ids = validate.integers("merge_pair", "ids", ids)
    left, right = _checked_pair("merge_pair", pair)
    validate.integer("merge_pair", "new", new)
    return _merged(ids, left, right, new)


def _merged(ids: list[int], left: int, right: int, new: int) -> list[int]:
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

    Raises:
        TypeError, ValueError: words are no pairs of a list of ids and a count, or a number is
            out of range.
    """
    num_merges = validate.integer("learn_merges", "num_merges", num_merges)
    first = validate.integer("learn_merges", "first", first)
    words = list(_checked_words("learn_merges", words))
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
            ids[:] = _merged(ids, *pair, new)
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

    Raises:
        TypeError: ids are no list of integers, or ranks no dictionary.
    """
    ids = validate.integers("merge_by_rank", "ids", ids)
    validate.instance("merge_by_rank", "ranks", ranks, dict)
    end = len(ids)
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


def _checked_words(where: str, words) -> Iterator[tuple[list[int], int]]:
    """The words, each with a list of its own, or what is wrong with one of them."""
    for word in validate.iterable(where, "words", words, "pairs of ids and a count"):
        if not isinstance(word, (tuple, list)) or len(word) != 2:
            raise TypeError(
                f"{where}: words must be pairs of ids and a count, got one that is "
                f"{validate.describe(word)}"
            )
        ids, count = word
        yield validate.integers(where, "the ids of a word", ids), validate.integer(
            where, "the count of a word", count
        )


def _checked_pair(where: str, pair) -> Pair:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{where}: pair must be two ids, got {validate.describe(pair)}")
    left, right = pair
    return validate.integer(where, "pair", left), validate.integer(where, "pair", right)
