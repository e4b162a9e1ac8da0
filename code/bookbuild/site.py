"""Makes the site: gives each page its furniture, adds the theme, and puts all into place."""

import hashlib
import html
import posixpath
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from itertools import groupby
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bookbuild.config import Book
from bookbuild.document import RenderedPage
from bookbuild.fonts import math_font
from bookbuild.glossary import split_glossary
from bookbuild.publish import PublishError, Report, publish
from bookbuild.search import SynonymError, read_synonyms, search_index

THEME = Path(__file__).resolve().parents[2] / "assets" / "theme"
STYLES = ["site.css", "content.css", "code.css", "components.css", "search.css", "forced.css"]
PRINT = "print.css"
SCRIPTS = [
    "site.js",
    "tabs.js",
    "copy.js",
    "previews.js",
    "components.js",
    "found.js",
    "search.js",
    "place.js",
]
FIND = "find.js"  # comes with the first search
SYNONYMS = "book/synonyms.yml"
WORDS_PER_MINUTE = 200  # of a text with formulas

_LINK = re.compile(r'<(?:a|img|source|object|video|audio)\b[^>]*?\s(?:href|src|data)="([^"]*)"')


class SiteError(Exception):
    """The site cannot be made: what is wrong, and what to do."""


@dataclass(frozen=True)
class Link:
    """A page in the navigation."""

    href: str
    number: str | None
    title: str  # HTML
    current: bool


def write_site(book: Book, pages: list[RenderedPage]) -> Report:
    """Write the site of `pages` to `book.output`.

    Raises:
        SiteError: a page refers to a file that is not in the book, the output folder holds
            the book itself, or it cannot be written.
    """
    _check_output(book)
    pages = [split_glossary(page) for page in pages]
    files = _theme(pages, book.root / ".bookcache")
    for page in pages:
        files.update(page.figures)
        if page.notebook is not None:
            text = nbformat.writes(page.notebook, version=4)
            files[_notebook_href(page)] = (text.rstrip("\n") + "\n").encode()
    try:
        synonyms = read_synonyms(book.root / SYNONYMS)
    except SynonymError as error:
        raise SiteError(str(error)) from None
    files["search-index.js"] = search_index(pages, synonyms).encode()
    names = {page.entry.href for page in pages} | set(files)
    for page in pages:
        files.update(_linked_files(book, page, names))
    # The pages come last: whoever loads one finds everything that it needs.
    template = _template()
    versions = {name: _digest(content) for name, content in files.items()}
    for index, page in enumerate(pages):
        files[page.entry.href] = _page(template, book, pages, index, versions).encode()
    try:
        return publish(files, book.output)
    except PublishError as error:
        raise SiteError(str(error)) from None


def _check_output(book: Book) -> None:
    output = book.output.resolve()
    if any(path.resolve().is_relative_to(output) for path in [book.root, *_sources(book)]):
        raise SiteError(
            f"{book.output}: the site cannot be written over the book's own files; "
            "name a folder of its own in _quarto.yml (project: output-dir: _site)"
        )


def _sources(book: Book) -> list[Path]:
    return [entry.source for entry in book.entries]


def _theme(pages: list[RenderedPage], cache: Path) -> dict[str, bytes]:
    names = [*STYLES, PRINT, *SCRIPTS, FIND, "OFL.txt"]
    files = {f"assets/theme/{name}": (THEME / name).read_bytes() for name in names}
    try:
        font = math_font([page.body + page.title_html for page in pages], cache)
    except PackageNotFoundError:
        raise SiteError(
            "the font of the formulas is in the package ziamath, which is not installed; "
            "install the requirements: pip install -r requirements.lock"
        ) from None
    except OSError as error:
        raise SiteError(
            f"{cache}: the font of the formulas cannot be kept there: {error.strerror}; "
            "make the folder writable and build again"
        ) from None
    # With a version, as every file of the theme: a browser must not keep the old subset.
    files["assets/theme/site.css"] = files["assets/theme/site.css"].replace(
        b"stix-two-math.woff2", f"stix-two-math.woff2?v={_digest(font)}".encode()
    )
    return {"assets/theme/stix-two-math.woff2": font, **files}


