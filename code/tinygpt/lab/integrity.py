"""Whether a student's file changed what it is checked with, or read the book's answers.

This finds what is written down in a file, such as `definitions.require = print`. Code that runs
in the same process can hide what it does; a grader runs it in a container, and reads it.
"""

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tinygpt
from tinygpt.lab.definitions import Exercise

_PACKAGE = Path(tinygpt.__file__).parent
# What checks and the lab call, besides the package itself.
_OTHERS = (
    "builtins", "json", "math", "operator", "os", "sys", "inspect", "itertools", "signal", "numpy",
    "numpy.linalg", "numpy.random", "numpy.testing", "torch", "torch.nn", "torch.nn.functional",
)  # fmt: skip


def snapshot(exercise: Exercise) -> dict[str, tuple[Any, Any, Any]]:
    """Return what must be the same after a student's code has run, by name."""
    found: dict[str, tuple[Any, Any, Any]] = {}
    for field, value in vars(exercise).items():
        found[f"the exercise's {field}"] = (exercise, field, value)
    for name, module in list(sys.modules.items()):
        if name in _OTHERS or name.partition(".")[0] == "tinygpt":
            _note(name, module, found, inside=name.startswith("tinygpt"))
    torch = sys.modules.get("torch")
    if torch is not None:
        _note("torch.Tensor", torch.Tensor, found)
    return found


def changed_since(before: dict[str, tuple[Any, Any, Any]]) -> str | None:
    """Return the name of what is another thing by now, or None."""
    for name, (owner, attribute, value) in before.items():
        if vars(owner).get(attribute) is not value:
            return name.removesuffix(" ")
    return None


@contextlib.contextmanager
def reading_noted(path: Path) -> Iterator[list[str]]:
    """Give the names of the package's source files that code in `path` reads, as text."""
    _hook_once()
    read: list[str] = []
    _readers.append((str(path), read))
    try:
        yield read
    finally:
        _readers.pop()


_readers: list[tuple[str, list[str]]] = []
_hooked: list[bool] = []


def _hook_once() -> None:
    if not _hooked:
        sys.addaudithook(_on_event)  # it cannot be taken away again; without readers it is idle
        _hooked.append(True)


def _on_event(event: str, arguments: tuple) -> None:
    if event != "open" or not _readers or not isinstance(arguments[0], str):
        return
    if not (arguments[0].endswith(".py") and arguments[0].startswith(str(_PACKAGE))):
        return
    frame, files, names = sys._getframe(1), set(), set()
    while frame is not None:
        files.add(frame.f_code.co_filename)
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    path, read = _readers[-1]
    ends = {Path(file).name for file in files}
    printing = "linecache.py" in ends and "inspect.py" not in ends  # a traceback
    if path in files and "exec_module" not in names and not printing:
        read.append(Path(arguments[0]).name)


def _note(name, owner, found, inside=False) -> None:
    for attribute, value in list(vars(owner).items()):
        if not callable(value):  # data may change: a seed, a cache
            continue
        found[f"{name}.{attribute}"] = (owner, attribute, value)
        if isinstance(value, types.FunctionType):
            found[f"{name}.{attribute} "] = _code(value)  # the space keeps the two apart
        elif inside and isinstance(value, type) and value.__module__ == name:
            _note(f"{name}.{attribute}", value, found)


def _code(function: types.FunctionType) -> tuple[Any, Any, Any]:
    return _Code(function), "code", function.__code__


class _Code:
    """Lets `vars` see the code that a function has by now."""

    def __init__(self, function):
        self._function = function

    @property
    def __dict__(self):
        return {"code": self._function.__code__}
