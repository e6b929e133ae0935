"""What was measured: tests, stability, redundancy, and accuracy by the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, COLORS, FAINT, ORANGE, QUIET, RED, Display, draw_threshold, label
from unirel.results import Redundancy, RelevanceTest, Stability

# When all colours are used, other lines, so that many curves are told apart.
_LINES = ("-", "--", ":", "-.")
# Colour and marker of each role: either is enough to tell them apart.
_ROLES: dict[str, dict[str, Any]] = {
    "unique": {"color": BLUE, "marker": "o"},
    "conditional": {"color": ORANGE, "marker": "s"},
    "redundant": {"color": RED, "marker": "X"},
    "after saturation": {"edgecolors": QUIET, "facecolors": "white", "marker": "."},
}


@dataclass(eq=False)
class SignificanceDisplay(Display):
    """Features by their information about the target, most first; those that may be chance are hollow."""

    test: RelevanceTest  #: What `relevance_test` or `conditional_test` returns.

    def plot(self, ax: Any = None, *, alpha: float = 0.05, max_features: int = 30) -> Self:
        """Draw one point for each of the `max_features` with most information, and a line at the least significant one.

        A feature with an adjusted value up to `alpha` is significant; the legend counts all.
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


@dataclass(eq=False)
class StabilityDisplay(Display):
    """Share of the subsamples in which each feature is selected, the most frequent features on top."""

    result: Stability  #: What `selection_stability` returns.

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
        ax.set(xlim=(0, 100), xlabel="selected in % of subsamples")
        self._title(result.in_numbers)
        if exchanged.any():
            self._legend()
        return self


@dataclass(eq=False)
class RedundancyDisplay(Display):
    """Joint information along a selection, with unique, conditional and redundant features marked."""

    result: Redundancy  #: What `redundancy_analysis` returns.

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve on `ax` or on a new figure, and return itself."""
        ax, result = self._start(ax, 4.0), self.result
        sizes, roles = np.arange(1, len(result.order) + 1), np.array(result.roles)
        area = float(np.clip(2400 / len(sizes), 6, 45))  # many marks must stay apart
        ax.plot(sizes, result.curve, color=FAINT, linewidth=1, zorder=1)
        for role, style in _ROLES.items():
            drawn = roles == role
            if drawn.any():
                text = f"{role} ({np.count_nonzero(drawn)})"
                ax.scatter(sizes[drawn], result.curve[drawn], label=text, s=area, linewidths=0.8, zorder=2, **style)
        ax.axvline(len(result.saturated), color=QUIET, linestyle="--", linewidth=1, zorder=0, label="saturation")
        ax.set(xlabel="selected features", ylabel="joint information I(S; y) (nats)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        bound, mark = "" if result.exact else "at least ", "" if result.complete else ", incomplete"
        counts = f"{len(result.redundant)} of {len(result.saturated)}"
        self._title(f"redundancy rate {bound}{100 * result.rate:.3g} % ({counts}){mark}")
        self._legend()
        return self


class AccuracyDisplay(Display):
    """Mean accuracy of selectors for every number of features, with its standard error over the splits.

    Parameters
    ----------
    curves : mapping from str to array of shape (n_splits, n_sizes) or (n_sizes,)
        Accuracies of each selector.
    sizes : sequence of int, optional
        Numbers of features; 1, 2, ... by default.
    """

    def __init__(self, curves: Mapping[str, Any], sizes: Sequence[int] | None = None) -> None:
        self.curves = {name: np.atleast_2d(np.asarray(values, np.float64)) for name, values in curves.items()}
        if not self.curves:
            raise ValueError("there is no curve to draw")
        lengths = {values.shape[1] for values in self.curves.values()}
        self.sizes = list(range(1, max(lengths) + 1)) if sizes is None else list(sizes)
        if lengths != {len(self.sizes)}:
            raise ValueError(f"curves have {sorted(lengths)} values, but there are {len(self.sizes)} sizes")

    @classmethod
    def from_evaluation(cls, evaluation: Any, model: str | None = None, dataset: str | None = None) -> Self:
        """Take the test scores that `unirel.evaluation.compare` returns, of the first model and dataset or others."""
        model = evaluation.rows[0]["model"] if model is None else model
        dataset = evaluation.rows[0]["dataset"] if dataset is None else dataset
        rows = [row for row in evaluation.rows if (row["model"], row["dataset"]) == (model, dataset)]
        if not rows:
            raise ValueError(f"nothing was measured for model={model!r}, dataset={dataset!r}")
        curves: dict[str, dict[int, list[float]]] = {}
        for row in rows:
            curves.setdefault(row["selector"], {}).setdefault(row["split"], []).append(row["test_score"])
        sizes = sorted({row["n_features"] for row in rows})
        return cls({name: list(splits.values()) for name, splits in curves.items()}, sizes)

    def plot(self, ax: Any = None) -> Self:
        """Draw one curve per selector on `ax` or on a new figure, and return itself."""
        ax = self._start(ax, 4.2)
        styles = cycle((line, color) for line in _LINES for color in COLORS)
        for (name, values), (line, color) in zip(self.curves.items(), styles, strict=False):
            mean = values.mean(axis=0)
            ax.plot(self.sizes, mean, line, color=color, label=name, linewidth=1.8)
            if len(values) > 1:
                error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
                ax.fill_between(self.sizes, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
        ax.set(xlabel="number of features", ylabel="accuracy")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self._legend()
        return self
