"""Turns a numbered chapter in normal form into the HTML structure of a page.

Class names are those that Quarto gives, so one style sheet serves both renderers.
"""

import re
from collections.abc import Callable, Iterable
from html import escape

import panflute as pf

from bookbuild import pandoc
from bookbuild.cells import FLOAT
from bookbuild.crossref import NBSP, Target
from bookbuild.images import Pictures, ancestors
from bookbuild.normal import CAPTION, TITLE, is_callout, is_exercise, is_float, part
from bookbuild.vocabulary import BOXES

_TOGETHER = {"style": "white-space: nowrap"}
_OPENING = "([“‘"
_CLOSING = re.compile(r"^([^\w\s]{1,3})(.*)$", re.S)


class PageBlocks:
    """Changes the syntax tree of one page, in place."""

    def __init__(self, targets: dict[str, Target], pictures: Pictures):
        self.targets, self.pictures = targets, pictures
        self.tabsets, self.tables = 0, set()
        self.level = 1  # of the section that the walk is in

    def apply(self, doc: pf.Doc) -> None:
        """Bring `doc` into the form that Pandoc writes as the page."""
        doc.walk(self._change)

    def _change(self, element: pf.Element, _):
        if isinstance(element, pf.Para | pf.Plain):
            element.content = _hold_together(element.content)
        if isinstance(element, pf.Header):
            return self._header(element)
        if isinstance(element, pf.Table):
            return self._table(element)
        if isinstance(element, pf.Image):
            return self.pictures.inline(element)
        if isinstance(element, pf.Math) and element.format == "DisplayMath":
            return None if _is_equation(element.parent) else _equation(element, "", "")
        if isinstance(element, pf.Span) and _is_equation(element):
            number = self.targets[element.identifier].number
            return _equation(element.content[0], element.identifier, number)
        if isinstance(element, pf.Div):
            return self._div(element)
        return None

    def _header(self, header: pf.Header) -> None:
        self.level = header.level
        number = header.attributes.pop("number", None)
        if number:
            header.content = [
                pf.Span(pf.Str(number), classes=["header-section-number"]),
                pf.Space,
                *header.content,
            ]

    def _div(self, div: pf.Div):
        change: Callable | None = None
        if FLOAT in div.classes:
            change = self._float
        elif is_callout(div):
            change = _callout
        elif is_exercise(div):
            change = self._exercise
        elif "panel-tabset" in div.classes:
            change = self._tabset
        elif "book-fold" in div.classes:
            change = _fold
        elif "cell" in div.classes:
            change = _cell
        div.attributes.pop("line", None)
        return change(div) if change else None

    def _float(self, div: pf.Div) -> list[pf.Block]:
        letter = div.attributes.get("letter")
        target = self.targets.get(div.identifier)
        kind = target.kind if target else "fig"
        caption = list(part(div, CAPTION).content[0].content)
        if letter:
            caption = [pf.Str(letter), pf.Space, *caption]
        elif target:
            caption = [pf.Str(target.name + ":"), pf.Space, *caption]
        content = list(div.content)[:-1]
        name = "quarto-subfloat" if letter else "quarto-float"
        figure = f"quarto-float {name}-{kind} figure" if letter else f"{name} {name}-{kind} figure"
        outer = ["quarto-float"]
        if kind == "fig":
            outer += ["quarto-figure", f"quarto-figure-{div.attributes['align']}"]
        figcaption = [_line(f'<figcaption class="{name}-caption {name}-{kind}">', caption)]
        if "columns" in div.attributes:
            columns = div.attributes["columns"]
            content = [
                _html(f'<div class="quarto-layout-panel" style="--columns: {columns}">'),
                *content,
                _html("</div>"),
            ]
        body = [*figcaption, *content] if kind == "tbl" else [*content, *figcaption]
        identifier = f' id="{escape(div.identifier)}"' if div.identifier else ""
        return [
            _html(f'<div{identifier} class="{" ".join(outer)}">\n<figure class="{figure}">'),
            *body,
            _html("</figure>\n</div>"),
        ]

    def _table(self, table: pf.Table) -> list[pf.Block]:
        box = next((e for e in ancestors(table) if is_float(e)), None)
        target = self.targets.get(box.identifier) if box is not None else None
        if target:
            label = f"{target.name}: {pf.stringify(part(box, CAPTION)).strip()}"
        else:
            cells = [cell for row in table.head.content for cell in row.content]
            label = "Table: " + ", ".join(filter(None, map(_text, cells)))
        label = " ".join(label.replace(NBSP, " ").split())
        unique, n = label, 2
        while unique in self.tables:
            unique, n = f"{label} ({n})", n + 1
        self.tables.add(unique)
        _set_widths(table, table.attributes.pop("tbl-colwidths", None))
        region = f'role="region" aria-label="{escape(unique)}"'
        return [
            _html(f'<div class="table-scroll" tabindex="0" {region}>'), table, _html("</div>")
        ]  # fmt: skip

    def _exercise(self, div: pf.Div) -> pf.Div:
        name = self.targets[div.identifier].name
        title = part(div, TITLE)
        heading: list[pf.Inline] = [pf.Str(name)]
        if title:
            heading += [pf.Space, pf.Str("("), *title.content[0].content, pf.Str(")")]
            div.content.pop(0)
        div.classes = ["theorem", "exercise"]
        start = [pf.Span(pf.Strong(*heading), classes=["theorem-title"]), pf.Space]
        if div.content and isinstance(div.content[0], pf.Para):
            div.content[0].content = [*start, *div.content[0].content]
        else:
            div.content.insert(0, pf.Para(*start))
        return div

    def _tabset(self, div: pf.Div) -> list[pf.Block]:
        """All panels show, each under its title, until a script makes tabs of them."""
        self.tabsets += 1
        level = min(self.level + 1, 6)
        links, panels = [], []
        for i, tab in enumerate(div.content, 1):
            name = f"tabset-{self.tabsets}-{i}"
            title, first = list(tab.content[0].content[0].content), i == 1
            links += [
                pf.RawInline(
                    f'<li class="nav-item" role="presentation"><a class="nav-link'
                    f'{" active" if first else ""}" id="{name}-tab" role="tab" href="#{name}" '
                    f'aria-controls="{name}" aria-selected="{"true" if first else "false"}">'
                ),
                *pandoc.copy_inlines([i for i in title if not isinstance(i, pf.Note)]),
                pf.RawInline("</a></li>"),
            ]
            panels += [
                _html(
                    f'<div id="{name}" class="tab-pane{" active" if first else ""}" '
                    f'role="tabpanel" aria-labelledby="{name}-tab">'
                ),
                _line(f'<h{level} class="tab-title">', title),
                *list(tab.content)[1:],
                _html("</div>"),
            ]
        return [
            _html('<div class="panel-tabset">\n<ul class="nav nav-tabs" role="tablist" hidden>'),
            pf.Plain(*links),
            _html('</ul>\n<div class="tab-content">'),
            *panels,
            _html("</div>\n</div>"),
        ]


