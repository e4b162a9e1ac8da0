"""Refuse an answer that hands over, extends or calls the book's own version of what is asked.

While a student's code runs, each function of the book's version looks at who called it. The
checks, which compare with it, and the rest of the package may; the student's own lines may
not. Allowed helpers may call it on their way: `scratch.GPT` is made of `TransformerBlock`.
"""

import contextlib
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tinygpt
from tinygpt.lab.definitions import Exercise
from tinygpt.lab.grading import FAILED, Result, grade

_PACKAGE = str(Path(tinygpt.__file__).parent)
# What else in the package does an exercise's work: "module:name", or "module:name?argument"
# where it does so only when it is given that argument.
_ALSO = {
    "topological_order": ["tinygpt.scratch.graph:topological_order"],
    "matmul_backward": ["tinygpt.scratch:Tensor.__matmul__", "tinygpt.scratch:linear"],
    "cross_entropy": ["tinygpt.scratch:log_softmax"],
    "conv2d": ["tinygpt.scratch:conv2d"],
    "conv2d_weight": ["tinygpt.scratch:conv2d", "tinygpt.scratch:Conv2d"],
    "max_pool2d": ["tinygpt.scratch:MaxPool2d"],
    "embedding_lookup": ["tinygpt.scratch:Embedding", "tinygpt.scratch:Tensor.__getitem__"],
    "rotary": ["tinygpt.scratch.positions:apply_rotary"],
    "learn_merges": ["tinygpt.tokenizers:ByteBPE.train"],
    "merge_by_rank": ["tinygpt.tokenizers:ByteBPE.encode"],
    "decode_tokens": ["tinygpt.tokenizers:ByteBPE.decode"],
    "split_special": ["tinygpt.tokenizers:pretokenize_stream"],
    "soft_lookup": [
        "tinygpt.scratch:scaled_dot_product_attention",
        "tinygpt.scratch:attention_weights",
    ],
    "scaled_scores": ["tinygpt.scratch:attention_weights"],
    "masked_softmax": ["tinygpt.scratch:softmax?mask", "tinygpt.scratch:log_softmax?mask"],
    "attend_in_heads": ["tinygpt.scratch:MultiHeadAttention"],
    "layer_norm": ["tinygpt.scratch:layer_norm"],
    "causal_attention": ["tinygpt.models:MultiHeadAttention"],
    "init_weights": ["tinygpt.models:GPT._initialise"],
    "count_parameters": [],
    "estimate_loss": ["tinygpt.training.evaluation:evaluate"],
    "temperature": ["tinygpt.sampling:next_token_probabilities"],
}
_DISPATCH = {"__call__", "_call_impl", "_wrapped_call_impl"}


class Borrowed(Exception):
    """The book's version was called by the student's code."""


def judge(exercise: Exercise, answer: Any, seconds: float | None = None) -> Result:
    """Grade a student's own answer: as `grade` does, and nothing in it may be the book's."""
    sentence = whose(exercise, answer)
    if sentence is None:
        with guarded(exercise) as called:
            result = grade(exercise, answer, seconds)
        if not called:
            return result
        sentence = f"{exercise.symbol} calls the book's own {called[0]}; write it yourself"
    return Result(exercise.name, FAILED, message=sentence, cause="borrowed")


def whose(exercise: Exercise, answer: Any) -> str | None:
    """Return one sentence when an answer is the book's own, or made of it; otherwise None."""
    symbol = exercise.symbol
    if answer is exercise.stub:
        return None
    if answer is exercise.book or answer is exercise.solution:
        return f"{symbol} is the book's own; write it yourself"
    versions = _functions(exercise)
    codes = {inspect.unwrap(function).__code__: name for function, (name, _) in versions.items()}
    kinds = [kind for kind in _versions(exercise) if isinstance(kind, type)]
    for value in _parts(answer):
        if isinstance(value, type) and value in kinds:
            return f"{symbol} extends the book's own {value.__name__}; write it yourself"
        # A decorator's own code is the same around every function; what it wraps comes next.
        code = None if hasattr(value, "__wrapped__") else getattr(value, "__code__", None)
        if code in codes:
            return f"{symbol} hands over the book's own {codes[code]}; write it yourself"
    return None


