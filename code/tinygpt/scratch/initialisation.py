"""How large the weights start: so that a signal neither dies nor explodes on its way."""

import math

import numpy as np

from tinygpt.scratch.layers import Embedding, Module
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float
from tinygpt.validate import generator, instance, number, positive_integer


def he_weights(
    in_features: int, out_features: int, gain: float = math.sqrt(2), *, rng: np.random.Generator
) -> Float[np.ndarray, "O I"]:
    """Draw the weights of a linear map that keeps the mean square of what passes through.

    W ~ N(0, gain² / in_features)

    A sum of n products of independent numbers has n times the variance of one, which the
    division takes back. The gain makes up for the function that follows: √2 for a ReLU, which
    lets half of the mean square through, and 1 where nothing follows.

    Args:
        in_features: numbers that are summed for one output, I.
        out_features: number of outputs, O.
        gain: factor for the standard deviation, 0 or more.
        rng: source of the numbers.

    Returns:
        float32 of shape (O, I), as `Linear.weight` has it.

    Source: He et al. (2015), Delving Deep into Rectifiers, equation 10; with gain 1, the first
        half of Glorot and Bengio (2010).
    """
    in_features = positive_integer("he_weights", "in_features", in_features)
    out_features = positive_integer("he_weights", "out_features", out_features)
    gain = number("he_weights", "gain", gain, low=0.0)
    instance("he_weights", "rng", rng, np.random.Generator)
    weights = rng.standard_normal((out_features, in_features), dtype=np.float32)
    return weights * np.float32(gain / math.sqrt(in_features))


def initialise(module: Module, gain: float = math.sqrt(2), seed: int | None = 0) -> Module:
    """Draw every weight of a model anew with `he_weights`, set biases to 0; return the model.

    A weight is a matrix, or a kernel whose axes after the first are summed over. Embeddings and
    the vectors of a LayerNorm stay as they are.

    Args:
        module: the model to change.
        gain: the same for every layer.
        seed: fixes the draws.
    """
    instance("initialise", "module", module, Module)
    rng = generator("initialise", seed)
    for _, part in module.modules():
        weight, bias = getattr(part, "weight", None), getattr(part, "bias", None)
        if isinstance(part, Embedding) or not isinstance(weight, Tensor) or weight.ndim < 2:
            continue
        rows = weight.shape[0]
        drawn = he_weights(weight.size // rows, rows, gain, rng=rng)
        weight.data[...] = drawn.reshape(weight.shape)
        if isinstance(bias, Tensor):
            bias.data[...] = 0
    return module
