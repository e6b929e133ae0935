"""Relevance of features against their unique relevance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, FAINT, QUIET, SMALL, WIDTH, Display, shorten
from unirel.plotting.significance import draw_threshold
from unirel.results import Estimate, RelevanceTest, Selection

# Where a name can stand beside its point: away from it in points, and how it is aligned there.
_SIDES = ((6, 0, "left", "center"), (-6, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top"))


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
    ['x2', 'x3']
    """

    def __init__(
        self,
        selection: Selection,
        test: RelevanceTest | None = None,
        *,
        alpha: float = 0.05,
        interval: Estimate | None = None,
    ) -> None:
        if selection.unique_relevance is None:
            raise ValueError(f"beta={selection.beta:g} boosts nothing, so unique relevance is not known; pass beta > 0")
        if test is not None and test.names != selection.names:
            raise ValueError("test is about other features than selection; test the table that was selected from")
        self.selection, self.test, self.alpha, self.interval = selection, test, alpha, interval

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> Self:
        """Draw the features that a fitted selector with beta above 0 has seen, on `ax` or on a new figure."""
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None, *, max_labels: int = 8) -> Self:
        """Draw one point per feature; the `max_labels` features selected first are named, where there is room."""
        ax = self._start(ax, WIDTH, 4.6)
        selection = self.selection
        x, y = selection.relevance, np.asarray(selection.unique_relevance)
        chosen = np.zeros(len(x), bool)
        chosen[selection.order] = True
        area = float(np.clip(4000 / len(x), 10, 34))
        others = f"others ({np.count_nonzero(~chosen)})"
        ax.axhline(0, color=FAINT, linewidth=1, zorder=0)
        if self.interval is not None:
            ax.hlines(y, self.interval.low, self.interval.high, color=FAINT, linewidth=1.2, zorder=0, label="interval")
        ax.scatter(x[~chosen], y[~chosen], color=QUIET, s=area, linewidths=0, alpha=0.7, label=others)
        ax.scatter(x[chosen], y[chosen], color=BLUE, s=1.3 * area, label=f"selected ({chosen.sum()})", zorder=2)
        if self.test is not None:
            self._mark_chance(ax, self.test, x, y)
        ax.margins(x=0.06, y=0.08)
        ax.set_xlabel("relevance (nats)")
        ax.set_ylabel("unique relevance")
        self._explain(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
        self._name(selection.order[:max_labels], np.column_stack([x, y]))
        return self

    def _mark_chance(self, ax: Any, test: RelevanceTest, x: Any, y: Any) -> None:
        """Make the points of features that are not significant hollow, and draw a line."""
        significant = test.significant(self.alpha)
        chance = ~significant & ~np.isnan(test.adjusted)
        label = f"hollow: may be chance ({np.count_nonzero(chance)})"
        ax.scatter(x[chance], y[chance], facecolors="white", edgecolors="none", s=9, zorder=3)
        ax.scatter([], [], facecolors="none", edgecolors=QUIET, label=label)
        draw_threshold(ax, x[significant])

    def _name(self, features: Any, points: Any) -> None:
        """Write names beside points, each where it covers no other name and no other selected point, or not at all."""
        ax = self.ax_
        ax.figure.draw_without_rendering()  # where things are is known only when they have found their places
        spots = ax.transData.transform(points[self.selection.order])
        taken: list[Any] = []
        for feature in features:
            own = ax.transData.transform(points[feature])
            for across, up, align, stand in _SIDES:
                text = ax.annotate(
                    shorten(self.selection.names[feature], 24), points[feature], (across, up),
                    textcoords="offset points", fontsize=SMALL, ha=align, va=stand,
                )  # fmt: skip
                box = text.get_window_extent().padded(2)
                inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 and ax.bbox.y0 <= box.y0 and box.y1 <= ax.bbox.y1
                covers = any(box.contains(*spot) for spot in spots if not np.allclose(spot, own))
                if inside and not covers and not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
                text.remove()
