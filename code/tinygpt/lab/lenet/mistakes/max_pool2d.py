"""Wrong poolings."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor


def _windows(shape, k, stride):
    """For each pixel of a window, the index of where it lies in all windows at once."""
    rows, places = (shape[2] - k) // stride + 1, (shape[3] - k) // stride + 1
    down = [slice(i, i + stride * (rows - 1) + 1, stride) for i in range(k)]
    across = [slice(j, j + stride * (places - 1) + 1, stride) for j in range(k)]
    return [(..., d, a) for d in down for a in across]


def _stacked(x, parts):
    return np.stack([x.data[part] for part in parts])  # (k·k, B, C, OH, OW)


def to_all_maxima(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    out = _stacked(x, parts).max(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for part in parts:
            dx[part] += grad * (x.data[part] == out)
        x.accumulate(dx)

    return Tensor.from_operation(out, (x,), backward)


def shared_by_the_maxima(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    values = _stacked(x, parts)
    out = values.max(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        share = grad / (values == out).sum(axis=0)
        for part in parts:
            dx[part] += share * (x.data[part] == out)
        x.accumulate(dx)

    return Tensor.from_operation(out, (x,), backward)


def to_the_last_maximum(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    values = _stacked(x, parts)
    winner = len(parts) - 1 - values[::-1].argmax(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for number, part in enumerate(parts):
            dx[part] += grad * (winner == number)
        x.accumulate(dx)

    return Tensor.from_operation(values.max(axis=0), (x,), backward)


def to_every_pixel(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for part in parts:
            dx[part] += grad / len(parts)
        x.accumulate(dx)

    return Tensor.from_operation(_stacked(x, parts).max(axis=0), (x,), backward)


def gradient_not_used(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    values = _stacked(x, parts)
    winner = values.argmax(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for number, part in enumerate(parts):
            dx[part] += winner == number
        x.accumulate(dx)

    return Tensor.from_operation(values.max(axis=0), (x,), backward)


def written_over(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    values = _stacked(x, parts)
    winner = values.argmax(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for number, part in enumerate(parts):
            dx[part] = np.where(winner == number, grad, dx[part])
        x.accumulate(dx)

    return Tensor.from_operation(values.max(axis=0), (x,), backward)


def started_at_zero(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    out = np.zeros_like(x.data[parts[0]])
    for part in parts:
        out = np.maximum(out, x.data[part])

    def backward(grad):
        dx, left = np.zeros_like(x.data), np.ones_like(out, dtype=bool)
        for part in parts:
            here = left & (x.data[part] == out)
            dx[part] += grad * here
            left &= ~here
        x.accumulate(dx)

    return Tensor.from_operation(out, (x,), backward)


def mean_of_the_window(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for part in parts:
            dx[part] += grad / len(parts)
        x.accumulate(dx)

    return Tensor.from_operation(_stacked(x, parts).mean(axis=0), (x,), backward)


def reshaped_only(x, kernel_size, stride=None):
    batch, channels, height, width = x.shape
    k = kernel_size
    tiles = x.reshape(batch, channels, height // k, k, width // k, k)
    return tiles.max(axis=(3, 5))


def stride_ignored(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, kernel_size)
    values = _stacked(x, parts)
    winner = values.argmax(axis=0)

    def backward(grad):
        dx = np.zeros_like(x.data)
        for number, part in enumerate(parts):
            dx[part] += grad * (winner == number)
        x.accumulate(dx)

    return Tensor.from_operation(values.max(axis=0), (x,), backward)


def graph_cut(x, kernel_size, stride=None):
    parts = _windows(x.shape, kernel_size, stride or kernel_size)
    return Tensor(_stacked(x, parts).max(axis=0))


_BOTH = (_windows, _stacked)

MISTAKES = (
    Mistake(
        "started_at_zero",
        started_at_zero,
        "Of -4, -2, -3 and -1 max_pool2d should keep [[-1]], got [[0]]",
        "The search for the maximum starts at 0, so a window of negative numbers gives 0, which "
        "is not in it. Start from the first pixel of the window, or from -np.inf. After a ReLU "
        "nobody would notice, until somebody pools before it.",
        _BOTH,
    ),
    Mistake(
        "mean_of_the_window",
        mean_of_the_window,
        "Of the numbers 1 to 16 in rows of four max_pool2d should keep [[6, 8], [14, 16]], got "
        "[[3.5, 5.5], [11.5, 13.5]]",
        "This is the mean of each window, as in the LeNet of 1998 and in pooling called "
        "average. Maximum pooling keeps the strongest answer whatever its neighbours say.",
        _BOTH,
    ),
    Mistake(
        "reshaped_only",
        reshaped_only,
        "max_pool2d raised ValueError: Tensor.reshape: shape (1, 1, 5, 5) of 25 elements does "
        "not fit into (1, 1, 2, 2, 2, 2)",
        "Cutting the image into tiles with a reshape is short and right while the window divides "
        "the image. Five rows do not fill tiles of two. The last row has to be left out, and "
        "windows that overlap cannot be had in this way at all.",
    ),
    Mistake(
        "stride_ignored",
        stride_ignored,
        "With stride 1 max_pool2d should return the shape (1, 1, 2, 2), got (1, 1, 1, 1)",
        "The window always moves by its own size. `stride` says otherwise when it is given: "
        "with a stride of 1 a window of 4 has two places on five pixels.",
        _BOTH,
    ),
    Mistake(
        "graph_cut",
        graph_cut,
        "max_pool2d should be made of Tensor operations, got no graph",
        "The result is a new Tensor that knows nothing of x, so everything below the pooling "
        "gets no gradient and never learns. Make it with Tensor.from_operation.",
        _BOTH,
    ),
    Mistake(
        "to_every_pixel",
        to_every_pixel,
        "Of 1, 5, 3 and 2, with a gradient of 7 from above, the gradient of x should be [[0, "
        "7], [0, 0]], got [[1.75, 1.75], [1.75, 1.75]]",
        "The gradient is spread over the window, as for a mean. A small nudge of 1, 3 or 2 does "
        "not change a maximum of 5, so their gradient is 0, and that of the 5 is all of it.",
        _BOTH,
    ),
    Mistake(
        "gradient_not_used",
        gradient_not_used,
        "Of 1, 5, 3 and 2, with a gradient of 7 from above, the gradient of x should be [[0, "
        "7], [0, 0]], got [[0, 1], [0, 0]]",
        "The place is right, and the number there is 1 instead of the gradient from above. The "
        "chain rule multiplies: `grad * (winner == number)`.",
        _BOTH,
    ),
    Mistake(
        "to_all_maxima",
        to_all_maxima,
        "Of 1, 4, 4 and 4, with a gradient of 6 from above, the gradient of x should be [[0, "
        "6], [0, 0]], got [[0, 6], [6, 6]]",
        "Every pixel that equals the maximum gets the whole gradient, 18 in all where 6 came "
        "in. No nudge of the image changes the loss that much. One of them is enough; PyTorch "
        "and this book take the first.",
        _BOTH,
    ),
    Mistake(
        "shared_by_the_maxima",
        shared_by_the_maxima,
        "Of 1, 4, 4 and 4, with a gradient of 6 from above, the gradient of x should be [[0, "
        "6], [0, 0]], got [[0, 2], [2, 2]]",
        "The three maxima share the gradient evenly. That is a fair choice, and the one of "
        "Tensor.max; pooling gives it to the first, in PyTorch and here, so that a single path "
        "leads back from each result.",
        _BOTH,
    ),
    Mistake(
        "to_the_last_maximum",
        to_the_last_maximum,
        "Of 1, 4, 4 and 4, with a gradient of 6 from above, the gradient of x should be [[0, "
        "6], [0, 0]], got [[0, 0], [0, 6]]",
        "Of equal maxima the last one gets the gradient. It would train as well, and the "
        "gradients would differ from those of PyTorch wherever there are ties. np.argmax gives "
        "the first.",
        _BOTH,
    ),
    Mistake(
        "written_over",
        written_over,
        "With stride 1 and a 9 in the middle of 3 × 3, gradients 1 to 4, the gradient of x "
        "should be [[0, 0, 0], [0, 10, 0], [0, 0, 0]], got [[0, 0, 0], [0, 1, 0], [0, 0, 0]]",
        "The 9 is the maximum of four windows, and each writes over what the others left. Add: "
        "a number that is used four times gets four gradients. With windows that do not overlap "
        "both give the same.",
        _BOTH,
    ),
)
