"""What a recorded graph is made of: its nodes, the names of its operations, its bytes."""

import types
from dataclasses import dataclass

import numpy as np

from tinygpt.scratch.tensor import Tensor
from tinygpt.validate import instance

_SYMBOLS = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__pow__": "**",
    "__matmul__": "@",
    "__neg__": "negative",
    "__getitem__": "[ ]",
}


@dataclass(frozen=True)
class GraphMemory:
    """Bytes of arrays that a result keeps alive through its graph.

    Attributes:
        leaves: tensors that were given: weights, data, constants.
        results: what the operations returned, the last result among them.
        saved: what only the backward closures hold, such as the mean of a layer norm.
    """

    leaves: int
    results: int
    saved: int

    @property
    def activations(self) -> int:
        """What is there because of the graph alone, in bytes: results and saved arrays."""
        return self.results + self.saved


def graph_nodes(result: Tensor) -> list[Tensor]:
    """Return `result` and every Tensor behind it once, leaves included, inputs first."""
    order, seen = [], set()
    stack = [(instance("graph_nodes", "result", result, Tensor), False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in reversed(node._parents))
    return order


def operation_name(tensor: Tensor) -> str:
    """Return the operation that made a Tensor, such as "@" or "relu"; "" for a leaf.

    The name is that of the method in which the backward closure was written.
    """
    backward = instance("operation_name", "tensor", tensor, Tensor)._backward
    if backward is None:
        return ""
    inner = _closed_over(backward).get("derivative", backward)  # see Tensor._elementwise
    method = inner.__qualname__.split(".<locals>")[0].rpartition(".")[2]
    return _SYMBOLS.get(method, method)


def graph_memory(result: Tensor) -> GraphMemory:
    """Return the bytes of all arrays that the graph behind `result` keeps alive.

    Each buffer counts once, however many views and closures share it, and for the first of
    leaves, results and saved arrays that hold it. Gradients and Python objects do not count.
    """
    nodes = graph_nodes(result)
    groups = (
        [node.data for node in nodes if node._backward is None],
        [node.data for node in nodes if node._backward is not None],
        [array for node in nodes for array in _arrays_in(node._backward)],
    )
    counted, sizes = set(), []
    for arrays in groups:
        owners = {id(owner): owner for owner in map(_owner, arrays) if id(owner) not in counted}
        counted |= owners.keys()
        sizes.append(sum(owner.nbytes for owner in owners.values()))
    return GraphMemory(*sizes)


def _closed_over(function) -> dict:
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _arrays_in(value):
    """Yield the arrays that a closure holds: themselves, in Tensors, in closures of its own."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Tensor):
        yield value.data
    elif isinstance(value, types.FunctionType):
        value = tuple(_closed_over(value).values())
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays_in(item)


def _owner(array: np.ndarray) -> np.ndarray:
    """Return the array whose buffer a view looks into."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
