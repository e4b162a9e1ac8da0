"""What every folder of tests shares."""

import sys
from pathlib import Path

import pytest

# `from tiny import …`: the tiny book is used by the tests of the site as well.
sys.path.insert(0, str(Path(__file__).parent / "bookbuild"))


@pytest.fixture
def tiny_book(tmp_path):
    """A fresh tiny book; the value is its root folder."""
    from tiny import make_tiny_book

    return make_tiny_book(tmp_path)
