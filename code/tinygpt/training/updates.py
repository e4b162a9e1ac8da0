"""One update of the weights after another."""

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tinygpt import data
from tinygpt.models import GPT
from tinygpt.scratch import CosineSchedule
from tinygpt.training.config import Config
from tinygpt.training.devices import autocast, memory, seed_dropout
from tinygpt.training.distributed import Workers
from tinygpt.training.evaluation import evaluate
from tinygpt.training.optimizer import configure_optimizer


class TrainingError(RuntimeError):
    """A run that cannot go on."""


class Update(NamedTuple):
    """What an update found: the loss before it, its rate, and the gradient's length."""

    loss: float
    learning_rate: float
    gradient_norm: float


class Updates:
    """What an update of the weights needs besides its number.

    Args:
        model: anything with `loss(tokens, targets)`, `max_seq_len` and `vocab_size`.
        corpus: the text.
        config: how to train; the device is the one that the model is on.
        team: the processes that share each batch.

    Raises:
        ValueError: the corpus does not fit the model, or the batch does not divide.
    """

    def __init__(
        self, model: nn.Module, corpus: data.Corpus, config: Config, team: Workers | None = None
    ):
        self.model, self.corpus, self.config = model, corpus, config
        self.team = team or Workers()
        self.share = self.team.share(config.batch_size)
        self.block_size = _block_size(model, corpus, config)
        self.parameters = list(model.parameters())
        self.device = self.parameters[0].device
        self.optimizer = configure_optimizer(model, config)
        self.schedule = CosineSchedule(
            config.learning_rate, config.steps, config.warmup_steps, config.min_learning_rate
        )
        loss = _Loss(model)
        if config.compile:
            loss = torch.compile(loss)
        self.loss = DistributedDataParallel(loss) if self.team.size > 1 else loss
        self._check_room()
        self._updated = 0  # the last update that was made
        self.restart_clock()

    def make(self, number: int) -> Update:
        """Make update number 1, 2, … and return what it found.

        Raises:
            TrainingError: the loss is not a number, or the update before left weights that are
                none; the weights are then as they were.
        """
        start = time.perf_counter()
        if not self.model.training:  # walking over all modules takes time
            self.model.train()
        rate = self.schedule(number - 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        try:
            loss = self._backward(number)
        except (MemoryError, torch.OutOfMemoryError):
            self._no_room()
        except RuntimeError as error:
            if "alloc" not in str(error):  # PyTorch's word for it on the CPU
                raise
            self._no_room()
        self._check_finite(loss, "loss", number)
        norm = self._clip(number)
        self.optimizer.step()
        self._updated = number
        self._tokens += self.config.batch_size * self.block_size * self.config.accumulation
        self._seconds += time.perf_counter() - start
        return Update(loss, rate, norm)

    def _backward(self, number: int) -> float:
        """Leave the gradient of a step in the parameters and return the step's loss."""
        of_this_process = np.random.SeedSequence([self.config.seed, number, self.team.rank])
        seed_dropout(int(of_this_process.generate_state(1)[0]), self.device)
        rng = np.random.default_rng([self.config.seed, number])  # the same in all processes
        total = torch.zeros((), device=self.device)
        for remaining in reversed(range(self.config.accumulation)):
            tokens, targets = self._batch(rng)
            # Between processes gradients travel once an update, with its last batch.
            waits = self.team.size > 1 and remaining
            with self.loss.no_sync() if waits else nullcontext():
                with autocast(self.device, self.config.precision):
                    loss = self.loss(tokens, targets) / self.config.accumulation
                loss.backward()
            total += loss.detach()
        return self.team.mean(total).item()

    def _clip(self, number: int) -> float:
        """Scale the gradient down to the longest that is allowed; return its length before."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        length = norm.item()
        self._check_finite(length, "length of the gradient", number)
        if length > self.config.clip:  # most gradients are not: they are left as they are
            nn.utils.clip_grads_with_norm_(self.parameters, self.config.clip, norm)
        return length

    def _batch(self, rng: np.random.Generator) -> Iterator[Tensor]:
        pair = data.random_batch(self.corpus.train, self.config.batch_size, self.block_size, rng)
        return (torch.tensor(part[self.share], device=self.device) for part in pair)

    def _check_finite(self, value: float, what: str, number: int):
        if not math.isfinite(value):
            # Asked only now: looking at every weight after every update takes time.
            self.check_weights(self._updated)
            raise TrainingError(
                f"train: the {what} is {value} at step {number:,}; try a lower learning_rate, a "
                "longer warm-up or a smaller clip"
            )

    def _check_room(self):
        """Refuse at once a batch whose numbers cannot be in memory; PyTorch would fill it first."""
        room = memory()
        if room is None or self.device.type != "cpu" or not isinstance(self.model, GPT):
            return
        # At least these floats are kept for each token until backward: ten times the width in
        # each block, and the scores with their gradient.
        width, blocks = self.model.token_embedding.embedding_dim, len(self.model.blocks)
        floats = 10 * width * blocks + 2 * self.model.vocab_size
        tokens = self.config.batch_size // self.team.size * self.block_size
        if 4 * floats * tokens > room:
            self._no_room()

    def _no_room(self):
        raise TrainingError(
            f"train: a batch of {self.config.batch_size:,} × {self.block_size:,} tokens does not "
            "fit into memory; choose a smaller batch_size, and accumulation for the rest"
        ) from None

    def evaluate(self) -> tuple[float, float]:
        """Return the loss on the training text and on the validation text."""
        sizes = self.config.batch_size, self.block_size, self.config.eval_batches
        texts = self.corpus.train, self.corpus.validation
        with autocast(self.device, self.config.precision):
            train, validation = (
                evaluate(self.model, ids, *sizes, seed=self.config.seed) for ids in texts
            )
        return train, validation

    def check_weights(self, number: int):
        """Say so if the last update has left weights that are not numbers."""
        for name, parameter in self.model.named_parameters():
            if not parameter.isfinite().all():
                raise TrainingError(
                    f"train: after step {number:,}{self._rate(number)} {name} holds what is not a "
                    "number; try a lower learning_rate, a longer warm-up or a smaller clip"
                )

    def _rate(self, number: int) -> str:
        return f", taken at a rate of {self.schedule(number - 1):g}," if number else ""

    @property
    def speed(self) -> float:
        """Tokens per second of the updates since the clock was started, and of them alone."""
        return self._tokens / self._seconds

    def restart_clock(self):
        """Measure the speed from now on."""
        self._seconds, self._tokens = 0.0, 0


class _Loss(nn.Module):
    """A model's loss as a module, which is what torch.compile and DDP wrap."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        return self.model.loss(tokens, targets)


def _block_size(model, corpus: data.Corpus, config: Config) -> int:
    """Return the length of a training sequence, or say why there can be none."""
    if len(corpus.vocabulary) > model.vocab_size:
        raise ValueError(
            f"train: the corpus has {len(corpus.vocabulary)} different tokens, the model's "
            f"vocab_size is {model.vocab_size}; build the model with "
            "vocab_size=len(corpus.vocabulary)"
        )
    block_size = config.block_size or model.max_seq_len
    if block_size > model.max_seq_len:
        raise ValueError(
            f"train: block_size={block_size} exceeds the model's max_seq_len={model.max_seq_len}"
        )
    for name in ("train", "validation"):
        length = len(getattr(corpus, name))
        if length <= block_size:
            raise ValueError(
                f"train: the {name} part of {corpus.name} has {length:,} tokens; "
                f"block_size={block_size} needs at least {block_size + 1:,}; give a longer text "
                "or a smaller block_size"
            )
    return block_size
