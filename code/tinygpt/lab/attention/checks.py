"""Checks of attention, from one query to heads that ask another sequence.

Inputs are chosen so that the numbers in messages can be worked out on paper and come out
alike on every machine.
"""

import math

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.measures import (
    all_gradients,
    array_of,
    close,
    has_graph,
    has_part,
    has_shape,
    input_gradient,
    leaves_alone,
    shown,
    tensor_of,
)
from tinygpt.scratch import Tensor

# ---- one query ----------------------------------------------------------------------------------


def test_unit_soft_lookup(soft_lookup):
    """Matches 2, 2 and 3 by hand: the answer lies between the mean, 20, and the third value."""
    query = np.array([1.0, 2.0])
    keys = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    values = np.array([[10.0, 0.0, 0.0], [20.0, 0.0, 0.0], [30.0, 6.0, 0.0]])
    out = _array(soft_lookup, query, keys, values)
    require(out.shape == (3,), f"soft_lookup should return the shape (3,), got {out.shape}")
    for place, expected in [(0, 23.64), (1, 3.46)]:
        require(
            abs(out[place] - expected) < 0.006,
            "With matches 2, 2, 3 and values that begin with 10, 20, 30, the answer should begin "
            f"with {shown(23.64)} and {shown(3.46)}, got {shown(out[0])} and {shown(out[1])}",
        )


def test_extremes_soft_lookup(soft_lookup):
    """Equal matches give the plain mean, a far better one its own value, at any size."""
    values = np.array([[10.0], [20.0], [60.0]])
    mean = _array(soft_lookup, np.zeros(2), np.ones((3, 2)), values)[0]
    require(
        abs(mean - 30) < 1e-3,
        f"With equal matches the answer should be the mean, {shown(30)}, got {shown(mean)}",
    )
    keys = np.array([[0.0], [1.0], [2.0]])
    for size in (1000.0, -1000.0):
        expected = 60.0 if size > 0 else 10.0
        found = _array(soft_lookup, np.array([size]), keys, values)[0]
        matches = ", ".join(f"{size * key:.0f}" for key in (0, 1, 2)).replace("-0", "0")
        require(
            abs(found - expected) < 1e-3,
            f"With matches {matches} the best one's value should be the answer, "
            f"{shown(expected)}, got {shown(found)}",
        )


def test_shapes_soft_lookup(soft_lookup):
    """Any number of keys and any widths; the arguments stay as they were."""
    rng = np.random.default_rng(0)
    for count, width, out_width in [(1, 1, 1), (4, 3, 3), (5, 2, 7)]:
        given = [rng.normal(size=s) for s in ((width,), (count, width), (count, out_width))]
        kept = [array.copy() for array in given]
        found = _array(soft_lookup, *given)
        require(
            all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True)),
            "soft_lookup should leave its arguments as they were; it changed them",
        )
        matches = np.exp(given[1] @ given[0])
        has_shape("The answer of soft_lookup", found, (out_width,))
        what = f"soft_lookup with {count} keys of width {width}"
        close(what, found, matches @ given[2] / matches.sum())


def _array(soft_lookup, *given):
    return array_of("soft_lookup", soft_lookup(*given))


# ---- scores -------------------------------------------------------------------------------------


def test_unit_scaled_scores(scaled_scores):
    """Two heads of width 4: dot products 4, 0 and 2 become 2, 0 and 1."""
    query = Tensor(np.ones((1, 2, 2, 4)))
    key = Tensor(np.broadcast_to(np.array([1.0, 0.0, 0.5])[:, None], (1, 2, 3, 4)))
    found = tensor_of("scaled_scores", scaled_scores(query, key), (1, 2, 2, 3))[0, 1, 0]
    for place, expected in enumerate([2, 0, 1]):
        require(
            abs(found[place] - expected) < 1e-3,
            "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
            f"got {', '.join(shown(score) for score in found)}",
        )


def test_shapes_scaled_scores(scaled_scores):
    """Any leading axes and lengths, with gradients to queries and keys."""
    rng = np.random.default_rng(1)
    for leading, t, s, width in [((), 2, 3, 1), ((2,), 1, 5, 9), ((2, 3), 4, 2, 5)]:
        query = Tensor(rng.normal(size=(*leading, t, width)), requires_grad=True)
        key = Tensor(rng.normal(size=(*leading, s, width)), requires_grad=True)
        out = scaled_scores(query, key)
        found = tensor_of("scaled_scores", out, (*leading, t, s))
        expected = np.einsum("...td,...sd->...ts", query.data, key.data) / math.sqrt(width)
        close(f"Scores of queries of shape {query.shape}", found, expected)
        has_graph("scaled_scores", out)
        out.sum().backward()
        for name, tensor in (("query", query), ("key", key)):
            require(tensor.grad is not None, f"The gradient should reach the {name}, got None")


# ---- masked softmax -----------------------------------------------------------------------------


