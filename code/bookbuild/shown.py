"""Which sources of the companion a chapter shows, as text.

What a module computes does not depend on its comments and docstrings, so a change of these
runs no chapter again, except those that show them. Whether one does is seen when it runs:
from the files that its kernel reads, and from what its cells put out.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# Code that takes docstrings or line numbers and may change them before it shows them.
_READS_TEXT = re.compile(r"__doc__|\bgetdoc\b|\bpydoc\b|\bdoctest\b|\bhelp\s*\(|lineno")
_ASKS_IPYTHON = re.compile(r"^\s*\?|\?\s*$|%p(?:doc|info|source|file|def|run)\b", re.M)
_WORDS = 4  # of a line that is taken for the module's own when it stands in an output


@functools.lru_cache(maxsize=1024)
def code_digest(text: bytes) -> str:
    """The SHA-256 of what a source does: its syntax tree, without what docstrings say.

    That there is a docstring counts: a chapter that shows it would otherwise not know of one
    that is new.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return sha256(text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[0].value.value = "a docstring"
    return sha256(ast.dump(tree).encode("utf-8", "surrogatepass"))


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def reads_text(source: str, *, cell: bool = False) -> bool:
    """Whether code may use docstrings or line numbers, of which outputs need not hold a copy."""
    return bool(_READS_TEXT.search(source) or (cell and _ASKS_IPYTHON.search(source)))


def source_digests(root: Path) -> dict[str, str]:
    """The SHA-256 of every source of the companion, by its path below `code/`."""
    code = root / "code"
    return {p.relative_to(code).as_posix(): sha256(p.read_bytes()) for p in code.rglob("*.py")}


def shown_sources(nb: NotebookNode, read: Iterable[str], root: Path) -> set[str]:
    """The sources that an executed chapter shows or may show, by their path below `code/`.

    Args:
        read: those that the kernel has read as text (`Workspace.sources_read`).
    """
    printed = _one_line(" ".join(_texts(nb)))
    code, shown = root / "code", set(read)
    for path in code.rglob("*.py"):
        name = path.relative_to(code).as_posix()
        if name not in shown and _stands_in(printed, path, name):
            shown.add(name)
    return shown


def _stands_in(printed: str, path: Path, name: str) -> bool:
    """Whether an output names a file (with a line, in a traceback) or holds a line of it."""
    if (name if path.name == "__init__.py" else path.name) in printed:
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = {_one_line(line).strip("\"'# ") for line in text.split("\n")}
    return any(line in printed for line in lines if line.count(" ") >= _WORDS - 1) or any(
        line in printed for line in _first_lines(text)
    )


def _first_lines(text: str) -> set[str]:
    """The first line of each docstring, however short."""
    try:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, _DOCUMENTED)]
    except (SyntaxError, ValueError):
        return set()
    docstrings = [ast.get_docstring(node) or "" for node in nodes]
    return {_one_line(text.split("\n")[0]) for text in docstrings if text.strip()}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _texts(nb: NotebookNode) -> Iterable[str]:
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield output.text
            elif output.output_type == "error":
                yield from (output.evalue, *output.traceback)
            else:
                data = output.data.items()
                yield from (v for kind, v in data if isinstance(v, str) and "image/" not in kind)
