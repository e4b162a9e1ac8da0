"""A tokenizer as JSON: what is written, and the checks when it is read."""

import json
import os
from collections.abc import Iterable, Sequence

from tinygpt import validate
from tinygpt.files import checked_path, write_whole
from tinygpt.tokenizers.alphabet import BYTES, from_visible, visible

KIND, VERSION = "byte-level BPE", 1


def to_json(tokens: Sequence[bytes], merges: Iterable, special_tokens: Sequence[str]) -> str:
    """A tokenizer as JSON. A merge is its two tokens in visible characters, as in "Ġ t"."""
    lines = [f"{visible(tokens[left])} {visible(tokens[right])}" for left, right in merges]
    content = {"kind": KIND, "version": VERSION, "special_tokens": list(special_tokens)}
    return json.dumps(content | {"merges": lines}, indent=1, ensure_ascii=False)


def from_json(where: str, text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """The merges and special tokens of what `to_json` wrote.

    Raises:
        TypeError, ValueError: the text is no string, or not what `to_json` writes.
    """
    validate.instance(where, "text", text, str)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{where}: is not whole JSON; save the tokenizer again") from None
    kind = found.get("kind") if isinstance(found, dict) else None
    if kind != KIND:
        raise ValueError(f"{where}: must have the kind {KIND!r}, got {validate.describe(kind)}")
    if (version := found.get("version")) != VERSION or isinstance(version, bool):
        raise ValueError(
            f"{where}: must be of version {VERSION}, got {validate.describe(version)}; save it "
            "again with this version of tinygpt"
        )
    lines, specials = found.get("merges"), found.get("special_tokens")
    for name, value in [("merges", lines), ("special_tokens", specials)]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ValueError(
                f"{where}: {name} must be a list of strings, got {validate.describe(value)}"
            )
    checked_special_tokens(where, specials)
    return _read_merges(where, lines, len(specials)), specials


def _read_merges(where: str, lines: list[str], first: int) -> list[tuple[int, int]]:
    known = {BYTES[n : n + 1]: first + n for n in range(256)}
    merges = []
    for number, line in enumerate(lines):
        left, _, right = line.partition(" ")
        pair = []
        for part in (left, right):
            try:
                pair.append(known[from_visible(part)])
            except KeyError:
                raise ValueError(
                    f"{where}: merge {number:,} refers to {part!r}, which is neither a byte nor "
                    "an earlier merge; the file is damaged"
                ) from None
        merges.append((pair[0], pair[1]))
        known.setdefault(from_visible(left) + from_visible(right), first + 256 + number)
    return merges


def checked_merges(where: str, merges: Iterable, first: int):
    """Return merges as pairs of ids, and the bytes of each new token.

    Raises:
        TypeError, ValueError: they are no list, or one is no pair of ids of bytes or earlier
            merges, or makes a token that there is already.
    """
    merges = validate.iterable(where, "merges", merges, "pairs of ids")
    tokens = [BYTES[n : n + 1] for n in range(256)]
    checked, known = [], set(tokens)
    for number, pair in enumerate(merges):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"{where}: merge {number:,} must be a pair of ids, got {validate.describe(pair)}"
            )
        left, right = (
            validate.integer(where, f"merge {number:,}", id_, first, first + len(tokens) - 1)
            for id_ in pair
        )
        token = tokens[left - first] + tokens[right - first]
        if token in known:
            raise ValueError(
                f"{where}: merge {number:,} makes {visible(token)!r}, which is a token already"
            )
        known.add(token)
        tokens.append(token)
        checked.append((left, right))
    return tuple(checked), tokens[256:]


def checked_special_tokens(where: str, special_tokens) -> tuple[str, ...]:
    """Return special tokens as a tuple.

    Raises:
        TypeError, ValueError: they are no list of strings, or one is empty, comes twice, or
            holds half a character.
    """
    if isinstance(special_tokens, str) or not isinstance(special_tokens, Sequence):
        raise TypeError(
            f"{where}: special_tokens must be a list of strings, got "
            f"{validate.describe(special_tokens)}"
        )
    for number, token in enumerate(special_tokens):
        validate.instance(where, "a special token", token, str)
        if not token or token in special_tokens[:number]:
            raise ValueError(
                f"{where}: each special token must be a string of its own, at least one "
                f"character long, got {token!r}{' twice' if token else ''}"
            )
        try:
            token.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                f"{where}: the special token {token!r} holds half a character"
            ) from None
    return tuple(special_tokens)


def write(where: str, path: str | os.PathLike, text: str) -> None:
    """Write a tokenizer's JSON to a file, whole or not at all."""
    write_whole(where, path, (text + "\n").encode("utf-8"))


def read(where: str, path: str | os.PathLike) -> str:
    """Return a file's text.

    Raises:
        FileNotFoundError, OSError: there is no file, or it cannot be read.
        ValueError: it is not text in UTF-8.
    """
    path = checked_path(where, path)
    if os.path.isdir(path):
        raise IsADirectoryError(f"{where}: path {str(path)!r} is a directory; name a file")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{where}: there is no file at path {str(path)!r}")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"{where}: {str(path)!r} is not text in UTF-8; save the tokenizer again"
        ) from None
    except OSError as error:
        raise OSError(f"{where}: could not read {str(path)!r}: {error.strerror}") from error
