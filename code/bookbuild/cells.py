"""Puts each cell where it stands in the chapter: its code and what it printed or drew.

A cell becomes the divs that Quarto makes of it (`.cell`, `.cell-output-stdout`, …); what it
printed as Markdown becomes part of the chapter. A labelled cell becomes a float.
"""

import base64
import re
import struct
from collections.abc import Callable

import panflute as pf
from nbformat import NotebookNode

from bookbuild.notebook import Cell, Chapter
from bookbuild.options import Options
from bookbuild.printed import strip_controls
from bookbuild.reading import Where
from bookbuild.vocabulary import read_output

FLOAT = "book-float"
IMAGES = {"image/svg+xml": ".svg", "image/png": ".png", "image/jpeg": ".jpg"}
# What `plt.plot()` returns at the end of a cell is not a result.
_PLOT_OBJECT = re.compile(r"^(\[?<matplotlib|<seaborn\.|\(?<Figure |\(?array\(\[.*<Axes)", re.S)
# Where a warning was raised, on the machine that ran the chapter.
_PLACE = re.compile(r"^(\S+):\d+: ", re.M)
_CELL_NAMES = ("<cell>", "<ipython-input")
_OPTION = re.compile(r"^\s*#\s*\|")


class CellWriter:
    """Makes the blocks of a chapter's cells, and keeps the images that they drew."""

    def __init__(self, chapter: Chapter, where: Where, keep: Callable[[str, bytes], str]):
        """`keep(name, content)` stores an image and gives its address for the page."""
        self.chapter, self.where, self.keep = chapter, where, keep

    def blocks(self, number: int, options: Options, outputs: list[NotebookNode]) -> list[pf.Block]:
        """What stands in place of the cell with this number (from 1)."""
        cell = self.chapter.cells[number - 1]
        attributes = {"cell": str(number), "line": str(cell.line)}
        if not options.include:
            return [pf.Div(classes=["cell", "book-hidden"], attributes=attributes)]
        code = [self._code(cell, options)] if options.echo else []
        shown = self._outputs(cell, number, options, outputs) if options.output else []
        asis = options.output == "asis"
        if options.kind and options.output:
            shown = self._float(cell, options, shown)
        classes = ["cell", "book-asis"] if asis else ["cell"]
        return [pf.Div(*code, *shown, classes=classes, attributes=attributes)]

    def _code(self, cell: Cell, options: Options) -> pf.Block:
        source = cell.source
        if options.echo == "fenced":
            lines = self.chapter.lines[cell.line : cell.code_line - 1]
            kept = [text.strip() for text in lines if _OPTION.match(text)]
            kept = [text for text in kept if not re.search(r"echo:\s+fenced", text)]
            text = "\n".join(["```{python}", *kept, *source.split("\n"), "```"])
            code = pf.CodeBlock(text, classes=["cell-code"])
        else:
            code = pf.CodeBlock(source, classes=["python", "cell-code"])
        if not options.fold:
            return code
        state = "open" if options.fold == "show" else "closed"
        return pf.Div(
            code, classes=["book-fold"], attributes={"summary": options.summary, "state": state}
        )

    def _outputs(
        self, cell: Cell, number: int, options: Options, outputs: list[NotebookNode]
    ) -> list[pf.Block]:
        pictures = [richest(o) in IMAGES for o in outputs]
        self._check_alts(cell, options, sum(pictures))
        alts = options.alts if len(options.alts) == sum(pictures) else options.alts * sum(pictures)
        blocks, drawn = [], 0
        for output in _merge_streams(outputs):
            kind = output.output_type
            if kind == "stream":
                if output.name == "stderr" and not options.warning:
                    continue
                if options.output == "asis" and output.name == "stdout":
                    blocks += read_output(strip_controls(output.text), self.where, cell.line)
                else:
                    blocks.append(_text(output.text, output.name))
            elif kind == "error":
                blocks.append(_text(f"{output.ename}: {output.evalue}", "error"))
            elif richest(output) in IMAGES:
                name = f"{options.label or f'cell-{number}'}-output-{drawn + 1}"
                image = self._image(output, name, alts[drawn], options.picture)
                blocks.append(image)
                drawn += 1
            elif not is_plot_object(output, any(pictures)):
                blocks += self._display(cell, options, output)
        return blocks

    def _check_alts(self, cell: Cell, options: Options, pictures: int) -> None:
        given = len(options.alts)
        if pictures and given != pictures and given != 1:
            self.where.fail(
                cell.line,
                None,
                f"the cell draws {pictures} image{'s' * (pictures > 1)} and fig-alt has {given} "
                "texts; say what each shows: `#| fig-alt: …`",
            )

    def _display(self, cell: Cell, options: Options, output: NotebookNode) -> list[pf.Block]:
        kind = richest(output)
        if kind == "text/markdown":
            blocks = read_output(strip_controls(joined(output.data[kind])), self.where, cell.line)
            if options.output == "asis":
                return blocks
            classes = ["cell-output", "cell-output-display", "cell-output-markdown"]
            return [pf.Div(*blocks, classes=classes)]
        if kind == "text/plain":
            return [_text(joined(output.data[kind]), "display")]
        self.where.fail(
            cell.line,
            None,
            f"the cell shows {kind}; a chapter shows text/plain, text/markdown, "
            f"{', '.join(IMAGES)} (print text, or Markdown with `output: asis`)",
        )

    def _image(self, output: NotebookNode, name: str, alt: str, picture: bool) -> pf.Block:
        kind = richest(output)
        data = joined(output.data[kind])
        content = data.encode() if kind == "image/svg+xml" else base64.b64decode(data)
        url = self.keep(name + IMAGES[kind], content)
        attributes = {"fig-alt": alt}
        given = output.get("metadata", {}).get(kind, {})
        size = (given.get("width"), given.get("height")) if given else image_size(content)
        if size and all(size):
            attributes |= {"width": str(size[0]), "height": str(size[1])}
        classes = ["book-drawn", "book-picture"] if picture else ["book-drawn"]
        image = pf.Image(url=url, attributes=attributes, classes=classes)
        return pf.Div(pf.Plain(image), classes=["cell-output", "cell-output-display"])

    def _float(self, cell: Cell, options: Options, shown: list[pf.Block]) -> list[pf.Block]:
        """Gather what the label names into a float; the rest stays before it."""
        wanted = pf.Image if options.kind == "fig" else pf.Table
        content = [block for block in shown if _holds(block, wanted)]
        if not content:
            what = "draws no image" if options.kind == "fig" else "shows no table"
            self.where.fail(cell.line, None, f"the cell labelled {options.label} {what}")
        if options.subcaptions:
            content = self._subfloats(cell, options, content)
        else:
            content = [inner for block in content for inner in _unwrap(block)]
        attributes = {"caption": options.caption, "align": options.align, "line": str(cell.line)}
        if options.columns:
            attributes["columns"] = str(options.columns)
        target = pf.Div(
            *content, identifier=options.label, classes=[FLOAT], attributes=attributes
        )
        rest = [block for block in shown if not _holds(block, wanted)]
        classes = ["cell-output", "cell-output-display"]
        return [*rest, pf.Div(target, classes=classes)]

    def _subfloats(self, cell: Cell, options: Options, content: list[pf.Block]) -> list[pf.Block]:
        if len(options.subcaptions) != len(content):
            self.where.fail(
                cell.line,
                None,
                f"fig-subcap has {len(options.subcaptions)} texts and the cell draws "
                f"{len(content)} images; give one for each",
            )
        return [
            pf.Div(
                *_unwrap(block),
                identifier=f"{options.label}-{i}",
                classes=[FLOAT],
                attributes={"caption": text, "align": "center", "line": str(cell.line)},
            )
            for i, (block, text) in enumerate(zip(content, options.subcaptions, strict=True), 1)
        ]


