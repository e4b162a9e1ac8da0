"""The training loop, one for every model and any number of processes."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext

from torch import nn
from tqdm import tqdm

from tinygpt import data
from tinygpt.training.config import Config
from tinygpt.training.devices import choose_device
from tinygpt.training.distributed import workers
from tinygpt.training.history import History
from tinygpt.training.run import Run
from tinygpt.training.updates import Updates
from tinygpt.validate import flag, instance


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
        resume: whether to go on from the folder's newest checkpoint. With more steps than before
            the rate follows the longer cosine from there on.
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
    if flag("train", "resume", resume) and folder is None:
        raise ValueError("train: resume=True needs the folder of the run, got None")
    device = choose_device(config.device)
    with workers(device) as team, _first_interrupt(progress and team.first) as interrupted:
        model.to(device)
        updates = Updates(model, corpus, config, team)
        history, run = History(), None
        if folder is not None:
            run = Run(folder, updates, command)
            history = run.resume() if resume else run.begin()
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
                if number % config.eval_every == 0 or number == config.steps:
                    _evaluate(updates, history, number, bar, on_eval)
                stop = team.any(interrupted())  # asked once, so that what follows agrees
                if run is not None:
                    run.note(history, stop or number == config.steps, bar)
                if stop:
                    raise KeyboardInterrupt
    return history


def _evaluate(updates: Updates, history: History, number: int, bar, on_eval):
    speed, team = updates.speed, updates.team
    updates.check_weights(number)
    if team.first:
        train_loss, validation_loss = updates.evaluate()
        history.note_evaluation(number, train_loss, validation_loss, speed)
        if not bar.disable:
            losses = f"train {train_loss:.3f}, validation {validation_loss:.3f}"
            bar.write(f"step {number:,}: {losses}", file=sys.stderr)
        if on_eval is not None:
            on_eval(number, updates.model, history)
    team.wait()
    updates.restart_clock()


@contextmanager
def _first_interrupt(aloud: bool) -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C, or a polite end from outside, wait for the end of the step.

    A second Ctrl-C acts at once. `torchrun` sends SIGTERM to each process after a Ctrl-C.
    """
    seen = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield seen.is_set  # only the main thread may handle signals
        return

    def note(number, frame):
        if seen.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        if aloud and not seen.is_set():
            # Not print: the signal may have come in the middle of one.
            os.write(2, b"\nStopping after this step; Ctrl-C once more stops at once.\n")
        seen.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
