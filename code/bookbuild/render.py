"""The built-in renderer: executed chapters become pages.

Each chapter is read, checked, given its cells and brought into normal form; then the book
as a whole is numbered; then each page is written. Data flows one way, and nothing is kept
between builds.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import panflute as pf
from nbformat import NotebookNode

from bookbuild import pandoc
from bookbuild.blocks import PageBlocks
from bookbuild.cells import CellWriter
from bookbuild.computed import with_values
from bookbuild.config import Book, Entry
from bookbuild.crossref import Target, index_targets, number_page, relative, set_references
from bookbuild.document import RenderedPage
from bookbuild.download import make_notebook
from bookbuild.images import Pictures
from bookbuild.normal import normalise
from bookbuild.notebook import Chapter, ChapterError, read_chapter
from bookbuild.options import cell_options
from bookbuild.outline import describe, plain_text, read_outline
from bookbuild.reading import Where
from bookbuild.scan import CELL, SHOWN
from bookbuild.vocabulary import read_chapter_source

Keys = Callable[[], set[str]]  # of the works in the bibliography
_TITLE = "book-page-title"


@dataclass
class Manuscript:
    """A chapter on its way to a page."""

    entry: Entry
    chapter: Chapter
    where: Where
    doc: pf.Doc
    title: list[pf.Inline]
    title_id: str
    pictures: Pictures
    outputs: dict[int, list[NotebookNode]]  # by number of the cell
    links: list[tuple[int, str, str]] = field(default_factory=list)  # line, page, fragment
    targets: list[Target] = field(default_factory=list)


def render_pages(book: Book, executed: dict[Path, NotebookNode]) -> list[RenderedPage]:
    """Render the book.

    Args:
        book: what `read_book` gives.
        executed: by source, each chapter's executed notebook.

    Raises:
        ChapterError: anything in a chapter that cannot be rendered, with its line.
    """
    keys = cache(lambda: pandoc.citation_keys(book.bibliography))  # asked for once, if at all
    manuscripts = [read_manuscript(book, entry, executed[entry.source]) for entry in book.entries]
    targets = [target for manuscript in manuscripts for target in manuscript.targets]
    index = index_targets(targets)
    pages, ids = [], {}
    for manuscript in manuscripts:
        page, counts = _write_page(book, manuscript, index, keys)
        pages.append(page)
        ids[page.entry.href] = _unique_ids(manuscript, counts)
    for manuscript in manuscripts:
        _check_links(manuscript, ids)
    return pages


def read_manuscript(book: Book, entry: Entry, notebook: NotebookNode) -> Manuscript:
    """Read a chapter, set in its cells and what it computed, and number it."""
    chapter = with_values(read_chapter(entry.source), notebook)
    doc, where = read_chapter_source(chapter)
    pictures = Pictures(book.root, entry.href, where)
    outputs = {
        cell.metadata["book"]["cell"]: cell.get("outputs", [])
        for cell in notebook.cells
        if cell.cell_type == "code" and "cell" in cell.metadata.get("book", {})
    }
    _set_cells(book, doc, chapter, where, pictures, outputs)
    normalise(doc, where)
    title, title_id = _take_title(doc, where, entry)
    manuscript = Manuscript(entry, chapter, where, doc, title, title_id, pictures, outputs)
    sections = book.meta.get("number-sections", True) is not False
    manuscript.targets = number_page(doc, where, entry.href, entry.number, title_id, sections)
    return manuscript


def _set_cells(book, doc, chapter, where, pictures, outputs) -> None:
    writer = CellWriter(chapter, where, pictures.keep)

    def replace(element, _):
        if not isinstance(element, pf.CodeBlock):
            return None
        if CELL in element.classes:
            number = int(element.attributes["cell"])
            options = cell_options(chapter, chapter.cells[number - 1], book.meta)
            return writer.blocks(number, options, outputs.get(number, []))
        if SHOWN in element.classes:
            text = f"{element.attributes['fence']}\n{element.text}\n```"
            return pf.CodeBlock(text, classes=["markdown"])
        return None

    doc.walk(replace)


def _take_title(doc: pf.Doc, where: Where, entry: Entry) -> tuple[list[pf.Inline], str]:
    front = where.chapter.front.get("title")
    if front:
        title = pandoc.read_inlines([front])[0]
        if title is None:
            where.fail(2, None, f"title is {front!r}; write one line of text")
        return title, ""
    heading = next((b for b in doc.content if isinstance(b, pf.Header) and b.level == 1), None)
    if heading is None:
        where.fail(1, None, "the chapter has no title; begin it with # Title {#sec-name}")
    if "unnumbered" in heading.classes and entry.number is not None:
        where.fail(heading, re.compile(r"^#\s"), "the chapter's title is .unnumbered; every "
                   "chapter but the front page has a number")  # fmt: skip
    doc.content.remove(heading)
    return list(heading.content), heading.identifier


def _write_page(
    book: Book, manuscript: Manuscript, index: dict[str, Target], keys: Keys
) -> tuple[RenderedPage, dict[str, int]]:
    """The page, and how often each id stands on it."""
    entry, where = manuscript.entry, manuscript.where
    title = pf.Div(pf.Plain(*manuscript.title), identifier=_TITLE)
    manuscript.doc.content.insert(0, title)
    doc = _set_sources(book, manuscript, index, keys)
    own = {target.label: target for target in manuscript.targets}
    manuscript.pictures.targets = own
    copy = pandoc.load(pandoc.dump(doc)) if manuscript.chapter.cells else None
    if copy is not None:
        copy.content.pop(0)  # the title
    PageBlocks(own, manuscript.pictures).apply(doc)
    html, log = pandoc.write_html(doc)
    for note in log:
        if note["type"] == "CouldNotConvertTeXMath":
            _fail_formula(note, where)
    parts = re.match(rf'<div id="{_TITLE}">\n?(.*?)</div>\n?(.*)', html, re.S)
    title_html, body = parts[1].strip(), tidy(parts[2])
    plain = plain_text(title_html)
    notebook = None
    if copy is not None:
        notebook = make_notebook(
            book, entry, manuscript.chapter, copy, plain, own, manuscript.pictures,
            manuscript.outputs,
        )  # fmt: skip
    outline = read_outline(body, plain, int(book.meta.get("toc-depth", 3)))
    page = RenderedPage(
        entry=entry,
        title=plain,
        title_html=title_html,
        number=str(entry.number) if entry.number is not None else None,
        body=body,
        toc=outline.toc,
        sections=outline.sections,
        notebook=notebook,
        figures=manuscript.pictures.files,
        id=manuscript.title_id,
        description=describe(manuscript.chapter.front, body),
        words=outline.words,
    )
    return page, outline.ids


def _fail_formula(note: dict, where: Where) -> None:
    """`note` is what Pandoc says of a formula that it cannot read."""
    first = note["contents"].strip().split("\n")[0]
    says = [line.strip() for line in note["message"].split("\n")]
    reason = next((line for line in says if line.startswith("unexpected")), says[-1])
    where.fail(None, first, f"a formula cannot be read, {reason}: {first}")


def _set_sources(book, manuscript, index, keys) -> pf.Doc:
    """Set references, links and citations."""
    doc, where, href = manuscript.doc, manuscript.where, manuscript.entry.href
    cited = set_references(doc, where, href, index, keys)
    manuscript.links = set_links(doc, where, book, href)
    if not cited:
        return doc
    refs = []
    doc.walk(lambda e, _: refs.append(e) if getattr(e, "identifier", "") == "refs" else None)
    if not refs:
        heading = pf.Header(
            pf.Str("References"),
            level=2,
            identifier="quarto-bibliography",
            classes=["unnumbered", "unlisted"],
        )
        doc.content.extend([heading, pf.Div(identifier="refs")])
    csl = book.root / book.meta["csl"] if book.meta.get("csl") else None
    lang = str(book.meta.get("lang") or "en")
    return pandoc.set_citations(doc, book.bibliography, csl, lang)


def set_links(doc: pf.Doc, where: Where, book: Book, href: str) -> list[tuple[int, str, str]]:
    """Point links at pages instead of sources; every link to a page: line, page, fragment.

    Raises:
        ChapterError: a link to a file that is not in the book.
    """
    pages = {entry.source.resolve(): entry.href for entry in book.entries}
    notebooks = {page.removesuffix(".html") + ".ipynb" for page in pages.values()}
    root, links = book.root.resolve(), []

    def change(element, _):
        if not isinstance(element, pf.Link) or "quarto-xref" in element.classes:
            return
        url = urlsplit(element.url)
        if url.scheme or url.netloc:
            return
        line = where.of(element, element.url)
        if not url.path:
            links.append((line, href, unquote(url.fragment)))
            return
        folder = root if url.path.startswith("/") else where.chapter.path.parent
        path = (folder / unquote(url.path).lstrip("/")).resolve()
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else None
        if path in pages:
            links.append((line, pages[path], unquote(url.fragment)))
            fragment = f"#{url.fragment}" if url.fragment else ""
            element.url = (relative(pages[path], href) or "#") + fragment
        elif name is None or (name not in notebooks and not path.is_file()):
            where.fail(line, None, f"a link to {element.url}: the book has no such file; write "
                       "the path from the chapter's own folder, chapters as .qmd")  # fmt: skip
        elif path.suffix == ".qmd":
            where.fail(line, None, f"a link to {element.url}, which is not a chapter of the book; "
                       "name it in _quarto.yml")  # fmt: skip
        else:
            element.url = relative(name, href)

    doc.walk(change)
    return links


def _check_links(manuscript: Manuscript, ids: dict[str, set[str]]) -> None:
    for line, page, fragment in manuscript.links:
        if fragment and fragment not in ids[page]:
            raise ChapterError(
                manuscript.chapter.path,
                line,
                f"a link to #{fragment}: {page} has no such anchor; anchors are the ids of "
                "headings, figures, tables, formulas and exercises",
            )


def _unique_ids(manuscript: Manuscript, counts: dict[str, int]) -> set[str]:
    """All anchors of a page.

    Raises:
        ChapterError: an id that stands twice.
    """
    for name, count in counts.items():
        if count + (name == manuscript.title_id) > 1:
            lines = [target.line for target in manuscript.targets if target.label == name]
            raise ChapterError(
                manuscript.chapter.path,
                lines[-1] if lines else 1,
                f"the id {name} stands twice on the page; an anchor names one place (where two "
                "headings have the same text, give one an id)",
            )
    return {*counts, manuscript.title_id}


_LINE = re.compile(r'<span id="cb\d+-\d+"><a href="#cb\d+-\d+" aria-hidden="true" '
                   r'tabindex="-1"></a>(.*?)</span>(?=\n<span id="cb|</code>)', re.S)  # fmt: skip
_BLOCK = re.compile(r'<div class="sourceCode( [^"]*)?" id="cb\d+">')
_NUMBER = re.compile(r'<span class="computed"(?=[^>]*>[^<\s]{1,16}</span>)')
_FUNCTION = re.compile(
    r'(<mi mathvariant="normal">[a-z]{2,}</mi><mo>&#8289;</mo></mrow>)'
    r"(?=<m(?:i|n|sup|sub|sqrt|frac)>)"
)
# The prime of the font is raised and small by itself.
_PRIME = re.compile(r"<msup>(<mi>[^<]*</mi><mo>[′″‴]+</mo>)</msup>")
_STRUT = '<mspace height="0.68em" depth="0.1em" width="0"></mspace>'
_ALIGNED = re.compile(r'<mtable>(?=<mtr><mtd columnalign="right" style="[^"]*padding-right: 0")')


def tidy(html: str) -> str:
    """Pandoc's HTML without the anchor of each code line, and with the care that TeX takes.

    Aligned formulas have full size, a function's name is followed by a thin space, a prime is
    no exponent, and a root is at least as high as a letter. A computed number does not break
    at its sign.
    """
    html = _LINE.sub(r"\1", html)
    html = _BLOCK.sub(r'<div class="sourceCode\1">', html)
    html = _NUMBER.sub('<span class="computed whole"', html)
    html = _FUNCTION.sub(r'\1<mspace width="0.167em"></mspace>', html)
    html = _PRIME.sub(r"<mrow>\1</mrow>", html)
    html = html.replace("<msqrt>", f"<msqrt>{_STRUT}")
    return _ALIGNED.sub('<mtable displaystyle="true">', html)
