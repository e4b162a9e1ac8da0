"""Every operation of Tensor against PyTorch and finite differences, on random shapes."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes
from oracle import assert_agrees, examples, normal
from tinygpt.scratch import Tensor, concatenate, no_grad, stack, where

seeds = st.integers(0, 2**32 - 1)
shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
full_shapes = array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)
pairs_of_shapes = mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=4)

TWO_OPERANDS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / (b * b + 1),
    "both from one": lambda a, b: a * b + a / (a * a + b * b + 1) - b,
}

ONE_OPERAND = {
    "negative": lambda x: -x,
    "from the left": lambda x: 2.5 - x,
    "over": lambda x: 2.5 / (x * x + 1),
    "scalars": lambda x: 3 * x + 1 / 2 - x / 4,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "power 0": lambda x: x**0,
    "root": lambda x: (x * x + 1) ** 0.5,
    "power -1": lambda x: (x * x + 1) ** -1,
    "exp": lambda x: x.exp(),
    "log": lambda x: (x * x + 0.5).log(),
    "sqrt": lambda x: (x * x + 0.5).sqrt(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "itself twice": lambda x: x * x + x,
    "all": lambda x: x.sum(),
}


@pytest.mark.parametrize("name", TWO_OPERANDS)
@examples
@given(pairs_of_shapes, seeds)
def test_two_operands_broadcast(name, shapes, seed):
    a, b = (normal(seed + i, *shape) for i, shape in enumerate(shapes.input_shapes))
    assert_agrees(TWO_OPERANDS[name], TWO_OPERANDS[name], a, b)


@pytest.mark.parametrize("name", ONE_OPERAND)
@examples
@given(shapes, seeds)
def test_one_operand(name, shape, seed):
    assert_agrees(ONE_OPERAND[name], ONE_OPERAND[name], normal(seed, *shape))


lengths = st.integers(0, 4)


@examples
@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=0, max_side=3),
    *(lengths, lengths, lengths),
    st.sampled_from(["matrices", "vector left", "vector right", "vectors"]),
    seeds,
)
def test_matmul_of_any_batches(batches, m, k, n, kind, seed):
    """Matrices in batches that broadcast, vectors on either side, lengths down to 0 and 1."""
    left, right = batches.input_shapes
    a = normal(seed, *((k,) if kind in ("vector left", "vectors") else (*left, m, k)))
    b = normal(seed + 1, *((k,) if kind in ("vector right", "vectors") else (*right, k, n)))
    assert_agrees(lambda a, b: a @ b, lambda a, b: a @ b, a, b)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "min"])
@examples
@given(st.data(), seeds)
def test_reductions(name, keepdims, data, seed):
    shape = data.draw(full_shapes)
    axes = st.integers(-len(shape), len(shape) - 1)
    several = st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True).map(tuple)
    axis = data.draw(st.none() | axes | several)
    over = tuple(range(len(shape))) if axis is None else axis
    theirs = {
        "sum": lambda x: x.sum(over, keepdim=keepdims),
        "mean": lambda x: x.mean(over, keepdim=keepdims),
        "var": lambda x: x.var(over, correction=0, keepdim=keepdims),
        "max": lambda x: x.amax(over, keepdim=keepdims),
        "min": lambda x: x.amin(over, keepdim=keepdims),
    }[name]
    assert_agrees(
        lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), theirs, normal(seed, *shape)
    )


def test_equal_maxima_share_the_gradient():
    x = Tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    x.max(axis=1).sum().backward()
    np.testing.assert_allclose(x.grad, [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])


@examples
@given(st.data(), seeds)
def test_transpose_swapaxes_and_reshape(data, seed):
    shape = data.draw(array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    order = data.draw(st.permutations(range(len(shape))))
    one, two = (data.draw(st.integers(-len(shape), len(shape) - 1)) for _ in range(2))
    x = normal(seed, *shape)
    assert_agrees(lambda x: x.transpose(*order), lambda x: x.permute(*order), x)
    assert_agrees(lambda x: x.transpose(order), lambda x: x.permute(*order), x)
    assert_agrees(lambda x: x.T, lambda x: x.permute(*reversed(range(len(shape)))), x)
    assert_agrees(lambda x: x.swapaxes(one, two), lambda x: x.swapaxes(one, two), x)
    other = data.draw(st.permutations(shape))
    assert_agrees(lambda x: x.reshape(*other), lambda x: x.reshape(*other), x)
    assert_agrees(lambda x: x.reshape(x.size), lambda x: x.reshape(-1), x)


INDICES = {
    "integer": 1,
    "negative": -1,
    "slice": slice(1, 3),
    "step": slice(None, None, 2),
    "ellipsis": (..., 0),
    "new axis": (slice(None), None, 1),
    "nothing": slice(0, 0),
    "mixed": (0, slice(1, None), -1),
    "array": np.array([0, 2, 2, 1]),
    "matrix of ids": np.array([[0, 2], [2, 2]]),
    "two arrays": (np.array([0, 1, 1]), np.array([2, 0, 0])),
    "array and slice": (slice(None), np.array([1, 1, 0])),
    "booleans": np.array([True, False, True, True]),
}


@pytest.mark.parametrize("name", INDICES)
def test_indexing(name):
    """An element picked twice gets both gradients."""
    index = INDICES[name]
    parts = index if isinstance(index, tuple) else (index,)
    torch_index = tuple(torch.tensor(p) if isinstance(p, np.ndarray) else p for p in parts)
    assert_agrees(lambda x: x[index], lambda x: x[torch_index], normal(0, 4, 3, 5))


def test_indexing_backwards_by_a_list():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[::-1] * Tensor([1.0, 10.0, 100.0])).sum().backward()
    np.testing.assert_array_equal(x.grad, [100, 10, 1])
    x.zero_grad()
    x[[0, 0, 2]].sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 0, 1])


@examples
@given(pairs_of_shapes, seeds)
def test_where_and_masked_fill(shapes, seed):
    a, b = (normal(seed + i, *shape) for i, shape in enumerate(shapes.input_shapes))
    condition = normal(seed + 2, *shapes.result_shape) > 0
    mask = torch.tensor(condition)
    assert_agrees(lambda a, b: where(condition, a, b), lambda a, b: torch.where(mask, a, b), a, b)
    x = normal(seed, *shapes.result_shape)
    assert_agrees(lambda x: x.masked_fill(condition, -3), lambda x: x.masked_fill(mask, -3), x)


@examples
@given(st.data(), seeds)
def test_concatenate_and_stack(data, seed):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    arrays = []
    for i in range(data.draw(st.integers(1, 3))):
        own = list(shape)
        own[axis] = data.draw(st.integers(0, 3))
        arrays.append(normal(seed + i, *own))
    assert_agrees(lambda *x: concatenate(x, axis), lambda *x: torch.cat(x, axis), *arrays)
    equal = [normal(seed + i, *shape) for i in range(3)]
    assert_agrees(lambda *x: stack(x, axis), lambda *x: torch.stack(x, axis), *equal)


def test_gradients_accumulate_until_zero_grad():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [4, 8])
    x.zero_grad()
    assert x.grad is None


def test_leaves_never_share_a_gradient_array():
    a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    (a + b).sum().backward()
    a.grad *= 100
    np.testing.assert_array_equal(b.grad, [1])
    given = np.ones(1, dtype=np.float32)
    a.zero_grad()
    a.backward(given)
    a.grad *= 100
    np.testing.assert_array_equal(given, [1])


def test_a_long_chain_needs_no_recursion():
    """In its own process: neither backward nor dropping the graph may overflow the stack."""
    program = """
