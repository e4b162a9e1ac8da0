"""What a chapter may contain, and a stop with file and line at anything else.

Both renderers show every construct named here alike. A new one enters the list when both
do it.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import panflute as pf

from bookbuild.notebook import Chapter
from bookbuild.options import LABELS, check_options
from bookbuild.reading import Where, read_printed, read_source
from bookbuild.scan import CELL, MATHS, SHOWN

CALLOUTS = ("note", "tip", "important", "caution", "warning")
# What a callout is for, where that has a look of its own; the class is `.box-…`.
BOXES = {"facts": "Facts", "predict": "Predict", "answer": "Answer", "source": "Source"}
# Elements of the web components: the attributes each may have.
COMPONENTS: dict[str, frozenset[str]] = {}

_DIVS = (
    "callouts (.callout-note, -tip, -important, -caution, -warning), .panel-tabset, #fig-…, "
    "#tbl-…, #exr-… and #refs"
)
_TRUTH = ("true", "false")
_ATTRIBUTES = {
    "callout": {
        "title": None,
        "collapse": _TRUTH,
        "appearance": ("default", "simple", "minimal"),
        "icon": _TRUTH,
    },
    "tabset": {},
    "fig": {"layout-ncol": None, "fig-align": ("left", "center", "right")},
    "tbl": {},
    "exr": {"name": None},
    "refs": {},
    "image": {
        "fig-alt": None, "fig-align": ("left", "center", "right"), "width": None, "height": None,
    },
    "table": {"tbl-colwidths": None},
    "computed": {"expr": None, "tolerance": None},
}  # fmt: skip
_KNOWN = (
    pf.Para, pf.Plain, pf.BulletList, pf.ListItem, pf.DefinitionList,
    pf.DefinitionItem, pf.Definition, pf.BlockQuote, pf.TableHead, pf.TableBody, pf.TableFoot,
    pf.TableRow, pf.TableCell, pf.Caption, pf.Emph, pf.Strong, pf.Strikeout, pf.Superscript,
    pf.Subscript, pf.Quoted, pf.Cite, pf.Citation, pf.Space, pf.SoftBreak, pf.LineBreak, pf.Math,
    pf.Note,
)  # fmt: skip
_EQUATION = re.compile(r"\{#eq-[A-Za-z0-9_-]+\}")
_LABEL = re.compile(r"[a-z]+-[A-Za-z0-9_-]+")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_LENGTH = re.compile(r"\d+(\.\d+)?(px|%|em|rem)?")
_SCHEMES = ("http", "https", "mailto")


def check_vocabulary(chapter: Chapter) -> None:
    """Stop at anything in the chapter's source that is outside the vocabulary.

    Raises:
        ChapterError: with the line, and what is allowed.
    """
    check_options(chapter)
    read_chapter_source(chapter)


def read_chapter_source(chapter: Chapter) -> tuple[pf.Doc, Where]:
    """The chapter's syntax tree, with an empty code block for each cell, checked."""
    doc, where = read_source(chapter)
    for line, label in where.source.headings:
        if not (label.startswith("sec-") and _LABEL.fullmatch(label)):
            where.fail(line, None, f"the heading's id is {label}; it begins with sec-")
    check_blocks(doc, where)
    return doc, where


def read_output(text: str, where: Where, line: int) -> list[pf.Block]:
    """The blocks of the Markdown that the cell at `line` printed, checked."""
    doc, here = read_printed(text, where, line)
    check_blocks(doc, here, generated=True)
    return list(doc.content)


def check_blocks(doc: pf.Doc, where: Where, *, generated: bool = False) -> None:
    """Stop at anything in a syntax tree that is outside the vocabulary."""
    titles = 0

    def check(element: pf.Element, _) -> None:
        nonlocal titles
        if isinstance(element, pf.Header) and element.level == 1:
            titles += 1
            outer = not isinstance(element.parent, pf.Doc)
            if generated or titles > 1 or outer or "title" in where.chapter.front:
                _fail_title(where, element)
        name = type(element).__name__
        if name in _CHECKS:
            _CHECKS[name](element, where)
        elif isinstance(element, pf.Block | pf.Inline) and not isinstance(element, _KNOWN):
            word = next(iter(pf.stringify(element).split()), None)
            where.fail(element, word, f"{name} is not in the vocabulary of a chapter")

    doc.walk(check)


def _fail_title(where: Where, element: pf.Header) -> None:
    text = pf.stringify(element).strip()
    where.fail(
        element,
        re.compile(rf"^#\s.*{re.escape(text.split(' ')[0])}"),
        f"a second title, # {text}; a chapter has one, and its sections begin with ##",
    )


def _check_attributes(kind: str, element, where: Where, needle: str | None) -> None:
    known = _ATTRIBUTES[kind]
    for key, value in element.attributes.items():
        if key == "line":
            continue
        names = ", ".join(known) or "none"
        if key not in known:
            where.fail(element, needle, f"the attribute {key} is not known here; known: {names}")
        if known[key] and value not in known[key]:
            where.fail(element, needle, f'{key} is "{value}"; give {" or ".join(known[key])}')


