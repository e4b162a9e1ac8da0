"""The trained models that come with the book."""

from pathlib import Path
from typing import Any

from tinygpt import weights
from tinygpt.data import Vocabulary
from tinygpt.models import GPT
from tinygpt.training.checkpoint import load_model, read_json


def pretrained(name: str = "shakespeare-char") -> tuple[GPT, Vocabulary, dict[str, Any]]:
    """Return a model that was trained for the book, ready to generate.

    Args:
        name: "shakespeare-char", a GPT of 0.8 million parameters on characters.

    Returns:
        The model in evaluation mode, its vocabulary, and the facts of its run: among others
        the command that made it, the steps, and the losses of its last evaluation.

    Raises:
        ValueError: there is no model of this name.
    """
    folder = Path(weights.__file__).parent
    names = sorted(path.stem for path in folder.glob("*.safetensors"))
    if name not in names:
        raise ValueError(f"pretrained: name must be one of {', '.join(names)}, got {name!r}")
    state = read_json(folder / f"{name}.json")
    return load_model(folder / f"{name}.safetensors", state, name)
