"""The GPT's weights under the names and in the layout of Hugging Face's GPT2LMHeadModel.

GPT-2 keeps query, key and value in one matrix, and its linear maps as (in, out), the
transpose of PyTorch's.

Source: transformers, `GPT2LMHeadModel` and its `Conv1D`.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from tinygpt.models.gpt import GPT
from tinygpt.models.weights import load_weights, weights
from tinygpt.validate import instance

_OUTSIDE = {
    "token_embedding.weight": "transformer.wte.weight",
    "position_embedding.weight": "transformer.wpe.weight",
    "final_norm.weight": "transformer.ln_f.weight",
    "final_norm.bias": "transformer.ln_f.bias",
}
_NORMS = {"norm1": "ln_1", "norm2": "ln_2"}
_LINEARS = {"attention.output": "attn.c_proj", "mlp.fc1": "mlp.c_fc", "mlp.fc2": "mlp.c_proj"}
_NO_WEIGHTS = (".attn.bias", ".attn.masked_bias")  # masks that older versions stored
_FUSED = tuple(f"attention.{part}" for part in ("query", "key", "value"))


def to_huggingface(model: GPT) -> dict[str, Tensor]:
    """Return the weights of a GPT for `GPT2LMHeadModel.load_state_dict`.

    The target needs n_embd, n_layer, n_head, n_positions and vocab_size like the model's,
    activation_function="gelu_new" (its default; "gelu" for exact_gelu), and tie_word_embeddings
    as the model has it.
    """
    own = weights(instance("to_huggingface", "model", model, GPT))
    theirs = {name: own[ours] for ours, name in _OUTSIDE.items()}
    theirs["lm_head.weight"] = own.get("head.weight", own["token_embedding.weight"])
    for i in range(len(model.blocks)):
        ours, other = f"blocks.{i}.", f"transformer.h.{i}."
        for kind in ("weight", "bias"):
            for norm, name in _NORMS.items():
                theirs[f"{other}{name}.{kind}"] = own[f"{ours}{norm}.{kind}"]
            for linear, name in _LINEARS.items():
                theirs[f"{other}{name}.{kind}"] = _transposed(own[f"{ours}{linear}.{kind}"])
            fused = torch.cat([own[f"{ours}{part}.{kind}"] for part in _FUSED])  # (3C, C) or (3C,)
            theirs[f"{other}attn.c_attn.{kind}"] = _transposed(fused)
    return theirs


def from_huggingface(state: Mapping[str, Tensor], model: GPT) -> GPT:
    """Copy the state dict of a `GPT2LMHeadModel` into a GPT of the same shape and return it.

    That of a `GPT2Model`, whose names lack "transformer." and which has no head, does as well;
    the head is then the token embedding, as in GPT-2.

    Raises:
        TypeError: when the state is no mapping from names to tensors.
        ValueError: when the state lacks a weight or one has another shape; the model is then
            unchanged.
    """
    instance("from_huggingface", "model", model, GPT)
    needed = to_huggingface(model)
    state = _full_names(state)
    if missing := [name for name in needed if name not in state and name != "lm_head.weight"]:
        raise ValueError(f"from_huggingface: state lacks {missing[0]} of {len(needed)} weights")
    unknown = [name for name in state if name not in needed and not name.endswith(_NO_WEIGHTS)]
    if unknown:
        raise ValueError(
            f"from_huggingface: state has {unknown[0]}, which a model of {len(model.blocks)} "
            "blocks does not"
        )
    for name in needed.keys() & state.keys():
        if state[name].shape != needed[name].shape:
            raise ValueError(
                f"from_huggingface: {name} must have shape {tuple(needed[name].shape)}, "
                f"got {tuple(state[name].shape)}"
            )
    own = {ours: state[name] for ours, name in _OUTSIDE.items()}
    head = state.get("lm_head.weight", state["transformer.wte.weight"])
    own["head.weight"] = head
    for i in range(len(model.blocks)):
        ours, other = f"blocks.{i}.", f"transformer.h.{i}."
        for kind in ("weight", "bias"):
            for norm, name in _NORMS.items():
                own[f"{ours}{norm}.{kind}"] = state[f"{other}{name}.{kind}"]
            for linear, name in _LINEARS.items():
                own[f"{ours}{linear}.{kind}"] = _transposed(state[f"{other}{name}.{kind}"])
            fused = _transposed(state[f"{other}attn.c_attn.{kind}"])  # (3C, C) or (3C,)
            own |= {
                f"{ours}{part}.{kind}": t for part, t in zip(_FUSED, fused.chunk(3), strict=True)
            }
    load_weights(model, own)
    return model


def _full_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state under the names of `GPT2LMHeadModel`."""
    full = {}
    for name, tensor in instance("from_huggingface", "state", state, Mapping).items():
        instance("from_huggingface", "every name in state", name, str)
        instance("from_huggingface", f"{name} in state", tensor, Tensor)
        long = name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}"
        if long in full:
            raise ValueError(f"from_huggingface: state has {name} with and without transformer.")
        full[long] = tensor
    return full


def _transposed(weight: Tensor) -> Tensor:
    """A matrix with its axes swapped; a bias as it is."""
    return weight.mT.contiguous() if weight.ndim == 2 else weight
