"""Convolution and pooling of images, with gradients worked out by hand.

Images have the shape (B, C, H, W): images in the batch, channels, rows, columns, as in
PyTorch. What these functions return has that shape too, but lies in memory with the images
last. A step of NumPy's inner loop then runs over the same pixel of every image, which is
long, and not along a row of one image, which may have eight pixels.

Written g: the gradient of the loss with respect to the result.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tinygpt.scratch.layers import Module, uniform_parameter
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float
from tinygpt.validate import (
    describe,
    flag,
    instance,
    integer,
    is_integer,
    positive_integer,
    size_integer,
)


def output_size(size: int, kernel_size: int, stride: int = 1, padding: int = 0) -> int:
    """Return at how many places a window fits along one axis.

    ⌊(size + 2 padding - kernel_size) / stride⌋ + 1

    Args:
        size: length of the axis, in pixels.
        kernel_size: length of the window.
        stride: pixels from one place to the next.
        padding: pixels added at each of the two ends.

    Raises:
        ValueError: when the window does not fit even once.
    """
    positive_integer("output_size", "size", size)
    positive_integer("output_size", "kernel_size", kernel_size)
    positive_integer("output_size", "stride", stride)
    room = size + 2 * integer("output_size", "padding", padding) - kernel_size
    if room < 0:
        raise ValueError(
            f"output_size: a window of {kernel_size} does not fit into {size + 2 * padding} pixels "
            f"(size={size}, padding={padding})"
        )
    return room // stride + 1


def im2col(
    x: Float[np.ndarray, "B C H W"],
    kernel_size: int | tuple[int, int],
    stride: int = 1,
    padding: int = 0,
) -> Float[np.ndarray, "B K P"]:
    """Write every patch that a window sees as one column.

    columns[b, (c, i, j), (y, x)] = x[b, c, y·stride + i - padding, x·stride + j - padding]

    and 0 outside the image. A pixel is copied once for each window that it lies in.

    Args:
        x: images.
        kernel_size: rows and columns of the window; one number for a square.
        stride: pixels from one place of the window to the next, along both axes.
        padding: zeros added on each of the four sides.

    Returns:
        (B, C·kh·kw, OH·OW), a column for each place, row of places by row of places. In
        memory the images come last.

    Source: Chellapilla, Puri and Simard (2006), section 3.1; the layout of torch's `unfold`.
    """
    height, width = _pair("im2col", "kernel_size", kernel_size)
    batch, channels = _images("im2col", x).shape[:2]
    positive_integer("im2col", "stride", stride)
    size_integer("im2col", "padding", padding)
    padded = _pad(x, padding)
    rows, columns = _places(padded, height, width, stride)
    windows = sliding_window_view(padded, (height, width), axis=(2, 3))[:, :, ::stride, ::stride]
    windows = windows.transpose(1, 4, 5, 2, 3, 0)  # (C, kh, kw, OH, OW, B)
    flat = windows.reshape(channels * height * width, rows * columns, batch)  # the copy
    return flat.transpose(2, 0, 1)  # (B, K, P)


def col2im(
    columns: Float[np.ndarray, "B K P"],
    shape: tuple[int, int, int, int],
    kernel_size: int | tuple[int, int],
    stride: int = 1,
    padding: int = 0,
) -> Float[np.ndarray, "B C H W"]:
    """Add every column back to the pixels that it was copied from: the transpose of `im2col`.

    A pixel that was copied n times gets the sum of n numbers, as the gradient of a copy must.

    Args:
        columns: what im2col returns for images of this shape, or its gradient.
        shape: (B, C, H, W) of the images.
        kernel_size, stride, padding: as given to im2col.

    Raises:
        TypeError, ValueError: when columns are not what im2col returns for these.
    """
    kh, kw = _pair("col2im", "kernel_size", kernel_size)
    _check_columns(columns, shape, stride, padding)
    batch, channels, height, width = shape
    padded = _pad(_images_last(shape, columns.dtype), padding)
    rows, places = _places(padded, kh, kw, stride)
    if columns.shape != (batch, channels * kh * kw, rows * places):
        raise ValueError(
            f"col2im: columns must have shape {(batch, channels * kh * kw, rows * places)} for "
            f"images of shape {tuple(shape)}, got {columns.shape}"
        )
    parts = columns.reshape(batch, channels, kh, kw, rows, places)
    for i in range(kh):
        for j in range(kw):
            _part(padded, i, j, rows, places, stride)[...] += parts[:, :, i, j]
    return padded[:, :, padding : padding + height, padding : padding + width]


def _check_columns(columns, shape, stride, padding):
    if not isinstance(columns, np.ndarray) or columns.dtype.kind != "f":
        raise TypeError(f"col2im: columns must be an array of floats, got {describe(columns)}")
    if not isinstance(shape, (tuple, list)) or len(shape) != 4:
        raise TypeError(f"col2im: shape must be four integers (B, C, H, W), got {describe(shape)}")
    for length in shape:
        size_integer("col2im", "every length in shape", length)
    positive_integer("col2im", "stride", stride)
    size_integer("col2im", "padding", padding)


def conv2d(
    x: Float[Tensor, "B C H W"],
    weight: Float[Tensor, "O C kh kw"],
    bias: Float[Tensor, "O"] | None = None,
    stride: int = 1,
    padding: int = 0,
) -> Float[Tensor, "B O OH OW"]:
    """Slide O kernels over the images; each result is a weighted sum of one patch.

    y[b, o, u, v] = bias[o] + Σ_{c, i, j} weight[o, c, i, j] · x[b, c, u·stride + i, v·stride + j]

    The kernel is not flipped, so mathematicians call this a cross-correlation. With the
    patches as columns it is one matrix product, Y = W X, and so are its gradients:
    dW = g Xᵀ, dX = Wᵀ g, which col2im adds up to dx; db = the sum of g over images and places.

    Args:
        x: images.
        weight: kernels.
        bias: one number for each kernel.
        stride: pixels from one place of the kernel to the next.
        padding: zeros added on each of the four sides.

    Returns:
        (B, O, OH, OW), with OH and OW by `output_size`.

    Raises:
        ValueError: when shapes do not fit, or the kernel is larger than the padded image.

    Source: LeCun et al. (1998), section II; Chellapilla, Puri and Simard (2006) for the product.
    """
    _check_conv2d(x, weight, bias)
    kernels, window = weight.shape[0], weight.shape[2:]
    batch, _, height, width = x.shape
    columns = im2col(x.data, window, stride, padding)  # (B, K, P)
    down = output_size(height, window[0], stride, padding)
    across = output_size(width, window[1], stride, padding)
    # One product over all images: free of copies, since the images lie last in memory.
    flat = columns.transpose(1, 2, 0).reshape(columns.shape[1], -1)  # (K, P·B)
    matrix = weight.data.reshape(kernels, -1)  # (O, K)
    out = matrix @ flat  # (O, P·B)
    if bias is not None:
        out += bias.data[:, None]

    def backward(grad):
        grad = grad.transpose(1, 2, 3, 0).reshape(kernels, -1)  # (O, P·B)
        if bias is not None and bias.requires_grad:
            bias.accumulate(grad.sum(axis=1))
        if weight.requires_grad:
            weight.accumulate((grad @ flat.T).reshape(weight.shape))
        if x.requires_grad:
            dcolumns = (matrix.T @ grad).reshape(len(flat), -1, batch).transpose(2, 0, 1)
            x.accumulate(col2im(dcolumns, x.shape, window, stride, padding))

    parents = (x, weight) if bias is None else (x, weight, bias)
    out = out.reshape(kernels, down, across, batch).transpose(3, 0, 1, 2)  # (B, O, OH, OW)
    return Tensor.from_operation(out, parents, backward)


def max_pool2d(
    x: Float[Tensor, "B C H W"],
    kernel_size: int | tuple[int, int],
    stride: int | None = None,
    padding: int = 0,
) -> Float[Tensor, "B C OH OW"]:
    """Keep the largest number of every window, in each channel by itself.

    y[b, c, u, v] = max_{i, j} x[b, c, u·stride + i, v·stride + j];  dx is g at the place of the
    maximum and 0 elsewhere. Of equal maxima the first gets it, row by row, as in PyTorch.

    Args:
        x: images.
        kernel_size: rows and columns of the window; one number for a square.
        stride: pixels from one place of the window to the next; None: kernel_size, so that
            windows touch and do not overlap.
        padding: rows and columns of -∞ added on each side, at most half the window.

    Raises:
        ValueError: when the window is larger than the padded image, or padding than half of it.

    Source: LeCun et al. (1998) average instead; the maximum is that of Riesenhuber and
    Poggio (1999).
    """
    _images("max_pool2d", instance("max_pool2d", "x", x, Tensor).data)
    window = _pair("max_pool2d", "kernel_size", kernel_size)
    if stride is None and window[0] != window[1]:
        raise ValueError(f"max_pool2d: a window of {window} needs a stride, got None")
    stride = window[0] if stride is None else positive_integer("max_pool2d", "stride", stride)
    integer("max_pool2d", "padding", padding, high=min(window) // 2)
    padded = _pad(x.data, padding, -np.inf)
    places = _places(padded, *window, stride)
    offsets = [(i, j) for i in range(window[0]) for j in range(window[1])]
    out = _part(padded, 0, 0, *places, stride).copy(order="K")
    for i, j in offsets[1:]:
        np.maximum(out, _part(padded, i, j, *places, stride), out=out)

    def backward(grad):
        dpadded = np.zeros_like(padded)
        waiting = np.ones_like(out, dtype=bool)  # windows whose maximum is not found yet
        for i, j in offsets:
            here = _part(padded, i, j, *places, stride) == out
            here &= waiting
            waiting ^= here
            _part(dpadded, i, j, *places, stride)[...] += grad * here
        height, width = x.shape[2:]
        x.accumulate(dpadded[:, :, padding : padding + height, padding : padding + width])

    return Tensor.from_operation(out, (x,), backward)


class Conv2d(Module):
    """A layer of kernels that slide over images; see `conv2d`.

    Weights and biases start uniform between -1/√n and 1/√n, where n = in_channels · kh · kw is
    how many numbers a kernel adds up, as in PyTorch.

    Args:
        in_channels: channels of the input, C.
        out_channels: kernels, and so channels of the output, O.
        kernel_size: rows and columns of a kernel; one number for a square.
        stride: pixels from one place of the kernel to the next.
        padding: zeros added on each of the four sides.
        bias: whether each kernel has a number that is added to its sums.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
    ):
        in_channels = positive_integer("Conv2d", "in_channels", in_channels)
        out_channels = positive_integer("Conv2d", "out_channels", out_channels)
        window = _pair("Conv2d", "kernel_size", kernel_size)
        self.stride = positive_integer("Conv2d", "stride", stride)
        self.padding = integer("Conv2d", "padding", padding)
        bound = 1 / math.sqrt(in_channels * math.prod(window))
        self.weight = uniform_parameter((out_channels, in_channels, *window), bound)
        bias = flag("Conv2d", "bias", bias)
        self.bias = uniform_parameter((out_channels,), bound) if bias else None

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B O OH OW"]:
        """Map (B, in_channels, H, W) to (B, out_channels, OH, OW)."""
        return conv2d(x, self.weight, self.bias, self.stride, self.padding)


