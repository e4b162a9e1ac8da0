"""Bad input gives one sentence: the argument, what was given, what is allowed."""

import math
import os
import subprocess
import sys

import jaxtyping
import numpy as np
import pytest
from tinygpt import scratch
from tinygpt.scratch import GPT, MLP, AdamW, CosineSchedule, MultiHeadAttention, Tensor

pytestmark = pytest.mark.usefixtures("without_type_checks")

X = Tensor(np.zeros((2, 3)))
ARRAY = np.zeros((2, 3), dtype=np.float32)
MODEL = GPT(11, 16, 1, 4, 8, dropout_prob=0.0)
NOT_TENSOR = "must be a Tensor, got ndarray of float32 with shape (2, 3)"

CASES = {
    # ---- Tensor
    "Tensor: data must be real numbers, got str 'abc'": lambda: Tensor("abc"),
    "Tensor: data must be real numbers, got None": lambda: Tensor(None),
    "Tensor: data must be rectangular, got rows of unequal length": lambda: Tensor([[1, 2], [3]]),
    "Tensor: dtype must be np.float32 or np.float64, got str 'float16'": lambda: Tensor(
        [1], dtype="float16"
    ),
    "Tensor +: shapes (2, 3) and (4,) do not broadcast": lambda: X + Tensor(np.zeros(4)),
    "Tensor *: the other operand must be real numbers, got str 'a'": lambda: X * "a",
    "Tensor -: the other operand must be real numbers, got None": lambda: None - X,
    "Tensor @: shapes (2, 3) and (2, 3) do not fit; the last axis of the left must equal the "
    "second-to-last of the right": lambda: X @ X,
    "Tensor @: batch axes of shapes (2, 1, 2) and (3, 2, 2) do not broadcast": lambda: (
        Tensor(np.zeros((2, 1, 2))) @ np.zeros((3, 2, 2))
    ),
    "Tensor **: exponent must be a number, got Tensor of float32 with shape (2, 3)": lambda: X**X,
    "Tensor index: index 5 is out of bounds for axis 0 with size 2": lambda: X[5],
    "Tensor.sum: axis 2 is outside -2..1": lambda: X.sum(axis=2),
    "Tensor.sum: axis (0, 0) names one axis twice": lambda: X.sum(axis=(0, 0)),
    "Tensor.mean: axis must be an integer, got float 1.0": lambda: X.mean(axis=1.0),
    "Tensor.mean: no elements over axis=0 of shape (0, 3)": lambda: Tensor(np.zeros((0, 3))).mean(
        0
    ),
    "Tensor.max: no elements over axis=None of shape (0,)": lambda: Tensor([]).max(),
    "Tensor.reshape: shape (2, 3) of 6 elements does not fit into (4, 2)": lambda: X.reshape(4, 2),
    "Tensor.transpose: axes must name each of the 2 axes once, got (0,)": lambda: X.transpose(0),
    "Tensor.swapaxes: axis 2 is outside -2..1": lambda: X.swapaxes(0, 2),
    "Tensor.masked_fill: mask must be a boolean NumPy array, got ndarray of float32 with shape "
    "(2, 3)": lambda: X.masked_fill(ARRAY, 0),
    "Tensor.masked_fill: mask of shape (3, 3) does not broadcast to (2, 3)": lambda: X.masked_fill(
        np.ones((3, 3), dtype=bool), 0
    ),
    "Tensor.backward: this tensor does not require a gradient; it comes from no tensor with "
    "requires_grad=True, or was computed inside no_grad()": lambda: X.backward(),
    "Tensor.backward: a tensor of shape (2,) needs grad of the same shape; only a single number, "
    "such as a loss, goes without": lambda: Tensor([1, 2], requires_grad=True).backward(),
    "Tensor.backward: grad must have shape (2,), got (3,)": lambda: Tensor(
        [1, 2], requires_grad=True
    ).backward(np.ones(3)),
    "Tensor.item: needs exactly one element, got shape (2, 3)": lambda: bool(X),
    # ---- functions
    f"softmax: x {NOT_TENSOR}": lambda: scratch.softmax(ARRAY),
    "softmax: axis 2 is outside -2..1": lambda: scratch.softmax(X, 2),
    "softmax: axis -1 of a tensor without axes": lambda: scratch.softmax(Tensor(1.0)),
    "cross_entropy: targets must be integers, got float32": lambda: scratch.cross_entropy(
        X, ARRAY[:, 0]
    ),
    "cross_entropy: target 3 is outside 0..2": lambda: scratch.cross_entropy(X, [1, 3]),
    "cross_entropy: targets must have shape (2,) for logits of shape (2, 3), got (1,)": lambda: (
        scratch.cross_entropy(X, [1])
    ),
    "layer_norm: the last axis of x must be 4 long, got shape (2, 3)": lambda: scratch.LayerNorm(4)(
        X
    ),
    'gelu: approximate must be "tanh" or "none", got \'exact\'': lambda: scratch.gelu(X, "exact"),
    "embedding: id 2 is outside 0..1": lambda: scratch.embedding(X, [2]),
    "embedding: ids must be integers, got float64": lambda: scratch.embedding(X, [0.5]),
    "dropout: rng must be a Generator, got None": lambda: scratch.dropout(X, 0.5, None),
    "where: shapes (2, 3) and (2, 3) and (5,) do not broadcast": lambda: scratch.where(
        ARRAY > 0, X, np.zeros(5)
    ),
    "concatenate: tensors must be a non-empty list, got list []": lambda: scratch.concatenate([]),
    f"stack: every element {NOT_TENSOR}": lambda: scratch.stack([X, ARRAY]),
    "stack: shapes [(2, 3), (2, 2)] differ": lambda: scratch.stack([X, Tensor(np.zeros((2, 2)))]),
    # ---- layers
    "Linear: in_features must be a positive integer, got 0": lambda: scratch.Linear(0, 1),
    "Linear: out_features must be a positive integer, got float 2.5": lambda: scratch.Linear(
        1, 2.5
    ),
    "linear: the last axis of x must be in_features=4 long, got shape (2, 3)": lambda: (
        scratch.Linear(4, 2)(X)
    ),
    f"linear: x {NOT_TENSOR}": lambda: scratch.Linear(3, 2)(ARRAY),
    "LayerNorm: eps must be a finite number, 0 or more, got -1.0": lambda: scratch.LayerNorm(
        3, eps=-1
    ),
    "Dropout: p must be at least 0 and below 1, got 1.0": lambda: scratch.Dropout(1.0),
    "Dropout: p must be at least 0 and below 1, got nan": lambda: scratch.Dropout(math.nan),
    "Sequential: every layer must be a Module, got int 3": lambda: scratch.Sequential(3),
    "manual_seed: seed must be an integer, 0 or more, got -1": lambda: scratch.manual_seed(-1),
    # ---- attention
    "create_causal_mask: seq_len must be a positive integer, got 0": lambda: (
        scratch.create_causal_mask(0)
    ),
    "attention: query and key must have one width, got (2, 3) and (2, 4)": lambda: (
        scratch.scaled_dot_product_attention(X, Tensor(np.zeros((2, 4))), X)
    ),
    "attention: key and value must have one length, got (2, 3) and (5, 3)": lambda: (
        scratch.scaled_dot_product_attention(X, X, Tensor(np.zeros((5, 3))))
    ),
    "attention: mask of shape (3, 3) does not broadcast to (2, 2)": lambda: (
        scratch.scaled_dot_product_attention(X, X, X, np.ones((3, 3), dtype=bool))
    ),
    "MultiHeadAttention: num_heads=3 does not divide embed_dim=10": lambda: MultiHeadAttention(
        10, 3
    ),
    "MultiHeadAttention.forward: x must have shape (B, T, C), got (2, 3)": lambda: (
        MultiHeadAttention(3, 1)(X)
    ),
    # ---- transformer
    "MLP: hidden_dim must be a positive integer, got -1": lambda: MLP(4, -1),
    "TransformerBlock: mlp_ratio must be a finite number, 0.125 or more, got nan": lambda: (
        scratch.TransformerBlock(8, 2, math.nan)
    ),
    "GPT: vocab_size must be a positive integer, got float 5.0": lambda: GPT(5.0, 8, 1, 1),
    "GPT: embed_dim must be a positive integer, got -8": lambda: GPT(5, -8, 1, 1),
    "GPT: dropout_prob must be at least 0 and below 1, got 1.5": lambda: GPT(
        5, 8, 1, 1, dropout_prob=1.5
    ),
    "MLP: dropout_prob must be at least 0 and below 1, got 1.0": lambda: MLP(4, dropout_prob=1),
    "SingleHeadAttention: head_dim must be a positive integer, got 0": lambda: (
        scratch.SingleHeadAttention(4, 0)
    ),
    "GPT: num_layers must be a positive integer, got 0": lambda: GPT(5, 8, 0, 1),
    "GPT: tie_weights must be a bool, got str 'no'": lambda: GPT(5, 8, 1, 1, tie_weights="no"),
    "GPT: seed must be an integer, 0 or more, got str 'a'": lambda: GPT(5, 8, 1, 1, seed="a"),
    "GPT.forward: 1,025 tokens exceed max_seq_len=1024; truncate the input or build the model "
    "with a longer max_seq_len": lambda: GPT(5, 4, 1, 1)([0] * 1025),
    "GPT.forward: tokens must be integers, got float64": lambda: MODEL([0.5]),
    "GPT.forward: tokens must be integers, got bool": lambda: MODEL([True]),
    "GPT.forward: tokens must be a NumPy array or list of integers, got str 'To be'": lambda: MODEL(
        "To be"
    ),
    "GPT.forward: tokens must be a NumPy array or list of integers, got Tensor of float32 with "
    "shape (2, 3)": lambda: MODEL(X),
    "GPT.forward: tokens: id 11 is outside 0..10": lambda: MODEL([3, 11]),
    "GPT.forward: tokens: id -1 is outside 0..10": lambda: MODEL([3, -1]),
    "GPT.forward: tokens must be a rectangular array of integers, got rows of unequal length": (
        lambda: MODEL([[1, 2], [3]])
    ),
    "GPT.forward: tokens must have shape (B, T) or (T,) with T at least 1, got (1, 1, 1)": (
        lambda: MODEL([[[1]]])
    ),
    "GPT.loss: targets must have the shape of tokens, (1, 2), got (1, 1)": lambda: MODEL.loss(
        [1, 2], [1]
    ),
    "GPT.loss: targets: id 11 is outside 0..10": lambda: MODEL.loss([1, 2], [1, 11]),
    "GPT.generate: prompt_tokens must have shape (B, T) or (T,) with T at least 1, got (0,)": (
        lambda: MODEL.generate([])
    ),
    "GPT.generate: max_new_tokens must be an integer, 0 or more, got -1": lambda: MODEL.generate(
        [1], -1
    ),
    "GPT.generate: temperature must be a finite number, 0 or more, got -1.0": lambda: (
        MODEL.generate([1], temperature=-1)
    ),
    "GPT.generate: temperature must be a finite number, 0 or more, got nan": lambda: MODEL.generate(
        [1], temperature=math.nan
    ),
    "GPT.generate: temperature must be a number, got str 'hot'": lambda: MODEL.generate(
        [1], temperature="hot"
    ),
    "GPT.generate: stop_token must be an integer from 0 to 10, got 11": lambda: MODEL.generate(
        [1], stop_token=11
    ),
    # ---- optim
    "SGD: parameters must hold at least one Tensor, got none": lambda: scratch.SGD([], 0.1),
    "AdamW: parameters must be a list of Tensors, such as model.parameters(), got GPT": lambda: (
        AdamW(MODEL)
    ),
    "AdamW: betas must be at least 0 and below 1, got 1.0": lambda: AdamW([X], betas=(0.9, 1.0)),
    "AdamW: lr must be a finite number, 0 or more, got nan": lambda: AdamW([X], lr=math.nan),
    "clip_grad_norm: max_norm must be a finite number, 0 or more, got -1.0": lambda: (
        scratch.clip_grad_norm([X], -1)
    ),
    "CosineSchedule: warmup_steps must be an integer from 0 to 10, got 11": lambda: CosineSchedule(
        1, 10, 11
    ),
    "CosineSchedule: min_lr must be between 0 and 1, got 2.0": lambda: CosineSchedule(
        1, 10, min_lr=2
    ),
    # ---- checkpoint
    "save: path must be a string or a Path, got int 3": lambda: scratch.save(3, MODEL),
    "save: module must be a Module, got int 3": lambda: scratch.save("x", 3),
    "save: the folder of path '/no/such/x' does not exist": lambda: scratch.save(
        "/no/such/x", MODEL
    ),
    "load: there is no file at path '/no/such/x'": lambda: scratch.load("/no/such/x", MODEL),
    "GPT.load_state_dict: state must be a dict, got int 3": lambda: MODEL.load_state_dict(3),
}


