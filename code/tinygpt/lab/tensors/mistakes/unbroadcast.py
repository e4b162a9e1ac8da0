"""Wrong gradients of broadcasting."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def first_copy(grad, shape):
    while grad.ndim > len(shape):
        grad = grad[0]
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.take([0], axis=axis)
    return grad


def averages(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.mean(axis=0)
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.mean(axis=axis, keepdims=True)
    return grad


def keepdims_forgotten(grad, shape):
    added = grad.ndim - len(shape)
    grad = grad.sum(axis=tuple(range(added)))
    stretched = tuple(axis for axis, length in enumerate(shape) if length == 1)
    return grad.sum(axis=stretched)


def only_new_axes(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    return grad


def only_stretched_axes(grad, shape):
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


def axes_counted_from_the_left(grad, shape):
    for axis, length in enumerate(shape):
        if length != grad.shape[axis] or length == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    while grad.ndim > len(shape):
        grad = grad.sum(axis=-1)
    return grad


def everything_summed(grad, shape):
    return np.broadcast_to(grad.sum(), shape)


def always_the_batch(grad, shape):
    return grad.sum(axis=0) if grad.shape != shape else grad


MISTAKES = (
    Mistake(
        "first_copy",
        first_copy,
        "Of the gradient [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]] the shape (3,) should get "
        "[18, 22, 26], got [0, 1, 2]",
        "Only the first of the four copies was asked. All four were the same number in the "
        "forward pass, and the loss reacts through each of them. Sum over the copies.",
    ),
    Mistake(
        "averages",
        averages,
        "Of the gradient [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]] the shape (3,) should get "
        "[18, 22, 26], got [4.5, 5.5, 6.5]",
        "This is the mean over the copies. A step of the original moves all copies at once, so "
        "their effects add up; a mean would make the step four times too small, and the more so "
        "the larger the batch.",
    ),
    Mistake(
        "keepdims_forgotten",
        keepdims_forgotten,
        "unbroadcast should return the shape (4, 1) for a gradient of shape (4, 3), got (4,)",
        "The sum over the stretched axis removed it. A gradient must have the shape of what it "
        "belongs to, here a column; `keepdims=True` keeps the axis with the length 1.",
    ),
    Mistake(
        "only_new_axes",
        only_new_axes,
        "unbroadcast should return the shape (4, 1) for a gradient of shape (4, 3), got (4, 3)",
        "The axes that broadcasting put in front are summed, those that it stretched from length "
        "1 are not. Both are copies. After the front axes, sum over every axis where the shape "
        "has a 1.",
    ),
    Mistake(
        "only_stretched_axes",
        only_stretched_axes,
        "unbroadcast should return the shape (3,) for a gradient of shape (4, 3), got (4, 3)",
        "Axes of length 1 are summed, and those that broadcasting put in front are still there. "
        "A bias of shape (3,) has no axis 0 to compare with: sum over the first "
        "`grad.ndim - len(shape)` axes.",
    ),
    Mistake(
        "axes_counted_from_the_left",
        axes_counted_from_the_left,
        "unbroadcast should return the shape (3,) for a gradient of shape (4, 3), got (1,)",
        "Axis 0 of the bias was matched with axis 0 of the gradient, the batch. Broadcasting "
        "aligns shapes at their last axis, so the new axes are in front. Remove those first; then "
        "the axes correspond.",
    ),
    Mistake(
        "everything_summed",
        everything_summed,
        "Of the gradient [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]] the shape (3,) should get "
        "[18, 22, 26], got [66, 66, 66]",
        "Everything was summed and the total handed to each element. Each of the three has four "
        "copies, in its own column. Sum over the axes that were copied and no others.",
    ),
    Mistake(
        "always_the_batch",
        always_the_batch,
        "unbroadcast should return the shape (4, 1) for a gradient of shape (4, 3), got (3,)",
        "Summing over axis 0 is right for a bias, and only for a bias. Which axes were copied "
        "follows from the two shapes: compare them from the last axis on.",
    ),
)
