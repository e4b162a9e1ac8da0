"""Checks on images, windows and labels drawn at random: sizes, types and fractions."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.lenet.checks import convolved, patches_of
from tinygpt.lab.lenet.checks_pooling import pooled_slowly
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Tensor

_TYPES = (np.float64, np.float32)
_SIZES = {"k": range(1, 6), "stride": (1, 4, 2, 3), "padding": range(4), "dtype": _TYPES}

# ---- patches and convolutions -------------------------------------------------------------------


def test_drawn_im2col(im2col):
    """Images of any size and number, windows, strides and paddings, of both types."""
    for case in cases(41, 12, **_SIZES):
        x = _images(case)
        with undisturbed("im2col", input=x):
            found = im2col(x, case.k, case.stride, case.padding)
        _agree(
            f"im2col of {_told(case, x)}", found, patches_of(x, case.k, case.stride, case.padding)
        )


def test_drawn_conv2d(conv2d):
    """Any number of kernels, with and without biases; to the last digits."""
    for case in cases(42, 12, kernels=range(1, 6), **_SIZES):
        x = _images(case)
        weight = case.numbers(case.kernels, x.shape[1], case.k, case.k, dtype=case.dtype)
        bias = case.numbers(case.kernels, dtype=case.dtype) if case.rng.random() < 0.6 else None
        with undisturbed("conv2d", input=x, weight=weight, bias=bias):
            found = conv2d(x, weight, bias, case.stride, case.padding)
        zeros = np.zeros(case.kernels)
        expected = convolved(x, weight, zeros if bias is None else bias, case.stride, case.padding)
        with_bias = "without a bias" if bias is None else "with a bias"
        _agree(
            f"conv2d of {_told(case, x)}, {case.kernels} kernels {with_bias}",
            found,
            expected,
            _limit(case),
        )


def test_drawn_conv2d_weight(conv2d_weight_gradient):
    """Any number of images and kernels, and pixels that no window reaches."""
    for case in cases(43, 12, kernels=range(1, 6), **_SIZES):
        x = _images(case)
        shape = case.kernels, x.shape[1], case.k, case.k
        out = convolved(x, np.zeros(shape), np.zeros(case.kernels), case.stride, case.padding)
        grad = case.numbers(*out.shape, dtype=case.dtype)
        with undisturbed("conv2d_weight_gradient", input=x, grad=grad):
            found = conv2d_weight_gradient(x, grad, case.k, case.stride, case.padding)
        columns = patches_of(x, case.k, case.stride, case.padding)
        expected = np.einsum("bop,bkp->ok", grad.reshape(*grad.shape[:2], -1), columns)
        _agree(
            f"conv2d_weight_gradient of {_told(case, x)} and {case.kernels} kernels",
            found,
            expected.reshape(shape),
            _limit(case),
        )


def _images(case) -> np.ndarray:
    """Images that the window fits into with their padding, one pixel wide or more."""
    least = max(1, case.k - 2 * case.padding)
    height, width = (least + int(n) for n in case.rng.integers(0, 6, 2))
    batch, channels = (int(n) for n in case.rng.integers(1, 4, 2))
    return case.numbers(batch, channels, height, width, dtype=case.dtype)


def _told(case, x) -> str:
    return (
        f"an input of shape {x.shape}, of {case.dtype.__name__}, with kernel {case.k}, stride "
        f"{case.stride} and padding {case.padding}"
    )


def _limit(case) -> float:
    return 1e-10 if case.dtype == np.float64 else 1e-3


def _agree(what, found, expected, limit=0.0):
    require(
        np.shape(found) == expected.shape,
        f"{what} should return the shape {expected.shape}, got {np.shape(found)}",
    )
    difference = float(np.abs(found - expected).max(initial=0.0))
    require(difference <= limit, f"{what} differs from the definition by up to {difference:.2g}")


# ---- pooling ------------------------------------------------------------------------------------


def test_drawn_max_pool2d(max_pool2d):
    """Windows that overlap, touch or leave gaps; ties; negative numbers; any gradient."""
    strides = (1, None, 4, 2)
    for case in cases(44, 12, k=range(1, 5), stride=strides, ties=(True, False), dtype=_TYPES):
        height, width = (case.k + int(n) for n in case.rng.integers(0, 7, 2))
        batch, channels = (int(n) for n in case.rng.integers(1, 4, 2))
        data = case.numbers(batch, channels, height, width, dtype=case.dtype, offset=-9.0)
        data = np.round(data) if case.ties else data
        x = Tensor(data, requires_grad=True, dtype=case.dtype)
        with undisturbed("max_pool2d", input=x):
            out = max_pool2d(x, case.k, case.stride)
        stride = case.k if case.stride is None else case.stride
        expected, _ = pooled_slowly(data, case.k, stride)
        what = (
            f"max_pool2d of shape {data.shape}, of {case.dtype.__name__}, with window {case.k} "
            f"and stride {case.stride}"
        )
        require(
            out.shape == expected.shape and np.array_equal(out.data, expected),
            f"{what} should keep the largest of each window, exactly; it does not",
        )
        grad = case.numbers(*out.shape, dtype=case.dtype)
        x.grad = np.ones_like(data)  # what another part of a larger loss has left there
        with undisturbed("max_pool2d", gradient=grad):
            out.backward(grad)
        wanted = np.ones(data.shape)
        for b, c, i, j in np.ndindex(out.shape):
            window = data[b, c, i * stride :, j * stride :][: case.k, : case.k]
            down, across = np.unravel_index(window.argmax(), window.shape)
            wanted[b, c, i * stride + down, j * stride + across] += grad[b, c, i, j]
        difference = float(np.abs(x.grad - wanted).max())
        require(
            difference < (1e-10 if case.dtype == np.float64 else 1e-4),
            f"{what} should add each gradient at the first maximum of its window; it is off by "
            f"{difference:.2g}",
        )


# ---- confusion_matrix ---------------------------------------------------------------------------


def test_drawn_confusion_matrix(confusion_matrix):
    """One class or many, labels of every integer type, and counts of every size."""
    types = (np.uint8, np.int64, np.int8, np.int32, np.uint16)
    for case in cases(45, 16, classes=(1, 40, 2, 10, 26), examples=(70_000, 0, 1, 300), kind=types):
        common = int(case.rng.integers(2)) * (2 * case.examples // 3)  # of one class, all right
        labels, predictions = (
            case.integers(0, case.classes, case.examples, dtype=case.kind) for _ in range(2)
        )
        labels[:common] = predictions[:common] = case.classes - 1
        with undisturbed("confusion_matrix", labels=labels, predictions=predictions):
            found = confusion_matrix(labels, predictions, case.classes)
        places = labels.astype(np.int64) * case.classes + predictions.astype(np.int64)
        expected = np.bincount(places, minlength=case.classes**2)
        expected = expected.reshape(case.classes, case.classes)
        what = (
            f"Of {case.examples:,} examples of {case.classes} classes, with labels of "
            f"{case.kind.__name__},"
        )
        require(
            np.shape(found) == expected.shape and np.array_equal(found, expected),
            f"{what} a count is wrong",
        )
        require(found.dtype.kind in "iu", f"{what} the counts should be integers")