def _check_div(div: pf.Div, where: Where) -> None:
    callouts = [name for name in div.classes if name.startswith("callout-")]
    boxes = [name for name in div.classes if name.startswith("box-")] if callouts else []
    others = [name for name in div.classes if name not in callouts + boxes]
    prefix = div.identifier.split("-")[0]
    if callouts and not others:
        if len(callouts) > 1 or callouts[0].removeprefix("callout-") not in CALLOUTS:
            where.fail(div, None, f"the callout is .{' .'.join(callouts)}; give one of {_DIVS}")
        if len(boxes) > 1 or any(name.removeprefix("box-") not in BOXES for name in boxes):
            known = ", ".join(f".box-{name}" for name in BOXES)
            where.fail(div, None, f"the callout is .{' .'.join(boxes)}; give one of {known}")
        if div.identifier:
            where.fail(div, None, f"a callout has no id; remove #{div.identifier}")
        _check_attributes("callout", div, where, None)
        if not div.content:
            where.fail(div, None, "the callout holds nothing; write its text before the :::")
    elif div.classes == ["panel-tabset"] and not div.identifier:
        _check_attributes("tabset", div, where, None)
        _check_tabs(div, where)
    elif not div.classes and prefix in ("fig", "tbl", "exr") and _LABEL.fullmatch(div.identifier):
        _check_attributes(prefix, div, where, None)
    elif not div.classes and div.identifier == "refs":
        _check_attributes("refs", div, where, None)
    else:
        names = [f"#{div.identifier}"] * bool(div.identifier) + [f".{c}" for c in div.classes]
        where.fail(div, None, f"a div {' '.join(names) or '{}'} is not known; known: {_DIVS}")


def _check_tabs(div: pf.Div, where: Where) -> None:
    first = div.content[0] if div.content else None
    if not isinstance(first, pf.Header):
        where.fail(div, None, "a tabset begins with the heading of its first tab, ## Name")
    levels = {block.level for block in div.content if isinstance(block, pf.Header)}
    if len(levels) > 1:
        where.fail(div, None, "the headings in a tabset are its tabs; give all the same level")


def _check_header(header: pf.Header, where: Where) -> None:
    unknown = [name for name in header.classes if name not in ("unnumbered", "unlisted")]
    # As `## Title {-}`: Pandoc's short form of .unnumbered.
    text = pf.stringify(header).strip()
    needle = re.compile(r"^[\s>]*#+\s+" + re.escape(text.split(" ")[0])) if text else "#"
    if unknown or header.attributes:
        what = [f".{name}" for name in unknown] + list(header.attributes)
        where.fail(header, needle, f"a heading with {what[0]}; known: .unnumbered, .unlisted")
    if header.level > 1 and not isinstance(header.parent, pf.Doc):
        parent = header.parent
        title = isinstance(parent, pf.Div) and header.index == 0 and _takes_title(parent)
        tab = isinstance(parent, pf.Div) and "panel-tabset" in parent.classes
        if not (title or tab):
            where.fail(
                header, needle, "a heading inside a div, list or quote; only a tab and, as its "
                "first line, a callout or an exercise have one there"
            )  # fmt: skip


def _takes_title(div: pf.Div) -> bool:
    """Whether the first heading of a div is its title."""
    callout = any(name.startswith("callout-") for name in div.classes)
    named = {"title", "name"} & set(div.attributes)
    return (callout or div.identifier.startswith("exr-")) and not named


def _check_code(code: pf.CodeBlock | pf.Code, where: Where) -> None:
    known = CELL in code.classes or SHOWN in code.classes
    if not known and (len(code.classes) > 1 or code.identifier or code.attributes):
        where.fail(code, code.text, "code takes one class, its language")


def _check_raw(raw: pf.RawBlock | pf.RawInline, where: Where) -> None:
    first = raw.text.strip().split("\n")[0]
    needle = _raw_needle(raw, first, where)
    if raw.format == "html":
        if raw.text.lstrip().startswith("<!--"):
            return
        tag = re.match(r"</?([A-Za-z][\w-]*)([^>]*)>?\s*$", first)
        if tag and tag[1] in COMPONENTS:
            names = set(re.findall(r"([\w-]+)\s*=", re.sub(r'"[^"]*"', '""', tag[2])))
            if names <= COMPONENTS[tag[1]]:
                return
        allowed = ", ".join(COMPONENTS) or "none"
        where.fail(
            raw, needle, f"raw HTML: {first}; write Markdown (known web components: {allowed})"
        )
    if raw.format in ("tex", "latex"):
        where.fail(raw, needle, f"raw LaTeX: {first}; write maths between $ or $$")
    where.fail(raw, needle, f"raw {raw.format}; write Markdown")


def _raw_needle(raw: pf.RawBlock | pf.RawInline, first: str, where: Where) -> str | re.Pattern:
    """What finds the line: Pandoc's spelling, else the tag, which it may have spelled anew."""
    needles = [re.compile(re.escape(first)), re.compile(rf"\{{={re.escape(raw.format)}\}}")]
    if tag := re.match(r"</?[A-Za-z][\w-]*", first):
        needles.insert(1, re.compile(re.escape(tag[0]) + r"(?![\w-])", re.IGNORECASE))
    lines = where.source.prose.values()
    return next((n for n in needles if any(map(n.search, lines))), first)


