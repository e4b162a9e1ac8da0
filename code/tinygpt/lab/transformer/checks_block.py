"""Checks of the transformer block.

The first replaces both parts by recorders that add known numbers, so that the order of the
steps shows in numbers a reader can follow. The second reads the attention weights off the
block's output.
"""

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.measures import (
    all_gradients,
    close,
    has_graph,
    has_part,
    input_gradient,
    leaves_alone,
    shown,
    tensor_of,
)
from tinygpt.scratch import Module, Tensor, create_causal_mask

_PARTS = ("norm1", "attention", "norm2", "mlp")
# Four rows of a Hadamard matrix: mean 0, variance 1, and at right angles to each other.
_ROWS = np.array(
    [
        [1, -1, 1, -1, 1, -1, 1, -1],
        [1, 1, -1, -1, 1, 1, -1, -1],
        [1, -1, -1, 1, 1, -1, -1, 1],
        [1, 1, 1, 1, -1, -1, -1, -1],
    ],
    dtype=np.float32,
)


class Recorder(Module):
    """Stands in for a part of the block: notes what it is given and returns known numbers."""

    def __init__(self, name, answer, calls):
        self.name, self.answer, self.calls = name, answer, calls

    def forward(self, x, mask=None):
        self.calls.append(self.name)
        self.received = x.data
        return Tensor(np.broadcast_to(self.answer, x.shape))


def test_unit_transformer_block(TransformerBlock):
    """The parts, their size, and the order: normalise, attend, add; normalise, MLP, add."""
    block = TransformerBlock(8, 2, dropout_prob=0.0)
    for part in _PARTS:
        has_part("TransformerBlock", block, part)
    total = block.num_parameters()
    require(total == 872, f"TransformerBlock(8, 2) should have 872 parameters, got {total}")
    total = TransformerBlock(8, 2, mlp_ratio=2, dropout_prob=0.0).num_parameters()
    require(total == 600, f"With mlp_ratio=2 the block should have 600 parameters, got {total}")

    x = 4 * _ROWS[:1]  # 4, -4, 4, -4, …
    calls = []
    attention = Recorder("attention", 2 * _ROWS[1:2], calls)  # adds 2, 2, -2, -2, …
    mlp = Recorder("mlp", np.float32(0.5), calls)
    block.attention, block.mlp = attention, mlp
    out = block(Tensor(x[None]))
    order = " then ".join(calls) or "neither"
    require(
        calls == ["attention", "mlp"],
        f"The block should call attention then mlp, once each, got {order}",
    )
    spread = attention.received.std()
    require(
        abs(spread - 1) < 1e-2,
        f"Attention should read a normalised input, of standard deviation {shown(1)}, "
        f"got {shown(spread)}",
    )
    read = mlp.received[0, 0, 2]
    require(
        abs(read - 2 / np.sqrt(20)) < 1e-2,
        "The third feature is 4 and attention adds -2; normalised, the MLP should read "
        f"{shown(2 / np.sqrt(20))}, got {shown(read)}",
    )
    value = tensor_of("TransformerBlock", out, (1, 1, 8))[0, 0, 2]
    require(
        abs(value - 2.5) < 1e-3,
        "The third feature is 4, attention adds -2 and the MLP 0.5; it should become "
        f"{shown(2.5)}, got {shown(value)}",
    )
    for name, factor in [("norm1", 2), ("norm2", 3)]:
        norm = getattr(block, name)
        has_part(f"The {name} of TransformerBlock", norm, "weight")
        norm.weight.data[...] = factor
    block(Tensor(x[None]))
    spread, read = attention.received.std(), mlp.received[0, 0, 2]
    require(
        abs(spread - 2) < 1e-2,
        "With every weight of norm1 at 2 and of norm2 at 3, attention should read a standard "
        f"deviation of {shown(2)}, got {shown(spread)}",
    )
    require(
        abs(read - 6 / np.sqrt(20)) < 1e-2,
        "With every weight of norm1 at 2 and of norm2 at 3, the MLP should read "
        f"{shown(6 / np.sqrt(20))}, got {shown(read)}",
    )


