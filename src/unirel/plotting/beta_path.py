"""How the ranks of features change with the weight of unique relevance."""

from __future__ import annotations

from itertools import cycle
from typing import Any, Self

import numpy as np

from unirel.plotting.base import COLORS, QUIET, WIDTH, Display, shorten
from unirel.results import SelectionPath


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
    >>> path = selection_path(*load_iris(return_X_y=True), criteria="mim", betas=[0, 0.5], n_features_to_select=3)
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
        ax = self._start(ax, WIDTH, 1.5 + 0.2 * size)
        betas = np.array([selection.beta for selection in self.selections])
        names = self.selections[0].names
        colors = self._colors()
        for feature, ranks in self._ranks(size).items():
            ax.plot(betas, ranks, "o-", color=colors.get(feature, QUIET), markersize=3.5, linewidth=1.4)
        for selection, side in ((self.selections[0], "right"), (self.selections[-1], "left")):
            away = -6 if side == "right" else 6
            for rank, feature in enumerate(selection.order[:size], start=1):
                ax.annotate(
                    shorten(names[feature], 24), (selection.beta, rank), (away, 0), textcoords="offset points",
                    ha=side, va="center", fontsize=7.5, color="0.25",
                )  # fmt: skip
        ax.set_ylim(size + 0.6, 0.4)
        ax.set_yticks([])
        ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
        ax.margins(x=0.42)
        ax.set_xlabel("weight of unique relevance (beta)")
        few = "" if longest <= size else f" ({size} of {longest})"
        self._head(f"{self.criterion}: rank of every feature, first selected on top{few}")
        ax.spines["left"].set_visible(False)
        return self

    def _ranks(self, size: int) -> dict[int, list[float]]:
        """Rank of every feature for every weight; NaN where it is not among the first."""
        ranks: dict[int, list[float]] = {}
        for position, selection in enumerate(self.selections):
            for rank, feature in enumerate(selection.order[:size].tolist(), start=1):
                ranks.setdefault(feature, [np.nan] * len(self.selections))[position] = rank
        return ranks

    def _colors(self) -> dict[int, Any]:
        """Colours for the features selected at the first weight; later arrivals are grey."""
        return dict(zip(self.selections[0].order.tolist(), cycle(COLORS), strict=False))
