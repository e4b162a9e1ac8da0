"""What the tests of the site share: the two sites, a server for each, and a browser."""

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browser import ABSENT, FLAGS, BrowserError, find_browser, must_have_browser
from specimen import write_specimen

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Site:
    """A built site and where it is served."""

    folder: Path
    url: str

    @property
    def pages(self) -> list[str]:
        return sorted(
            path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html")
        )


@dataclass
class Watch:
    """What a page did that it must not do."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    closing: bool = False  # a request that is cut off by closing the page has not failed

    def failed(self, request) -> None:
        if not self.closing:
            self.errors.append(f"failed: {request.url} ({request.failure})")


@pytest.fixture(scope="session")
def build_lock(tmp_path_factory) -> Callable:
    """One build at a time, also when tests run in several processes."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent

    @contextlib.contextmanager
    def locked() -> Iterator[Path]:
        import fcntl

        with open(shared / "build.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield shared

    return locked


def build(root: Path) -> None:
    """Build a book with the command that its readers use."""
    command = [str(Path(sys.executable).parent / "bookbuild"), "build", "--renderer", "pandoc"]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.fail(f"bookbuild build failed in {root}:\n{done.stdout}{done.stderr}", pytrace=False)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Site]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Site(folder, f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def specimen(build_lock) -> Iterator[Site]:
    """The site of a book that has every construct."""
    with build_lock() as shared:
        root = shared / "specimen"
        if not root.exists():
            write_specimen(root)
        build(root)
    with serving(root / "_site") as site:
        yield site


@pytest.fixture(scope="session")
def real(build_lock) -> Iterator[Site]:
    """The site of this book."""
    with build_lock():
        build(ROOT)
    with serving(ROOT / "_site") as site:
        yield site


@pytest.fixture(scope="session", params=["specimen", "real"])
def site(request) -> Site:
    return request.getfixturevalue(request.param)


# Of a module, not of the session: while Playwright is open its event loop runs in this
# process, and tests that run chapters could not start one of their own.
@pytest.fixture(scope="module")
def chromium():
    """The browser; without one the test is skipped with the reason, and fails in CI."""
    from playwright.sync_api import sync_playwright

    try:
        path = find_browser()
    except BrowserError as error:
        pytest.fail(str(error), pytrace=False)
    if path is None:
        (pytest.fail if must_have_browser() else pytest.skip)(ABSENT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium) -> Iterator[Callable]:
    """Opens pages: `visit(url, **options of the context)` gives a Playwright page.

    After the test: no page has asked another host for anything, nor reported an error.
    """
    opened = []

    def open_page(url: str, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = chromium.new_context(**options)
        watch = Watch()
        opened.append((context, watch))
        origin = url.split("/", 3)
        allowed = tuple({"/".join(origin[:3]) + "/", "data:", "blob:"})

        def route(handler):
            if handler.request.url.startswith(allowed):
                handler.continue_()
            else:
                watch.outside.append(handler.request.url)
                handler.abort()

        if not url.startswith("file:"):
            context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(8000)
        page.on("pageerror", lambda error: watch.errors.append(str(error)))
        page.on(
            "console",
            lambda m: watch.errors.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.on("requestfailed", watch.failed)
        page.on(
            "response",
            lambda r: watch.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        )
        page.goto(url)
        page.evaluate("document.fonts.ready")
        return page

    yield open_page
    for context, watch in opened:
        watch.closing = True
        context.close()
    outside = [url for _, watch in opened for url in watch.outside]
    errors = [error for _, watch in opened for error in watch.errors]
    assert not outside, "requests to other hosts"
    assert not errors, "errors on a page"


# Opens everything that is folded, and in every tabset the tab with this index (or the last).
UNFOLD = """index => {
  for (const details of document.querySelectorAll("article details")) details.open = true;
  for (const list of document.querySelectorAll("[role=tablist]")) {
    const tabs = list.querySelectorAll("[role=tab]");
    tabs[Math.min(index, tabs.length - 1)].click();
  }
  return Math.max(0, ...[...document.querySelectorAll("[role=tablist]")].map(
    list => list.querySelectorAll("[role=tab]").length));
}"""


@pytest.fixture
def unfold() -> Callable:
    """`unfold(page, 0)` opens all; the value is how many tabs the largest tabset has."""
    return lambda page, index: page.evaluate(UNFOLD, index)
