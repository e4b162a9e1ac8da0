"""Make the mutants of a solution, and run one of them as an answer."""

import ast
import inspect
import marshal
import re
import sys
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.mutants.changes import DROP, alternatives, is_validation

FILE = "<mutant>"


@dataclass(frozen=True)
class Mutant:
    """One change of a solution.

    Attributes:
        before, after: the lines that differ, as Python writes the syntax tree; the second or a
            later mutant of the same text carries its number.
        text: the definitions with the change.
    """

    before: str
    after: str
    text: str

    @property
    def change(self) -> tuple[str, str]:
        """What names a mutant in the list of equivalent ones."""
        return self.before, self.after


def mutants_of(solution: Any) -> list[Mutant]:
    """Return all mutants of a function or class, in the order of its source.

    The private functions of its own module that it calls are part of it. Docstrings,
    annotations, and statements that only check arguments are left as they are.
    """
    tree = ast.Module(definitions(solution), [])
    original = ast.unparse(tree)
    seen, counted, found = {_bytecode(original)}, Counter(), []
    for parent, field, place, node in _nodes(tree, solution.__name__):
        for other in alternatives(node, parent, field):
            text = _with(tree, parent, field, place, other)
            try:
                code = _bytecode(text)
            except (SyntaxError, ValueError):
                continue
            if code in seen:
                continue
            seen.add(code)
            before, after = _difference(original, text)
            if re.fullmatch(r"(\w+) = \1", after):  # as if the line were dropped
                continue
            counted[before, after] += 1
            again = counted[before, after]
            found.append(Mutant(before, after + (f"  # {again}" if again > 1 else ""), text))
    return found


def definitions(solution: Any) -> list[ast.stmt]:
    """Return a solution's definition and those of its private helpers, stripped to the code."""
    home = sys.modules[solution.__module__]
    return [_stripped(node) for node in _collected(solution.__name__, home)]


def build(solution: Any, text: str) -> Any:
    """Run definitions in a copy of the solution's module, and return the one of its name.

    The copy sees all that the module sees, and the module, which checks may measure by,
    stays what it is.
    """
    space = dict(vars(sys.modules[solution.__module__]))
    exec(compile(text, FILE, "exec", dont_inherit=True), space)
    return space[solution.__name__]


def _collected(name: str, home: ModuleType) -> list[ast.stmt]:
    top = {
        node.name: node
        for node in ast.parse(inspect.getsource(home)).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    wanted, order = [name], []
    while wanted:
        one = wanted.pop(0)
        if one in order:
            continue
        order.append(one)
        named = [node.id for node in ast.walk(top[one]) if isinstance(node, ast.Name)]
        wanted += [other for other in named if other.startswith("_") and other in top]
    helpers = [one for one in order[1:] if not one.lstrip("_").startswith("check")]
    return [top[one] for one in (*helpers, name)]


def _without_other_methods(node: ast.ClassDef) -> ast.ClassDef:
    """Leave the methods that `__init__` and `forward` need, as the stubs ask for no others."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    wanted, needed = ["__init__", "forward"], set()
    while wanted:
        one = wanted.pop()
        if one in methods and one not in needed:
            needed.add(one)
            walked = ast.walk(methods[one])
            wanted += [each.attr for each in walked if isinstance(each, ast.Attribute)]
    node.body = [each for each in node.body if getattr(each, "name", "") in needed | {""}]
    return node


class _Strip(ast.NodeTransformer):
    """Take docstrings and annotations out."""

    def visit_FunctionDef(self, node):
        node.returns = None
        return self._body(node)

    def visit_ClassDef(self, node):
        return self._body(_without_other_methods(node))

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value else None

    def _body(self, node):
        if ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


def _stripped(node: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(_Strip().visit(node))


def _nodes(parent: ast.AST, name: str):
    """Give (parent, field, place in a list or None, node), leaving out checks of arguments."""
    for field, value in ast.iter_fields(parent):
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            if is_validation(node, name):
                continue
            yield parent, field, place, node
            yield from _nodes(node, name)


def _with(tree, parent, field, place, other) -> str:
    """Return the text of the tree with another node in this place, and put the old one back."""
    value = getattr(parent, field)
    if place is None:
        setattr(parent, field, other)
    else:
        changed = list(value)
        changed[place : place + 1] = [] if other is DROP else [other]
        if field in ("body", "finalbody") and not changed:
            changed = [ast.Pass()]
        setattr(parent, field, changed)
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    finally:
        setattr(parent, field, value)


def _bytecode(text: str) -> bytes:
    # All on one line: where a line stands is no difference.
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for attribute in ("lineno", "end_lineno"):
            if hasattr(node, attribute):
                setattr(node, attribute, 1)
        for attribute in ("col_offset", "end_col_offset"):
            if hasattr(node, attribute):
                setattr(node, attribute, 0)
    return marshal.dumps(compile(tree, FILE, "exec", dont_inherit=True), 2)


def _difference(before: str, after: str) -> tuple[str, str]:
    """Return the lines that two texts do not share, each joined to one line."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return tuple(" | ".join(line.strip() for line in lines) for lines in (old, new))
