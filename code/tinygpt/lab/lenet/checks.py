"""Checks of im2col, the convolution and its weight gradient.

Images hold small whole numbers, so that what messages say can be worked out on paper.
"""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.measures import array_of

# ---- im2col -------------------------------------------------------------------------------------


def test_unit_im2col(im2col):
    """On 3 × 4 pixels numbered from 1: the number of columns, and what stands in them."""
    image = _numbered(3, 4)
    columns = _array("im2col", im2col, image, 2)
    _shape("With a window of 2 on 3 × 4 pixels im2col", columns, (1, 4, 6))
    _column(columns, 0, [1, 2, 5, 6])
    _column(columns, 1, [2, 3, 6, 7])
    _column(columns, 3, [5, 6, 9, 10])
    columns = _array("im2col", im2col, np.full((1, 1, 1, 1), 0.5), 1)
    _number("A single pixel of 0.5 is a column of one number:", columns, 0.5)


def test_stride_im2col(im2col):
    """Steps of two pixels, in the patches and in their number; what is left over is left out."""
    columns = _array("im2col", im2col, _numbered(5, 5), 3, stride=2)
    _shape("With a window of 3 and stride 2 on 5 × 5 pixels im2col", columns, (1, 9, 4))
    _column(columns, 1, [3, 4, 5, 8, 9, 10, 13, 14, 15])
    columns = _array("im2col", im2col, _numbered(4, 6), 3, stride=2)
    _shape("With a window of 3 and stride 2 on 4 × 6 pixels im2col", columns, (1, 9, 2))


def test_padding_im2col(im2col):
    """Zeros on all four sides."""
    columns = _array("im2col", im2col, _numbered(2, 2), 3, padding=1)
    _shape("With a window of 3 and padding 1 on 2 × 2 pixels im2col", columns, (1, 9, 4))
    _column(columns, 0, [0, 0, 0, 0, 1, 2, 0, 3, 4])
    _column(columns, 3, [1, 2, 0, 3, 4, 0, 0, 0, 0])


def test_shapes_im2col(im2col):
    """Channels one below the other, images apart, and any sizes; the input is left alone."""
    two = np.concatenate([_numbered(2, 2), 10 * _numbered(2, 2)], axis=1)
    columns = _array("im2col", im2col, two, 2)
    _shape("With a window of 2 on two channels of 2 × 2 pixels im2col", columns, (1, 8, 1))
    _column(columns, 0, [1, 2, 3, 4, 10, 20, 30, 40])
    for case in _CASES:
        x, how = _images(case), (case["k"], case["stride"], case["padding"])
        before = x.copy()
        found = _array("im2col", im2col, x, *how)
        require(np.array_equal(x, before), "im2col should leave its input as it was; it changed it")
        expected = patches_of(x, *how)
        _shape(f"im2col of {_told(case)}", found, expected.shape)
        _same(f"im2col of {_told(case)}", found, expected)


# ---- conv2d -------------------------------------------------------------------------------------


def test_unit_conv2d(conv2d):
    """The kernel is not flipped; each kernel sees each channel; biases are added."""
    dot = np.zeros((1, 1, 3, 3))
    dot[0, 0, 1, 1] = 1
    kernel = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    found = _array("conv2d", conv2d, dot, kernel)
    _shape("A kernel of 2 × 2 on 3 × 3 pixels: conv2d", found, (1, 1, 2, 2))
    require(
        np.allclose(found, [[4, 3], [2, 1]]),
        "A single 1 in the middle meets the kernel [[1, 2], [3, 4]] from its last entry on; "
        f"conv2d should give [[4, 3], [2, 1]], got {_listed(found[0, 0])}",
    )
    pixel = np.array([1.0, 10.0]).reshape(1, 2, 1, 1)
    found = _array("conv2d", conv2d, pixel, np.array([3.0, 4.0]).reshape(1, 2, 1, 1))
    _shape("One pixel of two channels under one kernel of one pixel: conv2d", found, (1, 1, 1, 1))
    _number("The channels 1 and 10 under the weights 3 and 4 give 3 · 1 + 4 · 10:", found, 43)
    found = _array("conv2d", conv2d, np.zeros((1, 1, 2, 3)), np.ones((2, 1, 1, 1)), np.arange(2.0))
    _shape("Two kernels of one pixel on 2 × 3 pixels: conv2d", found, (1, 2, 2, 3))
    require(
        np.allclose(found, np.arange(2.0).reshape(1, 2, 1, 1)),
        "On an image of zeros the kernels with bias 0 and 1 should give all 0 and all 1, got "
        f"{_listed(found[0, 0])} and {_listed(found[0, 1])}",
    )


