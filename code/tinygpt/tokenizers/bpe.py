"""Byte-level BPE: any text as numbers, with common strings as one number."""

import codecs
import operator
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from tinygpt import validate
from tinygpt.shapes import Int, Integer
from tinygpt.tokenizers import files
from tinygpt.tokenizers.alphabet import BYTES, NUMBERS
from tinygpt.tokenizers.merging import Pair, learn_merges, merge_by_rank
from tinygpt.tokenizers.splitting import pretokenize_stream

_CACHED = 1 << 16  # pieces
_LONGEST_CACHED = 64  # characters


class ByteBPE:
    """A vocabulary of special tokens, the 256 bytes, and one token for each merge, in this order.

    Args:
        merges: pairs of ids, in the order in which they are applied. Each refers to a byte or
            to an earlier merge.
        special_tokens: strings that are one token each, such as "<|endoftext|>".

    Attributes:
        tokens: the bytes of each token, by id.
        merges, special_tokens: as given.

    Raises:
        TypeError, ValueError: a merge or a special token cannot be used.
    """

    KIND = files.KIND

    def __init__(self, merges: Iterable[Pair] = (), special_tokens: Sequence[str] = ()):
        self.special_tokens = files.checked_special_tokens("ByteBPE", special_tokens)
        self._first = len(self.special_tokens)  # id of the first byte
        specials = [token.encode("utf-8") for token in self.special_tokens]
        self.merges, learnt = files.checked_merges("ByteBPE", merges, self._first)
        self.tokens = (*specials, *(BYTES[n : n + 1] for n in range(256)), *learnt)
        self._ranks = {pair: self._first + 256 + n for n, pair in enumerate(self.merges)}
        self._special_ids = {token: id_ for id_, token in enumerate(self.special_tokens)}
        self._cache = _Cache(self._encode_piece)

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        special_tokens: Sequence[str] = (),
    ) -> "ByteBPE":
        """Learn the merges of a text.

        Args:
            text: the text, or its chunks in order, cut anywhere.
            vocab_size: how many tokens there are to be, with the special ones and the bytes. A
                text with too few pairs gives fewer.
            special_tokens: strings that are one token each; nothing is learnt from them.

        Raises:
            TypeError, ValueError: an argument is of another kind or out of range.
        """
        return cls.train_and_count(text, vocab_size, special_tokens)[0]

    @classmethod
    def train_and_count(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        special_tokens: Sequence[str] = (),
    ) -> tuple["ByteBPE", Counter[str]]:
        """`train`, and how often the text holds each piece and each special token.

        Together the pieces and special tokens have the text's length, and their encodings have
        its length in tokens, so that neither asks for the text a second time.
        """
        special_tokens = files.checked_special_tokens("ByteBPE.train", special_tokens)
        first = len(special_tokens)
        vocab_size = validate.integer("ByteBPE.train", "vocab_size", vocab_size, low=256 + first)
        chunks = [text] if isinstance(text, str) else text
        pieces: Counter[str] = Counter()
        specials: Counter[str] = Counter()
        for cut, found in pretokenize_stream(chunks, special_tokens):
            pieces.update(cut)
            if found is not None:
                specials[found] += 1
        words = ((_byte_ids(piece, first), count) for piece, count in pieces.items())
        merges = learn_merges(words, vocab_size - 256 - first, first + 256)
        return cls(merges, special_tokens), pieces + specials

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"ByteBPE({len(self):,} tokens, {len(self.special_tokens)} of them special)"

    def encode(self, text: str, special: bool = True) -> Int[np.ndarray, " T"]:
        """The ids of a text.

        Args:
            text: any string that UTF-8 can hold.
            special: whether the strings of special tokens are those tokens. False for text
                from strangers: then they are text like any other.

        Raises:
            TypeError, ValueError: the text is no string, or holds half a character.
        """
        validate.instance("ByteBPE.encode", "text", text, str)
        return np.concatenate([*self.encode_stream([text], special), np.empty(0, np.int64)])

    def encode_stream(
        self, chunks: Iterable[str], special: bool = True
    ) -> Iterator[Int[np.ndarray, " T"]]:
        """The ids of a text that comes in chunks, the same wherever the chunks end.

        It takes no more memory for a long text than for a short one, unless a single piece of
        it, such as a word, is long.

        Yields:
            Arrays of ids, in order.
        """
        special = validate.flag("ByteBPE.encode_stream", "special", special)
        for pieces, found in pretokenize_stream(chunks, self.special_tokens if special else ()):
            ids = chain.from_iterable(map(self._cache.__getitem__, pieces))
            if found is not None:
                ids = chain(ids, [self._special_ids[found]])
            yield np.fromiter(ids, dtype=np.int64)

    def decode(self, ids: Integer[np.ndarray, " T"] | list[int], errors: str = "replace") -> str:
        """The text of a sequence of ids.

        Args:
            ids: a list or array of ids.
            errors: what becomes of bytes that are no UTF-8, as in `bytes.decode`: "replace"
                writes U+FFFD for them, "strict" raises.

        Raises:
            TypeError, ValueError: there is no such id; or UnicodeDecodeError, if strict.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Integer[np.ndarray, " T"] | list[int]) -> bytes:
        """The bytes of a sequence of ids, which may end inside a character."""
        array = validate.integer_array("ByteBPE.decode", "ids", ids)
        if array.ndim != 1:
            raise ValueError(f"ByteBPE.decode: ids must be 1-D, got shape {array.shape}")
        validate.ids_below("ByteBPE.decode", "id", array, len(self))
        return b"".join([self.tokens[id_] for id_ in array.tolist()])

    def decode_stream(
        self, ids: Integer[np.ndarray, " T"] | Iterable[int], errors: str = "replace"
    ) -> Iterator[str]:
        """The text of ids as they come; a character waits until its last byte is there."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors)
        for id_ in validate.iterable("ByteBPE.decode_stream", "ids", ids, "integers"):
            try:
                id_ = operator.index(id_)
            except TypeError:
                given = validate.describe(id_)
                raise TypeError(
                    f"ByteBPE.decode_stream: each id must be an integer, got {given}"
                ) from None
            yield decoder.decode(self.decode_bytes([id_]))
        yield decoder.decode(b"", final=True)

    def to_json(self) -> str:
        """The tokenizer as JSON, to keep beside a model. `from_json` reads it."""
        return files.to_json(self.tokens, self.merges, self.special_tokens)

    @classmethod
    def from_json(cls, text: str) -> "ByteBPE":
        """The tokenizer that `to_json` wrote.

        Raises:
            TypeError, ValueError: the text is no string, or not what `to_json` writes.
        """
        return cls(*files.from_json("ByteBPE.from_json", text))

    def save(self, path: str | os.PathLike) -> None:
        """Write the tokenizer to a file, whole or not at all.

        Raises:
            TypeError, ValueError, OSError: path is no path, or cannot be written to.
        """
        files.write("ByteBPE.save", path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "ByteBPE":
        """The tokenizer that `save` wrote.

        Raises:
            FileNotFoundError, OSError: there is no file, or it cannot be read.
            ValueError: it is damaged, or of another kind or version.
        """
        where = f"ByteBPE.load: {os.fspath(path)!r}" if _is_path(path) else "ByteBPE.load"
        return cls(*files.from_json(where, files.read("ByteBPE.load", path)))

    def _encode_piece(self, piece: str) -> list[int]:
        return merge_by_rank(_byte_ids(piece, self._first), self._ranks)


class _Cache(dict):
    """The ids of the pieces met so far; most pieces of a text have been met before."""

    def __init__(self, encode_piece):
        super().__init__()
        self.encode_piece = encode_piece

    def __missing__(self, piece: str) -> list[int]:
        ids = self.encode_piece(piece)
        if len(piece) <= _LONGEST_CACHED:
            if len(self) >= _CACHED:
                self.clear()
            self[piece] = ids
        return ids


def _byte_ids(piece: str, first: int) -> list[int]:
    return [first + number for number in piece.encode("utf-8").translate(NUMBERS)]


def _is_path(path) -> bool:
    return isinstance(path, (str, os.PathLike))
