"""Where a model computes, and with how many digits."""

import os
from contextlib import AbstractContextManager, nullcontext

import torch


def choose_device(name: str = "auto") -> torch.device:
    """Return CUDA if it is there, else MPS (Apple), else the CPU; or the device that is named.

    Under `torchrun` each process takes the graphics card of its own number.

    Raises:
        ValueError: PyTorch does not know the device, or it is not in this machine.
    """
    if name == "auto":
        name = "cpu"
        if torch.cuda.is_available():
            name = f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % torch.cuda.device_count()}"
        elif torch.backends.mps.is_available():
            name = "mps"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, ImportError, AttributeError) as error:
        reason = (str(error).splitlines() or [""])[0][:100]
        # PyTorch's list of all the devices that it has ever heard of helps nobody.
        reason = "" if not reason or reason.startswith("Expected one of") else f" ({reason})"
        raise ValueError(
            f"device must be auto, cpu, or one that is in this machine, got {name!r}{reason}"
        ) from None
    if device.type == "meta":
        raise ValueError("device must be one that computes, got 'meta'")
    return device


def memory() -> int | None:
    """Return the bytes of memory that this machine has; None where the system does not say."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Return the context in which a model computes with a precision of `Config`."""
    if precision == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        precision = "bfloat16" if fast else "float32"
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def seed_dropout(seed: int, device: torch.device) -> None:
    """Seed the generator that draws dropout on a device.

    `torch.manual_seed` seeds those of all devices, and on a machine without a graphics card
    it remembers every call of that for the day when there is one.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
