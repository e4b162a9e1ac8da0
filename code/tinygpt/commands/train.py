"""`tinygpt train`: a GPT of your own, with one command."""

import contextlib
import os
import shlex
import sys
from dataclasses import fields, replace
from pathlib import Path

import click

from tinygpt.commands.options import by_option

_HELP = {
    "steps": "Updates of the weights.",
    "batch_size": "Sequences in a batch, over all processes.",
    "block_size": "Tokens in a sequence, and the longest context of the model.",
    "accumulation": "Batches whose gradients are averaged into one update.",
    "learning_rate": "Highest rate.",
    "min_learning_rate": "Rate at the end; by default at most a tenth of the highest.",
    "warmup_steps": "Steps in which the rate rises; by default at most a tenth of the steps.",
    "weight_decay": "Decay of matrices.",
    "clip": "Longest gradient that is taken as it is.",
    "eval_every": "Steps between evaluations.",
    "eval_batches": "Random batches of an evaluation.",
    "sample_every": "Steps between samples; 0: none.",
    "checkpoint_every": "Steps between checkpoints.",
    "seed": "Fixes weights, batches and dropout.",
    "embed_dim": "Width of the model.",
    "num_layers": "Blocks.",
    "num_heads": "Heads of each block.",
    "dropout_prob": "Dropout in training.",
}
# Written out, since PyTorch takes a second to load and --help need not wait for it.
PRESETS = ("shakespeare-char", "shakespeare-char-long")
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _HELP} | {
    "max_seq_len": "--block-size",
    "source": "--corpus",
    "vocab_size": "--vocab-size",
    "device": "--device",
    "precision": "--precision",
}
_KINDS = {"learning_rate", "min_learning_rate", "weight_decay", "clip", "dropout_prob"}


def _overrides(command):
    """Add an option for each number of the preset; none is given unless it is to differ."""
    for name, text in reversed(_HELP.items()):
        kind = click.FLOAT if name in _KINDS else click.INT
        command = click.option(_OPTIONS[name], name, type=kind, help=text)(command)
    return command


def _not_empty(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path == Path(""):
        raise click.BadParameter("must name a folder, such as runs/mine, got an empty name.")
    return path


@click.command()
@click.option(
    "--preset",
    default="shakespeare-char",
    show_default=True,
    help=f"A named setting: {' or '.join(PRESETS)}.",
)
@click.option(
    "--corpus",
    help="shakespeare (all plays), tinyshakespeare (the usual excerpt), or your own text: the "
    "path of a file or a folder.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=_not_empty,
    help="Folder of the run.  [default: runs/PRESET]",
)
@click.option(
    "--tokenizer",
    help="characters; bpe, which learns its tokens from the text; or a file that "
    "`tinygpt tokenizer` wrote.  [default: characters]",
)
@click.option("--vocab-size", type=click.INT, help="Tokens that bpe learns.  [default: 512]")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the run in the folder; with --steps, to more of them than it was to make.",
)
@click.option(
    "--init-from",
    type=click.Path(path_type=Path),
    callback=_not_empty,
    help="Start with the weights, the shape and the vocabulary of another run.",
)
@_overrides
@click.option("--device", help="cpu, cuda, mps.  [default: the fastest there is]")
@click.option("--precision", help="auto, float32 or bfloat16.")
@click.option("--compile/--no-compile", "compile_", default=None, help="Use torch.compile.")
@click.option("--tie/--no-tie", default=None, help="Share the embedding with the head.")
@click.option("--quiet", is_flag=True, help="Print the last line only.")
def train(
    preset: str,
    corpus: str | None,
    out: Path | None,
    tokenizer: str | None,
    vocab_size: int | None,
    resume: bool,
    init_from: Path | None,
    device: str | None,
    precision: str | None,
    compile_: bool | None,
    tie: bool | None,
    quiet: bool,
    **numbers: float | None,
) -> None:
    """Train a GPT on text. Without options: on Shakespeare, in minutes.

    Interrupt it with Ctrl-C whenever you like, and go on with --resume, which takes all
    settings from the run; --steps may then be higher, and the rate follows the longer
    schedule from there on. To train with several processes, put
    `torchrun --nproc-per-node 2 --no-python` in front of the command.
    """
    from tinygpt import data, training
    from tinygpt.models import copy_weights
    from tinygpt.tokenizers import ByteBPE

    try:
        if preset not in training.PRESETS:
            raise ValueError(
                f"--preset must be one of {', '.join(training.PRESETS)}, got {preset!r}"
            )
        folder = out or Path("runs") / preset
        given = {name: value for name, value in numbers.items() if value is not None}
        start = None
        if resume:
            _refuse_preset(out)
            if init_from is not None:
                raise ValueError("--init-from starts a new run; leave it out to go on with one")
            chosen = training.preset_of(folder)
            _refuse_fewer_steps(folder, chosen.training.steps, given.get("steps"))
        else:
            training.refuse_a_run(folder)
            chosen = training.PRESETS[preset]
            given = _with_defaults(chosen.training, given)
            if init_from is not None:
                _refuse_another_shape(given, tokenizer, tie)
                start, vocabulary, state = training.load_run(init_from)
                chosen = replace(chosen, model=training.shape_in(state, str(init_from)))
        shape, config = _settings(chosen, given)
        for name, value in [("device", device), ("precision", precision), ("compile", compile_)]:
            if value is not None:
                config = replace(config, **{name: value})
        if tie is not None:
            shape = replace(shape, tie_weights=tie)
        source = chosen.corpus if corpus is None else corpus
        chosen_tokens = _tokenizer(tokenizer, vocab_size, folder if resume else None)
        if start is not None:
            chosen_tokens = vocabulary
        text = data.load_corpus(source, folder / "tokens", tokenizer=chosen_tokens)
        model = training.build_model(shape, len(text.vocabulary), config.seed)
        if start is not None:
            copy_weights(start, model)
        _say(
            quiet,
            f"{text.name}: {len(text.train) + len(text.validation):,} "
            f"{'tokens' if isinstance(text.vocabulary, ByteBPE) else 'characters'}, "
            f"{len(text.vocabulary):,} distinct; the model has {model.num_parameters():,} "
            f"parameters; {config.steps:,} steps of "
            f"{config.batch_size * config.accumulation * shape.max_seq_len:,} tokens",
        )
        if isinstance(chosen_tokens, int) and len(text.vocabulary) < chosen_tokens:
            _say(
                quiet,
                "The part of the text to train on has no more pairs to join, so there are "
                f"{len(text.vocabulary):,} tokens and not {chosen_tokens:,}.",
            )
        history = training.train(
            model,
            text,
            config,
            folder,
            resume=resume,
            progress=not quiet,
            command=_command(),
        )
    except KeyboardInterrupt:
        if _first() and next(folder.glob("checkpoint-*"), None):
            click.echo(f"Go on with `tinygpt train --out {folder} --resume`.", err=True)
        raise
    except (
        ValueError,
        TypeError,
        OSError,
        data.DataError,
        training.TrainingError,
        training.CheckpointError,
        training.LogError,
    ) as error:
        if not _first():  # one process speaks for all
            raise SystemExit(1) from None
        raise click.ClickException(by_option(str(error), _OPTIONS)) from None
    if history.validation_losses:  # the first process has measured them
        _say(
            False,
            f"Done: validation loss {history.validation_losses[-1]:.3f} after {config.steps:,} "
            f"steps; see {folder / 'loss.png'}.",
        )
        _say(quiet, f"Next: tinygpt generate --run {shlex.quote(str(folder))}")


