"""The score of every feature along a selection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import Display, shorten
from unirel.results import Selection


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
        ax = self._start(ax, 7, min(1.6 + 0.27 * len(selection), 14))
        steps = np.arange(len(selection))
        relevance = selection.relevance[selection.order]
        ax.hlines(steps, np.minimum(selection.scores, relevance), np.maximum(selection.scores, relevance), color="0.85")
        ax.scatter(selection.scores, steps, color="#0072B2", label="score when selected", zorder=2)
        ax.scatter(relevance, steps, color="#E69F00", marker="|", s=90, label="relevance by itself", zorder=2)
        ax.set_yticks(steps, [f"{shorten(name)}  {step + 1}" for step, name in enumerate(selection.selected_names)])
        ax.invert_yaxis()
        ax.set_xlabel("nats")
        mark = "" if selection.complete else ", incomplete"
        ax.set_title(f"{selection.criterion}, beta {selection.beta:g}{mark}", fontsize="medium")
        below = (0.5, -0.12 if len(selection) > 8 else -0.2)
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=below, ncols=2)
        ax.spines[["top", "right"]].set_visible(False)
        return self
