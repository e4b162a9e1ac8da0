"""Serving: what counts as a source, and the rebuild when one changes."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from bookbuild.serve import Builder, snapshot
from tiny import edit, write


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_only_sources_are_watched(tiny_book):
    output = tiny_book / "_site"
    seen = {path.relative_to(tiny_book).as_posix() for path in snapshot(tiny_book, output)}
    assert {"_quarto.yml", "index.qmd", "book/waves.qmd", "code/minilib/waves.py"} <= seen
    before = snapshot(tiny_book, output)
    for name in (
        "_site/index.html", ".bookcache/global.db", ".git/index", ".venv/x.py", "book/.x.swp",
        "code/minilib/__pycache__/waves.cpython-311.pyc", "tests/reference/book/waves.ipynb",
        "book/.jupyter_cache/global.db", "build/lib/x.py", "code/x.egg-info/PKG-INFO",
    ):  # fmt: skip
        write(tiny_book / name, "x")
    assert snapshot(tiny_book, output) == before
    for name in ("book/new.qmd", "code/minilib/new.py", "assets/theme/site.css", "new.qmd"):
        write(tiny_book / name, "x")
        assert snapshot(tiny_book, output) != before
        before = snapshot(tiny_book, output)


@pytest.mark.parametrize("name", ["public", "book/public"])
def test_an_output_folder_with_another_name_is_not_watched(tiny_book, name):
    output = tiny_book / name
    before = snapshot(tiny_book, output)
    write(output / "index.html", "x")
    assert snapshot(tiny_book, output) == before


@pytest.fixture
def builder(tiny_book):
    """A builder whose build is a line of Python: `builder("sys.exit(1)")`."""

    def make(code):
        said = []
        stamp = tiny_book / ".bookcache/served"
        made = Builder(tiny_book, tiny_book / "_site", [], stamp, said.append)
        made.command = [sys.executable, "-c", f"import sys, time; {code}"]
        made.said = said
        return made

    return make


def test_a_build_that_succeeds_touches_the_stamp_and_one_that_fails_does_not(builder):
    failing = builder("sys.exit(1)")
    assert not failing.build() and not failing.stamp.exists()
    assert "built again when you have changed a file" in failing.said[0]
    assert builder("pass").build() and failing.stamp.exists()


def test_stopping_ends_a_build_that_runs(builder):
    import threading

    slow = builder("time.sleep(60)")
    thread = threading.Thread(target=slow.build)
    thread.start()
    while slow._process is None:
        time.sleep(0.01)
    start = time.monotonic()
    slow.stop()
    thread.join(timeout=15)
    assert not thread.is_alive() and slow.said == []
    assert time.monotonic() - start < 9  # asked to end, not killed after 10 seconds


def get(port, path=""):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
        return answer.read().decode("utf-8")


def status(port, method, path):
    """The status of a request as it is written, which urllib would not send."""
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.encode("latin-1"))
        return int(connection.recv(20).split()[1])


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("it did not happen in time")


@pytest.mark.slow
def test_the_site_follows_changes_and_survives_a_broken_one(executed_book):
    port, log = free_port(), executed_book / ".log"
    command = [sys.executable, "-m", "bookbuild.cli", "serve", "--renderer", "pandoc"]
    with log.open("w") as file:
        server = subprocess.Popen(
            [*command, "--port", str(port)], cwd=executed_book, stdout=file, stderr=file,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    try:
        wait_for(lambda: "Start with" in get(port))
        for path in ("/%00", "/a%00b.html", "/book/%00/", "/%ff", "/%ed%a0%80"):
            assert status(port, "GET", path) == status(port, "HEAD", path) == 400, path
        for path in ("/%", "/%zz", "/" + "a" * 5000, "/index.html/x", "*", "/\xff", "/%0d%0a"):
            assert status(port, "GET", path) == 404, path
        assert status(port, "GET", "/..%2f..%2fetc/passwd") == 403
        assert status(port, "PUT", "/") == 405 and status(port, "G\0T", "/") == 400
        edit(executed_book / "index.qmd", "Start with", "Begin with")
        wait_for(lambda: "Begin with" in get(port))
        edit(executed_book / "index.qmd", "Begin with", "::: {.callout-note}\n\nGo on with")
        wait_for(lambda: "index.qmd:3: " in log.read_text(encoding="utf-8"))
        assert "Begin with" in get(port)
        edit(executed_book / "index.qmd", "::: {.callout-note}\n\nGo on with", "Go on with")
        wait_for(lambda: "Go on with" in get(port))
    finally:
        server.send_signal(signal.SIGINT)
        code = server.wait(timeout=20)
    said = log.read_text(encoding="utf-8")
    assert code == 130 and "Traceback" not in said and "Changed: index.qmd" in said


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_sentence(executed_book, bookbuild):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = bookbuild(executed_book, "serve", "--renderer", "pandoc", "--port", str(port))
    assert done.returncode == 1
    assert f"bookbuild: port {port} cannot be used" in done.stderr and "--port" in done.stderr
    assert "Traceback" not in done.stderr
