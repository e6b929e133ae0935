"""Relevance of features against their unique relevance, and information that every two of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from unirel.inference.relations import Analysis, order_by_similarity
from unirel.plotting.base import BLUE, FAINT, NORMAL, QUIET, SMALL, WIDTH, Display, label, thinned
from unirel.plotting.certainty import draw_threshold
from unirel.results import Estimate, RelevanceTest, Selection

# Rows that can have their names.
_MOST_NAMES = 42
# Where a name can stand beside its point: away from it in points, and how it is aligned there.
_SIDES = ((6, 0, "left", "center"), (-6, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top"))


class RelevanceDisplay(Display):
    """Relevance of every feature against its unique relevance; the selected ones are named.

    Parameters
    ----------
    selection : Selection
        A boosted one, so that unique relevance is known.
    test : RelevanceTest, optional
        What `relevance_test` says of the same features: those whose relevance may be chance are hollow, and a line
        stands at the least relevance that is significant.
    alpha : float
        Features with an adjusted value up to this are significant.
    interval : Estimate, optional
        Relevance with its interval, as ``relevance(X, y, confidence_level=0.95)`` gives it, to be drawn as a line.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector
    >>> from unirel.plotting import RelevanceDisplay
    >>> selector = BURSelector("jmi", 2, beta=0.1).fit(*load_iris(return_X_y=True))
    >>> display = RelevanceDisplay(selector.selection_).plot()
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
        ax = self._start(ax, 4.6)
        selection = self.selection
        x, y = selection.relevance, np.asarray(selection.unique_relevance)
        chosen = np.zeros(len(x), bool)
        chosen[selection.order] = True
        area = float(np.clip(4000 / len(x), 10, 34))
        ax.axhline(0, color=FAINT, linewidth=1, zorder=0)
        if self.interval is not None:
            ax.hlines(y, self.interval.low, self.interval.high, color=FAINT, linewidth=1.2, zorder=0, label="interval")
        others = f"others ({np.count_nonzero(~chosen)})"
        ax.scatter(x[~chosen], y[~chosen], color=QUIET, s=area, linewidths=0, alpha=0.7, label=others)
        ax.scatter(x[chosen], y[chosen], color=BLUE, s=1.3 * area, label=f"selected ({chosen.sum()})", zorder=2)
        if self.test is not None:
            significant = self.test.significant(self.alpha)
            chance = ~significant & ~np.isnan(self.test.adjusted)
            ax.scatter(x[chance], y[chance], facecolors="white", edgecolors="none", s=9, zorder=3)
            hollow = f"hollow: may be chance ({np.count_nonzero(chance)})"
            ax.scatter([], [], facecolors="none", edgecolors=QUIET, label=hollow)
            draw_threshold(ax, x[significant])
        ax.margins(x=0.06, y=0.08)
        ax.set_xlabel("relevance (nats)")
        ax.set_ylabel("unique relevance")
        self._legend_above()
        self._name(selection.order[:max_labels], np.column_stack([x, y]))
        return self

    def _name(self, features: Any, points: Any) -> None:
        """Write names beside points, each where it covers no other name and no other selected point, or not at all."""
        ax = self.ax_
        ax.figure.draw_without_rendering()  # where things are is known only when they have found their places
        spots = ax.transData.transform(points[self.selection.order])
        taken: list[Any] = []
        for feature in features:
            own = ax.transData.transform(points[feature])
            for across, up, align, stand in _SIDES:
                place = {"textcoords": "offset points", "fontsize": SMALL, "ha": align, "va": stand}
                text = ax.annotate(label(self.selection.names[feature], 24), points[feature], (across, up), **place)
                box = text.get_window_extent().padded(2)
                inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 and ax.bbox.y0 <= box.y0 and box.y1 <= ax.bbox.y1
                covers = any(box.contains(*spot) for spot in spots if not np.allclose(spot, own))
                if inside and not covers and not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
                text.remove()


class HeatmapDisplay(Display):
    """Normalised mutual information of every two selected features, similar ones side by side.

    Parameters
    ----------
    shared : array of shape (n_features, n_features)
        From 0 for independent features to 1 where each determines the other.
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
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
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
        ax = self._start(ax, side + 1.6, side + 2.8)
        self.order_ = order_by_similarity(self.shared)
        cells = self.shared[np.ix_(self.order_, self.order_)].copy()
        np.fill_diagonal(cells, np.nan)  # a feature determines itself
        image = ax.imshow(cells, vmin=0, vmax=1, cmap="viridis")
        names = thinned([label(self.names[feature], 20) for feature in self.order_], _MOST_NAMES)
        ax.set_xticks(range(size), names, rotation=90)
        ax.set_yticks(range(size), names)
        ax.tick_params(length=0, labelsize=SMALL if size <= 20 else 7)
        ax.spines[["left", "bottom"]].set_visible(False)
        for (row, column), value in np.ndenumerate(cells):
            if size <= 12 and row != column:
                color = "white" if value < 0.6 else "black"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=25)
        bar.set_label("normalised mutual information", size=NORMAL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_visible(False)
        return self
