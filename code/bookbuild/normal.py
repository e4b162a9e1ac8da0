"""Brings a chapter into the form that numbering and writing work on.

Whatever way an author wrote it, a figure or table becomes a div `book-float` whose last
block is a div `book-caption`; a labelled formula becomes a span with the label as its id;
a callout, exercise or tab begins with a div `book-title`.
"""

import panflute as pf

from bookbuild import pandoc
from bookbuild.cells import FLOAT
from bookbuild.reading import Where
from bookbuild.vocabulary import check_blocks

CAPTION, TITLE, TAB = "book-caption", "book-title", "book-tab"
_TEXTS = ("title", "name", "caption")


def normalise(doc: pf.Doc, where: Where) -> None:
    """Bring `doc` into normal form, in place.

    Raises:
        ChapterError: a figure or table without a caption, or without an image or table.
    """
    texts = _read_texts(doc, where)

    def change(element: pf.Element, _):
        if isinstance(element, pf.RawBlock | pf.RawInline) and element.text.lstrip()[:4] == "<!--":
            return []
        if isinstance(element, pf.Figure):
            return _figure(element, where)
        if isinstance(element, pf.Table) and element.identifier:
            return _table(element)
        if isinstance(element, pf.Para | pf.Plain):
            _equations(element)
        if isinstance(element, pf.Div):
            return _div(element, where, texts)
        return None

    doc.walk(change)


def is_callout(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and any(c.startswith("callout-") for c in element.classes)


def is_float(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and FLOAT in element.classes


def is_exercise(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and element.identifier.startswith("exr-")


def part(div: pf.Div, name: str) -> pf.Div | None:
    """The title or caption of a div in normal form."""
    ends = [div.content[0], div.content[-1]] if div.content else []
    return next((b for b in ends if isinstance(b, pf.Div) and name in b.classes), None)


def _read_texts(doc: pf.Doc, where: Where) -> dict[str, list[pf.Inline]]:
    """Read all titles and captions that are written as attributes, in one call."""
    found = {}

    def collect(element, _):
        if isinstance(element, pf.Div):
            for key in _TEXTS:
                if key in element.attributes:
                    found.setdefault(element.attributes[key], where.of(element))

    doc.walk(collect)
    texts = dict(zip(found, pandoc.read_inlines(list(found)), strict=True))
    for text, inlines in texts.items():
        if inlines is None:
            where.fail(found[text], None, f"{text!r} is a title or caption; write one paragraph")
        here = Where(where.chapter, where.source, found[text])
        check_blocks(pf.Doc(pf.Para(*inlines)), here)
    return texts


def _inlines(texts: dict, text: str) -> list[pf.Inline]:
    """A fresh copy: an element can stand in one place only."""
    return pandoc.copy_inlines(texts[text])


def make_float(
    content: list[pf.Block], caption: list[pf.Inline], label: str, attributes: dict
) -> pf.Div:
    return pf.Div(
        *content,
        pf.Div(pf.Plain(*caption), classes=[CAPTION]),
        identifier=label,
        classes=[FLOAT],
        attributes=attributes,
    )


def _figure(figure: pf.Figure, where: Where) -> pf.Div:
    caption = [inline for block in figure.caption.content for inline in block.content]
    if not caption:
        where.fail(figure, f"#{figure.identifier}", "the figure has no caption")
    image = figure.content[0].content[0]
    image.content = []
    attributes = {"align": image.attributes.get("fig-align", "center")}
    return make_float([pf.Plain(image)], caption, figure.identifier, attributes)


def _table(table: pf.Table) -> pf.Div:
    caption = [inline for block in table.caption.content for inline in block.content]
    label, table.identifier = table.identifier, ""
    table.caption = pf.Caption()
    return make_float([table], caption, label, {"align": "center"})


def _equations(block: pf.Para | pf.Plain) -> None:
    """`$$…$$ {#eq-x}` becomes a span with the id eq-x."""
    out = []
    for inline in block.content:
        text = inline.text if isinstance(inline, pf.Str) else ""
        if text.startswith("{#eq-"):
            while isinstance(out[-1], pf.Space | pf.SoftBreak):
                out.pop()
            out[-1] = pf.Span(out[-1], identifier=text[2:-1])
        else:
            out.append(inline)
    block.content = out


def _div(div: pf.Div, where: Where, texts: dict) -> pf.Div | None:
    if FLOAT in div.classes and "caption" in div.attributes:
        caption = _inlines(texts, div.attributes.pop("caption"))
        div.content.append(pf.Div(pf.Plain(*caption), classes=[CAPTION]))
    elif div.identifier.startswith(("fig-", "tbl-")) and FLOAT not in div.classes:
        return _float_div(div, where)
    elif is_callout(div) or is_exercise(div):
        key = "title" if is_callout(div) else "name"
        title = _inlines(texts, div.attributes[key]) if key in div.attributes else []
        div.attributes.pop(key, None)
        if not title and isinstance(div.content[0], pf.Header):
            title = list(div.content.pop(0).content)
        if title:
            div.content.insert(0, pf.Div(pf.Plain(*title), classes=[TITLE]))
    elif "panel-tabset" in div.classes:
        _tabs(div)
    return None


def _float_div(div: pf.Div, where: Where) -> pf.Div:
    label, kind = div.identifier, "figure" if div.identifier.startswith("fig-") else "table"
    *content, last = list(div.content) or [None]
    if not isinstance(last, pf.Para | pf.Plain) or not content:
        where.fail(div, None, f"the {kind} {label} has no caption; end the div with a paragraph")
    if not any(_holds(block, kind) for block in content):
        what = "an image or a cell that draws one" if kind == "figure" else "a table"
        where.fail(div, None, f"the {kind} {label} does not hold {what}")
    images = []
    div.walk(lambda e, _: images.append(e) if isinstance(e, pf.Image) else None)
    align = [image.attributes.get("fig-align") for image in images]
    attributes = {
        "line": div.attributes["line"],
        "align": div.attributes.get("fig-align") or next(filter(None, align), "center"),
    }
    if "layout-ncol" in div.attributes:
        columns = div.attributes["layout-ncol"]
        if not columns.isdigit() or columns == "0":
            where.fail(div, None, f'layout-ncol is "{columns}"; give a number of columns')
        attributes["columns"] = columns
    content = [_image_alone(block) for block in content]
    return make_float(content, list(last.content), label, attributes)


def _image_alone(block: pf.Block) -> pf.Block:
    """An image stands in its figure without a paragraph around it."""
    alone = isinstance(block, pf.Para) and len(block.content) == 1
    return pf.Plain(*block.content) if alone and isinstance(block.content[0], pf.Image) else block


def _holds(block: pf.Block, kind: str) -> bool:
    wanted = pf.Image if kind == "figure" else pf.Table
    found = []
    block.walk(lambda e, _: found.append(e) if isinstance(e, wanted) else None)
    return bool(found)


def _tabs(div: pf.Div) -> None:
    tabs = []
    for block in list(div.content):
        if isinstance(block, pf.Header):
            title = pf.Div(pf.Plain(*block.content), classes=[TITLE])
            tabs.append(pf.Div(title, classes=[TAB]))
        else:
            tabs[-1].content.append(block)
    div.content = tabs
