"""LeNet: answers that are wrong in some regime are found, unusual right ones pass."""

import numpy as np
import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, grade
from tinygpt.scratch import Tensor

COLUMNS = "return columns.reshape(batch, channels * kernel_size ** 2, rows * places)"
WRONG = [
    ("im2col", "float32", [(COLUMNS, COLUMNS + ".astype(np.float32)")]),
    ("im2col", "whole_numbers_and_halves", [(COLUMNS, COLUMNS + ".__mul__(2).round() / 2")]),
    (
        "im2col",
        "padding_up_to_two",
        [
            (
                ":",
                "    if padding > 2: x, padding = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "
                "mode='edge'), padding - 1",
            )
        ],
    ),
    ("im2col", "input_cleared", [("columns = np.empty", "x *= 1 + 1e-9; columns = np.empty")]),
    (
        "conv2d",
        "flipped_above_four",
        [(":", "    weight = weight[..., ::-1, ::-1] if weight.shape[-1] > 4 else weight")],
    ),
    ("conv2d", "float32", [("weight.reshape", "weight.astype(np.float32).reshape")]),
    (
        "conv2d",
        "bias_of_four_kernels_at_most",
        [("bias[:, None]", "(bias * (np.arange(len(bias)) < 4))[:, None]")],
    ),
    (
        "conv2d",
        "bias_added_in_place",
        [("out = out + bias[:, None]", "bias *= 2; out = out + bias[:, None] / 2")],
    ),
    (
        "conv2d_weight",
        "three_images",
        [
            (
                ":",
                "    x, grad = x[:1] if x[0].size > 100 else x, grad[:1] if x[0].size > 100 "
                "else grad",
            )
        ],
    ),
    ("conv2d_weight", "float32", [("grad @ columns", "grad @ columns.astype(np.float32)")]),
    ("conv2d_weight", "gradient_clipped", [("grad @ columns", "grad.clip(-2, 4.5) @ columns")]),
    ("conv2d_weight", "gradient_changed", [(":", "    grad *= 1 + 1e-9")]),
    ("max_pool2d", "gradient_replaced", [("x.accumulate(dx)", "x.grad = dx")]),
    (
        "max_pool2d",
        "last_of_more_than_nine",
        [
            (
                "values.argmax(axis=0)",
                "(values.argmax(axis=0) if len(values) < 16 else len(values) - 1 - "
                "values[::-1].argmax(axis=0))",
            )
        ],
    ),
    (
        "max_pool2d",
        "float32",
        [("values.max(axis=0)", "values.max(axis=0).astype(np.float32).astype(x.data.dtype)")],
    ),
    ("max_pool2d", "positive_gradients", [("dx[part] += grad", "dx[part] += np.abs(grad)")]),
    (
        "max_pool2d",
        "not_below_minus_nine",
        [
            ("values = np.stack(", "values = np.maximum(-9, "),
            ("for part in parts])", "for part in parts])"),
        ],
    ),
    (
        "confusion_matrix",
        "counts_up_to_32767",
        [("return counts.reshape", "return counts.astype(np.int16).reshape")],
    ),
    (
        "confusion_matrix",
        "in_the_type_of_the_labels",
        [
            (
                "num_classes * labels",
                "(num_classes * labels.astype(np.uint8)).astype(int)",
            )
        ],
    ),
    ("confusion_matrix", "ten_classes", [("+ predictions", "+ np.minimum(predictions, 9)")]),
    (
        "confusion_matrix",
        "all_of_one_class",
        [("return counts", "counts = counts * (num_classes > 1); return counts")],
    ),
]


@pytest.mark.parametrize(
    ("exercise", "changes"),
    [pytest.param(name, changes, id=f"{name}-{what}") for name, what, changes in WRONG],
)
def test_what_is_wrong_somewhere_is_found(exercise, changes):
    result = grade(lab.exercise(exercise), edited(exercise, *changes))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


def _windows(x, size, stride, padding):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    seen = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return seen[:, :, ::stride, ::stride]  # (B, C, OH, OW, k, k)


def through_views(x, kernel_size, stride=1, padding=0):
    seen = _windows(x, kernel_size, stride, padding)
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), -1, seen.shape[2] * seen.shape[3])


def with_einsum(x, weight, bias=None, stride=1, padding=0):
    out = np.einsum("bcuvij,ocij->bouv", _windows(x, weight.shape[-1], stride, padding), weight)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


def gradient_with_einsum(x, grad, kernel_size, stride=1, padding=0):
    return np.einsum("bcuvij,bouv->ocij", _windows(x, kernel_size, stride, padding), grad)


def place_by_place(x, kernel_size, stride=None):
    stride, k = stride or kernel_size, kernel_size
    height, width = ((n - k) // stride + 1 for n in x.shape[2:])
    out = np.zeros((*x.shape[:2], height, width), x.dtype)
    winners = {}
    for place in np.ndindex(out.shape):
        b, c, i, j = place
        window = x.data[b, c, i * stride : i * stride + k, j * stride : j * stride + k]
        down, across = divmod(int(np.argmax(window)), k)
        out[place], winners[place] = window.max(), (b, c, i * stride + down, j * stride + across)

    def backward(grad):
        dx = np.zeros(x.shape, x.dtype)
        for place, winner in winners.items():
            dx[winner] += grad[place]
        x.accumulate(dx)

    return Tensor.from_operation(out, (x,), backward)


def counted_one_by_one(labels, predictions, num_classes):
    matrix = np.zeros((num_classes, num_classes), dtype=np.int32)
    for label, prediction in zip(labels.tolist(), predictions.tolist(), strict=True):
        matrix[label, prediction] += 1
    return matrix


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("im2col", through_views),
        ("conv2d", with_einsum),
        ("conv2d_weight", gradient_with_einsum),
        ("max_pool2d", place_by_place),
        ("confusion_matrix", counted_one_by_one),
    ],
)
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message