from tinygpt.scratch import Tensor
x = Tensor(1.0, requires_grad=True)
for use in (True, False):
    y = x
    for _ in range(20_000):
        y = y + 0.0
    if use:
        y.backward()
    del y
print(x.grad)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8")
    assert (done.stdout.strip(), done.stderr) == ("1.0", "")


def test_shared_subexpressions_are_walked_once():
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(30):  # 2**30 paths
        y = y * 0.5 + y * 0.5
    y.backward()
    assert x.grad == 1


def test_backward_frees_the_graph():
    import gc
    import weakref

    x = Tensor(np.ones(3), requires_grad=True)
    middle = x * 2
    result = (middle * middle).sum()
    inner = weakref.ref(middle)
    del middle
    gc.disable()
    try:
        result.backward()
        assert inner() is None, "freed at once, without the help of the garbage collector"
    finally:
        gc.enable()
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        result.backward()


def test_a_second_backward_through_a_shared_part_is_refused_before_it_adds_anything():
    x = Tensor([2.0], requires_grad=True)
    shared = x * 3
    first, second = (shared * 2).sum(), (shared * 5).sum()
    first.backward()
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        second.backward()
    np.testing.assert_array_equal(x.grad, [6])


def test_no_grad_records_nothing():
    x = Tensor([1.0], requires_grad=True)
    with no_grad():
        y = x * 2
        with no_grad():
            pass
        z = x * 2
    assert not y.requires_grad and not z.requires_grad
    assert (x * 2).requires_grad

    @no_grad()
    def double(x):
        return x * 2

    assert not double(x).requires_grad
    with pytest.raises(ZeroDivisionError), no_grad():
        _ = 1 / 0
    assert (x * 2).requires_grad


