"""LeNet on digits: five pieces to write. Read the chapter beside them.

    tinygpt lab check lenet           check all five
    tinygpt lab check lenet im2col    check one
    tinygpt lab hint lenet im2col     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are. Everything
imported here is given, and may be used; `scratch.im2col` is the book's own, for when yours is
not written yet. All but max_pool2d work on plain NumPy arrays.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
"""

# ruff: noqa: F401
import numpy as np

from tinygpt import scratch
from tinygpt.scratch import Tensor
from tinygpt.shapes import Float, Int


def im2col(x, kernel_size, stride=1, padding=0):
    """Return every patch that a square window sees, written as one column.

    Args:
        x: NumPy array of images, (B, C, H, W).
        kernel_size: rows and columns of the window, k.
        stride: pixels from one place of the window to the next, along both axes.
        padding: rows and columns of zeros to add on each of the four sides.

    Returns:
        NumPy array (B, C·k·k, OH·OW), with OH = (H + 2·padding - k) // stride + 1, and OW in
        the same way from W. Down a column: channel by channel, in a channel row by row of the
        patch. Across: the places from left to right, row by row.
    """
    raise NotImplementedError


def conv2d(x, weight, bias=None, stride=1, padding=0):
    """Return what O kernels give at every place of the images.

    y[b, o, u, v] = bias[o] + the sum over c, i, j of
                    weight[o, c, i, j] · padded x[b, c, u·stride + i, v·stride + j]

    Args:
        x: NumPy array of images, (B, C, H, W).
        weight: kernels, NumPy array (O, C, k, k).
        bias: NumPy array (O,), or None.
        stride, padding: as for im2col, which may be used, yours or the book's.

    Returns:
        NumPy array (B, O, OH, OW).
    """
    raise NotImplementedError


def conv2d_weight_gradient(x, grad, kernel_size, stride=1, padding=0):
    """Return the gradient of the loss with respect to the kernels of a convolution.

    Args:
        x: the images that went in, NumPy array (B, C, H, W).
        grad: the gradient of the loss with respect to what came out, (B, O, OH, OW).
        kernel_size: rows and columns of the kernels, k.
        stride, padding: those of the convolution.

    Returns:
        NumPy array (O, C, k, k).
    """
    raise NotImplementedError


def max_pool2d(x, kernel_size, stride=None):
    """Return the largest number of every window, in each channel by itself.

    Args:
        x: Tensor of images, (B, C, H, W); x.data is the NumPy array.
        kernel_size: rows and columns of the window, k.
        stride: pixels from one place of the window to the next; kernel_size when None.

    Returns:
        Tensor (B, C, OH, OW), with OH = (H - k) // stride + 1, and OW in the same way from W.

    The gradient goes to the place of the maximum: of equal ones to the first, row by row. Make
    the result with `Tensor.from_operation(out, (x,), backward)`. There `out` is a NumPy array,
    and `backward(grad)` gets one of its shape and hands the gradient of x to `x.accumulate`.
    """
    raise NotImplementedError


def confusion_matrix(labels, predictions, num_classes):
    """Return how often each class was taken for each.

    Args:
        labels: what each example is, NumPy array of integers (N,).
        predictions: what it was called, (N,).
        num_classes: number of classes, V; some may not occur.

    Returns:
        NumPy array of integers (V, V): [i, j] counts the examples of class i that were called j.
    """
    raise NotImplementedError
