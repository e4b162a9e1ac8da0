"""A corpus as numbers on the disk: written piece by piece, read as a memory map.

A folder holds two files. `tokens.npy` is the numbers; `tokens.json` says of which text, with
which vocabulary, and the SHA-256 of `tokens.npy`. The second is written after the first, so
that what was interrupted, damaged or made of another text is seen and made anew.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from tinygpt.data.files import DataError, replacing, write_atomically
from tinygpt.data.vocabulary import CharVocabulary
from tinygpt.shapes import Integer

Pieces = Callable[[], Iterable[str]]


def survey(pieces: Iterable[str]) -> tuple[str, int, str]:
    """The distinct characters of a text, its length, and the SHA-256 of it as UTF-8."""
    characters, length, digest = set(), 0, hashlib.sha256()
    for piece in pieces:
        characters.update(piece)
        length += len(piece)
        digest.update(piece.encode("utf-8"))
    return "".join(sorted(characters)), length, digest.hexdigest()


def smallest_dtype(vocabulary: CharVocabulary) -> np.dtype:
    """The smallest unsigned integer that holds each of the vocabulary's numbers."""
    return np.min_scalar_type(len(vocabulary) - 1)


def encode(pieces: Iterable[str], vocabulary: CharVocabulary) -> Integer[np.ndarray, " N"]:
    """The numbers of a text, in memory."""
    dtype = smallest_dtype(vocabulary)
    return np.concatenate([vocabulary.encode(piece).astype(dtype) for piece in pieces])


def kept_tokens(
    folder: Path, pieces: Pieces, vocabulary: CharVocabulary, length: int, digest: str
) -> Integer[np.ndarray, " N"]:
    """The numbers of a text, memory-mapped from `folder`, where they are written if need be.

    Args:
        folder: where `tokens.npy` and `tokens.json` are kept.
        pieces: gives the text anew at each call.
        vocabulary, length, digest: what `survey` found of it.

    Raises:
        DataError: the folder cannot be written to, or the text changed since the survey.
    """
    path, about = folder / "tokens.npy", folder / "tokens.json"
    expected = {"text": digest, "length": length, "vocabulary": vocabulary.to_json()}
    if (ids := _read(path, about, expected)) is None:
        sha256 = _write(path, pieces, vocabulary, length, digest)
        write_atomically(about, json.dumps(expected | {"sha256": sha256}, indent=1).encode())
        if (ids := _read(path, about, expected)) is None:
            raise DataError(
                f"{path}: is not what was just written; see that the disk is sound and that "
                "nothing else writes to the folder"
            )
    return ids


def _read(path: Path, about: Path, expected: dict) -> np.ndarray | None:
    """The memory map, or None for anything but the whole file of the expected text."""
    try:
        found = json.loads(about.read_bytes())
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected | {"sha256": sha256}:
            return None
        ids = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, RecursionError):
        return None
    return ids if ids.shape == (expected["length"],) else None


def _write(path: Path, pieces: Pieces, vocabulary: CharVocabulary, length: int, digest: str) -> str:
    """Write the numbers, in the order of the text, and return the file's SHA-256."""
    dtype = smallest_dtype(vocabulary).newbyteorder("<")
    header = io.BytesIO()
    about = {"descr": dtype.str, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(header, about)
    text, sha256 = hashlib.sha256(), hashlib.sha256(header.getvalue())
    changed = DataError(f"{path}: the text changed while it was read; load it again")
    # Written and not mapped: a write to a full disk is an error, a write to a map ends Python.
    with replacing(path) as file:
        file.write(header.getvalue())
        for piece in pieces():
            text.update(piece.encode("utf-8"))
            try:
                content = vocabulary.encode(piece).astype(dtype).tobytes()
            except ValueError:  # a character that the survey did not see
                raise changed from None
            sha256.update(content)
            file.write(content)
        if text.hexdigest() != digest:
            raise changed
    return sha256.hexdigest()
