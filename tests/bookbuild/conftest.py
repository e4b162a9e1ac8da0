"""Tiny books that have been run, once for all tests of a worker: kernels are slow."""

import shutil
import subprocess
import sys

import pytest
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from tiny import make_tiny_book


@pytest.fixture(scope="session")
def _executed(tmp_path_factory):
    root = make_tiny_book(tmp_path_factory.mktemp("executed"))
    said = []
    notebooks = execute_book(read_book(root), say=said.append)
    return root, notebooks, said


@pytest.fixture
def executed_book(_executed, tmp_path):
    """The root of a tiny book whose chapters have run and are in the cache."""
    root = tmp_path / "tinybook"
    shutil.copytree(_executed[0], root)
    return root


@pytest.fixture
def ran():
    """Runs a book's chapters: `ran(root)` is the names of those that did run, in order."""

    def run(root, **options):
        said = []
        execute_book(read_book(root), say=said.append, **options)
        return sorted(line.split()[0] for line in said if " cells " in line)

    return run


@pytest.fixture
def bookbuild():
    """Runs the command in a folder: `bookbuild(folder, "build", env={…})`."""

    def run(folder, *arguments, env=None, timeout=120):
        return subprocess.run(
            [sys.executable, "-m", "bookbuild.cli", *arguments],
            cwd=folder, env=env, timeout=timeout, capture_output=True, encoding="utf-8",
        )  # fmt: skip

    return run
