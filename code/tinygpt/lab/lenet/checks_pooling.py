"""Checks of pooling and of the confusion matrix."""

import numpy as np

from tinygpt.lab.definitions import require
from tinygpt.lab.measures import array_of, has_graph, tensor_of
from tinygpt.scratch import Tensor

# ---- max_pool2d ---------------------------------------------------------------------------------


def test_unit_max_pool2d(max_pool2d):
    """The largest of each 2 × 2, negative numbers too; a last odd row is left out."""
    x = Tensor(np.arange(1.0, 17).reshape(1, 1, 4, 4))
    out = tensor_of("max_pool2d", max_pool2d(x, 2), (1, 1, 2, 2))
    _values("Of the numbers 1 to 16 in rows of four max_pool2d", out, [[6, 8], [14, 16]])
    out = tensor_of("max_pool2d", max_pool2d(Tensor([[[[-4, -2], [-3, -1]]]]), 2), (1, 1, 1, 1))
    _values("Of -4, -2, -3 and -1 max_pool2d", out, [[-1]])
    odd = Tensor(np.arange(1.0, 26).reshape(1, 1, 5, 5))
    out = tensor_of("On 5 × 5 pixels max_pool2d", max_pool2d(odd, 2), (1, 1, 2, 2))
    _values("Of the numbers 1 to 25 in rows of five max_pool2d", out, [[7, 9], [17, 19]])
    out = tensor_of("max_pool2d", max_pool2d(Tensor([[[[0.25, 0.5]]]]), 1), (1, 1, 1, 2))
    require(
        np.allclose(out, [[0.25, 0.5]]),
        f"A window of one pixel should keep 0.25 and 0.5 as they are, got {_rounded(out[0, 0])}",
    )
    out = tensor_of("With stride 1 max_pool2d", max_pool2d(odd, 4, 1), (1, 1, 2, 2))
    _values("With a window of 4 and stride 1, of 1 to 25, max_pool2d", out, [[19, 20], [24, 25]])


def test_gradient_max_pool2d(max_pool2d):
    """The gradient goes to the place of the maximum and nowhere else."""
    out, x = _pooled(max_pool2d, [[1, 5], [3, 2]], 2)
    out.backward(np.full((1, 1, 1, 1), 7.0))
    _gradient("Of 1, 5, 3 and 2, with a gradient of 7 from above,", x, [[0, 7], [0, 0]])


def test_ties_max_pool2d(max_pool2d):
    """Of equal maxima the first gets the whole gradient, row by row."""
    out, x = _pooled(max_pool2d, [[1, 4], [4, 4]], 2)
    out.backward(np.full((1, 1, 1, 1), 6.0))
    _gradient("Of 1, 4, 4 and 4, with a gradient of 6 from above,", x, [[0, 6], [0, 0]])


def test_overlap_max_pool2d(max_pool2d):
    """A pixel that is the maximum of several windows gets the sum of their gradients."""
    out, x = _pooled(max_pool2d, [[0, 0, 0], [0, 9, 0], [0, 0, 0]], 2, 1)
    out.backward(np.array([[[[1.0, 2.0], [3.0, 4.0]]]]))
    expected = [[0, 0, 0], [0, 10, 0], [0, 0, 0]]
    _gradient("With stride 1 and a 9 in the middle of 3 × 3, gradients 1 to 4,", x, expected)


def test_shapes_max_pool2d(max_pool2d):
    """Any sizes, and each image and channel by itself; the input is left alone."""
    rng = np.random.default_rng(5)
    for shape, k, stride in [((2, 3, 6, 5), 2, None), ((1, 2, 7, 8), 3, 2), ((3, 1, 4, 4), 1, 1)]:
        data = rng.permutation(np.prod(shape)).reshape(shape)
        x = Tensor(data, requires_grad=True)
        out = max_pool2d(x, k, stride)
        expected, gradient = pooled_slowly(data, k, k if stride is None else stride)
        what = f"max_pool2d of shape {shape} with window {k} and stride {stride}"
        found = tensor_of(what, out, expected.shape)
        require(np.array_equal(found, expected), f"{what} should keep the largest; it does not")
        require(np.array_equal(x.data, data), "max_pool2d should leave its input as it was")
        out.sum().backward()
        require(np.array_equal(x.grad, gradient), f"{what} should lead the gradient to the maxima")


