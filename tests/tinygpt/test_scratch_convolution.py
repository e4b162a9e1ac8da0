"""Convolution and pooling against PyTorch, their definitions and finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import assert_agrees, assert_equals_torch, examples, load_into_torch, normal
from sklearn import metrics
from tinygpt import data
from tinygpt.scratch import FeedForward, Tensor, manual_seed
from tinygpt.scratch.convolution import (
    Conv2d,
    MaxPool2d,
    col2im,
    conv2d,
    im2col,
    max_pool2d,
    output_size,
)
from tinygpt.scratch.lenet import LeNet, confusion_matrix
from torch import nn
from torch.nn import functional as F

seeds = st.integers(0, 2**32 - 1)
geometries = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 3),
        "channels": st.integers(1, 3),
        "size": st.tuples(st.integers(1, 9), st.integers(1, 9)),
        "kernel": st.tuples(st.integers(1, 4), st.integers(1, 4)),
        "stride": st.integers(1, 3),
        "padding": st.integers(0, 2),
    }
)


def images(geometry, seed):
    """Random images, unless the window does not fit into them."""
    margin = 2 * geometry["padding"]
    fits = zip(geometry["kernel"], geometry["size"], strict=True)
    assume(all(kernel <= size + margin for kernel, size in fits))
    return normal(seed, geometry["batch"], geometry["channels"], *geometry["size"])


@examples
@given(geometries, st.integers(1, 4), st.booleans(), seeds)
def test_conv2d(geometry, kernels, with_bias, seed):
    x = images(geometry, seed)
    weight = normal(seed + 1, kernels, geometry["channels"], *geometry["kernel"])
    bias = [normal(seed + 2, kernels)] if with_bias else []
    given = {"stride": geometry["stride"], "padding": geometry["padding"]}
    assert_agrees(
        lambda *tensors: conv2d(*tensors, **given),
        lambda *tensors: F.conv2d(*tensors, **given),
        *(x, weight, *bias),
        value_tolerance=1e-4,
    )


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), [(7, 3, 2, 1), (28, 5, 1, 2)])
def test_conv2d_of_odd_and_large_images(size, kernel, stride, padding):
    assert_equals_torch(
        lambda *tensors: conv2d(*tensors, stride, padding),
        lambda *tensors: F.conv2d(*tensors, stride=stride, padding=padding),
        *(normal(0, 4, 3, size, size + 1), normal(1, 5, 3, kernel, kernel), normal(2, 5)),
        value=1e-4,
        gradient=1e-3,
    )


def test_conv2d_is_the_sum_that_its_docstring_writes_down():
    x, weight, bias = normal(0, 2, 3, 5, 6), normal(1, 4, 3, 2, 3), normal(2, 4)
    expected = np.empty((2, 4, 2, 2))
    for b, o, u, v in np.ndindex(expected.shape):
        patch = x[b, :, 2 * u : 2 * u + 2, 2 * v : 2 * v + 3]
        expected[b, o, u, v] = bias[o] + (weight[o] * patch).sum()
    found = conv2d(Tensor(x), Tensor(weight), Tensor(bias), stride=2)
    np.testing.assert_allclose(found.data, expected, rtol=1e-5, atol=1e-5)


def test_conv2d_does_not_flip_the_kernel():
    x = Tensor([[[[0, 0, 0], [0, 1, 0], [0, 0, 0]]]])
    kernel = Tensor([[[[1, 2], [3, 4]]]])
    np.testing.assert_array_equal(conv2d(x, kernel).data[0, 0], [[4, 3], [2, 1]])


def test_a_shifted_image_gives_a_shifted_answer():
    x, weight = np.zeros((1, 2, 9, 9)), Tensor(normal(1, 3, 2, 3, 3))
    x[:, :, 2:5, 2:5] = normal(0, 1, 2, 3, 3)
    before = conv2d(Tensor(x), weight, padding=1).data
    after = conv2d(Tensor(np.roll(x, (1, 2), (2, 3))), weight, padding=1).data
    np.testing.assert_array_equal(after, np.roll(before, (1, 2), (2, 3)))


@examples
@given(geometries, seeds)
def test_im2col_is_torchs_unfold_and_col2im_its_fold(geometry, seed):
    x = images(geometry, seed)
    window, stride, padding = (geometry[name] for name in ("kernel", "stride", "padding"))
    columns = im2col(x, window, stride, padding)
    expected = F.unfold(torch.tensor(x), window, padding=padding, stride=stride)
    np.testing.assert_array_equal(columns, expected.numpy())
    folded = F.fold(expected, geometry["size"], window, padding=padding, stride=stride)
    found = col2im(columns, x.shape, window, stride, padding)
    np.testing.assert_allclose(found, folded.numpy(), rtol=1e-12, atol=1e-12)


@examples
@given(geometries, seeds)
def test_col2im_is_the_transpose_of_im2col(geometry, seed):
    """The inner products ⟨im2col(x), c⟩ and ⟨x, col2im(c)⟩ are one number."""
    x = images(geometry, seed)
    how = [geometry[name] for name in ("kernel", "stride", "padding")]
    columns = im2col(x, *how)
    other = normal(seed + 1, *columns.shape)
    left, right = (columns * other).sum(), (x * col2im(other, x.shape, *how)).sum()
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@examples
@given(geometries, st.booleans(), seeds)
def test_max_pool2d(geometry, with_ties, seed):
    window = geometry["kernel"]
    geometry["padding"] = min(geometry["padding"], min(window) // 2)
    x = images(geometry, seed)
    x = np.round(x) if with_ties else x
    given = {"stride": geometry["stride"], "padding": geometry["padding"]}
    compare = assert_equals_torch if with_ties else assert_agrees  # a tie is a corner
    compare(lambda x: max_pool2d(x, window, **given), lambda x: F.max_pool2d(x, window, **given), x)


def test_of_equal_maxima_the_first_gets_the_gradient():
    x = Tensor([[[[3, 3], [3, 1]]]], requires_grad=True)
    max_pool2d(x, 2).backward(np.full((1, 1, 1, 1), 6))
    np.testing.assert_array_equal(x.grad[0, 0], [[6, 0], [0, 0]])


def test_overlapping_windows_add_up_their_gradients():
    x = Tensor([[[[0, 0, 0], [0, 5, 0], [0, 0, 0]]]], requires_grad=True)
    max_pool2d(x, 2, stride=1).sum().backward()
    np.testing.assert_array_equal(x.grad[0, 0], [[0, 0, 0], [0, 4, 0], [0, 0, 0]])


def test_a_nan_is_not_hidden_by_pooling():
    x = np.zeros((1, 1, 2, 2))
    x[0, 0, 1, 0] = np.nan
    assert np.isnan(max_pool2d(Tensor(x), 2).data).all()


def test_inputs_stay_as_they_were():
    x, weight, bias = (
        Tensor(normal(i, *shape), requires_grad=True)
        for i, shape in enumerate([(2, 3, 5, 5), (4, 3, 3, 3), (4,)])
    )
    before = [tensor.data.copy() for tensor in (x, weight, bias)]
    max_pool2d(conv2d(x, weight, bias, padding=1), 2).sum().backward()
    for tensor, values in zip((x, weight, bias), before, strict=True):
        np.testing.assert_array_equal(tensor.data, values)


@examples
@given(st.integers(1, 30), st.integers(1, 7), st.integers(1, 4), st.integers(0, 3))
def test_output_size_counts_the_places(size, kernel, stride, padding):
    places = range(-padding, size + padding - kernel + 1, stride)
    assume(places)
    assert output_size(size, kernel, stride, padding) == len(places)


def test_layers_are_torchs_by_name():
    manual_seed(0)
    ours = Conv2d(3, 4, (3, 2), stride=2, padding=1)
    theirs = load_into_torch(ours, nn.Conv2d(3, 4, (3, 2), stride=2, padding=1))
    assert_equals_torch(ours, theirs, normal(0, 2, 3, 6, 7))
    assert_equals_torch(MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, 1), normal(0, 2, 3, 6, 7))
    bound = 1 / np.sqrt(3 * 3 * 2)
    assert 0.8 * bound < np.abs(ours.weight.data).max() <= bound
    assert Conv2d(3, 4, 3, bias=False).bias is None


class TorchLeNet(nn.Module):
    """The same network in PyTorch's layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(128, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x[:, None]).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc2(self.fc1(x.flatten(1)).relu())


