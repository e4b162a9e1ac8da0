"""Checks of encoding, decoding and special tokens."""

from tinygpt.lab.definitions import kind_of, require

# ---- encoding -----------------------------------------------------------------------------------


def test_unit_merge_by_rank(merge_by_rank):
    """The pair that was learnt first is joined first, wherever it stands."""
    _encoded(merge_by_rank, [1, 2, 3], {(1, 2): 10, (2, 3): 11}, [10, 3])
    _encoded(merge_by_rank, [1, 2, 3], {(2, 3): 10, (1, 2): 11, (1, 10): 12}, [12])
    _encoded(merge_by_rank, [1, 2, 3], {(1, 2): 10, (10, 3): 11}, [11])


def test_edges_merge_by_rank(merge_by_rank):
    """Every occurrence; pairs that were never learnt; merges of merges; short pieces."""
    _encoded(merge_by_rank, [1, 2, 1, 2], {(1, 2): 10}, [10, 10])
    _encoded(merge_by_rank, [1, 2, 1, 2], {(1, 2): 10, (10, 10): 11}, [11])
    _encoded(merge_by_rank, [1, 1, 1], {(1, 1): 10}, [10, 1])
    _encoded(merge_by_rank, [5, 6], {(1, 2): 10}, [5, 6])
    longer = {(3, 4): 10, (1, 2): 11, (11, 3): 12, (12, 4): 13}
    _encoded(merge_by_rank, [1, 2, 3, 4], longer, [11, 10])
    _encoded(merge_by_rank, [1, 2, 3], {(2, 3): 11, (1, 2): 10}, [10, 3])
    for ids in ([], [1]):
        _encoded(merge_by_rank, ids, {(1, 2): 10}, ids)


def _encoded(merge_by_rank, ids, ranks, expected):
    given, known = list(ids), dict(ranks)
    found = merge_by_rank(given, known)
    require(isinstance(found, list), f"merge_by_rank should return a list, got {kind_of(found)}")
    require(
        found == expected,
        f"With the merges {ranks} the ids {ids} should become {expected}, got {found}",
    )
    same = given == ids and known == ranks
    require(same, "merge_by_rank should leave its input as it was; it changed it")


# ---- decoding -----------------------------------------------------------------------------------


def test_unit_decode_tokens(decode_tokens):
    """The bytes are joined before they become characters."""
    _decoded(decode_tokens, [b"the", b" end"], "the end")
    _decoded(decode_tokens, [b"caf", b"\xc3", b"\xa9"], "café")
    _decoded(decode_tokens, [b"\xf0\x9f", b"\x9a\x80!"], "🚀!")


def test_edges_decode_tokens(decode_tokens):
    """Bytes that are no UTF-8 become U+FFFD; no ids are no text."""
    _decoded(decode_tokens, [b"a", b"\xff", b"b"], "a\ufffdb")
    _decoded(decode_tokens, [b"caf", b"\xc3"], "caf\ufffd")
    _decoded(decode_tokens, [], "")


def _decoded(decode_tokens, parts, expected):
    found = decode_tokens(list(range(1, len(parts) + 1)), [b"-", *parts])
    require(isinstance(found, str), f"decode_tokens should return a string, got {kind_of(found)}")
    require(
        found == expected,
        f"The tokens {parts} should give the text {expected!r}, got {found!r}",
    )


# ---- special tokens -----------------------------------------------------------------------------


def test_unit_split_special(split_special):
    """Each special token stands alone, and the rest is there too."""
    end = "<|end|>"
    _split(split_special, "yes<|end|>no", [end], ["yes", end, "no"])
    _split(split_special, "no token", [end], ["no token"])
    _split(split_special, "a<s>b</s>", ["<s>", "</s>"], ["a", "<s>", "b", "</s>"])


def test_edges_split_special(split_special):
    """At the ends, side by side, the longest of several, and no special tokens at all."""
    _split(split_special, "<s><s>a", ["<s>"], ["<s>", "<s>", "a"])
    _split(split_special, "a<s>", ["<s>"], ["a", "<s>"])
    _split(split_special, "a<s>>b", ["<s>", "<s>>"], ["a", "<s>>", "b"])
    _split(split_special, "a.b", ["."], ["a", ".", "b"])
    _split(split_special, "abcd", ["ab", "bcd"], ["ab", "cd"])
    _split(split_special, "ab", [], ["ab"])
    _split(split_special, "", ["<s>"], [])


def _split(split_special, text, special_tokens, expected):
    given = list(special_tokens)
    found = split_special(text, given)
    require(isinstance(found, list), f"split_special should return a list, got {kind_of(found)}")
    require(
        found == expected,
        f"With the special tokens {special_tokens} the text {text!r} should be cut into "
        f"{expected}, got {found}",
    )
    same = given == special_tokens
    require(same, "split_special should leave special_tokens as they were; it changed them")
