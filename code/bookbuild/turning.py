"""The rule that no sentence turns near a trained value: runs in a chapter's kernel.

A cell's tolerance says by how much another processor may move its numbers. A word or a
rounded number in prose that is computed from them must be the same wherever they end up:
the sentence "more than nine in ten" must not become "fewer" because 0.94 may be 0.80.
So the check evaluates the expression again, with what such a cell assigned moved by its
tolerance: everything up, everything down, names and elements in opposite directions.

Moved are floats, arrays and tensors of floats, alone or in lists, tuples, dictionaries,
dataclasses and simple namespaces, that the expression reads, also through functions of the
chapter. Tolerances are handed on: what a later cell makes from such a name has its tolerance.

What it does not see: whole numbers (a count of right answers); the weights of a model and
what they give when the expression runs the model; values in closures, generators and other
objects; more than one tolerance's distance; and that some combinations of moved values could
not occur together, so that it may refuse a sentence that no machine turns. Numbers with a
tolerance of their own may move, the words around them may not.
"""

import builtins
import copy
import dataclasses
import itertools
import random
import re
import sys
import time
import types
from collections.abc import Callable, Iterator

_NUMBER = re.compile(r"[-+\u2212]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PATTERNS = 8  # ways to move the inputs at random, besides the regular ones
_PATIENCE = 5.0  # seconds for one expression, after its first moved evaluation


def find_turn(
    namespace: dict, expr: str, tolerances: dict[str, float], numbers_may_move: bool
) -> tuple[str, str, list[str]] | None:
    """Evaluate an expression with its trained inputs moved, and give back the first change.

    The namespace is as before afterwards, and so are the random numbers of Python, NumPy
    and PyTorch.

    Args:
        namespace: the kernel's.
        tolerances: by name, what the cells that assigned it allow.
        numbers_may_move: compare the words only, for a number with a tolerance of its own.

    Returns:
        (printed now, printed with moved inputs, the names that moved), or None.
    """
    read = _reached(expr, namespace) & set(tolerances)
    values = {name: namespace[name] for name in sorted(read) if _moves(namespace[name])}
    if not values:
        return None
    code = compile(expr, "<computed>", "eval")
    same: Callable[[str], str] = (lambda s: _NUMBER.sub("#", s)) if numbers_may_move else str
    with _undisturbed():
        now = str(eval(code, namespace))
        limit = None
        for signs in _signs(list(values)):
            moved = {n: _moved(v, tolerances[n], signs[n]) for n, v in values.items()}
            started = time.monotonic()
            try:
                namespace.update(moved)
                then = str(eval(code, namespace))
            except Exception as error:  # such as a name that is then not found
                then = f"{type(error).__name__}: {error}"
            finally:
                namespace.update(values)
            if same(then) != same(now):
                return now, then, list(values)
            limit = limit or started + _PATIENCE
            if time.monotonic() > limit:
                break
    return None


def _reached(expr: str, namespace: dict) -> set[str]:
    """The global names that an expression reads, also through functions of the chapter."""
    waiting = [compile(expr, "<computed>", "eval")]
    seen, names = set(), set()
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        for name in code.co_names:
            names.add(name)
            value = namespace.get(name)
            if isinstance(value, types.FunctionType) and value.__globals__ is namespace:
                waiting.append(value.__code__)
    return {name for name in names if name in namespace and not hasattr(builtins, name)}


def _signs(names: list[str]) -> Iterator[dict[str, Callable[[], int]]]:
    """For each name a function that says for one number after another: up or down."""
    yield {name: lambda: 1 for name in names}
    yield {name: lambda: -1 for name in names}
    for both in ((1, -1), (-1, 1)):  # one up, the next down, through all names and elements
        turns = itertools.cycle(both)
        yield dict.fromkeys(names, lambda turns=turns: next(turns))
        yield {name: lambda sign=both[i % 2]: sign for i, name in enumerate(names)}
    draw = random.Random(0)
    for _ in range(_PATTERNS):
        yield dict.fromkeys(names, lambda: draw.choice((-1, 1)))


def _moves(value) -> bool:
    count = []
    _moved(value, 0.0, lambda: count.append(1) or 1)
    return bool(count)


def _moved(value, tolerance: float, sign: Callable[[], int], depth: int = 0):
    """A copy in which every float is `value · (1 ± tolerance)`; what has none is itself."""
    if isinstance(value, float):
        return type(value)(value * (1 + sign() * tolerance))
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy and isinstance(value, numpy.ndarray):
        if value.dtype.kind != "f" or not value.size:
            return value
        signs = numpy.array(_drawn(sign, value.size)).reshape(value.shape)
        return (value * (1 + signs * tolerance)).astype(value.dtype)
    if numpy and isinstance(value, numpy.floating):
        return type(value)(value * (1 + sign() * tolerance))
    if torch and isinstance(value, torch.Tensor):
        if not value.is_floating_point() or not value.numel():
            return value
        signs = torch.tensor(_drawn(sign, value.numel())).reshape(value.shape)
        return (value.detach() * (1 + signs * tolerance)).to(value.dtype)
    if depth > 6:
        return value

    def inner(item):
        return _moved(item, tolerance, sign, depth + 1)

    if isinstance(value, tuple):
        items = [inner(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is list:
        return [inner(item) for item in value]
    if isinstance(value, dict):
        new = copy.copy(value)
        for key, item in value.items():
            new[key] = inner(item)
        return new
    plain = dataclasses.is_dataclass(value) and not isinstance(value, type)
    if plain or isinstance(value, types.SimpleNamespace):
        new = copy.copy(value)
        for key, item in vars(value).items():
            object.__setattr__(new, key, inner(item))
        return new
    return value


def _drawn(sign: Callable[[], int], count: int) -> list[int]:
    """The signs of an array; the first numbers have their own, a long rest repeats them."""
    few = [sign() for _ in range(min(count, 997))]
    return (few * (count // len(few) + 1))[:count]


class _undisturbed:
    """The generators of random numbers are as before afterwards."""

    def __enter__(self):
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        self.states = [(random.setstate, random.getstate())]
        if numpy:
            self.states.append((numpy.random.set_state, numpy.random.get_state()))
        if torch:
            self.states.append((torch.set_rng_state, torch.get_rng_state()))

    def __exit__(self, *_):
        for restore, state in self.states:
            restore(state)