class MaxPool2d(Module):
    """Keep the largest number of every window; see `max_pool2d`."""

    def __init__(
        self, kernel_size: int | tuple[int, int], stride: int | None = None, padding: int = 0
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C OH OW"]:
        """Map (B, C, H, W) to (B, C, OH, OW)."""
        return max_pool2d(x, self.kernel_size, self.stride, self.padding)


def _part(images, i, j, rows, columns, stride):
    """Return, as a view, the pixel at (i, j) of every window: (B, C, OH, OW)."""
    down = slice(i, i + stride * (rows - 1) + 1, stride)
    return images[:, :, down, j : j + stride * (columns - 1) + 1 : stride]


def _places(padded, height, width, stride):
    """Return at how many places a window fits, down and across."""
    down, across = padded.shape[2:]
    return output_size(down, height, stride), output_size(across, width, stride)


def _images_last(shape, dtype, value=0.0):
    """Return a new array (B, C, H, W) in whose memory the images come last."""
    batch, *rest = shape
    return np.full((*rest, batch), value, dtype).transpose(3, 0, 1, 2)


def _pad(x, padding, value=0.0):
    """Return x with a margin on its four sides, and the images last in memory."""
    batch, channels, height, width = x.shape
    margin = 2 * integer("convolution", "padding", padding)
    padded = _images_last((batch, channels, height + margin, width + margin), x.dtype, value)
    padded[:, :, padding : padding + height, padding : padding + width] = x
    return padded


def _pair(where, name, value):
    """Return two positive integers, of two or of one."""
    if is_integer(value):
        value = (value, value)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(
            f"{where}: {name} must be a positive integer or two of them, got {describe(value)}"
        )
    return tuple(positive_integer(where, name, one) for one in value)


def _images(where, x):
    if instance(where, "x", x, np.ndarray).ndim != 4:
        raise ValueError(f"{where}: x must have shape (B, C, H, W), got {x.shape}")
    return x


def _check_conv2d(x, weight, bias):
    _images("conv2d", instance("conv2d", "x", x, Tensor).data)
    if instance("conv2d", "weight", weight, Tensor).ndim != 4:
        raise ValueError(f"conv2d: weight must have shape (O, C, kh, kw), got {weight.shape}")
    if x.shape[1] != weight.shape[1]:
        raise ValueError(
            f"conv2d: x has {x.shape[1]} channels and the kernels of weight {weight.shape[1]}; "
            f"got shapes {x.shape} and {weight.shape}"
        )
    if bias is not None and instance("conv2d", "bias", bias, Tensor).shape != weight.shape[:1]:
        raise ValueError(f"conv2d: bias must have shape {weight.shape[:1]}, got {bias.shape}")