@contextlib.contextmanager
def guarded(exercise: Exercise) -> Iterator[list[str]]:
    """Let the book's version refuse calls from a student's code; gives what was called so.

    A function is replaced in place, by its code, so it refuses by whichever name it is called:
    an alias, a `functools.partial`, or a copy in another class.
    """
    called: list[str] = []
    kept = {}
    try:
        for function, (name, argument) in _functions(exercise).items():
            kept[function] = function.__code__
            original = types.FunctionType(
                function.__code__,
                function.__globals__,
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            original.__kwdefaults__ = function.__kwdefaults__
            signature = inspect.signature(function) if argument else None
            guard = functools.partial(_guard, function, original, name, argument, signature, called)
            function.__code__ = _calling(guard, function.__code__)
        yield called
    finally:
        for function, code in kept.items():
            function.__code__ = code


def _guard(function, original, name, argument, signature, called, args, kwargs):
    frame = sys._getframe()
    while frame.f_code is not function.__code__:
        frame = frame.f_back
    if _from_outside(frame.f_back) and _matters(signature, argument, args, kwargs):
        called.append(name)
        raise Borrowed(f"the book's own {name}")
    return original(*args, **kwargs)


def _from_outside(frame: types.FrameType | None) -> bool:
    """Whether the frame that made a call is neither the package's nor what passes calls on."""
    while frame is not None and frame.f_code.co_name in _DISPATCH:
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_PACKAGE)


def _matters(signature, argument, args, kwargs) -> bool:
    if argument is None:
        return True
    try:
        return signature.bind(*args, **kwargs).arguments.get(argument) is not None
    except TypeError:
        return False


def _calling(guard: Callable, like: types.CodeType) -> types.CodeType:
    """Return code that hands all its arguments to `guard`, to stand in place of `like`."""

    def template(*args, **kwargs):
        guard = "here"
        return guard(args, kwargs)

    code = template.__code__
    constants = tuple(guard if value == "here" else value for value in code.co_consts)
    return code.replace(co_consts=constants, co_freevars=like.co_freevars, co_name=like.co_name)


def _versions(exercise: Exercise) -> list[Any]:
    """The functions and classes that do an exercise's work, without those of conditions."""
    named = [_named(entry) for entry in _ALSO.get(exercise.name, []) if "?" not in entry]
    return [exercise.book, exercise.solution, *named]


def _functions(exercise: Exercise) -> dict[types.FunctionType, tuple[str, str | None]]:
    """The functions that refuse: with the name that the sentence gives, and its argument."""
    found = {}
    entries = [(version, None) for version in _versions(exercise)]
    for entry in _ALSO.get(exercise.name, []):
        if "?" in entry:
            entries.append((_named(entry.partition("?")[0]), entry.partition("?")[2]))
    for version, argument in entries:
        if isinstance(version, type):
            for name, value in vars(version).items():
                if isinstance(value, types.FunctionType) and name in ("__init__", "forward"):
                    found.setdefault(value, (version.__name__, argument))
        elif isinstance(version, types.FunctionType):
            found.setdefault(version, (version.__name__, argument))
    return found


def _named(entry: str) -> Any:
    module, _, path = entry.partition(":")
    value = importlib.import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    return getattr(value, "__func__", value)


def _parts(answer: Any) -> Iterator[Any]:
    """Give an answer, what it wraps, and for a class its bases and what stands in them."""
    values = [answer]
    if isinstance(answer, type):
        values = [
            value
            for base in answer.__mro__
            if base.__module__.partition(".")[0] not in ("torch", "builtins")
            for value in (base, *vars(base).values())
        ]
    for value in values:
        for _ in range(20):
            yield value
            inner = getattr(value, "func", None) or getattr(value, "__func__", None)
            inner = inner or getattr(value, "__wrapped__", None)
            if inner is None or isinstance(value, type):
                break
            value = inner
