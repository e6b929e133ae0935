"""Differences of two selectors over the same splits, with intervals."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from unirel import _runtime


class PairedDifference(NamedTuple):
    """How a selector differs from another over the same splits."""

    n_splits: int
    mean: float
    low: float  # of its confidence interval; NaN for a single split
    high: float
    p_value: float  # of Wilcoxon's signed-rank test
    wins: int  # splits in which the selector is better
    ties: int
    losses: int


def paired_difference(
    values: ArrayLike, baseline: ArrayLike, *, confidence_level: float = 0.95, overlap: float = 0.0
) -> PairedDifference:
    r"""Compare values with those of a baseline, split by split.

    Parameters
    ----------
    values, baseline : array of shape (n_splits,)
        One value of each for every split.
    confidence_level : float
        Of the interval.
    overlap : float
        Rows that test, divided by rows that train. Random splits of one dataset share rows, so the plain interval (0)
        is too narrow as a statement about other data. Nadeau and Bengio (2003) widen it: with d the differences of n
        splits and s their standard deviation it is :math:`\bar d \pm t\, s \sqrt{1 / n + overlap}`.

    Examples
    --------
    >>> from unirel.evaluation import paired_difference
    >>> paired_difference([0.9, 0.8, 0.9], [0.8, 0.8, 0.7]).wins
    2
    """
    differences = np.asarray(values, float) - np.asarray(baseline, float)
    if differences.ndim != 1 or differences.size == 0:
        raise ValueError(f"values and baseline must be one value for each split, but have shape {differences.shape}")
    _runtime.check_fraction("confidence_level", confidence_level)
    n_splits, mean, half = differences.size, float(differences.mean()), float("nan")
    if n_splits > 1:
        scale = float(differences.std(ddof=1)) * np.sqrt(1 / n_splits + overlap)
        half = float(stats.t.ppf((1 + confidence_level) / 2, n_splits - 1) * scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an older scipy says that there are ties, and few splits
        p_value = float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return PairedDifference(n_splits, mean, mean - half, mean + half, p_value, wins, n_splits - wins - losses, losses)


class Verdict(NamedTuple):
    """How a selector compares with the best of others; as text it is a sentence."""

    selector: str
    best_other: str
    difference: PairedDifference  # of their scores, split by split
    score: str
    models: tuple[str, ...]  # whose mean score it is
    confidence_level: float = 0.95

    def __str__(self) -> str:
        n_splits, mean, low, high, *_ = self.difference
        is_share = "accuracy" in self.score
        unit = f"points of {self.score}" if is_share else f"in {self.score}"

        def written(value: float, sign: str = "+") -> str:
            return f"{100 * value:{sign}z.1f}" if is_share else f"{value:{sign}z.3f}"

        about = f"{' and '.join(self.models)}, {n_splits} split{'s' * (n_splits > 1)}"
        if n_splits < 2:
            words = f"{self.selector} differs from {self.best_other} by {written(mean)} {unit}"
            return f"{words} in a single split ({' and '.join(self.models)}), which has no interval."
        level = f"{100 * self.confidence_level:g} % interval"
        if low <= 0 <= high:
            words = (
                f"{self.selector} and {self.best_other} cannot be told apart: the difference is {written(mean)} {unit}"
            )
            return f"{words} ({level} {written(low)} to {written(high)}; {about})."
        place, (least, most) = "ahead of" if mean > 0 else "behind", sorted((abs(low), abs(high)))
        words = f"{self.selector} is {place} {self.best_other} by {written(abs(mean), '')} {unit}"
        return f"{words} ({level} {written(least, '')} to {written(most, '')}; {about})."
