"""Pairs of features, and how much of their information only both together have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unirel.inference.interactions import Interactions
from unirel.plotting.display import BLUE, FAINT, QUIET, SMALL, TITLE, Display, label


@dataclass(eq=False)
class InteractionsDisplay(Display):
    """Information of pairs about the target, in parts: that of each feature by itself, and that of both together."""

    result: Interactions  #: What `interactions` returns.

    def plot(self, ax: Any = None, *, alpha: float = 0.05, max_pairs: int = 20) -> Self:
        """Draw one bar for each of the first `max_pairs` pairs; synergy that may be chance is hollow.

        A pair with an adjusted value up to `alpha` is significant.
        """
        result, shown = self.result, slice(max_pairs)
        pairs, synergy = result.pairs[shown], np.maximum(result.synergy[shown], 0.0)
        ax = self._start(ax, 1.6 + 0.3 * max(1, len(pairs)))
        places, ends = np.arange(len(pairs)), np.cumsum(result.relevance[shown], axis=1)
        significant = result.significant(alpha)[shown]
        ax.barh(places, ends[:, 0], height=0.6, color=QUIET, label="first by itself")
        ax.barh(places, result.relevance[shown, 1], 0.6, ends[:, 0], color=FAINT, label="second by itself")
        for drawn, face, words in ((significant, BLUE, "only together"), (~significant, "white", "may be chance")):
            if drawn.any():
                own = {"facecolor": face, "edgecolor": BLUE, "linewidth": 0.8, "label": words}
                ax.barh(places[drawn], synergy[drawn], 0.6, ends[drawn, 1], **own)
        ax.set_yticks(places, [f"{label(first, 18)} and {label(second, 18)}" for first, second in pairs])
        ax.set(ylim=(max(len(pairs), 1) - 0.4, -0.6), xlabel="information about the target (nats)")
        ax.tick_params(axis="y", length=0, labelsize=SMALL)
        n_found = np.count_nonzero(result.significant(alpha))
        mark = "" if result.complete else ", incomplete"
        ax.set_title(f"significant: {n_found} of {result.n_pairs:,} pairs{mark}", fontsize=TITLE, loc="right", pad=22)
        handles, words = ax.get_legend_handles_labels()
        where = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 4, "borderaxespad": 0.2}
        ax.legend(handles, words, frameon=False, fontsize=SMALL, columnspacing=1.2, handlelength=1.4, **where)
        return self