def test_lenet_is_the_network_of_torchs_layers():
    manual_seed(0)
    ours = LeNet().eval()
    theirs = load_into_torch(ours, TorchLeNet())
    assert_equals_torch(ours, theirs, normal(0, 5, 8, 8))
    assert ours.num_parameters() == 13_706
    assert abs(FeedForward((64, 182, 10)).num_parameters() / 13_706 - 1) < 0.01


def test_lenet_takes_other_sizes():
    model = LeNet((2, 3), hidden=5, num_classes=4, image_size=28)
    assert model(Tensor(normal(0, 2, 28, 28))).shape == (2, 4)
    assert model.features(Tensor(normal(0, 2, 28, 28))).shape == (2, 3, 7, 7)


@pytest.mark.slow
@pytest.mark.usefixtures("without_type_checks")
def test_lenet_reads_more_than_97_of_100_digits():
    from tinygpt.scratch import AdamW, CosineSchedule, accuracy, fit, initialise

    digits = data.load_digits()
    manual_seed(0)
    model = initialise(LeNet(), seed=0)
    optimizer = AdamW(model.parameters(), weight_decay=0.1)
    steps = 15 * -(-len(digits.train.labels) // 32)
    schedule = CosineSchedule(3e-3, steps, warmup_steps=30, min_lr=1.5e-4)
    fit(model, digits.train, digits.validation, optimizer, 15, 32, schedule, seed=0)
    assert accuracy(model, *digits.test) >= 0.97


@examples
@given(st.integers(2, 6), st.integers(0, 40), seeds)
def test_confusion_matrix_is_scikit_learns(classes, count, seed):
    rng = np.random.default_rng(seed)
    labels, predictions = rng.integers(0, classes, (2, count))
    found = confusion_matrix(labels, predictions, classes)
    if count:
        expected = metrics.confusion_matrix(labels, predictions, labels=range(classes))
        np.testing.assert_array_equal(found, expected)
    assert found.sum() == count and found.shape == (classes, classes)


X = Tensor(np.zeros((2, 3, 5, 5)))
ERRORS = {
    "conv2d: x must have shape (B, C, H, W), got (3, 5, 5)": lambda: conv2d(
        X[0], Tensor(np.zeros((4, 3, 3, 3)))
    ),
    "conv2d: weight must have shape (O, C, kh, kw), got (3, 3)": lambda: conv2d(
        X, Tensor(np.zeros((3, 3)))
    ),
    "conv2d: x has 3 channels and the kernels of weight 1; got shapes (2, 3, 5, 5) and "
    "(4, 1, 3, 3)": lambda: conv2d(X, Tensor(np.zeros((4, 1, 3, 3)))),
    "conv2d: bias must have shape (4,), got (3,)": lambda: conv2d(
        X, Tensor(np.zeros((4, 3, 3, 3))), Tensor(np.zeros(3))
    ),
    "output_size: a window of 6 does not fit into 5 pixels (size=5, padding=0)": lambda: conv2d(
        X, Tensor(np.zeros((4, 3, 6, 6)))
    ),
    "output_size: stride must be a positive integer, got 0": lambda: output_size(5, 3, 0),
    "im2col: kernel_size must be a positive integer or two of them, got str '3'": lambda: im2col(
        X.data, "3"
    ),
    "im2col: padding must be an integer, 0 or more, got -1": lambda: im2col(X.data, 3, 1, -1),
    "col2im: columns must have shape (2, 27, 9) for images of shape (2, 3, 5, 5), got "
    "(2, 27, 8)": lambda: col2im(np.zeros((2, 27, 8)), X.shape, 3),
    "max_pool2d: padding must be an integer from 0 to 1, got 2": lambda: max_pool2d(
        X, 2, padding=2
    ),
    "max_pool2d: a window of (2, 3) needs a stride, got None": lambda: max_pool2d(X, (2, 3)),
    "Conv2d: out_channels must be a positive integer, got 0": lambda: Conv2d(3, 0, 3),
    "LeNet: image_size must be a multiple of 4, since two poolings halve it; got 10": lambda: LeNet(
        image_size=10
    ),
    "LeNet: images must have shape (B, 8, 8), got (2, 64)": lambda: LeNet()(
        Tensor(np.zeros((2, 64)))
    ),
    "confusion_matrix: label 3 is outside 0..2": lambda: confusion_matrix(
        np.array([3]), np.array([0]), 3
    ),
    "confusion_matrix: labels and predictions must be two lists of one length, got shapes (2,) "
    "and (1,)": lambda: confusion_matrix(np.array([0, 1]), np.array([0]), 3),
}


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("message", ERRORS)
def test_errors_say_what_is_allowed(message):
    with pytest.raises((TypeError, ValueError)) as raised:
        ERRORS[message]()
    assert str(raised.value) == message
