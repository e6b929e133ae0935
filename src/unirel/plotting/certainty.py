"""Which features are significant, and how often each is selected when the rows change."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unirel.plotting.base import BLUE, ORANGE, QUIET, Display, label
from unirel.results import RelevanceTest, Stability


class SignificanceDisplay(Display):
    """Features by their information about the target, most first; those that may be chance are hollow.

    Parameters
    ----------
    test : RelevanceTest
        What `relevance_test` or `conditional_test` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import relevance_test
    >>> from unirel.plotting import SignificanceDisplay
    >>> test = relevance_test(*load_iris(return_X_y=True), n_permutations=99)
    >>> display = SignificanceDisplay(test).plot()
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['significant (4)', 'may be chance (0)', 'least that is significant']
    """

    def __init__(self, test: RelevanceTest) -> None:
        self.test = test

    def plot(self, ax: Any = None, *, alpha: float = 0.05, max_features: int = 30) -> Self:
        """Draw one point per feature, and a line at the least information that is significant.

        A feature with an adjusted value up to `alpha` is. Of the `max_features` with most information there is a point;
        the legend counts all.
        """
        test = self.test
        tested = np.flatnonzero(~np.isnan(test.adjusted))
        shown = tested[np.argsort(-test.information[tested], kind="stable")][:max_features]
        ax = self._start(ax, 1.2 + 0.24 * len(shown))
        significant, heights = test.significant(alpha), np.arange(len(shown), 0, -1)
        for found, face, edge, words in ((True, BLUE, BLUE, "significant"), (False, "none", QUIET, "may be chance")):
            drawn = significant[shown] == found
            text = f"{words} ({np.count_nonzero(significant[tested] == found)})"
            x, y = test.information[shown][drawn], heights[drawn]
            ax.scatter(x, y, facecolors=face, edgecolors=edge, label=text, zorder=2)
        draw_threshold(ax, test.information[significant])
        ax.set_yticks(heights, [label(test.names[feature]) for feature in shown])
        ax.set_xlabel("information given the others (nats)" if test.given else "relevance (nats)")
        ax.margins(x=0.08)
        ax.grid(axis="y", color="0.92")
        self._legend()
        return self


def draw_threshold(ax: Any, information: NDArray[np.float64]) -> None:
    """Draw a line at the least information of significant features, if there are any."""
    if len(information):
        text = "least that is significant"
        ax.axvline(information.min(), color=BLUE, linewidth=1, linestyle="--", zorder=1, label=text)


class StabilityDisplay(Display):
    """Share of the subsamples in which each feature is selected, the most frequent features on top.

    Parameters
    ----------
    result : Stability
        What `selection_stability` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, selection_stability
    >>> from unirel.plotting import StabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> result = selection_stability(X, y, selector=BURSelector(n_features_to_select=2), n_subsamples=5)
    >>> StabilityDisplay(result).plot().ax_.get_xlabel()
    'selected in % of subsamples'
    """

    def __init__(self, result: Stability) -> None:
        self.result = result

    def plot(self, ax: Any = None, *, max_features: int = 30) -> Self:
        """Draw one bar per feature that is ever selected, of at most `max_features` features."""
        result = self.result
        shown = [feature for feature in result.order.tolist() if result.frequency[feature] > 0][:max_features]
        ax = self._start(ax, 1.6 + 0.27 * len(shown))
        places = np.arange(len(shown))
        exchanged = np.isin(shown, [feature for pair in result.exchangeable for feature in pair[:2]])
        for drawn, color, text in ((~exchanged, BLUE, "selected"), (exchanged, ORANGE, "exchangeable with another")):
            if drawn.any():
                shares = 100 * result.frequency[np.array(shown)[drawn]]
                ax.barh(places[drawn], shares, color=color, height=0.7, label=text)
        ax.set_yticks(places, [label(result.names[feature]) for feature in shown])
        ax.invert_yaxis()
        ax.set_xlim(0, 100)
        ax.set_xlabel("selected in % of subsamples")
        self._title(result.in_numbers)
        if exchanged.any():
            self._legend()
        return self
