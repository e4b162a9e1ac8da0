"""The training loop, one for every model and any number of processes."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from tinygpt import data
from tinygpt.scratch import CosineSchedule
from tinygpt.training.config import Config
from tinygpt.training.devices import autocast, choose_device
from tinygpt.training.distributed import Workers, workers
from tinygpt.training.evaluation import evaluate
from tinygpt.training.history import History
from tinygpt.training.optimizer import configure_optimizer
from tinygpt.training.run import Run
from tinygpt.validate import flag, instance


class TrainingError(RuntimeError):
    """A run that cannot go on."""


def train(
    model: nn.Module,
    corpus: data.Corpus,
    config: Config,
    folder: str | os.PathLike | None = None,
    *,
    resume: bool = False,
    progress: bool = False,
    on_eval: Callable[[int, nn.Module, History], object] | None = None,
    command: str | None = None,
) -> History:
    """Train a model on a corpus: AdamW, warm-up and cosine, clipping, evaluation.

    Batches and dropout of a step depend on the seed and the step alone, so a run that goes on
    from a checkpoint computes what it would have computed without the pause, to the bit.
    Under `torchrun` every process takes its part of each batch.

    Args:
        model: anything with `loss(tokens, targets)`, `max_seq_len` and `vocab_size`; with a
            folder, a GPT. It is moved to the device and changed.
        corpus: the text.
        config: how to train.
        folder: where to keep log, curve, samples and checkpoints; None keeps nothing.
        resume: whether to go on from the folder's newest checkpoint.
        progress: whether to show a bar with loss and tokens per second.
        on_eval: called after each evaluation with step, model and history so far.
        command: the command that started the run, to be kept with it.

    Returns:
        The losses, step by step.

    Raises:
        TypeError, ValueError: an argument is of another kind, or the corpus does not fit.
        TrainingError: the loss is no longer a number.
        CheckpointError, LogError: the folder cannot be written to or gone on from.
        KeyboardInterrupt: at the first Ctrl-C, after the step is finished and kept.
    """
    instance("train", "model", model, nn.Module)
    instance("train", "corpus", corpus, data.Corpus)
    instance("train", "config", config, Config)
    flag("train", "resume", resume)
    block_size = _block_size(model, corpus, config)
    device = choose_device(config.device)
    with workers(device) as team, _first_interrupt() as interrupted:
        model.to(device)
        optimizer = configure_optimizer(model, config)
        history, run = History(), None
        if folder is not None:
            run = Run(folder, model, optimizer, config, corpus, team, command)
            history = run.resume() if resume else run.begin()
        updates = _Updates(model, optimizer, corpus, config, block_size, device, team)
        bar = tqdm(
            total=config.steps,
            initial=len(history.steps),
            unit="step",
            disable=not (progress and team.first),
            dynamic_ncols=True,
        )
        with bar, closing(run) if run is not None else nullcontext():
            for number in range(len(history.steps) + 1, config.steps + 1):
                history.note_step(number, *updates.make(number))
                bar.set_postfix_str(
                    f"loss {history.losses[-1]:.3f}, {updates.speed:,.0f} tokens/s", refresh=False
                )
                bar.update()
                stopping = interrupted() or number == config.steps
                if number % config.eval_every == 0 or number == config.steps:
                    _evaluate(updates, history, number, bar, on_eval)
                if run is not None:
                    run.note(history, stopping, bar)
                if interrupted():
                    raise KeyboardInterrupt
    return history


class _Updates:
    """What an update of the weights needs besides its number."""

    def __init__(self, model, optimizer, corpus, config, block_size, device, team: Workers):
        self.model, self.optimizer, self.corpus, self.config = model, optimizer, corpus, config
        self.block_size, self.device, self.team = block_size, device, team
        self.share = team.share(config.batch_size)
        self.schedule = CosineSchedule(
            config.learning_rate, config.steps, config.warmup_steps, config.min_learning_rate
        )
        loss = _Loss(model)
        if config.compile:
            loss = torch.compile(loss)
        self.loss = DistributedDataParallel(loss) if team.size > 1 else loss
        self.restart_clock()

    def make(self, number: int) -> tuple[float, float, float]:
        """Make update number 1, 2, …; return loss, learning rate and length of the gradient.

        Raises:
            TrainingError: the loss is not a number; the weights are then as they were.
        """
        self.model.train()
        rate = self.schedule(number - 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._backward(number)
        if not math.isfinite(loss):
            raise TrainingError(
                f"train: the loss is {loss} at step {number:,}; try a lower learning_rate, a "
                "longer warm-up or a smaller clip"
            )
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip).item()
        self.optimizer.step()
        self._tokens += self.config.batch_size * self.block_size * self.config.accumulation
        return loss, rate, norm

    def _backward(self, number: int) -> float:
        """Leave the gradient of a step in the parameters and return the step's loss."""
        of_this_process = np.random.SeedSequence([self.config.seed, number, self.team.rank])
        torch.manual_seed(int(of_this_process.generate_state(1)[0]))  # dropout
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

    def _batch(self, rng: np.random.Generator) -> Iterator[Tensor]:
        pair = data.random_batch(self.corpus.train, self.config.batch_size, self.block_size, rng)
        return (torch.tensor(part[self.share], device=self.device) for part in pair)

    def evaluate(self) -> tuple[float, float]:
        """Return the loss on the training text and on the validation text."""
        sizes = self.config.batch_size, self.block_size, self.config.eval_batches
        texts = self.corpus.train, self.corpus.validation
        with autocast(self.device, self.config.precision):
            return tuple(evaluate(self.model, ids, *sizes, seed=self.config.seed) for ids in texts)

    @property
    def speed(self) -> float:
        """Tokens per second since the clock was started."""
        return self._tokens / (time.perf_counter() - self._since)

    def restart_clock(self):
        """Measure the speed from now on."""
        self._since, self._tokens = time.perf_counter(), 0


class _Loss(nn.Module):
    """A model's loss as a module, which is what torch.compile and DDP wrap."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        return self.model.loss(tokens, targets)


def _evaluate(updates: _Updates, history: History, number: int, bar, on_eval):
    speed, team = updates.speed, updates.team
    if team.first:
        train_loss, validation_loss = updates.evaluate()
        history.note_evaluation(number, train_loss, validation_loss, speed)
        if not bar.disable:
            bar.write(f"step {number:,}: train {train_loss:.3f}, validation {validation_loss:.3f}")
        if on_eval is not None:
            on_eval(number, updates.model, history)
    team.wait()
    updates.restart_clock()


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


@contextmanager
def _first_interrupt() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C wait for the end of the step; a second one acts at once."""
    seen = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield seen.is_set  # only the main thread may handle signals
        return

    def note(number, frame):
        if seen.is_set():
            raise KeyboardInterrupt
        seen.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield seen.is_set
    finally:
        signal.signal(signal.SIGINT, before)