def test_batch_conv2d(conv2d):
    """Images and kernels stay apart."""
    x = np.array([1.0, 2.0]).reshape(2, 1, 1, 1)  # two images of one pixel
    found = _array("conv2d", conv2d, x, np.array([1.0, 10.0, 100.0]).reshape(3, 1, 1, 1))
    _shape("Three kernels on two images of one pixel: conv2d", found, (2, 3, 1, 1))
    require(
        np.allclose(found[0, :, 0, 0], [1, 10, 100]),
        "Image 0, a single pixel of 1, under the kernels 1, 10 and 100 should give 1, 10 and 100, "
        f"got {', '.join(f'{value:g}' for value in found[0, :, 0, 0])}",
    )
    x = np.array([1.0, 10.0]).reshape(1, 2, 1, 1)  # one pixel of two channels
    found = _array("conv2d", conv2d, x, np.array([3.0, 4.0, 5.0, 6.5]).reshape(2, 2, 1, 1))
    _shape("Two kernels on one pixel of two channels: conv2d", found, (1, 2, 1, 1))
    require(
        np.allclose(found[0, :, 0, 0], [43, 70]),
        "A pixel with the channels 1 and 10, under one kernel with the weights 3 and 4 and one "
        "with 5 and 6.5, should give 43 and 70, got "
        f"{' and '.join(f'{value:g}' for value in found[0, :, 0, 0])}",
    )


def test_shapes_conv2d(conv2d):
    """Any sizes, strides and paddings, as in the definition."""
    rng = np.random.default_rng(3)
    for case in _CASES:
        x = _images(case)
        weight = rng.integers(-3, 4, (4, x.shape[1], case["k"], case["k"])).astype(float)
        bias = rng.integers(-3, 4, 4).astype(float)
        before = [array.copy() for array in (x, weight, bias)]
        found = _array("conv2d", conv2d, x, weight, bias, case["stride"], case["padding"])
        expected = convolved(x, weight, bias, case["stride"], case["padding"])
        _shape(f"conv2d of {_told(case)}", found, expected.shape)
        _same(f"conv2d of {_told(case)}", found, expected)
        same = all(map(np.array_equal, before, (x, weight, bias)))
        require(same, "conv2d should leave its arguments as they were; it changed one")


# ---- the gradient of the kernels ----------------------------------------------------------------


def test_unit_conv2d_weight(conv2d_weight_gradient):
    """Each weight gets the sum of the pixels that it met, each times the gradient there."""
    image = _numbered(3, 3)
    ones = np.ones((1, 1, 2, 2))
    found = _array("conv2d_weight_gradient", conv2d_weight_gradient, image, ones, 2)
    _shape("For one kernel of 2 × 2 conv2d_weight_gradient", found, (1, 1, 2, 2))
    _number("The first weight met the pixels 1, 2, 4 and 5:", found[0, 0, 0, 0], 12)
    _number("The second weight met the pixels 2, 3, 5 and 6:", found[0, 0, 0, 1], 16)
    first = np.array([[[[1.0, 0.0], [0.0, 0.0]]]])
    found = _array("conv2d_weight_gradient", conv2d_weight_gradient, image, first, 2)
    require(
        np.allclose(found, [[1, 2], [4, 5]]),
        "With a gradient at the first place only, the weights get the first patch, "
        f"[[1, 2], [4, 5]]; got {_listed(found[0, 0])}",
    )


def test_batch_conv2d_weight(conv2d_weight_gradient):
    """All images share the kernels, so their gradients are added."""
    x = np.array([1.0, 10.0]).reshape(2, 1, 1, 1)
    grad = np.ones((2, 1, 1, 1))
    found = _array("conv2d_weight_gradient", conv2d_weight_gradient, x, grad, 1)
    _shape("For one kernel of one pixel conv2d_weight_gradient", found, (1, 1, 1, 1))
    _number("The weight met the pixel 1 in one image and 10 in the other:", found, 11)
    grad = np.array([[1.0, 2.0], [3.0, 4.5]]).reshape(2, 2, 1, 1)
    found = _array("conv2d_weight_gradient", conv2d_weight_gradient, x, grad, 1)
    _shape("For two kernels of one pixel conv2d_weight_gradient", found, (2, 1, 1, 1))
    require(
        np.allclose(found[:, 0, 0, 0], [31, 47]),
        "Two images of one pixel, 1 and 10; the gradients of two kernels are 1 and 2 in the first "
        "image, 3 and 4.5 in the second. The kernels should get 1 · 1 + 3 · 10 = 31 and "
        "2 · 1 + 4.5 · 10 = 47, got "
        f"{' and '.join(f'{value:g}' for value in found[:, 0, 0, 0])}",
    )
    x, grad = x.reshape(1, 2, 1, 1), np.array([1.0, 2.0]).reshape(1, 2, 1, 1)
    found = _array("conv2d_weight_gradient", conv2d_weight_gradient, x, grad, 1)
    _shape("For two kernels on two channels conv2d_weight_gradient", found, (2, 2, 1, 1))
    require(
        np.allclose(found[:, :, 0, 0], [[1, 10], [2, 20]]),
        "One pixel of two channels, 1 and 10, with gradients 1 and 2 for two kernels: a row for "
        f"each kernel should be [[1, 10], [2, 20]], got {_listed(found[:, :, 0, 0])}",
    )