def _text(element: pf.Element) -> str:
    return " ".join(pf.stringify(element).split())


def _html(text: str) -> pf.RawBlock:
    return pf.RawBlock(text, format="html")


def _line(tag: str, content: list[pf.Inline]) -> pf.Plain:
    """An element that holds inlines, without white space around them."""
    name = tag[1:].split(" ")[0].rstrip(">")
    return pf.Plain(pf.RawInline(tag), *content, pf.RawInline(f"</{name}>"))


def _is_equation(element: pf.Element) -> bool:
    return isinstance(element, pf.Span) and element.identifier.startswith("eq-")


def _equation(math: pf.Math, label: str, number: str) -> list[pf.Inline]:
    identifier = f' id="{label}"' if label else ""
    out = [pf.RawInline(f'<span{identifier} class="equation">'), math]
    if number:
        out.append(pf.RawInline(f'<span class="equation-number">({number})</span>'))
    return [*out, pf.RawInline("</span>")]


def _callout(div: pf.Div) -> list[pf.Block]:
    kind = next(c for c in div.classes if c.startswith("callout-")).removeprefix("callout-")
    appearance = div.attributes.get("appearance", "default")
    if appearance == "minimal":
        appearance, icon = "simple", "false"
    else:
        icon = div.attributes.get("icon", "true")
    title, content = part(div, TITLE), list(div.content)
    if title:
        content, heading = content[1:], list(title.content[0].content)
    else:
        heading = [pf.Str(kind.capitalize())] if appearance == "default" else []
    classes = ["callout", f"callout-style-{appearance}", f"callout-{kind}"]
    box_kind = next((c for c in div.classes if c.startswith("box-")), None)
    classes += [box_kind] if box_kind else []
    classes += ["no-icon"] * (icon == "false") + ["callout-titled"] * bool(heading)
    fold = div.attributes.get("collapse") if heading else None
    outer, inner = ("details", "summary") if fold else ("div", "div")
    state = " open" if fold == "false" else ""
    start = f'<{outer} class="{" ".join(classes)}"{state}>'
    box = "span" if fold else "div"  # a summary holds no div
    mark = f'<{box} class="callout-icon-container"><i class="callout-icon"></i></{box}>'
    # The kind is told by colour and icon; say it to a screen reader too.
    name = BOXES[box_kind.removeprefix("box-")] if box_kind else kind.capitalize()
    says = "".join(map(pf.stringify, heading)).lower()
    same = name.lower() in says.split() if box_kind else says.startswith(kind)
    hidden = "" if same else f'<span class="screen-reader-only">{name}: </span>'
    if heading:
        content_of_title = [pf.RawInline(hidden), *heading]
        head = [
            _html(f'{start}\n<{inner} class="callout-header">{mark}'),
            _line(f'<{box} class="callout-title-container">', content_of_title),
            _html(f"</{inner}>"),
        ]
    else:
        head = [_html(f"{start}\n{mark}")]
    return [
        *head, _html('<div class="callout-body-container callout-body">'), *content,
        _html(f"</div>\n</{outer}>"),
    ]  # fmt: skip


