"""The command line: `bookbuild build`, `serve`, `cpus` and `reference`."""

import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_STOPPED = "Stopped. What was finished is kept."

try:
    import click

    from bookbuild.config import Book, find_root, read_book
except KeyboardInterrupt:  # before there is a `main` to catch it
    print(f"\n{_STOPPED}", file=sys.stderr)
    sys.exit(130)

_OURS = ("bookbuild.", "tinygpt.")
_DEBUG = "BOOKBUILD_DEBUG"

_renderer = click.option(
    "--renderer",
    type=click.Choice(["auto", "quarto", "pandoc"]),
    default="auto",
    show_default=True,
    help="auto is Quarto where it is on PATH, else the built-in renderer",
)
_jobs = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="how many chapters run at the same time",
)


def main() -> None:
    """Run a command. What goes wrong is one sentence and exit code 1, after Ctrl-C 130."""
    with contextlib.suppress(AttributeError, ValueError):  # UTF-8 also under LC_ALL=C
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        sys.stderr.reconfigure(encoding="utf-8", errors="replace")
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # Ends kernels and removes their folders, as Ctrl-C does.
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        cli(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
    except click.ClickException as error:
        print(f"bookbuild: {error.format_message()}", file=sys.stderr)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):
        print(_STOPPED, file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        print(f"bookbuild: {_sentence(error)}", file=sys.stderr)
        sys.exit(1)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        if error.errno == errno.ENOSPC:
            return "no space is left on the disk; free some and run it again (nothing is lost)"
        return f"{error.filename or 'a file'}: {error.strerror}"
    if type(error).__module__.startswith(_OURS):
        # Files of the book by their name inside it, whichever way they were named.
        with contextlib.suppress(Exception):
            return str(error).replace(f"{find_root(Path.cwd())}{os.sep}", "")
        return str(error)
    said = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {said} (set {_DEBUG}=1 for the traceback)"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Turn book/ into a site whose every output has been run."""


@cli.command()
@_renderer
@_jobs
@click.option("--tolerant", is_flag=True, hidden=True, help="exit code 0 for a wrong number too")
def build(renderer: str, jobs: int, tolerant: bool) -> None:
    """Run what changed and write the site.

    The site shows what was computed now. Where the prose says something else, the
    command says so and ends with exit code 1, after it has written the site.
    """
    from bookbuild.computed import wrong_numbers
    from bookbuild.execute import execute_book

    start = time.perf_counter()
    book = read_book(find_root(Path.cwd()))
    quarto = _with_quarto(renderer)
    with _step("Read"):
        _read_and_check(book)
    with _step("Run"):
        executed = execute_book(book, jobs=jobs)
    wrong = list(wrong_numbers(book, executed))
    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr, flush=True)
    if quarto:
        from bookbuild.quarto import render

        with _step("Quarto"):
            render(book)
    else:
        _build_with_pandoc(book, executed)
    index = (book.output / "index.html").relative_to(book.root).as_posix()
    total = time.perf_counter() - start
    print(f"The site is {index}, made in {total:.1f} s; make serve shows it.", flush=True)
    if wrong and not tolerant:
        many = f"{len(wrong)} numbers or words" if len(wrong) > 1 else "a number or word"
        raise click.ClickException(
            f"{many} in the prose differ{'s' * (len(wrong) == 1)} from what was computed; "
            "the site shows what was computed"
        )


def _with_quarto(renderer: str) -> bool:
    """Whether Quarto renders.

    Raises:
        QuartoError: it was asked for and is not on PATH.
    """
    from bookbuild.quarto import find_quarto, need_quarto

    if renderer == "quarto":
        need_quarto()
    return renderer == "quarto" or (renderer == "auto" and find_quarto() is not None)


def _read_and_check(book: Book) -> None:
    from bookbuild.notebook import read_chapter
    from bookbuild.vocabulary import check_vocabulary

    for entry in book.entries:
        check_vocabulary(read_chapter(entry.source))


def _build_with_pandoc(book: Book, executed: dict) -> None:
    from bookbuild.render import render_pages
    from bookbuild.site import write_site

    with _step("Render"):
        pages = render_pages(book, executed)
    with _step("Write"):
        write_site(book, pages)


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"{name:<8}{time.perf_counter() - start:7.1f} s", flush=True)


@cli.command()
@_renderer
@_jobs
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="on this machine"
)
def serve(renderer: str, jobs: int, port: int) -> None:
    """Build, show at a local address, and build again when a source changes."""
    book = read_book(find_root(Path.cwd()))
    if _with_quarto(renderer):
        from bookbuild.quarto import preview

        preview(book, port)
    else:
        from bookbuild.serve import serve as serve_site

        # Whoever writes looks at the page while a number is not yet set.
        build = ["build", "--renderer", "pandoc", "--jobs", str(jobs), "--tolerant"]
        serve_site(book, port=port, build=build)


@cli.command()
@click.argument("chapters", nargs=-1)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="how many cores to use",
)
@click.option("--afresh", is_flag=True, help="check again what is remembered")
def cpus(chapters: tuple[str, ...], jobs: int, afresh: bool) -> None:
    """Check chapters as other processors would compute them, and print a table."""
    from bookbuild.sweep import sweep

    book = read_book(find_root(Path.cwd()))
    only = [_find_chapter(book, name) for name in chapters] or None
    failed = sweep(book, only, jobs=jobs, afresh=afresh)
    if failed:
        raise click.ClickException(f"{failed} check{'s' * (failed != 1)} failed")


@cli.command()
@click.argument("chapters", nargs=-1)
@_jobs
def reference(chapters: tuple[str, ...], jobs: int) -> None:
    """Run chapters afresh; rewrite their expected outputs and the numbers in their prose."""
    from bookbuild.reference import write_references

    book = read_book(find_root(Path.cwd()))
    only = [_find_chapter(book, name) for name in chapters] or None
    with _step("Run"):
        changed = write_references(book, only, jobs=jobs)
    print(f"{changed} file{'s' * (changed != 1)} changed." if changed else "Nothing changed.")


def _find_chapter(book: Book, name: str) -> Path:
    """A chapter by its path, from here or from the book's root, or by its bare name."""
    for entry in book.entries:
        given = {Path(name).resolve(), (book.root / name).resolve()}
        if entry.source.resolve() in given or entry.source.stem == name:
            return entry.source
    names = ", ".join(entry.source.stem for entry in book.entries)
    raise click.BadParameter(f"{name} is no chapter of this book; it has {names}")


if __name__ == "__main__":
    main()
