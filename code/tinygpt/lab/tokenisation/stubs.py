"""Tokenisation: six pieces to write, in plain Python. Read the chapter beside them.

    tinygpt lab check tokenisation                check all six
    tinygpt lab check tokenisation count_pairs    check one
    tinygpt lab hint tokenisation count_pairs     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
`tokenizers.count_pairs` and the others there are the book's own.
"""

# ruff: noqa: F401
import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from tinygpt import tokenizers


def count_pairs(words):
    """Count the pairs of neighbouring ids, each word as often as it occurs.

    Args:
        words: list of (ids, count): the ids of a distinct word, and how often the text has it.

    Returns:
        A dictionary from each pair, a tuple of two ids, to its count. A pair counts at every
        place where it stands, also where two places overlap; never from one word to the next.
    """
    raise NotImplementedError


def merge_pair(ids, pair, new):
    """Replace each occurrence of a pair by one id, from the left, without overlaps.

    Args:
        ids: list of ids. It stays as it is.
        pair: tuple of two ids.
        new: the id that takes their place.

    Returns:
        A new list of ids.
    """
    raise NotImplementedError


def learn_merges(words, num_merges, first):
    """Join the most frequent pair of neighbours into a new id, again and again.

    Args:
        words: list of (ids, count), as for `count_pairs`. It stays as it is.
        num_merges: the most merges to learn; fewer when there is no pair left.
        first: id of the first merge; the next ones follow.

    Returns:
        List of the pairs, in the order in which they were joined. Of equally frequent pairs
        the one that is smaller as a tuple comes first.
    """
    raise NotImplementedError


def merge_by_rank(ids, ranks):
    """Join pairs until none is left to join: always the pair that was learnt first.

    Args:
        ids: list of ids of one piece. It stays as it is.
        ranks: dictionary from each pair that was learnt to its id. A smaller id was learnt
            earlier.

    Returns:
        A new list of ids.
    """
    raise NotImplementedError


def decode_tokens(ids, tokens):
    """Return the text of a list of ids.

    Args:
        ids: list of ids.
        tokens: list of bytes objects: what each id stands for.

    Returns:
        A string. Bytes that are no UTF-8 become U+FFFD, as with errors="replace".
    """
    raise NotImplementedError


def split_special(text, special_tokens):
    """Cut a text so that each special token in it stands alone.

    Args:
        text: any string.
        special_tokens: list of strings. It stays as it is. The text is read from the left;
            where several begin at the same place, the longest one is taken.

    Returns:
        List of strings, none of them empty. Joined they are the text.
    """
    raise NotImplementedError