def _fold(div: pf.Div) -> list[pf.Block]:
    state = " open" if div.attributes["state"] == "open" else ""
    summary = escape(div.attributes["summary"])
    return [
        _html(f'<details class="code-fold"{state}>\n<summary>{summary}</summary>'),
        *div.content,
        _html("</details>"),
    ]


def _cell(div: pf.Div) -> list[pf.Block] | pf.Div:
    """What a cell prints as Markdown is part of the text; a cell with nothing to show is none."""
    if "book-asis" in div.classes or not div.content:
        return list(div.content)
    div.classes, div.attributes = ["cell"], {}
    return div


def _set_widths(table: pf.Table, widths: str | None) -> None:
    """Columns as wide as their content needs, where the author does not say otherwise."""
    shares = [float(text) for text in re.findall(r"[\d.]+", widths or "")]
    table.colspec = [
        (align, shares[i] / sum(shares) if len(shares) == table.cols else "ColWidthDefault")
        for i, (align, _) in enumerate(table.colspec)
    ]


def _hold_together(inlines: Iterable[pf.Inline]) -> list[pf.Inline]:
    """A formula stays on one line with the bracket before it and the stop after it."""
    out: list[pf.Inline] = []
    for inline in inlines:
        last = out[-1] if out else None
        if isinstance(inline, pf.Math) and inline.format == "InlineMath":
            group = [inline]
            word = last.text.rstrip(_OPENING) if isinstance(last, pf.Str) else None
            if word is not None and word != last.text:
                bracket = out.pop().text[len(word) :]
                out += [pf.Str(word)] if word else []
                group = [pf.Str(bracket), inline]
            out.append(pf.Span(*group, attributes=dict(_TOGETHER)))
        elif (
            isinstance(inline, pf.Str)
            and _is_together(last)
            and _CLOSING.match(inline.text)
        ):
            stop, word = _CLOSING.match(inline.text).groups()
            last.content.append(pf.Str(stop))
            out += [pf.Str(word)] if word else []
        else:
            out.append(inline)
    return [inline.content[0] if _is_alone(inline) else inline for inline in out]


def _is_together(inline: pf.Inline | None) -> bool:
    return isinstance(inline, pf.Span) and inline.attributes == _TOGETHER


def _is_alone(inline: pf.Inline) -> bool:
    return _is_together(inline) and len(inline.content) == 1
