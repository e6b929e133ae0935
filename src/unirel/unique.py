"""Unique relevance: what a feature tells about the target that the other features do not."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.errors import UnirelWarning
from unirel.information.base import Values
from unirel.information.knn import KNN, Metric
from unirel.options import check_choice, check_whole_number
from unirel.reading import Kinds
from unirel.table import Table
from unirel.work import Progress, ProgressBar

METHODS = ("ksg", "reference", "classifier")
Method = Literal["ksg", "reference", "classifier"]


class Unique(NamedTuple):
    """Unique relevance of every feature, NaN for ignored ones."""

    values: Values
    error: Values  # standard errors, NaN where the method has none


def unique_relevance(
    X: Any,
    y: Any,
    *,
    method: Method = "ksg",
    reference: Sequence[int | str] | None = None,
    classifier: Any = None,
    cv: Any = 5,
    n_neighbors: int | Literal["auto"] = "auto",
    metric: Metric = "auto",
    clip: bool | Literal["auto"] = "auto",
    normalize: Literal["auto", "minmax"] | None = "auto",
    max_queries: int | None = None,
    random_state: int | None = 0,
    return_std: bool = False,
    scale: Literal["standard", "rank"] | None = "standard",
    kinds: Kinds | None = None,
    target_kind: Literal["auto", "discrete", "continuous"] = "auto",
    missing: Literal["level", "error"] = "level",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    verbose: bool = False,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unique relevance of every feature, I(Omega; y) - I(Omega without Xk; y), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        All features, Omega.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    method : {"ksg", "reference", "classifier"}
        "ksg": given all other features, by nearest neighbours. "reference": given a small set of features, for its
        members without the member, for all others by adding them. "classifier": cross-entropy of a classifier that is
        trained without the feature.
    reference : list of names or positions
        The reference set (method "reference").
    classifier : {"rf", "knn", "svm", "logistic"} or scikit-learn estimator
        What to train (method "classifier"); "logistic" if None.
    cv : int, splitter or "train"
        How the cross-entropy is taken: out of fold, or on the training rows (method "classifier").
    n_neighbors : int or "auto"
        Neighbours that span a ball; "auto" is 3, and 10 for method "reference".
    metric : {"auto", "chebyshev", "manhattan", "euclidean"}
        Distance in the space of all features; with a continuous target it is always chebyshev. "auto" is chebyshev for
        continuous columns without missing values, otherwise manhattan, and euclidean for method "reference".
    clip : bool or "auto"
        Set negative values to 0; "auto" does so for method "ksg" only.
    normalize : {"auto", "minmax", None}
        Stretch the values to 0..1; "auto" does so for method "classifier" only.
    max_queries : int, optional
        Use that many random rows, all distinct, as centres of balls, and all rows as neighbours. None: all rows.
    random_state : int, optional
        Seed of the choice of rows; nothing else is random.
    return_std : bool
        Also return the standard error of every value, taken over the centres; NaN for method "classifier".
    scale, kinds, target_kind, missing, n_jobs
        As in `mutual_information`.
    progress : callable, optional
        Called as ``progress(done, total)``.
    verbose : bool
        Draw a progress bar on standard error.

    Returns
    -------
    values : ndarray of shape (n_features,)
        NaN for a column that is ignored.
    std : ndarray of shape (n_features,)
        Only if `return_std` is true.

    See Also
    --------
    relevance : What a feature tells by itself.
    conditional_relevance : What it tells when some others are known.

    Notes
    -----
    Leaving out a column changes few distances that matter, so all values together cost little more than one estimate
    of I(Omega; y). Given very many features the estimate itself is no longer credible: with hundreds of columns it can
    come out below the relevance of a single feature. A warning says so; method "reference" is the remedy. It is a
    different quantity: relevance beside a small set, not beside all features.

    References
    ----------
    .. [1] S. Liu, M. Motani (2022). Improving mutual information based feature selection by boosting unique relevance.
       arXiv:2212.06143.

    Examples
    --------
    A feature and its copy make each other superfluous, however relevant they are; a weak feature stands alone.

    >>> import numpy as np
    >>> from unirel import relevance, unique_relevance
    >>> rng = np.random.default_rng(0)
    >>> strong, weak = rng.standard_normal((2, 400))
    >>> X = np.column_stack([strong, strong, weak])
    >>> y = 2 * strong + weak > 0
    >>> relevance(X, y).round(2)
    array([0.36, 0.36, 0.1 ])
    >>> unique_relevance(X, y).round(2)
    array([0.  , 0.  , 0.29])
    """
    check_choice("method", method, METHODS)
    check_choice("normalize", normalize, ("auto", "minmax", None))
    if clip not in (True, False, "auto"):
        raise ValueError(f"clip={clip!r} is not one of True, False, 'auto'")
    if reference is not None and method != "reference":
        raise ValueError(f"reference= goes with method='reference', not with method={method!r}")
    table = Table.from_data(X, y, kinds=kinds, target_kind=target_kind, scale=scale, missing=missing)
    positions = None if reference is None else table.positions(reference)
    if progress is None and verbose:
        progress = ProgressBar("unique relevance")
    unique = unique_relevance_of(
        table,
        method,
        reference=positions,
        classifier=classifier,
        cv=cv,
        n_neighbors=n_neighbors,
        metric=metric,
        rows=_choose_rows(table.n_samples, max_queries, random_state),
        n_jobs=n_jobs,
        progress=progress,
    )
    values = np.maximum(unique.values, 0.0) if clip is True or (clip == "auto" and method == "ksg") else unique.values
    if normalize == "minmax" or (normalize == "auto" and method == "classifier"):
        values = stretch(values)
    return (values, unique.error) if return_std else values


