"""Selected features in order: their scores, and how their ranks change with the weight of unique relevance."""

from __future__ import annotations

from itertools import cycle
from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, COLORS, FAINT, ORANGE, QUIET, Display, label, thinned
from unirel.results import Selection, SelectionPath

# Rows that can have their names; of more, every second one is named, or every third.
_MOST_NAMES = 45


class SelectionDisplay(Display):
    """Score of each selected feature when it was selected, with its relevance.

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
        selection, n_rows = self.selection, len(self.selection)
        ax = self._start(ax, 1.3 + 0.2 * n_rows)
        steps, scores, relevance = np.arange(n_rows), selection.scores, selection.relevance[selection.order]
        size = float(np.clip(1600 / max(1, n_rows), 6, 36))
        ax.hlines(steps, np.minimum(scores, relevance), np.maximum(scores, relevance), color=FAINT)
        ax.scatter(scores, steps, color=BLUE, s=size, label="score when selected", zorder=2)
        ax.scatter(relevance, steps, color=ORANGE, marker="|", s=2 * size, label="relevance", zorder=2)
        names = [f"{label(name)}  {step + 1}" for step, name in enumerate(selection.selected_names)]
        ax.set_yticks(steps, thinned(names, _MOST_NAMES))
        ax.set_ylim(n_rows - 0.4, -0.6)
        ax.set_xlabel("nats")
        mark = "" if selection.complete else ", incomplete"
        self._title(f"{selection.criterion}, beta {selection.beta:g}{mark}", loc="right")
        self._legend_above()
        return self


class BetaPathDisplay(Display):
    """One line per feature: its rank in the selection for every weight of unique relevance.

    Parameters
    ----------
    path : SelectionPath
        Selections for at least two weights.
    criterion : str, optional
        Which criterion to draw; the first one by default.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import selection_path
    >>> from unirel.plotting import BetaPathDisplay
    >>> path = selection_path(*load_iris(return_X_y=True), criteria="mim", betas=[0, 0.5])
    >>> BetaPathDisplay(path).plot().ax_.get_xlabel()
    'weight of unique relevance (beta)'
    """

    def __init__(self, path: SelectionPath, criterion: str | None = None) -> None:
        name = path.criteria[0] if criterion is None else criterion
        if name not in path.criteria:
            raise ValueError(f"criterion={criterion!r} is not on the path; there are {', '.join(path.criteria)}")
        self.criterion = name
        self.selections = sorted((one for one in path if one.criterion == name), key=lambda one: one.beta)
        if len(self.selections) < 2:
            raise ValueError("the path has one beta only; pass several betas to selection_path")

    def plot(self, ax: Any = None, *, max_features: int = 40) -> Self:
        """Draw the lines of the features selected first, at most `max_features`, named where they begin and end."""
        longest = max(map(len, self.selections))
        size = min(longest, max_features)
        ax = self._start(ax, 1.5 + 0.2 * size)
        betas = np.array([selection.beta for selection in self.selections])
        first, last = self.selections[0], self.selections[-1]
        # Features that are selected at the first weight have colours; later arrivals are grey.
        colors = dict(zip(first.order.tolist(), cycle(COLORS), strict=False))
        for feature, ranks in self._ranks(size).items():
            ax.plot(betas, ranks, "o-", color=colors.get(feature, QUIET), markersize=3.5, linewidth=1.4)
        for selection, side, away in ((first, "right", -6), (last, "left", 6)):
            for rank, feature in enumerate(selection.order[:size], start=1):
                place = {"textcoords": "offset points", "ha": side, "va": "center", "fontsize": 7.5, "color": "0.25"}
                ax.annotate(label(first.names[feature], 24), (selection.beta, rank), (away, 0), **place)
        ax.set_ylim(size + 0.6, 0.4)
        ax.set_yticks([])
        ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
        ax.margins(x=0.42)
        ax.set_xlabel("weight of unique relevance (beta)")
        few = "" if longest <= size else f" ({size} of {longest})"
        self._title(f"{self.criterion}: rank of every feature, first selected on top{few}")
        ax.spines["left"].set_visible(False)
        return self

    def _ranks(self, size: int) -> dict[int, list[float]]:
        """Rank of every feature for every weight; NaN where it is not among the first."""
        ranks: dict[int, list[float]] = {}
        for position, selection in enumerate(self.selections):
            for rank, feature in enumerate(selection.order[:size].tolist(), start=1):
                ranks.setdefault(feature, [np.nan] * len(self.selections))[position] = rank
        return ranks
