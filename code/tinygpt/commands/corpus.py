"""`tinygpt data`: fetch the corpus."""

import click


@click.command()
@click.option("--tiny", is_flag=True, help="The usual excerpt of 1.1 MB instead of all plays.")
def data(tiny: bool) -> None:
    """Fetch Shakespeare, once, for the chapters that train on it."""
    from tinygpt import data as corpus

    try:
        text = corpus.tinyshakespeare() if tiny else corpus.shakespeare()
    except corpus.DataError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{len(text):,} characters in {corpus.data_dir()}")
