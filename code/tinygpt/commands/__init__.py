"""The commands of `tinygpt`, a module for each."""

import click

from tinygpt import __version__
from tinygpt.commands.corpus import data
from tinygpt.commands.exercises import lab
from tinygpt.commands.export import export
from tinygpt.commands.generate import generate
from tinygpt.commands.tokenizer import tokenizer
from tinygpt.commands.train import train


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tinygpt")
def tinygpt() -> None:
    """The companion of The Executable GPT."""


for command in (data, export, generate, lab, tokenizer, train):
    tinygpt.add_command(command)
