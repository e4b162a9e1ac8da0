"""The kernel a chapter runs in, the same for the build and for the check.

What a chapter computes must not depend on how many chapters run beside it, on the
user's settings or on where the clone stands. So the kernel has one BLAS thread, fixed
hash seeds, no GPU, none of the user's IPython and matplotlib settings, and Quarto's
figure size.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bookbuild.config import ConfigError
from bookbuild.kernel_extension import READ, WORKSPACE
from bookbuild.owned import OwnedFolder, end_processes
from bookbuild.printed import strip_controls

THREADS = "BOOKBUILD_THREADS"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS")  # fmt: skip
_PINNED = {
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "COLUMNS": "80",
}
# Settings of the surrounding shell that would show in outputs.
_DROPPED = ("MPLBACKEND", "PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT", "FORCE_COLOR")
_SOCKET_LIMIT = 100  # bytes of a path that Linux and macOS take for a socket, and room to spare


@dataclass(frozen=True)
class FigureSettings:
    """How figures are drawn where a chapter says nothing: Quarto's defaults, or _quarto.yml's."""

    width: float = 7.0  # inches
    height: float = 5.0
    dpi: float = 96.0
    format: str = "retina"

    @classmethod
    def of(cls, meta: dict) -> "FigureSettings":
        """The settings `fig-width`, `fig-height`, `fig-dpi` and `fig-format` of _quarto.yml.

        Raises:
            ConfigError: one of them is not what it can be.
        """
        formats = meta.get("format")
        html = formats.get("html") if isinstance(formats, dict) else None
        given = {}
        for source in (meta, html if isinstance(html, dict) else {}):
            keys = ("width", "height", "dpi", "format")
            given |= {key: source[f"fig-{key}"] for key in keys if f"fig-{key}" in source}
        for key, value in given.items():
            if key == "format" and value not in ("retina", "png"):
                raise ConfigError(f"_quarto.yml: fig-format is {value!r}; use retina or png")
            if key != "format" and not (isinstance(value, int | float) and value > 0):
                raise ConfigError(f"_quarto.yml: fig-{key} is {value!r}; give a number above 0")
        return cls(**given)


def pinned_environment(root: Path, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of everything that runs chapters of the book at `root`.

    Args:
        given: the environment to start from, this process's without it. Its `BOOKBUILD_THREADS`
            is how many threads a chapter computes with: `bookbuild cpus` sets it.
    """
    given = os.environ if given is None else given
    env = {key: value for key, value in given.items() if key not in _DROPPED}
    threads = dict.fromkeys(_THREADS, given.get(THREADS, "1"))
    path = [str(root / "code"), *filter(None, [given.get("PYTHONPATH")])]
    return env | _PINNED | threads | {"PYTHONPATH": os.pathsep.join(path)}


class Workspace:
    """A temporary folder with what one kernel needs; when it goes, the kernel has ended."""

    def __init__(self, root: Path, figures: FigureSettings):
        self.root, self.figures = root, figures

    def __enter__(self) -> "Workspace":
        self._folder = OwnedFolder()
        self.path = self._folder.__enter__()
        (self.path / "matplotlibrc").write_text(
            f"figure.figsize: {self.figures.width}, {self.figures.height}\n"
            f"figure.dpi: {self.figures.dpi}\n"
            "savefig.dpi: figure\n",
            encoding="utf-8",
        )
        return self

    def __exit__(self, *_) -> None:
        end_processes(self.path)
        self._folder.__exit__()

    def sources_read(self) -> set[str]:
        """The files below `code/` that the kernel has read as text, such as for a listing."""
        file = self.path / READ
        return set(file.read_text(encoding="utf-8").split("\n")[:-1]) if file.exists() else set()

    def manager(self, cls: type):
        """A kernel manager of the class `cls`, for this interpreter and over ipc if it can be.

        (ipykernel warns about TCP, which other users of the machine can read.)
        """
        import ipykernel.kernelspec
        from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

        class ThisInterpreter(KernelSpecManager):
            def get_kernel_spec(self, kernel_name):
                resources = ipykernel.kernelspec.RESOURCES
                return KernelSpec(resource_dir=resources, **ipykernel.kernelspec.get_kernel_dict())

        km = cls(kernel_name="python3", kernel_spec_manager=ThisInterpreter())
        km.connection_file = str(self.path / "kernel.json")
        socket = str(self.path / "kernel-ipc")
        if sys.platform != "win32" and len(os.fsencode(socket)) < _SOCKET_LIMIT:
            km.transport, km.ip = "ipc", socket
        return km

    def start_arguments(self) -> dict:
        """Keyword arguments for the manager's `start_kernel`."""
        env = pinned_environment(self.root) | {
            "MATPLOTLIBRC": str(self.path / "matplotlibrc"),
            "IPYTHONDIR": str(self.path / "ipython"),
            WORKSPACE: str(self.path),
        }
        arguments = [
            f"--InlineBackend.figure_formats={self.figures.format}",
            "--HistoryManager.enabled=False",
            "--ext=bookbuild.kernel_extension",
        ]
        return {"cwd": str(self.root), "env": env, "extra_arguments": arguments}


def line_in_cell(traceback: list[str]) -> int | None:
    """The line of the running cell at which an error arose, from IPython's traceback."""
    found = re.search(r"Cell In\s*\[\d+\], line (\d+)", strip_controls("\n".join(traceback)))
    return int(found[1]) if found else None
