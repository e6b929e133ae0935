"""How much columns tell about a target: the public functions."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unirel.information import make_information
from unirel.information.knn import Metric
from unirel.table import Kinds, Table

Correction = Literal["miller-madow"] | None
Scale = Literal["standard", "rank"] | None
TargetKind = Literal["auto", "discrete", "continuous"]
Missing = Literal["level", "error"]


def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    estimator: str = "knn",
    n_neighbors: int = 3,
    metric: Metric = "auto",
    scale: Scale = "standard",
    kinds: Kinds | None = None,
    target_kind: TargetKind = "auto",
    missing: Missing = "level",
    n_bins: int | Literal["auto"] = "auto",
    correction: Correction = None,
    clip: bool = True,
    n_jobs: int | None = None,
) -> float:
    """Mutual information of a block of columns and a target, I(X; y) or I(X; y | Z), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_columns)
        The columns, taken together as one block. A single column may be one-dimensional.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    conditional_on : array or frame of shape (n_samples, n_conditions), optional
        The block Z to condition on.
    estimator : {"knn", "plugin", "binned"}
        Nearest neighbours, frequencies of discrete columns, or frequencies after binning.
    n_neighbors : int
        Neighbours that span a ball ("knn").
    metric : {"auto", "chebyshev", "manhattan", "euclidean"}
        Distance in the block when the target is discrete ("knn").
    scale : {"standard", "rank", None}
        Divide continuous columns by their standard deviation, or use their ranks, or leave them alone.
    kinds : {"continuous", "discrete", "ignored"} or mapping, optional
        Kinds of columns by name or position, where the decision made from the data is not wanted.
    target_kind : {"auto", "discrete", "continuous"}
        Whether the target is a class label; "auto" decides from its type and values.
    missing : {"level", "error"}
        Treat a missing value as a place of its own, or refuse it.
    n_bins : int or "auto"
        Bins of a continuous column ("binned").
    correction : {None, "miller-madow"}
        Bias correction of what is counted.
    clip : bool
        Keep the estimate between 0 and the entropy of a discrete target; False gives the raw value.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on them.

    Returns
    -------
    float

    See Also
    --------
    relevance : One column at a time.

    Notes
    -----
    For a discrete target the estimate is that of Ross [1]_ with ties counted, for a continuous one that of Kraskov et
    al. [2]_ with closed balls where a distance ties [3]_. Nothing is random.

    References
    ----------
    .. [1] B. C. Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE 9(2).
    .. [2] A. Kraskov, H. Stögbauer, P. Grassberger (2004). Estimating mutual information. Phys. Rev. E 69.
    .. [3] O. C. Mesner, C. R. Shalizi (2021). Conditional mutual information estimation for mixed, discrete and
       continuous data. IEEE Trans. Inf. Theory 67(1).

    Examples
    --------
    Two fair coins tell nothing about their exclusive or, one by one, and everything together.

    >>> from unirel import mutual_information
    >>> coins = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25
    >>> parity = [a ^ b for a, b in coins]
    >>> round(mutual_information([a for a, b in coins], parity), 3)
    0.0
    >>> round(mutual_information(coins, parity), 3)
    0.693
    """
    table = Table.from_data(
        X, y, conditional_on=conditional_on, kinds=kinds, target_kind=target_kind, scale=scale, missing=missing
    )
    information = make_information(estimator, table, locals())
    target = [table.target]
    if conditional_on is None:
        value = information.mutual_information(table.features, target)
    else:
        value = information.conditional(table.features, target, table.given)
    return information.bounded(value, table.features, target) if clip else value


def relevance(
    X: Any,
    y: Any,
    *,
    estimator: str = "knn",
    n_neighbors: int = 3,
    scale: Scale = "standard",
    kinds: Kinds | None = None,
    target_kind: TargetKind = "auto",
    missing: Missing = "level",
    n_bins: int | Literal["auto"] = "auto",
    correction: Correction = None,
    clip: bool = True,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Relevance of every column by itself, I(Xk; y), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The columns.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    estimator, n_neighbors, scale, kinds, target_kind, missing, n_bins, correction, clip, n_jobs
        As in `mutual_information`.

    Returns
    -------
    ndarray of shape (n_features,)
        NaN for a column that is ignored.

    See Also
    --------
    mutual_information : Several columns as one block.
    conditional_relevance : What a column adds to others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import relevance
    >>> relevance(*load_iris(return_X_y=True)).round(2)
    array([0.48, 0.2 , 0.99, 0.98])
    """
    table = Table.from_data(X, y, kinds=kinds, target_kind=target_kind, scale=scale, missing=missing)
    information = make_information(estimator, table, locals())
    values = information.relevance(table.features)
    return _one_per_feature(table, information.bounded_pairs(values, table.features, table.target) if clip else values)


