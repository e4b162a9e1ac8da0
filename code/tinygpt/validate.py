"""One-sentence errors: the argument, what was given, what is allowed.

Each function returns the value it was given, so that a check fits where the value is used.
"""

import math
import numbers

import numpy as np

LARGEST = 2**31 - 1  # size: what no array and no loop would ever finish is a mistake


def instance(where: str, name: str, value, kind: type):
    """Return `value`, or say that it must be of a kind, such as a Tensor."""
    if not isinstance(value, kind):
        raise TypeError(f"{where}: {name} must be a {kind.__name__}, got {describe(value)}")
    return value


def check_choice(where: str, name: str, value, choices: tuple[str, ...]):
    """Raise unless `value` is one of some strings."""
    if not isinstance(value, str) or value not in choices:
        allowed = " or ".join(f'"{choice}"' for choice in choices)
        given = repr(value) if isinstance(value, str) else describe(value)
        raise ValueError(f"{where}: {name} must be {allowed}, got {given}")


def check_callable(where: str, name: str, value):
    """Raise unless `value` can be called."""
    if not callable(value):
        raise TypeError(f"{where}: {name} must be a function, got {describe(value)}")


def iterable(where: str, name: str, value, of: str):
    """Return an iterator over `value`, or say that it must be a list of something."""
    try:
        return iter(value)
    except TypeError:
        raise TypeError(f"{where}: {name} must be a list of {of}, got {describe(value)}") from None


def flag(where: str, name: str, value) -> bool:
    """Return `value` as a bool, or say that it must be True or False."""
    return bool(instance(where, name, bool(value) if isinstance(value, np.bool_) else value, bool))


def integer(where: str, name: str, value, low: int = 0, high: float = math.inf) -> int:
    """Return `value` as an int, or say that it must be an integer from low to high."""
    allowed = f"an integer from {low:,} to {high:,}"
    if math.isinf(high):
        allowed = "a positive integer" if low == 1 else f"an integer, {low} or more"
    if not is_integer(value):
        raise TypeError(f"{where}: {name} must be {allowed}, got {describe(value)}")
    if not low <= value <= high:
        given = value if abs(value) < 10**30 else f"an integer of {len(str(abs(value)))} digits"
        raise ValueError(f"{where}: {name} must be {allowed}, got {given}")
    return int(value)


def positive_integer(where: str, name: str, value) -> int:
    """Return `value` as an int, or say that it must be a positive integer that a size can be."""
    return size_integer(where, name, value, low=1)


def size_integer(where: str, name: str, value, low: int = 0) -> int:
    """Return `value` as an int, or say that it must be an integer from `low` that a size can be."""
    if is_integer(value) and value > LARGEST:
        return integer(where, name, value, low, LARGEST)
    return integer(where, name, value, low)


def real(where: str, name: str, value) -> float:
    """Return `value` as a float, or say that it must be a number; infinities and NaN are."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{where}: {name} must be a number, got {describe(value)}")
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if value > 0 else -math.inf


def number(where: str, name: str, value, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a float, or say that it must be a finite number from low to high."""
    value = real(where, name, value)
    if not (math.isfinite(value) and low <= value <= high):
        allowed = "a finite number"
        if math.isfinite(low) and math.isfinite(high):
            allowed = f"between {low:g} and {high:g}"
        elif math.isfinite(low):
            allowed = f"a finite number, {low:g} or more"
        raise ValueError(f"{where}: {name} must be {allowed}, got {value}")
    return value


def probability(where: str, name: str, value) -> float:
    """Return `value` as a float, or say that it must be at least 0 and below 1."""
    value = real(where, name, value)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{where}: {name} must be at least 0 and below 1, got {value}")
    return value


def generator(where: str, seed) -> np.random.Generator:
    """Return a generator started from `seed`; None starts it differently every time."""
    return np.random.default_rng(None if seed is None else integer(where, "seed", seed))


def integers(where: str, name: str, value) -> list[int]:
    """Return `value` as a list of Python ints, or say that it must be a list of integers."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{where}: {name} must be a list of integers, got {describe(value)}")
    if set(map(type, value)) - {int}:  # most are Python's own already
        wrong = next((each for each in value if not is_integer(each)), None)
        if wrong is not None or None in value:
            raise TypeError(
                f"{where}: {name} must be a list of integers, got one that holds {describe(wrong)}"
            )
        return [int(each) for each in value]
    return list(value)


def integer_array(where: str, name: str, value) -> np.ndarray:
    """Return `value` as an integer array, or say that it must hold integers."""
    if not isinstance(value, (np.ndarray, list, tuple, numbers.Integral)):
        raise TypeError(
            f"{where}: {name} must be a NumPy array or list of integers, got {describe(value)}"
        )
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{where}: {name} must be a rectangular array of integers, got rows of unequal length"
        ) from None
    if array.size == 0 and array.dtype == np.float64:  # NumPy's dtype for an empty list
        array = array.astype(np.int64)
    if array.dtype.kind not in "i" and (wide := _wide_integer(array, value)) is not None:
        raise ValueError(f"{where}: {name} must be integers that int64 holds, got {wide}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must be integers, got {array.dtype}")
    return array.astype(np.int64, copy=False)


def _wide_integer(array: np.ndarray, value) -> int | None:
    """Return the first integer in `value`, of which `array` was made, that int64 cannot hold."""
    if array.dtype.kind == "u" and (array.size == 0 or array.max() < 2**63):
        return None
    each = np.asarray(value, dtype=object).flat
    return next((v for v in each if is_integer(v) and not -(2**63) <= v < 2**63), None)


def ids_below(where: str, name: str, ids: np.ndarray, limit: int) -> np.ndarray:
    """Return `ids`, or name the first one outside 0..limit-1."""
    if ids.size and (ids.min() < 0 or ids.max() >= limit):
        wrong = ids[(ids < 0) | (ids >= limit)].flat[0]
        raise ValueError(f"{where}: {name} {wrong:,} is outside 0..{limit - 1:,}")
    return ids


def boolean_mask(where: str, name: str, mask, shape: tuple[int, ...]) -> np.ndarray:
    """Return `mask`, or say that it must be boolean and broadcast to `shape`."""
    if not isinstance(mask, (np.ndarray, np.bool_)) or mask.dtype != np.bool_:
        raise TypeError(f"{where}: {name} must be a boolean NumPy array, got {describe(mask)}")
    try:
        fits = np.broadcast_shapes(mask.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{where}: {name} of shape {mask.shape} does not broadcast to {shape}")
    return np.asarray(mask)


def finite_scores(where: str, name: str, scores: np.ndarray) -> np.ndarray:
    """Return `scores`, or say that a row has no finite highest one to choose by."""
    highest = scores.max(axis=-1)
    if not np.isfinite(highest).all():
        wrong = highest[~np.isfinite(highest)][0]
        given = "NaN" if np.isnan(wrong) else "infinity"
        raise ValueError(f"{where}: {name} must be finite, got {given}; check the model's weights")
    return scores


def is_integer(value) -> bool:
    """True for Python and NumPy integers, False for booleans."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def first_few(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def describe(value) -> str:
    """Return what a wrong value is, short enough for a sentence."""
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the type {value.__name__}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        return f"{kind} of {dtype} with shape {tuple(shape)}"
    if value is None or type(value).__repr__ is object.__repr__:
        return "None" if value is None else kind
    text = " ".join(repr(value).split())  # on one line
    return f"{kind} {text if len(text) <= 40 else text[:37] + '...'}"
