"""Characters as numbers, and which vocabularies there are."""

import json
from collections.abc import Iterable, Iterator

import numpy as np

from tinygpt import validate
from tinygpt.shapes import Int, Integer
from tinygpt.tokenizers import ByteBPE


class CharVocabulary:
    """Every distinct character of a text, numbered in code-point order.

    Args:
        text: the corpus; every character that `encode` will meet must occur in it.

    Raises:
        TypeError, ValueError: the text is no string, or empty, or holds half a character
            (a lone surrogate, which no file in UTF-8 can hold).
    """

    def __init__(self, text: str):
        if not isinstance(text, str) or not text:
            given = "an empty string" if text == "" else type(text).__name__
            raise ValueError(
                f"CharVocabulary: text is {given}; give a string with at least one character"
            )
        self.characters = "".join(sorted(set(text)))
        if half := _surrogate(self.characters):
            raise ValueError(
                f"CharVocabulary: text holds {half!r}, half a character; read it as UTF-8"
            )
        self._codes = _code_points(self.characters)
        # A place for every code point up to the highest, and one for all that lie above.
        self._ids = np.full(int(self._codes[-1]) + 2, -1, dtype=np.int64)
        self._ids[self._codes] = np.arange(len(self))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Int[np.ndarray, " T"]:
        """The number of each character. Raises ValueError for one that is not in the corpus."""
        validate.instance("CharVocabulary.encode", "text", text, str)
        ids = self._ids[np.minimum(_code_points(text), len(self._ids) - 1)]
        if ids.size and ids.min() < 0:
            raise ValueError(
                f"CharVocabulary.encode: the character {text[int(ids.argmin())]!r} is not among "
                f"the {len(self)} of the corpus: {self.characters!r}"
            )
        return ids

    def encode_stream(self, chunks: Iterable[str]) -> Iterator[Int[np.ndarray, " T"]]:
        """The numbers of a text that comes in chunks, chunk by chunk."""
        return map(self.encode, chunks)

    def decode(self, ids: Integer[np.ndarray, " T"] | list[int]) -> str:
        """The text of a sequence of numbers. Raises ValueError for one that is out of range."""
        try:
            array = np.asarray(ids)
        except ValueError:  # lists of several lengths
            array = np.asarray(None)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(
                "CharVocabulary.decode: ids must be a list or a 1-D array of integers from 0 to "
                f"{len(self) - 1}, got {validate.describe(ids)}"
            )
        bad = array[(array < 0) | (array >= len(self))]
        if bad.size:
            raise ValueError(f"CharVocabulary.decode: id {bad[0]} is outside 0 to {len(self) - 1}")
        return self._codes[array.astype(np.int64)].tobytes().decode("utf-32-le")

    def decode_stream(self, ids: Integer[np.ndarray, " T"] | Iterable[int]) -> Iterator[str]:
        """The text of numbers as they come, a character for each."""
        return (self.decode([int(id_)]) for id_ in ids)

    def to_json(self) -> str:
        """The vocabulary as one line of JSON, to keep beside a model. `from_json` reads it."""
        return json.dumps({"kind": "characters", "characters": self.characters})

    @classmethod
    def from_json(cls, text: str) -> "CharVocabulary":
        """The vocabulary that `to_json` wrote.

        Raises:
            TypeError, ValueError: the text is no string, or not what `to_json` writes.
        """
        validate.instance("CharVocabulary.from_json", "text", text, str)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        characters = found.get("characters") if isinstance(found, dict) else None
        if not isinstance(characters, str) or found.get("kind") != "characters":
            raise ValueError(
                "CharVocabulary.from_json: text must be what to_json wrote, "
                f"got {validate.describe(text)}"
            )
        if not characters or list(characters) != sorted(set(characters)):
            raise ValueError(
                "CharVocabulary.from_json: the characters must be distinct and in code-point "
                f"order, at least one, got {validate.describe(characters)}"
            )
        return cls(characters)


Vocabulary = CharVocabulary | ByteBPE


def vocabulary_from_json(text: str) -> Vocabulary:
    """The vocabulary that `to_json` of one of the kinds wrote.

    Raises:
        TypeError, ValueError: the text is no string, or not what `to_json` writes.
    """
    validate.instance("vocabulary_from_json", "text", text, str)
    try:
        kind = json.loads(text)["kind"]
    except (ValueError, RecursionError, TypeError, KeyError):
        kind = None
    return (ByteBPE if kind == ByteBPE.KIND else CharVocabulary).from_json(text)


def _code_points(text: str) -> np.ndarray:
    """Each character's code point, uint32 (T,): UTF-32 is an array of them."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _surrogate(characters: str) -> str | None:
    return next((c for c in characters if "\ud800" <= c <= "\udfff"), None)
