"""Numbers chapters, sections, figures, tables, formulas and exercises; sets references.

Numbers and reference texts are those of a Quarto book in HTML: within a chapter each kind
counts from one, `Figure 1.2`; a page without a chapter number has `Figure 1`.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

import panflute as pf

from bookbuild.normal import is_exercise, is_float
from bookbuild.notebook import ChapterError
from bookbuild.options import LABELS
from bookbuild.reading import Where

NAMES = {
    "fig": "Figure", "tbl": "Table", "eq": "Equation", "exr": "Exercise",
    "sec": "Section", "ch": "Chapter",
}  # fmt: skip
NBSP = "\u00a0"
_REFERENCE = re.compile(rf"^(?:{'|'.join(LABELS)})-", re.I)


@dataclass(frozen=True)
class Target:
    """What a reference can point to."""

    label: str
    kind: str  # fig, tbl, eq, exr, sec or ch
    number: str | None  # None: a heading without a number
    href: str  # the page
    where: Where
    line: int

    @property
    def name(self) -> str:
        """As a caption begins: `Figure 1.2`."""
        return f"{NAMES[self.kind]}{NBSP}{self.number}"


def number_page(
    doc: pf.Doc, where: Where, href: str, chapter: int | None, title_id: str, sections: bool
) -> list[Target]:
    """Number everything on a page.

    Headings get the attribute `number` when `sections` is true.

    Raises:
        ChapterError: a label that stands twice on the page.
    """
    prefix = f"{chapter}." if chapter is not None else ""
    targets: list[Target] = []
    counts = dict.fromkeys(LABELS, 0)
    levels = [0] * 7

    def add(element, kind: str, label: str, number: str | None) -> None:
        line = where.of(element, re.compile(rf"[#\s]{re.escape(label)}(?![\w-])"))
        targets.append(Target(label, kind, number, href, where, line))

    if title_id.startswith("sec-"):
        add(None, "ch", title_id, str(chapter) if chapter is not None else None)

    def count(element, _):
        if isinstance(element, pf.Header):
            number = None
            if "unnumbered" not in element.classes and chapter is not None:
                levels[element.level] += 1
                levels[element.level + 1 :] = [0] * (6 - element.level)
                number = prefix + ".".join(map(str, levels[2 : element.level + 1]))
                if sections:
                    element.attributes["number"] = number
            target = Target(
                element.identifier, "sec", number, href, where, _heading_line(element, where)
            )
            targets.append(target)
        elif is_float(element) and element.identifier and not is_float(element.parent):
            kind = element.identifier.split("-")[0]
            counts[kind] += 1
            number = f"{prefix}{counts[kind]}"
            add(element, kind, element.identifier, number)
            inner = [part for part in element.content if is_float(part)]
            for i, part in enumerate(inner):
                letter = f"({chr(ord('a') + i)})"
                part.attributes["letter"] = letter
                if part.identifier:
                    add(part, kind, part.identifier, f"{number} {letter}")
        elif isinstance(element, pf.Span) and element.identifier.startswith("eq-"):
            counts["eq"] += 1
            add(element, "eq", element.identifier, f"{prefix}{counts['eq']}")
        elif is_exercise(element):
            counts["exr"] += 1
            add(element, "exr", element.identifier, f"{prefix}{counts['exr']}")

    doc.walk(count)
    return targets


def _heading_line(heading: pf.Header, where: Where) -> int:
    """Where its id is written, else where its first word is."""
    written = [line for line, label in where.source.headings if label == heading.identifier]
    if written and where.line is None:
        return written[0]
    word = re.escape(next(iter(pf.stringify(heading).split()), ""))
    return where.of(heading, re.compile(rf"^[\s>]*#+\s.*{word}"))


def index_targets(targets: list[Target]) -> dict[str, Target]:
    """All labels of the book.

    Raises:
        ChapterError: a label that stands twice.
    """
    index: dict[str, Target] = {}
    for target in targets:
        if not _REFERENCE.match(target.label):
            continue
        first = index.setdefault(target.label, target)
        if first is not target:
            at = f"{first.where.chapter.path}:{first.line}"
            raise ChapterError(
                target.where.chapter.path,
                _second_line(first, target),
                f"the label {target.label} is taken at {at}; a label names one thing in the book",
            )
    return index


def _second_line(first: Target, second: Target) -> int:
    """Both may be found at the first one's line, when neither is a div."""
    if first.where.chapter.path != second.where.chapter.path or first.line != second.line:
        return second.line
    label = re.compile(rf"#{re.escape(second.label)}(?![\w-])")
    return second.where.source.find(label, first.line + 1)


def set_references(
    doc: pf.Doc,
    where: Where,
    href: str,
    index: dict[str, Target],
    keys: Callable[[], set[str]],
) -> bool:
    """Replace every `@label` by a link; return whether citations of works remain.

    Args:
        keys: gives the keys of the works in the bibliography.

    Raises:
        ChapterError: a label or a work that does not exist.
    """
    cited = False

    def resolve(element, _):
        nonlocal cited
        if not isinstance(element, pf.Cite):
            return None
        ours = [bool(_REFERENCE.match(c.id)) for c in element.citations]
        needles = [_needle(c.id) for c in element.citations]
        if not any(ours):
            for citation, needle in zip(element.citations, needles, strict=True):
                _check_key(citation.id, keys(), where, element, needle)
            cited = True
            return None
        if not all(ours):
            where.fail(element, needles[0], "a reference and a citation of a work are read as "
                       "one; write them separately, with a word between them")  # fmt: skip
        out: list[pf.Inline] = []
        for citation, needle in zip(element.citations, needles, strict=True):
            if out:
                out += [pf.Str(","), pf.Space]
            out += _link(citation, needle, element, where, href, index)
        return out

    doc.walk(resolve)
    return cited


def _needle(label: str) -> re.Pattern:
    return re.compile(rf"(?<![\w@])-?@\{{?{re.escape(label)}(?![\w-])")


def _check_key(key: str, keys: set[str], where: Where, element, needle) -> None:
    if key not in keys:
        labels = ", ".join(f"@{name}-…" for name in LABELS)
        where.fail(
            element,
            needle,
            f"@{key} is not a work in the bibliography; add it there, or refer to a label of the "
            f"book ({labels})",
        )


def _link(citation, needle, element, where, href, index) -> list[pf.Inline]:
    label = citation.id[0].lower() + citation.id[1:]
    target = index.get(label)
    if target is None:
        where.fail(element, needle, f"@{citation.id}: the book has no label {label}")
    if target.number is None:
        where.fail(element, needle, f"@{citation.id}: {label} is a heading without a number; "
                   "write a link, [text](#id)")  # fmt: skip
    if citation.suffix:
        where.fail(element, needle, f"@{citation.id}: text after a reference in [ ]; write it "
                   "after the ]")  # fmt: skip
    if citation.prefix:
        text = [*citation.prefix, pf.Str(NBSP + target.number)]
    elif citation.mode == "SuppressAuthor":
        text = [pf.Str(target.number)]
    else:
        text = [pf.Str(target.name)]
    return [pf.Link(*text, url=f"{relative(target.href, href)}#{label}", classes=["quarto-xref"])]


def relative(target: str, page: str) -> str:
    """The address of one page of the site seen from another; "" for the page itself."""
    if target == page:
        return ""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
