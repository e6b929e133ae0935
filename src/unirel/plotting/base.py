"""What all Displays share: the axes they draw on, one style, and names that fit; and tables for notebooks."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
# Rows of a table in a notebook; a frame has all.
_MOST_ROWS = 30
_LEFT = 'style="text-align: left; white-space: nowrap"'


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


def thinned(names: Sequence[str]) -> list[str]:
    step = -(-len(names) // _MOST_NAMES)
    return [name if place % step == 0 else "" for place, name in enumerate(names)]


def draw_threshold(ax: Any, information: NDArray[np.float64]) -> None:
    """Draw a line at the least information of significant features, if there are any."""
    if len(information):
        text = "least that is significant"
        ax.axvline(information.min(), color=BLUE, linewidth=1, linestyle="--", zorder=1, label=text)


def make_html(caption: str, columns: Mapping[str, Sequence[Any]], bars: Collection[str] = ()) -> str:
    """A table under a caption, with bars before the numbers of some columns; it needs no style sheet and no script."""
    cells = []
    for name, values in columns.items():
        largest = max((value or 0.0 for value in values), default=0.0) if name in bars else 0.0
        cells.append([_cell(value, largest) for value in values[:_MOST_ROWS]])
    rows = ["".join(row) for row in zip(*cells, strict=True)]
    n_more = max(map(len, columns.values()), default=0) - len(rows)
    if n_more > 0:
        rows.append(f"<td {_LEFT} colspan={len(columns)}>and {n_more:,} more</td>")
    head = "".join(f"<th {_LEFT}>{escape(name.replace('_', ' '))}</th>" for name in columns)
    return (
        f"<table><caption {_LEFT}>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
    )


def _cell(value: Any, largest: float) -> str:
    """A cell, with a bar before its number if there is a largest one."""
    text = "" if value is None else f"{value:.3f}" if isinstance(value, float) else escape(str(value))
    if value is None or largest <= 0:
        return f"<td {_LEFT}>{text}</td>"
    bar = f"display: inline-block; height: 10px; width: {round(110 * max(0.0, value) / largest)}px; background: #3b82c4"
    room = "display: inline-block; width: 110px; margin-right: 8px"
    return f'<td {_LEFT}><span style="{room}"><span style="{bar}"></span></span>{text}</td>'
