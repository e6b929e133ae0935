"""How often every feature is selected in parts of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import Display, shorten
from unirel.results import Stability


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
    >>> result = selection_stability(BURSelector(n_features_to_select=2), *load_iris(return_X_y=True), n_subsamples=5)
    >>> StabilityDisplay(result).plot().ax_.get_xlabel()
    'selected in % of subsamples'
    """

    def __init__(self, result: Stability) -> None:
        self.result = result

    def plot(self, ax: Any = None, *, max_features: int = 30) -> Self:
        """Draw one bar per feature that is ever selected, of at most `max_features` features."""
        result = self.result
        shown = [feature for feature in result.order.tolist() if result.frequency[feature] > 0][:max_features]
        ax = self._start(ax, 7, min(1.6 + 0.27 * len(shown), 14))
        places = np.arange(len(shown))
        exchanged = {feature for pair in result.exchangeable for feature in pair[:2]}
        for label, color, wanted in (("", "#0072B2", False), ("exchanged for another", "#E69F00", True)):
            drawn = [place for place in places.tolist() if (shown[place] in exchanged) == wanted]
            if drawn:
                shares = [100 * result.frequency[shown[place]] for place in drawn]
                ax.barh(drawn, shares, color=color, height=0.7, label=label or "selected")
        ax.set_yticks(places, [shorten(result.names[feature]) for feature in shown])
        ax.invert_yaxis()
        ax.set_xlim(0, 100)
        ax.set_xlabel("selected in % of subsamples")
        ax.set_title(result.in_numbers, fontsize="medium")
        if exchanged & set(shown):
            ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return self
