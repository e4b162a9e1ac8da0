"""Checks of the causal mask, LayerNorm and the MLP.

Inputs are chosen so that the numbers in messages can be worked out on paper and come out
alike on every machine.
"""

import math

import numpy as np

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import (
    all_gradients,
    close,
    has_graph,
    has_part,
    has_shape,
    input_gradient,
    layers_made,
    leaves_alone,
    shown,
    tensor_of,
)
from tinygpt.scratch import Dropout, Tensor

# ---- causal mask --------------------------------------------------------------------------------


def test_unit_causal_mask(create_causal_mask):
    """A boolean matrix; the last position sees all, the first only itself."""
    mask = _yes_and_no(create_causal_mask, 4)
    require(mask.any(), "The mask should be True in its lower triangle, got no True at all")
    alone = np.array_equal(mask, np.eye(4))
    require(not alone, "A position should see the ones before it too, got only itself")
    for position in (3, 0, 1, 2):
        _sees(mask, position, 4)
    _booleans(mask)


def test_lengths_causal_mask(create_causal_mask):
    """The same rule at every length, from one token on."""
    for seq_len in (1, 2, 3, 7, 33):
        mask = _yes_and_no(create_causal_mask, seq_len)
        for position in range(seq_len):
            _sees(mask, position, seq_len)
        _booleans(mask)


def _yes_and_no(create_causal_mask, seq_len):
    """The mask, of booleans or at least of zeros and ones: their pattern is looked at first."""
    mask = create_causal_mask(seq_len)
    kind = kind_of(mask)
    require(isinstance(mask, np.ndarray), f"The mask should be a NumPy array, got {kind}")
    has_shape(f"create_causal_mask({seq_len})", mask, (seq_len, seq_len))
    if not np.isin(mask, (0, 1)).all():
        to_be_added = mask.dtype.kind == "f" and ((mask == 0) | (mask <= -1e4)).all()
        values = "" if to_be_added else ", with values other than 0 and 1"
        require(False, f"The mask should hold booleans, got {mask.dtype}{values}")
    return mask


def _booleans(mask):
    require(
        mask.dtype == np.bool_,
        "The mask has the right pattern and should hold booleans, got the numbers 0 and 1",
    )


def _sees(mask, position, seq_len):
    expected = list(range(position + 1))
    found = [int(column) for column in np.flatnonzero(mask[position])]
    require(
        found == expected,
        f"Position {position} of {seq_len} should see the positions {expected}, got {found}",
    )


# ---- LayerNorm ----------------------------------------------------------------------------------


def test_unit_layer_norm(LayerNorm):
    """Mean 0 and spread 1 along the features; eps inside the root; weight and bias at work."""
    norm = LayerNorm(4)
    has_part("LayerNorm", norm, "weight")
    has_part("LayerNorm", norm, "bias")
    x = Tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    out = tensor_of("LayerNorm", norm(x), (2, 4))
    mean = float(out[0].mean())
    require(abs(mean) < 1e-3, f"Mean should be ~0, got {mean}")
    std = float(out[0].std())
    require(abs(std - 1) < 1e-2, f"Std should be ~1, got {std}")

    flat = float(norm(Tensor([[3, 3, 3, 3]])).data[0, 0])
    require(abs(flat) < 1e-3, f"A row of equal numbers should become {shown(0)}, got {shown(flat)}")

    row = Tensor([[-1, 1, -1, 1]])  # its variance is 1
    value = float(tensor_of("LayerNorm", LayerNorm(4, eps=3.0)(row), (1, 4))[0, 1])
    require(
        abs(value - 0.5) < 1e-3,
        f"In a row of variance 1, with eps=3, 1 should become {shown(0.5)}, got {shown(value)}",
    )

    total = norm.num_parameters()
    require(total == 8, f"LayerNorm(4) should have 8 trainable numbers, got {total}")
    has_shape("LayerNorm(4).weight", norm.weight, (4,))
    has_shape("LayerNorm(4).bias", norm.bias, (4,))
    norm.weight.data[...] = 2
    norm.bias.data[...] = 1
    value = float(norm(row).data[0, 1])
    require(
        abs(value - 3) < 1e-3,
        f"With every weight 2 and bias 1, a normalised 1 should become {shown(3)}, "
        f"got {shown(value)}",
    )


def test_shapes_layer_norm(LayerNorm):
    """Any number of leading axes; every row by its own statistics; nothing else changed."""
    x = np.arange(24).reshape(2, 3, 4)
    mean = float(tensor_of("LayerNorm", LayerNorm(4)(Tensor(x)), x.shape)[0, 0].mean())
    require(
        abs(mean) < 1e-3,
        f"In an input of shape (2, 3, 4) every row should have mean {shown(0)}, got {shown(mean)}",
    )
    leaves_alone("LayerNorm", LayerNorm(4), Tensor(x))
    rng = np.random.default_rng(0)
    for shape in [(5,), (1, 1), (3, 6), (2, 1, 7), (2, 3, 2, 8)]:
        x = rng.normal(3, 2, shape)
        norm = LayerNorm(shape[-1])
        norm.weight.data[...] = rng.normal(size=shape[-1])
        norm.bias.data[...] = rng.normal(size=shape[-1])
        expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        expected = expected * norm.weight.data + norm.bias.data
        found = tensor_of("LayerNorm", norm(Tensor(x)), shape)
        close(f"LayerNorm of an input of shape {shape}", found, expected, 1e-3)


