"""Curves over the number of features: accuracy of selectors, and joint information along a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Self

import numpy as np

from unirel.plotting.base import BLUE, COLORS, FAINT, ORANGE, QUIET, RED, Display
from unirel.results import Redundancy

# When all colours are used, other lines, so that many curves are told apart.
_LINES = ("-", "--", ":", "-.")
# Colour and marker of each role: either is enough to tell them apart.
_ROLES: dict[str, dict[str, Any]] = {
    "unique": {"color": BLUE, "marker": "o"},
    "conditional": {"color": ORANGE, "marker": "s"},
    "redundant": {"color": RED, "marker": "X"},
    "after saturation": {"edgecolors": QUIET, "facecolors": "white", "marker": "."},
}


class AccuracyDisplay(Display):
    """Mean accuracy of selectors for every number of features, with its standard error over the splits.

    Parameters
    ----------
    curves : mapping from str to array of shape (n_splits, n_sizes) or (n_sizes,)
        Accuracies of each selector.
    sizes : sequence of int, optional
        Numbers of features; 1, 2, ... by default.

    Examples
    --------
    >>> from unirel.plotting import AccuracyDisplay
    >>> display = AccuracyDisplay({"jmi": [[0.7, 0.8], [0.6, 0.8]], "mim": [[0.7, 0.7], [0.6, 0.7]]}).plot()
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['jmi', 'mim']
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
        """Take the test scores of a comparison.

        Parameters
        ----------
        evaluation : Evaluation
            What `unirel.evaluation.compare` returns.
        model, dataset : str, optional
            Which of them; the first one by default.

        Returns
        -------
        AccuracyDisplay
        """
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
        ax.set_xlabel("number of features")
        ax.set_ylabel("accuracy")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self._legend()
        return self


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
    >>> display = RedundancyDisplay(redundancy_analysis(*load_iris(return_X_y=True))).plot()
    >>> display.ax_.get_xlabel()
    'selected features'
    """

    def __init__(self, result: Redundancy) -> None:
        self.result = result

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
        ax.set_xlabel("selected features")
        ax.set_ylabel("joint information I(S; y) (nats)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        bound, mark = "" if result.exact else "at least ", "" if result.complete else ", incomplete"
        counts = f"{len(result.redundant)} of {len(result.saturated)}"
        self._title(f"redundancy rate {bound}{100 * result.rate:.3g} % ({counts}){mark}")
        self._legend()
        return self
