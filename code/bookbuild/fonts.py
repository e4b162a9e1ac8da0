"""The font of the formulas: STIX Two Math, cut down to the characters the book uses.

The whole font is 1.5 MB. What a book needs of it is the characters in its formulas, the
taller brackets and roots that they grow into, and the smaller forms in exponents.
"""

import hashlib
import html
import os
import re
import string
import unicodedata
from collections.abc import Iterable
from importlib import metadata
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

_MATH = re.compile(r"<math\b.*?</math>", re.DOTALL)
_ANNOTATION = re.compile(r"<annotation\b.*?</annotation>", re.DOTALL)
_SINGLE_LETTER = re.compile(r"<mi(?:\s[^>]*)?>([^<&]|&[^;<]+;)</mi>")
_TAG = re.compile(r"<[^>]+>")

# In every subset, so that most edits of a formula leave the font as it is.
_ALWAYS = string.ascii_letters + string.digits + " +-−=<>≤≥()[]{}|‖⟨⟩⌊⌋⌈⌉√∑∏∫∂∞·×/,.;:!′"
# ssty: the forms for exponents; dtls, flac: letters without dots and flat accents.
_FEATURES = ["ssty", "dtls", "flac", "ccmp", "locl"]


def math_font(pages: Iterable[str], cache: Path) -> bytes:
    """The WOFF2 file that shows every formula of these pages.

    Args:
        pages: HTML that may hold `<math>` elements.
        cache: a folder that keeps the file; it is made again only for other characters.
    """
    characters = set(_ALWAYS) | {_italic(c) for c in string.ascii_letters}
    for page in pages:
        characters |= math_characters(page)
    source = _whole_font()
    key = hashlib.sha256(source + "".join(sorted(characters)).encode()).hexdigest()[:16]
    kept = cache / f"stix-two-math-{key}.woff2"
    if kept.is_file():
        return kept.read_bytes()
    font = _subset(source, characters)
    cache.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_bytes(font)
    os.replace(partial, kept)
    return font


def math_characters(page: str) -> set[str]:
    """The characters in the formulas of a page, with the italics a browser makes of them."""
    found = set()
    for formula in _MATH.findall(page):
        formula = _ANNOTATION.sub("", formula)
        found |= set(html.unescape(_TAG.sub("", formula)))
        found |= {_italic(html.unescape(letter)) for letter in _SINGLE_LETTER.findall(formula)}
    return {c for c in found if c.isprintable()}


def _whole_font() -> bytes:
    # Read where it is installed: importing the package would draw in much more.
    package = metadata.distribution("ziamath")
    return Path(package.locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")).read_bytes()


def _italic(letter: str) -> str:
    """The mathematical italic of a letter: MathML shows a lone `<mi>` letter in it."""
    if letter == "h":
        return "ℎ"  # the one that Unicode had before the others
    try:
        return unicodedata.lookup(f"MATHEMATICAL ITALIC {_plain_name(letter)}")
    except KeyError:
        return letter


def _plain_name(letter: str) -> str:
    """`x` → `SMALL X`, `Γ` → `CAPITAL GAMMA`."""
    name = unicodedata.name(letter[:1], "")
    return re.sub(r"^(LATIN|GREEK) (SMALL|CAPITAL) LETTER ", r"\2 ", name)


def _subset(source: bytes, characters: set[str]) -> bytes:
    options = subset.Options(
        layout_features=_FEATURES,
        hinting=False,
        notdef_outline=True,
        name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14],  # with copyright and licence
    )
    font = TTFont(BytesIO(source), recalcTimestamp=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[ord(c) for c in characters])
    subsetter.subset(font)
    out = BytesIO()
    font.flavor = "woff2"
    font.save(out)
    return out.getvalue()
