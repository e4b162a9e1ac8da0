"""Wrong look-ups."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor


def _refuse(weight, ids):
    if np.size(ids) and (np.min(ids) < 0 or np.max(ids) >= len(weight.data)):
        raise ValueError("an id is outside the table")


def plus_equals(weight, ids):
    _refuse(weight, ids)

    def backward(grad):
        full = np.zeros_like(weight.data)
        full[ids] += grad
        weight.accumulate(full)

    return Tensor.from_operation(weight.data[ids], (weight,), backward)


def averaged(weight, ids):
    _refuse(weight, ids)

    def backward(grad):
        full = np.zeros_like(weight.data)
        np.add.at(full, ids, grad)
        counts = np.bincount(ids.reshape(-1), minlength=len(full))
        weight.accumulate(full / np.maximum(counts, 1)[:, None])

    return Tensor.from_operation(weight.data[ids], (weight,), backward)


def columns(weight, ids):
    return Tensor.from_operation(
        weight.data[:, ids % weight.shape[1]], (weight,), lambda grad: None
    )


def no_gradient(weight, ids):
    _refuse(weight, ids)
    return Tensor(weight.data[ids])


def indexes_the_tensor(weight, ids):
    _refuse(weight, ids)
    return weight[ids]


def product(weight, ids):
    _refuse(weight, ids)
    return Tensor(np.eye(len(weight.data))[ids]) @ weight


def handed_on(weight, ids):
    _refuse(weight, ids)
    return Tensor.from_operation(weight.data[ids], (weight,), weight.accumulate)


def grad_replaced(weight, ids):
    _refuse(weight, ids)

    def backward(grad):
        full = np.zeros_like(weight.data)
        np.add.at(full, ids, grad)
        weight.grad = full

    return Tensor.from_operation(weight.data[ids], (weight,), backward)


def negative_ids(weight, ids):
    def backward(grad):
        full = np.zeros_like(weight.data)
        np.add.at(full, ids, grad)
        weight.accumulate(full)

    return Tensor.from_operation(weight.data[ids], (weight,), backward)


MISTAKES = (
    Mistake(
        "plus_equals",
        plus_equals,
        "Id 2 was looked up twice, with gradients of 1 and 100, so its row should get 101.00, "
        "got 100.00",
        "`full[ids] += grad` reads the rows, adds, and writes them back. A row whose id occurs "
        "twice is read as zero both times, and the second write covers the first. "
        "`np.add.at(full, ids, grad)` adds one after the other.",
        helpers=(_refuse,),
    ),
    Mistake(
        "averaged",
        averaged,
        "Id 2 was looked up twice, with gradients of 1 and 100, so its row should get 101.00, "
        "got 50.50",
        "The gradients of a repeated id were averaged. The loss depends on the row through both "
        "places, and a derivative adds up over all ways. PyTorch has this average as the option "
        "`scale_grad_by_freq`, off unless asked for.",
        helpers=(_refuse,),
    ),
    Mistake(
        "columns",
        columns,
        "embedding should return the shape (3, 2), got (4, 3)",
        "The ids picked columns. In this book, as in PyTorch, an embedding is a row of the table, "
        "which has the shape (V, C). Index the first axis.",
    ),
    Mistake(
        "no_gradient",
        no_gradient,
        "embedding should be made of Tensor operations, got no graph",
        "`Tensor(weight.data[ids])` makes a new leaf that knows nothing of the table, so training "
        "never changes a row. Hand the values to `Tensor.from_operation` with `(weight,)` and a "
        "backward function.",
        helpers=(_refuse,),
    ),
    Mistake(
        "indexes_the_tensor",
        indexes_the_tensor,
        "embedding should write its own gradient; it indexes the Tensor, which brings one",
        "The answer is right, and the engine did the work: indexing a Tensor has a gradient of "
        "its own. The exercise is to write that gradient. Index the array, `weight.data[ids]`, "
        "and write the backward function yourself.",
        helpers=(_refuse,),
    ),
    Mistake(
        "product",
        product,
        "embedding should write its own gradient; it multiplies by the Tensor, which brings one",
        "The answer is right, and slow: every number of the table is multiplied to read a few "
        "rows, and the engine writes the gradient. Index the array, `weight.data[ids]`, and write "
        "the backward function yourself.",
        helpers=(_refuse,),
    ),
    Mistake(
        "handed_on",
        handed_on,
        "weight.accumulate should get an array of the shape of the table, (4, 2), got (3, 2)",
        "The gradient of the rows was handed on as it came, one row for each id. The table needs "
        "one row for each of its own: start from zeros in its shape and add each gradient at the "
        "place of its id.",
        helpers=(_refuse,),
    ),
    Mistake(
        "grad_replaced",
        grad_replaced,
        "A table that is used twice should get both gradients, 1 and 10, together 11.00; got 10.00",
        "`weight.grad = full` throws away a gradient that is there already. A table may be used "
        "several times in one loss, and the gradients add up. `weight.accumulate(full)` adds.",
        helpers=(_refuse,),
    ),
    Mistake(
        "negative_ids",
        negative_ids,
        "In a table of 5 rows the id -1 should raise a ValueError, got the last row",
        "NumPy counts negative indices from the end, so -1 reads the last row in silence. Ids of "
        "-1 or -100 are common as marks for places to ignore. Compare the smallest id with 0 and "
        "the largest with the number of rows before you index.",
    ),
)
