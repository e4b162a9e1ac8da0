"""The scalar engine against PyTorch, and what its walk promises."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import examples
from tinygpt.scratch.scalar import Value, topological_order

FUNCTIONS = {
    "square of a sum": lambda a, b: (a + b) * (a + b),
    "both ways round": lambda a, b: 2 - a * 3 + (4 * b - 1) - (-a),
    "powers": lambda a, b: a**3 + b**2 + a**1,
    "power 0": lambda a, b: a**0 * b,
    "tanh of a shared product": lambda a, b: ((a * b).tanh() + a * b) * a,
    "itself": lambda a, b: a + a + b * b * b,
}
numbers = st.floats(-3, 3)


@pytest.mark.parametrize("name", FUNCTIONS)
@examples
@given(numbers, numbers)
def test_values_and_gradients_are_those_of_torch(name, x, y):
    ours, theirs = (Value(x), Value(y)), [torch.tensor(v, dtype=torch.float64) for v in (x, y)]
    for t in theirs:
        t.requires_grad_()
    result, expected = FUNCTIONS[name](*ours), FUNCTIONS[name](*theirs)
    assert result.data == pytest.approx(expected.item(), abs=1e-12)
    result.backward()
    expected.backward()
    for one, two in zip(ours, theirs, strict=True):
        assert one.grad == pytest.approx(0.0 if two.grad is None else two.grad.item(), abs=1e-9)


@examples
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=30))
def test_the_order_holds_each_node_once_and_after_its_parents(uses):
    made = [Value(1.0)]
    for i, j in uses:
        made.append(made[i % len(made)] + made[j % len(made)])
    order = topological_order(made[-1])
    places = {id(node): place for place, node in enumerate(order)}
    assert len(places) == len(order) and order[-1] is made[-1]
    assert all(places[id(p)] < places[id(node)] for node in order for p in node.parents)


def test_a_graph_deeper_than_the_stack_of_python():
    x = total = Value(1.0)
    for _ in range(10_000):
        total = total + x
    total.backward()
    assert x.grad == 10_001


def test_doubling_forty_times_takes_forty_one_visits():
    x = y = Value(1.0)
    for _ in range(40):
        y = y + y
    y.backward()
    assert (x.grad, len(topological_order(y))) == (2**40, 41)


def test_backward_forgets_what_an_earlier_one_found():
    x = Value(3.0)
    y = x * x
    y.backward()
    y.backward()
    assert x.grad == 6.0


@pytest.mark.parametrize("data", ["1", None, float("nan"), [1.0]])
def test_a_value_is_a_finite_number(data, without_type_checks):
    with pytest.raises((TypeError, ValueError), match="Value: data must be a (finite )?number"):
        Value(data)
    with pytest.raises(TypeError, match="result must be a Value"):
        topological_order(data)
