"""The book's house style for figures: one look, and one colour for each thing.

Colours are Okabe and Ito's, which stay apart for readers with any colour vision.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, is_color_like

from tinygpt.shapes import Bool, Float

COLORS = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "attention": "#CC79A7",
    "mlp": "#E69F00",
    "embedding": "#56B4E9",
    "norm": "#7A828A",
    "total": "#1B1F24",
    "reference": "#8C959F",
}


def use_style() -> None:
    """Set matplotlib's defaults to the house style; call it once, in a chapter's first cell."""
    plt.rcParams.update(
        {
            # Small, with large letters: on a phone a figure shrinks to 60% of its width.
            "figure.figsize": (5.6, 3.0),
            "figure.dpi": 100,  # notebooks draw at twice this
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "white",
            "font.family": "DejaVu Sans",
            "font.size": 12,
            "axes.titlesize": 12,
            "axes.titlelocation": "left",
            "axes.labelcolor": "#1B1F24",
            "axes.edgecolor": "#8C959F",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#E4E7EB",
            "grid.linewidth": 0.8,
            "xtick.color": "#57606A",
            "ytick.color": "#57606A",
            "lines.linewidth": 2.0,
            "legend.frameon": False,
            "axes.prop_cycle": plt.cycler(color=list(COLORS.values())[:6]),
        }
    )


def matrix(
    ax: plt.Axes,
    values: Float[np.ndarray, "rows columns"] | Bool[np.ndarray, "rows columns"],
    color: str,
    labels: list[str] | None = None,
    digits: int = 2,
) -> None:
    """Draw a small matrix as shaded cells with their numbers written in.

    Args:
        ax: where to draw.
        values: entries from 0 to 1; a Boolean matrix counts as zeros and ones.
        color: the colour that 1 is drawn in; 0 is white.
        labels: a word for each row and column, when they stand for the same things.
        digits: digits after the point; 0 hides the numbers.

    Raises:
        TypeError, ValueError: an argument is of another kind.
    """
    _check_axes("matrix", ax)
    values = _as_matrix(values)
    rows, columns = values.shape
    if not is_color_like(color):
        raise ValueError(
            f"figures.matrix: color is {color!r}; give a colour of figures.COLORS, or any other "
            'that matplotlib knows, as "#0072B2"'
        )
    if labels is not None and not len(labels) == rows == columns:
        raise ValueError(
            f"figures.matrix: {len(labels)} labels for {rows} rows and {columns} columns; give "
            "one for each row of a square matrix, or None"
        )
    if not isinstance(digits, int) or isinstance(digits, bool) or digits < 0:
        raise ValueError(f"figures.matrix: digits is {digits!r}; give an integer from 0 on")
    cmap = LinearSegmentedColormap.from_list("one", ["white", color])
    ax.imshow(values, cmap=cmap, vmin=0, vmax=1)
    if digits:
        for (row, column), value in np.ndenumerate(values):
            text = f"{value:.{digits}f}" if 0 < value < 1 else f"{value:.0f}"
            ax.text(column, row, text, ha="center", va="center", fontsize=10)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(range(columns), range(columns) if labels is None else labels)
    ax.set_yticks(range(rows), range(rows) if labels is None else labels)


def label_lines(ax: plt.Axes, gap: float = 6) -> None:
    """Write each line's label beside its end, in its colour, instead of a legend.

    Args:
        ax: axes whose lines carry labels.
        gap: distance from the end of the line, in points.

    Raises:
        TypeError: ax is not a matplotlib Axes.
        ValueError: a line with a label has no points.
    """
    _check_axes("label_lines", ax)
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    for line in lines:
        if not len(line.get_xdata()):
            raise ValueError(
                f"figures.label_lines: the line {line.get_label()!r} has no points; draw it with "
                "at least one, or without a label"
            )
    for line in lines:
        x, y = line.get_xdata()[-1], line.get_ydata()[-1]
        ax.annotate(
            line.get_label(),
            (x, y),
            xytext=(gap, 0),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            fontsize=11,
            annotation_clip=False,
        )


def _check_axes(function: str, ax) -> None:
    if not isinstance(ax, plt.Axes):
        raise TypeError(
            f"figures.{function}: ax is {type(ax).__name__}; give the Axes of plt.subplots()"
        )


def _as_matrix(values) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        given = type(values).__name__
    else:
        if found.ndim == 2 and found.size:
            return found
        given = "None" if values is None else f"of shape {found.shape}"
    raise ValueError(
        f"figures.matrix: values is {given}; give a 2-D array of numbers with at least one entry"
    )
