"""Wrong first weights."""

import math

import numpy as np

from tinygpt.lab.definitions import Mistake


def variance_for_deviation(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.normal(0, gain**2 / in_features, (out_features, in_features))
    return weights.astype(np.float32)


def by_outputs(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.normal(0, gain / math.sqrt(out_features), (out_features, in_features))
    return weights.astype(np.float32)


def without_gain(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.standard_normal((out_features, in_features)) / math.sqrt(in_features)
    return weights.astype(np.float32)


def deviation_as_bound(in_features, out_features, gain=2**0.5, *, rng):
    bound = gain / math.sqrt(in_features)
    return rng.uniform(-bound, bound, (out_features, in_features)).astype(np.float32)


def from_zero_to_one(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.random((out_features, in_features)) * gain / math.sqrt(in_features)
    return weights.astype(np.float32)


def inputs_first(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.standard_normal((in_features, out_features)) * gain / math.sqrt(in_features)
    return weights.astype(np.float32)


def gain_fixed(in_features, out_features, gain=2**0.5, *, rng):
    weights = rng.standard_normal((out_features, in_features)) * math.sqrt(2 / in_features)
    return weights.astype(np.float32)


def shared_generator(in_features, out_features, gain=2**0.5, *, rng):
    weights = np.random.default_rng().standard_normal((out_features, in_features))
    return (weights * gain / math.sqrt(in_features)).astype(np.float32)


MISTAKES = (
    Mistake(
        "variance_for_deviation",
        variance_for_deviation,
        "With 100 inputs and a gain of √2 the weights should have a standard deviation of 0.141, "
        "got 0.020",
        "The variance is given where NumPy asks for the standard deviation. Weights seven times "
        "too small make the signal fifty times weaker in mean square at every layer. Take the "
        "root: gain / √I.",
    ),
    Mistake(
        "by_outputs",
        by_outputs,
        "With 100 inputs and a gain of √2 the weights should have a standard deviation of 0.141, "
        "got 0.010",
        "The scale is taken from the number of outputs. What grows the sum is the number of "
        "terms in it, and one output sums over the inputs. In a square matrix nobody notices.",
    ),
    Mistake(
        "without_gain",
        without_gain,
        "With 100 inputs and a gain of √2 the weights should have a standard deviation of 0.141, "
        "got 0.100",
        "The gain is left out, so the linear map alone keeps the mean square, and the ReLU after "
        "it halves it. After twenty layers a millionth is left.",
    ),
    Mistake(
        "deviation_as_bound",
        deviation_as_bound,
        "With 100 inputs and a gain of √2 the weights should have a standard deviation of 0.141, "
        "got 0.082",
        "A uniform number between -a and a has a standard deviation of a / √3, not a. Uniform "
        "weights are fine, with the bound √3 · gain / √I.",
    ),
    Mistake(
        "from_zero_to_one",
        from_zero_to_one,
        "The weights should have a mean of about 0, got 0.071",
        "`rng.random` gives numbers from 0 to 1, so all weights are positive. Every output is "
        "then mostly the sum of its inputs, and all outputs of a layer are nearly alike.",
    ),
    Mistake(
        "inputs_first",
        inputs_first,
        "For 100 inputs and 20,000 outputs the weights should have the shape (20000, 100), "
        "got (100, 20000)",
        "The matrix is the other way round. `Linear.weight` has a row for each output, and the "
        "layer computes x Wᵀ, as in PyTorch.",
    ),
    Mistake(
        "gain_fixed",
        gain_fixed,
        "With a gain of 3 the weights should have a standard deviation of 0.300, got 0.141",
        "The √2 of the ReLU is written into the formula, and the argument `gain` does nothing. "
        "The last layer, which no ReLU follows, asks for a gain of 1.",
    ),
    Mistake(
        "shared_generator",
        shared_generator,
        "Two generators with the same seed should give the same weights, got others",
        "The numbers come from another source than `rng`. A run that starts with other weights "
        "every time cannot be repeated, and two runs cannot be compared.",
    ),
)
