"""A small network of convolutions that reads digits, and a table of what it confuses."""

import numpy as np

from tinygpt.scratch.convolution import Conv2d, MaxPool2d
from tinygpt.scratch.layers import Dropout, Linear, Module
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Int, Integer
from tinygpt.validate import (
    describe,
    ids_below,
    instance,
    integer_array,
    positive_integer,
)


class LeNet(Module):
    """Two rounds of convolution, ReLU and pooling, then two linear maps.

    The order of LeNet-5, for images that are smaller: kernels of 3 by 3 with a margin of one
    pixel, so that only pooling shrinks the image; a maximum where LeNet-5 has a mean, and a
    ReLU where it has a tanh.

    Args:
        channels: kernels of the first and of the second convolution.
        hidden: width of the first linear map.
        num_classes: scores that come out.
        image_size: rows and columns of the images, a multiple of 4.
        dropout_prob: dropout before each linear map, in training.

    Source: LeCun et al. (1998), Gradient-Based Learning Applied to Document Recognition, II.B.
    """

    def __init__(
        self,
        channels: tuple[int, int] = (16, 32),
        hidden: int = 64,
        num_classes: int = 10,
        image_size: int = 8,
        dropout_prob: float = 0.3,
    ):
        if not isinstance(channels, (tuple, list)) or len(channels) != 2:
            raise TypeError(f"LeNet: channels must be two integers, got {describe(channels)}")
        first, second = (positive_integer("LeNet", "channels", n) for n in channels)
        if positive_integer("LeNet", "image_size", image_size) % 4:
            raise ValueError(
                f"LeNet: image_size must be a multiple of 4, since two poolings halve it; "
                f"got {image_size}"
            )
        self.image_size = image_size
        self.conv1 = Conv2d(1, first, kernel_size=3, padding=1)
        self.conv2 = Conv2d(first, second, kernel_size=3, padding=1)
        self.pool = MaxPool2d(2)
        self.fc1 = Linear(second * (image_size // 4) ** 2, hidden)
        self.fc2 = Linear(hidden, num_classes)
        self.dropout = Dropout(dropout_prob)

    def features(self, images: Float[Tensor, "B H W"]) -> Float[Tensor, "B C h w"]:
        """Map images without a channel axis to what the second pooling leaves, (B, C, h, w)."""
        size = (self.image_size, self.image_size)
        if instance("LeNet", "images", images, Tensor).ndim != 3 or images.shape[1:] != size:
            raise ValueError(
                f"LeNet: images must have shape (B, {size[0]}, {size[1]}), got {images.shape}"
            )
        x = images.reshape(len(images), 1, *size)  # (B, 1, H, W): one channel
        x = self.pool(self.conv1(x).relu())  # (B, 16, H / 2, W / 2)
        return self.pool(self.conv2(x).relu())  # (B, 32, H / 4, W / 4)

    def forward(self, images: Float[Tensor, "B H W"]) -> Float[Tensor, "B V"]:
        """Map images without a channel axis to scores, (B, num_classes)."""
        x = self.features(images)
        x = self.dropout(x.reshape(len(images), self.fc1.in_features))  # (B, 32 · H / 4 · W / 4)
        return self.fc2(self.dropout(self.fc1(x).relu()))


def confusion_matrix(
    labels: Integer[np.ndarray, " N"], predictions: Integer[np.ndarray, " N"], num_classes: int
) -> Int[np.ndarray, "V V"]:
    """Count which class was taken for which.

    matrix[i, j] = the number of examples of class i that were called j

    Args:
        labels: what each example is.
        predictions: what it was called.
        num_classes: number of classes, V, whether or not all occur.

    Returns:
        (V, V), a row for each class; the diagonal holds what is right.

    Raises:
        ValueError: when the lengths differ, or a class is outside 0..V-1.
    """
    num_classes = positive_integer("confusion_matrix", "num_classes", num_classes)
    labels = integer_array("confusion_matrix", "labels", labels)
    predictions = integer_array("confusion_matrix", "predictions", predictions)
    if labels.ndim != 1 or labels.shape != predictions.shape:
        raise ValueError(
            "confusion_matrix: labels and predictions must be two lists of one length, got shapes "
            f"{labels.shape} and {predictions.shape}"
        )
    ids_below("confusion_matrix", "label", labels, num_classes)
    ids_below("confusion_matrix", "prediction", predictions, num_classes)
    pairs = num_classes * labels + predictions  # one number for each pair
    counts = np.bincount(pairs, minlength=num_classes**2)
    return counts.reshape(num_classes, num_classes)
