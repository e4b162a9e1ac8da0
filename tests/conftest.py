"""What every folder of tests shares."""

import os
import sys
from pathlib import Path

import pytest

# Before PyTorch and NumPy are imported: two test processes with two threads each wait for one
# another on two cores, and small models are no faster with two.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# `from tiny import …`: the tiny book is used by the tests of the site as well.
sys.path.insert(0, str(Path(__file__).parent / "bookbuild"))


@pytest.fixture
def tiny_book(tmp_path):
    """A fresh tiny book; the value is its root folder."""
    from tiny import make_tiny_book

    return make_tiny_book(tmp_path)
