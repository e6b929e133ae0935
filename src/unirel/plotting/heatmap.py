"""How much every two selected features share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from unirel.inference.findings import Analysis, ordered_by_likeness
from unirel.plotting.base import NORMAL, SMALL, WIDTH, Display, shorten, thinned

# Rows that can have their names.
_MOST_NAMES = 42


class HeatmapDisplay(Display):
    """Normalised mutual information of every two selected features, similar ones side by side.

    Parameters
    ----------
    shared : array of shape (n_features, n_features)
        From 0 for nothing in common to 1 for the same.
    names : sequence of str
        Names of the features.

    Attributes
    ----------
    order_ : list of int
        Features in the order in which they are drawn.

    Examples
    --------
    >>> from unirel.plotting import HeatmapDisplay
    >>> display = HeatmapDisplay([[1, 0.1, 0.9], [0.1, 1, 0.2], [0.9, 0.2, 1]], ["length", "age", "width"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['age', 'width', 'length']
    """

    order_: list[int]

    def __init__(self, shared: Any, names: Sequence[str]) -> None:
        self.shared = np.asarray(shared, dtype=np.float64)
        self.names = list(names)
        if self.shared.shape != (len(self.names), len(self.names)):
            raise ValueError(f"shared has shape {self.shared.shape}, but there are {len(self.names)} names")

    @classmethod
    def from_analysis(cls, analysis: Analysis, ax: Any = None) -> Self:
        """Draw the features that the analysis of a report has compared, on `ax` or on a new figure."""
        return cls(analysis.shared, analysis.names[: len(analysis.shared)]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one cell per pair on `ax` or on a new figure, and return itself."""
        size = len(self.names)
        # Room for names and for the scale, and a square of cells that are as large as they can be.
        side = min(WIDTH - 2.4, 1.0 + 0.3 * size)
        ax = self._start(ax, side + 2.8, side + 1.6)
        self.order_ = ordered_by_likeness(self.shared)
        cells = self.shared[np.ix_(self.order_, self.order_)].copy()
        np.fill_diagonal(cells, np.nan)  # what a feature shares with itself is no news
        image = ax.imshow(cells, vmin=0, vmax=1, cmap="viridis")
        names = thinned([shorten(self.names[feature], 20) for feature in self.order_], _MOST_NAMES)
        ax.set_xticks(range(size), names, rotation=90)
        ax.set_yticks(range(size), names)
        ax.tick_params(length=0, labelsize=SMALL if size <= 20 else 7)
        ax.spines[["left", "bottom"]].set_visible(False)
        if size <= 12:
            for (row, column), value in np.ndenumerate(cells):
                if row != column:
                    color = "white" if value < 0.6 else "black"
                    ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=25)
        bar.set_label("shared, from 0 to 1", size=NORMAL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_visible(False)
        return self
