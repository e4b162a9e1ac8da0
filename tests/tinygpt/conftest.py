"""The tests of the companion."""

import sys
from pathlib import Path

import jaxtyping
import pytest

# `from oracle import …`, whichever way pytest imports the tests.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def without_type_checks():
    """Let wrong arguments through to the companion's own checks, as for a reader; and be fast."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