@pytest.mark.parametrize("message", CASES)
def test_bad_input(message):
    with pytest.raises((TypeError, ValueError, IndexError, RuntimeError, OSError)) as error:
        CASES[message]()
    assert str(error.value) == message


def test_a_folder_that_may_not_be_written_to(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError, match=r"^save: path '.*x' is a folder; give the name of a file$"):
        scratch.save(tmp_path / "x", MODEL)
    assert os.listdir(tmp_path) == ["x"]


def test_the_tests_do_check_annotations():
    jaxtyping.config.update("jaxtyping_disable", False)
    with pytest.raises(jaxtyping.TypeCheckError):
        scratch.linear(X, Tensor(np.zeros((4, 5))))


def test_numpy_and_the_standard_library_are_enough():
    """Importing the engine and training with it asks for no other package."""
    program = """
import sys
from importlib.abc import MetaPathFinder

class OnlyNumpy(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"numpy", "tinygpt"}:
            raise ImportError(f"asked for {name}")

sys.meta_path.insert(0, OnlyNumpy())
from tinygpt.scratch import GPT, AdamW
model = GPT(11, 16, 1, 4, 8)
optimizer = AdamW(model.parameters())
model.loss([1, 2], [2, 3]).backward()
optimizer.step()
print(model.generate([1], 3).shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C"},
    )
    assert (done.stdout, done.stderr) == ("(4,)\n", "")
