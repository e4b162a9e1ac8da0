"""Makes the notebook that a reader downloads and runs."""

import ast
import base64
import re
import symtable
import tomllib
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote, urljoin

import nbformat
import panflute as pf
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookbuild import pandoc
from bookbuild.config import Book, Entry
from bookbuild.crossref import Target
from bookbuild.images import Pictures
from bookbuild.notebook import Cell, Chapter
from bookbuild.options import cell_options
from bookbuild.plain import PlainText, plain_spaces
from bookbuild.results import results

_BREAK = "book-cell-break"
_MIME = {
    ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
    ".gif": "image/gif", ".webp": "image/webp",
}  # fmt: skip


def make_notebook(
    book: Book,
    entry: Entry,
    chapter: Chapter,
    doc: pf.Doc,
    title: str,
    targets: dict[str, Target],
    pictures: Pictures,
    outputs: dict[int, list[nbformat.NotebookNode]],
) -> nbformat.NotebookNode:
    """The notebook of a chapter: its text as Markdown, its cells as code, in order.

    Args:
        doc: the numbered chapter in normal form, with references set; it is used up.
        title: the chapter's, as plain text.
        outputs: of the cells, by number.
    """
    runs = partial(_runs, chapter)
    plain = PlainText(targets, pictures, _site(book, entry), runs)
    plain.apply(doc)
    parts = _Parts(chapter)
    parts.add(list(doc.content))
    if plain.notes:
        notes = [pf.ListItem(*blocks) for blocks in plain.notes]
        parts.text([pf.Header(pf.Str("Notes"), level=2), pf.OrderedList(*notes)])
    nb = new_notebook(metadata={
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    })  # fmt: skip
    nb.cells.append(new_markdown_cell(_first(book, entry, title), id="start"))
    if install := install_code(book):
        nb.cells.append(new_code_cell(install, id="install"))
    texts = iter(_write([part for part in parts.parts if isinstance(part, list)]))
    for i, part in enumerate(parts.parts):
        if isinstance(part, list):
            cell = new_markdown_cell(next(texts), id=f"text-{i}")
            _attach(cell, plain.attachments)
            nb.cells.append(cell)
        else:
            cell = _code(chapter, part, parts.silent)
            if part not in parts.silent:
                options = cell_options(chapter, chapter.cells[part - 1], book.meta)
                cell.outputs = results(options, outputs.get(part, []))
            nb.cells.append(cell)
    nbformat.validate(nb)
    return nb


class _Parts:
    """Cuts a chapter at its cells, and at its headings."""

    def __init__(self, chapter: Chapter):
        self.chapter = chapter
        self.parts: list[list[pf.Block] | int] = []  # text, or the number of a cell
        self.silent: set[int] = set()  # cells that run without their output

    def add(self, blocks: list[pf.Block]) -> None:
        for part in self._split(blocks):
            if isinstance(part, list):
                self.text(part)
            else:
                self.parts.append(part)

    def text(self, blocks: list[pf.Block]) -> None:
        for block in blocks:
            new = isinstance(block, pf.Header) or not self.parts
            if new or not isinstance(self.parts[-1], list):
                self.parts.append([])
            self.parts[-1].append(block)

    def _split(self, blocks: list[pf.Block]) -> list[list[pf.Block] | int]:
        out: list[list[pf.Block] | int] = []
        for block in blocks:
            if not _cells(block):
                out.append([block])
            elif isinstance(block, pf.Div):
                out += self._cell(block) if "cell" in block.classes else self._split(block.content)
            elif isinstance(block, pf.BlockQuote):
                parts = self._split(list(block.content))
                out += [[pf.BlockQuote(*p)] if isinstance(p, list) else p for p in _joined(parts)]
            elif isinstance(block, pf.BulletList | pf.OrderedList):
                out += self._list(block)
            else:
                cells = _cells(block)
                block.walk(lambda e, _: [] if _is_cell(e) else None)
                out.append([block])
                for cell in cells:
                    out += self._cell(cell)
        return _joined(out)

    def _list(self, block: pf.BulletList | pf.OrderedList) -> list[list[pf.Block] | int]:
        """A list that a cell stands in goes on after it."""
        out: list[list[pf.Block] | int] = []
        first = getattr(block, "start", 1)
        for i, item in enumerate(block.content):
            for k, part in enumerate(_joined(self._split(list(item.content)))):
                if isinstance(part, list) and k == 0:
                    entry = pf.ListItem(*part)
                    bullet = isinstance(block, pf.BulletList)
                    part = [
                        pf.BulletList(entry) if bullet
                        else pf.OrderedList(entry, start=first + i, style=block.style,
                                            delimiter=block.delimiter)
                    ]  # fmt: skip
                out.append(part)
        return out

    def _cell(self, div: pf.Div) -> list[list[pf.Block] | int]:
        number = int(div.attributes["cell"])
        cell = self.chapter.cells[number - 1]
        text = [list(div.content)] if div.content else []
        if cell.options.get("eval", True) is False:
            return [[pf.CodeBlock(cell.source, classes=["python"])]]
        if not _runs(self.chapter, div):
            return text
        if "book-asis" in div.classes:
            self.silent.add(number)
        return [number, *text]