def _check_span(span: pf.Span, where: Where) -> None:
    text = pf.stringify(span)
    if span.classes != ["computed"] or span.identifier:
        where.fail(span, f"[{text}", 'a span is only [value]{.computed expr="expression"}')
    _check_attributes("computed", span, where, f"[{text}")


def _check_image(image: pf.Image, where: Where) -> None:
    needle = image.url
    figure = image.parent.parent if isinstance(image.parent, pf.Plain | pf.Para) else None
    if image.classes or image.title:
        where.fail(image, needle, "an image has neither classes nor a title")
    _check_attributes("image", image, where, needle)
    for key in ("width", "height"):
        value = image.attributes.get(key)
        if value is not None and not _LENGTH.fullmatch(value):
            where.fail(image, needle, f'{key} is "{value}"; give pixels, 300, or a share, 50%')
    if urlsplit(image.url).scheme or image.url.startswith("//"):
        where.fail(image, needle, f"{image.url}: an image is a file of the book, not an address")
    alone = isinstance(figure, pf.Figure) or len(image.parent.content) == 1
    alt = image.attributes.get("fig-alt") or ("" if alone else pf.stringify(image))
    if not alt.strip():
        where.fail(image, needle, f'{image.url} has no alt text; add {{fig-alt="what it shows"}}')
    if image.identifier and not isinstance(figure, pf.Figure):
        where.fail(
            image,
            needle,
            f"the figure {image.identifier} has no caption, or does not stand alone in a "
            "paragraph; write ![caption](file){#fig-name fig-alt=…}",
        )


def _check_label(what: str, element: pf.Element, where: Where, prefix: str) -> None:
    label = element.identifier
    if label and not label.startswith(prefix):
        where.fail(element, f"#{label}", f"the {what}'s label is {label}; it begins with {prefix}")


def _check_figure(figure: pf.Figure, where: Where) -> None:
    _check_label("figure", figure, where, "fig-")


def _check_link(link: pf.Link, where: Where) -> None:
    scheme = urlsplit(link.url).scheme
    if scheme and scheme not in _SCHEMES:
        where.fail(link, link.url, f"a link to {link.url}; links go to the book, http(s) or mailto")
    if [c for c in link.classes if c not in ("uri", "email")] or link.attributes:
        where.fail(link, link.url, "a link takes no attributes; write [text](address)")


def _check_table(table: pf.Table, where: Where) -> None:
    _check_label("table", table, where, "tbl-")
    if table.classes:
        where.fail(table, f".{table.classes[0]}", "a table has no classes")
    _check_attributes("table", table, where, "tbl-")


def _check_str(text: pf.Str, where: Where) -> None:
    value = text.text
    if value.startswith(":::"):
        where.fail(text, re.compile(r"^[\s>]*:::"), "this ::: is not read as the end or the "
                   "beginning of a div; leave a blank line before it")  # fmt: skip
    if "$$" in value and any(MATHS.search(line) for line in where.source.prose.values()):
        where.fail(text, MATHS, "this $$ is not read as a formula; write $$ before and after it")
    for note in _FOOTNOTE.findall(value):
        written = re.compile(r"(?<!\\)" + re.escape(note))
        if any(map(written.search, where.source.prose.values())):
            where.fail(text, written, f"the footnote {note} has no text; write it as {note}: text")
    attributes = re.search(r"\{(?:[#.]|[\w-]+=)[^\s}“”]*\}?", value)
    if attributes and not (_EQUATION.fullmatch(value) and _after_formula(text)):
        where.fail(
            text,
            attributes[0],
            f"{attributes[0]} is not attached to anything; labels are "
            f"{', '.join(f'{{#{name}-…}}' for name in LABELS)}, at a heading, figure, table "
            "caption, formula ($$ … $$ {#eq-name}) or exercise",
        )


def _check_list(numbers: pf.OrderedList, where: Where) -> None:
    if numbers.style == "Example":
        needle = re.compile(r"^[\s>]*\(?@[\w-]*[.)]")
        where.fail(numbers, needle, "a paragraph that begins with @name. is read as a numbered "
                   "example; begin it with a word")  # fmt: skip


def _after_formula(text: pf.Str) -> bool:
    before = text.prev.prev if isinstance(text.prev, pf.Space | pf.SoftBreak) else text.prev
    return isinstance(before, pf.Math) and before.format == "DisplayMath"


_CHECKS: dict[str, Callable] = {
    "Div": _check_div,
    "Header": _check_header,
    "CodeBlock": _check_code,
    "Code": _check_code,
    "RawBlock": _check_raw,
    "RawInline": _check_raw,
    "Span": _check_span,
    "Image": _check_image,
    "Figure": _check_figure,
    "Link": _check_link,
    "Table": _check_table,
    "Str": _check_str,
    "OrderedList": _check_list,
}
