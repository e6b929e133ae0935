"""The curve of I(S; y) along a selection, with every feature marked by its role."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, FAINT, ORANGE, QUIET, RED, WIDTH, Display
from unirel.results import Redundancy

# Colour and marker of each role: either is enough to tell them apart.
_STYLES: dict[str, dict[str, Any]] = {
    "unique": {"color": BLUE, "marker": "o"},
    "conditional": {"color": ORANGE, "marker": "s"},
    "redundant": {"color": RED, "marker": "X"},
    "after saturation": {"edgecolors": QUIET, "facecolors": "white", "marker": "."},
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
        ax = self._start(ax, WIDTH, 4.0)
        result = self.result
        sizes = np.arange(1, len(result.order) + 1)
        # Many marks must stay apart.
        area = float(np.clip(2400 / len(sizes), 6, 45))
        ax.plot(sizes, result.curve, color=FAINT, linewidth=1, zorder=1)
        roles = np.array(result.roles)
        for role, style in _STYLES.items():
            chosen = roles == role
            if chosen.any():
                label = f"{role} ({np.count_nonzero(chosen)})"
                ax.scatter(sizes[chosen], result.curve[chosen], label=label, s=area, linewidths=0.8, zorder=2, **style)
        ax.axvline(len(result.saturated), color=QUIET, linestyle="--", linewidth=1, zorder=0, label="saturation")
        ax.set_xlabel("selected features")
        ax.set_ylabel("joint information I(S; y) (nats)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self._head(self._title())
        self._explain()
        return self

    def _title(self) -> str:
        result = self.result
        bound = "" if result.exact else "at least "
        mark = "" if result.complete else ", incomplete"
        counts = f"{len(result.redundant)} of {len(result.saturated)}"
        return f"redundancy rate {bound}{100 * result.rate:.3g} % ({counts}){mark}"
