"""Checks of attention on inputs drawn from a seed: shapes, lengths, sizes and masks.

A mask of one head or one text looks right as long as all heads and texts have the same.
"""

import math

import numpy as np

from tinygpt import scratch
from tinygpt.lab.attention import solutions
from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import MASKS, cases
from tinygpt.lab.measures import array_of, close, has_shape, tensor_of
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Tensor


def test_drawn_soft_lookup(soft_lookup):
    """One key or many, of whole numbers too, with matches of any size."""
    kinds = (("float64", 1.0), ("int64", 3.0), ("float32", 1.0), ("float64", 300.0))
    for case in cases(1, 12, keys=range(1, 41), width=range(1, 9), out=(1, 2, 5), kind=kinds):
        dtype, size = case.kind
        query = case.numbers(case.width, size=size, dtype=dtype)
        keys = case.numbers(case.keys, case.width, dtype=dtype)
        values = case.numbers(case.keys, case.out, size=10, dtype=dtype)
        with undisturbed("soft_lookup", query=query, keys=keys, values=values):
            found = array_of("soft_lookup", soft_lookup(query, keys, values))
        has_shape("The answer of soft_lookup", found, (case.out,))
        weights = _softmax(keys.astype(float) @ query)
        what = f"soft_lookup of {dtype} with {case.keys} keys of width {case.width}"
        close(what, found, weights @ values, 1e-3)


def test_drawn_scaled_scores(scaled_scores):
    """Any lengths and widths, with the gradients of a product."""
    leading = ((), (2, 3), (3,), (1, 4))
    for case in cases(
        2, 10, leading=leading, queries=range(1, 20), keys=range(1, 20), width=(1, 3, 9, 64)
    ):
        query = _tensor(case, *case.leading, case.queries, case.width)
        key = _tensor(case, *case.leading, case.keys, case.width)
        with undisturbed("scaled_scores", query=query, key=key):
            out = scaled_scores(query, key)
        shape = (*case.leading, case.queries, case.keys)
        found = tensor_of("scaled_scores", out, shape)
        root = math.sqrt(case.width)
        what = f"for queries of shape {query.shape} and keys of shape {key.shape}"
        close(f"Scores {what}", found, query.data @ key.data.swapaxes(-1, -2) / root, 1e-3)
        upstream = case.numbers(*shape)
        out.backward(upstream)
        for name, tensor, expected in [
            ("query", query, upstream @ key.data),
            ("key", key, upstream.swapaxes(-1, -2) @ query.data),
        ]:
            require(tensor.grad is not None, f"The gradient should reach the {name}, got None")
            close(f"The gradient of the {name} {what}", tensor.grad, expected / root, 1e-3)


def test_drawn_masked_softmax(masked_softmax):
    """Masks of every shape that broadcasts, scores of every size."""
    shapes = ((1, 1), (2, 3, 4, 6), (4, 7), (3, 20, 20), (2, 3, 1, 5))
    for case in cases(
        3, 30, shape=shapes, kind=("some", *MASKS), size=(1.0, 1e12, 500.0), rows=("all", "own")
    ):
        mask = _mask(case, case.shape)
        scores = _tensor(case, *case.shape, size=case.size)
        with undisturbed("masked_softmax", scores=scores, mask=mask):
            out = masked_softmax(scores, mask)
        found = tensor_of("masked_softmax", out, case.shape)
        what = (
            f"scores of shape {case.shape} and size {case.size:g} with a mask of shape {mask.shape}"
        )
        seen = np.broadcast_to(mask, case.shape)
        require(
            not found[~seen].any(),
            f"For {what} the weights should be exactly 0 where it is False; they are not",
        )
        expected = _softmax(np.where(seen, scores.data.astype(float), -np.inf))
        close(f"Weights for {what}", found, expected)
        upstream = case.numbers(*case.shape)
        out.backward(upstream)
        require(scores.grad is not None, "The gradient should reach the scores, got None")
        slope = expected * (upstream - (upstream * expected).sum(axis=-1, keepdims=True))
        close(f"The gradient of {what}", scores.grad, slope, 1e-3)


