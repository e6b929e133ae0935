"""The score of every feature along a selection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, FAINT, ORANGE, WIDTH, Display, shorten, thinned
from unirel.results import Selection

# Rows that can have their names; of more, every second one is named, or every third.
_MOST_NAMES = 45


class SelectionDisplay(Display):
    """Score of each selected feature when it was selected, with its relevance beside it.

    Parameters
    ----------
    selection : Selection
        One of those that `selection_path` returns, or that of a fitted selector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector
    >>> from unirel.plotting import SelectionDisplay
    >>> SelectionDisplay.from_selector(BURSelector("jmi", 3).fit(*load_iris(return_X_y=True))).ax_.get_xlabel()
    'nats'
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> Self:
        """Draw what a fitted selector has selected, on `ax` or on a new figure."""
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one line per feature, first selected on top, on `ax` or on a new figure, and return itself."""
        selection = self.selection
        n_rows = len(selection)
        ax = self._start(ax, WIDTH, 1.3 + 0.2 * n_rows)
        steps = np.arange(n_rows)
        relevance = selection.relevance[selection.order]
        size = float(np.clip(1600 / max(1, n_rows), 6, 36))
        ax.hlines(steps, np.minimum(selection.scores, relevance), np.maximum(selection.scores, relevance), color=FAINT)
        ax.scatter(selection.scores, steps, color=BLUE, s=size, label="score when selected", zorder=2)
        ax.scatter(relevance, steps, color=ORANGE, marker="|", s=2 * size, label="relevance by itself", zorder=2)
        names = [f"{shorten(name)}  {step + 1}" for step, name in enumerate(selection.selected_names)]
        ax.set_yticks(steps, thinned(names, _MOST_NAMES))
        ax.set_ylim(n_rows - 0.4, -0.6)
        ax.set_xlabel("nats")
        mark = "" if selection.complete else ", incomplete"
        self._head(f"{selection.criterion}, beta {selection.beta:g}{mark}", loc="right")
        self._explain(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
        return self
