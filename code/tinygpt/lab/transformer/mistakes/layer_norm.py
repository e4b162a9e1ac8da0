"""Wrong layer normalisations."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Module, Tensor


class _Parameters(Module):
    """What all of them get right: eps, weight and bias."""

    def __init__(self, normalized_shape, eps=1e-5):
        self.eps = eps
        self.weight = Tensor(np.ones(normalized_shape), requires_grad=True)
        self.bias = Tensor(np.zeros(normalized_shape), requires_grad=True)


class BatchAxis(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=0, keepdims=True)
        variance = (centred * centred).mean(axis=0, keepdims=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class AllAxes(_Parameters):
    def forward(self, x):
        centred = x - x.mean()
        variance = (centred * centred).mean()
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class SecondAxis(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=1, keepdims=True)
        variance = (centred * centred).mean(axis=1, keepdims=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class AbsoluteDeviations(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = ((centred * centred).sqrt()).mean(axis=-1, keepdims=True)
        return centred / (spread + self.eps).sqrt() * self.weight + self.bias


class DividedByNMinusOne(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class DividedByVariance(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / (variance + self.eps) * self.weight + self.bias


class WithoutEps(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / variance.sqrt() * self.weight + self.bias


class EpsOutsideRoot(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / (variance.sqrt() + self.eps) * self.weight + self.bias


class WithoutScaleAndShift(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / (variance + self.eps).sqrt()


class PlainArrays(Module):
    def __init__(self, normalized_shape, eps=1e-5):
        self.eps = eps
        self.weight = np.ones(normalized_shape, dtype=np.float32)
        self.bias = np.zeros(normalized_shape, dtype=np.float32)

    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class ConstantStatistics(_Parameters):
    def forward(self, x):
        mean = x.data.mean(axis=-1, keepdims=True)
        std = np.sqrt(x.data.var(axis=-1, keepdims=True) + self.eps)
        return (x - mean) / std * self.weight + self.bias


class KeepdimsMissing(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1)
        variance = (centred * centred).mean(axis=-1)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class KeepdimsMissingInVariance(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class RootTwice(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        std = (centred * centred).mean(axis=-1, keepdims=True).sqrt()
        return centred / (std + self.eps).sqrt() * self.weight + self.bias


class NumPyRoot(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(variance + self.eps) * self.weight + self.bias


class InPlace(_Parameters):
    def forward(self, x):
        x.data -= x.data.mean(axis=-1, keepdims=True)
        variance = (x * x).mean(axis=-1, keepdims=True)
        return x / (variance + self.eps).sqrt() * self.weight + self.bias


class InputCutOff(_Parameters):
    def forward(self, x):
        centred = x.data - x.data.mean(axis=-1, keepdims=True)
        std = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self.eps)
        return Tensor(centred / std) * self.weight + self.bias


class GraphCut(_Parameters):
    def forward(self, x):
        centred = x.data - x.data.mean(axis=-1, keepdims=True)
        std = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self.eps)
        return Tensor(centred / std * self.weight.data + self.bias.data)


class NothingReturned(_Parameters):
    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        centred / (variance + self.eps).sqrt() * self.weight + self.bias


MISTAKES = (
    Mistake(
        "batch_axis",
        BatchAxis,
        "Mean should be ~0, got -0.9999988079071045",
        "The statistics were taken over the batch axis. Each feature was compared with the same "
        "feature of the other row, and the first row lies below the second everywhere. Layer "
        "normalisation averages over the features, `axis=-1`, with `keepdims=True`.",
        (_Parameters,),
    ),
    Mistake(
        "all_axes",
        AllAxes,
        "Mean should be ~0, got -0.8728707432746887",
        "One mean and one variance were taken over the whole batch, since `mean()` without an "
        "axis averages everything. The result for one text would then depend on which other "
        "texts are in the batch. Average over the last axis only.",
        (_Parameters,),
    ),
    Mistake(
        "absolute_deviations",
        AbsoluteDeviations,
        "Std should be ~1, got 1.1180284023284912",
        "The spread was measured with absolute deviations. For the row 1, 2, 3, 4 they average "
        "to 1 where the squares average to 1.25, and the root of 1.25 is 1.118. Variance is the "
        "mean of the squared deviations; divide by the root of variance + eps.",
        (_Parameters,),
    ),
    Mistake(
        "n_minus_one",
        DividedByNMinusOne,
        "Std should be ~1, got 0.8660227656364441",
        "The squares were divided by n - 1 instead of n. That estimates the variance of a "
        "population from a sample; here the features are all there is. With four features the "
        "result is too small by the root of 3/4.",
        (_Parameters,),
    ),
    Mistake(
        "divided_by_variance",
        DividedByVariance,
        "Std should be ~1, got 0.8944200277328491",
        "The deviations were divided by the variance, and the root was left out. The row "
        "1, 2, 3, 4 has the variance 1.25 and the standard deviation 1.118; dividing by the "
        "first leaves a spread of 1.118 / 1.25 = 0.894.",
        (_Parameters,),
    ),
    Mistake(
        "no_eps",
        WithoutEps,
        "A row of equal numbers should become 0.00, got nan",
        "A constant row has variance 0, and 0 / 0 is not a number. One such row, padding for "
        "example, turns every weight of the model into nan within a step. Adding eps to the "
        "variance makes it 0 / 0.003 = 0.",
        (_Parameters,),
    ),
    Mistake(
        "eps_outside_root",
        EpsOutsideRoot,
        "In a row of variance 1, with eps=3, 1 should become 0.50, got 0.25",
        "eps was added to the standard deviation, after the root: 1 / (1 + 3) = 0.25. The "
        "formula adds it to the variance, under the root: 1 / sqrt(1 + 3) = 0.5. With a small "
        "eps the two agree except on rows that hardly vary.",
        (_Parameters,),
    ),
    Mistake(
        "no_scale_and_shift",
        WithoutScaleAndShift,
        "With every weight 2 and bias 1, a normalised 1 should become 3.00, got 1.00",
        "The weight and the bias exist but are not used. They let the model choose another "
        "scale and offset for each feature where that is better. Multiply the normalised rows "
        "by `self.weight` and add `self.bias`.",
        (_Parameters,),
    ),
    Mistake(
        "plain_arrays",
        PlainArrays,
        "LayerNorm(4) should have 8 trainable numbers, got 0",
        "Weight and bias are NumPy arrays, which the optimiser does not see. They would keep "
        "their first values through the whole training. A parameter is a Tensor with "
        "`requires_grad=True`.",
    ),
    Mistake(
        "second_axis",
        SecondAxis,
        "In an input of shape (2, 3, 4) every row should have mean 0.00, got -1.22",
        "`axis=1` is the features' axis of a matrix, but in (B, T, C) it is the positions' "
        "axis. Tokens of one text are then mixed, later ones into earlier ones as well. "
        "`axis=-1` is the features' axis in both.",
        (_Parameters,),
    ),
    Mistake(
        "constant_statistics",
        ConstantStatistics,
        "Shifting a row changes nothing, so the gradient of the sum should be 0.00, got 0.50",
        "The values are right and the gradient is wrong. Mean and deviation were computed from "
        "`x.data`, outside the graph, so backward takes them for constants. Compute them with "
        "Tensor operations.",
        (_Parameters,),
    ),
    Mistake(
        "keepdims_missing",
        KeepdimsMissing,
        "LayerNorm raised ValueError: Tensor -: shapes (2, 4) and (2,) do not broadcast",
        "The mean has lost an axis: one number for each of the 2 rows, in the shape (2,), which "
        "cannot be subtracted from (2, 4). With `keepdims=True` it has the shape (2, 1) and is "
        "used for every feature of its row. Where batch and width are equal there would be no "
        "error, only wrong numbers.",
        (_Parameters,),
    ),
    Mistake(
        "keepdims_missing_in_variance",
        KeepdimsMissingInVariance,
        "LayerNorm raised ValueError: Tensor /: shapes (2, 4) and (2,) do not broadcast",
        "The mean keeps its axis and the variance does not, so (2, 4) is divided by (2,). "
        "Give both of them `keepdims=True`.",
        (_Parameters,),
    ),
    Mistake(
        "root_twice",
        RootTwice,
        "Std should be ~1, got 1.0573664903640747",
        "The root was taken twice. What stands under the root is the variance, not the standard "
        "deviation: the row 1, 2, 3, 4 was divided by the root of 1.118. Use "
        "`(variance + eps).sqrt()`, once.",
        (_Parameters,),
    ),
    Mistake(
        "numpy_function",
        NumPyRoot,
        "LayerNorm calls a NumPy function on a Tensor, which has methods of its own, such as "
        "x.sqrt() and x.mean()",
        "NumPy's functions work on arrays and record nothing for the backward pass, so a Tensor "
        "refuses them. Write `(variance + self.eps).sqrt()` instead of `np.sqrt(...)`.",
        (_Parameters,),
    ),
    Mistake(
        "in_place",
        InPlace,
        "LayerNorm should leave its input as it was; it changed it",
        "`x.data -= ...` writes into the array that was handed in. In a block that array is the "
        "residual stream, which the addition after it still needs. Compute a new Tensor: "
        "`x - x.mean(...)`.",
        (_Parameters,),
    ),
    Mistake(
        "graph_cut",
        GraphCut,
        "LayerNorm should be made of Tensor operations, got no graph",
        "The work was done on arrays, and `Tensor(...)` around the result starts without a "
        "history. The values are right, but nothing can be learned: backward ends here. Use "
        "Tensor operations throughout, without `.data`.",
        (_Parameters,),
    ),
    Mistake(
        "input_cut_off",
        InputCutOff,
        "The gradient should reach the input of LayerNorm, got None",
        "Weight and bias get gradients, but `Tensor(...)` around an array made from `x.data` has "
        "forgotten where it came from. Everything before this layer would learn nothing. "
        "Compute with x itself.",
        (_Parameters,),
    ),
    Mistake(
        "nothing_returned",
        NothingReturned,
        "LayerNorm should return a Tensor, got None",
        "`forward` computes the result and does not hand it back. A Python function without a "
        "`return` gives None.",
        (_Parameters,),
    ),
)
