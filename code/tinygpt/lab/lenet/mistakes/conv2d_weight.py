"""Wrong gradients of the kernels."""

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import Mistake


def _parts(x, grad, k, stride, padding):
    """The gradient and the patches, as (B, O, P) and (B, K, P)."""
    return grad.reshape(*grad.shape[:2], -1), scratch.im2col(x, k, stride, padding)


def mean_over_places(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    sums = (grad @ columns.swapaxes(1, 2)).sum(axis=0)
    return sums.reshape(-1, x.shape[1], kernel_size, kernel_size) / grad.shape[2]


def upside_down(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    sums = (grad @ columns.swapaxes(1, 2)).sum(axis=0)
    shaped = sums.reshape(-1, x.shape[1], kernel_size, kernel_size)
    return shaped[:, :, ::-1, ::-1]


def gradient_not_used(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    sums = (np.ones_like(grad) @ columns.swapaxes(1, 2)).sum(axis=0)
    return sums.reshape(-1, x.shape[1], kernel_size, kernel_size)


def mean_over_images(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    means = (grad @ columns.swapaxes(1, 2)).mean(axis=0)
    return means.reshape(-1, x.shape[1], kernel_size, kernel_size)


def first_image_only(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    return (grad[0] @ columns[0].T).reshape(-1, x.shape[1], kernel_size, kernel_size)


def one_for_each_image(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    return (grad @ columns.swapaxes(1, 2)).reshape(-1, x.shape[1], kernel_size, kernel_size)


def images_as_places(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    kernels, numbers = grad.shape[1], columns.shape[1]
    sums = grad.reshape(kernels, -1) @ columns.reshape(numbers, -1).T
    return sums.reshape(-1, x.shape[1], kernel_size, kernel_size)


def transposed(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, padding)
    sums = (columns @ grad.swapaxes(1, 2)).sum(axis=0)
    return sums.reshape(-1, x.shape[1], kernel_size, kernel_size)


def padding_forgotten(x, grad, kernel_size, stride=1, padding=0):
    grad, columns = _parts(x, grad, kernel_size, stride, 0)
    sums = (grad[..., : columns.shape[2]] @ columns.swapaxes(1, 2)).sum(axis=0)
    return sums.reshape(-1, x.shape[1], kernel_size, kernel_size)


MISTAKES = (
    Mistake(
        "mean_over_places",
        mean_over_places,
        "The first weight met the pixels 1, 2, 4 and 5: it should be 12, got 3",
        "The sum over the places is divided by their number. A weight is used at every place, "
        "and each use adds its part to the loss, so the parts are added. A mean makes the "
        "kernels of large images learn too slowly.",
        (_parts,),
    ),
    Mistake(
        "upside_down",
        upside_down,
        "The first weight met the pixels 1, 2, 4 and 5: it should be 12, got 28",
        "The gradient is turned round, as it would have to be for a kernel that is flipped on "
        "the way forward. Here the forward pass does not flip: the first weight meets the upper "
        "left pixel of each patch.",
        (_parts,),
    ),
    Mistake(
        "gradient_not_used",
        gradient_not_used,
        "With a gradient at the first place only, the weights get the first patch, [[1, 2], [4,"
        " 5]]; got [[12, 16], [24, 28]]",
        "All places count alike, whatever gradient comes from above. The chain rule multiplies "
        "each patch by the gradient at its place; here only the first place has one.",
        (_parts,),
    ),
    Mistake(
        "mean_over_images",
        mean_over_images,
        "The weight met the pixel 1 in one image and 10 in the other: it should be 11, got 5.5",
        "The images are averaged. The loss may well be a mean, but then its division is in the "
        "gradient that comes from above already, and this would be the second one. Add.",
        (_parts,),
    ),
    Mistake(
        "first_image_only",
        first_image_only,
        "The weight met the pixel 1 in one image and 10 in the other: it should be 11, got 1",
        "The gradient comes from image 0 alone. All images went through the same kernels, so "
        "each adds its part: sum the products over the batch.",
        (_parts,),
    ),
    Mistake(
        "one_for_each_image",
        one_for_each_image,
        "For one kernel of one pixel conv2d_weight_gradient should return the shape (1, 1, 1, "
        "1), got (2, 1, 1, 1)",
        "There is a gradient for every image, and the reshape counts the images as kernels. "
        "The kernels exist once; add the products up over the batch axis first.",
        (_parts,),
    ),
    Mistake(
        "images_as_places",
        images_as_places,
        "Two images of one pixel, 1 and 10; the gradients of two kernels are 1 and 2 in the first "
        "image, 3 and 4.5 in the second. The kernels should get 1 · 1 + 3 · 10 = 31 and "
        "2 · 1 + 4.5 · 10 = 47, got 21 and 48",
        "One product over all images is a good plan, but a reshape moves no numbers. In memory "
        "the images come first, so image 0's gradients fill the first row, whichever kernel they "
        "belong to. Transpose to (O, B, P) before the reshape.",
        (_parts,),
    ),
    Mistake(
        "transposed",
        transposed,
        "One pixel of two channels, 1 and 10, with gradients 1 and 2 for two kernels: a row for "
        "each kernel should be [[1, 10], [2, 20]], got [[1, 2], [10, 20]]",
        "This is X gᵀ, of shape (K, O), and the reshape hides that. For Y = W X the gradient of "
        "W is g Xᵀ, of shape (O, K) as W itself.",
        (_parts,),
    ),
    Mistake(
        "padding_forgotten",
        padding_forgotten,
        "conv2d_weight_gradient of an input of shape (2, 3, 5, 7) with kernel 3, stride 1 and "
        "padding 1 differs from the definition by up to 95",
        "The patches are cut from the image without its margin, so each gradient meets the "
        "patch of another place. The backward pass needs the same patches as the forward pass; "
        "it is safest to keep them.",
        (_parts,),
    ),
)
