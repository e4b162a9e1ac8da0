"""`tinygpt generate`: text from a trained model."""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tinygpt.commands.options import by_option


def _finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):  # nan passes every comparison of click's
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


@click.command()
@click.option(
    "--run",
    "folder",
    type=click.Path(path_type=Path),
    help="A folder that `tinygpt train` or `tinygpt export` wrote; without it the model that comes "
    "with the book.",
)
@click.option("--prompt", "prompts", multiple=True, help="Text to continue; repeat it for several.")
@click.option(
    "--tokens",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    help="Tokens to add at most.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    callback=_finite,
    help="Below 1 plainer, above 1 wilder; 0 takes the likeliest token always.",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from this many tokens only.")
@click.option(
    "--top-p",
    type=click.FloatRange(min=0, max=1),
    callback=_finite,
    help="Draw from the likeliest tokens that reach this probability only.",
)
@click.option(
    "--beams", type=click.IntRange(min=1), help="Search the likeliest text instead of drawing one."
)
@click.option("--seed", type=click.IntRange(min=0), help="The same seed gives the same text.")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Texts for each prompt.",
)
@click.option("--stop", help="End a text where it has written this.")
@click.pass_context
def generate(
    context: click.Context,
    folder: Path | None,
    prompts: tuple[str, ...],
    tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    beams: int | None,
    seed: int | None,
    samples: int,
    stop: str | None,
) -> None:
    """Continue a text with a trained model and print it as it comes."""
    prompts = prompts or ("\n",)
    if "" in prompts:
        raise click.UsageError("--prompt is empty; give at least one character to continue.")
    if stop == "":
        raise click.UsageError("--stop is empty; leave it out to write all the tokens.")
    if beams is not None:
        _refuse_beside_beams(context)
    from tinygpt import sampling  # PyTorch takes a second to load

    try:
        model, vocabulary = _load(folder)
        encoded = [vocabulary.encode(prompt) for prompt in prompts]
        if stop is not None:
            vocabulary.encode(stop)  # a character that never comes would never stop it
        stop_token = None if beams is None or stop is None else _one_token(vocabulary, stop)
        texts = len(prompts) * samples
        for row in range(texts):
            prompt = encoded[row // samples]
            if beams is None:
                new = sampling.generate_tokens(
                    model, prompt, tokens, temperature, top_k=top_k, top_p=top_p, seed=seed, row=row
                )
            else:
                best = sampling.beam_search(model, prompt, tokens, beams, stop_token=stop_token)[0]
                new = iter(best.tokens[len(prompt) :].tolist())
            if texts > 1:
                click.echo(f"--- {row + 1} of {texts} ---")
            _write(prompts[row // samples], _until(stop, vocabulary.decode_stream(new)))
    except (ValueError, RuntimeError, FileNotFoundError) as error:
        said = by_option(str(error), {"max_new_tokens": "--tokens", "stop_token": "--stop"})
        raise click.ClickException(said) from None
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _load(folder: Path | None) -> tuple:
    """Return the model and the vocabulary of a run, of an exported folder, or of the book."""
    from tinygpt import training

    if folder is not None and os.path.isfile(folder / "config.json"):
        return training.load_exported(folder)
    return (training.pretrained() if folder is None else training.load_run(folder))[:2]


def _write(prompt: str, pieces: Iterator[str]) -> None:
    """Print a text piece by piece, each as soon as it is there, and end the last line."""
    last = prompt
    click.echo(prompt, nl=False)
    for piece in pieces:
        click.echo(piece, nl=False)
        last = piece or last
    if not last.endswith("\n"):
        click.echo()


def _until(stop: str | None, pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces up to the end of the first `stop` in the text."""
    written = ""
    for piece in pieces:
        before = len(written)
        written += piece
        if stop is not None and (place := written.find(stop, max(before - len(stop) + 1, 0))) >= 0:
            yield written[before : place + len(stop)]
            return
        yield piece


def _one_token(vocabulary, stop: str) -> int:
    """Return the token that ends a beam."""
    ids = vocabulary.encode(stop)
    if len(ids) != 1:
        raise click.UsageError(f"With --beams, --stop must be a single token, got {stop!r}.")
    return int(ids[0])


def _refuse_beside_beams(context: click.Context) -> None:
    """Say so when an option for drawing is given to a search, which draws nothing."""
    for name in ("temperature", "top_k", "top_p", "seed", "samples"):
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"--beams searches and draws nothing; leave {option} out.")