def test_gradient_layer_norm(LayerNorm):
    """Gradients reach weight, bias and input, and count the statistics in."""
    row = [[-2, 2, -2, 2]]
    norm, x = LayerNorm(4), Tensor(row, requires_grad=True)
    out = norm(x)
    has_graph("LayerNorm", out)
    out.sum().backward()
    all_gradients("LayerNorm", norm)
    input_gradient("LayerNorm", x)
    shift = float(x.grad[0, 1])
    require(
        abs(shift) < 1e-3,
        "Shifting a row changes nothing, so the gradient of the sum should be "
        f"{shown(0)}, got {shown(shift)}",
    )
    x = Tensor(row, requires_grad=True)
    (norm(x) * Tensor([[-1, 1, -1, 1]])).sum().backward()
    stretch = float(x.grad[0, 1])
    require(
        abs(stretch) < 1e-3,
        "Stretching a row changes nothing, so the gradient along the row should be "
        f"{shown(0)}, got {shown(stretch)}",
    )


# ---- MLP ----------------------------------------------------------------------------------------


def test_unit_mlp(MLP):
    """Shapes, count of parameters, and the three steps one by one."""
    mlp = MLP(4, dropout_prob=0.0)
    has_part("MLP", mlp, "fc1")
    has_part("MLP", mlp, "fc2")
    has_shape("MLP(4).fc1.weight", getattr(mlp.fc1, "weight", None), (16, 4))
    has_shape("MLP(4).fc2.weight", getattr(mlp.fc2, "weight", None), (4, 16))
    total = mlp.num_parameters()
    require(total == 148, f"MLP(4) should have 148 parameters, got {total}")
    narrow = MLP(4, hidden_dim=6, dropout_prob=0.0)
    has_shape("MLP(4, hidden_dim=6).fc1.weight", narrow.fc1.weight, (6, 4))
    with layers_made("MLP"):
        tensor_of("MLP", mlp(Tensor(np.ones((2, 3, 4)))), (2, 3, 4))

    value = _through_mlp(MLP, -1.0, second=1.0)
    require(
        abs(value + 0.1587) < 1e-3,
        f"With fc1 and fc2 the identity, -1 should become {shown(-0.1588, 3)}, "
        f"got {shown(value, 3)}",
    )
    value = _through_mlp(MLP, 1.0, second=-1.0)
    require(
        abs(value + 0.8413) < 1e-3,
        f"With fc1 the identity and fc2 minus it, 1 should become {shown(-0.8412, 3)}, "
        f"got {shown(value, 3)}",
    )


def test_dropout_mlp(MLP):
    """Dropout acts in training and only there, as often as dropout_prob says."""
    mlp = MLP(32, dropout_prob=0.5)
    x = Tensor(np.linspace(-1, 1, 10 * 32).reshape(10, 32))
    mlp.train()
    same = np.array_equal(mlp(x).data, mlp(x).data)
    none = not any(isinstance(part, Dropout) for _, part in mlp.modules())
    missing = ", and there is no Dropout in it" if none else ""
    require(
        not same,
        f"In training, with dropout_prob=0.5, two calls should differ; they agree{missing}",
    )
    mlp.eval()
    with layers_made("MLP") as made:
        same = np.array_equal(mlp(x).data, mlp(x).data)
    new = ", and each makes a new Dropout" if "Dropout" in made else ""
    require(same, f"In eval mode two calls on the same input should agree; they differ{new}")
    mlp = MLP(32, dropout_prob=0.0).train()
    same = np.array_equal(mlp(x).data, mlp(x).data)
    require(same, "With dropout_prob=0 two calls in training should agree; they differ")
    out = MLP(32, dropout_prob=0.9).train()(Tensor(np.ones((100, 32)))).data
    kept = float((out != 0).mean())
    require(
        kept < 0.3 or kept == 1.0,
        f"With dropout_prob=0.9 about 10% of the output should be kept, got {100 * kept:.0f}%",
    )


def test_shapes_mlp(MLP):
    """Any width and any leading axes, each position on its own, gradients everywhere."""
    leaves_alone("MLP", MLP(4), Tensor(np.ones((2, 4))))
    rng = np.random.default_rng(1)
    for shape, hidden in [((3,), None), ((2, 5), 7), ((2, 3, 4), None), ((1, 1, 2, 6), 1)]:
        mlp = MLP(shape[-1], hidden, 0.0)
        for parameter in mlp.parameters():
            parameter.data[...] = rng.normal(size=parameter.shape)
        x = rng.normal(size=shape)
        u = x @ mlp.fc1.weight.data.T + mlp.fc1.bias.data
        gelu = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        expected = gelu @ mlp.fc2.weight.data.T + mlp.fc2.bias.data
        given = Tensor(x, requires_grad=True)
        out = mlp(given)
        found = tensor_of("MLP", out, shape)
        # Wide enough for the exact GELU, which differs from the tanh form by up to 0.0005.
        close(f"MLP of an input of shape {shape}", found, expected, 0.02)
        has_graph("MLP", out)
        out.sum().backward()
        all_gradients("MLP", mlp)
        input_gradient("MLP", given)


def _through_mlp(MLP, value, second):
    mlp = MLP(4, hidden_dim=4, dropout_prob=0.0).eval()
    mlp.fc1.weight.data[...] = np.eye(4)
    mlp.fc2.weight.data[...] = second * np.eye(4)
    mlp.fc1.bias.data[...] = 0
    mlp.fc2.bias.data[...] = 0
    return tensor_of("MLP", mlp(Tensor([[value] * 4])), (1, 4))[0, 0]
