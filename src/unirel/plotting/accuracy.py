"""Accuracy against the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unirel.plotting.base import COLORS, WIDTH, Display

if TYPE_CHECKING:
    from unirel.evaluation import Evaluation

# When all colours are used, other lines, so that many curves are told apart.
_LINES = ("-", "--", ":", "-.")


class AccuracyDisplay(Display):
    """Mean accuracy of selectors for every number of features, with its standard error over the runs.

    Parameters
    ----------
    curves : mapping from str to array of shape (n_runs, n_sizes) or (n_sizes,)
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
    def from_evaluation(cls, evaluation: Evaluation, model: str | None = None, dataset: str | None = None) -> Self:
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
        rows = evaluation.rows
        model = rows[0]["model"] if model is None else model
        dataset = rows[0]["dataset"] if dataset is None else dataset
        chosen = [row for row in rows if (row["model"], row["dataset"]) == (model, dataset)]
        if not chosen:
            raise ValueError(f"there is no outcome for model={model!r}, dataset={dataset!r}")
        curves: dict[str, dict[int, list[float]]] = {}
        for row in chosen:
            curves.setdefault(row["selector"], {}).setdefault(row["split"], []).append(row["test_score"])
        sizes = list(dict.fromkeys(row["n_features"] for row in chosen))
        return cls({selector: list(splits.values()) for selector, splits in curves.items()}, sizes)

    def plot(self, ax: Any = None) -> Self:
        """Draw one curve per selector on `ax` or on a new figure, and return itself."""
        ax = self._start(ax, WIDTH, 4.2)
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
        self._explain()
        return self
