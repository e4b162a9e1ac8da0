"""Checks on words, merges, bytes and texts drawn at random, with the id 0 among them."""

import re

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.undisturbed import undisturbed

# ---- counting, joining, learning ----------------------------------------------------------------


def test_drawn_count_pairs(count_pairs):
    """Words of any length and any ids, 0 and large ones too, that occur any number of times."""
    for case in cases(31, 10, words=range(1, 30), largest=(1, 70_000, 3, 12, 300)):
        words = _words(case)
        with undisturbed("count_pairs", words=words):
            found = count_pairs(words)
        expected = _counted(words)
        _agree(
            f"In {case.words} drawn words of ids up to {case.largest}",
            {pair: count for pair, count in found.items() if count},
            expected,
        )


def test_drawn_merge_pair(merge_pair):
    """Long lists of few ids; the new id may be one of the pair, and the list is a new one."""
    for case in cases(32, 16, length=range(60), largest=(1, 2, 70_000, 4)):
        few = [int(id_) for id_ in case.integers(0, case.largest + 1, 3)]
        ids = [few[int(place)] for place in case.integers(0, 3, case.length)]
        pair = few[0], few[int(case.rng.integers(2))]
        new = int(case.rng.choice([*pair, 0, case.largest + 7]))
        with undisturbed("merge_pair", ids=ids, pair=pair):
            found = merge_pair(ids, pair, new)
        what = f"Joining {pair} to {new} in {ids}"
        _agree(what, found, _joined(ids, pair, new))
        require(found is not ids, "merge_pair should return a new list, got the one given to it")


def test_drawn_learn_merges(learn_merges):
    """Many words, many merges, many ties; any first id."""
    for case in cases(33, 8, words=(3, 40, 12), largest=(2, 300, 20), merges=(60, 1, 9, 25)):
        words = _words(case, longest=9)
        first = case.largest + 1 + int(case.rng.integers(2)) * 1000
        with undisturbed("learn_merges", words=words):
            found = learn_merges(words, case.merges, first)
        expected, joined = [], [ids for ids, _ in words]
        for new in range(first, first + case.merges):
            counts = _counted([(ids, c) for ids, (_, c) in zip(joined, words, strict=True)])
            if not counts:
                break
            most = max(counts.values())
            expected.append(min(pair for pair, count in counts.items() if count == most))
            joined = [_joined(ids, expected[-1], new) for ids in joined]
        wrong = [n for n, pair in enumerate(expected) if found[n : n + 1] != [pair]]
        require(
            not wrong and len(found) == len(expected),
            f"Of {len(expected)} merges from {case.words} drawn words number "
            f"{wrong[0] + 1 if wrong else len(expected) + 1} is wrong",
        )


def _words(case, longest=12) -> list[tuple[list[int], int]]:
    words = {}
    for _ in range(case.words):
        ids = case.integers(0, case.largest + 1, int(case.rng.integers(longest + 1)))
        words[tuple(ids.tolist())] = int(case.rng.choice([1, 2, 2, 3, 1000]))
    return [(list(ids), count) for ids, count in words.items()]


def _counted(words) -> dict[tuple[int, int], int]:
    counts = {}
    for ids, count in words:
        for place in range(1, len(ids)):
            pair = ids[place - 1], ids[place]
            counts[pair] = counts.get(pair, 0) + count
    return counts


def _joined(ids, pair, new) -> list[int]:
    """The leftmost occurrence, then all that is to its right."""
    for place in range(1, len(ids)):
        if (ids[place - 1], ids[place]) == pair:
            return [*ids[: place - 1], new, *_joined(ids[place + 1 :], pair, new)]
    return list(ids)


# ---- encoding and decoding ----------------------------------------------------------------------


