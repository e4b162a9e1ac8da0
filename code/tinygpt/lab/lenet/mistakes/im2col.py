"""Wrong versions of im2col."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def _padded(x, padding):
    sides = (padding, padding)
    return np.pad(x, ((0, 0), (0, 0), sides, sides))


def _columns(padded, k, stride, rows, places):
    batch, channels = padded.shape[:2]
    columns = np.empty((batch, channels, k, k, rows, places), padded.dtype)
    for i in range(k):
        for j in range(k):
            down = slice(i, i + stride * (rows - 1) + 1, stride)
            columns[:, :, i, j] = padded[:, :, down, j : j + stride * (places - 1) + 1 : stride]
    return columns.reshape(batch, channels * k * k, rows * places)


def one_place_short(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    rows = (padded.shape[2] - kernel_size) // stride
    places = (padded.shape[3] - kernel_size) // stride
    return _columns(padded, kernel_size, stride, rows, places)


def patches_as_rows(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    rows = (padded.shape[2] - kernel_size) // stride + 1
    places = (padded.shape[3] - kernel_size) // stride + 1
    return _columns(padded, kernel_size, stride, rows, places).swapaxes(1, 2)


def places_by_column(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    height, width = padded.shape[2:]
    columns = []
    for left in range(0, width - kernel_size + 1, stride):
        for top in range(0, height - kernel_size + 1, stride):
            patch = padded[:, :, top : top + kernel_size, left : left + kernel_size]
            columns.append(patch.reshape(len(x), -1))
    return np.stack(columns, axis=-1)


def stride_ignored(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    rows = padded.shape[2] - kernel_size + 1
    places = padded.shape[3] - kernel_size + 1
    return _columns(padded, kernel_size, 1, rows, places)


def stride_in_the_size_only(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    rows = (padded.shape[2] - kernel_size) // stride + 1
    places = (padded.shape[3] - kernel_size) // stride + 1
    return _columns(padded, kernel_size, 1, rows, places)


def size_rounded_up(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    rows = -(-(padded.shape[2] - kernel_size) // stride) + 1
    places = -(-(padded.shape[3] - kernel_size) // stride) + 1
    padded = np.pad(padded, ((0, 0), (0, 0), (0, stride), (0, stride)))
    return _columns(padded, kernel_size, stride, rows, places)


def padded_on_one_side(x, kernel_size, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (0, padding), (0, padding)))
    rows = (padded.shape[2] - kernel_size) // stride + 1
    places = (padded.shape[3] - kernel_size) // stride + 1
    return _columns(padded, kernel_size, stride, rows, places)


def padded_after_twice(x, kernel_size, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (0, 2 * padding), (0, 2 * padding)))
    rows = (padded.shape[2] - kernel_size) // stride + 1
    places = (padded.shape[3] - kernel_size) // stride + 1
    return _columns(padded, kernel_size, stride, rows, places)


def edge_repeated(x, kernel_size, stride=1, padding=0):
    sides = (padding, padding)
    padded = np.pad(x, ((0, 0), (0, 0), sides, sides), mode="edge")
    rows = (padded.shape[2] - kernel_size) // stride + 1
    places = (padded.shape[3] - kernel_size) // stride + 1
    return _columns(padded, kernel_size, stride, rows, places)


def channels_interleaved(x, kernel_size, stride=1, padding=0):
    padded = _padded(x, padding)
    height, width = padded.shape[2:]
    columns = []
    for top in range(0, height - kernel_size + 1, stride):
        for left in range(0, width - kernel_size + 1, stride):
            patch = padded[:, :, top : top + kernel_size, left : left + kernel_size]
            columns.append(patch.transpose(0, 2, 3, 1).reshape(len(x), -1))
    return np.stack(columns, axis=-1)


MISTAKES = (
    Mistake(
        "one_place_short",
        one_place_short,
        "With a window of 2 on 3 × 4 pixels im2col should return the shape (1, 4, 6), got "
        "(1, 4, 2)",
        "The last place along each axis is missing. A window of 2 moves over 3 rows in one step, "
        "and one step means two places: the 1 in `(H - k) // stride + 1` counts the place where "
        "it starts.",
        (_padded, _columns),
    ),
    Mistake(
        "patches_as_rows",
        patches_as_rows,
        "With a window of 2 on 3 × 4 pixels im2col should return the shape (1, 4, 6), got "
        "(1, 6, 4)",
        "Every patch is a row here, and should be a column. Both conventions are in use; with "
        "columns the product weight @ columns has its kernels first, as the result needs them.",
        (_padded, _columns),
    ),
    Mistake(
        "places_by_column",
        places_by_column,
        "Column 1 should hold the patch [2, 3, 6, 7], got [5, 6, 9, 10]",
        "The outer loop runs over columns, so the window moves down first. The result of the "
        "convolution is reshaped row by row and would come out transposed. Let the outer loop "
        "run over rows.",
    ),
    Mistake(
        "stride_ignored",
        stride_ignored,
        "With a window of 3 and stride 2 on 5 × 5 pixels im2col should return the shape "
        "(1, 9, 4), got (1, 9, 9)",
        "The window stops at every pixel. With stride 2 it stops at every second one, so there "
        "are about a quarter of the places.",
        (_padded, _columns),
    ),
    Mistake(
        "stride_in_the_size_only",
        stride_in_the_size_only,
        "Column 1 should hold the patch [3, 4, 5, 8, 9, 10, 13, 14, 15], got "
        "[2, 3, 4, 7, 8, 9, 12, 13, 14]",
        "The number of places is right, and the places are not: the window moves by one pixel "
        "and sees only the upper left of the image. The slices need the stride as their step.",
        (_padded, _columns),
    ),
    Mistake(
        "size_rounded_up",
        size_rounded_up,
        "With a window of 3 and stride 2 on 4 × 6 pixels im2col should return the shape "
        "(1, 9, 2), got (1, 9, 6)",
        "The division is rounded up, so the last window hangs over the edge, where there is "
        "nothing. Rounding down leaves the last rows and columns out when they do not fill a "
        "window.",
        (_padded, _columns),
    ),
    Mistake(
        "padded_on_one_side",
        padded_on_one_side,
        "With a window of 3 and padding 1 on 2 × 2 pixels im2col should return the shape "
        "(1, 9, 4), got (1, 9, 1)",
        "The zeros are added at the bottom and on the right alone. `padding` counts for each of "
        "the four sides, so the image grows by twice as much: (padding, padding) in np.pad.",
        (_padded, _columns),
    ),
    Mistake(
        "padded_after_twice",
        padded_after_twice,
        "Column 0 should hold the patch [0, 0, 0, 0, 1, 2, 0, 3, 4], got "
        "[1, 2, 0, 3, 4, 0, 0, 0, 0]",
        "The sizes are right, but all zeros lie after the image and none before it. What a "
        "kernel finds is moved by one pixel in every layer, and the first row and column are "
        "never in the middle of a window.",
        (_padded, _columns),
    ),
    Mistake(
        "edge_repeated",
        edge_repeated,
        "Column 0 should hold the patch [0, 0, 0, 0, 1, 2, 0, 3, 4], got "
        "[1, 1, 2, 1, 1, 2, 3, 3, 4]",
        'The margin repeats the outermost pixels: that is what `mode="edge"` asks for. Here the '
        "margin is paper, so it is zero.",
        (_columns,),
    ),
    Mistake(
        "channels_interleaved",
        channels_interleaved,
        "Column 0 should hold the patch [1, 2, 3, 4, 10, 20, 30, 40], got "
        "[1, 10, 2, 20, 3, 30, 4, 40]",
        "The channels of each pixel stand together. A kernel of shape (C, k, k), reshaped to a "
        "row, has all of its first channel before its second, so the column must have it too; "
        "otherwise weights meet the wrong pixels and nothing complains.",
        (_padded,),
    ),
)
