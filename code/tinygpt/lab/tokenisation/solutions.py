"""Answers to learn from. The package's own versions do less work for the same results."""

import re
from itertools import pairwise

from tinygpt.tokenizers import count_pairs, merge_pair, pretokenize_stream


def learn_merges(words, num_merges, first):
    """Join the most frequent pair of neighbours into a new id, again and again."""
    merges = []
    for new in range(first, first + num_merges):
        counts = count_pairs(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        joined = []
        for ids, count in words:
            merged = merge_pair(ids, best, new)
            joined.append((merged, count))
        words = joined
        merges.append(best)
    return merges


def merge_by_rank(ids, ranks):
    """Join pairs until none is left to join: always the pair that was learnt first."""
    ids = list(ids)
    while known := [pair for pair in pairwise(ids) if pair in ranks]:
        best = min(known, key=ranks.get)
        ids = merge_pair(ids, best, ranks[best])
    return ids


def decode_tokens(ids, tokens):
    """Return the text of a list of ids."""
    return b"".join(tokens[id_] for id_ in ids).decode("utf-8", errors="replace")


def split_special(text, special_tokens):
    """Cut a text so that each special token in it stands alone."""
    if not special_tokens:
        return [text] if text else []
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = "|".join(re.escape(token) for token in longest_first)
    return [part for part in re.split(f"({pattern})", text) if part]


def split_special_as_the_package(text, special_tokens):
    """What the package's own splitting says, with its pieces joined again."""
    parts = []
    for pieces, special in pretokenize_stream([text], special_tokens):
        parts += ["".join(pieces), special or ""]
    return [part for part in parts if part]
