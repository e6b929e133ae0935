"""Relevance of features in two tables, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unirel.inference.drift import RelevanceChange
from unirel.plotting.display import BLUE, FAINT, NORMAL, QUIET, RED, SMALL, TITLE, Display, label

# Points that names of features are apart at least, and how far they stand from the lines.
_APART, _AWAY = 10.5, 10


@dataclass(eq=False)
class RelevanceChangeDisplay(Display):
    """A line for each feature, from its relevance in the first table to that in the second."""

    result: RelevanceChange  #: What `compare_relevance` returns.

    def plot(self, ax: Any = None, *, alpha: float = 0.05, max_features: int = 12) -> Self:
        """Draw all features; names and colours are for the `max_features` largest of the significant changes.

        A feature with an adjusted value up to `alpha` is significant.
        """
        result = self.result
        ax = self._start(ax, 4.6)
        changed = [feature for feature in result.order.tolist() if result.adjusted[feature] <= alpha]
        named = changed[:max_features]
        gained = result.change > 0
        for feature in result.order.tolist():
            if feature not in named:
                color = QUIET if feature in changed else FAINT
                ax.plot([0, 1], [result.before[feature], result.after[feature]], color=color, linewidth=1, zorder=1)
        for feature in named:
            color = BLUE if gained[feature] else RED
            ends = [result.before[feature], result.after[feature]]
            ax.plot([0, 1], ends, "o-", color=color, linewidth=2, markersize=5, zorder=3)
        counts = [(color, words, sum(gained[one] == up for one in changed)) for color, words, up in _KINDS]
        counts.append((FAINT, "not significant", len(result.order) - len(changed)))
        for color, words, n in counts:
            if n:
                ax.plot([], [], color=color, linewidth=2, label=f"{words} ({n})")
        rows = result.settings.get("rows", ("", ""))
        names = [f"{table}\n{n:,} rows" if n else table for table, n in zip(("before", "after"), rows, strict=True)]
        ax.set_xticks([0, 1], names, fontsize=NORMAL)
        ax.set(xlim=(-0.45, 1.45), ylabel="relevance (nats)")
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        mark = "" if result.complete else ", incomplete"
        ax.set_title(f"changed: {len(changed)} of {len(result.order)} features{mark}", fontsize=TITLE, loc="right")
        self._legend(above=True)
        self._name(np.array(named, np.intp))
        return self

    def _name(self, features: NDArray[np.intp]) -> None:
        """Write names beside both ends of the lines, moved up or down where they would cover each other."""
        ax, result = self.ax_, self.result
        ax.figure.draw_without_rendering()  # how high the axes are is known only when all else has found its place
        low, high = ax.get_ylim()
        points = ax.bbox.height * 72 / ax.figure.dpi
        for values, place, side in ((result.before, 0, "right"), (result.after, 1, "left")):
            ends = values[features]
            heights = spread(ends, _APART * (high - low) / points)
            for feature, end, height in zip(features, ends, heights, strict=True):
                away = (_AWAY if side == "left" else -_AWAY, (height - end) * points / (high - low))
                how = {"textcoords": "offset points", "ha": side, "va": "center", "fontsize": SMALL}
                color = BLUE if result.change[feature] > 0 else RED
                ax.annotate(label(result.names[feature], 20), (place, end), away, color=color, **how)


_KINDS = ((BLUE, "gained", True), (RED, "lost", False))


def spread(values: NDArray[np.float64], apart: float) -> NDArray[np.float64]:
    """Values moved as little as needed to be at least that far from each other, in the same order."""
    order = np.argsort(values, kind="stable")
    steps = apart * np.arange(len(values))
    # What is left of the values after the steps must not fall: blocks that do are brought to their mean.
    blocks: list[list[float]] = []
    for value in (values[order] - steps).tolist():
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, n), (other, m) = blocks[-2:]
            blocks[-2:] = [[(one * n + other * m) / (n + m), n + m]]
    moved = np.empty(len(values))
    moved[order] = np.repeat([mean for mean, _ in blocks], [int(n) for _, n in blocks]) + steps
    return moved
