"""The exercises of the chapter Milestone: LeNet on digits."""

from tinygpt import scratch
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.lenet import checks, checks_drawn, checks_pooling, solutions, stubs
from tinygpt.lab.lenet.mistakes import (
    confusion_matrix,
    conv2d,
    conv2d_weight,
    im2col,
    max_pool2d,
)

CHAPTER = Chapter(
    name="lenet",
    title="Milestone: LeNet on digits",
    stubs=stubs,
    exercises=(
        Exercise(
            name="im2col",
            symbol="im2col",
            title="Patches as columns",
            goal="Write `im2col(x, kernel_size, stride, padding)`: every patch that a window sees, "
            "as one column of a matrix.",
            section="sec-lenet-im2col",
            section_title="Patches as columns",
            stub=stubs.im2col,
            solution=solutions.im2col,
            book=scratch.im2col,
            checks=(
                checks.test_unit_im2col,
                checks.test_stride_im2col,
                checks.test_padding_im2col,
                checks.test_shapes_im2col,
                checks_drawn.test_drawn_im2col,
            ),
            hints=(
                "Pad first: `np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))` adds p zeros before and "
                "after the last two axes. From there on only the padded size counts.",
                "Two loops over places are enough to begin with: take each patch as a slice, "
                "`.reshape(B, -1)` it, and `np.stack(patches, axis=-1)` them.",
                "Faster: loop over the k × k pixels of the window and not over the places. The "
                "pixel (i, j) of all patches at once is a slice with the stride as its step.",
            ),
            mistakes=im2col.MISTAKES,
        ),
        Exercise(
            name="conv2d",
            symbol="conv2d",
            title="A convolution",
            goal="Write `conv2d(x, weight, bias, stride, padding)`: multiply the kernels, as rows, "
            "with the patches, as columns.",
            section="sec-lenet-product",
            section_title="A convolution is a matrix product",
            stub=stubs.conv2d,
            solution=solutions.conv2d,
            book=solutions.book_conv2d,
            checks=(
                checks.test_unit_conv2d,
                checks.test_batch_conv2d,
                checks.test_shapes_conv2d,
                checks_drawn.test_drawn_conv2d,
            ),
            hints=(
                "A kernel of shape (C, k, k) is a row of C·k·k numbers: "
                "`weight.reshape(O, -1)`. Its order fits that of the columns.",
                "(O, K) @ (B, K, P) gives (B, O, P): NumPy takes the images one by one. A bias of "
                "shape (O,) becomes (O, 1) with `bias[:, None]`.",
                "The last step is a reshape of P to (OH, OW). OH is "
                "(H + 2·padding - k) // stride + 1, and -1 stands for the rest.",
            ),
            mistakes=conv2d.MISTAKES,
        ),
        Exercise(
            name="conv2d_weight",
            symbol="conv2d_weight_gradient",
            title="The gradient of the kernels",
            goal="Write `conv2d_weight_gradient(x, grad, kernel_size, stride, padding)`: what each "
            "weight of a convolution learns from the gradient above.",
            section="sec-lenet-backward",
            section_title="The way back",
            stub=stubs.conv2d_weight_gradient,
            solution=solutions.conv2d_weight_gradient,
            book=solutions.book_conv2d_weight_gradient,
            checks=(
                checks.test_unit_conv2d_weight,
                checks.test_batch_conv2d_weight,
                checks.test_shapes_conv2d_weight,
                checks_drawn.test_drawn_conv2d_weight,
            ),
            hints=(
                "Forward it is Y = W X, with a patch in each column of X. What is the gradient of "
                "W in a matrix product?",
                "dW = g Xᵀ, with g of shape (B, O, P) and X of shape (B, K, P). The product sums "
                "over the places.",
                "It leaves (B, O, K). The kernels are shared by the images: sum over the first "
                "axis, then reshape to (O, C, k, k).",
            ),
            mistakes=conv2d_weight.MISTAKES,
        ),
        Exercise(
            name="max_pool2d",
            symbol="max_pool2d",
            title="Pooling and its gradient",
            goal="Write `max_pool2d(x, kernel_size, stride)`: the largest of each window, and the "
            "gradient that goes back to it.",
            section="sec-lenet-pooling",
            section_title="Pooling keeps the strongest answer",
            stub=stubs.max_pool2d,
            solution=solutions.max_pool2d,
            book=scratch.max_pool2d,
            checks=(
                checks_pooling.test_unit_max_pool2d,
                checks_pooling.test_gradient_max_pool2d,
                checks_pooling.test_ties_max_pool2d,
                checks_pooling.test_overlap_max_pool2d,
                checks_pooling.test_shapes_max_pool2d,
                checks_drawn.test_drawn_max_pool2d,
            ),
            hints=(
                "The pixel (i, j) of all windows at once is a slice of `x.data` with a step. "
                "Stack the k × k slices: `max` and `argmax` over the first axis do the rest.",
                "`argmax` gives the first of equal maxima. Keep it: it says where the gradient "
                "goes.",
                "Backward: start from zeros like x.data, and add to slice number n the gradient "
                "times (winner == n). Add, since windows may overlap.",
            ),
            mistakes=max_pool2d.MISTAKES,
        ),
        Exercise(
            name="confusion_matrix",
            symbol="confusion_matrix",
            title="What is taken for what",
            goal="Write `confusion_matrix(labels, predictions, num_classes)`: how often each class "
            "was taken for each.",
            section="sec-lenet-mistakes",
            section_title="What it confuses",
            stub=stubs.confusion_matrix,
            solution=scratch.confusion_matrix,
            book=scratch.confusion_matrix,
            checks=(
                checks_pooling.test_unit_confusion_matrix,
                checks_pooling.test_shapes_confusion_matrix,
                checks_drawn.test_drawn_confusion_matrix,
            ),
            hints=(
                "Start from a square of zeros of integers. Each example adds 1 at the row of its "
                "label and the column of its prediction.",
                "`matrix[labels, predictions] += 1` counts a pair that occurs twice once. "
                "`np.add.at(matrix, (labels, predictions), 1)` counts every one.",
            ),
            mistakes=confusion_matrix.MISTAKES,
        ),
    ),
)
