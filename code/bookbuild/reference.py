"""The expected outputs of each chapter, in tests/reference/, and the numbers in its prose."""

import base64
import difflib
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

from bookbuild.compare import normal_outputs
from bookbuild.computed import computed_cells, places, printed_number, same_number, value_of
from bookbuild.config import Book
from bookbuild.execute import execute_book
from bookbuild.notebook import Chapter, read_chapter

FOLDER = Path("tests/reference")


def reference_path(root: Path, source: Path) -> Path:
    """Where the expected outputs of a chapter are."""
    return root / FOLDER / source.relative_to(root).with_suffix(".ipynb")


def read_reference(path: Path) -> NotebookNode:
    """The expected outputs.

    Raises:
        FileNotFoundError: there are none.
        ValueError: the file is not a notebook.
    """
    data = path.read_bytes()
    try:
        nb = nbformat.reads(data.decode("utf-8"), 4)
        nbformat.validate(nb)
        other = next((cell.cell_type for cell in nb.cells if cell.cell_type != "code"), None)
        if other:
            raise ValueError(f"it holds a {other} cell")
    except Exception as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(f"{path} is not a notebook ({reason}); run make reference") from None
    return nb


def write_references(
    book: Book,
    only: list[Path] | None = None,
    *,
    jobs: int = 2,
    say: Callable[[str], None] = print,
) -> int:
    """Run chapters afresh, keep what they put out, and set the numbers in their prose.

    Each difference is said. Nothing is written unless every chapter runs.

    Returns:
        How many files changed.
    """
    executed = execute_book(book, jobs=jobs, only=only, fresh=True, say=say)
    changes = []
    for source, nb in executed.items():
        chapter = read_chapter(source)
        path = reference_path(book.root, source)
        new = reference_notebook(nb, book.root)
        if new is not None:
            new.metadata["computed"] = places(chapter)
        changes.append((path, _old_text(path), _notebook_text(new)))
        changes.append((source, *_with_computed_numbers(chapter, nb)))
    if only is None:
        wanted = {reference_path(book.root, entry.source) for entry in book.entries}
        left = (book.root / FOLDER).rglob("*.ipynb")
        changes += [(path, _old_text(path), None) for path in sorted(left) if path not in wanted]
    changes = [change for change in changes if change[1] != change[2]]
    for path, old, new in changes:
        say(_diff(path.relative_to(book.root).as_posix(), old, new))
        if new is None:
            path.unlink()
        else:
            write_text(path, new)
    return len(changes)


def write_text(path: Path, text: str) -> None:
    """Write a file beside its place and move it there; its permissions stay."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _old_text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None


# The notebook of expected outputs


def reference_notebook(nb: NotebookNode, root: Path) -> NotebookNode | None:
    """The expected outputs of an executed chapter, or None when it has no cells.

    The numbers in prose are not in it: there, the prose says what is expected. Where they
    stand is, so that none is replaced by a typed one.
    """
    reference = new_notebook()
    reference.metadata["kernelspec"] = dict(nb.metadata["kernelspec"])
    count = 0
    for cell in nb.cells:
        if "computed" in cell.metadata.tags:
            continue
        new = new_code_cell(cell.source, id=cell.id)
        if cell.execution_count is not None:
            count += 1
            new.execution_count = count
            new.outputs = normal_outputs(cell.outputs, root)
        reference.cells.append(new)
    return reference if reference.cells else None


def _notebook_text(nb: NotebookNode | None) -> str | None:
    return None if nb is None else nbformat.writes(nb, indent=1, ensure_ascii=False) + "\n"


# The numbers in prose


def _with_computed_numbers(chapter: Chapter, nb: NotebookNode) -> tuple[str, str]:
    """The text of a chapter, before and after its numbers are set to what was computed.

    Raises:
        ChapterError: an expression prints what cannot stand between the brackets.
    """
    old = chapter.path.read_bytes().decode("utf-8")
    pieces = re.split(r"(\r\n|\n|\r)", old)  # line, end of line, line, …
    order = lambda cell: (cell.metadata["book"]["line"], -cell.metadata["book"]["start"])  # noqa: E731
    for cell in sorted(computed_cells(nb), key=order):
        where = cell.metadata["book"]
        if same_number(printed_number(cell), where):
            continue
        printed = value_of(chapter, cell)
        index = 2 * (where["line"] - 1)
        bom = index == 0 and pieces[0].startswith("\ufeff")
        start = where["start"] + bom
        line = pieces[index]
        pieces[index] = line[:start] + printed + line[start + len(where["typed"]) :]
    return old, "".join(pieces)


# What has changed


def _diff(name: str, old: str | None, new: str | None) -> str:
    show = _outputs_as_text if name.endswith(".ipynb") else str
    texts = [[] if text is None else show(text).split("\n") for text in (old, new)]
    names = [f"a/{name}" if old else "(none)", f"b/{name}" if new else "(none)"]
    return "\n".join(difflib.unified_diff(*texts, *names, lineterm="", n=1))


def _outputs_as_text(text: str) -> str:
    try:
        nb = nbformat.reads(text, 4)
        nbformat.validate(nb)
    except Exception:  # a damaged file
        return text
    lines = []
    for cell in nb.cells:
        lines += [f"[{cell.get('id', '')}]", *cell.source.split("\n")]
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                lines += [f"  → {output.ename}: {output.evalue}"]
            for value in [output.get("text", "")] + list(output.get("data", {}).items()):
                lines += _value_as_text(value)
    lines += ["…".join(pieces) for pieces in nb.metadata.get("computed", [])]
    return "\n".join(lines)


def _value_as_text(value) -> list[str]:
    mime, content = value if isinstance(value, tuple) else ("text/plain", value)
    if mime == "image/png":
        try:
            png = base64.b64decode(content)
            with Image.open(io.BytesIO(png)) as image:
                size = f"{image.width} × {image.height} pixels"
        except Exception:  # Pillow raises whatever its decoder meets
            return ["  → something that is not a PNG"]
        return [f"  → figure of {size}, {hashlib.sha256(png).hexdigest()[:8]}"]
    return [f"  → {line}" for line in str(content).rstrip("\n").split("\n") if content]
