"""Measures of what selectors achieve: stability, and the area under a curve of accuracies."""

from collections.abc import Iterable, Sequence

import numpy as np

from unirel.options import check_whole_number


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
    chosen = np.array([np.isin(np.arange(n_features), list(selection)) for selection in selections], dtype=float)
    if len(chosen) < 2:
        return float("nan")
    share = chosen.sum(axis=1).mean() / n_features
    at_random = share * (1 - share)
    return float(1 - chosen.var(axis=0, ddof=1).mean() / at_random) if at_random > 0 else float("nan")


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
