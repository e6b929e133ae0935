"""The curve of I(S; y) along a selection, with every feature marked by its role."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import Display
from unirel.results import Redundancy

# Colour and marker of each role: either is enough to tell them apart. Colours of Okabe and Ito.
_STYLES: dict[str, dict[str, Any]] = {
    "unique": {"color": "#0072B2", "marker": "o"},
    "conditional": {"color": "#E69F00", "marker": "s"},
    "redundant": {"color": "#D55E00", "marker": "X", "s": 60},
    "after saturation": {"edgecolors": "0.55", "facecolors": "white", "marker": ".", "s": 45},
}


class RedundancyDisplay(Display):
    """Joint information along a selection, with unique, conditional and redundant features marked.

    Parameters
    ----------
    result : Redundancy
        What `redundancy_analysis` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import redundancy_analysis
    >>> from unirel.plotting import RedundancyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RedundancyDisplay(redundancy_analysis(X, y)).plot()
    >>> display.ax_.get_xlabel()
    'selected features'
    """

    def __init__(self, result: Redundancy) -> None:
        self.result = result

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve on `ax` or on a new figure, and return itself."""
        ax = self._start(ax, 7, 4.2)
        result = self.result
        sizes = np.arange(1, len(result.order) + 1)
        ax.plot(sizes, result.curve, color="0.75", linewidth=1, zorder=1)
        roles = np.array(result.roles)
        for role, style in _STYLES.items():
            chosen = roles == role
            if chosen.any():
                label = f"{role} ({np.count_nonzero(chosen)})"
                ax.scatter(sizes[chosen], result.curve[chosen], label=label, zorder=2, **style)
        ax.axvline(len(result.saturated), color="0.4", linestyle="--", linewidth=1, zorder=0, label="saturation")
        ax.set_xlabel("selected features")
        ax.set_ylabel("joint information I(S; y) (nats)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(self._title(), fontsize="medium")
        ax.legend(frameon=False)
        return self

    def _title(self) -> str:
        result = self.result
        bound = "" if result.exact else "at least "
        mark = "" if result.complete else ", incomplete"
        counts = f"{len(result.redundant)} of {len(result.saturated)}"
        return f"redundancy rate {bound}{100 * result.rate:.3g} % ({counts}){mark}"