def _pooled(max_pool2d, image, *how):
    x = Tensor([[image]], requires_grad=True)
    out = max_pool2d(x, *how)
    side = 1 if len(how) == 1 else 2
    tensor_of("max_pool2d", out, (1, 1, side, side))
    has_graph("max_pool2d", out)
    return out, x


def _values(what, found, expected):
    require(
        np.allclose(found[0, 0], expected),
        f"{what} should keep {expected}, got {_rounded(found[0, 0])}",
    )


def _gradient(what, x, expected):
    require(
        x.grad is not None,
        "backward should hand the gradient of x to x.accumulate; after it, x.grad is still None",
    )
    require(
        np.allclose(x.grad[0, 0], expected),
        f"{what} the gradient of x should be {expected}, got {_rounded(x.grad[0, 0])}",
    )


def _rounded(matrix):
    return str([[round(float(v), 2) if v % 1 else int(v) for v in row] for row in matrix])


def pooled_slowly(x, k, stride):
    rows, columns = (x.shape[2] - k) // stride + 1, (x.shape[3] - k) // stride + 1
    out, gradient = np.empty((*x.shape[:2], rows, columns)), np.zeros(x.shape)
    for b, c, i, j in np.ndindex(out.shape):
        window = x[b, c, i * stride : i * stride + k, j * stride : j * stride + k]
        out[b, c, i, j] = window.max()
        down, across = np.unravel_index(window.argmax(), window.shape)
        gradient[b, c, i * stride + down, j * stride + across] += 1
    return out, gradient


# ---- confusion_matrix ---------------------------------------------------------------------------


def test_unit_confusion_matrix(confusion_matrix):
    """Five examples of three classes: the shape, the total, rows and columns."""
    labels, predictions = np.array([0, 0, 0, 1, 2]), np.array([0, 0, 1, 1, 1])
    matrix = _matrix(confusion_matrix, labels, predictions, 3)
    total = matrix.sum()
    require(abs(total - 5) < 1e-6, f"The matrix should count all 5 examples, got {total:g}")
    require(
        np.array_equal(matrix, [[2, 1, 0], [0, 1, 0], [0, 1, 0]]),
        "With the labels 0, 0, 0, 1, 2 called 0, 0, 1, 1, 1 the matrix should be "
        f"[[2, 1, 0], [0, 1, 0], [0, 1, 0]], got {_rounded(matrix)}",
    )
    require(matrix.dtype.kind in "iu", f"The counts should be integers, got {matrix.dtype}")


def test_shapes_confusion_matrix(confusion_matrix):
    """Classes that do not occur, no examples at all, and many."""
    _matrix(confusion_matrix, np.array([0, 1]), np.array([1, 0]), 4)
    matrix = _matrix(confusion_matrix, np.array([], int), np.array([], int), 2)
    require(not matrix.any(), "Without examples every count should be 0")
    rng = np.random.default_rng(6)
    labels, predictions = rng.integers(0, 7, (2, 500))
    matrix = _matrix(confusion_matrix, labels, predictions, 7)
    expected = [[((labels == i) & (predictions == j)).sum() for j in range(7)] for i in range(7)]
    require(np.array_equal(matrix, expected), "Of 500 examples of 7 classes a count is wrong")


def _matrix(confusion_matrix, labels, predictions, classes):
    before = labels.copy(), predictions.copy()
    matrix = array_of("confusion_matrix", confusion_matrix(labels, predictions, classes))
    require(
        matrix.shape == (classes, classes),
        f"For {classes} classes confusion_matrix should return the shape "
        f"{(classes, classes)}, got {matrix.shape}",
    )
    same = all(map(np.array_equal, before, (labels, predictions)))
    require(same, "confusion_matrix should leave its arguments as they were; it changed one")
    return matrix
