"""A picture of a recorded graph, drawn from the engine's own objects."""

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch

from tinygpt.figures import COLORS
from tinygpt.scratch.anatomy import graph_nodes, operation_name
from tinygpt.scratch.scalar import Value, topological_order
from tinygpt.scratch.tensor import Tensor
from tinygpt.validate import describe, instance

_LEARNT, _CONSTANT, _OPERATION = "#DCEFFA", "#F1F3F5", "white"


def draw_graph(
    ax: plt.Axes,
    result: Tensor | Value,
    names: dict | None = None,
    label: Callable | None = None,
    spread: float = 1.0,
) -> None:
    """Draw the graph behind a result: one box per node, one arrow per use, inputs above.

    Args:
        ax: where to draw; its frame and ticks are taken away.
        result: a Tensor or a Value. A Tensor's graph must not have been freed by `backward`.
        names: the names of nodes, such as {"W": W}.
        label: what to write under the name or operation of a node; by default a Tensor's
            shape and a Value's number.
        spread: distance between neighbours in a row, in units of the distance between rows.

    Raises:
        TypeError: ax or result is of another kind.
    """
    instance("draw_graph", "ax", ax, plt.Axes)
    if not isinstance(result, (Tensor, Value)):
        given = describe(result)
        raise TypeError(f"draw_graph: result must be a Tensor or a Value, got {given}")
    if isinstance(result, Value):
        nodes, parents_of = topological_order(result), lambda node: node.parents
        operation_of, below = lambda node: node.operation, lambda node: f"{node.data:g}"
    else:
        nodes, parents_of = graph_nodes(result), lambda node: node._parents
        operation_of, below = (
            operation_name,
            lambda node: str(node.shape) if node.ndim else "one number",
        )
    below = label or below
    called = {id(node): name for name, node in (names or {}).items()}
    places = _layout(nodes, parents_of, spread)
    boxes = {}
    for node in nodes:
        head = called.get(id(node)) or operation_of(node) or "constant"
        if id(node) in called and operation_of(node):
            head = f"{called[id(node)]} = {operation_of(node)}"
        given = not parents_of(node)
        learnt = getattr(node, "requires_grad", id(node) in called)
        face = _OPERATION if not given else _LEARNT if learnt else _CONSTANT
        box = {"boxstyle": "round,pad=0.35", "fc": face, "ec": COLORS["reference"]}
        text = f"{head}\n{below(node)}"
        boxes[id(node)] = ax.text(
            *places[id(node)], text, ha="center", va="center", fontsize=11, bbox=box
        )
    for node in nodes:
        parents = parents_of(node)
        for use, parent in enumerate(parents):
            again = sum(other is parent for other in parents[:use])
            _arrow(ax, boxes[id(parent)], boxes[id(node)], again)
    across, down = zip(*places.values(), strict=True)
    ax.set_xlim(min(across) - 0.6 * spread, max(across) + 0.6 * spread)
    ax.set_ylim(min(down) - 0.5, max(down) + 0.5)
    ax.axis("off")


def _layout(nodes, parents_of, spread) -> dict[int, tuple[float, float]]:
    """Return a place for each node: operations in rows by depth, inputs just above their use."""
    row = {}
    for node in nodes:  # inputs first
        row[id(node)] = 1 + max((row[id(p)] for p in parents_of(node)), default=-1)
    for node in reversed(nodes):
        for parent in parents_of(node):
            if not parents_of(parent):
                users = [row[id(n)] for n in nodes if any(p is parent for p in parents_of(n))]
                row[id(parent)] = min(users) - 1
    places, taken = {}, {}
    for given in (False, True):  # operations keep to the left, inputs stand beside them
        for node in nodes:
            if (not parents_of(node)) == given:
                column = taken.get(row[id(node)], 0)
                taken[row[id(node)]] = column + 1
                places[id(node)] = (spread * column, -float(row[id(node)]))
    return places


def _arrow(ax, start, end, again) -> None:
    """Draw one use; a repeated one, and one that would run through other boxes, as an arc."""
    (x0, y0), (x1, y1) = start.get_position(), end.get_position()
    passes = x0 == x1 and y0 - y1 > 1
    ax.add_patch(
        FancyArrowPatch(
            (x0, y0),
            (x1, y1),
            patchA=start.get_bbox_patch(),
            patchB=end.get_bbox_patch(),
            shrinkA=0,
            shrinkB=1,
            arrowstyle="-|>",
            mutation_scale=11,
            color="#57606A",
            connectionstyle=f"arc3,rad={0.35 * passes - 0.35 * again}",
            zorder=4,  # after the boxes, whose sizes are known once they are drawn
        )
    )
