"""Runs that take too long for a page: over several seeds, or for many minutes.

Each is a module of this package that says in its docstring what is asked, and has

    DATA = ("shakespeare",)    the corpora it reads, by name
    def run() -> dict: ...     what came of it, as JSON can hold it

`python -m tinygpt.experiments warmup` runs one and writes what came of it beside it, with a
checksum of the script and of the data. A chapter computes its sentences from that file:

    from tinygpt import experiments
    losses = experiments.result("warmup")["losses"]

A script that has changed since is refused, so a sentence never rests on a run of other settings.
"""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


class ExperimentError(ValueError):
    """A result that cannot be had; its text is one sentence."""


def names() -> list[str]:
    """The experiments there are, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def result(name: str) -> dict[str, Any]:
    """Return what came of an experiment.

    Args:
        name: the module's name, such as "warmup".

    Raises:
        ExperimentError: there is no such experiment, it has not been run, or its script has
            changed since.
    """
    return record(name)["result"]


def record(name: str) -> dict[str, Any]:
    """Return the result with the checksums of its inputs and the machine it was made on.

    Raises:
        ExperimentError: as `result`.
    """
    if name not in names():
        raise ExperimentError(
            f"experiments.result: name must be one of {', '.join(names()) or 'none'}, got {name!r}"
        )
    again = f"run `python -m tinygpt.experiments {name}`"
    try:
        kept = json.loads(result_file(name).read_text(encoding="utf-8"))
        script = kept["inputs"]["script"]
        kept["result"]  # noqa: B018 (a record without one is damaged)
    except FileNotFoundError:
        raise ExperimentError(f"experiments.result: {name} has not been run; {again}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExperimentError(
            f"experiments.result: {name}.json cannot be read ({type(error).__name__}); {again}"
        ) from None
    if script != script_checksum(name):
        raise ExperimentError(
            f"experiments.result: {name}.py has changed since {name}.json was made; {again}"
        )
    return kept


def result_file(name: str) -> Path:
    """Where the result of an experiment is kept."""
    return FOLDER / f"{name}.json"


def script_checksum(name: str) -> str:
    """SHA-256 of what an experiment does: its code without comments and docstrings."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def _is_text(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
