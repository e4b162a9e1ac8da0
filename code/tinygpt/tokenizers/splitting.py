"""Where a text may be cut: into words with the space before them, numbers, and marks.

The pattern is that of GPT-2. Merges happen inside a piece and never across two.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

import numpy as np

from tinygpt import validate
from tinygpt.shapes import Shaped
from tinygpt.tokenizers.unicode import LETTERS, NUMBERS, SPACES

# The pattern asks of what kind a character is, so one for ASCII is enough: see `_kinds`.
PATTERN = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)
_BLOCK = 1 << 16  # characters


def pretokenize(text: str) -> list[str]:
    """Cut a text into pieces; joined they are the text.

    At each place the first of these that fits is a piece: an English ending ('s 't 're 've 'm
    'll 'd); letters, numbers, or other marks, each with one space before them if there is one;
    spaces up to the last one before something else; spaces.

    Source: Radford et al. (2019), the pattern of GPT-2's encoder.

    Raises:
        TypeError, ValueError: the text is no string, or holds half a character (a lone
            surrogate, which no file in UTF-8 can hold).
    """
    validate.instance("pretokenize", "text", text, str)
    if text.isascii():
        return PATTERN.findall(text)
    return [text[slice(*found.span())] for found in PATTERN.finditer(_kinds(text))]


def pretokenize_stream(
    chunks: Iterable[str], special_tokens: Iterable[str] = ()
) -> Iterator[tuple[list[str], str | None]]:
    """Cut a text that comes in chunks, at the same places wherever the chunks end.

    No more of the text is held than a block and its longest piece.

    Args:
        chunks: the text, in order.
        special_tokens: strings that are taken out whole before anything else is cut, the
            longest where several begin at the same place.

    Yields:
        Pieces, and the special token that follows them, or None.

    Raises:
        TypeError, ValueError: a chunk is no string, or holds half a character.
    """
    special_tokens = sorted(special_tokens, key=len, reverse=True)
    special = re.compile("|".join(map(re.escape, special_tokens)) or r"(?!)")
    longest = len(special_tokens[0]) if special_tokens else 1
    pending, parts, size = "", [], 0
    for part in chain(_blocks(chunks), [None]):
        final = part is None
        if not final:
            parts.append(part)
            size += len(part)
            if size < max(_BLOCK, len(pending)):  # a long piece is not searched for each chunk
                continue
        text, start = "".join([pending, *parts]), 0
        decided = len(text) if final else len(text) - longest + 1  # which specials begin before it
        for found in special.finditer(text):
            if found.start() >= decided:
                break
            yield pretokenize(text[start : found.start()]), found.group()
            start = found.end()
        stop = max(start, decided)
        pieces = pretokenize(text[start:stop])
        if not final:
            # What follows may lengthen the last piece, or make 're of ' and r.
            held, pieces = pieces[-2:], pieces[:-2]
            stop -= sum(map(len, held))
        yield pieces, None
        pending, parts, size = text[stop:], [], 0


def _blocks(chunks: Iterable[str]) -> Iterator[str]:
    if isinstance(chunks, bytes) or not isinstance(chunks, Iterable):
        raise TypeError(
            "pretokenize: text must be a string or its chunks, strings in order, "
            f"got {validate.describe(chunks)}"
        )
    for chunk in chunks:
        validate.instance("pretokenize", "text", chunk, str)
        for start in range(0, len(chunk), _BLOCK):
            yield chunk[start : start + _BLOCK]


def _kinds(text: str) -> str:
    """A text of the same length in which ASCII stands for each character's kind.

    Any letter is an a, any number a 0, any space a tab, and anything else a vertical bar;
    characters of ASCII are themselves.
    """
    try:
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"pretokenize: text holds {text[error.start]!r}, half a character; read it as UTF-8"
        ) from None
    return _table()[codes].tobytes().decode("ascii")


@cache
def _table() -> Shaped[np.ndarray, "1114112"]:
    """The stand-in of every code point, as ASCII."""
    table = np.full(0x110000, ord("|"), dtype=np.uint8)
    for stand_in, ranges in {"a": LETTERS, "0": NUMBERS, "\t": SPACES}.items():
        for each in ranges.split():
            first, _, last = each.partition("-")
            table[int(first, 16) : int(last or first, 16) + 1] = ord(stand_in)
    table[:0x80] = np.arange(0x80)
    return table
