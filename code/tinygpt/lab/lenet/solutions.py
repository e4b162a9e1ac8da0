"""Answers to learn from, and the package's functions in the form that the exercises ask for.

The package keeps the images last in memory, works on Tensors, and takes windows that are not
square; the answers here do not.
"""

import numpy as np

from tinygpt import scratch
from tinygpt.scratch import Tensor


def im2col(x, kernel_size, stride=1, padding=0):
    """Write every patch that a window sees as one column."""
    sides = (padding, padding)
    padded = np.pad(x, ((0, 0), (0, 0), sides, sides))
    batch, channels, height, width = padded.shape
    rows = (height - kernel_size) // stride + 1
    places = (width - kernel_size) // stride + 1
    columns = np.empty((batch, channels, kernel_size, kernel_size, rows, places), x.dtype)
    for i in range(kernel_size):
        for j in range(kernel_size):  # the pixel (i, j) of all patches at once
            down = slice(i, i + stride * (rows - 1) + 1, stride)
            columns[:, :, i, j] = padded[:, :, down, j : j + stride * (places - 1) + 1 : stride]
    return columns.reshape(batch, channels * kernel_size**2, rows * places)


def conv2d(x, weight, bias=None, stride=1, padding=0):
    """Multiply the kernels, as rows, with the patches, as columns."""
    batch, _, height, width = x.shape
    kernels, _, size, _ = weight.shape
    columns = im2col(x, size, stride, padding)  # (B, K, P)
    out = weight.reshape(kernels, -1) @ columns  # (B, O, P)
    if bias is not None:
        out = out + bias[:, None]
    rows = (height + 2 * padding - size) // stride + 1
    return out.reshape(batch, kernels, rows, -1)


def conv2d_weight_gradient(x, grad, kernel_size, stride=1, padding=0):
    """Multiply the gradient with the patches, and add up over images and places."""
    batch, kernels = grad.shape[:2]
    columns = im2col(x, kernel_size, stride, padding)  # (B, K, P)
    grad = grad.reshape(batch, kernels, -1)  # (B, O, P)
    gradient = (grad @ columns.swapaxes(1, 2)).sum(axis=0)  # (O, K)
    return gradient.reshape(kernels, x.shape[1], kernel_size, kernel_size)


def max_pool2d(x, kernel_size, stride=None):
    """Keep the largest of each window; the gradient goes to the first place that has it."""
    stride = kernel_size if stride is None else stride
    batch, channels, height, width = x.shape
    rows, places = (height - kernel_size) // stride + 1, (width - kernel_size) // stride + 1
    parts = []  # for each pixel of the window, where it lies in all windows at once
    for i in range(kernel_size):
        for j in range(kernel_size):
            down = slice(i, i + stride * (rows - 1) + 1, stride)
            parts.append((..., down, slice(j, j + stride * (places - 1) + 1, stride)))
    values = np.stack([x.data[part] for part in parts])  # (k·k, B, C, OH, OW)
    winner = values.argmax(axis=0)  # of equal ones the first

    def backward(grad):
        dx = np.zeros_like(x.data)
        for number, part in enumerate(parts):
            dx[part] += grad * (winner == number)
        x.accumulate(dx)

    return Tensor.from_operation(values.max(axis=0), (x,), backward)


def book_conv2d(x, weight, bias=None, stride=1, padding=0):
    """Return what the package's conv2d gives, as an array of float64."""
    x, weight = (Tensor(values, dtype=np.float64) for values in (x, weight))
    bias = None if bias is None else Tensor(bias, dtype=np.float64)
    return scratch.conv2d(x, weight, bias, stride, padding).data


def book_conv2d_weight_gradient(x, grad, kernel_size, stride=1, padding=0):
    """Return what the package's conv2d hands back to its kernels, of float64."""
    zeros = np.zeros((grad.shape[1], x.shape[1], kernel_size, kernel_size))
    weight = Tensor(zeros, requires_grad=True, dtype=np.float64)
    scratch.conv2d(Tensor(x, dtype=np.float64), weight, None, stride, padding).backward(grad)
    return weight.grad
