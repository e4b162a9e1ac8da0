"""The book's house style for figures: one look, and one colour for each thing.

Colours are Okabe and Ito's, which stay apart for readers with any colour vision.
"""

import matplotlib.pyplot as plt
import numpy as np

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
    """
    values = np.asarray(values, dtype=float)
    cmap = plt.matplotlib.colors.LinearSegmentedColormap.from_list("one", ["white", color])
    ax.imshow(values, cmap=cmap, vmin=0, vmax=1)
    if digits:
        for (row, column), value in np.ndenumerate(values):
            text = f"{value:.{digits}f}" if 0 < value < 1 else f"{value:.0f}"
            ax.text(column, row, text, ha="center", va="center", fontsize=10)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(range(values.shape[1]), labels or range(values.shape[1]))
    ax.set_yticks(range(values.shape[0]), labels or range(values.shape[0]))


def label_lines(ax: plt.Axes, gap: float = 6) -> None:
    """Write each line's label beside its end, in its colour, instead of a legend.

    Args:
        ax: axes whose lines carry labels.
        gap: distance from the end of the line, in points.
    """
    for line in ax.get_lines():
        if line.get_label().startswith("_"):
            continue
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
