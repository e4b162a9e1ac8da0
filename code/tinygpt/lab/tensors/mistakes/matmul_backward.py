"""Wrong gradients of a matrix product."""

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch.arrays import unbroadcast


def no_transposes(grad, a, b):
    return unbroadcast(grad @ b, a.shape), unbroadcast(a @ grad, b.shape)


def other_side(grad, a, b):
    da, db = b.swapaxes(-1, -2) @ grad, grad @ a.swapaxes(-1, -2)
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


def in_the_other_order(grad, a, b):
    da, db = grad @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ grad
    return db, da


def element_by_element(grad, a, b):
    return grad * b, grad * a


def result_transposed(grad, a, b):
    da, db = grad @ b.swapaxes(-1, -2), grad.swapaxes(-1, -2) @ a
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


def all_axes_reversed(grad, a, b):
    return unbroadcast(grad @ b.T, a.shape), unbroadcast(a.T @ grad, b.shape)


def batch_not_summed(grad, a, b):
    return grad @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ grad


def batch_averaged(grad, a, b):
    da, db = grad @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ grad
    while da.ndim > a.ndim:
        da = da.mean(axis=0)
    while db.ndim > b.ndim:
        db = db.mean(axis=0)
    return da, db


MISTAKES = (
    Mistake(
        "no_transposes",
        no_transposes,
        "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
        "da = [[5, 7], [0, 0]], got [[5, 6], [0, 0]]",
        "c[0, 0] is row 0 of a times column 0 of b, so row 0 of da is that column, 5 and 7. "
        "Without the transpose it is row 0 of b. With matrices that are not square the shapes "
        "would not even fit: da = grad @ bᵀ.",
    ),
    Mistake(
        "other_side",
        other_side,
        "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
        "da = [[5, 7], [0, 0]], got [[5, 0], [6, 0]]",
        "The transposes are right and the factors stand on the wrong sides. Matrix products do "
        "not commute: what stood on the right of a comes back transposed on the right of grad.",
    ),
    Mistake(
        "in_the_other_order",
        in_the_other_order,
        "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
        "da = [[5, 7], [0, 0]], got [[1, 0], [2, 0]]",
        "Both gradients are right and each is given as the other's. The one for the left factor "
        "comes first. With square matrices no shape gives this away.",
    ),
    Mistake(
        "element_by_element",
        element_by_element,
        "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
        "da = [[5, 7], [0, 0]], got [[5, 0], [0, 0]]",
        "This is the rule for `a * b`. In a matrix product a[0, 1] takes part in c[0, 0] too, "
        "through b[1, 0] = 7. Sum over everything that an element touched, which is again a "
        "matrix product.",
    ),
    Mistake(
        "result_transposed",
        result_transposed,
        "Where only c[0, 0] counts, a = [[1, 2], [3, 4]] and b = [[5, 6], [7, 8]] should give "
        "db = [[1, 0], [2, 0]], got [[1, 2], [0, 0]]",
        "gradᵀ @ a is the transpose of aᵀ @ grad. The numbers are right and lie across the "
        "diagonal. Libraries that store weights as (out, in) need this form, but here db has "
        "the shape of b.",
    ),
    Mistake(
        "all_axes_reversed",
        all_axes_reversed,
        "For shapes (2, 2, 2) @ (2, 2, 2) a step of a should change the loss by -22.00, by da it "
        "is -21.00",
        "`.T` reverses all axes of an array, the batch axis too, so matrices of different "
        "examples are mixed. Only the last two axes belong to the matrix: "
        "`b.swapaxes(-1, -2)`.",
    ),
    Mistake(
        "batch_not_summed",
        batch_not_summed,
        "matmul_backward should return the shape (2, 2) as db for (2, 2, 2) @ (2, 2), got "
        "(2, 2, 2)",
        "One matrix b served every matrix of the batch, and each of them has a gradient for it. "
        "That is broadcasting, so the gradients are summed over the batch: pass them through "
        "`unbroadcast`.",
    ),
    Mistake(
        "batch_averaged",
        batch_averaged,
        "For shapes (2, 2, 2) @ (2, 2) a step of b should change the loss by -10.00, by db it is "
        "-5.00",
        "The gradients of the batch were averaged. A step of b moves every product of the batch, "
        "and the effects add up. Where the loss is a mean over the batch, the division is in "
        "grad already.",
    ),
)
