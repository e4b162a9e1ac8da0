"""What the renderer hands to the site: a page's content, without its furniture."""

from dataclasses import dataclass, field

from nbformat import NotebookNode

from bookbuild.config import Entry

# Kinds of sections that the search ranks apart: first and last.
TERM = "term"
REFERENCES = "references"


@dataclass(frozen=True)
class TocItem:
    """One line of a page's contents."""

    level: int  # 2 for `##`
    id: str
    html: str  # inline HTML without links, the section's number first


@dataclass(frozen=True)
class Section:
    """What the search finds: the text under one heading.

    The text before the first heading belongs to the page itself and has the id "".
    """

    id: str
    title: str
    text: str
    kind: str = ""  # TERM: an entry of a glossary; REFERENCES: a list of works


@dataclass
class RenderedPage:
    """One page of the book as HTML, without header, navigation or footer."""

    entry: Entry
    title: str  # plain text, without the chapter's number
    title_html: str
    number: str | None
    body: str  # an HTML fragment without the h1
    toc: list[TocItem] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    notebook: NotebookNode | None = None  # what a reader downloads
    figures: dict[str, bytes] = field(default_factory=dict)  # path inside the site -> file
    id: str = ""  # the anchor of the h1, which references to the chapter use
    description: str = ""  # one or two sentences, for search engines
    words: int = 0  # of its prose
