"""Shows the site at a local address and builds it again whenever a source changes."""

import contextlib
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bookbuild.cache import FOLDER
from bookbuild.config import Book

_LOOK_AGAIN = 0.5  # seconds
_NOT_SOURCES = {"__pycache__", "node_modules"}


class ServeError(Exception):
    """The site cannot be shown."""


def serve(book: Book, *, port: int, build: list[str], say: Callable[[str], None] = print) -> None:
    """Build, show, and build again, until Ctrl-C.

    Each build is a process of its own, so that a changed renderer or theme is used too,
    and so that one that fails leaves the last site standing.

    Args:
        book: the book; its output folder is shown.
        port: where, on this machine.
        build: the arguments of `bookbuild` that build the site.
        say: receives a line now and then.

    Raises:
        ServeError: the port is taken.
    """
    from livereload import Server
    from livereload.server import StaticFileHandler
    from tornado.web import HTTPError

    class SiteFiles(StaticFileHandler):
        async def get(self, path: str, include_body: bool = True) -> None:
            if "\0" in path:  # no file system takes it
                raise HTTPError(400)
            await super().get(path, include_body)

    stamp = book.root / FOLDER / "served"
    book.output.mkdir(parents=True, exist_ok=True)
    builder = Builder(book.root, book.output, build, stamp, say)
    builder.build()
    server = Server()
    server.SFH = SiteFiles
    server._setup_logging = lambda: logging.getLogger("tornado.access").setLevel(logging.ERROR)
    server.watch(str(stamp))
    watching = threading.Thread(target=builder.watch, daemon=True)
    watching.start()
    say(f"The site is at http://127.0.0.1:{port}/ and follows your changes; Ctrl-C ends it.")
    try:
        server.serve(port=port, root=str(book.output), restart_delay=0)
        raise KeyboardInterrupt  # livereload returns after one
    except OSError as error:
        raise ServeError(
            f"port {port} cannot be used ({error.strerror}); choose another with --port"
        ) from None
    finally:
        builder.stop()
        watching.join(timeout=10)


class Builder:
    """Runs builds, one at a time, and touches a stamp after each that succeeds."""

    def __init__(self, root: Path, output: Path, build: list[str], stamp: Path, say):
        self.root, self.output, self.stamp, self.say = root, output, stamp, say
        self.command = [sys.executable, "-m", "bookbuild.cli", *build]
        self._process: subprocess.Popen | None = None
        self._stopped = threading.Event()
        self._seen: dict[Path, tuple[int, int]] = {}

    def build(self) -> bool:
        """Build the site; what goes wrong is on the screen. Returns whether it went well."""
        self._seen = snapshot(self.root, self.output)
        self._process = subprocess.Popen(self.command, cwd=self.root)
        code = self._process.wait()
        if code == 0:
            self.stamp.parent.mkdir(parents=True, exist_ok=True)
            self.stamp.write_text(str(time.time_ns()), encoding="utf-8")
        elif not self._stopped.is_set():
            self.say("The site stays as it was; it is built again when you have changed a file.")
        return code == 0

    def watch(self) -> None:
        """Look for changes until `stop`."""
        while not self._stopped.wait(_LOOK_AGAIN):
            now = snapshot(self.root, self.output)
            if now == self._seen:
                continue
            changed = sorted(p for p in now.keys() | self._seen if now.get(p) != self._seen.get(p))
            names = ", ".join(path.relative_to(self.root).as_posix() for path in changed[:3])
            self.say(f"\nChanged: {names}{' …' if len(changed) > 3 else ''}")
            self.build()

    def stop(self) -> None:
        """End watching, and a build that runs."""
        self._stopped.set()
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def snapshot(root: Path, output: Path) -> dict[Path, tuple[int, int]]:
    """The sources of the book, each with its time and size: nothing that a build writes."""
    files = [*root.glob("*.qmd"), root / "_quarto.yml"]
    folders = [
        path
        for path in (root.iterdir() if root.is_dir() else [])
        if path.is_dir() and path != output and path.name not in ("tests", "build")
    ]
    while folders:
        folder = folders.pop()
        if folder.name.startswith((".", "_")) or folder.name in _NOT_SOURCES:
            continue
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    if path != output and path.suffix != ".egg-info":
                        folders.append(path)
                elif not path.name.startswith(".") and path.suffix != ".pyc":
                    files.append(path)
    seen = {}
    for file in files:
        with contextlib.suppress(OSError):  # gone since
            status = file.stat()
            seen[file] = (status.st_mtime_ns, status.st_size)
    return seen
