"""Wrong versions of counting pairs."""

from collections import Counter
from itertools import pairwise

from tinygpt.lab.definitions import Mistake


def weights_ignored(words):
    return Counter(pair for ids, _ in words for pair in pairwise(ids))


def across_words(words):
    text = [id_ for ids, count in words for _ in range(count) for id_ in ids]
    return Counter(pairwise(text))


def unordered(words):
    counts = Counter()
    for ids, count in words:
        for pair in pairwise(ids):
            counts[tuple(sorted(pair))] += count
    return counts


def without_overlaps(words):
    counts = {}
    for ids, count in words:
        place = 0
        while place < len(ids) - 1:
            pair = (ids[place], ids[place + 1])
            counts[pair] = counts.get(pair, 0) + count
            place += 2 if pair == (ids[place], ids[place]) else 1
    return counts


def once_a_word(words):
    counts = Counter()
    for ids, count in words:
        for pair in set(pairwise(ids)):
            counts[pair] += count
    return counts


def last_pair_lost(words):
    counts = Counter()
    for ids, count in words:
        for place in range(len(ids) - 2):
            counts[ids[place], ids[place + 1]] += count
    return counts


def last_word_wins(words):
    counts = {}
    for ids, count in words:
        for pair in pairwise(ids):
            counts[pair] = count
    return counts


def pairs_as_lists(words):
    counts = Counter()
    for ids, count in words:
        for place in range(len(ids) - 1):
            counts[ids[place : place + 2]] += count
    return counts


_UNIT = (
    "With the words 1 2 3 (three times) and 2 3 (once) the pair {} should have the count {}, got "
)

MISTAKES = (
    Mistake(
        "weights_ignored",
        weights_ignored,
        _UNIT.format((1, 2), 3) + "1",
        "Each distinct word was counted once. The list holds a word one time however often the "
        "text has it, and says the number beside it: add that number, not 1.",
    ),
    Mistake(
        "across_words",
        across_words,
        "In the words 1 2 3 and 2 3 the only pairs are (1, 2) and (2, 3), got [(3, 1)] as well",
        "The words were laid end to end, so the last id of one became a neighbour of the first of "
        "the next. Such a pair would become a token that reaches across two words. Count inside "
        "each word.",
    ),
    Mistake(
        "last_pair_lost",
        last_pair_lost,
        _UNIT.format((2, 3), 4) + "0",
        "A word of n ids has n - 1 pairs, which begin at the places 0 to n - 2. `range(n - 2)` "
        "ends one too early; `itertools.pairwise(ids)` needs no bounds.",
    ),
    Mistake(
        "last_word_wins",
        last_word_wins,
        _UNIT.format((2, 3), 4) + "1",
        "The count of the last word replaced what the pair had before. Add to it: "
        "`counts[pair] = counts.get(pair, 0) + count`.",
    ),
    Mistake(
        "pairs_as_lists",
        pairs_as_lists,
        "count_pairs raised TypeError: unhashable type: 'list'",
        "A slice of a list is a list, and a list cannot be the key of a dictionary because it may "
        "change. Make it a tuple: `(ids[i], ids[i + 1])`.",
    ),
    Mistake(
        "once_a_word",
        once_a_word,
        "The word 1 2 1 2 holds the pair (1, 2) twice, got 1",
        "`set` leaves one of each pair of a word, so a pair that comes twice counts once. Joining "
        "it would save two ids in this word. Count every place.",
    ),
    Mistake(
        "unordered",
        unordered,
        "The word 1 2 1 2 holds the pair (1, 2) twice, got 3",
        "Sorting made (2, 1) the same as (1, 2). A token is a string, and `he` is another string "
        "than `eh`. The order within a pair counts.",
    ),
    Mistake(
        "without_overlaps",
        without_overlaps,
        "In the word 1 1 1 the pair (1, 1) stands at two places, which overlap; got 1",
        "After an occurrence the next id was skipped, as it is when a pair is joined. Counting "
        "goes by places, as Hugging Face's trainer does; with another rule the two learn "
        "different merges from the same text.",
    ),
)
