"""Renders with Quarto, where it is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

from bookbuild.config import Book
from bookbuild.kernel import pinned_environment


class QuartoError(Exception):
    """Quarto is not there, or did not render the book."""


def find_quarto() -> Path | None:
    """The `quarto` on PATH, or None."""
    found = shutil.which("quarto")
    return Path(found) if found else None


def need_quarto() -> Path:
    """The `quarto` on PATH.

    Raises:
        QuartoError: there is none.
    """
    quarto = find_quarto()
    if quarto is None:
        raise QuartoError(
            "there is no quarto on PATH; install it from quarto.org, or use --renderer pandoc"
        )
    return quarto


def render(book: Book) -> None:
    """Run `quarto render`, which executes what changed and writes the site.

    Raises:
        QuartoError: Quarto is not on PATH, or fails; its own message is on the screen.
    """
    code = _run(book, "render", str(book.root), "--to", "html")
    if code:
        raise QuartoError(f"quarto render ended with exit code {code}; what it said stands above")


def preview(book: Book, port: int) -> None:
    """Run `quarto preview`, which shows the site and renders what changes, until Ctrl-C.

    Raises:
        QuartoError: Quarto is not on PATH, or fails.
    """
    code = _run(book, "preview", str(book.root), "--port", str(port), "--no-browser")
    if code:
        raise QuartoError(f"quarto preview ended with exit code {code}; what it said stands above")


def _run(book: Book, *arguments: str) -> int:
    quarto = need_quarto()
    env = pinned_environment(book.root) | {"QUARTO_PYTHON": sys.executable}
    return subprocess.run([str(quarto), *arguments], cwd=book.root, env=env, check=False).returncode