def _refuse_preset(out: Path | None) -> None:
    """With --out, --resume has no use for --preset."""
    source = click.get_current_context().get_parameter_source("preset")
    if out is not None and source is click.core.ParameterSource.COMMANDLINE:
        raise ValueError(
            f"--resume takes all settings from the run in {out}; leave out --preset, which is "
            "for a new run"
        )


def _refuse_fewer_steps(folder: Path, before: int, steps: int | None) -> None:
    """A run that goes on may make more steps; fewer would be another schedule up to now."""
    if steps is not None and steps < before:
        raise ValueError(
            f"--steps is {steps:,}, but the run in {folder} is to make {before:,}; a run that goes "
            "on may make more steps, not fewer"
        )


def _refuse_another_shape(given: dict, tokenizer: str | None, tie: bool | None) -> None:
    """With --init-from, shape and vocabulary are those of the weights."""
    fixed = ("block_size", "embed_dim", "num_layers", "num_heads")
    options = [_OPTIONS[name] for name in fixed if name in given]
    options += ["--tokenizer"] * (tokenizer is not None) + ["--tie"] * (tie is not None)
    if options:
        raise ValueError(
            f"--init-from takes shape and vocabulary from the run; leave out {', '.join(options)}"
        )


def _with_defaults(config, given: dict) -> dict:
    """Add a warm-up and a last rate that fit the steps and the rate that were given."""
    steps = given.get("steps", config.steps)
    rate = given.get("learning_rate", config.learning_rate)
    return {
        "warmup_steps": min(config.warmup_steps, max(steps // 10, 0)),
        "min_learning_rate": min(config.min_learning_rate, rate / 10),
    } | given


def _settings(preset, given: dict):
    """Return the preset's model and training with the numbers that were given."""
    shape = preset.model
    if "block_size" in given:
        shape = replace(shape, max_seq_len=given.pop("block_size"))
    of_model = {field.name for field in fields(shape)}
    shape = replace(shape, **{k: v for k, v in given.items() if k in of_model})
    return shape, replace(preset.training, **{k: v for k, v in given.items() if k not in of_model})


def _tokenizer(name: str | None, vocab_size: int | None, run: Path | None):
    """Return what `load_corpus` takes for a tokenizer; without a name, the run's own."""
    from tinygpt import training
    from tinygpt.tokenizers import ByteBPE

    if vocab_size is not None and name != "bpe":
        raise ValueError("--vocab-size goes with --tokenizer bpe; give both, or none")
    if name is None and run is not None:
        kept = training.vocabulary_of(run)
        return kept if isinstance(kept, ByteBPE) else None
    if name is None or name == "characters":
        return None
    if name == "bpe":
        return 512 if vocab_size is None else vocab_size
    if not os.path.isfile(name):
        raise ValueError(
            "--tokenizer must be characters, bpe, or a file that `tinygpt tokenizer` wrote, "
            f"got {name!r}"
        )
    return ByteBPE.load(name)


def _command() -> str:
    text = shlex.join(["tinygpt", *sys.argv[1:]])
    return text.encode("utf-8", "replace").decode("utf-8")  # a file's name may be any bytes


def _say(quiet: bool, text: str) -> None:
    if not quiet and _first():
        with contextlib.suppress(BrokenPipeError):  # nobody reads it: train on
            click.echo(text)


def _first() -> bool:
    """Whether this process is the only one, or the first that `torchrun` started."""
    return os.environ.get("RANK", "0") == "0"
