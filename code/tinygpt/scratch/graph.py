"""The graph of recorded operations: whether to record, and in which order to go back."""

import contextlib
import contextvars

import numpy as np

from tinygpt.scratch.arrays import float_array

recording = contextvars.ContextVar("recording", default=True)


class no_grad(contextlib.ContextDecorator):
    """Inside this context, or in a function decorated with it, nothing is recorded."""

    def __enter__(self):
        self._token = recording.set(False)

    def __exit__(self, *exception):
        recording.reset(self._token)

    def _recreate_cm(self):
        return no_grad()  # each call of a decorated function restores its own state


def initial_gradient(result, grad) -> np.ndarray:
    """Return the gradient that `backward` starts with, or say why it cannot start."""
    if not result.requires_grad:
        raise RuntimeError(
            "Tensor.backward: this tensor does not require a gradient; it comes from no "
            "tensor with requires_grad=True, or was computed inside no_grad()"
        )
    if grad is None:
        if result.size != 1:
            raise ValueError(
                f"Tensor.backward: a tensor of shape {result.shape} needs grad of the same "
                "shape; only a single number, such as a loss, goes without"
            )
        return np.ones(result.shape, result.dtype)
    grad = float_array(grad, result.dtype, "Tensor.backward", "grad")
    if grad.shape != result.shape:
        raise ValueError(f"Tensor.backward: grad must have shape {result.shape}, got {grad.shape}")
    return grad


def topological_order(result) -> list:
    """Return every operation behind `result`, each after all of those it uses.

    A depth-first walk with its own stack, since a graph may be deeper than Python's.

    Raises:
        RuntimeError: when a part of the graph has been freed.
    """
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, inputs_done = stack.pop()
        if inputs_done:
            order.append(node)
        elif node._backward is not None and id(node) not in seen:
            if node._backward is freed:
                raise RuntimeError(
                    "Tensor.backward: this graph has been freed by an earlier backward; "
                    "compute the result again, or add the losses and call backward once"
                )
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node._parents)
    return order


def freed(grad):
    """Stand where an operation's backward closure was."""
