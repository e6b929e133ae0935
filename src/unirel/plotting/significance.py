"""How much features tell, and which of them may tell it by chance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unirel.plotting.base import Display, shorten
from unirel.results import RelevanceTest

FOUND, CHANCE = "#0072B2", "0.55"


class SignificanceDisplay(Display):
    """Features by how much they tell, most first; those that may tell it by chance are hollow.

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

        A feature with an adjusted value up to `alpha` is. Of the `max_features` that tell most there is a point; the
        legend counts all.
        """
        test = self.test
        tested = np.flatnonzero(~np.isnan(test.adjusted))
        shown = tested[np.argsort(-test.information[tested], kind="stable")][:max_features]
        ax = self._start(ax, 7, 1.2 + 0.24 * len(shown))
        significant = test.significant(alpha)
        heights = np.arange(len(shown), 0, -1)
        for found, face, words in ((True, FOUND, "significant"), (False, "none", "may be chance")):
            chosen = significant[shown] == found
            count = np.count_nonzero(significant[tested] == found)
            ax.scatter(
                test.information[shown][chosen],
                heights[chosen],
                facecolors=face,
                edgecolors=FOUND if found else CHANCE,
                label=f"{words} ({count})",
                zorder=2,
            )
        draw_threshold(ax, test.information[significant])
        ax.set_yticks(heights, [shorten(test.names[feature]) for feature in shown])
        ax.set_xlabel("information given the others (nats)" if test.given else "relevance (nats)")
        ax.margins(x=0.08)
        ax.grid(axis="y", color="0.92")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return self


def draw_threshold(ax: Any, information: NDArray[np.float64]) -> None:
    """Draw a line at the least information of significant features, if there are any."""
    if len(information):
        label = "least that is significant"
        ax.axvline(information.min(), color=FOUND, linewidth=1, linestyle="--", zorder=1, label=label)
