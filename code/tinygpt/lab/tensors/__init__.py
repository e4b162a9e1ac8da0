"""The exercises of the chapter Tensors and automatic differentiation."""

from tinygpt import scratch
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.tensors import checks, checks_arrays, checks_drawn, solutions, stubs
from tinygpt.lab.tensors.mistakes import (
    backward,
    matmul_backward,
    numerical_gradient,
    topological_order,
    unbroadcast,
)
from tinygpt.scratch import arrays, scalar

CHAPTER = Chapter(
    name="tensors",
    title="Tensors and automatic differentiation",
    stubs=stubs,
    exercises=(
        Exercise(
            name="topological_order",
            symbol="topological_order",
            title="The order of the walk",
            goal="Write `topological_order(result)`: every number behind a result once, each "
            "after the numbers it was computed from.",
            section="sec-tensors-order",
            section_title="Each node once",
            stub=stubs.topological_order,
            solution=scalar.topological_order,
            book=scalar.topological_order,
            checks=(
                checks.test_unit_topological_order,
                checks.test_shared_topological_order,
                checks.test_work_topological_order,
                checks_drawn.test_drawn_topological_order,
            ),
            hints=(
                "Walk from the result to its parents, to their parents, and so on. A node may be "
                "listed when all its parents are in the list, and it may not be walked twice.",
                "A walk without recursion needs a list of what waits. Put pairs on it: "
                "`(node, False)` for a node whose parents are to be done first, `(node, True)` for "
                "one whose parents are done.",
                "Pop a pair. If the parents are done, append the node to the order. Otherwise, if "
                "it has not been seen: remember it, push `(node, True)`, then push "
                "`(parent, False)` for each parent.",
            ),
            mistakes=topological_order.MISTAKES,
        ),
        Exercise(
            name="backward",
            symbol="backward",
            title="The walk back",
            goal="Write `backward(result)`: give every number behind a result the derivative of "
            "the result with respect to it.",
            section="sec-tensors-order",
            section_title="Each node once",
            stub=stubs.backward,
            solution=solutions.backward,
            book=scratch.Value.backward,
            checks=(
                checks.test_unit_backward,
                checks.test_shared_backward,
                checks.test_again_backward,
                checks.test_work_backward,
                checks_drawn.test_drawn_backward,
            ),
            hints=(
                "Set all gradients to 0 and that of the result to 1. Then visit the nodes in "
                "reverse topological order.",
                "At each node, every parent's gradient grows by the slope of the edge times the "
                "gradient of the node. `zip(node.parents, node.slopes)` gives the edges.",
            ),
            mistakes=backward.MISTAKES,
        ),
        Exercise(
            name="unbroadcast",
            symbol="unbroadcast",
            title="The gradient of broadcasting",
            goal="Write `unbroadcast(grad, shape)`: sum a gradient over every axis along which "
            "broadcasting made copies.",
            section="sec-tensors-broadcasting",
            section_title="Broadcasting and its gradient",
            stub=stubs.unbroadcast,
            solution=arrays.unbroadcast,
            book=arrays.unbroadcast,
            checks=(
                checks_arrays.test_unit_unbroadcast,
                checks_arrays.test_shapes_unbroadcast,
                checks_drawn.test_drawn_unbroadcast,
            ),
            hints=(
                "Broadcasting does two things: it puts new axes in front, and it stretches axes "
                "of length 1. Both make copies, and the gradients of copies add up.",
                "There are `grad.ndim - len(shape)` new axes, and they are the first ones. Sum "
                "over them, and the axes that are left correspond to those of `shape`.",
                "Then sum over each axis where `shape` has a 1, with `keepdims=True`.",
            ),
            mistakes=unbroadcast.MISTAKES,
        ),
        Exercise(
            name="matmul_backward",
            symbol="matmul_backward",
            title="The gradient of a matrix product",
            goal="Write `matmul_backward(grad, a, b)`: from the gradient of a @ b, those of both "
            "factors, with batch axes.",
            section="sec-tensors-matmul",
            section_title="Matrix products",
            stub=stubs.matmul_backward,
            solution=solutions.matmul_backward,
            book=solutions.matmul_backward_of_the_engine,
            checks=(
                checks_arrays.test_unit_matmul_backward,
                checks_arrays.test_shapes_matmul_backward,
                checks_arrays.test_batches_matmul_backward,
                checks_drawn.test_drawn_matmul_backward,
            ),
            hints=(
                "Write the shapes down: grad is (m, n), a is (m, k), b is (k, n). Only one product "
                "of grad and a transposed b has the shape of a.",
                "`x.swapaxes(-1, -2)` transposes the matrices of a batch and leaves the batch.",
                "When one matrix served a whole batch, sum over the batch: `unbroadcast` with the "
                "shape of the factor does that, and nothing where nothing was broadcast.",
            ),
            mistakes=matmul_backward.MISTAKES,
        ),
        Exercise(
            name="numerical_gradient",
            symbol="numerical_gradient",
            title="Gradients by nudging",
            goal="Write `numerical_gradient(function, x, eps)`: nudge one element at a time, up "
            "and down, and see how the function reacts.",
            section="sec-tensors-nudging",
            section_title="Gradients by nudging",
            stub=stubs.numerical_gradient,
            solution=solutions.numerical_gradient,
            book=scratch.numerical_gradient,
            checks=(
                checks_arrays.test_unit_numerical_gradient,
                checks_arrays.test_inputs_numerical_gradient,
                checks_arrays.test_shapes_numerical_gradient,
                checks_drawn.test_drawn_numerical_gradient,
            ),
            hints=(
                "Copy x into float64 first. `np.ndindex(x.shape)` gives the place of each element, "
                "for arrays of any shape.",
                "For each place: keep the element, set it to element + eps and call, set it to "
                "element - eps and call, put it back. The slope is the difference divided by "
                "2 eps.",
            ),
            mistakes=numerical_gradient.MISTAKES,
        ),
    ),
)
