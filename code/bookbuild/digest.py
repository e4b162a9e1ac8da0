"""What a chapter's results depend on, besides its own cells.

The cache is keyed by a chapter's code and by this digest, so that a change in the
companion package runs the chapters that import the changed module, and no others.
Nothing is imported: modules are found by reading their source.
"""

import ast
import functools
import importlib.metadata
import re
import sys
from pathlib import Path

from bookbuild.notebook import Chapter, ChapterError
from bookbuild.shown import code_digest, reads_text, sha256

# Raise it when chapters start to run in another way (kernel.py, execute.py).
_RECIPE = 2
_VERSIONS_OF = ("numpy", "torch", "matplotlib")
_NOT_DATA = {".py", ".pyc", ".pyo", ".so"}


def book_inputs(chapter: Chapter, root: Path, *, whole: bool = False) -> dict:
    """The digest of a chapter of the book at `root`, as JSON-like data.

    It holds, each by its SHA-256, the companion modules that the chapter imports,
    directly or not, without comments and docstrings; those whose docstrings code may read,
    as they stand; the data files beside them, and the files that the front matter lists
    under `data:`; the versions of Python and of what computes; the tags of the cells; and
    the front matter's `chapter:` mapping, which generated cells read. (What a chapter shows
    of a module's text is seen when it runs: shown.py.) With `whole`, all modules as they stand.

    Raises:
        ChapterError: `data:` is not a list of files of the book.
    """
    modules = _companion(chapter, root)
    read = _read(chapter, modules)
    return {
        "recipe": _RECIPE,
        "modules": {n: code_digest(path.read_bytes()) for n, path in sorted(modules.items())},
        "texts": {
            name: _sha256(path)
            for name, path in sorted(modules.items())
            if whole or name in read
        },
        "package data": _package_data(modules, root),
        "data": _data(chapter, root),
        "versions": {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        | {name: _version(name) for name in _VERSIONS_OF},
        "tags": [cell.tags for cell in chapter.cells],
        "chapter": _plain(chapter.front.get("chapter")),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _sha256(path: Path) -> str:
    return sha256(path.read_bytes())


def _plain(value):
    """YAML's dates and the like as text, so that the digest is JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _data(chapter: Chapter, root: Path) -> dict[str, str]:
    names = chapter.front.get("data") or []
    names = [names] if isinstance(names, str) else names
    line = next((i for i, text in enumerate(chapter.lines, 1) if text.startswith("data:")), 1)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ChapterError(chapter.path, line, f"data is {names!r}; list files, one a line")
    digests = {}
    for name in names:
        path = root / name
        if not path.exists() or not path.resolve().is_relative_to(root.resolve()):
            raise ChapterError(
                chapter.path, line, f"data lists {name}; there is no such file in the book's folder"
            )
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        digests |= {file.relative_to(root).as_posix(): _sha256(file) for file in files}
    return digests


def _package_data(modules: dict[str, Path], root: Path) -> dict[str, str]:
    """Files that are not code, in the folders of the packages that are imported."""
    folders = {path.parent for path in modules.values() if path.name == "__init__.py"}
    files = [
        file
        for folder in sorted(folders)
        for file in sorted(folder.iterdir())
        if file.is_file() and file.suffix not in _NOT_DATA and not file.name.startswith(".")
    ]
    return {file.relative_to(root).as_posix(): _sha256(file) for file in files}


def _companion(chapter: Chapter, root: Path) -> dict[str, Path]:
    """Every module under `code/` that the chapter's cells and computed numbers reach."""
    code = root / "code"
    found: dict[str, Path] = {}
    waiting = {f"tinygpt.lab.{chapter.path.stem}"}  # its exercises, which the lab finds by name
    for source in [cell.source for cell in chapter.cells] + [n.expr for n in chapter.computed]:
        waiting |= _imports(_parse(source), "", code)
    while waiting:
        name = waiting.pop()
        if name in found or (path := _module_file(code, name)) is None:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting |= _module_imports(path.read_text("utf-8", errors="replace"), package, code)
    return found


def _module_file(code: Path, name: str) -> Path | None:
    base = code.joinpath(*name.split("."))
    for path in (base / "__init__.py", base.with_name(base.name + ".py")):
        if path.is_file():
            return path
    return None


def _read(chapter: Chapter, modules: dict[str, Path]) -> set[str]:
    """The modules whose docstrings or line numbers code may take, and change before it shows them.

    Code in a cell may take those of every module, code of the companion those of its package.
    """
    cells = [cell.source for cell in chapter.cells] + [n.expr for n in chapter.computed]
    if any(reads_text(source, cell=True) for source in cells):
        return set(modules)
    packages = set()
    for name, path in modules.items():
        if reads_text(path.read_text("utf-8", errors="replace")):
            packages.add(name if path.name == "__init__.py" else name.rpartition(".")[0] or name)
    return {name for name in modules if any(f"{name}.".startswith(f"{p}.") for p in packages)}


def _with_parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:n]) for n in range(1, len(parts) + 1)}


def _parse(source: str) -> ast.AST:
    """The syntax tree; of a cell with IPython's magics or a syntax error, its import lines."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        lines = [line.strip() for line in source.split("\n")]
        tree = ast.Module([], [])
        for line in lines:
            if re.match(r"(import|from)\s", line):
                try:
                    tree.body += ast.parse(line).body
                except SyntaxError:
                    continue
        return tree


@functools.lru_cache(maxsize=1024)  # chapters share most of their modules
def _module_imports(source: str, package: str, code: Path) -> set[str]:
    return _imports(_parse(source), package, code)


def _imports(tree: ast.AST, package: str, code: Path) -> set[str]:
    """Names of modules that a tree may import; those outside the companion do no harm."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names |= _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            names |= _with_parents(base) if base else set()
            # `from package import module` imports the module too.
            names |= {f"{base}.{alias.name}" for alias in node.names if base}
        elif isinstance(node, ast.Call):
            names |= _dynamic(node, package, code)
    return names


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _dynamic(node: ast.Call, package: str, code: Path) -> set[str]:
    """`import_module(…)`: the module named, or all that the part which is written can mean."""
    function = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
    if function not in ("import_module", "__import__") or not node.args:
        return set()
    name = node.args[0]
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        relative = name.value.startswith(".")
        return _with_parents(package + name.value if relative else name.value)
    start = package
    if isinstance(name, ast.JoinedStr) and isinstance(name.values[0], ast.Constant):
        written = name.values[0].value
        start = (package if written.startswith(".") else "") + written.rpartition(".")[0]
    if not start:
        return set()
    folder = code.joinpath(*start.split("."))
    return {f"{start}.{path.stem}" for path in folder.glob("*.py")} | _with_parents(start)
