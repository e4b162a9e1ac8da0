"""The glossary has every term that a chapter defines.

A chapter sets a term in italics where it says what it is. Italics are also for stress and for
words that are spoken about; those are listed here, with the reason, so that a new term cannot
slip in among them.
"""

import re
from pathlib import Path

import pytest
from bookbuild.config import read_book
from bookbuild.notebook import read_chapter
from typed import prose_lines

ROOT = Path(__file__).parents[2]
CHAPTERS = [e.source for e in read_book(ROOT).entries if "chapter" in read_chapter(e.source).front]
GLOSSARY = ROOT / "book/glossary.qmd"

STRESS = {
    "back", "before", "after", "both", "down", "empty", "end", "every",
    "forbidden", "forward", "hidden", "higher", "keep", "learnt", "left", "may attend",
    "means", "more", "other", "reaches", "same", "see", "their", "what", "which", "why", "your",
}  # fmt: skip
SPOKEN_OF = {
    "tokenisation": {  # pieces of text that the chapter cuts and joins
        "e", "h", "he", "heathen", "hen", "n", "ou", "t", "the", "then",
    },
    "lenet": {"assumption"},  # stands for "inductive bias", which the glossary has
    "learning": {"value"},  # of a function, the plain word
    "shakespeare": {"Macbeth"},  # the play
    "decoding": {"Macbeth"},
}  # fmt: skip
# Another form of a word that the glossary has.
FORMS = {
    "accumulates": "accumulation",
    "gradient accumulation": "accumulation",
    "causal": "causal mask",
    "dead": "dead unit",
    "dilated": "dilated convolution",
    "equivariant": "equivariance",
    "fused": "fused kernel",
    "greedy": "greedy decoding",
    "invariant": "invariance",
    "leaves": "leaf",
    "max pooling": "pooling",
    "tail": "head and tail",
    "tied": "weight tying",
    "validation": "validation loss",
}
_ITALICS = re.compile(r"(?<![*\w])\*(?![\s*])([^*\n]+?)(?<![\s*])\*(?![*\w])")
_FREE = re.compile(r"\$[^$]*\$|`[^`]*`|\{[^}]*\}")


def italics(path):
    """(line number, words) of what a chapter sets in italics, outside formulas and code."""
    for number, line in prose_lines(read_chapter(path)):
        if not line.startswith("|"):
            for match in _ITALICS.finditer(_FREE.sub("", line)):
                yield number, match[1]


def rows(path=GLOSSARY):
    """The rows of the glossary's table: term, sentence, reference."""
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table]


def plain(term):
    """A term as it is compared: small letters, singular, no hyphens."""
    term = term.strip(" .,").lower().replace("-", " ")
    return term[:-1] if term.endswith("s") and not term.endswith("ss") else term


def listed():
    return {plain(name) for term, *_ in rows() for name in term.split(",")}


def missing(path, known):
    """What a chapter sets in italics that is in the glossary neither as it is nor by its form."""
    spoken_of = SPOKEN_OF.get(path.stem, set())
    return [
        f"{path.name}:{number}: {words}"
        for number, words in italics(path)
        if plain(FORMS.get(words.lower(), words)) not in known
        and words not in STRESS
        and words not in spoken_of
    ]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_term_that_a_chapter_defines_is_in_the_glossary(path):
    assert missing(path, listed()) == []


def test_a_term_that_the_glossary_lacks_is_found(tmp_path):
    text = "# One {#sec-one}\n\nThis is a *whatsit*, `a * b * c`, *mask*, **bold** and $a * b$.\n"
    (path := tmp_path / "one.qmd").write_text(text, encoding="utf-8")
    assert missing(path, {"mask"}) == ["one.qmd:3: whatsit"]


def test_the_words_of_loss_and_size_are_there():
    words = "loss, parameter, perplexity, entropy, nat, GELU, FLOP, momentum, clipping"
    assert {plain(word) for word in words.split(",")} <= listed()


def test_each_entry_is_one_sentence_with_a_place_and_in_order():
    terms = [plain(term.split(",")[0]) for term, *_ in rows()]
    assert terms == sorted(terms)
    assert len(set(terms)) == len(terms)
    for term, sentence, place in rows():
        assert re.fullmatch(r"@sec-[\w-]+", place), term
        assert sentence[0].islower() or sentence[0].isdigit() or sentence[0] in "ARV1", term
        assert not sentence.endswith(".") and ". " not in sentence, term


def test_every_exception_is_still_needed():
    used = {words for path in CHAPTERS for _, words in italics(path)}
    assert STRESS - used == set()
    assert set().union(*SPOKEN_OF.values()) - used == set()
    assert set(FORMS) - {words.lower() for words in used} == set()
