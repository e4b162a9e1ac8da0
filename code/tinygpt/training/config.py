"""How a model is trained: one frozen dataclass, and the settings that have names."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from tinygpt.validate import flag, integer, number, probability

PRECISIONS = ("auto", "float32", "bfloat16")
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Config:
    """How to train.

    Attributes:
        steps: updates of the weights.
        batch_size: sequences in a batch, over all processes.
        block_size: tokens in a sequence; the model's max_seq_len when None.
        accumulation: batches whose gradients are averaged into one update.
        learning_rate: the highest rate.
        min_learning_rate: the rate at the end of the cosine.
        warmup_steps: steps in which the rate rises.
        weight_decay: decay of matrices and embeddings; biases and norms have none.
        betas: how slowly Adam's two means move.
        clip: longest gradient that is taken as it is; longer ones are scaled to it.
        eval_every: steps between evaluations; the last step is always evaluated.
        eval_batches: random batches of an evaluation.
        sample_every: steps between samples; 0 means none.
        checkpoint_every: steps between checkpoints; the last step is always kept.
        seed: fixes batches and dropout.
        device: "auto" takes CUDA, else MPS, else the CPU; or a device of PyTorch.
        precision: "bfloat16" runs the matrix products at half the width; "auto" does so where
            the device computes with it.
        compile: whether torch.compile translates the model first.

    Raises:
        TypeError, ValueError: when a value cannot be used.
    """

    steps: int = 2000
    batch_size: int = 12
    block_size: int | None = None
    accumulation: int = 1
    learning_rate: float = 1e-3
    min_learning_rate: float = 1e-4
    warmup_steps: int = 100
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)
    clip: float = 1.0
    eval_every: int = 250
    eval_batches: int = 20
    sample_every: int = 0
    checkpoint_every: int = 250
    seed: int = 1337
    device: str = "auto"
    precision: str = "auto"
    compile: bool = False

    def __post_init__(self):
        def whole(name: str, **bounds) -> int:
            return integer("Config", name, getattr(self, name), **bounds)

        def real(name: str, **bounds) -> float:
            return number("Config", name, getattr(self, name), low=0.0, **bounds)

        counts = ["steps", "batch_size", "accumulation"]
        counts += ["eval_every", "eval_batches", "checkpoint_every"]
        counts += ["block_size"] * (self.block_size is not None)
        checked = {name: whole(name, low=1, high=_LARGEST) for name in counts}
        checked["sample_every"] = whole("sample_every")
        checked["seed"] = whole("seed", high=2**63 - 1)
        checked["warmup_steps"] = whole("warmup_steps", high=checked["steps"])
        checked["learning_rate"] = rate = real("learning_rate")
        checked["min_learning_rate"] = real("min_learning_rate", high=rate)
        checked["weight_decay"] = real("weight_decay")
        checked["clip"] = real("clip")
        if checked["clip"] == 0:
            raise ValueError("Config: clip must be above 0, got 0.0; no gradient would be left")
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise ValueError(f"Config: betas must be two numbers, got {self.betas!r}")
        checked["betas"] = tuple(probability("Config", "betas", beta) for beta in self.betas)
        checked["device"] = str(self.device)
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"Config: precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}"
            )
        checked["compile"] = flag("Config", "compile", self.compile)
        for name, value in checked.items():  # plain numbers, which JSON can hold
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a GPT, but for its vocabulary, which the corpus decides; see `GPT`."""

    embed_dim: int = 128
    num_layers: int = 4
    num_heads: int = 4
    max_seq_len: int = 64
    dropout_prob: float = 0.0
    tie_weights: bool = True
    exact_gelu: bool = False

    def __post_init__(self):
        for name in ("embed_dim", "num_layers", "num_heads", "max_seq_len"):
            integer("ModelConfig", name, getattr(self, name), low=1, high=_LARGEST)
        probability("ModelConfig", "dropout_prob", self.dropout_prob)
        flag("ModelConfig", "tie_weights", self.tie_weights)
        flag("ModelConfig", "exact_gelu", self.exact_gelu)


@dataclass(frozen=True)
class Preset:
    """A setting that has a name: which corpus, which model, how to train."""

    corpus: str
    model: ModelConfig
    training: Config


PRESETS: dict[str, Preset] = {
    # nanoGPT's setting for a laptop without a graphics card (its README, "I only have a macbook"),
    # but for the learning rate: three times as high, which so short a run is better for.
    "shakespeare-char": Preset(
        "shakespeare", ModelConfig(exact_gelu=True), Config(learning_rate=3e-3, sample_every=500)
    ),
    # The model that comes with the book: a longer context and five times as many tokens.
    "shakespeare-char-long": Preset(
        "shakespeare",
        ModelConfig(max_seq_len=128),
        Config(
            steps=4000,
            batch_size=16,
            learning_rate=2e-3,
            min_learning_rate=2e-4,
            eval_every=500,
            sample_every=500,
        ),
    ),
}


def to_json(config: Config | ModelConfig) -> dict[str, Any]:
    """Return a configuration as JSON-like data."""
    return json.loads(json.dumps(asdict(config)))


def from_json(kind: type, data: object, where: str):
    """Return the configuration that `to_json` wrote.

    Raises:
        ValueError: when the data is not a mapping with the fields of the kind.
    """
    known = [field.name for field in fields(kind)]
    if not isinstance(data, dict):
        raise ValueError(f"{where} must be a mapping with {', '.join(known)}")
    if missing := [name for name in known if name not in data]:
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    if unknown := [str(name) for name in data if name not in known]:
        raise ValueError(f"{where} has {', '.join(unknown)}, which is none of {', '.join(known)}")
    # JSON has no tuples.
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