def test_drawn_merge_by_rank(merge_by_rank):
    """Long pieces and many merges, listed in any order, from the id 0 on."""
    lengths = (120, 0, 1, 2, 200, 9)
    for case in cases(34, 10, length=lengths, letters=(2, 3, 6), known=(60, 1, 8, 20)):
        first = int(case.rng.choice([0, 256]))
        letters = 1000 if first == 0 else 0
        ids = (letters + case.integers(0, case.letters, case.length)).tolist()
        ranks, joined = {}, ids
        for new in range(first, first + case.known):  # learnt from the piece, so that all matter
            if len(joined) > 1:
                place = int(case.rng.integers(1, len(joined)))
                ranks[joined[place - 1], joined[place]] = new
                joined = _joined(joined, (joined[place - 1], joined[place]), new)
        order = case.rng.permutation(len(ranks))
        ranks = dict([list(ranks.items())[int(place)] for place in order])
        if case.rng.random() < 0.5:
            ids = [ids[int(place)] for place in case.rng.permutation(len(ids))]
        with undisturbed("merge_by_rank", ids=ids, ranks=ranks):
            found = merge_by_rank(ids, ranks)
        expected = ids
        while True:
            pairs = [pair for pair in zip(expected, expected[1:], strict=False) if pair in ranks]
            if not pairs:
                break
            best = min(pairs, key=lambda pair: ranks[pair])
            expected = _joined(expected, best, ranks[best])
        _agree(f"With {len(ranks)} drawn merges {_start(ids)}", found, list(expected))
        require(found is not ids, "merge_by_rank should return a new list, got the one given to it")


def test_drawn_decode_tokens(decode_tokens):
    """Any bytes and any text, cut anywhere; the id 0, blanks, line ends and the mark U+FEFF."""
    texts = ("\ufeff \r\n\x00é🚀 \n", " a\tb ", "ß" * 9, "漢字\u2028e\u0301", "")
    for case in cases(35, 10, text=texts, broken=(0.0, 0.3), known=(3, 300, 20)):
        tokens = [bytes(case.integers(0, 256, int(n)).tolist()) for n in case.integers(0, 4, 256)]
        data, cut = case.text.encode(), 0
        parts = []
        while cut < len(data):
            end = cut + int(case.rng.integers(1, 4))
            parts.append(data[cut:end])
            cut = end
        tokens = [*parts, *tokens, *([b"."] * case.known)]
        ids = list(range(len(parts)))
        if case.broken:
            ids += case.integers(0, len(tokens), 20).tolist()
        with undisturbed("decode_tokens", ids=ids, tokens=tokens):
            found = decode_tokens(ids, tokens)
        expected = b"".join(tokens[id_] for id_ in ids).decode("utf-8", "replace")
        require(
            found == expected,
            f"The bytes {b''.join(tokens[id_] for id_ in ids)!r} should give the text "
            f"{expected!r}, got {found!r}",
        )


# ---- special tokens -----------------------------------------------------------------------------

_ALPHABETS = ("ab", "<|>", "a.*\\", "A a\n", "()[]{}+?^$|")


def test_drawn_split_special(split_special):
    """Texts and tokens of few letters, with those that patterns give a meaning; blanks stay."""
    _cut(split_special, "", [])
    _cut(split_special, "\n<s>\n \n<s> x", ["<s>"])
    for letters in _ALPHABETS:
        _cut(split_special, f"x{'xx'.join(letters)}x", list(letters))
    for case in cases(36, 20, letters=_ALPHABETS, length=range(40), tokens=range(5)):
        text = "".join(case.rng.choice(list(case.letters), case.length))
        made = {
            "".join(case.rng.choice(list(case.letters), int(case.rng.integers(1, 4))))
            for _ in range(case.tokens)
        }
        special = sorted(made, key=lambda token: (len(token), token))
        _cut(split_special, text, [special[int(n)] for n in case.rng.permutation(len(special))])


def _cut(split_special, text, special):
    with undisturbed("split_special", special_tokens=special):
        found = split_special(text, special)
    expected, plain, place = [], "", 0
    while place < len(text):
        here = [token for token in special if text.startswith(token, place)]
        if here:
            longest = max(here, key=len)
            expected += [plain, longest]
            plain, place = "", place + len(longest)
        else:
            plain, place = plain + text[place], place + 1
    expected = [part for part in [*expected, plain] if part]
    _agree(f"With the special tokens {special} the text {text!r}", found, expected)


# ---- all ----------------------------------------------------------------------------------------


def _agree(what, found, expected):
    require(found == expected, f"{what} should give {_start(expected)}, got {_start(found)}")


def _start(value) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) < 160 else text[:160] + " …"
