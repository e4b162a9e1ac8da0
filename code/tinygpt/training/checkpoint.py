"""A run's state on the disk: weights and optimizer as safetensors, the rest as JSON.

A checkpoint is a folder, made beside its place and then renamed, so that it is there whole
or not at all. An older one is removed when the newer one is in place.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tinygpt.data import Vocabulary, vocabulary_from_json
from tinygpt.files import checked_path, read_safetensors, safetensors_with_checksums
from tinygpt.models import GPT, load, save
from tinygpt.training.config import Config, ModelConfig, Preset, from_json
from tinygpt.training.devices import memory

_NAME = re.compile(r"checkpoint-(\d{6,})")
_MOMENTS = ("exp_avg", "exp_avg_sq")


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be written, or is not there, or is damaged."""


def write_checkpoint(
    run: Path,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.AdamW,
    info: Mapping[str, Any],
) -> Path:
    """Keep the state after a step in a folder of the run, and remove the older ones.

    Args:
        run: the run's folder.
        step: how many updates have been made.
        model, optimizer: the state.
        info: what else is needed to go on, as JSON-like data; `step` is added.

    Raises:
        CheckpointError: the disk is full or the folder cannot be written to. The older
            checkpoint is then as it was.
    """
    place = run / f"checkpoint-{step:06d}"
    beside = run / f".{place.name}.{os.getpid()}"
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        save(beside / "model.safetensors", model)
        _save_optimizer(beside / "optimizer.safetensors", model, optimizer)
        text = json.dumps({**info, "step": step}, indent=2, ensure_ascii=False) + "\n"
        (beside / "state.json").write_text(text, encoding="utf-8")
        for file in beside.iterdir():  # on the disk before the older one goes
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())
        if place.exists():  # of a run that was killed after this step
            shutil.rmtree(place)
        os.replace(beside, place)
        for older in _checkpoints(run):
            if older != place:
                shutil.rmtree(older)
    except OSError as error:
        raise CheckpointError(
            f"{place}: cannot be written ({error.strerror or error}); free some room, or choose "
            "another folder"
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return place


def refuse_a_run(run: Path):
    """Say so if a folder holds a run that a fresh one would overwrite."""
    if _checkpoints(run):
        raise CheckpointError(
            f"{run} holds a run already; go on with it (--resume, or resume=True) or choose "
            "another folder"
        )


def remove_leftovers(run: Path):
    """Remove what runs that were killed left half-written."""
    for path in _folders(run):
        if path.name.startswith((".checkpoint-", ".save.")):
            shutil.rmtree(path, ignore_errors=True)


def newest_checkpoint(run: str | os.PathLike, *, of_a_run: bool = False) -> Path:
    """Return the folder of a run's newest checkpoint, or `run` itself if it is one.

    Args:
        run: the folder.
        of_a_run: whether it must be a run's, to go on with it.

    Raises:
        CheckpointError: there is none.
    """
    run = checked_path("load_run", run)
    if os.path.isfile(run / "state.json"):
        if of_a_run:
            raise CheckpointError(f"{run} is a checkpoint; name the run's folder, {run.parent}")
        return run
    found = _checkpoints(run)
    if not found:
        if run.is_file():
            raise CheckpointError(f"{run} is a file; name the folder of a run")
        state = "has no checkpoint" if run.is_dir() else "is not there"
        raise CheckpointError(
            f"{run} {state}; `tinygpt train --out {run}` makes one, or name the folder of a run"
        )
    return found[-1]


def read_state(checkpoint: Path) -> dict[str, Any]:
    """Return what a checkpoint says about its run.

    Raises:
        CheckpointError: the file is not there, or is not what was written.
    """
    return read_json(checkpoint / "state.json")


def preset_of(run: str | os.PathLike) -> Preset:
    """Return the setting that a run was started with, to go on with it.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged.
    """
    checkpoint = newest_checkpoint(run, of_a_run=True)
    state = read_state(checkpoint)
    with _explained(f"{checkpoint}: state.json"):
        return Preset(
            state["corpus"]["source"],
            from_json(ModelConfig, state["model"], "model"),
            from_json(Config, state["training"], "training"),
        )


def vocabulary_of(run: str | os.PathLike) -> Vocabulary:
    """Return the vocabulary of a run, to go on with it.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged.
    """
    checkpoint = newest_checkpoint(run, of_a_run=True)
    state = read_state(checkpoint)
    with _explained(f"{checkpoint}: state.json"):
        return _vocabulary(state)


def load_run(run: str | os.PathLike) -> tuple[GPT, Vocabulary, dict[str, Any]]:
    """Return a trained model, ready to generate, with its vocabulary and its run's facts.

    Args:
        run: the folder of a run, or of one checkpoint.

    Returns:
        The model in evaluation mode, the vocabulary, and the state as JSON-like data: step,
        configuration, corpus, losses, and the command.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged.
    """
    checkpoint = newest_checkpoint(run)
    return load_model(checkpoint / "model.safetensors", read_state(checkpoint), str(checkpoint))


def shape_in(state: dict[str, Any], where: str) -> ModelConfig:
    """Return the shape of the model that a state describes.

    Raises:
        CheckpointError: the state is damaged.
    """
    with _explained(f"{where}: the checkpoint"):
        return from_json(ModelConfig, state["model"], f"{where}: model")


def load_model(weights: Path, state: dict[str, Any], where: str):
    """Build the model that a state describes and fill it with weights from a file."""
    with _explained(f"{where}: the checkpoint"):
        config = shape_in(state, where)
        vocabulary = _vocabulary(state)
        model = build_model(config, len(vocabulary))
        load(weights, model)
    return model.eval(), vocabulary, state


def _vocabulary(state: dict[str, Any]) -> Vocabulary:
    return vocabulary_from_json(json.dumps(state["vocabulary"]))


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Inside this context, what a state lacks or has wrong is said of the checkpoint."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OSError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise CheckpointError(f"{what} is damaged: {reason}") from None


def build_model(config: ModelConfig, vocab_size: int, seed: int | None = None) -> GPT:
    """Return a fresh GPT of this shape.

    Raises:
        ValueError: the heads do not divide the width, or the model does not fit into memory.
    """
    try:
        _check_memory(config, vocab_size)
        return GPT(
            vocab_size,
            config.embed_dim,
            config.num_layers,
            config.num_heads,
            config.max_seq_len,
            dropout_prob=config.dropout_prob,
            tie_weights=config.tie_weights,
            seed=seed,
            exact_gelu=config.exact_gelu,
        )
    except (RuntimeError, MemoryError):
        raise ValueError(
            f"a GPT with embed_dim={config.embed_dim:,}, num_layers={config.num_layers:,} and "
            f"max_seq_len={config.max_seq_len:,} does not fit into memory; choose smaller ones"
        ) from None


def _check_memory(config: ModelConfig, vocab_size: int):
    """Raise MemoryError where the parameters alone are more than the machine has room for.

    PyTorch would find out by itself, but only after building blocks until there is no room.
    """
    room = memory()
    if room is None:
        return
    width, layers = config.embed_dim, config.num_layers
    numbers = (vocab_size + config.max_seq_len) * width + layers * 12 * width**2
    a_block = 20_000  # bytes of Python objects, at least
    if 4 * numbers + layers * a_block > room:
        raise MemoryError


@torch.no_grad()
def restore(checkpoint: Path, model: nn.Module, optimizer: torch.optim.AdamW):
    """Put a checkpoint's weights and the optimizer's moments back.

    Raises:
        CheckpointError: a file is not there, damaged, or of another model.
    """
    from safetensors.torch import load_file

    with _explained(f"{checkpoint}: the checkpoint"):
        load(checkpoint / "model.safetensors", model)
        moments = read_safetensors("resume", checkpoint / "optimizer.safetensors", load_file)
        step = moments["step"]
        if step.shape or not step.is_floating_point() or not step.isfinite():
            raise ValueError(f"optimizer.safetensors: step is {step}")
        for name, parameter in _trained(model):
            state = {moment: moments[f"{name}.{moment}"] for moment in _MOMENTS}
            if any(tensor.shape != parameter.shape for tensor in state.values()):
                raise ValueError(f"the moments of {name} have another shape")
            state = {key: tensor.to(parameter.device) for key, tensor in state.items()}
            optimizer.state[parameter] = {"step": step.clone(), **state}


def _save_optimizer(path: Path, model: nn.Module, optimizer: torch.optim.AdamW):
    from safetensors.torch import save as serialise

    tensors = {}
    for name, parameter in _trained(model):
        state = optimizer.state[parameter]
        tensors |= {f"{name}.{moment}": state[moment].cpu() for moment in _MOMENTS}
        tensors["step"] = state["step"].cpu()  # the same for all
    path.write_bytes(safetensors_with_checksums(tensors, serialise))


def _trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters that are not frozen."""
    return (pair for pair in model.named_parameters() if pair[1].requires_grad)


def _checkpoints(run: Path) -> list[Path]:
    """The run's checkpoints, the newest last; a folder without state.json is none."""
    found = [p for p in _folders(run) if _NAME.fullmatch(p.name) and (p / "state.json").exists()]
    return sorted(found, key=lambda path: int(_NAME.fullmatch(path.name)[1]))


def _folders(run: Path) -> Iterator[Path]:
    if os.path.isdir(run):
        yield from (path for path in run.iterdir() if path.is_dir())


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or say that it is damaged."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); the run is damaged") from None
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: must hold an object, got {type(state).__name__}")
    return state
