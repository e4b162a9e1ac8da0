"""One machine as several: the libraries that compute, told to work as for another processor.

OpenBLAS, PyTorch, oneDNN, MKL and NumPy choose their routines by what the processor can do,
and each choice rounds differently. Environment variables choose instead, so that one
machine can show what a reader's older, newer or other one would compute.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bookbuild.kernel import THREADS, pinned_environment

_CHOICES = ("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA",
            "NPY_DISABLE_CPU_FEATURES", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR")  # fmt: skip


@dataclass(frozen=True)
class Combination:
    """A processor to be: its name, what the libraries are told, and what they need."""

    name: str
    threads: int = 1
    openblas: str | None = None
    aten: str | None = None
    onednn: str | None = None
    mkl: str | None = None
    numpy_up_to: int = 4  # the level of x86-64 that NumPy may use; 4 is AVX-512
    needs: str = "X86_V2"  # a feature as NumPy names it
    needs_name: str = "SSE4"

    def environment(self, dispatch: list[str]) -> dict[str, str]:
        """The variables of this combination.

        Args:
            dispatch: the features that NumPy chooses among, as it names them.
        """
        told = {
            "OPENBLAS_CORETYPE": self.openblas,
            "ATEN_CPU_CAPABILITY": self.aten,
            "ONEDNN_MAX_CPU_ISA": self.onednn,
            "MKL_ENABLE_INSTRUCTIONS": self.mkl,
            "MKL_CBWR": "COMPATIBLE" if self.mkl == "SSE4_2" else None,
            "NPY_DISABLE_CPU_FEATURES": " ".join(f for f in dispatch if self._leaves_out(f)),
        }
        return {name: value for name, value in told.items() if value} | {THREADS: str(self.threads)}

    def _leaves_out(self, feature: str) -> bool:
        if feature.startswith(("AVX512", "X86_V4")):
            return self.numpy_up_to < 4
        return self.numpy_up_to < 3 and feature.startswith(("AVX", "FMA", "X86_V3"))


_AVX512 = {"openblas": "SkylakeX", "aten": "avx512", "onednn": "AVX512_CORE", "mkl": "AVX512",
           "needs": "AVX512_SKX", "needs_name": "AVX-512"}  # fmt: skip
_AVX2 = {"aten": "avx2", "onednn": "AVX2", "mkl": "AVX2", "numpy_up_to": 3,
         "needs": "AVX2", "needs_name": "AVX2"}  # fmt: skip
_SSE = {"openblas": "Nehalem", "aten": "default", "onednn": "SSE41", "mkl": "SSE4_2",
        "numpy_up_to": 2}  # fmt: skip

COMBINATIONS = (
    Combination("as it is"),
    Combination("as it is, 2 threads", threads=2),
    Combination("SkylakeX", **_AVX512),
    Combination("SkylakeX, 2 threads", threads=2, **_AVX512),
    Combination("Haswell", openblas="Haswell", **_AVX2),
    Combination("Zen, 2 threads", threads=2, openblas="Zen", **_AVX2),
    Combination("Nehalem", **_SSE),
    Combination("mixed", openblas="Nehalem", aten="avx2", onednn="AVX2", numpy_up_to=2,
                needs="AVX2", needs_name="AVX2"),
)  # fmt: skip

# Asks the libraries what they do, in a process that was told so; prints JSON.
_ASK = """
import importlib.util, json, os, platform
said = {"machine": platform.machine(), "dispatch": [], "features": [], "threads": None}
def has(name):
    return importlib.util.find_spec(name) is not None
if has("numpy"):
    import numpy
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:
        from numpy.core import _multiarray_umath as core
    said["dispatch"] = list(core.__cpu_dispatch__)
    said["features"] = sorted(name for name, there in core.__cpu_features__.items() if there)
    said["NumPy"] = ([f for f in said["dispatch"] if core.__cpu_features__.get(f)]
                     or list(core.__cpu_baseline__) or ["baseline"])[-1]
if has("torch"):
    import torch
    said["PyTorch"] = torch.backends.cpu.get_cpu_capability()
    said["threads"] = torch.get_num_threads()
    torch.nn.functional.conv2d(torch.ones(8, 16, 32, 32), torch.ones(32, 16, 3, 3))
if has("numpy") and has("threadpoolctl"):
    import threadpoolctl
    blas = [i for i in threadpoolctl.threadpool_info() if i.get("internal_api") == "openblas"]
    if blas:
        said["OpenBLAS"] = blas[0].get("architecture")
        said["threads"] = said["threads"] or blas[0]["num_threads"]
print("\\n" + json.dumps(said))
"""


def ask(root: Path, environment: dict[str, str]) -> dict:
    """What the libraries say that they do under an environment.

    Returns:
        `OpenBLAS`, `PyTorch`, `oneDNN` and `NumPy` where they are installed; `threads`;
        `machine`, `features` and NumPy's `dispatch`. Empty if the process fails.
    """
    env = environment_for(root, environment) | {"ONEDNN_VERBOSE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=env, cwd=root, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {}
    said = json.loads(lines[-1])
    isa = [line.split("cpu,isa:")[1] for line in done.stdout.splitlines() if "cpu,isa:" in line]
    return said | ({"oneDNN": isa[0]} if isa else {})


def environment_for(root: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a check under a combination, free of what this shell chooses."""
    env = {name: value for name, value in os.environ.items() if name not in _CHOICES}
    return pinned_environment(root, env | environment)


@dataclass(frozen=True)
class Processor:
    """A combination on this machine: what it does, or why it cannot be."""

    combination: Combination
    environment: dict[str, str]
    does: str  # as "OpenBLAS SkylakeX, PyTorch AVX512, …"
    skipped: str | None  # the reason


def processors(root: Path) -> list[Processor]:
    """Each combination, as this machine takes it."""
    here = ask(root, {})
    return [_processor(root, combination, here) for combination in COMBINATIONS]


def _processor(root: Path, wanted: Combination, here: dict) -> Processor:
    env = wanted.environment(here.get("dispatch", []))
    told = {name for name in env if name in _CHOICES}
    if told and here.get("machine") not in ("x86_64", "AMD64"):
        reason = f"this processor is {here.get('machine') or 'unknown'}, not x86-64"
        return Processor(wanted, env, "", reason)
    if told and wanted.needs not in here["features"]:
        return Processor(wanted, env, "", f"this CPU has no {wanted.needs_name}")
    if wanted.threads > (os.cpu_count() or 1):
        return Processor(wanted, env, "", f"this CPU has no {wanted.threads} cores")
    said = ask(root, env)
    if not said:
        return Processor(wanted, env, "", "NumPy or PyTorch does not start with these settings")
    parts = [f"{name} {said[name]}" for name in ("OpenBLAS", "PyTorch", "oneDNN", "NumPy")
             if said.get(name)]  # fmt: skip
    parts.append(f"{wanted.threads} thread{'s' * (wanted.threads > 1)}")
    return Processor(wanted, env, ", ".join(parts), _not_taken(wanted, said))


def _not_taken(wanted: Combination, said: dict) -> str | None:
    """What a library does other than it was told, or None."""
    for library, told in (("OpenBLAS", wanted.openblas), ("PyTorch", wanted.aten)):
        same = {told.upper()} if told else set()
        same |= {"HASWELL"} if told == "Zen" else set()  # many builds of OpenBLAS share these
        if told and said.get(library) and said[library].upper() not in same:
            return f"{library} does not become {told} here, it is {said[library]}"
    if said["threads"] not in (None, wanted.threads):
        return f"{said['threads']} threads instead of {wanted.threads}"
    return None
