"""Modules: functions with parameters."""

import contextlib
import math

import numpy as np

from tinygpt.scratch import functional
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Float, Int
from tinygpt.validate import (
    check_choice,
    describe,
    first_few,
    flag,
    generator,
    instance,
    number,
    positive_integer,
    probability,
)

_rng = np.random.default_rng()


def manual_seed(seed: int):
    """Restart the random numbers from which layers draw their weights and dropout masks."""
    global _rng
    _rng = generator("manual_seed", seed)


class Module:
    """A function with parameters, which may be made of smaller ones.

    Every Tensor that is an attribute is a parameter. Every Module that is an attribute, and
    every Module in a list that is one, is a child. A subclass defines `forward`.
    """

    training = True

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Compute the module's result; every subclass has its own."""
        raise NotImplementedError(f"{type(self).__name__}: forward is not defined")

    def modules(self):
        """Yield (dotted name, module) for this module, named "", and all below it."""
        yield "", self
        for name, value in vars(self).items():
            children = {name: value}
            if isinstance(value, (list, tuple)):
                children = {f"{name}.{i}": child for i, child in enumerate(value)}
            for child_name, child in children.items():
                if isinstance(child, Module):
                    for inner, module in child.modules():
                        yield f"{child_name}.{inner}".rstrip("."), module

    def named_parameters(self):
        """Yield (dotted name, Tensor), a shared parameter once, under its first name."""
        seen = set()
        for name, tensor in self._named_tensors():
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield name, tensor

    def parameters(self) -> list[Tensor]:
        """Return all parameters, in a fixed order."""
        return [tensor for _, tensor in self.named_parameters()]

    def num_parameters(self) -> int:
        """Return how many numbers the parameters hold."""
        return sum(tensor.size for tensor in self.parameters())

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return a copy of every parameter's values by name."""
        return {name: tensor.data.copy() for name, tensor in self.named_parameters()}

    def load_state_dict(self, state: dict[str, np.ndarray]):
        """Copy values into the parameters by name; on any error nothing is changed.

        Raises:
            ValueError: when names or shapes are not those of this module.
        """
        where = f"{type(self).__name__}.load_state_dict"
        instance(where, "state", state, dict)
        for name in state:
            instance(where, "every name in state", name, str)
        tensors = dict(self._named_tensors())
        required = {name for name, _ in self.named_parameters()}
        if missing := sorted(required - state.keys()):
            raise ValueError(f"{where}: state lacks {first_few(missing)}")
        if unknown := sorted(state.keys() - tensors.keys()):
            raise ValueError(f"{where}: state has {first_few(unknown)}, which this model does not")
        arrays = {name: np.asarray(value) for name, value in state.items()}
        for name, array in arrays.items():
            if array.shape != tensors[name].shape or array.dtype.kind != "f":
                raise ValueError(
                    f"{where}: {name} must be floats of shape {tensors[name].shape}, "
                    f"got {describe(array)}"
                )
        first_name = {id(tensor): name for name, tensor in self.named_parameters()}
        for name in arrays:  # a shared parameter may be given under each of its names
            first = first_name[id(tensors[name])]
            if not np.array_equal(arrays[name], arrays[first], equal_nan=True):
                raise ValueError(f"{where}: {name} and {first} are one parameter, but differ")
        for name in required:
            tensors[name].data[...] = arrays[name]

    def train(self, mode: bool = True):
        """Switch dropout on (or off), here and in all children; return the module."""
        mode = flag(f"{type(self).__name__}.train", "mode", mode)
        for _, module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Switch dropout off, here and in all children; return the module."""
        return self.train(False)

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        for tensor in self.parameters():
            tensor.zero_grad()

    def _named_tensors(self):
        for prefix, module in self.modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    yield f"{prefix}.{name}".lstrip("."), value


@contextlib.contextmanager
def evaluation_mode(module: Module):
    """Switch dropout off inside the context; afterwards every part is as it was."""
    instance("evaluation_mode", "module", module, Module)
    before = [(part, part.training) for _, part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


class Linear(Module):
    """An affine map of the last axis.

    y = x Wᵀ + b, with W of shape (out_features, in_features) as in PyTorch

    Weights and biases start uniform between -1/√in_features and 1/√in_features.

    Args:
        in_features: length of the last axis of the input.
        out_features: length of the last axis of the output.
        bias: whether there is a b.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        self.in_features = positive_integer("Linear", "in_features", in_features)
        self.out_features = positive_integer("Linear", "out_features", out_features)
        bound = 1 / math.sqrt(in_features)
        self.weight = uniform_parameter((out_features, in_features), bound)
        bias = flag("Linear", "bias", bias)
        self.bias = uniform_parameter((out_features,), bound) if bias else None

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """Map (..., in_features) to (..., out_features)."""
        return functional.linear(x, self.weight, self.bias)


