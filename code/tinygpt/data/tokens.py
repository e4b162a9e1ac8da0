"""A corpus as numbers on the disk: written piece by piece, read as a memory map.

A folder holds two files. `tokens.npy` is the numbers; `tokens.json` says of which text, with
which vocabulary, and the SHA-256 of `tokens.npy`. The second is written after the first, so
that what was interrupted, damaged or made of another text is seen and made anew.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from tinygpt.data.files import DataError, replacing, write_atomically
from tinygpt.data.vocabulary import Vocabulary
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


def smallest_dtype(vocabulary: Vocabulary) -> np.dtype:
    """The smallest unsigned integer that holds each of the vocabulary's numbers."""
    return np.min_scalar_type(len(vocabulary) - 1)


def encode(pieces: Iterable[str], vocabulary: Vocabulary) -> Integer[np.ndarray, " N"]:
    """The numbers of a text, in memory."""
    dtype = smallest_dtype(vocabulary)
    return np.concatenate([ids.astype(dtype) for ids in vocabulary.encode_stream(pieces)])


def kept_tokens(
    folder: Path, pieces: Pieces, vocabulary: Vocabulary, length: int, digest: str
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
        made = _write(path, pieces, vocabulary, length, digest)
        write_atomically(about, json.dumps(expected | made, indent=1).encode())
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
            header = file.read(_HEADER_SIZE)
            sha256 = hashlib.file_digest(file, "sha256")  # of what follows
        if found != expected | _about(found["tokens"], sha256, header):
            return None
        ids = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return ids if ids.shape == (found["tokens"],) else None


def _write(
    path: Path, pieces: Pieces, vocabulary: Vocabulary, length: int, digest: str
) -> dict[str, int | str]:
    """Write the numbers, in the order of the text, and return what there is to say of them."""
    dtype = smallest_dtype(vocabulary).newbyteorder("<")
    text, sha256, count = hashlib.sha256(), hashlib.sha256(), 0
    changed = DataError(f"{path}: the text changed while it was read; load it again")
    # Written and not mapped: a write to a full disk is an error, a write to a map ends Python.
    with replacing(path) as file:
        file.write(_header(dtype, 0))  # its place, until the tokens are counted
        try:
            stream = vocabulary.encode_stream(_noted(pieces(), text))
            for ids in map(lambda wide: wide.astype(dtype), stream):  # the wide ones are let go
                content = ids.tobytes()
                sha256.update(content)
                file.write(content)
                count += len(ids)
        except ValueError:  # a character that the survey did not see
            raise changed from None
        if text.hexdigest() != digest:
            raise changed
        header = _header(dtype, count)
        file.seek(0)
        file.write(header)
    return _about(count, sha256, header)


def _about(count: int, sha256, header: bytes) -> dict[str, int | str]:
    """How many numbers a file holds, and the digest of all of it: its header counts last."""
    sha256.update(header)
    return {"tokens": count, "sha256": sha256.hexdigest()}


def _header(dtype: np.dtype, number: int) -> bytes:
    """The head of an .npy file of this many numbers; NumPy makes it equally long for any."""
    header = io.BytesIO()
    about = {"descr": dtype.str, "fortran_order": False, "shape": (number,)}
    np.lib.format.write_array_header_1_0(header, about)
    return header.getvalue()


_HEADER_SIZE = len(_header(np.dtype("u1"), 0))


def _noted(pieces: Iterable[str], text) -> Iterator[str]:
    """The pieces, each added to the digest of the text."""
    for piece in pieces:
        text.update(piece.encode("utf-8"))
        yield piece