def test_causal_transformer_block(TransformerBlock):
    """With a mask no position sees a later one, and the weights of each still sum to one."""
    mask = create_causal_mask(4)
    weights = _attention_weights(TransformerBlock, mask)
    later = weights[1, 2:].sum()  # in row 0 a transposed mask looks like none
    require(
        abs(later) < 1e-2,
        "With a causal mask and equal scores, position 1 of 4 should give the later positions "
        f"the weight {shown(0)}, got {shown(later)}",
    )
    total = weights[1].sum()
    require(
        abs(total - 1) < 1e-2,
        "With a causal mask and equal scores, the weights of position 1 of 4 should sum to "
        f"{shown(1)}, got {shown(total)}",
    )
    weights = _attention_weights(TransformerBlock, None)
    later = weights[0, 1:].sum()
    require(
        abs(later - 0.75) < 1e-2,
        "Without a mask and with equal scores, position 0 of 4 should give the later positions "
        f"the weight {shown(0.75)}, got {shown(later)}",
    )
    rng = np.random.default_rng(2)
    block = TransformerBlock(12, 3, dropout_prob=0.0).eval()
    x = rng.normal(size=(2, 6, 12))
    before = block(Tensor(x), create_causal_mask(6)).data
    for position in range(6):
        changed = x.copy()
        changed[:, position] += 1
        after = block(Tensor(changed), create_causal_mask(6)).data
        require(
            np.array_equal(after[:, :position], before[:, :position]),
            f"Changing position {position} should leave the earlier ones as they were; "
            "it changed them",
        )


def test_dropout_transformer_block(TransformerBlock):
    """Dropout in attention and MLP, in training only; a call changes nothing but its result."""
    x = Tensor(np.random.default_rng(4).normal(size=(1, 8, 16)))
    block = TransformerBlock(16, 2, dropout_prob=0.5)
    expected = "In training, with dropout_prob=0.5, two calls should differ"
    same = np.array_equal(block.train()(x).data, block(x).data)
    require(not same, f"{expected}; they agree")
    same = np.array_equal(block.eval()(x).data, block(x).data)
    require(same, "In eval mode two calls on the same input should agree; they differ")
    for name, other in [("attention", "mlp"), ("mlp", "attention")]:
        block = TransformerBlock(16, 2, dropout_prob=0.5).train()
        setattr(block, other, Recorder(other, np.float32(0), []))
        same = np.array_equal(block(x).data, block(x).data)
        require(not same, f"{expected} in what self.{name} adds; they agree")
    block = TransformerBlock(16, 2, dropout_prob=0.0).train()
    same = np.array_equal(block(x).data, block(x).data)
    require(same, "With dropout_prob=0 two calls in training should agree; they differ")
    leaves_alone("TransformerBlock", block, x, create_causal_mask(8))


def test_shapes_transformer_block(TransformerBlock):
    """Against the book's block with the same weights; gradients everywhere."""
    rng = np.random.default_rng(3)
    for shape, heads, ratio in [((1, 1, 4), 1, 4), ((2, 5, 6), 3, 2), ((3, 4, 8), 2, 4)]:
        block = TransformerBlock(shape[-1], heads, ratio, 0.0)
        reference = scratch.TransformerBlock(shape[-1], heads, ratio, 0.0)
        state = {name: rng.normal(size=p.shape) for name, p in reference.named_parameters()}
        reference.load_state_dict(state)
        try:
            block.load_state_dict(state)
        except ValueError as error:
            raise CheckFailed(
                f"The block's parameters should have the names and shapes of the book's: {error}"
            ) from None
        x = rng.normal(size=shape)
        for mask in (create_causal_mask(shape[1]), None):
            found = tensor_of("TransformerBlock", block(Tensor(x), mask), shape)
            expected = reference(Tensor(x), mask).data
            close(f"TransformerBlock of an input of shape {shape}", found, expected, 0.02)
        given = Tensor(x, requires_grad=True)
        out = block(given, create_causal_mask(shape[1]))
        has_graph("TransformerBlock", out)
        out.sum().backward()
        all_gradients("TransformerBlock", block)
        input_gradient("TransformerBlock", given)


def _attention_weights(TransformerBlock, mask):
    """The weights that four positions give each other when all scores are equal, (4, 4).

    Values are the normalised inputs themselves, so what attention adds to row t is the sum
    of weight · row; a product with each row, which are orthogonal, gives the weight.
    """
    block = TransformerBlock(8, 2, dropout_prob=0.0).eval()
    for name in ("query", "key", "value", "output"):
        has_part("The attention of TransformerBlock", block.attention, name)
        layer = getattr(block.attention, name)
        layer.weight.data[...] = np.eye(8) if name in ("value", "output") else 0
        layer.bias.data[...] = 0
    block.mlp = Recorder("mlp", np.float32(0), [])
    out = block(Tensor(_ROWS[None]), mask)
    added = tensor_of("TransformerBlock", out, (1, 4, 8))[0] - _ROWS  # (4, 8)
    return added @ _ROWS.T / 8
