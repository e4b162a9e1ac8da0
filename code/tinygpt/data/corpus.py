"""A corpus to train on: its vocabulary, and its numbers in two parts."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tinygpt import validate
from tinygpt.data import corpora, tokens
from tinygpt.data.batches import check_fraction, train_val_split
from tinygpt.data.files import DataError
from tinygpt.data.text import read_pieces, text_files
from tinygpt.data.vocabulary import CharVocabulary, Vocabulary
from tinygpt.shapes import Integer
from tinygpt.tokenizers import ByteBPE

_PIECE = 1 << 18  # characters


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text as numbers, split in two.

    Attributes:
        name: what it is called: shakespeare, tinyshakespeare, or the file's or folder's name.
        vocabulary: its characters, or a tokenizer.
        train: the numbers to train on, the smallest unsigned integers that hold them.
        validation: those that follow, to measure the model on.
        digest: the SHA-256 of the whole text as UTF-8. Another digest is another text.
        source: what `load_corpus` was asked for, so that a run can be taken up again.
    """

    name: str
    vocabulary: Vocabulary
    train: Integer[np.ndarray, " N1"]
    validation: Integer[np.ndarray, " N2"]
    digest: str
    source: str = ""


def load_corpus(
    source: str | os.PathLike = "shakespeare",
    folder: str | os.PathLike | None = None,
    train_fraction: float = 0.9,
    tokenizer: Vocabulary | int | None = None,
) -> Corpus:
    """Read a text, number its characters or tokens, and split it, alike on every machine.

    Files are read as UTF-8. Each end of a line is a line feed, however the file writes it,
    and a byte-order mark is left out. A folder's text files (.txt and .md, also in
    subfolders, not hidden ones) follow each other in the order of their names.

    Args:
        source: "shakespeare" (all plays), "tinyshakespeare" (the field's usual excerpt), or
            the path of a text file or of a folder of text files. A file that has one of the
            two names is given as a `Path` or as "./shakespeare".
        folder: where to keep the numbers. They are then memory-mapped, and neither the text
            nor its numbers are ever in memory as a whole, so that a corpus may be larger
            than it. What is kept there is used again only for the same text, and only when
            it is whole. Without a folder the numbers are in memory.
        train_fraction: the part to train on, between 0 and 1; the rest is for validation.
        tokenizer: None numbers the characters of the text. A ByteBPE numbers its tokens, a
            CharVocabulary its characters; an integer is the size of a ByteBPE that is trained
            on the same part of the text.

    Raises:
        TypeError, ValueError: an argument is of another kind or out of range.
        DataError: the text cannot be read or is too short, or the folder cannot be written to.
    """
    check_fraction("load_corpus", train_fraction)
    name, pieces = _open(source)
    characters, length, digest = tokens.survey(pieces())
    if length < 2:
        given = "is empty" if length == 0 else "has one character"
        raise DataError(f"{source} {given}; give a text with something to predict")
    if len(characters) == 1:
        raise DataError(
            f"{source} has one distinct character, {characters!r}, in {length:,} places; give a "
            "text with something to predict"
        )
    vocabulary = _vocabulary(tokenizer, characters, pieces, int(train_fraction * length))
    if folder is None:
        ids = tokens.encode(pieces(), vocabulary)
    else:
        folder = _path("folder", folder)
        ids = tokens.kept_tokens(folder, pieces, vocabulary, length, digest)
    split = train_val_split(ids, train_fraction)
    known = source if name == source else os.path.realpath(_path("source", source))
    return Corpus(name, vocabulary, *split, digest, known)


def text_of(source: str | os.PathLike) -> Iterator[str]:
    """The text that `load_corpus` reads for this source, piece by piece.

    Raises:
        TypeError, ValueError: source is no path.
        DataError: the text cannot be read.
    """
    return iter(_open(source)[1]())


def _vocabulary(
    tokenizer, characters: str, pieces: tokens.Pieces, to_learn_from: int
) -> Vocabulary:
    if tokenizer is None:
        return CharVocabulary(characters)
    if validate.is_integer(tokenizer):
        return ByteBPE.train(_first(pieces(), to_learn_from), tokenizer)
    if isinstance(tokenizer, CharVocabulary):
        if unknown := "".join(c for c in characters if c not in set(tokenizer.characters)):
            raise DataError(
                f"the text has characters that the vocabulary lacks, such as {unknown[0]!r}; "
                "leave them out of the text, or train without that vocabulary"
            )
        return tokenizer
    return validate.instance("load_corpus", "tokenizer", tokenizer, ByteBPE)


def _first(pieces: Iterator[str], number: int) -> Iterator[str]:
    """As many characters of a text."""
    for piece in pieces:
        yield piece[:number]
        number -= len(piece)
        if number <= 0:
            return


def _open(source) -> tuple[str, tokens.Pieces]:
    """A corpus's name, and a function that gives its text anew, piece by piece."""
    if isinstance(source, str) and source in ("shakespeare", "tinyshakespeare"):
        text = corpora.shakespeare() if source == "shakespeare" else corpora.tinyshakespeare()
        return source, partial(_pieces, text)
    path = _path("source", source)
    files = text_files(path)
    # Not Path.resolve, which raises what no reader expects at a link that leads to itself.
    return Path(os.path.realpath(path)).name, partial(read_pieces, files)


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _path(name: str, value) -> Path:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise TypeError(f"load_corpus: {name} must be a path, got {validate.describe(value)}")
    if "\0" in os.fspath(value):
        raise ValueError(f"load_corpus: {name} must hold no null character, got {value!r}")
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise ValueError(f"load_corpus: {name} names a user that is not there, {value!r}") from None
