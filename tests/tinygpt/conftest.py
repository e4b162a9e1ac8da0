"""Check every shape annotation of the companion while its tests run."""

import ast
import sys
from pathlib import Path

import jaxtyping
import pytest
from jaxtyping._import_hook import JaxtypingTransformer

# `from oracle import …`, whichever way pytest imports the tests.
sys.path.insert(0, str(Path(__file__).parent))


def _visit_function(self, node, visit=JaxtypingTransformer.visit_FunctionDef):
    """Leave functions inside functions alone: they would be decorated anew at every call."""
    inside = any(isinstance(parent, ast.FunctionDef) for parent in self._parents)
    return node if inside else visit(self, node)


JaxtypingTransformer.visit_FunctionDef = _visit_function

# The tower: an int where a float is asked for is fine, as everywhere in Python. The strategy is
# the default; naming it keeps the bytecode apart from that of the hook without the line above.
jaxtyping.install_import_hook(
    "tinygpt",
    "beartype.beartype(conf=beartype.BeartypeConf("
    "is_pep484_tower=True, strategy=beartype.BeartypeStrategy.O1))",
)


@pytest.fixture
def without_type_checks():
    """Let wrong arguments through to the companion's own checks, as for a reader; and be fast."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
