"""The 256 bytes as tokens, and as characters that can be seen, both in GPT-2's way."""

from tinygpt import validate

# First the bytes that Latin-1 shows as a mark, then the others: spaces, ends of line, controls.
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTES = bytes(_VISIBLE + [byte for byte in range(256) if byte not in _VISIBLE])

# The number of each byte, for `bytes.translate`.
NUMBERS = bytes(BYTES.index(byte) for byte in range(256))

# A mark for each byte: itself if it is one, else one of the letters from U+0100. A space is Ġ.
_MARKS = [chr(byte) for byte in _VISIBLE] + [chr(0x100 + n) for n in range(256 - len(_VISIBLE))]
_TO_MARKS = dict(zip(BYTES, _MARKS, strict=True))
_TO_BYTES = {mark: byte for byte, mark in _TO_MARKS.items()}


def visible(token: bytes) -> str:
    """Write any bytes as marks without spaces, one for each byte: b" the" is Ġthe.

    Raises:
        TypeError: token is not bytes.
    """
    validate.instance("visible", "token", token, bytes)
    return "".join(_TO_MARKS[byte] for byte in token)


def from_visible(text: str) -> bytes:
    """Return the bytes that `visible` wrote. Raises KeyError for any other character."""
    return bytes(_TO_BYTES[mark] for mark in text)
