"""Source code by symbol: what a chapter shows, and what `tinygpt lab solution` prints."""

import ast
import builtins
import inspect
import sys
import textwrap
from types import ModuleType
from typing import Any

from tinygpt.lab.definitions import Chapter, Exercise, LabError, Mistake
from tinygpt.lab.excerpt import without_checks, without_docstrings

_LEFT_OUT = "# Argument checks are left out."


class Markdown(str):
    """Markdown that a notebook prints as it is, for a cell with `output: asis`."""

    def _ipython_display_(self):
        print(self)


def source(*objects: Any, docstrings: bool = True, checks: bool = False) -> Markdown:
    """Return the source of functions, classes or mistakes as one Markdown code block.

    The last line says so where argument checks were left out.

    Args:
        objects: what to show, in this order.
        docstrings: False leaves the docstrings out.
        checks: True shows the argument checks too.

    Raises:
        LabError: an object has no source in a file.
    """
    if not objects:
        raise LabError("lab.source: give a function or a class, such as lab.source(LayerNorm)")
    whole = [source_text(item, docstrings=docstrings) for item in objects]
    shown = whole if checks else [_idea(item, docstrings) for item in objects]
    if shown != whole:
        shown[-1] += f"\n\n{_LEFT_OUT}"
    return Markdown("```python\n" + "\n\n\n".join(shown) + "\n```\n")


def source_text(item: Any, *, docstrings: bool = True) -> str:
    """Return the source of one function, class or mistake, from the first column."""
    if isinstance(item, Mistake):
        parts = [source_text(part, docstrings=docstrings) for part in (*item.helpers, item.answer)]
        return "\n\n\n".join(parts)
    try:
        text = textwrap.dedent(inspect.getsource(item)).rstrip()
    except (TypeError, OSError):
        kind = type(item).__name__
        raise LabError(
            f"lab.source: a {kind} has no source to show; give a function or a class"
        ) from None
    return text if docstrings else without_docstrings(text)


def _idea(item: Any, docstrings: bool) -> str:
    """Return the source without its argument checks; a mistake is shown whole."""
    text = source_text(item, docstrings=docstrings)
    if isinstance(item, Mistake):
        return text
    home = vars(sys.modules[item.__module__])
    return without_checks(text, library="torch" if "torch" in home else "np")


def start_text(chapter: Chapter) -> str:
    """Return the file that a student starts from."""
    lines = inspect.getsource(chapter.stubs).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# ruff:"))


def solution_text(exercise: Exercise) -> str:
    """Return the solution, with whatever it needs beyond what the student's file imports.

    Imports that the file does not have come first, then private helpers of the solution's own
    module: pasted over the stub, the text runs.
    """
    home = sys.modules[exercise.solution.__module__]
    given = vars(sys.modules[exercise.stub.__module__])
    imports, helpers = set(), []
    _collect(source_text(exercise.solution), home, given, imports, helpers)
    body = [*helpers, source_text(exercise.solution)]
    return "\n\n\n".join((["\n".join(sorted(imports))] if imports else []) + body)


def _collect(text, home, given, imports, helpers):
    for name in _global_names(text):
        if name not in vars(home):
            continue
        value = vars(home)[name]
        if given.get(name) is value:
            continue
        if isinstance(value, ModuleType):
            package, _, last = value.__name__.rpartition(".")
            wanted = f"from {package} import {last}" if package else f"import {last}"
            imports.add(wanted if last == name else f"{wanted} as {name}")
        elif name.startswith("_") and getattr(value, "__module__", None) == home.__name__:
            helper = source_text(value)
            if helper not in helpers:
                _collect(helper, home, given, imports, helpers)
                helpers.append(helper)
        elif name in given:  # the student's own version, such as the block's LayerNorm
            continue
        else:
            made = getattr(value, "__module__", home.__name__)
            source = home.__name__ if made == "builtins" else made  # an alias such as Pair
            imports.add(f"from {source} import {name}")


def _global_names(text: str) -> list[str]:
    """Names that the code reads and Python does not define."""
    names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(names) if not hasattr(builtins, name)]
