"""Reads a page's HTML again: its ids, its contents, its text by section."""

import re
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from bookbuild.document import REFERENCES, Section, TocItem
from bookbuild.formula import FORMULA, formula_text

_VOID = frozenset({"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_HEADING = re.compile(r"h[2-6]$")
# What is not a part of the text: formulas (written anew, as a line), drawings, styles.
_SILENT = frozenset({"math", "svg", "style", "script"})
# Elements of a heading that its line in the contents leaves out, with and without content.
_DROPPED = frozenset({"a", "span"})
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.S)
_SENTENCE = re.compile(r"[.?!](?=\s)")
_DESCRIPTION = 200  # letters; what is longer search engines cut
_WORD = re.compile(r"\w[\w'’.,-]*")


@dataclass
class Outline:
    """What a page holds."""

    ids: dict[str, int] = field(default_factory=dict)  # how often each stands
    toc: list[TocItem] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    words: int = 0  # of the prose: without code, its output and the references


def read_outline(body: str, title: str, depth: int) -> Outline:
    """Read the HTML of a page.

    Args:
        body: the page without its h1.
        title: of the page, for the text before the first heading.
        depth: the deepest level of the contents, as Quarto's toc-depth.
    """
    reader = _Reader(title, body)
    reader.feed(body)
    reader.close()
    outline = reader.outline
    outline.toc = [item for item in outline.toc if item.level <= depth]
    outline.sections = [
        Section(name, heading, " ".join("".join(text).split()), reader.kinds.get(name, ""))
        for name, heading, text in reader.parts
    ]
    outline.words = len(_WORD.findall("".join(reader.prose)))
    return outline


def plain_text(html: str) -> str:
    """The text of a piece of HTML."""
    return read_outline(html, "", 0).sections[0].text


def describe(front: dict, body: str) -> str:
    """What a page is about, in at most 200 letters.

    It is the front matter's `description`, or the first sentences of the first paragraph.
    """
    given = " ".join(str(front.get("description") or "").split())
    if given:
        return given
    paragraph = _PARAGRAPH.search(body)
    text = plain_text(paragraph[1]) if paragraph else ""
    if len(text) <= _DESCRIPTION:
        return text
    ends = [end.end() for end in _SENTENCE.finditer(text) if end.end() <= _DESCRIPTION]
    return text[: ends[-1]] if ends else text[: text.rfind(" ", 0, _DESCRIPTION - 1)] + " …"


class _Reader(HTMLParser):
    def __init__(self, title: str, body: str):
        super().__init__(convert_charrefs=True)
        self.formulas = map(formula_text, FORMULA.findall(body))
        self.kinds: dict[str, str] = {}  # of sections, by id
        self.prose: list[str] = []
        self.outline = Outline()
        self.parts: list[tuple[str, str, list[str]]] = [("", title, [])]
        self.open: list[tuple[str, dict]] = []
        self.silent = 0
        self.heading: list[str] | None = None  # HTML of the heading that is open
        self.heading_text: list[str] = []
        self.number = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        attributes = dict(attrs)
        if "id" in attributes:
            self.outline.ids[attributes["id"]] = self.outline.ids.get(attributes["id"], 0) + 1
        if attributes.get("id") == "refs":
            self.kinds[self.parts[-1][0]] = REFERENCES
        if tag in _VOID:
            return
        if tag == "math":
            self._add(next(self.formulas))
        self.open.append((tag, attributes))
        if tag in _SILENT:
            self.silent += 1
        if _HEADING.match(tag) and self._section():
            self.heading, self.heading_text = [], []
        elif self.heading is not None and not self._drops(tag, attributes):
            self.heading.append(self.get_starttag_text())

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        if "id" in dict(attrs):
            self.outline.ids[dict(attrs)["id"]] = self.outline.ids.get(dict(attrs)["id"], 0) + 1
        if self.heading is not None and tag in _VOID:
            self.heading.append(self.get_starttag_text())

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or not self.open:
            return
        _, attributes = self.open.pop()
        if tag in _SILENT:
            self.silent -= 1
        if _HEADING.match(tag) and self.heading is not None:
            self._close_heading(int(tag[1]))
        elif self.heading is not None and not self._drops(tag, attributes):
            self.heading.append(f"</{tag}>")
        elif tag in ("p", "li", "td", "th", "pre", "div", "figcaption", "dt", "dd", "summary"):
            self.parts[-1][2].append(" ")
            self.prose.append(" ")

    def handle_data(self, data: str) -> None:
        if self._in("footnote-ref") or self._in("footnote-back"):
            return
        if self.heading is not None:
            self.heading.append(escape(data, quote=False))
        self._add(data)

    def _add(self, text: str) -> None:
        """Text of the heading or section that is open."""
        if self.silent:
            return
        if self.heading is not None:
            if not self._in("header-section-number"):
                self.heading_text.append(text)
            return
        name, _, texts = self.parts[-1]
        texts.append(text)
        if self.kinds.get(name) != REFERENCES and all(tag != "pre" for tag, _ in self.open):
            self.prose.append(text)

    def _section(self) -> dict | None:
        """The section whose heading this is."""
        tag, attributes = self.open[-2] if len(self.open) > 1 else ("", {})
        return attributes if tag == "section" and "id" in attributes else None

    def _in(self, name: str) -> bool:
        return any(name in (a.get("class") or "").split() for _, a in self.open)

    def _drops(self, tag: str, attributes: dict) -> bool:
        """Links, footnote marks and ids have no place in the contents."""
        number = "header-section-number" in (attributes.get("class") or "")
        return self._in("footnote-ref") or (tag in _DROPPED and not number)

    def _close_heading(self, level: int) -> None:
        section = self.open[-1][1] if self.open and self.open[-1][0] == "section" else {}
        title = " ".join("".join(self.heading_text).split())
        html = "".join(self.heading).strip()
        classes = (section.get("class") or "").split()
        if "unlisted" not in classes:
            self.outline.toc.append(TocItem(level, section["id"], html))
        self.parts.append((section["id"], title, []))
        self.heading = None