def test_detach_cuts_the_history():
    x = Tensor([3.0], requires_grad=True)
    (x * x.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad, [3])


def test_dtypes():
    assert Tensor([1, 2]).dtype == np.float32
    assert Tensor(np.ones(2)).dtype == np.float32
    assert Tensor(np.ones(2), dtype=np.float64).dtype == np.float64
    single = Tensor(np.ones(2))
    for result in (single * 0.1, single + np.ones(2), np.float64(2) * single, single @ np.ones(2)):
        assert isinstance(result, Tensor) and result.dtype == np.float32
    double = Tensor(np.ones(2), dtype=np.float64)
    assert (double * 0.1).data[0] == 0.1


def test_numpy_arrays_on_the_left():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a = np.array([[1.0, 0.0], [2.0, 1.0]])
    for result, expected in (
        (a + x, a + x.data),
        (a - x, a - x.data),
        (a * x, a * x.data),
        (a / x, a / x.data),
        (a @ x, a @ x.data),
    ):
        assert isinstance(result, Tensor) and result.requires_grad
        np.testing.assert_allclose(result.data, expected)


def test_comparisons_give_boolean_arrays():
    x = Tensor([1.0, 2.0, 3.0])
    for result, expected in (
        (x > 2, [False, False, True]),
        (x >= 2, [False, True, True]),
        (x < x, [False, False, False]),
        (x <= np.array([1, 1, 3]), [True, False, True]),
        (x == 2, [False, True, False]),
        (x != 2, [True, False, True]),
    ):
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, expected)
    assert len({x, x, Tensor([1.0, 2.0, 3.0])}) == 2


def test_the_data_given_is_copied():
    array = np.ones(3, dtype=np.float32)
    x = Tensor(array)
    array[0] = 5
    np.testing.assert_array_equal(x.data, [1, 1, 1])


def test_everyday_use():
    x = Tensor([[1.0, 2.0, 3.0]])
    assert (x.shape, x.ndim, x.size, len(x)) == ((1, 3), 2, 3, 1)
    assert Tensor([[2.5]]).item() == 2.5
    assert repr(Tensor([1.0], requires_grad=True)) == "Tensor([1.], requires_grad=True)"
    np.testing.assert_array_equal(np.asarray(x), [[1, 2, 3]])
    assert [row.shape for row in x] == [(3,)]
