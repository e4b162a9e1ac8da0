"""Wrong versions of splitting at special tokens."""

import re

from tinygpt.lab.definitions import Mistake


def tokens_lost(text, special_tokens):
    if not special_tokens:
        return [text]
    pattern = "|".join(re.escape(token) for token in special_tokens)
    return [part for part in re.split(pattern, text) if part]


def not_escaped(text, special_tokens):
    if not special_tokens:
        return [text]
    return [part for part in re.split("(" + "|".join(special_tokens) + ")", text) if part]


def empty_parts(text, special_tokens):
    if not special_tokens:
        return [text]
    longest_first = sorted(special_tokens, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


def first_listed(text, special_tokens):
    if not special_tokens:
        return [text]
    pattern = "|".join(re.escape(token) for token in special_tokens)
    return [part for part in re.split(f"({pattern})", text) if part]


def no_tokens_at_all(text, special_tokens):
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = "|".join(re.escape(token) for token in longest_first)
    return [part for part in re.split(f"({pattern})", text) if part]


def only_one_kind(text, special_tokens):
    for token in special_tokens:
        if token in text:
            return [part for part in re.split(f"({re.escape(token)})", text) if part]
    return [text] if text else []


def longest_everywhere(text, special_tokens):
    parts = [text]
    for token in sorted(special_tokens, key=len, reverse=True):
        cut = []
        for part in parts:
            whole = part in special_tokens
            cut += [part] if whole else re.split(f"({re.escape(token)})", part)
        parts = cut
    return [part for part in parts if part]


def list_sorted(text, special_tokens):
    if not special_tokens:
        return [text] if text else []
    special_tokens.sort(key=len, reverse=True)
    pattern = "|".join(re.escape(token) for token in special_tokens)
    return [part for part in re.split(f"({pattern})", text) if part]


def at_spaces(text, special_tokens):
    return [part for part in re.split(r"(\s+)", text) if part]


MISTAKES = (
    Mistake(
        "longest_everywhere",
        longest_everywhere,
        "With the special tokens ['ab', 'bcd'] the text 'abcd' should be cut into ['ab', 'cd'], "
        "got ['a', 'bcd']",
        "One special token was searched for after the other, so a longer one won over one that "
        "begins before it. Read from the left, with all of them in one pattern.",
    ),
    Mistake(
        "list_sorted",
        list_sorted,
        "split_special should leave special_tokens as they were; it changed them",
        "`list.sort` sorts the list that was handed in, and in it the place of a special token is "
        "its id. `sorted` makes a new list.",
    ),
    Mistake(
        "at_spaces",
        at_spaces,
        "With the special tokens ['<|end|>'] the text 'yes<|end|>no' should be cut into ['yes', "
        "'<|end|>', 'no'], got ['yes<|end|>no']",
        "The text was cut at spaces, and a special token need not have any around it. Left to "
        "BPE it would become several ordinary tokens. Look for the special tokens themselves.",
    ),
    Mistake(
        "tokens_lost",
        tokens_lost,
        "With the special tokens ['<|end|>'] the text 'yes<|end|>no' should be cut into ['yes', "
        "'<|end|>', 'no'], got ['yes', 'no']",
        "`re.split` throws away what it cuts at, so the special token is gone. With brackets "
        "around the pattern, `(…)`, it keeps it.",
    ),
    Mistake(
        "not_escaped",
        not_escaped,
        "With the special tokens ['<|end|>'] the text 'yes<|end|>no' should be cut into ['yes', "
        "'<|end|>', 'no'], got ['yes', '<', '|', 'end', '|', '>', 'no']",
        "In a regular expression `|` means or: `<|end|>` stands for any of `<`, `end`, `>`. "
        "`re.escape` makes each character mean itself.",
    ),
    Mistake(
        "only_one_kind",
        only_one_kind,
        "With the special tokens ['<s>', '</s>'] the text 'a<s>b</s>' should be cut into ['a', "
        "'<s>', 'b', '</s>'], got ['a', '<s>', 'b</s>']",
        "The function returns after the first special token that occurs. Search for all of them "
        "at once, with one pattern that lists them: `a|b|c`.",
    ),
    Mistake(
        "empty_parts",
        empty_parts,
        "With the special tokens ['<s>', '</s>'] the text 'a<s>b</s>' should be cut into ['a', "
        "'<s>', 'b', '</s>'], got ['a', '<s>', 'b', '</s>', '']",
        "Between two cuts that touch, and before a cut at an end, `re.split` gives an empty "
        "string. It stands for nothing, so leave it out.",
    ),
    Mistake(
        "first_listed",
        first_listed,
        "With the special tokens ['<s>', '<s>>'] the text 'a<s>>b' should be cut into ['a', "
        "'<s>>', 'b'], got ['a', '<s>', '>b']",
        "In `a|b` the first alternative that fits wins, not the longest. Sort the special tokens "
        "by their length, the longest first.",
    ),
    Mistake(
        "no_tokens_at_all",
        no_tokens_at_all,
        "With the special tokens [] the text 'ab' should be cut into ['ab'], got ['a', 'b']",
        "Without special tokens the pattern is empty, and an empty pattern fits everywhere. Then "
        "there is nothing to cut at; return the text as it is.",
    ),
)
