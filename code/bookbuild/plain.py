"""Turns a numbered chapter in normal form into what plain Markdown can say.

The cells stay, as divs; everything else becomes headings, paragraphs, lists, tables and
block quotes, with references and citations as text.
"""

import posixpath
from collections.abc import Callable
from html import escape
from urllib.parse import quote

import panflute as pf

from bookbuild.cells import FLOAT
from bookbuild.crossref import NBSP, Target
from bookbuild.images import Pictures, ancestors
from bookbuild.normal import CAPTION, TITLE, is_callout, is_exercise, part

KEPT = "book-kept"
# Of a box in a notebook: seen on light and on dark, as no background is.
_BORDERS = {
    "note": "border-left: 4px solid #3b82c4",
    "tip": "border-left: 4px solid #2d8a57",
    "important": "border-left: 4px solid #b5478a",
    "caution": "border-left: 4px solid #c77a1a",
    "warning": "border-left: 4px solid #c8483d",
    "facts": "border: 1px solid #8b949d",
    "predict": "border: 2px dashed #8a63b8",
    "answer": "border-left: 6px double #2d8a57",
    "source": "border-left: 6px solid #8b949d",
}


class PlainText:
    """Changes the syntax tree of one chapter, in place."""

    def __init__(
        self,
        targets: dict[str, Target],
        pictures: Pictures,
        site: Callable[[str], str],
        runs: Callable[[pf.Div], bool],
    ):
        """`site(url)` is the address of a page; `runs(div)` whether a cell stays a cell."""
        self.targets, self.pictures, self.site, self.runs = targets, pictures, site, runs
        self.notes: list[list[pf.Block]] = []
        self.attachments: dict[str, bytes] = {}

    def apply(self, doc: pf.Doc) -> None:
        """Bring `doc` into the form that Pandoc writes as Markdown."""
        doc.walk(self._change)

    def _change(self, element: pf.Element, _):
        if isinstance(element, pf.Header):
            number = element.attributes.get("number")
            start = [pf.Str(number), pf.Space] if number else []
            return pf.Header(*start, *element.content, level=element.level)
        if isinstance(element, pf.Link):
            return self._link(element)
        if isinstance(element, pf.Cite):
            return list(element.content)
        if isinstance(element, pf.Span):
            return self._span(element)
        if isinstance(element, pf.Note):
            self.notes.append(list(element.content))
            return pf.Str(f"[{len(self.notes)}]")
        if isinstance(element, pf.Image):
            return self._image(element)
        if isinstance(element, pf.CodeBlock):
            return pf.CodeBlock(element.text, classes=element.classes[:1])
        if isinstance(element, pf.RawInline | pf.RawBlock):
            return []
        if isinstance(element, pf.Div):
            return self._div(element)
        return None

    def _link(self, link: pf.Link) -> list[pf.Inline] | None:
        if link.url.startswith(("http://", "https://", "mailto:")):
            return None
        if link.url.startswith("#"):
            return list(link.content)
        return [pf.Link(*link.content, url=self.site(link.url))]

    def _span(self, span: pf.Span) -> list[pf.Inline]:
        if span.identifier.startswith("eq-"):
            math, number = span.content[0], self.targets[span.identifier].number
            math.text = f"{math.text.rstrip()} \\tag{{{number}}}\n"
        return list(span.content)

    def _image(self, image: pf.Image) -> pf.Inline | list:
        if any("cell" in getattr(e, "classes", []) for e in ancestors(image)):
            return []  # running the cell draws it
        name, content = self.pictures.content(image)
        name, long = posixpath.basename(name), name.replace("/", "-")
        name = name if self.attachments.setdefault(name, content) == content else long
        self.attachments[name] = content
        alt = image.attributes.get("fig-alt") or pf.stringify(image)
        return pf.Image(pf.Str(alt), url=f"attachment:{quote(name)}")

    def _div(self, div: pf.Div):
        if FLOAT in div.classes:
            return self._float(div)
        if is_callout(div):
            return self._callout(div)
        if is_exercise(div):
            title, content = _parts(div)
            name = [pf.Str(self.targets[div.identifier].name)]
            name += [pf.Space, pf.Str("("), *title, pf.Str(")")] if title else []
            return [pf.Para(pf.Strong(*name)), *content]
        if "book-tab" in div.classes:
            title, content = _parts(div)
            return [pf.Para(pf.Strong(*title)), *content]
        if "cell" in div.classes:
            if "book-asis" not in div.classes:
                kept = []
                div.walk(lambda e, _: kept.append(e) if _is_kept(e) else None)
                div.content = [block for e in kept for block in e.content]
            return None
        if _is_kept(div) or CAPTION in div.classes or TITLE in div.classes:
            return None
        return list(div.content)

    def _callout(self, div: pf.Div) -> list[pf.Block]:
        """A box with a border, folded as on the page; with a cell in it, a quotation."""
        title, content = _parts(div)
        kind = next(c for c in div.classes if c.startswith("callout-")).removeprefix("callout-")
        box = next((c.removeprefix("box-") for c in div.classes if c.startswith("box-")), kind)
        title = title or [pf.Str(kind.capitalize())]
        heading = pf.Para(pf.Strong(*title))
        cells: list[pf.Div] = []
        div.walk(lambda e, _: cells.append(e) if _is_cell(e) else None)
        if any(map(self.runs, cells)):
            return [pf.BlockQuote(heading, *content)]
        style = f'style="{_BORDERS[box]}; padding: 0.2em 1em; margin: 0.8em 0"'
        if "collapse" not in div.attributes:
            return [_html(f"<div {style}>"), heading, *content, _html("</div>")]
        state = " open" if div.attributes["collapse"] == "false" else ""
        summary = escape(" ".join(pf.stringify(heading).split()), quote=False)
        start = f"<details{state} {style}>\n<summary><b>{summary}</b></summary>"
        return [_html(start), *content, _html("</details>")]

    def _float(self, div: pf.Div) -> list[pf.Block]:
        caption = list(part(div, CAPTION).content[0].content)
        target = self.targets.get(div.identifier)
        letter = div.attributes.get("letter")
        name = [letter] if letter else [target.name + ":"] if target else []
        line = pf.Para(*[x for text in name for x in (pf.Strong(pf.Str(text)), pf.Space)], *caption)
        content = list(div.content)[:-1]
        own = [e for e in ancestors(div) if "cell" in getattr(e, "classes", [])]
        if own and "book-asis" not in own[0].classes:
            return [pf.Div(line, classes=[KEPT])]
        return [line, *content] if target and target.kind == "tbl" else [*content, line]


def _html(text: str) -> pf.RawBlock:
    return pf.RawBlock(text, format="html")


def _is_cell(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and "cell" in element.classes


def _is_kept(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and KEPT in element.classes


def _parts(div: pf.Div) -> tuple[list[pf.Inline], list[pf.Block]]:
    title = part(div, TITLE)
    if title is None:
        return [], list(div.content)
    return list(title.content[0].content), list(div.content)[1:]


def plain_spaces(text: str) -> str:
    return text.replace(NBSP, " ")
