"""Differences between two selectors over the same splits."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from unirel.errors import check_fraction


class PairedDifference(NamedTuple):
    """How a selector differs from another over the same splits.

    The mean difference, its confidence interval (NaN for a single split), the p-value of Wilcoxon's signed-rank test,
    and in how many splits the selector is better, equal and worse.
    """

    n_splits: int
    mean: float
    low: float
    high: float
    p_value: float
    wins: int
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
    check_fraction("confidence_level", confidence_level)
    n_splits, mean, half = differences.size, float(differences.mean()), float("nan")
    if n_splits > 1:
        scale = float(differences.std(ddof=1)) * np.sqrt(1 / n_splits + overlap)
        half = float(stats.t.ppf((1 + confidence_level) / 2, n_splits - 1) * scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an older scipy says that there are ties, and few splits
        p_value = float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
    signs = [int((sign * differences > 0).sum()) for sign in (1, -1)]
    return PairedDifference(
        n_splits, mean, mean - half, mean + half, p_value, signs[0], n_splits - sum(signs), signs[1]
    )