def test_shapes_conv2d_weight(conv2d_weight_gradient):
    """Any sizes, strides and paddings: the loss changes as the gradient says."""
    rng = np.random.default_rng(4)
    for case in _CASES:
        x, k, how = _images(case), case["k"], (case["stride"], case["padding"])
        out = convolved(x, np.zeros((3, x.shape[1], k, k)), np.zeros(3), *how)
        grad = rng.integers(-2, 3, out.shape).astype(float)
        found = _array("conv2d_weight_gradient", conv2d_weight_gradient, x, grad, k, *how)
        _shape(f"conv2d_weight_gradient of {_told(case)}", found, (3, x.shape[1], k, k))
        columns = patches_of(x, k, *how)
        expected = np.einsum("bop,bkp->ok", grad.reshape(*grad.shape[:2], -1), columns)
        what = f"conv2d_weight_gradient of {_told(case)}"
        _same(what, found, expected.reshape(found.shape))


# ---- common -------------------------------------------------------------------------------------

_CASES = (
    {"shape": (2, 3, 5, 7), "k": 3, "stride": 1, "padding": 1},
    {"shape": (3, 2, 6, 5), "k": 2, "stride": 2, "padding": 0},
    {"shape": (1, 1, 7, 4), "k": 4, "stride": 3, "padding": 2},
    {"shape": (2, 4, 1, 3), "k": 1, "stride": 1, "padding": 0},
)


def _numbered(height, width):
    return np.arange(1.0, height * width + 1).reshape(1, 1, height, width)


def _images(case):
    return np.random.default_rng(2).integers(-5, 6, case["shape"]).astype(float)


def _told(case):
    shape, k, stride, padding = case.values()
    return f"an input of shape {shape} with kernel {k}, stride {stride} and padding {padding}"


def _array(symbol, function, *arguments, **named):
    return array_of(symbol, function(*arguments, **named))


def _shape(what, found, expected):
    require(
        found.shape == expected, f"{what} should return the shape {expected}, got {found.shape}"
    )


def _column(columns, place, expected):
    found = columns[0, :, place]
    require(
        np.array_equal(found, expected),
        f"Column {place} should hold the patch {expected}, got {_listed(found)}",
    )


def _number(what, found, expected):
    value = float(np.ravel(found)[0])
    require(abs(value - expected) < 1e-4, f"{what} it should be {expected}, got {value:g}")


def _same(what, found, expected):
    difference = float(np.abs(found - expected).max(initial=0.0))
    require(difference < 1e-3, f"{what} differs from the definition by up to {difference:g}")


def _listed(values):
    return str([_listed_row(row) for row in values] if values.ndim > 1 else _listed_row(values))


def _listed_row(row):
    return [int(value) if value == int(value) else round(float(value), 2) for value in row]


def patches_of(x, k, stride, padding):
    sides = (padding, padding)
    padded = np.pad(x, ((0, 0), (0, 0), sides, sides))
    rows = range(0, padded.shape[2] - k + 1, stride)
    columns = range(0, padded.shape[3] - k + 1, stride)
    patches = [
        padded[:, :, i : i + k, j : j + k].reshape(len(x), -1) for i in rows for j in columns
    ]
    return np.stack(patches, axis=-1)


def convolved(x, weight, bias, stride, padding):
    patches = patches_of(x, weight.shape[2], stride, padding)
    out = np.einsum("ok,bkp->bop", weight.reshape(len(weight), -1), patches) + bias[:, None]
    rows = (x.shape[2] + 2 * padding - weight.shape[2]) // stride + 1
    return out.reshape(len(x), len(weight), rows, -1)
