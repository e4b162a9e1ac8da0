"""`python -m tinygpt`, for `torchrun` and wherever the command is not on the path."""

from tinygpt.cli import main

main()
