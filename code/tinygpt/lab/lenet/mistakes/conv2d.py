"""Wrong convolutions."""

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import Mistake


def _rows(x, weight, stride, padding):
    return (x.shape[2] + 2 * padding - weight.shape[2]) // stride + 1


def flipped_kernel(x, weight, bias=None, stride=1, padding=0):
    kernels = weight[:, :, ::-1, ::-1].reshape(len(weight), -1)
    out = kernels @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def channels_summed_first(x, weight, bias=None, stride=1, padding=0):
    gray = x.sum(axis=1, keepdims=True)
    kernels = weight.sum(axis=1).reshape(len(weight), -1)
    out = kernels @ scratch.im2col(gray, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def channels_averaged(x, weight, bias=None, stride=1, padding=0):
    kernels = weight.reshape(len(weight), -1) / weight.shape[1]
    out = kernels @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def channels_apart(x, weight, bias=None, stride=1, padding=0):
    parts = []
    for channel in range(x.shape[1]):
        columns = scratch.im2col(x[:, [channel]], weight.shape[2], stride, padding)
        parts.append(weight[:, channel].reshape(len(weight), -1) @ columns)
    out = np.concatenate(parts, axis=1)
    return out.reshape(len(x), out.shape[1], _rows(x, weight, stride, padding), -1)


def bias_forgotten(x, weight, bias=None, stride=1, padding=0):
    out = weight.reshape(len(weight), -1) @ scratch.im2col(x, weight.shape[2], stride, padding)
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def bias_along_the_places(x, weight, bias=None, stride=1, padding=0):
    out = weight.reshape(len(weight), -1) @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def kernels_as_columns(x, weight, bias=None, stride=1, padding=0):
    matrix = weight.reshape(-1, len(weight)).T
    out = matrix @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def images_and_kernels_mixed(x, weight, bias=None, stride=1, padding=0):
    columns = scratch.im2col(x, weight.shape[2], stride, padding)
    flat = columns.transpose(1, 0, 2).reshape(columns.shape[1], -1)  # (K, B·P)
    out = weight.reshape(len(weight), -1) @ flat  # (O, B·P)
    if bias is not None:
        out = out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


def stride_and_padding_swapped(x, weight, bias=None, stride=1, padding=0):
    size = weight.shape[2]
    columns = scratch.im2col(x, size, padding=stride, stride=max(padding, 1))
    out = weight.reshape(len(weight), -1) @ columns
    out = out if bias is None else out + bias[:, None]
    return out.reshape(len(x), len(weight), _rows(x, weight, max(padding, 1), stride), -1)


def always_square(x, weight, bias=None, stride=1, padding=0):
    out = weight.reshape(len(weight), -1) @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    side = int(out.shape[2] ** 0.5)
    return out.reshape(len(x), len(weight), side, -1)


def nothing_returned(x, weight, bias=None, stride=1, padding=0):
    out = weight.reshape(len(weight), -1) @ scratch.im2col(x, weight.shape[2], stride, padding)
    out = out if bias is None else out + bias[:, None]
    out.reshape(len(x), len(weight), _rows(x, weight, stride, padding), -1)


MISTAKES = (
    Mistake(
        "flipped_kernel",
        flipped_kernel,
        "A single 1 in the middle meets the kernel [[1, 2], [3, 4]] from its last entry on; "
        "conv2d should give [[4, 3], [2, 1]], got [[1, 2], [3, 4]]",
        "The kernel is turned round before it slides. That is convolution as mathematics "
        "defines it; most libraries of neural networks, PyTorch among them, leave the turn out "
        "and keep the name. A network learns either, but weights from elsewhere would be read "
        "upside down.",
        (_rows,),
    ),
    Mistake(
        "channels_summed_first",
        channels_summed_first,
        "The channels 1 and 10 under the weights 3 and 4 give 3 · 1 + 4 · 10: it should be 43, "
        "got 77",
        "The channels are added up before the weights see them: (1 + 10) · (3 + 4). A weight "
        "belongs to one channel, and the sum comes after it; otherwise all channels count alike "
        "and 16 filters below are one.",
        (_rows,),
    ),
    Mistake(
        "channels_averaged",
        channels_averaged,
        "The channels 1 and 10 under the weights 3 and 4 give 3 · 1 + 4 · 10: it should be 43, "
        "got 21.5",
        "The sum over channels is divided by their number. A convolution adds; a mean would "
        "make every layer weaker the more channels it reads. The scale is the business of how "
        "weights start.",
        (_rows,),
    ),
    Mistake(
        "channels_apart",
        channels_apart,
        "One pixel of two channels under one kernel of one pixel: conv2d should return the "
        "shape (1, 1, 1, 1), got (1, 2, 1, 1)",
        "Each channel has a result of its own: that is a depthwise convolution. Here one kernel "
        "spans all channels and gives one number at each place, the sum over them.",
        (_rows,),
    ),
    Mistake(
        "bias_forgotten",
        bias_forgotten,
        "On an image of zeros the kernels with bias 0 and 1 should give all 0 and all 1, got "
        "[[0, 0, 0], [0, 0, 0]] and [[0, 0, 0], [0, 0, 0]]",
        "The argument `bias` is not used. Without it a kernel cannot move the point where the "
        "ReLU after it begins to fire.",
        (_rows,),
    ),
    Mistake(
        "bias_along_the_places",
        bias_along_the_places,
        "conv2d raised ValueError: operands could not be broadcast together with shapes (1,2,6)"
        " (2,)",
        "NumPy lines up the last axes, so a bias of shape (O,) meets the places and not the "
        "kernels. It raises an error here; with as many places as kernels it would add the wrong "
        "numbers in silence. `bias[:, None]` gives each kernel its own.",
        (_rows,),
    ),
    Mistake(
        "kernels_as_columns",
        kernels_as_columns,
        "A pixel with the channels 1 and 10, under one kernel with the weights 3 and 4 and one "
        "with 5 and 6.5, should give 43 and 70, got 53 and 69",
        "The weights are reshaped to (K, O) and transposed. The shape is right, but a reshape "
        "moves no numbers: each row mixes weights of several kernels. In memory a kernel's "
        "weights lie together, so reshape to (O, K) at once.",
        (_rows,),
    ),
    Mistake(
        "images_and_kernels_mixed",
        images_and_kernels_mixed,
        "Image 0, a single pixel of 1, under the kernels 1, 10 and 100 should give 1, 10 and "
        "100, got 1, 2, 10",
        "One product for all images gives the shape (O, B·P), with the kernels first. A reshape "
        "to (B, O, …) renames the numbers without moving them, so results of one kernel turn up "
        "as results of one image. Split the axes first, then transpose.",
        (_rows,),
    ),
    Mistake(
        "always_square",
        always_square,
        "conv2d of an input of shape (3, 2, 6, 5) with kernel 2, stride 2 and padding 0 should "
        "return the shape (3, 4, 3, 2), got (3, 4, 2, 3)",
        "The number of rows is taken to be the root of the number of places, which holds for "
        "square images alone. Here it gives other rows: (H + 2·padding - k) // stride + 1 is "
        "right for all.",
    ),
    Mistake(
        "stride_and_padding_swapped",
        stride_and_padding_swapped,
        "A kernel of 2 × 2 on 3 × 3 pixels: conv2d should return the shape (1, 1, 2, 2), got "
        "(1, 1, 4, 4)",
        "Stride and padding have changed places on the way to im2col. Two whole numbers look "
        "alike in a call; write their names, `stride=stride, padding=padding`.",
        (_rows,),
    ),
    Mistake(
        "nothing_returned",
        nothing_returned,
        "conv2d should return a NumPy array, got None",
        "`reshape` makes a new array and leaves the old one as it is, and the function ends "
        "without handing it back. Put `return` before it.",
        (_rows,),
    ),
)
