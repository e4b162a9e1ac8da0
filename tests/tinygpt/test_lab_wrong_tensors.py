"""Tensors: answers that are wrong in some regime are found, unusual right ones pass."""

import numpy as np
import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, grade

WRONG = [
    ("topological_order", "two_parents", [("node.parents", "node.parents[:2]")]),
    (
        "topological_order",
        "by_value",
        [("id(node) not in seen", "node.data not in seen"), ("add(id(node))", "add(node.data)")],
    ),
    (
        "topological_order",
        "gradients_set",
        [("order.append(node)", "node.grad = 0.0; order.append(node)")],
    ),
    (
        "topological_order",
        "sorted_by_value",
        [("return order", "return sorted(order, key=lambda n: n.data)")],
    ),
    ("topological_order", "the_last_twelve", [("return order", "return order[-12:]")]),
    (
        "backward",
        "two_parents",
        [("node.parents, node.slopes", "node.parents[:2], node.slopes[:2]")],
    ),
    ("backward", "positive_slopes", [("+= slope", "+= abs(slope)")]),
    ("backward", "slopes_of_whole_numbers", [("+= slope", "+= round(slope)")]),
    ("backward", "values_changed", [("result.grad = 1.0", "result.grad = 1.0; result.data += 1")]),
    ("backward", "only_some_cleared", [("for node in order:", "for node in order[2:]:")]),
    ("unbroadcast", "float32", [("grad.sum", "grad.astype(np.float32).sum")]),
    ("unbroadcast", "cut_off", [("grad.sum", "grad.clip(-3, 3).round(6).sum")]),
    ("unbroadcast", "grad_cleared", [(":", "    kept, grad = grad, grad.copy(); kept[...] = 0")]),
    ("matmul_backward", "float32", [("grad @ b", "grad @ b.astype(np.float32)")]),
    ("matmul_backward", "a_sum_of_the_first_three", [("grad @ b", "grad[..., :3] @ b[..., :3]")]),
    ("matmul_backward", "whole_numbers", [(":", "    a, b = a.round(), b.round()")]),
    (
        "numerical_gradient",
        "float32_given_back",
        [("return gradient", "return gradient.astype(np.float32)")],
    ),
    (
        "numerical_gradient",
        "halves_kept",
        [("dtype=np.float64", "dtype=np.float16 if x.dtype == np.float16 else np.float64")],
    ),
    ("numerical_gradient", "another_nudge", [("eps=1e-05", "eps=2e-05")]),
    (
        "numerical_gradient",
        "flat_view",
        [
            ("gradient =", "y, x = x, x.ravel(); gradient ="),
            ("ahead = function(x)", "ahead = function(y)"),
            ("behind = function(x)", "behind = function(y)"),
            ("return gradient", "return gradient.reshape(y.shape)"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("exercise", "changes"),
    [pytest.param(name, changes, id=f"{name}-{what}") for name, what, changes in WRONG],
)
def test_what_is_wrong_somewhere_is_found(exercise, changes):
    result = grade(lab.exercise(exercise), edited(exercise, *changes))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


def in_the_order_of_making(result):
    """Breadth first, then by how deep a number stands."""
    depth, waiting = {}, [result]
    while waiting:
        node = waiting[-1]
        missing = [parent for parent in node.parents if parent not in depth]
        waiting.extend(missing)
        if not missing:
            depth[node] = 1 + max((depth[parent] for parent in node.parents), default=0)
            waiting.pop()
    return sorted(depth, key=depth.get)


def by_moving_axes(grad, shape):
    full = (1,) * (grad.ndim - len(shape)) + shape
    for axis, length in enumerate(full):
        if length == 1:
            grad = np.add.reduce(grad, axis=axis, keepdims=True)
    return np.reshape(grad, shape)


def with_einsum(grad, a, b):
    da = np.einsum("...mn,...kn->...mk", grad, b)
    db = np.einsum("...mk,...mn->...kn", a, grad)
    return [by_moving_axes(da, a.shape), by_moving_axes(db, b.shape)]


def from_a_copy_for_each(function, x, eps=1e-5):
    gradient = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        nudge = np.zeros(x.shape)
        nudge[place] = eps
        gradient[place] = (function(x + nudge) - function(x - nudge)) / eps / 2
    return gradient


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("topological_order", in_the_order_of_making),
        ("unbroadcast", by_moving_axes),
        ("matmul_backward", with_einsum),
        ("numerical_gradient", from_a_copy_for_each),
    ],
)
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message
