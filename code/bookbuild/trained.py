"""Which names of a chapter hold trained values, found in its source; see turning.py."""

import ast

from bookbuild.compare import Tolerances
from bookbuild.notebook import Chapter

# Calls that only lay out what the author wrote.
_LAYOUT = {"array", "asarray", "tensor", "arange", "linspace", "logspace", "geomspace", "range",
           "list", "tuple", "dict", "zeros", "ones", "float", "int", "len", "zip"}  # fmt: skip


def trained_names(chapter: Chapter) -> list[dict[str, float]]:
    """For each number of cells that have run, from 0: the tolerance of each name they assigned."""
    state: dict[str, float] = {}
    states = [{}]
    for cell in chapter.cells:
        if cell.options.get("eval", True) is not False:
            allowed = Tolerances.of(cell)
            state = state | _assigned(cell.source, allowed.relative or 0.0, state)
        states.append({name: tolerance for name, tolerance in state.items() if tolerance})
    return states


def _assigned(source: str, tolerance: float, known: dict[str, float]) -> dict[str, float]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # IPython's magics
        return {}
    found: dict[str, float] = {}
    for statement in tree.body:
        reads, calls = _reads(statement)
        inherited = max([({**known, **found}).get(name, 0.0) for name in reads], default=0.0)
        made = max(inherited, tolerance if calls - _LAYOUT else 0.0)
        for name in _targets(statement):
            found[name] = made if _replaces(statement) else max(made, known.get(name, 0.0))
    return found


def _reads(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a statement reads, and the last names of what it calls."""
    loaded = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    names = {n.id for n in loaded if isinstance(n.ctx, ast.Load)}
    functions = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    calls = {getattr(f, "attr", None) or getattr(f, "id", "") for f in functions}
    return names, calls


def _replaces(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and all(
        isinstance(n, ast.Name | ast.Tuple | ast.List) for n in statement.targets
    )


def _targets(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns, or fills by index, attribute or append."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return set()
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend", "update", "add", "setdefault")
        ):
            names |= {n.id for n in ast.walk(node.func.value) if isinstance(n, ast.Name)}
    return names