def image_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, in pixels."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 24:
        return None
    return struct.unpack(">II", content[16:24])


def _unwrap(block: pf.Block) -> list[pf.Block]:
    is_output = isinstance(block, pf.Div) and "cell-output" in block.classes
    return list(block.content) if is_output else [block]


def _holds(block: pf.Block, kind: type) -> bool:
    found = []
    block.walk(lambda e, _: found.append(e) if isinstance(e, kind) else None)
    return bool(found)


def _text(text: str, name: str) -> pf.Div:
    return pf.Div(
        pf.CodeBlock(clean(text)), classes=["cell-output", f"cell-output-{name}"]
    )


def clean(text: str) -> str:
    """The text as a terminal leaves it: no colours, progress bars in their last state."""
    lines = _PLACE.sub(_without_cell, strip_controls(text)).rstrip("\n").split("\n")
    return "\n".join(line.rstrip("\r").split("\r")[-1] for line in lines)


def _without_cell(place: re.Match) -> str:
    in_cell = place[1].startswith(_CELL_NAMES) or "ipykernel_" in place[1]
    return "" if in_cell else place[0]


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            merged[-1] = NotebookNode(last | {"text": joined(last.text) + joined(output.text)})
        elif output.output_type == "stream":
            merged.append(NotebookNode(output | {"text": joined(output.text)}))
        else:
            merged.append(output)
    return merged


def joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def richest(output: NotebookNode) -> str | None:
    """The kind of data that is shown, of those an output offers."""
    data = output.get("data") or {}
    known = ["text/markdown", *IMAGES]
    return next((kind for kind in known if kind in data), None) or next(
        (kind for kind in data if kind != "text/plain"), "text/plain" if data else None
    )


def is_plot_object(output: NotebookNode, drawn: bool) -> bool:
    if output.output_type != "execute_result" or richest(output) != "text/plain":
        return False
    text = joined(output.data["text/plain"]).strip()
    one_line = "\n" not in text and re.fullmatch(r"[<(\[].*[>)\]]", text)
    return bool(_PLOT_OBJECT.match(text) or (drawn and one_line))
