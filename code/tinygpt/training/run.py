"""A run's folder: log, curve, samples and checkpoints.

log.csv               a row for each step
loss.png              the same, drawn at each checkpoint
samples/              what the model writes on the way
checkpoint-002000/    the newest state
tokens/               the corpus as numbers, where the command trains
.tinygpt              held by the process that trains
"""

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tinygpt import data, sampling
from tinygpt.data.text import RUN_MARK
from tinygpt.files import checked_path, take, write_whole
from tinygpt.models import GPT
from tinygpt.training import checkpoint
from tinygpt.training.checkpoint import CheckpointError
from tinygpt.training.config import ModelConfig, to_json
from tinygpt.training.history import History, Log, LogError
from tinygpt.training.updates import Updates
from tinygpt.validate import instance, is_integer

# What may differ when a run goes on: where and how fast it computes, and how far.
_FREE = ("device", "compile", "steps")


class Run:
    """Keeps a run on the disk and takes it up again; only the first process writes."""

    def __init__(self, folder: str | os.PathLike, updates: Updates, command: str | None):
        self.folder = checked_path("train", folder)
        self.model = instance("train", "model", updates.model, GPT)
        self.optimizer, self.config = updates.optimizer, updates.config
        self.corpus, self.team = updates.corpus, updates.team
        self.updates = updates
        self.command = command
        self._log: Log | None = None
        self._lock: IO | None = None

    def begin(self) -> History:
        """Start a fresh run in the folder.

        Raises:
            CheckpointError: the folder holds a run already, or cannot be made, or another
                process is writing to it.
        """
        history = History()
        with self._as_one():
            if self.team.first:
                checkpoint.refuse_a_run(self.folder)
                self._open(history)
        return history

    def resume(self) -> History:
        """Put the newest checkpoint back and return the history up to it.

        Raises:
            CheckpointError, LogError: there is none, or it is damaged.
            ValueError: it was made with another corpus, model or configuration.
        """
        newest = checkpoint.newest_checkpoint(self.folder, of_a_run=True)
        state = checkpoint.read_state(newest)
        self._check_same(state, newest)
        checkpoint.restore(newest, self.model, self.optimizer)
        history = History.read(self._log_path).until(state["step"])
        if len(history.steps) != state["step"]:
            raise LogError(
                f"{self._log_path}: has {len(history.steps):,} of the {state['step']:,} steps of "
                f"{newest.name}; the log is damaged"
            )
        self.command = state.get("command")
        with self._as_one():  # all have read before the first writes
            if self.team.first:
                self._open(history)
        return history

    def note(self, history: History, stopping: bool, bar):
        """Keep what is due after a step: a sample, the log, the curve and a checkpoint."""
        if not self.team.first:
            return
        step = history.steps[-1]
        if self.config.sample_every and step % self.config.sample_every == 0:
            text = self._sample(step)
            if not bar.disable:
                sample = f"--- a sample after step {step:,}\n{text.strip()}\n---"
                bar.write(sample, file=sys.stderr)
        if step % self.config.checkpoint_every == 0 or stopping:
            self.updates.check_weights(step)
            self._log.add(history)  # first, so that a checkpoint's steps are in the log
            checkpoint.write_checkpoint(
                self.folder, step, self.model, self.optimizer, self._about(history)
            )
            history.plot(self.folder / "loss.png")
        elif step in history.eval_steps[-1:]:
            self._log.add(history)

    def close(self):
        """Close the log and let others have the folder."""
        for opened in (self._log, self._lock):
            if opened is not None:
                opened.close()

    def _open(self, history: History):
        """Take the folder for this process and write the log up to now."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = take(self.folder / RUN_MARK)
        except BlockingIOError:
            raise CheckpointError(
                f"{self.folder}: another process is training there; wait for it, or choose "
                "another folder"
            ) from None
        except OSError as error:
            raise CheckpointError(
                f"{self.folder}: cannot be made ({error.strerror}); choose another folder"
            ) from None
        checkpoint.remove_leftovers(self.folder)
        self._log = Log(self._log_path, history)

    @contextmanager
    def _as_one(self):
        """Let every process go on together, or none when the first one cannot."""
        problem = None
        try:
            yield
        except (CheckpointError, LogError, OSError) as error:
            problem = error
        if self.team.any(problem is not None):
            raise problem or CheckpointError("train: the first process could not begin")

    @property
    def _log_path(self) -> Path:
        return self.folder / "log.csv"

    def _sample(self, step: int) -> str:
        prompt = self.corpus.vocabulary.encode(_first_character(self.corpus.vocabulary))
        [tokens] = sampling.generate(self.model, [prompt], 300, 0.8, seed=step)
        text = self.corpus.vocabulary.decode(tokens.tolist())
        samples = self.folder / "samples"
        samples.mkdir(exist_ok=True)
        write_whole("train", samples / f"step-{step:06d}.txt", text.encode("utf-8"))
        return text

    def _about(self, history: History) -> dict[str, Any]:
        evaluated = bool(history.eval_steps)
        return {
            "command": self.command,
            "model": to_json(_shape_of(self.model)),
            "training": to_json(self.config),
            "corpus": {
                "name": self.corpus.name,
                "source": self.corpus.source,
                "digest": self.corpus.digest,
            },
            "processes": self.team.size,
            "train_loss": history.train_losses[-1] if evaluated else None,
            "validation_loss": history.validation_losses[-1] if evaluated else None,
            "vocabulary": json.loads(self.corpus.vocabulary.to_json()),
        }

    def _check_same(self, state: dict[str, Any], newest: Path):
        before = checkpoint.preset_of(self.folder)
        try:
            pairs = [
                ("vocabulary", *_vocabularies(state["vocabulary"], self.corpus.vocabulary)),
                *_compare(to_json(before.model), to_json(_shape_of(self.model))),
                *_compare(to_json(before.training), to_json(self.config)),
            ]
            step, text = state["step"], state["corpus"]["digest"]
        except (KeyError, TypeError, AttributeError):
            raise CheckpointError(f"{newest}: state.json is damaged") from None
        if self.model.dropout.p and state.get("processes", 1) != self.team.size:
            raise ValueError(
                f"train: with dropout a run goes on with as many processes as before, "
                f"{state.get('processes', 1)}, got {self.team.size}"
            )
        if not is_integer(step) or not 1 <= step <= before.training.steps:
            raise CheckpointError(f"{newest}: state.json is damaged: step is {step!r}")
        if self.config.steps < before.training.steps:
            raise ValueError(
                f"train: steps is {self.config.steps:,}, but the run in {self.folder} is to make "
                f"{before.training.steps:,}; a run that goes on may make more steps, not fewer"
            )
        if text != self.corpus.digest:
            raise ValueError(
                f"train: {self.corpus.name} is not the text of the run in {self.folder}; give the "
                "same text, unchanged, or start a run in another folder"
            )
        for name, before, now in pairs:
            if before != now and name not in _FREE:
                raise ValueError(
                    f"train: {name} is {now}, but the run in {self.folder} has {before}; go on "
                    "with the same, or start a run in another folder"
                )


def _compare(before: dict, now: dict):
    return [(name, before[name], now[name]) for name in now]


def _shape_of(model: GPT) -> ModelConfig:
    return ModelConfig(
        embed_dim=model.token_embedding.embedding_dim,
        num_layers=len(model.blocks),
        num_heads=model.blocks[0].attention.num_heads,
        max_seq_len=model.max_seq_len,
        dropout_prob=model.dropout.p,
        tie_weights=model.head.weight is model.token_embedding.weight,
        exact_gelu=model.exact_gelu,
    )


def _vocabularies(before: dict, now: data.Vocabulary) -> tuple:
    """Two vocabularies to compare; tokenizers, which are long, in short where they differ."""
    found = json.loads(now.to_json())
    if before == found or before["kind"] == found["kind"] == "characters":
        return before, found
    return _in_short(before), f"another, {_in_short(found)}"


def _in_short(vocabulary: dict) -> str:
    merges = vocabulary.get("merges")
    return vocabulary["kind"] + (f" with {len(merges):,} merges" if merges is not None else "")


def _first_character(vocabulary: data.Vocabulary) -> str:
    """A line's end, after which a new speech starts, where the corpus has one."""
    if not isinstance(vocabulary, data.CharVocabulary):
        return "\n"
    return "\n" if "\n" in vocabulary.characters else vocabulary.characters[0]
