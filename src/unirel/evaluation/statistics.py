"""Statistics over runs and datasets: differences between selectors, ranks, stability, and areas under curves."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from unirel.options import check_whole_number


class PairedDifference(NamedTuple):
    """How a selector differs from another over the same runs.

    Attributes
    ----------
    n_runs : int
        Runs.
    mean : float
        Mean difference.
    low, high : float
        Confidence interval of the mean by Student's t; NaN for a single run.
    p_value : float
        Of Wilcoxon's signed-rank test, two-sided; 1 if all differences are 0.
    wins, ties, losses : int
        Runs in which the selector is better, equal and worse.
    """

    n_runs: int
    mean: float
    low: float
    high: float
    p_value: float
    wins: int
    ties: int
    losses: int


def paired_difference(
    values: ArrayLike, baseline: ArrayLike, *, confidence: float = 0.95, overlap: float = 0.0
) -> PairedDifference:
    r"""Compare values with those of a baseline, run by run.

    Parameters
    ----------
    values, baseline : array of shape (n_runs,)
        One value of each for every run.
    confidence : float
        Confidence level of the interval.
    overlap : float
        Rows that test, divided by rows that train. Runs on random splits of one dataset share rows, so the plain
        interval (0) is too narrow as a statement about other data; Nadeau and Bengio widen it by this ratio [1]_, which
        is 1/3 for splits of 60/20/20.

    Returns
    -------
    PairedDifference

    Notes
    -----
    With d the differences of n runs and s their standard deviation, the interval is
    :math:`\bar d \pm t\, s \sqrt{1 / n + overlap}` with n - 1 degrees of freedom.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52:239-281.

    Examples
    --------
    >>> from unirel.evaluation import paired_difference
    >>> paired_difference([0.9, 0.8, 0.9], [0.8, 0.8, 0.7]).wins
    2
    """
    differences = np.asarray(values, float) - np.asarray(baseline, float)
    if differences.ndim != 1 or differences.size == 0:
        raise ValueError(f"values and baseline must be one value for each run, but have shape {differences.shape}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must be between 0 and 1, such as 0.95")
    n_runs, mean = differences.size, float(differences.mean())
    half = float("nan")
    if n_runs > 1:
        scale = float(differences.std(ddof=1)) * np.sqrt(1 / n_runs + overlap)
        half = float(stats.t.ppf((1 + confidence) / 2, n_runs - 1) * scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an older scipy says that there are ties, and few runs
        p_value = float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
    return PairedDifference(
        n_runs=n_runs,
        mean=mean,
        low=mean - half,
        high=mean + half,
        p_value=p_value,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )


def average_ranks(scores: ArrayLike) -> NDArray[Any]:
    """Mean rank of each selector over datasets; 1 is best, and equal scores share their ranks.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_selectors)
        The higher the better.

    Returns
    -------
    ndarray of shape (n_selectors,)

    Examples
    --------
    >>> from unirel.evaluation import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.6]])
    array([1.5 , 1.75, 2.75])
    """
    ranks: NDArray[Any] = stats.rankdata(-np.asarray(scores, float), axis=1).mean(axis=0)
    return ranks


def stability(selections: Iterable[Sequence[int]], n_features: int) -> float:
    r"""How much selections from several runs agree.

    Parameters
    ----------
    selections : list of lists of int
        Positions of the selected features, for each run.
    n_features : int
        How many features there are.

    Returns
    -------
    float
        1 if all runs select the same features, about 0 if they select at random, NaN with fewer than two runs or if
        every run selects nothing or everything.

    Notes
    -----
    With :math:`\hat p_f` the share of the M runs that select feature f, :math:`\bar k` the mean number of selected
    features and d features in all,

    .. math:: \hat\Phi = 1 - \frac{\frac{1}{d} \sum_f \frac{M}{M - 1} \hat p_f (1 - \hat p_f)}
                                 {\frac{\bar k}{d} \left(1 - \frac{\bar k}{d}\right)} .

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown (2018). On the stability of feature selection algorithms. Journal of
       Machine Learning Research 18(174).

    Examples
    --------
    >>> from unirel.evaluation import stability
    >>> stability([[0, 1], [1, 0]], n_features=10)
    1.0
    """
    check_whole_number("n_features", n_features, 1)
    chosen = np.array([np.isin(np.arange(n_features), list(selection)) for selection in selections])
    return nogueira_index(chosen)[0] if len(chosen) > 1 else float("nan")


def nogueira_index(selected: NDArray[np.bool_]) -> tuple[float, float]:
    """The stability index of rows of a matrix that say which features are selected, and its standard error.

    Both are NaN where none, or all, of the features are always selected: then there is nothing to be stable about.
    """
    n_rows, n_features = selected.shape
    chosen = selected.astype(np.float64)
    frequency, sizes = chosen.mean(axis=0), chosen.sum(axis=1)
    mean_share = float(sizes.mean()) / n_features
    by_chance = mean_share * (1 - mean_share)
    if by_chance <= 0:
        return float("nan"), float("nan")
    index = 1 - n_rows / (n_rows - 1) * float((frequency * (1 - frequency)).mean()) / by_chance
    shares = sizes / n_features
    parts = chosen @ frequency / n_features - shares * mean_share
    parts += index / 2 * (2 * shares * mean_share - shares - mean_share + 1)
    parts /= by_chance
    return index, 2 / n_rows * float(((parts - parts.mean()) ** 2).sum()) ** 0.5


def area(accuracies: Sequence[float]) -> float:
    """Area under a curve of accuracies, as a share of the largest possible: their mean.

    Parameters
    ----------
    accuracies : list of float
        One for each number of features.

    Returns
    -------
    float

    Examples
    --------
    >>> from unirel.evaluation import area
    >>> area([0.5, 0.75, 1.0])
    0.75
    """
    return float(np.mean(accuracies))
