"""Small books for the renderer's tests: a text, what its cells printed, the page it makes.

No kernel runs: what a cell printed is given as a notebook would hold it.
"""

import base64
import io
from html.parser import HTMLParser
from pathlib import Path

from bookbuild.config import read_book
from bookbuild.document import RenderedPage
from bookbuild.notebook import read_chapter, to_notebook
from bookbuild.render import render_pages
from nbformat.v4 import new_output
from PIL import Image
from tiny import write

YML = """\
project:
  type: book
book:
  title: Test
  chapters: [{chapters}]
bibliography: book/references.bib
"""
BIB = "@book{doe2001, author = {Doe, Jane}, title = {Works}, year = {2001}, publisher = {P}}\n"


FRONT = "# Front {.unnumbered}\n\nHello.\n"


def make_book(root: Path, chapters: dict[str, str], *, extra: str = "", index: str | None = FRONT):
    """Write a book; `chapters` are the texts by name, in order, `index` the front page."""
    names = [f"book/{name}.qmd" for name in chapters]
    names = ["index.qmd", *names] if index is not None else names
    write(root / "_quarto.yml", YML.format(chapters=", ".join(names)) + extra)
    if index is not None:
        write(root / "index.qmd", index)
    write(root / "book/references.bib", BIB)
    for name, text in chapters.items():
        write(root / f"book/{name}.qmd", text)
    return read_book(root)


def render(book, outputs: dict[str, dict[int, list]] | None = None) -> dict[str, RenderedPage]:
    """The pages by name; `outputs` of the cells, by chapter and number of the cell."""
    executed = {}
    for entry in book.entries:
        notebook = to_notebook(read_chapter(entry.source))
        given = (outputs or {}).get(entry.source.stem, {})
        for cell in notebook.cells:
            cell.outputs = given.get(cell.metadata["book"].get("cell"), [])
        executed[entry.source] = notebook
    return {page.entry.source.stem: page for page in render_pages(book, executed)}


def page(root: Path, text: str, outputs: dict[int, list] | None = None, **options) -> RenderedPage:
    """The page of a book that has one chapter, and no front page where none is given."""
    book = make_book(root, {"one": text}, **{"index": None} | options)
    return render(book, {"one": outputs or {}})["one"]


def printed(text: str, name: str = "stdout"):
    return new_output("stream", name=name, text=text)


def result(**data: str):
    """An `Out[…]`: `result(text_plain="4")`."""
    return new_output(
        "execute_result", data={key.replace("_", "/", 1): value for key, value in data.items()}
    )


def drawn(size: tuple[int, int] = (30, 20), **metadata):
    """A PNG as matplotlib gives it."""
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, "PNG")
    data = {
        "image/png": base64.b64encode(buffer.getvalue()).decode(),
        "text/plain": "<Figure size 300x200 with 1 Axes>",
    }
    about = {"image/png": metadata} if metadata else {}
    return new_output("display_data", data=data, metadata=about)


def raised(name: str, message: str):
    return new_output("error", ename=name, evalue=message, traceback=[])


class Tree(HTMLParser):
    """HTML read strictly: every element is closed, in order, with no attribute twice.

    An element is a dictionary of its `tag`, its `attrs` and its `children`. With
    `strict=False` it is read as a browser reads what others have written.
    """

    VOID = frozenset({
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
        "track", "wbr",
    })  # fmt: skip

    def __init__(self, html: str, strict: bool = True):
        super().__init__()
        self.strict = strict
        self.root = {"tag": "", "attrs": {}, "children": []}
        self.stack = [self.root]
        self.feed(html)
        self.close()
        last = self.stack[-1]
        assert last is self.root or not strict, f"<{last['tag']}> is not closed: {last['attrs']}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        unique = len(names) == len(set(names))
        assert unique or not self.strict, f"<{tag}> has an attribute twice: {attrs}"
        node = {"tag": tag, "attrs": dict(attrs), "children": []}
        self.stack[-1]["children"].append(node)
        if tag not in self.VOID:
            self.stack.append(node)

    def handle_startendtag(self, tag, attrs):
        node = {"tag": tag, "attrs": dict(attrs), "children": []}
        self.stack[-1]["children"].append(node)

    def handle_endtag(self, tag):
        if not self.strict and tag not in [node["tag"] for node in self.stack]:
            return
        top = self.stack.pop()
        while not self.strict and top["tag"] != tag:
            top = self.stack.pop()
        assert top["tag"] == tag, f"</{tag}> closes <{top['tag']}> at {self.getpos()}"

    def handle_data(self, data):
        self.stack[-1]["children"].append(data)

    def find(self, selector: str) -> list[dict]:
        """All elements `tag`, `.class`, `#id`, `tag.class` or `a > b` in document order."""
        *outer, last = [part.strip() for part in selector.split(">")]
        return [
            node for node, path in self._walk(self.root, [])
            if _is(node, last) and all(
                len(path) >= i and _is(path[-i], part)
                for i, part in enumerate(reversed(outer), 1)
            )
        ]  # fmt: skip

    def _walk(self, node, path):
        for child in node["children"]:
            if isinstance(child, dict):
                yield child, path
                yield from self._walk(child, [*path, child])


def _is(node: dict, selector: str) -> bool:
    tag, *classes = selector.split(".")
    tag, _, name = tag.partition("#")
    own = (node["attrs"].get("class") or "").split()
    return (
        tag in ("", node["tag"])
        and (not name or node["attrs"].get("id") == name)
        and all(c in own for c in classes)
    )


def text(node: dict | str) -> str:
    """The text of an element, with single blanks; the source of a formula left out."""
    return " ".join(_raw(node).replace("\u00a0", " ").split())


def _raw(node: dict | str) -> str:
    if isinstance(node, str):
        return node
    return "" if node["tag"] == "annotation" else "".join(map(_raw, node["children"]))
