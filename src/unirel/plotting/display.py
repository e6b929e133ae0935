"""What all figures share: colours, sizes, names that fit, and the base of every Display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import atomic_path
from unirel.errors import shorten

# Colours of Okabe and Ito, which people who see few colours tell apart, and greys for what stands back.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
BLUE, ORANGE, RED = COLORS[0], COLORS[1], COLORS[5]
QUIET, FAINT = "0.62", "0.85"
# Widths in inches: the text of a page, and the most a figure may take of its height.
WIDTH, TALLEST = 7.0, 9.5
# In points: names and numbers, titles of axes, the title of a figure.
SMALL, NORMAL, TITLE = 8, 9, 10
# Names that fit along an axis; of more, every second one is written, or every third.
_MOST_NAMES = 42


class Display:
    """Draws a result. A subclass has a method `plot(ax=None)` that begins with `_start` and returns the Display.

    It draws on matplotlib axes that are given, on those of a new figure otherwise.
    """

    ax_: Any  #: The matplotlib axes that it is drawn on.
    figure_: Any  #: The figure of the axes.

    def _start(self, ax: Any, height: float, width: float = WIDTH) -> Any:
        """The axes to draw on, those of a new figure of this size in inches if None, in one style."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(width, min(height, TALLEST)), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(QUIET)
        ax.tick_params(labelsize=SMALL, color=QUIET, length=3)
        ax.xaxis.label.set_size(NORMAL)
        ax.yaxis.label.set_size(NORMAL)
        return ax

    def _legend(self, above: bool = False) -> None:
        """A legend above the axes, or where there is room."""
        where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "borderaxespad": 0.2} if above else {}
        self.ax_.legend(frameon=False, fontsize=SMALL, **where)


def label(name: str, longest: int = 28) -> str:
    """A short name with signs kept as they are that matplotlib would read as formulas."""
    return shorten(name, longest).replace("$", r"\$")


def thinned(names: Sequence[str]) -> list[str]:
    step = -(-len(names) // _MOST_NAMES)
    return [name if place % step == 0 else "" for place, name in enumerate(names)]


def draw_threshold(ax: Any, information: NDArray[np.float64]) -> None:
    """Draw a line at the least information of significant features, if there are any."""
    if len(information):
        text = "least that is significant"
        ax.axvline(information.min(), color=BLUE, linewidth=1, linestyle="--", zorder=1, label=text)


def write_figure(result: Any, path: Path, **options: Any) -> None:
    """Draw a result into a file of the format that its name ends with, in full or not at all."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")  # nobody looks at it while it is drawn
    figure = result.plot(**options).figure_
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)
    pyplot.close(figure)
