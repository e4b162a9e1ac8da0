"""Calls with one wrong argument, and what an error must be: a sentence of the package's own."""

import ast
import inspect
import re
import traceback
from functools import cache
from pathlib import Path

import numpy as np
import tinygpt
import torch
from tinygpt import scratch

PACKAGE = Path(tinygpt.__file__).parent

WRONG = {
    "None": None,
    "True": True,
    "a string": "abc",
    "an empty string": "",
    "bytes": b"x",
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "-infinity": float("-inf"),
    "a huge integer": 10**30,
    "a complex number": 1j,
    "an empty list": [],
    "a list": [1, 2, 3],
    "a ragged list": [[1], [1, 2]],
    "a list of strings": ["a"],
    "a dict": {"a": 1},
    "a set": {1},
    "an object": object(),
    "a type": int,
    "a function": lambda *arguments: None,
    "a generator": iter([1]),
    "an array without numbers": np.zeros((0,), np.float32),
    "an array of 5 axes": np.zeros((2, 3, 4, 5, 6), np.float32),
    "an array of integers": np.zeros((7, 3), np.int64),
    "an array of negative integers": np.full((2, 4), -5),
    "an array of booleans": np.zeros((3, 5), bool),
    "a NaN in an array": np.array(np.nan),
    "complex numbers": np.zeros(3, complex),
    "strings in an array": np.array(["a", "b"]),
    "objects in an array": np.array([None, {}], dtype=object),
    "a Tensor without axes": scratch.Tensor(1.0),
    "a Tensor of another shape": scratch.Tensor(np.zeros((7, 3))),
    "a Tensor without numbers": scratch.Tensor(np.zeros((0, 4))),
    "a torch tensor without axes": torch.tensor(1.0),
    "a torch tensor of another shape": torch.zeros(7, 3),
    "a torch tensor without numbers": torch.zeros(0, 4),
    "a torch tensor of integers": torch.zeros(7, 3, dtype=torch.int64),
    "a torch tensor in double precision": torch.zeros(7, 3, dtype=torch.float64),
    "a torch tensor of complex numbers": torch.zeros(7, 3, dtype=torch.complex64),
    "a model": torch.nn.Linear(2, 2),
    "a layer": scratch.Linear(2, 2),
}


def complaints(call, arguments: dict) -> list[str]:
    """Return what is wrong with the errors of `call(**arguments)` with one argument replaced.

    Args:
        call: takes keyword arguments.
        arguments: right ones; each value may be a function without arguments that makes it.
    """
    found = []
    for name in arguments:
        for kind, wrong in WRONG.items():
            given = {key: make() for key, make in arguments.items()}
            if (name, kind) == ("max_new_tokens", "a huge integer"):
                continue  # it would be done
            if callable(wrong) and callable(given[name]):
                continue  # what it does when it is called is its own affair
            given[name] = wrong
            try:
                result = call(**given)
                if inspect.isgenerator(result):
                    list(result)
            except Exception as error:
                if said := complaint(error):
                    found.append(f"{name}={kind}: {said}")
    return found


def complaint(error: Exception) -> str | None:
    """Return why an error is none of the package's own, or is no sentence that names its place."""
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    given = f"{type(error).__name__}: {text[:120]!r} ({Path(last.filename).name}:{last.lineno})"
    if not isinstance(error, (TypeError, ValueError, OSError, ArithmeticError, LookupError)):
        return f"of another kind, {given}"
    if PACKAGE not in Path(last.filename).parents or last.lineno not in _raises(last.filename):
        return f"raw, {given}"
    if (
        "\n" in text
        or not re.match(r"[\w.]+( [-+*/@]+| index)?: ", text)
        or re.search(r"[^.]\.$", text)
    ):
        return f"no sentence, {given}"
    return None


@cache
def _raises(file: str) -> set[int]:
    """The lines of a file's `raise` statements."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}
