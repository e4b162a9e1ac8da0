"""The idea of a listing: its source without docstrings, and without argument checks.

What is left out does nothing to arguments that are right: an `if` that only raises, a call that
only checks, what was computed for these alone. Where a check hands on what it was given, that
stands in its place: `size = probability("MLP", "size", size)` goes, and `Dropout(probability(
"MLP", "p", p))` becomes `Dropout(p)`. The tests run what is left in place of the whole.
"""

import ast
import re

# What a check hands on, of its arguments (from 0), when they are right.
_HANDS_ON = {
    "_batches": "{0}",
    "_check_tokens": "{library}.atleast_2d({2})",
    "_checked_words": "[(list(ids), count) for ids, count in {1}]",
    "_context": "{1} if {2} is None else {2}",
    "_even": "{2}",
    "_examples": "{2}",
    "_highest": "{1}.amax(dim=-1, keepdim=True)",
    "_images": "{1}",
    "_pair": "({2}, {2}) if isinstance({2}, int) else {2}",
    "_parameters": "list({1})",
    "axis_of": "{1}",
    "boolean_mask": "{2}",
    "finite_scores": "{2}",
    "flag": "{2}",
    "generator": "np.random.default_rng({1})",
    "ids_below": "{2}",
    "instance": "{2}",
    "integer": "{2}",
    "integer_array": "np.asarray({2})",
    "integers": "list({2})",
    "iterable": "iter({2})",
    "number": "{2}",
    "positive_integer": "{2}",
    "probability": "{2}",
    "real": "{2}",
    "size_integer": "{2}",
    "token_list": "list({2})",
}
_RAISES = re.compile(r"\n\n( *)Raises:\n(?:\1 +\S.*\n)+")


def without_docstrings(text: str) -> str:
    """Return the code without the docstrings of its functions and classes."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not ast.get_docstring(node):
            continue
        first = node.body[0]
        if len(node.body) == 1:
            continue  # nothing would be left of the body
        end = first.end_lineno
        if end < len(lines) and lines[end].strip() == "":
            end += 1
        lines[first.lineno - 1 : end] = [None] * (end - first.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def without_checks(text: str, library: str = "np") -> str:
    """Return the code without what only checks arguments, and without "Raises:" in docstrings.

    Args:
        text: definitions, from the first column.
        library: the library of the code's arrays, `np` or `torch`.
    """
    read = _names_read(ast.parse(text))
    text = _RAISES.sub("\n", text)
    while (call := _next_check(ast.parse(text))) is not None:
        arguments = [ast.get_source_segment(text, argument) for argument in call.args]
        start, end = _span(text, call)
        template = _HANDS_ON[_called(call)]
        text = text[:start] + template.format(*arguments, library=library) + text[end:]
    while (gone := _next_gone(ast.parse(text), read)) is not None:
        text = _without(text, gone)
    return re.sub(r":\n\n+", ":\n", text)


def _called(node: ast.AST) -> str | None:
    """The name of what a call of the package's own calls: f(…), validate.f(…), self.f(…)."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id in ("self", "validate") else None
    return function.id if isinstance(function, ast.Name) else None


def _next_check(tree: ast.AST) -> ast.Call | None:
    """The next call that hands on one of its arguments."""
    return next((node for node in ast.walk(tree) if _called(node) in _HANDS_ON), None)


def _next_gone(tree: ast.AST, read: set[str]) -> ast.stmt | None:
    """The next statement that does nothing, outermost first; `read` is what the whole reads."""
    still = _names_read(tree)
    unused = read - still
    for parent in ast.walk(tree):
        body = getattr(parent, "body", None)
        if not isinstance(body, list) or isinstance(parent, ast.Module):
            continue
        for statement in body + (getattr(parent, "orelse", None) or []):
            if _only_raises(statement) or (len(body) > 1 and _does_nothing(statement, unused)):
                return statement
    return None


def _does_nothing(statement: ast.stmt, unused: set[str]) -> bool:
    """True for a check, for `x = x`, and for what is computed and read no more."""
    if isinstance(statement, ast.Expr):
        name = _called(statement.value)
        return isinstance(statement.value, ast.Name) or bool(name and re.match("_?check_", name))
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
        value = statement.value
        return target.id in unused or (isinstance(value, ast.Name) and value.id == target.id)
    if isinstance(statement, (ast.If, ast.For)) and not statement.orelse:
        return all(isinstance(s, ast.Raise) or _does_nothing(s, unused) for s in statement.body)
    return False


def _only_raises(statement: ast.stmt) -> bool:
    """True for a `try` that turns one error into another."""
    if not isinstance(statement, ast.Try) or statement.orelse or statement.finalbody:
        return False
    return all(isinstance(s, ast.Raise) for handler in statement.handlers for s in handler.body)


def _without(text: str, gone: ast.stmt) -> str:
    """Take a statement's lines out; of a `try` the body stays."""
    lines = text.splitlines()
    stays = []
    if isinstance(gone, ast.Try):
        last = gone.body[-1].end_lineno
        stays = [line.removeprefix("    ") for line in lines[gone.lineno : last]]
    lines[gone.lineno - 1 : gone.end_lineno] = stays
    return "\n".join(lines)


def _names_read(tree: ast.AST) -> set[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _span(text: str, node: ast.AST) -> tuple[int, int]:
    """Where a node begins and ends, in characters; the syntax tree counts bytes of a line."""
    lines = text.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        inside = lines[line - 1].encode()[:column].decode()
        return sum(map(len, lines[: line - 1])) + len(inside)

    return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
