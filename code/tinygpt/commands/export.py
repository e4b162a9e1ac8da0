"""`tinygpt export`: a trained model for other programs."""

from pathlib import Path

import click

from tinygpt.commands.options import by_option


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--to",
    type=click.Choice(["huggingface"]),
    required=True,
    help="The layout: huggingface is that of transformers' GPT2LMHeadModel.",
)
@click.option(
    "--run",
    type=click.Path(path_type=Path),
    help="A folder that `tinygpt train` wrote; without it the model that comes with the book.",
)
def export(folder: Path, to: str, run: Path | None) -> None:
    """Write a trained model and its vocabulary to DIR, a new folder."""
    from tinygpt import training  # PyTorch takes a second to load

    try:
        loaded = training.pretrained("shakespeare-char") if run is None else None
        model, vocabulary, _ = loaded or training.load_run(run)
        training.export_huggingface(folder, model, vocabulary)
    except (ValueError, RuntimeError, OSError) as error:
        raise click.ClickException(by_option(str(error), {"folder": "DIR"})) from None
    click.echo(f"{folder}: a GPT-2 of {model.num_parameters():,} parameters, with its tokenizer.")
    click.echo(f"Next: tinygpt generate --run {folder}")
