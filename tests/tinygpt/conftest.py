"""Check every shape annotation of the companion while its tests run."""

import jaxtyping
import pytest

# An int where a float is asked for is fine, as everywhere in Python.
jaxtyping.install_import_hook(
    "tinygpt", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)


@pytest.fixture
def without_type_checks():
    """Let wrong arguments through to the companion's own checks, as for a reader."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
