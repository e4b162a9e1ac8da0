"""Bad input at the edges, where NumPy or Python would speak first, gives one sentence too."""

import json
import math
import struct

import numpy as np
import pytest
from tinygpt import scratch
from tinygpt.scratch import GPT, AdamW, Tensor, load, save

pytestmark = pytest.mark.usefixtures("without_type_checks")

X = Tensor(np.zeros((2, 3)))
NUMBER = Tensor(1.0)
FOUR = Tensor(np.zeros(4))
EMPTY = Tensor(np.zeros((0, 3)))
ONES = Tensor(np.ones(3))
LAYER = scratch.Linear(1, 1, bias=False)
MASK = np.ones((3, 3), dtype=bool)


def gpt_of(value) -> GPT:
    """A GPT all of whose scores are `value`."""
    model = GPT(5, 4, 1, 1, 8, dropout_prob=0.0)
    model.final_norm.weight.data.fill(0)
    model.final_norm.bias.data.fill(1)
    model.head.weight.data.fill(value)
    return model


CASES = {
    # ---- Tensor
    "Tensor: requires_grad must be a bool, got str 'yes'": lambda: Tensor(1, requires_grad="yes"),
    "Tensor.sum: keepdims must be a bool, got str 'a'": lambda: X.sum(keepdims="a"),
    "Tensor.mean: keepdims must be a bool, got int 1": lambda: X.mean(keepdims=1),
    "Tensor.var: keepdims must be a bool, got str 'a'": lambda: X.var(keepdims="a"),
    "Tensor.min: no elements over axis=0 of shape (0, 3)": lambda: EMPTY.min(0),
    "Tensor.var: no elements over axis=None of shape (0, 3)": lambda: EMPTY.var(),
    "Tensor.swapaxes: axis must be an integer, got tuple (0, 1)": lambda: X.swapaxes((0, 1), 0),
    "Tensor index: slice step cannot be zero": lambda: X[::0],
    "Tensor index: slice indices must be integers or None or have an __index__ method": lambda: X[
        "a":
    ],
    "Tensor **: exponent must be a number, got Tensor of float32 with shape (2, 3)": lambda: 2**X,
    "Tensor ==: shapes (2, 3) and (5,) do not broadcast": lambda: np.zeros(5) == X,
    "Tensor <: shapes (2, 3) and (4,) do not broadcast": lambda: X < FOUR,
    "Tensor >=: the other operand must be real numbers, got str 'a'": lambda: X >= "a",
    # ---- functions
    "softmax: axis must be an integer, got tuple (0, 1)": lambda: scratch.softmax(X, axis=(0, 1)),
    "softmax: axis must be an integer, got None": lambda: scratch.softmax(X, axis=None),
    "log_softmax: axis must be an integer, got tuple (0, 1)": lambda: scratch.log_softmax(
        X, axis=(0, 1)
    ),
    "concatenate: axis must be an integer, got tuple (0,)": lambda: scratch.concatenate([X], (0,)),
    "cross_entropy: logits must have shape (..., V), got shape ()": lambda: scratch.cross_entropy(
        NUMBER, 0
    ),
    "cross_entropy: targets must be integers that int64 holds, got 18446744073709551615": lambda: (
        scratch.cross_entropy(X, np.array([0, 2**64 - 1], dtype=np.uint64))
    ),
    "cross_entropy: targets must be integers that int64 holds, got 1180591620717411303424": (
        lambda: scratch.cross_entropy(X, [0, 2**70])
    ),
    "cross_entropy: targets must be integers that int64 holds, got 9223372036854775808": lambda: (
        scratch.cross_entropy(X, [-1, 2**63])
    ),
    "layer_norm: weight and bias must have shape (C,), got () and ()": lambda: scratch.layer_norm(
        NUMBER, NUMBER, NUMBER
    ),
    "layer_norm: the last axis of x must be 3 long, got shape ()": lambda: scratch.layer_norm(
        NUMBER, ONES, ONES
    ),
    "layer_norm: eps must be a finite number, 0 or more, got -1.0": lambda: scratch.layer_norm(
        X, ONES, ONES, eps=-1
    ),
    "layer_norm: eps must be a finite number, 0 or more, got nan": lambda: scratch.layer_norm(
        X, ONES, ONES, eps=math.nan
    ),
    "where: x must be real numbers, got str 'a'": lambda: scratch.where(MASK, "a", X),
    "where: y must be real numbers, got str 'a'": lambda: scratch.where(MASK, X, "a"),
    # ---- layers and attention
    "Linear: bias must be a bool, got str 'no'": lambda: scratch.Linear(1, 1, bias="no"),
    "Linear.load_state_dict: every name in state must be a str, got int 3": lambda: (
        LAYER.load_state_dict({3: np.zeros(1)})
    ),
    "attention: query and key must be at least 1 wide, got shape (2, 0)": lambda: (
        scratch.attention_weights(*[Tensor(np.zeros((2, 0)))] * 2)
    ),
    "attention: mask must be a boolean NumPy array, got str 'a'": lambda: scratch.attention_weights(
        X, X, "a"
    ),
    "attention: mask of shape (3, 3) does not broadcast to (1, 2, 2, 2)": lambda: (
        scratch.MultiHeadAttention(4, 2)(Tensor(np.zeros((1, 2, 4))), MASK)
    ),
    "attention: batch axes of query and key: shapes (2,) and (3,) do not broadcast": lambda: (
        scratch.attention_weights(Tensor(np.zeros((2, 1, 1))), Tensor(np.zeros((3, 1, 1))))
    ),
    # ---- generation
    "GPT.generate: logits must be finite, got NaN; check the model's weights": lambda: gpt_of(
        math.nan
    ).generate([1], 1),
    "GPT.generate: logits must be finite, got infinity; check the model's weights": lambda: gpt_of(
        math.inf
    ).generate([1], 1, temperature=0),
    # ---- optim
    "SGD: parameters must hold each Tensor once, got one at 0 and at 2": lambda: scratch.SGD(
        [X, NUMBER, X]
    ),
    "AdamW: parameters must hold each Tensor once, got one at 0 and at 1": lambda: AdamW([X, X]),
    "clip_grad_norm: parameters must hold each Tensor once, got one at 1 and at 2": lambda: (
        scratch.clip_grad_norm([X, NUMBER, NUMBER], 1.0)
    ),
    # ---- checkpoint, run in an empty folder
    "save: path must hold no null character, got 'a\\x00b'": lambda: save("a\0b", LAYER),
    f"save: could not write {'a' * 300!r}: File name too long": lambda: save("a" * 300, LAYER),
    f"save: the folder of path {'a' * 300 + '/b'!r} does not exist": lambda: save(
        "a" * 300 + "/b", LAYER
    ),
    "load: path must hold no null character, got 'a\\x00b'": lambda: load("a\0b", LAYER),
    f"load: there is no file at path {'a' * 300!r}": lambda: load("a" * 300, LAYER),
    "load: path '.' is a directory; it must be a file that save wrote": lambda: load(".", LAYER),
    "load: 'b' holds numbers of a kind that NumPy does not have (data type 'bfloat16' not "
    "understood); save them as float32": lambda: load(bfloat16_file("b"), LAYER),
}


def bfloat16_file(path: str) -> str:
    """Write a file with one bfloat16 number, as PyTorch can; return its path."""
    entry = {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]}
    header = json.dumps({"weight": entry}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + b"\0\0")
    return path


@pytest.mark.parametrize("message", CASES)
def test_bad_input_at_the_edges(message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        np.errstate(invalid="ignore", over="ignore"),
        pytest.raises((TypeError, ValueError, IndexError, OSError)) as error,
    ):
        CASES[message]()
    assert str(error.value) == message


def test_what_is_allowed_at_the_edges(tmp_path):
    """The checks let through: the longest name, NumPy's booleans, uint64 ids, a NaN's file."""
    assert Tensor(1, requires_grad=np.True_).requires_grad is True
    assert scratch.cross_entropy(X, np.array([0, 2], dtype=np.uint64)).item() > 0
    LAYER.weight.data.fill(math.nan)
    path = tmp_path / ("a" * 255)
    save(path, LAYER)
    assert np.isnan(load(path, scratch.Linear(1, 1, bias=False)).weight.data).all()
