"""Numbers that a chapter states as facts though nobody computed them.

A number that is printed by `[…]{.computed expr="…"}` is true on every machine. A plain one
is a fact only where the chapter gives it to its code: *given* is a number that stands as a
literal in one of the chapter's cells or expressions. What counts as a statement:

- a number with a unit of what is measured (`MEASURED`: seconds, bytes, lines, %, ×, …),
  given or not: that one is computed, always;
- a number with a unit of what is counted (`COUNTED`: steps, tokens, images, …), unless given;
- a number with a decimal point, or of three and more digits, unless given.

Read are prose, headings, tables, captions and alt texts. Free are formulas, code, addresses,
years, numbers that are part of a name (GPT-2, section 3.5 of a paper), and a line that cites
a work, whose numbers may be that work's. Numbers written as words ("ten") are not seen, and
neither is a small number without a unit.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from bookbuild.notebook import Chapter, read_chapter

MEASURED = (
    r"[MBK]\b|parameters?\b|million\b|billion\b|trillion\b|bytes?\b|[KMGT]i?B\b|(?:mega|giga|kilo)bytes?\b"
    r"|(?:milli|micro|nano)?seconds?\b|ms\b|minutes?\b|hours?\b|days?\b|lines? of\b|lines\b"
    r"|times (?!out of)|×(?!\s?\d)|%|per cent\b|FLOPs?\b|GFLOPs?\b|nats?\b|tokens per\b|passes\b"
)
COUNTED = (
    r"×(?=\s?\d)|weights?\b|characters?\b|letters?\b|tokens?\b|words?\b|steps?\b|epochs?\b"
    r"|images?\b|digits?\b|pixels?\b|batch(?:es)?\b|examples?\b|sequences?\b|positions?\b"
    r"|heads?\b|layers?\b|blocks?\b|rows?\b|columns?\b|dimensions?\b|features?\b|merges?\b"
    r"|samples?\b|runs?\b|seeds?\b|models?\b|texts?\b|pieces?\b|pairs?\b|maps?\b|numbers?\b"
)
_NUMBER = r"(?<![\w@#./^_−-])(?<!\d,)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d]|\.\d|,\d{3})"
_WITH = r"(?:\s|\u00a0|-)?(?={})"
_MEASURED = re.compile(f"({_NUMBER}){_WITH.format(MEASURED)}")
_COUNTED = re.compile(f"({_NUMBER}){_WITH.format(COUNTED)}")
_LARGE = re.compile(rf"({_NUMBER})(?![\w×%])")
_CITED = re.compile(r"@[a-z]+\d{4}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_SECTION = re.compile(r"\b(?:sections?|version|chapters?|figure|table|equation|page) [\d.]+")

_SPAN = re.compile(r'\[[^\]]*\]\{\.computed\s(?:[^}"]|"(?:\\.|[^"\\])*")*\}')
_FREE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|(?P<ticks>`+)(?!`).*?(?P=ticks)|\]\([^)]*\)|\[\^[^\]]*\]|https?://\S+"
)
_LITERAL = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?")
_ALT = re.compile(r'fig-alt="([^"]*)"')
_SHOWN = re.compile(r"\s*#\s*\|\s*(?:(?:fig-cap|tbl-cap|fig-alt|fig-subcap):|  |- )(?P<text>.*)")


def typed_numbers(path: Path) -> list[tuple[int, str, str]]:
    """The numbers of a chapter that should be computed: line, the number, the whole line."""
    chapter = read_chapter(path)
    known = given(chapter)
    found = []
    for number, line in [*prose_lines(chapter), *option_lines(chapter)]:
        for text in [] if _CITED.search(line) else _as_read(line):
            for match in sorted(_in(text, known)):
                found.append((number, match[1], line.strip()))
    return sorted(found)


def _in(text: str, known: set[float]) -> set[tuple[int, str]]:
    """Where in a text a number stands that is neither computed nor given, and the number."""
    found = {(m.start(), m[1]) for m in _MEASURED.finditer(text)}
    for pattern in (_COUNTED, _LARGE):
        for m in pattern.finditer(text):
            digits = m[1].replace(",", "")
            large = "." in digits or (len(digits) >= 3 and not _YEAR.fullmatch(m[1]))
            if float(digits) not in known and (large or pattern is _COUNTED):
                found.add((m.start(), m[1]))
    return found


def _as_read(line: str) -> list[str]:
    """What a reader reads of a line: itself without what is free, and the alt texts in it."""
    bare = _SECTION.sub("", _FREE.sub("", _SPAN.sub("", line)))
    return [re.sub(r"\{[^}]*\}", "", bare), *_ALT.findall(bare)]


def given(chapter: Chapter) -> set[float]:
    """The numbers that the chapter gives to its code: literals of cells and expressions."""
    found = set()
    for source in [cell.source for cell in chapter.cells] + [n.expr for n in chapter.computed]:
        try:
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type == tokenize.NUMBER:
                    found.add(abs(ast.literal_eval(token.string)))
        except (tokenize.TokenError, SyntaxError):  # what was found before is enough
            continue
        # f-strings are one token before Python 3.12.
        found |= {float(n.replace("_", "")) for n in _LITERAL.findall(source)}
    return found


def option_lines(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """(line number, text) of the captions and alt texts of cells."""
    for cell in chapter.cells:
        for index in range(cell.line, cell.code_line - 1):
            if match := _SHOWN.match(chapter.lines[index]):
                yield index + 1, match["text"]


def prose_lines(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """(line number, line) outside front matter, code and displayed maths."""
    fence, formula = None, False
    for number, line in enumerate(chapter.lines[chapter.body_start :], chapter.body_start + 1):
        opened = re.match(r"\s*(`{3,}|~{3,})", line)
        if opened and fence is None:
            fence = opened[1]
        elif opened and line.strip() == fence:
            fence = None
        elif fence is None and line.startswith("$$"):
            formula = not formula and line.strip() == "$$"
        elif fence is None and not formula:
            yield number, line