def unique_relevance_of(
    table: Table,
    method: str,
    *,
    reference: Sequence[int] | None = None,
    classifier: Any = None,
    cv: Any = 5,
    n_neighbors: int | Literal["auto"] = "auto",
    metric: Metric = "auto",
    rows: NDArray[np.intp] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Unique:
    """Raw unique relevance of the features of a table: neither clipped nor normalised."""
    check_choice("method", method, METHODS)
    if method == "classifier":
        from unirel.classifier import losses_without_each  # scikit-learn is slow to import, and only this needs it

        losses = losses_without_each(
            table, "logistic" if classifier is None else classifier, cv=cv, n_jobs=n_jobs, progress=progress
        )
        return Unique(losses, np.full(table.n_features, np.nan))
    if method == "reference":
        if reference is None:
            raise ValueError("method='reference' needs reference=, a list of names or positions of columns of X")
        return _beside_reference(reference_information(table, n_neighbors, metric, n_jobs), reference, rows, progress)
    neighbors = 3 if n_neighbors == "auto" else n_neighbors
    return _beside_all(KNN(table, n_neighbors=neighbors, metric=metric, n_jobs=n_jobs), rows, progress)


def reference_information(table: Table, n_neighbors: int | Literal["auto"], metric: Metric, n_jobs: int | None) -> KNN:
    """The estimator of unique relevance beside a reference set, with its own meaning of "auto"."""
    neighbors = 10 if n_neighbors == "auto" else n_neighbors
    return KNN(table, n_neighbors=neighbors, metric="euclidean" if metric == "auto" else metric, n_jobs=n_jobs)


def stretch(values: Values) -> Values:
    """Min-max normalisation; values that are all equal become 0."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.asarray((values - low) / (high - low) if high > low else values - low)


def _beside_all(information: KNN, rows: NDArray[np.intp] | None, progress: Progress | None) -> Unique:
    features = information.table.features
    changes = information.without_each(features, rows, progress)
    _warn_of_zeros(information, -changes.change)
    _warn_of_incredible_joint(information, changes.before)
    return _collect(information.table, features, -changes.change, changes.error)


def _beside_reference(
    information: KNN, reference: Sequence[int], rows: NDArray[np.intp] | None, progress: Progress | None
) -> Unique:
    features = information.table.features
    members = np.array([feature for feature in dict.fromkeys(reference) if feature in features], np.intp)
    if len(members) == 0:
        raise ValueError(f"reference={list(reference)!r} names no usable column; name at least one")
    others = np.setdiff1d(features, members)
    within = information.without_each(members, rows)
    beside = information.with_each(members, others, rows, progress)
    order = np.concatenate([members, others])
    unique = np.concatenate([-within.change, beside.change])
    return _collect(information.table, order, unique, np.concatenate([within.error, beside.error]))


def _collect(table: Table, columns: NDArray[np.intp], values: Values, error: Values) -> Unique:
    """Spread values of some columns over all features."""
    unique = Unique(np.full(table.n_features, np.nan), np.full(table.n_features, np.nan))
    unique.values[columns], unique.error[columns] = values, error
    return unique


def _warn_of_zeros(information: KNN, values: Values) -> None:
    features = information.table.features
    if len(features) < 2 or (values > 0).any():
        return
    discrete = information.table.discrete[information.table.target]
    metric = information.metric_of(features) if discrete else "chebyshev"
    remedy = "metric='euclidean'" if discrete and metric != "euclidean" else "method='reference'"
    warnings.warn(
        f"unique relevance is 0 for all {len(features)} features: in metric={metric!r} none adds to the others. "
        f"Boosting it will do nothing; pass {remedy}.",
        UnirelWarning,
        stacklevel=5,
    )


def _warn_of_incredible_joint(information: KNN, joint: float) -> None:
    features = information.table.features
    relevance = information.relevance(features)
    best = int(np.argmax(relevance))
    if len(features) > 1 and joint < relevance[best]:
        name = information.table.names[features[best]]
        warnings.warn(
            f"what all {len(features)} features tell together is estimated as {joint:.3f} nats, less than {name!r} "
            f"tells alone ({relevance[best]:.3f}): not credible in so many dimensions with so few rows "
            f"({information.table.n_samples}). Pass method='reference' or fewer features.",
            UnirelWarning,
            stacklevel=5,
        )


def _choose_rows(n_samples: int, max_queries: int | None, random_state: int | None) -> NDArray[np.intp] | None:
    """Some random rows in ascending order; None for all of them."""
    if max_queries is None or check_whole_number("max_queries", max_queries, 2) >= n_samples:
        return None
    chosen = np.random.default_rng(random_state).choice(n_samples, max_queries, replace=False)
    return np.sort(chosen)
