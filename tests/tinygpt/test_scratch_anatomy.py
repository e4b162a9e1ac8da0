"""The nodes, names and bytes of real graphs, against counts made by hand and tracemalloc."""

import tracemalloc

import matplotlib
import numpy as np
import pytest
from oracle import normal
from tinygpt import graphs
from tinygpt.scratch import Tensor, cross_entropy, gelu, layer_norm, no_grad, softmax
from tinygpt.scratch.anatomy import GraphMemory, graph_memory, graph_nodes, operation_name
from tinygpt.scratch.scalar import Value

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


def learnt(seed, *shape):
    return Tensor(normal(seed, *shape), requires_grad=True)


OPERATIONS = {
    "+": lambda x: x + x,
    "-": lambda x: 1 - x,
    "*": lambda x: x * 2,
    "/": lambda x: x / 2,
    "**": lambda x: x**2,
    "@": lambda x: x @ x,
    "negative": lambda x: -x,
    "[ ]": lambda x: x[0],
    "relu": Tensor.relu,
    "exp": Tensor.exp,
    "sum": Tensor.sum,
    "transpose": lambda x: x.T,
    "gelu": gelu,
    "softmax": softmax,
    "cross_entropy": lambda x: cross_entropy(x, np.array([0, 1])),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_called_as_it_is_written(name):
    x = learnt(0, 2, 2)
    assert operation_name(x) == ""
    assert operation_name(OPERATIONS[name](x)) == name


def test_every_node_comes_once_and_after_its_parents():
    x, w = Tensor(normal(0, 4, 3)), learnt(1, 3, 3)
    h = x @ w
    y = (h * h + h).sum()
    nodes = graph_nodes(y)
    assert [operation_name(n) for n in nodes] == ["", "", "@", "*", "+", "sum"]
    assert nodes[0] is x and nodes[1] is w


def test_bytes_by_hand():
    x, w, b = Tensor(normal(0, 8, 3)), learnt(1, 3, 5), learnt(2, 5)
    y = (x @ w + b).relu()
    assert graph_memory(y) == GraphMemory(4 * (24 + 15 + 5), 3 * 4 * 40, 0)
    assert graph_memory(x) == GraphMemory(96, 0, 0)
    view = y.reshape(40)[:20].reshape(4, 5).T
    assert graph_memory(view) == graph_memory(y)


def test_saved_arrays_are_found_in_closures():
    x, w, b = learnt(0, 6, 4), learnt(1, 4), learnt(2, 4)
    memory = graph_memory(layer_norm(x, w, b))
    assert memory.saved == 4 * (6 * 4 + 6)  # the normalised rows, and a standard deviation each
    assert memory.activations == memory.saved + 4 * 6 * 4
    with no_grad():
        assert graph_memory(layer_norm(x, w, b)) == GraphMemory(4 * 6 * 4, 0, 0)


def test_the_count_agrees_with_what_numpy_allocates():
    x, weights = Tensor(normal(0, 64, 100)), [learnt(i, 100, 100) for i in range(6)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    y = x
    for w in weights:
        y = (y @ w).tanh()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    counted = graph_memory(y).activations
    assert counted == 12 * 64 * 100 * 4
    assert kept == pytest.approx(counted, rel=0.05)


def test_backward_lets_the_graph_go():
    w = learnt(0, 3, 3)
    loss = (w @ w).sum()
    loss.backward()
    assert graph_nodes(loss) == [loss]


# ---- the picture --------------------------------------------------------------------------------


def drawn(result, **options):
    _, ax = plt.subplots()
    graphs.draw_graph(ax, result, **options)
    texts, arrows = [t.get_text() for t in ax.texts], len(ax.patches)
    places = [t.get_position() for t in ax.texts]
    plt.close("all")
    assert len(set(places)) == len(places), "two boxes in one place"
    return texts, arrows


def test_one_box_for_each_node_and_one_arrow_for_each_use():
    x, w = Tensor(normal(0, 4, 3)), learnt(1, 3, 2)
    e = x @ w - 1.0
    texts, arrows = drawn((e * e).sum(), names={"x": x, "w": w, "e": e})
    assert texts == [
        "x\n(4, 3)", "w\n(3, 2)", "@\n(4, 2)", "constant\none number", "e = -\n(4, 2)",
        "*\n(4, 2)", "sum\none number",
    ]  # fmt: skip
    assert arrows == 2 + 2 + 2 + 1


def test_a_value_is_drawn_with_its_number_and_skips_are_drawn_too():
    x = Value(2.0)
    y = x * x
    texts, arrows = drawn(y + (y.tanh() + y) * x, label=lambda node: "?")
    assert (len(texts), arrows) == (6, 2 + 1 + 2 + 2 + 2)
    assert texts[0] == "constant\n?"
    assert drawn(x, names={"x": x}) == (["x\n2"], 0)


def test_only_axes_and_results_are_taken(without_type_checks):
    with pytest.raises(TypeError, match="draw_graph: ax must be a Axes, got None"):
        graphs.draw_graph(None, Value(1.0))
    _, ax = plt.subplots()
    with pytest.raises(TypeError, match="result must be a Tensor or a Value, got ndarray"):
        graphs.draw_graph(ax, np.ones(3))
    plt.close("all")
