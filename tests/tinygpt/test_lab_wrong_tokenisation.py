"""Tokenisation: answers that are wrong in some regime are found, unusual right ones pass."""

from collections import Counter, defaultdict

import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, grade

MERGED = "return _merged(ids, left, right, new)"
WRONG = [
    (
        "count_pairs",
        "the_id_0_left_out",
        [("in pairwise(ids):", "in (p for p in pairwise(ids) if p[0]):")],
    ),
    (
        "count_pairs",
        "ids_below_a_limit",
        [("in pairwise(ids):", "in pairwise([i % 65536 for i in ids]):")],
    ),
    ("count_pairs", "the_first_ten_places", [("pairwise(ids)", "pairwise(ids[:10])")]),
    ("count_pairs", "counts_up_to_999", [("+ count", "+ min(count, 999)")]),
    (
        "merge_pair",
        "id_0_is_none",
        [(MERGED, "return _merged(ids, left, right, new) if left else list(ids)")],
    ),
    (
        "merge_pair",
        "joined_again",
        [(MERGED, "return _merged(_merged(ids, left, right, new), left, right, new)")],
    ),
    ("merge_pair", "the_same_list", [(":", "    if pair[0] not in ids: return ids")]),
    (
        "merge_pair",
        "the_first_32",
        [(MERGED, "return _merged(ids[:32], left, right, new) + ids[32:]")],
    ),
    ("learn_merges", "thirty_merges", [("first + num_merges", "first + min(num_merges, 30)")]),
    ("learn_merges", "ties_as_text", [("(-counts[pair], pair)", "(-counts[pair], str(pair))")]),
    (
        "learn_merges",
        "counts_in_the_hundreds",
        [("-counts[pair], pair", "-min(counts[pair], 999), pair")],
    ),
    ("learn_merges", "words_sorted", [("merges = []", "merges = []; words.sort()")]),
    ("merge_by_rank", "a_rank_of_0_is_none", [("if pair in ranks", "if ranks.get(pair)")]),
    (
        "merge_by_rank",
        "ten_rounds",
        [
            (
                "ids = list(ids)",
                "ids, ranks = list(ids), dict(sorted(ranks.items(), key=lambda item: "
                "item[1])[:10])",
            )
        ],
    ),
    ("merge_by_rank", "the_same_list", [("ids = list(ids)\n", "pass\n")]),
    ("merge_by_rank", "the_first_eight", [("pairwise(ids)", "pairwise(ids[:8])")]),
    ("decode_tokens", "the_id_0_left_out", [("for id_ in ids", "for id_ in ids if id_")]),
    ("decode_tokens", "stripped", [("errors='replace')", "errors='replace').strip()")]),
    ("decode_tokens", "mark_taken_away", [("'utf-8'", "'utf-8-sig'")]),
    (
        "decode_tokens",
        "one_sign_for_all_in_a_row",
        [
            ("return b''", "import re; return re.sub('\\ufffd+', '\\ufffd', b''"),
            ("errors='replace')", "errors='replace'))"),
        ],
    ),
    (
        "decode_tokens",
        "line_ends_changed",
        [("errors='replace')", "errors='replace').replace('\\r\\n', '\\n')")],
    ),
    ("split_special", "either_case", [("{pattern})', text)", "{pattern})', text, flags=re.I)")]),
    ("split_special", "blanks_lost", [("if part]", "if part.strip()]")]),
    ("split_special", "empty_text", [("[text] if text else []", "[text]")]),
    ("split_special", "two_tokens", [("in longest_first", "in longest_first[:2]")]),
    (
        "split_special",
        "some_signs_escaped",
        [("re.escape(token)", "re.escape(token).replace('\\\\^', '^')")],
    ),
    ("split_special", "list_cleared", [("return [part", "special_tokens.sort(); return [part")]),
]


@pytest.mark.parametrize(
    ("exercise", "changes"),
    [pytest.param(name, changes, id=f"{name}-{what}") for name, what, changes in WRONG],
)
def test_what_is_wrong_somewhere_is_found(exercise, changes):
    result = grade(lab.exercise(exercise), edited(exercise, *changes))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


def with_a_counter_of_zeros(words):
    counts = defaultdict(int)
    for ids, count in words:
        for left, right in zip(ids, ids[1:], strict=False):
            counts[left, right] += count
            counts[right, left] += 0
    return counts


def with_a_stack(ids, pair, new):
    left, right = pair
    merged, fresh = [], False
    for id_ in ids:
        if merged and fresh and merged[-1] == left and id_ == right:
            merged[-1], fresh = new, False
        else:
            merged.append(id_)
            fresh = True
    return merged


def on_lists_of_its_own(words, num_merges, first):
    pieces, learnt = [[list(ids), count] for ids, count in words], []
    while len(learnt) < num_merges:
        counts = Counter()
        for ids, count in pieces:
            for pair in zip(ids, ids[1:], strict=False):
                counts[pair] += count
        if not counts:
            break
        best = sorted(counts.items(), key=lambda item: (-item[1], *item[0]))[0][0]
        for piece in pieces:
            piece[0] = with_a_stack(piece[0], best, first + len(learnt))
        learnt += [best]
    return learnt


def by_sorted_ranks(ids, ranks):
    pieces = ids[:]
    while True:
        found = {ranks[p]: p for p in zip(pieces, pieces[1:], strict=False) if p in ranks}
        if not found:
            return pieces
        new = min(found)
        pieces = with_a_stack(pieces, found[new], new)


def through_bytearray(ids, tokens):
    data = bytearray()
    for id_ in ids:
        data += tokens[id_]
    return str(data, "utf-8", "replace")


def by_scanning(text, special_tokens):
    parts, start, place = [], 0, 0
    while place < len(text):
        fits = [s for s in special_tokens if text[place : place + len(s)] == s]
        if fits:
            token = sorted(fits, key=len)[-1]
            parts += [text[start:place], token]
            place = start = place + len(token)
        else:
            place += 1
    return list(filter(None, [*parts, text[start:]]))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("count_pairs", with_a_counter_of_zeros),
        ("merge_pair", with_a_stack),
        ("learn_merges", on_lists_of_its_own),
        ("merge_by_rank", by_sorted_ranks),
        ("decode_tokens", through_bytearray),
        ("split_special", by_scanning),
    ],
)
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message