def conditional_relevance(
    X: Any,
    y: Any,
    given: Any,
    *,
    estimator: str = "knn",
    n_neighbors: int = 3,
    metric: Metric = "auto",
    scale: Scale = "standard",
    kinds: Kinds | None = None,
    target_kind: TargetKind = "auto",
    missing: Missing = "level",
    n_bins: int | Literal["auto"] = "auto",
    correction: Correction = None,
    clip: bool = True,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Relevance of every column when others are known, I(Xk; y | given), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The columns.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    given : name, position or list of them, or array or frame of shape (n_samples, n_conditions)
        What is known: a list names columns of `X`, an array or frame holds columns with the same rows.
    estimator, n_neighbors, metric, scale, kinds, target_kind, missing, n_bins, correction, clip, n_jobs
        As in `mutual_information`.

    Returns
    -------
    ndarray of shape (n_features,)
        0 for a column that is among the given ones, NaN for one that is ignored.

    See Also
    --------
    relevance : The same with nothing given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import conditional_relevance
    >>> conditional_relevance(*load_iris(return_X_y=True), given=[2]).round(2)
    array([0.01, 0.  , 0.  , 0.04])
    """
    named = _names_columns(given)
    table = Table.from_data(
        X,
        y,
        conditional_on=None if named else given,
        kinds=kinds,
        target_kind=target_kind,
        scale=scale,
        missing=missing,
    )
    information = make_information(estimator, table, locals())
    known = _known_columns(table, given) if named else table.given.tolist()
    values = np.zeros(len(table.features))
    for position, feature in enumerate(table.features):
        if feature not in known:
            values[position] = information.conditional([feature], [table.target], known)
    return _one_per_feature(table, information.bounded_pairs(values, table.features, table.target) if clip else values)


def irrelevance(
    X: Any,
    y: Any,
    *,
    estimator: str = "knn",
    n_neighbors: int = 3,
    scale: Scale = "standard",
    kinds: Kinds | None = None,
    target_kind: TargetKind = "auto",
    missing: Missing = "level",
    n_bins: int | Literal["auto"] = "auto",
    correction: Correction = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """What every column holds beside the target, H(Xk | y) = H(Xk) - I(Xk; y), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The columns.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    estimator, n_neighbors, scale, kinds, target_kind, missing, n_bins, correction, n_jobs
        As in `mutual_information`.

    Returns
    -------
    ndarray of shape (n_features,)
        NaN for a column that is ignored.

    Notes
    -----
    The entropy of a discrete column is that of its frequencies. That of a continuous column is differential
    (Kozachenko and Leonenko 1987): it may be negative, and a change of units by a factor adds the factor's logarithm.
    With ``scale="standard"`` it is that of the standardised column, so that columns compare; with ``scale=None`` that
    of the column as it is. With ``estimator="binned"`` it is that of the bins.

    Examples
    --------
    >>> from unirel import irrelevance
    >>> coin, other = [0, 0, 1, 1] * 25, [0, 1, 0, 1] * 25
    >>> irrelevance([list(pair) for pair in zip(coin, other)], coin).round(3)
    array([0.   , 0.693])
    """
    table = Table.from_data(X, y, kinds=kinds, target_kind=target_kind, scale=scale, missing=missing)
    information = make_information(estimator, table, locals())
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    entropies = [information.entropy(feature) for feature in table.features]
    return _one_per_feature(table, np.array(entropies) - values)


def _one_per_feature(table: Table, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread values of the features in use over all features; ignored ones get NaN."""
    result = np.full(table.n_features, np.nan)
    result[table.features] = values
    return result


def _names_columns(given: Any) -> bool:
    """Whether `given` names columns of X: a name, a position, or a list of them. An array is a column itself."""
    if isinstance(given, str | int | np.integer):
        return True
    return isinstance(given, list | tuple) and all(isinstance(one, str | int | np.integer) for one in given)


def _known_columns(table: Table, given: Any) -> list[int]:
    """Positions of the named columns, each once; ignored ones say nothing."""
    return [position for position in dict.fromkeys(table.positions(given)) if position in table.features]
