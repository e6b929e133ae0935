"""What all Displays share: the axes they draw on, and names that fit beside them."""

from typing import Any


class Display:
    """Draws a result. A subclass has a method `plot(ax=None)` that begins with `_start` and returns the Display.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    """

    ax_: Any
    figure_: Any

    def _start(self, ax: Any, width: float, height: float) -> Any:
        """The axes to draw on, those of a new figure of this size in inches if None."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def shorten(name: str, longest: int = 28) -> str:
    """A name that fits beside an axis, with signs that matplotlib would read as formulas kept as they are."""
    name = name if len(name) <= longest else name[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return name.replace("$", r"\$")
