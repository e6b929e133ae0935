"""Relevance of features against their unique relevance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import Display, shorten
from unirel.plotting.significance import draw_threshold
from unirel.results import RelevanceTest, Selection


class RelevanceDisplay(Display):
    """What every feature tells by itself against what only it tells; the selected ones are named.

    Parameters
    ----------
    selection : Selection
        A boosted one, so that unique relevance is known.
    test : RelevanceTest, optional
        What `relevance_test` says of the same features: those that may tell what they tell by chance are hollow, and a
        line stands at the least relevance that is significant.
    alpha : float
        Features with an adjusted value up to this are significant.

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

    def __init__(self, selection: Selection, test: RelevanceTest | None = None, *, alpha: float = 0.05) -> None:
        if selection.unique_relevance is None:
            raise ValueError(f"beta={selection.beta:g} boosts nothing, so unique relevance is not known; pass beta > 0")
        if test is not None and test.names != selection.names:
            raise ValueError("test is about other features than selection; test the table that was selected from")
        self.selection, self.test, self.alpha = selection, test, alpha

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
        ax.scatter(x[~chosen], y[~chosen], color="0.65", s=22, label=f"others ({np.count_nonzero(~chosen)})")
        ax.scatter(x[chosen], y[chosen], color="#0072B2", label=f"selected ({np.count_nonzero(chosen)})", zorder=2)
        if self.test is not None:
            self._mark_chance(ax, self.test, x, y)
        self._name(ax, selection.order[:max_labels], x, y)
        ax.margins(x=0.12, y=0.08)
        ax.set_xlabel("relevance (nats)")
        ax.set_ylabel("unique relevance")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _mark_chance(self, ax: Any, test: RelevanceTest, x: Any, y: Any) -> None:
        """Make the points of features that are not significant hollow, and draw a line."""
        significant = test.significant(self.alpha)
        chance = ~significant & ~np.isnan(test.adjusted)
        label = f"hollow: may be chance ({np.count_nonzero(chance)})"
        ax.scatter(x[chance], y[chance], facecolors="white", edgecolors="none", s=9, zorder=3)
        ax.scatter([], [], facecolors="none", edgecolors="0.5", label=label)
        draw_threshold(ax, x[significant])

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
