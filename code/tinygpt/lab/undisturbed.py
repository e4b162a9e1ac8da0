"""What an answer must leave as it was: its arguments, and what all code shares.

For checks of NumPy and of PyTorch answers alike. PyTorch is not imported here: where an answer
needs it, the check has.
"""

import contextlib
import random
import sys
from typing import Any

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.scratch import Module, Tensor
from tinygpt.scratch.graph import recording


@contextlib.contextmanager
def undisturbed(symbol: str, *, draws: bool = False, **arguments: Any):
    """Fail if the code inside changes one of `arguments`, or what all code shares.

    Of an array or a tensor the values, type, shape and gradient are compared; of a module its
    parameters, their gradients and whether each part trains; of an optimiser its settings and
    what it remembers; lists and dictionaries item by item.

    Args:
        symbol: what the answer is called in the message.
        draws: whether the answer may draw from PyTorch's shared random numbers, as dropout does.
        arguments: by the name in the message: `prompt=ids` gives "its prompt".
    """
    before = {name: state_of(value) for name, value in arguments.items()}
    with globals_left_alone(symbol, draws=draws):
        yield
    for name, value in arguments.items():
        changed = first_change(before[name], state_of(value))
        require(
            changed is None,
            f"{symbol} should leave its {name} as it was; it changed {changed or 'it'}",
        )


def state_of(value: Any) -> dict[str, Any]:
    """Return what can change about a value: from the name of a part to its content."""
    state: dict[str, Any] = {}
    _note(value, "", state, set())
    return state


def first_change(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the name of the first part that differs ("" for the value itself), or None."""
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name, _MISSING) != after.get(name, _MISSING):
            return name
    return None


@contextlib.contextmanager
def globals_left_alone(symbol: str, *, draws: bool = False):
    """Fail if the code inside changes a switch or random numbers that all code shares.

    All of it is put back, so that what comes next starts from where this one did.
    """
    torch = sys.modules.get("torch")
    recorded, numbers = recording.get(), _shared_numbers(torch, draws)
    switches = _torch_switches(torch)
    kept = np.random.get_state(), random.getstate(), torch and torch.get_rng_state()
    try:
        yield
    finally:
        left, torch_left = recording.get(), _torch_switches(torch)
        left_numbers = _shared_numbers(torch, draws)
        recording.set(recorded)
        np.random.set_state(kept[0])
        if left_numbers != numbers:
            random.setstate(kept[1])
        if torch is not None:
            torch.set_grad_enabled(switches["recording of graphs"])
            torch.set_default_dtype(switches["default dtype"])
            if left_numbers != numbers:
                torch.set_rng_state(kept[2])
    require(
        left == recorded,
        f"{symbol} should leave the recording of graphs {_on(recorded)}, as it was; it is "
        f"{_on(left)}",
    )
    for name, value in switches.items():
        found = torch_left[name]
        shown = f"switched it {_on(found)}" if isinstance(found, bool) else f"set it to {found}"
        require(found == value, f"{symbol} should leave the {name} as it was; it {shown}")
    require(
        left_numbers == numbers,
        f"{symbol} should leave the random numbers that all code shares as they were; it "
        f"{'seeds them' if draws else 'draws from them or seeds them'}",
    )


_MISSING = object()


def _note(value, name, state, seen) -> None:
    torch = sys.modules.get("torch")
    if isinstance(value, np.ndarray):
        state[name] = _array(value)
    elif isinstance(value, Tensor):
        _note_tensor(value.data, value.grad, name, state)
    elif torch is not None and isinstance(value, torch.Tensor):
        _note_tensor(value, value.grad if value.is_leaf else None, name, state)
        state[_of("requires_grad", name)] = value.requires_grad
    elif isinstance(value, Module):
        _note_module(value.named_parameters(), value.modules(), name, state, seen)
    elif torch is not None and isinstance(value, torch.nn.Module):
        parts = [*value.named_parameters(), *value.named_buffers()]
        _note_module(parts, value.named_modules(), name, state, seen)
    elif torch is not None and isinstance(value, torch.optim.Optimizer):
        _note(value.state_dict(), _of("the state", name), state, seen)
    elif isinstance(value, np.random.Generator) or id(value) in seen:
        return  # a generator is handed over to be drawn from
    elif isinstance(value, dict):
        state[_of("the keys", name)] = list(value)
        for part in value.values():
            _note_part(part, name, state, {*seen, id(value)})
    elif isinstance(value, (list, tuple)):
        state[_of("the length", name)] = len(value)
        for part in value:
            _note_part(part, name, state, {*seen, id(value)})
    elif type(value).__module__.startswith("tinygpt.") and hasattr(value, "__dict__"):
        _note(vars(value), name, state, {*seen, id(value)})
    elif isinstance(value, (str, bytes, int, float, complex, set, frozenset, type(None))):
        state[name] = set(value) if isinstance(value, set) else value


def _note_part(part, name, state, seen) -> None:
    """Note an item of a list: the message names the list, so a number keeps items apart."""
    inner: dict[str, Any] = {}
    _note(part, "", inner, seen)
    state[name] = (*state.get(name, ()), *inner.items())


def _note_module(parameters, parts, name, state, seen) -> None:
    for part, parameter in parameters:
        _note(parameter, part, state, seen)
    for part, module in parts:
        state[_of("the mode", part or name)] = module.training


def _note_tensor(data, grad, name, state) -> None:
    state[name] = _array(data)
    state[_of("the gradient", name)] = None if grad is None else _array(grad)


def _array(value) -> tuple:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return str(value.dtype), value.shape, tuple(value.flat)
        return str(value.dtype), value.shape, value.tobytes()
    flat = value.detach().cpu().contiguous().reshape(-1)
    data = flat.view(sys.modules["torch"].uint8).numpy().tobytes() if flat.numel() else b""
    return str(value.dtype), tuple(value.shape), data


def _of(what: str, name: str) -> str:
    return f"{what} of {name}" if name else what


def _on(switch: bool) -> str:
    return "on" if switch else "off"


def _shared_numbers(torch, draws: bool) -> list:
    numpys = np.random.get_state(legacy=False)["state"]
    numbers = [{name: np.asarray(value).tolist() for name, value in numpys.items()}]
    if "beartype" not in sys.modules:  # which draws, where types are checked
        numbers.append(random.getstate())
    if torch is not None:
        numbers.append(torch.initial_seed())
        if not draws:
            numbers.append(torch.get_rng_state().numpy().tobytes())
    return numbers


def _torch_switches(torch) -> dict[str, Any]:
    if torch is None:
        return {}
    return {
        "recording of graphs": torch.is_grad_enabled(),
        "default dtype": torch.get_default_dtype(),
    }
