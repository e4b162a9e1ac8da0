"""A GPT as a folder in the layout of Hugging Face: config.json and model.safetensors.

`transformers.GPT2LMHeadModel.from_pretrained(folder)` reads what is written here, and what it
writes is read here. Nothing is unpickled.

Source: transformers, `GPT2Config`.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tinygpt.files import (
    checked_path,
    read_safetensors,
    safetensors_with_checksums,
    write_folder,
)
from tinygpt.models.gpt import GPT
from tinygpt.models.huggingface import from_huggingface, to_huggingface
from tinygpt.validate import describe, instance, is_integer

_WHERE = "load_huggingface"
_WEIGHTS = "model.safetensors"
_EXACT = {"gelu_new": False, "gelu_pytorch_tanh": False, "gelu": True}
_SIZES = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
# What a GPT here has in one way only: GPT2Config's own defaults.
_FIXED = {
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
}


def save_huggingface(folder: str | os.PathLike, model: GPT, texts: Mapping[str, str] | None = None):
    """Write a GPT to a new folder that `GPT2LMHeadModel.from_pretrained` reads.

    The folder is written beside its place and moved there when complete.

    Args:
        folder: where; it must not be there yet, or be empty.
        model: the model.
        texts: further files by name, such as a tokenizer's.

    Raises:
        TypeError: when folder is no path or model no GPT.
        OSError: when the folder is not empty or cannot be written.
    """
    from safetensors.torch import save as serialise

    state = to_huggingface(instance("save_huggingface", "model", model, GPT))
    if _is_tied(model):
        del state["lm_head.weight"]  # it is transformer.wte.weight
    files = {name: text.encode("utf-8") for name, text in (texts or {}).items()}
    files["config.json"] = (json.dumps(_config_of(model), indent=2) + "\n").encode("utf-8")
    files[_WEIGHTS] = safetensors_with_checksums(state, serialise, format="pt")
    write_folder("save_huggingface", folder, files)


def load_huggingface(folder: str | os.PathLike) -> GPT:
    """Return the GPT-2 in a folder in the layout of Hugging Face, in evaluation mode.

    It takes what `save_huggingface` or `GPT2LMHeadModel.save_pretrained` wrote, or a download of
    GPT-2, with names that begin with "transformer." or not. Its dropout is the config's
    resid_pdrop.

    Raises:
        FileNotFoundError: when the folder, its config or its weights are not there.
        ValueError: when the config is damaged or describes something that is no GPT-2 as it is
            here, or the weights are damaged, pickled, in several files, or do not fit the config.
    """
    from safetensors.torch import load_file

    folder = checked_path(_WHERE, folder, "folder")
    config = _read_config(folder)
    _check_weights_are_there(folder)
    state = read_safetensors(_WHERE, folder / _WEIGHTS, load_file)
    _check_sizes(config, state)
    try:
        model = GPT(
            config["vocab_size"],
            config["n_embd"],
            config["n_layer"],
            config["n_head"],
            config["n_positions"],
            dropout_prob=config.get("resid_pdrop", 0.1),
            tie_weights=config.get("tie_word_embeddings", True),
            exact_gelu=_EXACT[config.get("activation_function", "gelu_new")],
        )
        return from_huggingface(state, model).eval()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{_WHERE}: {str(folder)!r} holds no GPT-2 as it is here; {error}"
        ) from None


def _config_of(model: GPT) -> dict[str, Any]:
    dropout = model.dropout.p
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": model.vocab_size,
        "n_positions": model.max_seq_len,
        "n_embd": model.token_embedding.embedding_dim,
        "n_layer": len(model.blocks),
        "n_head": model.blocks[0].attention.num_heads,
        "n_inner": None,  # 4 n_embd
        "activation_function": "gelu" if model.exact_gelu else "gelu_new",
        "resid_pdrop": dropout,
        "embd_pdrop": dropout,
        "attn_pdrop": dropout,
        "tie_word_embeddings": _is_tied(model),
        "bos_token_id": None,
        "eos_token_id": None,
        "torch_dtype": "float32",
        **_FIXED,
    }


def _is_tied(model: GPT) -> bool:
    return model.head.weight is model.token_embedding.weight


def _read_config(folder: Path) -> dict[str, Any]:
    """Return the config of a GPT-2 that a GPT here can be, or say why it cannot."""
    path = folder / "config.json"
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{_WHERE}: there is no folder {str(folder)!r}")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{_WHERE}: the folder {str(folder)!r} has no config.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise ValueError(f"{_WHERE}: {str(path)!r} is not a whole JSON object; write it again")
    _expect(path, config, "model_type", ["gpt2"], "")
    _expect(path, config, "activation_function", list(_EXACT), "gelu_new")
    for name in _SIZES:
        if not is_integer(config.get(name)) or config[name] < 1:
            raise ValueError(
                f"{_WHERE}: {name} in {str(path)!r} must be a positive integer, "
                f"got {describe(config.get(name))}"
            )
    _expect(path, config, "n_inner", [None, 4 * config["n_embd"]], None)
    for name, value in _FIXED.items():
        _expect(path, config, name, [value], value)
    return config


def _expect(path: Path, config: dict, name: str, allowed: list, default):
    """Raise unless an entry of the config, or its default, is among the allowed."""
    if (found := config.get(name, default)) not in allowed:
        choice = " or ".join(json.dumps(value) for value in allowed)
        raise ValueError(f"{_WHERE}: {name} in {str(path)!r} must be {choice}, got {found!r}")


def _check_weights_are_there(folder: Path):
    if os.path.isfile(folder / _WEIGHTS):
        return
    if os.path.isfile(folder / f"{_WEIGHTS}.index.json"):
        raise ValueError(
            f"{_WHERE}: the weights in {str(folder)!r} are in several files; save them in one, "
            "with save_pretrained and a large max_shard_size"
        )
    if pickled := sorted(path.name for path in folder.glob("*.bin")):
        raise ValueError(
            f"{_WHERE}: {pickled[0]} in {str(folder)!r} is a pickle, which can run code when it "
            "is read; convert it to model.safetensors where you trust it"
        )
    raise FileNotFoundError(f"{_WHERE}: the folder {str(folder)!r} has no {_WEIGHTS}")


def _check_sizes(config: dict[str, Any], state: Mapping[str, Tensor]):
    """Raise unless the config's sizes are those of the weights, before a model is made of them."""
    shapes = {name.removeprefix("transformer."): t.shape for name, t in state.items()}
    width = config["n_embd"]
    expected = {
        "wte.weight": torch.Size((config["vocab_size"], width)),
        "wpe.weight": torch.Size((config["n_positions"], width)),
    }
    if not config.get("tie_word_embeddings", True):
        expected["lm_head.weight"] = expected["wte.weight"]
    for name, shape in expected.items():
        if shapes.get(name) != shape:
            found = tuple(shapes[name]) if name in shapes else "none"
            raise ValueError(
                f"{_WHERE}: by the config {name} must have shape {tuple(shape)}, got {found}"
            )
    layers = len({name.split(".")[1] for name in shapes if name.startswith("h.")})
    if layers != config["n_layer"]:
        raise ValueError(
            f"{_WHERE}: by the config there must be {config['n_layer']:,} blocks, got weights of "
            f"{layers}"
        )
