"""What every folder of tests shares."""

import ast
import os
import sys
from pathlib import Path

import jaxtyping
import pytest
from jaxtyping._import_hook import JaxtypingTransformer

# Before PyTorch and NumPy are imported: two test processes with two threads each wait for one
# another on two cores, and small models are no faster with two.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# `from tiny import …`: the tiny book is used by the tests of the site as well.
sys.path.insert(0, str(Path(__file__).parent / "bookbuild"))


# Every shape annotation of the companion is checked while tests run. Here, and not beside its
# tests, since any of the others may be the first to import it.
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
def tiny_book(tmp_path):
    """A fresh tiny book; the value is its root folder."""
    from tiny import make_tiny_book

    return make_tiny_book(tmp_path)
