"""Relevance of features against their unique relevance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import Display, shorten
from unirel.results import Estimate, Selection


class RelevanceDisplay(Display):
    """What every feature tells by itself against what only it tells; the selected ones are named.

    Parameters
    ----------
    selection : Selection
        A boosted one, so that unique relevance is known.
    interval : Estimate, optional
        Relevance with its interval, as ``relevance(X, y, interval=0.95)`` gives it, to be drawn as a line.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import selection_path
    >>> from unirel.plotting import RelevanceDisplay
    >>> path = selection_path(*load_iris(return_X_y=True), criteria="jmi", betas=0.1, n_features_to_select=2)
    >>> display = RelevanceDisplay(path.selection("jmi", 0.1)).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['x2', 'x1']
    """

    def __init__(self, selection: Selection, interval: Estimate | None = None) -> None:
        if selection.unique_relevance is None:
            raise ValueError(f"beta={selection.beta:g} boosts nothing, so unique relevance is not known; pass beta > 0")
        self.selection, self.interval = selection, interval

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> Self:
        """Draw the features that a fitted selector with beta above 0 has seen, on `ax` or on a new figure."""
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None, *, max_labels: int = 8) -> Self:
        """Draw one point per feature.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        max_labels : int
            How many of the features selected first are named.

        Returns
        -------
        RelevanceDisplay
            Itself.
        """
        ax = self._start(ax, 7, 5)
        selection = self.selection
        x, y = selection.relevance, np.asarray(selection.unique_relevance)
        chosen = np.zeros(len(x), bool)
        chosen[selection.order] = True
        ax.axhline(0, color="0.8", linewidth=1, zorder=0)
        if self.interval is not None:
            ax.hlines(y, self.interval.low, self.interval.high, color="0.8", linewidth=1.2, zorder=0, label="interval")
        ax.scatter(x[~chosen], y[~chosen], color="0.65", s=22, label=f"others ({np.count_nonzero(~chosen)})")
        ax.scatter(x[chosen], y[chosen], color="#0072B2", label=f"selected ({np.count_nonzero(chosen)})", zorder=2)
        self._name(ax, selection.order[:max_labels], x, y)
        ax.margins(x=0.12, y=0.08)
        ax.set_xlabel("relevance (nats)")
        ax.set_ylabel("unique relevance")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _name(self, ax: Any, features: Any, x: Any, y: Any) -> None:
        """Write names beside points, each on the side that has no other name near it."""
        wide, high = np.nanmax(x) - np.nanmin(x) or 1.0, np.nanmax(y) - np.nanmin(y) or 1.0
        taken: list[tuple[float, float]] = []
        for feature in features:
            across, up = (x[feature] - np.nanmin(x)) / wide, (y[feature] - np.nanmin(y)) / high
            above = 4.0
            while any(abs(across - a) < 0.22 and abs(up + above / 300 - b) < 0.035 for a, b in taken):
                above += 11
            taken.append((across, up + above / 300))
            name = shorten(self.selection.names[feature], 22)
            leader = {"arrowstyle": "-", "color": "0.7", "linewidth": 0.7} if above > 4 else None
            ax.annotate(
                name, (x[feature], y[feature]), (5, above), textcoords="offset points", fontsize=8, arrowprops=leader
            )