def test_drawn_attend_in_heads(attend_in_heads):
    """Every text and every head by its own mask, with gradients to all three."""
    for case in cases(
        4,
        16,
        batch=range(1, 4),
        heads=range(1, 5),
        width=(1, 3, 2),
        queries=range(1, 20),
        keys=range(1, 20),
        kind=(None, "some", *MASKS),
        rows=("own", "own", "all"),
    ):
        width = case.heads * case.width
        given = [_tensor(case, case.batch, n, width) for n in (case.queries, case.keys, case.keys)]
        mask = _mask(case, (case.batch, case.heads, case.queries, case.keys))
        with undisturbed("attend_in_heads", **_named(given), mask=mask):
            out = attend_in_heads(*given, case.heads, mask)
        found = tensor_of("attend_in_heads", out, (case.batch, case.queries, width))
        what = f"num_heads={case.heads} over queries of shape {given[0].shape}, {_said(mask)}"
        arrays = [tensor.data.astype(float) for tensor in given]
        close(what, found, _in_heads(*arrays, case.heads, mask))
        upstream = case.numbers(*found.shape)
        out.backward(upstream)
        twins = [Tensor(tensor.data, requires_grad=True) for tensor in given]
        solutions.attend_in_heads(*twins, case.heads, mask).backward(upstream)
        for (name, tensor), twin in zip(_named(given).items(), twins, strict=True):
            require(tensor.grad is not None, f"The gradient should reach the {name}, got None")
            close(f"The gradient of the {name}, {what}", tensor.grad, twin.grad, 1e-3)


def test_drawn_multi_head_attention(MultiHeadAttention):
    """With the book's weights the book's results and gradients; contexts as long as x too."""
    for case in cases(
        5,
        12,
        batch=range(1, 4),
        heads=range(1, 5),
        width=(1, 3, 2),
        queries=range(1, 20),
        asked=("x itself", "a context as long as x", "another context"),
        kind=(None, "some", *MASKS),
        rows=("own", "all"),
    ):
        width = case.heads * case.width
        book = scratch.MultiHeadAttention(width, case.heads)
        state = {name: case.numbers(*p.shape) for name, p in book.named_parameters()}
        attention = MultiHeadAttention(width, case.heads)
        for layer in (book, attention):
            layer.load_state_dict(state)
        keys = case.queries if case.asked != "another context" else case.queries + 2
        arrays = (
            case.numbers(case.batch, case.queries, width),
            case.numbers(case.batch, keys, width),
        )
        mask = _mask(case, (case.batch, case.heads, case.queries, keys))
        what = f"x of shape {arrays[0].shape}, attending to {case.asked}, {_said(mask)}"
        results = []
        for layer in (attention, book):
            x, context = (Tensor(array, requires_grad=True) for array in arrays)
            context = None if case.asked == "x itself" else context
            with undisturbed(
                "MultiHeadAttention", x=x, mask=mask, context=context, parameters=layer
            ):
                out = layer(x, mask, context)
            found = tensor_of("MultiHeadAttention", out, arrays[0].shape)
            out.backward(np.cos(np.arange(found.size)).reshape(found.shape))
            slopes = {name: p.grad for name, p in layer.named_parameters()}
            slopes |= {"x": x.grad} | ({} if context is None else {"context": context.grad})
            results.append((found, slopes))
        (found, slopes), (expected, expected_slopes) = results
        close(f"For {what} the results differ", found, expected, 1e-3)
        for name, slope in expected_slopes.items():
            require(slopes[name] is not None, f"The gradient should reach {name}, got None")
            bound = 1e-3 * max(1.0, float(np.abs(slope).max()))
            close(f"The gradient of {name} for {what}", slopes[name], slope, bound)


def _tensor(case, *shape, size=1.0):
    return Tensor(case.numbers(*shape, size=size), requires_grad=True)


def _mask(case, shape):
    """A mask that broadcasts to a shape; with rows="all" one row for all queries."""
    if case.kind is None:
        return None
    shape = case.narrowed(*shape) if case.rng.random() < 0.5 else shape
    mask = case.mask(*shape, kind=case.kind)
    return mask[..., -1:, :] if case.rows == "all" else mask


def _said(mask) -> str:
    return "without a mask" if mask is None else f"with a mask of shape {mask.shape}"


def _named(given):
    return dict(zip(("query", "key", "value"), given, strict=True))


def _softmax(scores):
    """In float64, along the last axis; a row of nothing but -inf gives zeros."""
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def _in_heads(query, key, value, heads, mask):
    query, key, value = (
        x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for x in (query, key, value)
    )
    scores = np.einsum("bhtd,bhsd->bhts", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    out = np.einsum("bhts,bhse->bthe", _softmax(scores), value)
    return out.reshape(*out.shape[:2], -1)