class Embedding(Module):
    """A table with one row per id, drawn from the standard normal distribution.

    Args:
        num_embeddings: number of ids, V.
        embedding_dim: length of a row, C.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int):
        self.num_embeddings = positive_integer("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = positive_integer("Embedding", "embedding_dim", embedding_dim)
        self.weight = _normal((num_embeddings, embedding_dim))

    def forward(self, ids: Int[np.ndarray, "*B"]) -> Float[Tensor, "*B C"]:
        """Map ids of any shape to their rows, (..., C)."""
        return functional.embedding(self.weight, ids)


class LayerNorm(Module):
    """Normalise each position's features to mean 0 and variance 1, then scale and shift.

    y = (x - μ) / √(var + eps) ∘ weight + bias, with μ and var over the last axis

    Args:
        normalized_shape: length of the last axis, C.
        eps: added to the variance, so that a constant row does not divide by zero.

    Source: Ba, Kiros and Hinton (2016), Layer Normalization, equations 3 and 4.
    """

    def __init__(self, normalized_shape: int, eps: float = 1e-5):
        size = positive_integer("LayerNorm", "normalized_shape", normalized_shape)
        self.eps = number("LayerNorm", "eps", eps, low=0.0)
        self.weight = Tensor(np.ones(size), requires_grad=True)
        self.bias = Tensor(np.zeros(size), requires_grad=True)

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B C"]:
        """Normalise the last axis; every row by its own statistics."""
        return functional.layer_norm(x, self.weight, self.bias, self.eps)


class Dropout(Module):
    """In training, set elements to 0 with probability p and scale up the rest; else do nothing.

    Args:
        p: probability, at least 0 and below 1.
    """

    def __init__(self, p: float = 0.5):
        self.p = probability("Dropout", "p", p)
        self.rng = None  # its own generator, or the one of manual_seed

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return x itself, or x with some elements dropped."""
        if not self.training or self.p == 0.0:
            return x
        return functional.dropout(x, self.p, self.rng or _rng)


class GELU(Module):
    """The Gaussian error linear unit; see `gelu`."""

    def __init__(self, approximate: str = "tanh"):
        check_choice("GELU", "approximate", approximate, ("tanh", "none"))
        self.approximate = approximate

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Apply it to each element."""
        return functional.gelu(x, self.approximate)


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Apply it to each element."""
        return instance("ReLU.forward", "x", x, Tensor).relu()


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *layers: Module):
        for layer in layers:
            instance("Sequential", "every layer", layer, Module)
        self.layers = list(layers)

    def forward(self, x):
        """Give each module the result of the one before."""
        for layer in self.layers:
            x = layer(x)
        return x


def _normal(shape) -> Tensor:
    return Tensor(_rng.standard_normal(shape, dtype=np.float32), requires_grad=True)


def uniform_parameter(shape: tuple[int, ...], bound: float) -> Tensor:
    """Return a parameter drawn uniformly between -bound and bound, for layers to start from."""
    values = _rng.random(shape, dtype=np.float32)
    values *= 2 * bound
    values -= bound
    return Tensor(values, requires_grad=True)
