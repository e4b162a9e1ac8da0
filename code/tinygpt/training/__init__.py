"""Training: one loop for every model, on one machine or several.

Read it in this order: `config`, `loop`, `updates`, `optimizer`, `evaluation`; then `history`,
`run` and `checkpoint`, which keep a run on the disk, and `devices` and `distributed`.
"""

from tinygpt.training.checkpoint import (
    CheckpointError,
    build_model,
    load_run,
    preset_of,
    refuse_a_run,
    shape_in,
    vocabulary_of,
)
from tinygpt.training.config import PRESETS, Config, ModelConfig, Preset
from tinygpt.training.evaluation import evaluate
from tinygpt.training.exported import export_huggingface, load_exported
from tinygpt.training.history import History, LogError
from tinygpt.training.loop import train
from tinygpt.training.optimizer import configure_optimizer
from tinygpt.training.shipped import pretrained
from tinygpt.training.updates import TrainingError, Update, Updates

__all__ = [
    "PRESETS",
    "CheckpointError",
    "Config",
    "History",
    "LogError",
    "ModelConfig",
    "Preset",
    "TrainingError",
    "Update",
    "Updates",
    "build_model",
    "configure_optimizer",
    "evaluate",
    "export_huggingface",
    "load_exported",
    "load_run",
    "preset_of",
    "pretrained",
    "refuse_a_run",
    "shape_in",
    "train",
    "vocabulary_of",
]