def _template():
    environment = Environment(
        loader=FileSystemLoader(THEME, encoding="utf-8"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("page.html")


def _page(
    template, book: Book, pages: list[RenderedPage], index: int, versions: dict[str, str]
) -> str:
    page = pages[index]

    def to(href: str) -> str:
        """The address of a file of the site, seen from this page."""
        return posixpath.relpath(href, posixpath.dirname(page.entry.href) or ".")

    def asset(name: str) -> str:
        """As `to`, with a version, so that a browser does not show an old one."""
        return f"{to(name)}?v={versions[name]}"

    depth = page.entry.href.count("/")
    front = page.entry.source.stem == "index"
    return template.render(
        book=book,
        page=page,
        front=front,
        lang=book.meta.get("lang") or "en",
        to=to,
        asset=asset,
        root="../" * depth,
        styles=[asset(f"assets/theme/{name}") for name in STYLES],
        print=asset(f"assets/theme/{PRINT}"),
        scripts=[asset(f"assets/theme/{name}") for name in SCRIPTS],
        index=asset("search-index.js"),
        find=asset(f"assets/theme/{FIND}"),
        parts=_navigation(book, pages, index, to),
        previous=_link(book, pages[index - 1], to) if index > 0 else None,
        next=_link(book, pages[index + 1], to) if index + 1 < len(pages) else None,
        toc=nest(page.toc),
        notebook=to(_notebook_href(page)) if page.notebook is not None else None,
        description=book.description if front else page.description,
        minutes=_minutes(page) if page.number else 0,
        edit=_repo_url(book, page, "edit"),
        source=_repo_url(book, page, "blob"),
        issues=_issues_url(book, page),
        licence=_licence(book),
    )


def _navigation(
    book: Book, pages: list[RenderedPage], index: int, to
) -> list[tuple[str | None, list[Link]]]:
    """The chapters, in order, under their parts."""
    links = [(page.entry.part, _link(book, page, to, i == index)) for i, page in enumerate(pages)]
    return [
        (part, [link for _, link in group]) for part, group in groupby(links, key=lambda x: x[0])
    ]


def _link(book: Book, page: RenderedPage, to, current: bool = False) -> Link:
    # A front page has the book's title, which stands above the navigation already.
    title = "Front page" if page.title == book.title else page.title_html
    return Link(to(page.entry.href), page.number, title, current)


def nest(toc: list) -> list[dict]:
    """The contents as a tree: each item with the deeper ones that follow it."""
    tree, path = [], []
    for item in toc:
        while path and path[-1][0] >= item.level:
            path.pop()
        node = {"id": item.id, "html": item.html, "children": []}
        (path[-1][1]["children"] if path else tree).append(node)
        path.append((item.level, node))
    return tree


def _notebook_href(page: RenderedPage) -> str:
    return page.entry.href.removesuffix(".html") + ".ipynb"


def _minutes(page: RenderedPage) -> int:
    """How long the prose takes to read: in steps of five minutes, at least five."""
    return max(5, 5 * round(page.words / WORDS_PER_MINUTE / 5))


def _repo_url(book: Book, page: RenderedPage, action: str) -> str | None:
    """Where the page's source is shown (`blob`) or edited, as Quarto builds it from repo-url."""
    if not book.repo_url:
        return None
    options = book.meta.get("book") or {}
    branch = options.get("repo-branch") or "main"
    folder = str(options.get("repo-subdir") or "").strip("/")
    source = page.entry.source.relative_to(book.root).as_posix()
    path = f"{folder}/{source}" if folder else source
    return f"{book.repo_url.rstrip('/')}/{action}/{branch}/{path}"


def _issues_url(book: Book, page: RenderedPage) -> str | None:
    """Where an error is reported: Quarto's issue-url, else the issues of repo-url."""
    given = (book.meta.get("book") or {}).get("issue-url")
    if given:
        return str(given)
    if not book.repo_url:
        return None
    name = page.entry.source.relative_to(book.root).as_posix()
    return f"{book.repo_url.rstrip('/')}/issues/new?title={quote(f'{name}: ')}"


def _licence(book: Book) -> tuple[str, str | None] | None:
    """Quarto's `license:`, one line or {text, url}: what it says, and where it stands."""
    given = book.meta.get("license")
    if isinstance(given, dict):
        return str(given.get("text") or given.get("type") or ""), given.get("url")
    return (str(given), None) if given else None


def _linked_files(book: Book, page: RenderedPage, names: set[str]) -> dict[str, bytes]:
    """The files of the book that a page shows or offers and that no build step makes."""
    files = {}
    folder = posixpath.dirname(page.entry.href)
    source = page.entry.source.relative_to(book.root).as_posix()
    for link in _LINK.findall(page.body):
        url = urlsplit(html.unescape(link))
        if url.scheme or url.netloc or not url.path:
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(url.path)))
        if name in names:
            continue
        path = book.root / name
        if name.startswith(("../", "/")) or not path.is_file():
            raise SiteError(
                f"{source}: refers to {url.path}, which is not a file of the book; "
                "write the path from the chapter's own folder"
            )
        files[name] = path.read_bytes()
    return files


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]
