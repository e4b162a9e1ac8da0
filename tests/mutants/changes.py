"""What a mutant changes: for one node of the syntax tree, what may stand in its place.

Each function takes a node and gives the nodes that replace it; `DROP` removes it.
"""

import ast
import copy
from collections.abc import Iterator

DROP = object()

_OPERATORS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_PAIRS = [
    ("max", "min"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("sum", "mean"),
    ("sin", "cos"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("any", "all"),
    ("tril", "triu"),
    ("train", "eval"),
    ("floor", "ceil"),
    ("isinf", "isnan"),
    ("items", "keys"),
    ("log_softmax", "softmax"),
    ("startswith", "endswith"),
]
_SIBLINGS = dict(_PAIRS) | {second: first for first, second in _PAIRS} | {
    "cumsum": "cumprod",
    "standard_normal": "random",
    "permutation": "arange",
    "empty": "ones",
}  # fmt: skip
# f(x) becomes x, and x.f() becomes x.
_REMOVED = {
    "sqrt", "exp", "log", "abs", "reversed", "sorted", "float", "int", "list", "tuple", "set",
    "array", "copy", "clone", "detach", "contiguous", "astype", "to", "item", "softmax",
    "log_softmax", "swapaxes", "transpose", "flatten", "dropout", "double", "clip",
}  # fmt: skip
_ALONG_THE_LAST = {"sort", "argsort", "topk"}  # without an axis too
_SYMMETRIC = {"swapaxes", "transpose", "max", "min", "maximum", "minimum"}


def is_validation(node: ast.AST, name: str) -> bool:
    """Whether a part of a solution only looks at arguments: no exercise asks for that.

    The package's own functions for this take the name of the solution, for their messages:
    `k = positive_integer("keep_top_k", "k", k)`. In their helpers it is called `where`.
    """
    if isinstance(node, (ast.Raise, ast.Assert)):
        return True
    if isinstance(node, (ast.If, ast.For)):
        return all(is_validation(child, name) for child in node.body + node.orelse)
    if isinstance(node, (ast.Assign, ast.Expr)):
        return isinstance(node.value, ast.Call) and is_validation(node.value, name)
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of zip
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(first, ast.Constant):
        return isinstance(first.value, str) and first.value.partition(".")[0] == name
    return isinstance(first, ast.Name) and first.id == "where"


def name_of(function: ast.expr) -> str:
    """Return the last name of `f`, `a.f` or `a.b.f`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def alternatives(node: ast.AST, parent: ast.AST, field: str) -> Iterator:
    """Give everything that a mutant may put in place of this node."""
    if isinstance(node, ast.stmt):
        yield from _statements(node, parent, field)
    elif isinstance(node, ast.expr):
        if field == "decorator_list":
            yield DROP
        yield from _expressions(node, parent, field)
    elif isinstance(node, ast.keyword) and node.arg is not None:
        if not (node.arg in ("axis", "dim") and name_of(parent.func) in _ALONG_THE_LAST):
            yield DROP
    elif isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            changed = copy.deepcopy(node)
            del changed.ifs[place]
            yield changed


def _statements(node, parent, field):
    droppable = (
        ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Break, ast.Continue, ast.Delete
    )  # fmt: skip
    if isinstance(node, droppable):
        yield DROP
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)
        for operator in _OPERATORS.get(type(node.op), ()):
            yield ast.AugAssign(node.target, operator(), node.value)
    if isinstance(node, (ast.If, ast.While)):
        for value in (True, False) if isinstance(node, ast.If) else (False,):
            changed = copy.copy(node)
            changed.test = ast.Constant(value)
            yield changed


def _expressions(node, parent, field):
    kind = type(node)
    if kind in _BY_KIND:
        yield from _BY_KIND[kind](node, parent, field)


def _binary(node, parent, field):
    for operator in _OPERATORS.get(type(node.op), ()):
        yield ast.BinOp(node.left, operator(), node.right)
    if isinstance(node.op, _ORDERED):
        yield ast.BinOp(node.right, node.op, node.left)
    yield node.left
    yield node.right


def _unary(node, parent, field):
    number = node.operand.value if isinstance(node.operand, ast.Constant) else None
    if not isinstance(node.op, ast.USub) or type(number) is not int:
        yield node.operand
        return
    reshaping = isinstance(parent, ast.Call) and name_of(parent.func) == "reshape"
    for other in dict.fromkeys((-number + 1, -number - 1, 0)):
        if not (reshaping and other < 0):  # NumPy takes any negative size for "the rest"
            yield ast.Constant(other)


def _compare(node, parent, field):
    for place, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            operators = list(node.ops)
            operators[place] = other()
            yield ast.Compare(node.left, operators, node.comparators)


def _boolean(node, parent, field):
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for place in range(len(node.values)):
        rest = node.values[:place] + node.values[place + 1 :]
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _choice(node, parent, field):
    yield node.body
    yield node.orelse


def _constant(node, parent, field):
    value = node.value
    if value is None:
        if isinstance(parent, (ast.arguments, ast.Tuple, ast.Subscript)):
            yield ast.Constant(0)
    elif value is Ellipsis:
        yield ast.Slice()
    elif isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int) and not isinstance(parent, ast.UnaryOp):
        for other in dict.fromkeys((value + 1, value - 1, 0)):
            if other != value:
                yield ast.Constant(other)
    elif isinstance(value, float):
        factor = 10.0 if 0 < abs(value) < 1e-3 else 2.0
        for other in (value * factor, value / factor) if value else (1.0,):
            yield ast.Constant(float(f"{other:.6g}"))
    elif isinstance(value, (str, bytes)):
        yield ast.Constant(("x" if isinstance(value, str) else b"x") + value)


def _slice(node, parent, field):
    if node.lower is None and node.upper is None:
        yield ast.Slice(None, ast.Constant(1), node.step)
    for bound in ("lower", "upper", "step"):
        given = getattr(node, bound)
        if given is None:
            continue
        bounds = {"lower": node.lower, "upper": node.upper, "step": node.step}
        yield ast.Slice(**(bounds | {bound: None}))
        if not isinstance(given, (ast.Constant, ast.UnaryOp)):  # numbers change by themselves
            for operator in (ast.Add, ast.Sub):
                shifted = ast.BinOp(given, operator(), ast.Constant(1))
                yield ast.Slice(**(bounds | {bound: shifted}))
    if node.lower is None and node.upper is not None:
        yield ast.Slice(ast.Constant(1), node.upper, node.step)


def _call(node, parent, field):
    name = name_of(node.func)
    method = isinstance(node.func, ast.Attribute)
    if name in _SIBLINGS:
        changed = copy.copy(node)
        other = _SIBLINGS[name]
        changed.func = (
            ast.Attribute(node.func.value, other, ast.Load())
            if method
            else ast.Name(other, ast.Load())
        )
        yield changed
    if name in _REMOVED:
        of_module = method and isinstance(node.func.value, ast.Name)
        of_module = of_module and node.func.value.id in ("np", "math", "torch", "F")
        if method and not of_module:
            yield node.func.value
        elif node.args:
            yield node.args[0]
    for place in range(len(node.args) - 1) if name not in _SYMMETRIC else ():
        args = list(node.args)
        args[place : place + 2] = [args[place + 1], args[place]]
        yield ast.Call(node.func, args, node.keywords)
    if name == "swapaxes" and len(node.args) == 2:
        swapped = ast.UnaryOp(ast.USub(), ast.Constant(3))
        yield ast.Call(node.func, [node.args[0], swapped], node.keywords)


def _attribute(node, parent, field):
    if node.attr == "inf":
        yield ast.Constant(0.0)
    elif node.attr == "pi":
        yield ast.Constant(3.0)


def _tuple(node, parent, field):
    if isinstance(parent, ast.Subscript):
        for place, item in enumerate(node.elts):
            if isinstance(item, ast.Constant) and item.value is None and len(node.elts) > 1:
                yield ast.Tuple(node.elts[:place] + node.elts[place + 1 :], ast.Load())


_BY_KIND = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Constant: _constant,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
}