def _joined(parts: list) -> list:
    """Neighbouring texts as one."""
    out = []
    for part in parts:
        if isinstance(part, list) and out and isinstance(out[-1], list):
            out[-1] = out[-1] + part
        else:
            out.append(part)
    return out


def _cells(block: pf.Block) -> list[pf.Div]:
    found = []
    block.walk(lambda e, _: found.append(e) if _is_cell(e) else None)
    return found


def _is_cell(element: pf.Element) -> bool:
    return isinstance(element, pf.Div) and "cell" in element.classes


def _runs(chapter: Chapter, div: pf.Div) -> bool:
    """Whether a cell becomes a cell of the notebook, and not text."""
    number = int(div.attributes["cell"])
    if chapter.cells[number - 1].options.get("eval", True) is False:
        return False
    return "book-asis" not in div.classes or _used_later(chapter, number)


def _used_later(chapter: Chapter, number: int) -> bool:
    """Whether a later cell needs a name that this one defines."""
    defined = _defined(chapter.cells[number - 1])
    later = [cell for cell in chapter.cells[number:] if cell.options.get("output") != "asis"]
    return any(defined & _read(cell) for cell in later)


def _defined(cell: Cell) -> set[str]:
    """The names that a cell leaves behind: not those inside its functions."""
    try:
        table = symtable.symtable(cell.source, "cell", "exec")
    except SyntaxError:  # a line that only IPython reads
        return set()
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def _read(cell: Cell) -> set[str]:
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:
        return set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _code(chapter: Chapter, number: int, silent: set[int]) -> nbformat.NotebookNode:
    cell = chapter.cells[number - 1]
    source = f"%%capture\n{cell.source}" if number in silent else cell.source
    tags = [tag for tag in cell.tags if tag == "raises-exception"]
    metadata = {"tags": tags} if tags else {}
    return new_code_cell(source, id=f"cell-{number}", metadata=metadata)


def _write(texts: list[list[pf.Block]]) -> list[str]:
    """Each text as Markdown, all in one call."""
    blocks = []
    for text in texts:
        blocks += [pf.Para(pf.Str(_BREAK)), *text]
    if not blocks:
        return []
    markdown = plain_spaces(pandoc.write_notebook_markdown(pf.Doc(*blocks)))
    return [text.strip() for text in markdown.split(f"{_BREAK}\n")[1:]]


def _attach(cell: nbformat.NotebookNode, attachments: dict[str, bytes]) -> None:
    for name in re.findall(r"\]\(attachment:([^)\s]+)", cell.source):
        content = attachments[unquote(name)]
        kind = _MIME[Path(name).suffix.lower()]
        data = {kind: base64.b64encode(content).decode()}
        cell.setdefault("attachments", {})[unquote(name)] = data


def _first(book: Book, entry: Entry, title: str) -> str:
    """What a reader needs to know before the first cell."""
    number = f"{entry.number} " if entry.number is not None else ""
    page = _site(book, entry)(entry.source.stem + ".html")
    lines = [
        f"# {number}{title}",
        "",
        f"This is [a page of *{book.title}*]({page}) as a notebook, with what its cells put out.",
        "Change a cell and run it again.",
    ]
    if not install_code(book):
        lines.append("The cells use the folder `code` of the book's source.")
    return "\n".join(lines)


def install_code(book: Book) -> str | None:
    """The cell that brings the companion package, in Colab and elsewhere; it changes nothing
    where the package is there.

    None when the book has none: no pyproject.toml with a name.
    """
    try:
        with open(book.root / "pyproject.toml", "rb") as file:
            project = tomllib.load(file)["project"]
        name = project["name"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return None
    scripts = list(project.get("scripts", {}).values())
    module = scripts[0].split(".")[0] if scripts else name.replace("-", "_")
    lines = [
        "# The cells use the book's companion package; this sees to it that it is there.",
        "import importlib.util",
        "",
        f'if importlib.util.find_spec("{module}") is None:',
    ]
    if book.repo_url:
        url = book.repo_url.removesuffix("/")
        lines.append(f'    %pip install --quiet "{name} @ git+{url}"')
    else:
        help_ = f"{module} is missing; run `pip install .` in the folder of the book's source"
        lines.append(f'    raise ModuleNotFoundError("{help_}")')
    return "\n".join(lines)


def _site(book: Book, entry: Entry):
    """Addresses of pages: public ones where the book has a site, else as seen from the page."""
    base = (book.meta.get("book") or {}).get("site-url")

    def address(url: str) -> str:
        return urljoin(f"{base.rstrip('/')}/{quote(entry.href)}", url) if base else url

    return address
