"""`tinygpt tokenizer`: a vocabulary of your own text."""

from pathlib import Path

import click

from tinygpt.commands.options import by_option

_OPTIONS = {"vocab_size": "--vocab-size", "source": "--corpus", "special_tokens": "--special"}


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--corpus",
    default="shakespeare",
    show_default=True,
    help="shakespeare, tinyshakespeare, or the path of a text file or a folder.",
)
@click.option("--vocab-size", type=click.INT, default=512, show_default=True, help="Tokens.")
@click.option(
    "--special",
    multiple=True,
    help="A string that is one token wherever the text holds it, such as <|endoftext|> between "
    "documents; repeat it for several.",
)
def tokenizer(path: Path, corpus: str, vocab_size: int, special: tuple[str, ...]) -> None:
    """Learn the tokens of a text (byte-level BPE) and write them to PATH, a JSON file."""
    from tinygpt import data
    from tinygpt.data.corpus import text_of
    from tinygpt.tokenizers import ByteBPE

    try:
        _refuse_another_file(path, corpus)
        # The text is read once: its pieces, each counted, are enough for its lengths as well.
        learnt, counts = ByteBPE.train_and_count(text_of(corpus), vocab_size, special)
        characters = sum(len(piece) * count for piece, count in counts.items())
        if not characters:
            raise ValueError(f"{corpus} is empty; give a text to learn tokens from")
        tokens = sum(len(learnt.encode(piece)) * count for piece, count in counts.items())
        learnt.save(path)
    except (ValueError, TypeError, OSError, data.DataError) as error:
        raise click.ClickException(by_option(str(error), _OPTIONS)) from None
    share = f"{characters / tokens:.2f} characters each"
    click.echo(f"{path}: {len(learnt):,} tokens; the text is {tokens:,} of them, {share}.")
    if len(learnt) < vocab_size:
        click.echo(f"The text has no more pairs to join, so they are fewer than {vocab_size:,}.")
    click.echo(f"Next: tinygpt train --tokenizer {path}")


def _refuse_another_file(path: Path, corpus: str) -> None:
    """Say so where PATH names the text, or a file that is no tokenizer."""
    from tinygpt.files import special
    from tinygpt.tokenizers import ByteBPE

    if kind := special(path):
        raise ValueError(f"PATH is {kind}, {path}; give the name of a file")
    if not path.is_file():
        return
    if Path(corpus).is_file() and path.samefile(corpus):
        raise ValueError(f"PATH and --corpus are the same file, {path}; choose another PATH")
    try:
        ByteBPE.load(path)
    except ValueError:
        raise ValueError(
            f"{path} is there and is no tokenizer; choose another PATH, or remove it first"
        ) from None
