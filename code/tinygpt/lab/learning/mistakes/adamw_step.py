"""Wrong steps of AdamW."""

import numpy as np

from tinygpt.lab.definitions import Mistake

# The arguments of `adamw_step`, as they stand in every answer.


def no_bias_correction(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    weight *= 1 - lr * weight_decay
    weight -= lr * mean / (np.sqrt(square) + eps)


def new_arrays(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight = weight * (1 - lr * weight_decay) - lr * m / (np.sqrt(v) + eps)
    return weight


def means_forgotten(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight *= 1 - lr * weight_decay
    weight -= lr * m / (np.sqrt(v) + eps)


def without_the_root(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight *= 1 - lr * weight_decay
    weight -= lr * m / (v + eps)


def correction_of_the_first_step(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0]), square / (1 - betas[1])
    weight *= 1 - lr * weight_decay
    weight -= lr * m / (np.sqrt(v) + eps)


def decay_in_the_gradient(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    grad = grad + weight_decay * weight
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight -= lr * m / (np.sqrt(v) + eps)


def decay_without_the_rate(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight *= 1 - weight_decay
    weight -= lr * m / (np.sqrt(v) + eps)


def eps_under_the_root(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight *= 1 - lr * weight_decay
    weight -= lr * m / np.sqrt(v + eps)


def decay_after_the_step(
    weight, grad, mean, square, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
):
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, v = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    weight -= lr * m / (np.sqrt(v) + eps)
    weight *= 1 - lr * weight_decay


MISTAKES = (
    Mistake(
        "no_bias_correction",
        no_bias_correction,
        "The first step with lr=0.1 should change the weights by [-0.1, 0.1, -0.1], "
        "got [-0.316, 0.316, -0.316]",
        "Both means start at 0 and are too small at first, the mean by a factor of 10 and the "
        "root of the square by 31.6. Uncorrected, the first step is 3.16 times too long, and the "
        "next ones are longer still.",
    ),
    Mistake(
        "new_arrays",
        new_arrays,
        "adamw_step should change the array weight itself, which is as it was",
        "`weight = weight - …` makes a new array and gives it the name; the model keeps the old "
        "one. The loss stays where it is, without any error. Use `-=`, or `weight[...] = …`.",
    ),
    Mistake(
        "means_forgotten",
        means_forgotten,
        "After the first step the array mean should hold [0.4, -2.5, 0.001], got [0, 0, 0]",
        "The weights move, but both means are new arrays that are forgotten when the function "
        "returns. Every step then starts from zero means and is divided by a correction that "
        "counts on the earlier ones. Write `mean[...] = …`.",
    ),
    Mistake(
        "without_the_root",
        without_the_root,
        "The first step with lr=0.1 should change the weights by [-0.1, 0.1, -0.1], "
        "got [-0.025, 0.004, -10]",
        "The mean is divided by the mean square, and not by its root. A step then has the size "
        "of one over the gradient, so the smallest gradients make the longest steps.",
    ),
    Mistake(
        "correction_of_the_first_step",
        correction_of_the_first_step,
        "Under a constant gradient every step should be lr=0.1 long; step 2 is 0.134",
        "The correction divides by 1 - β at every step, which is right for the first one only. "
        "The means fill up, so the correction must fade: 1 - β to the power of the step.",
    ),
    Mistake(
        "decay_in_the_gradient",
        decay_in_the_gradient,
        "With a gradient of 0, lr=0.1 and weight_decay=0.2, a weight of 2 should become 1.960, "
        "got 1.900",
        "The decay is added to the gradient, where Adam divides it by the root of the mean "
        "square. How much a weight shrinks then depends on its gradients and hardly on "
        "weight_decay. AdamW takes it past Adam: multiply the weight by 1 - lr · weight_decay.",
    ),
    Mistake(
        "decay_without_the_rate",
        decay_without_the_rate,
        "With a gradient of 0, lr=0.1 and weight_decay=0.2, a weight of 2 should become 1.960, "
        "got 1.600",
        "Each step takes weight_decay of the weight, without the learning rate. At a usual decay "
        "of 0.1 the weights are gone after a few dozen steps. PyTorch multiplies by the rate, so "
        "that a schedule lowers both together.",
    ),
    Mistake(
        "eps_under_the_root",
        eps_under_the_root,
        "With a gradient of -1 and eps=1 the first step should be 0.1 / (√1 + 1) = 0.050, "
        "got 0.071",
        "eps is added to the square before the root is taken. With 1e-8 that acts like 1e-4 "
        "beside the root, and slows every weight with gradients below it. It belongs outside.",
    ),
    Mistake(
        "decay_after_the_step",
        decay_after_the_step,
        "After three steps with betas=(0.5, 0.75), eps=0.01 and weight_decay=0.1 the weights "
        "should be [0.701, 1.24] in row 0, got [0.704, 1.24]",
        "The decay comes last and so shrinks the step as well. The difference is small, but it is "
        "another algorithm than PyTorch's: there the decay is that of the weight before the step.",
    ),
)