def test_unit_masked_softmax(masked_softmax):
    """Three scores, the best one hidden; then a row in which all are."""
    scores = Tensor([[2.0, 3.0, 1.0], [0.0, 0.0, 0.0]])
    mask = np.array([[True, False, True], [True, True, True]])
    found = tensor_of("masked_softmax", masked_softmax(scores, mask), (2, 3))[0]
    for place, expected in enumerate([0.731, 0.0, 0.269]):
        require(
            abs(found[place] - expected) < 1e-3,
            "With the scores 2, 3, 1 and the second hidden, the weights should be "
            f"0.73, 0.00, 0.27, got {', '.join(shown(weight) for weight in found)}",
        )
    nothing = np.array([[True, True, True], [False, False, False]])
    found = masked_softmax(scores, nothing).data
    require(
        np.array_equal(found[1], np.zeros(3)),
        "A row that may attend to nothing should have the weights 0.00, 0.00, 0.00, "
        f"got {', '.join(shown(weight) for weight in found[1])}",
    )


def test_gradient_masked_softmax(masked_softmax):
    """The gradient is that of the softmax where there is a key, 0 where hidden, never NaN."""
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    scores = Tensor([[2.0, 3.0, 1.0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], requires_grad=True)
    twin = Tensor(scores.data, requires_grad=True)
    upstream = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    out = masked_softmax(scores, mask)
    has_graph("masked_softmax", out)
    out.backward(upstream)
    require(scores.grad is not None, "The gradient should reach the scores, got None")
    require(
        not np.isnan(scores.grad).any(),
        "The gradient of the scores should be finite, with 0 in a row that may attend to "
        "nothing, got nan",
    )
    scratch.softmax(twin, mask=mask).backward(upstream)
    close("The gradient of masked_softmax", scores.grad, twin.grad)


def test_shapes_masked_softmax(masked_softmax):
    """Scores of any size, masks that broadcast, and inputs left as they were."""
    for scores, expected in [((1000.0, 0.0, 0.0), 1.0), ((-1000.0, -1000.0, 0.0), 0.5)]:
        first_two = np.array([True, True, False])
        weight = masked_softmax(Tensor([scores]), first_two).data[0, 0]
        require(
            abs(weight - expected) < 1e-3,
            f"With the scores {', '.join(f'{score:.0f}' for score in scores)} and the third "
            f"hidden, the first weight should be {shown(expected)}, got {shown(weight)}",
        )
    rng = np.random.default_rng(2)
    for shape, mask_shape in [((3, 4), (3, 4)), ((2, 3, 4), (2, 1, 4)), ((2, 2, 5, 5), (5, 5))]:
        mask = rng.random(mask_shape) > 0.4
        for size in (1, 500):
            scores, kept = Tensor(size * rng.normal(size=shape)), mask.copy()
            values = scores.data.copy()
            found = tensor_of("masked_softmax", masked_softmax(scores, mask), shape)
            unchanged = np.array_equal(scores.data, values) and np.array_equal(mask, kept)
            require(unchanged, "masked_softmax should leave its arguments as they were")
            expected = scratch.softmax(scores, mask=mask).data
            close(f"Weights for scores of shape {shape}", found, expected)


# ---- heads --------------------------------------------------------------------------------------


def test_unit_attend_in_heads(attend_in_heads):
    """The first head looks at position 2, the second at position 0; both answers side by side."""
    query = Tensor(np.full((1, 3, 4), 10.0))
    key = Tensor([[[0, 0, 10, 10], [0, 0, 0, 0], [10, 20, 0, 0]]])
    value = Tensor([[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]])
    out = attend_in_heads(query, key, value, 2)
    found = tensor_of("attend_in_heads", out, (1, 3, 4))[0]
    for row in range(3):
        require(
            np.abs(found[row] - [9, 10, 3, 4]).max() < 1e-3,
            "With head 0 finding the values 9, 10 and head 1 the values 3, 4, "
            f"position {row} should get 9.00, 10.00, 3.00, 4.00, "
            f"got {', '.join(shown(number) for number in found[row])}",
        )


def test_shapes_attend_in_heads(attend_in_heads):
    """Against each head computed from its own slice, with masks, and gradients to all three."""
    rng = np.random.default_rng(3)
    for (batch, t, s, width), heads in [((1, 1, 1, 3), 1), ((2, 3, 5, 6), 3), ((2, 4, 4, 8), 2)]:
        given = [
            Tensor(rng.normal(size=(batch, length, width)), requires_grad=True)
            for length in (t, s, s)
        ]
        for mask in (None, scratch.create_padding_mask([s - 1] * batch, s)):
            out = attend_in_heads(*given, heads, mask)
            found = tensor_of("attend_in_heads", out, (batch, t, width))
            slices = np.split(np.arange(width), heads)
            inner = None if mask is None else mask[:, 0]
            parts = [
                scaled_attention(*(tensor[:, :, part] for tensor in given), inner)
                for part in slices
            ]
            masked = "with" if mask is not None else "without"
            shape = (batch, t, width)
            what = f"num_heads={heads} over queries of shape {shape}, {masked} a mask"
            close(what, found, np.concatenate(parts, axis=-1))
            has_graph("attend_in_heads", out)
        out.sum().backward()
        for name, tensor in zip(("query", "key", "value"), given, strict=True):
            require(tensor.grad is not None, f"The gradient should reach the {name}, got None")


def scaled_attention(query, key, value, mask):
    """The book's attention of one head, as an array."""
    return scratch.scaled_dot_product_attention(query, key, value, mask).data


# ---- the layer ----------------------------------------------------------------------------------


def test_unit_multi_head_attention(MultiHeadAttention):
    """Its parts; each position finds the best match in the context, then the output map."""
    attention = MultiHeadAttention(4, 2)
    for name in ("query", "key", "value", "output"):
        has_part("MultiHeadAttention", attention, name)
        layer = getattr(attention, name)
        weight = getattr(layer, "weight", None)
        has_shape(f"MultiHeadAttention(4, 2).{name}.weight", weight, (4, 4))
        layer.weight.data[...] = np.eye(4)
        has_shape(f"MultiHeadAttention(4, 2).{name}.bias", layer.bias, (4,))
        layer.bias.data[...] = 0
    attention.key.weight.data[...] = 10 * np.eye(4)  # one key gets all the weight
    x, context = _positions(-1, 2, 3), _positions(6, 2, 1)
    asking = "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get"
    _gets(attention(x, context=context), (1, 6, 6), f"{asking} their best matches,")
    _heads_apart(attention)
    first_two = np.array([True, True, False])
    _gets(attention(x, first_two, context), (2, 6, 6), f"{asking}, with the 1 hidden,")
    attention.output.weight.data[...] = 2 * np.eye(4)
    _gets(attention(x, context=context), (2, 12, 12), f"{asking}, doubled by the output map,")
    _gets(attention(x), (-2, 6, 6), "Without a context, positions of -1, 2, 3 should get, doubled,")
    out = attention(_positions(2), context=context)
    tensor_of("MultiHeadAttention of one position with a context of three", out, (1, 1, 4))


def _positions(*values):
    """One sequence whose positions are rows of one number."""
    return Tensor(np.array(values, dtype=float)[None, :, None] * np.ones(4))


def _gets(out, expected, what):
    found = tensor_of("MultiHeadAttention", out, (1, len(expected), 4))[0, :, 0]
    require(
        np.abs(found - expected).max() < 1e-2,
        f"{what} {', '.join(shown(number) for number in expected)}, "
        f"got {', '.join(shown(number) for number in found)}",
    )


def _heads_apart(attention):
    """Each of two heads finds another position best; one wide head could not tell them apart."""
    context = Tensor([[[6, 6, 1, 1], [1, 1, 6, 6]]])
    out = attention(_positions(1), context=context)
    found = tensor_of("MultiHeadAttention", out, (1, 1, 4))[0, 0]
    require(
        np.abs(found - 6).max() < 1e-2,
        "Asking a context of 6, 6, 1, 1 and 1, 1, 6, 6, each of two heads should find its own "
        "sixes and give 6.00, 6.00, 6.00, 6.00, "
        f"got {', '.join(shown(number) for number in found)}",
    )


def test_shapes_multi_head_attention(MultiHeadAttention):
    """With the weights of the book's layer, its results; gradients everywhere."""
    rng = np.random.default_rng(4)
    leaves_alone("MultiHeadAttention", MultiHeadAttention(4, 2), Tensor(np.ones((1, 2, 4))))
    for (batch, t, s, width), heads in [((1, 1, 3, 4), 1), ((2, 3, 5, 6), 3), ((2, 4, 2, 8), 2)]:
        reference = scratch.MultiHeadAttention(width, heads)
        state = {name: rng.normal(size=p.shape) for name, p in reference.named_parameters()}
        reference.load_state_dict(state)
        attention = MultiHeadAttention(width, heads)
        try:
            attention.load_state_dict(state)
        except ValueError as error:
            raise CheckFailed(
                f"The parameters should have the names and shapes of the book's: {error}"
            ) from None
        x = Tensor(rng.normal(size=(batch, t, width)), requires_grad=True)
        other = Tensor(rng.normal(size=(batch, s, width)), requires_grad=True)
        padding = scratch.create_padding_mask([max(1, s - 1)] * batch, s)
        causal = scratch.create_causal_mask(t)
        for mask, context in [(None, None), (causal, None), (None, other), (padding, other)]:
            out = attention(x, mask, context)
            found = tensor_of("MultiHeadAttention", out, (batch, t, width))
            asked = "itself" if context is None else f"a context of shape {context.shape}"
            masked = "no mask" if mask is None else f"a mask of shape {mask.shape}"
            what = f"x of shape {x.shape} with {masked}, attending to {asked}"
            close(what, found, reference(x, mask, context).data, 1e-3)
        has_graph("MultiHeadAttention", out)
        (out * out).sum().backward()
        all_gradients("MultiHeadAttention", attention)
        input_gradient("MultiHeadAttention", x)
        require(other.grad is not None, "The gradient should reach the context, got None")
