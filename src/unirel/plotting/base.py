"""What all Displays share: the axes they draw on, one style, and names that fit beside them."""

from collections.abc import Sequence
from typing import Any

from unirel.errors import shorten

# Colours of Okabe and Ito, which people who see few colours tell apart, and greys for what stands back.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
BLUE, ORANGE, RED = COLORS[0], COLORS[1], COLORS[5]
QUIET, FAINT = "0.62", "0.85"
# Widths in inches: the text of a page, and the most a figure may take of its height.
WIDTH, TALLEST = 7.0, 9.5
# In points: names and numbers, titles of axes, the title of a figure.
SMALL, NORMAL, TITLE = 8, 9, 10


class Display:
    """Draws a result. A subclass has a method `plot(ax=None)` that begins with `_start` and returns the Display.

    It draws on matplotlib axes that are given, on those of a new figure otherwise.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    """

    ax_: Any
    figure_: Any

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

    def _title(self, text: str, **where: Any) -> None:
        self.ax_.set_title(text, fontsize=TITLE, **where)

    def _legend(self, **where: Any) -> None:
        """A legend, where there is room unless it is said where."""
        self.ax_.legend(frameon=False, fontsize=SMALL, **where)

    def _legend_above(self) -> None:
        self._legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)


def label(name: str, longest: int = 28) -> str:
    """A short name with signs kept as they are that matplotlib would read as formulas."""
    return shorten(name, longest).replace("$", r"\$")


def thinned(names: Sequence[str], most: int) -> list[str]:
    """Names, with empty ones in the place of those for which there is no room."""
    step = -(-len(names) // most)
    return [name if place % step == 0 else "" for place, name in enumerate(names)]
