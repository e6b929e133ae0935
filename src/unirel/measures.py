"""How much columns tell about a target: the public functions."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_whole_number, quietly
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.table import Table, open_table
from unirel.documents import name_classes, name_features
from unirel.estimation import intervals
from unirel.estimation.base import Information, make_information
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.several import for_each_target
from unirel.predictors import ClassifierLoss
from unirel.results import Estimate
from unirel.search.boost import Method, find_method, find_unique, intervals_of_unique, stretch

# A value for each feature: a Series of pandas if X is a frame of it, otherwise an array.
PerFeature = Any


def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    clip: bool = True,
    confidence_level: float | None = None,
    n_jobs: int | None = None,
) -> float | Estimate:
    """Mutual information of a block of columns and a target, I(X; y) or I(X; y | Z), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_columns)
        The columns, taken together as one block. A single column may be one-dimensional.
    y : array or series of shape (n_samples,), or array or frame of shape (n_samples, n_targets)
        The target: class labels of any type, or numbers. Several columns, of numbers, are taken together as one block.
    conditional_on : array or frame of shape (n_samples, n_conditions), optional
        The block Z to condition on.
    mi_estimator, discrete_features, target_type, clip, confidence_level, n_jobs
        As in `relevance`.

    Returns
    -------
    float
        With `confidence_level` an `Estimate` of value, low and high: from counts by a formula, else by 50 halves of
        the rows; refused where biased: levels by `Gaussian`, numbers by `Partition`, `KDE`, `MINE`, three by `KNN`.

    Notes
    -----
    For a discrete target the estimate is that of Ross (2014), for a continuous one that of Kraskov, Stögbauer and
    Grassberger (2004). Where distances tie, it is the mean over all ways to break the ties. Nothing is random.

    Examples
    --------
    Two fair coins tell nothing about their exclusive or, one by one, and everything together.

    >>> from unirel import mutual_information
    >>> coins = [[0, 0], [0, 1], [1, 0], [1, 1]] * 250
    >>> parity = [a ^ b for a, b in coins]
    >>> round(mutual_information([a for a, b in coins], parity), 2)
    0.0
    >>> round(mutual_information(coins, parity), 2)
    0.69
    """
    intervals.check_level(confidence_level)
    y, conditional_on, n_others = _split_target(y, conditional_on)
    table = open_table(X, y, discrete_features, target_type, conditional_on=conditional_on)[0]
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    given, others = np.split(table.given, [len(table.given) - n_others])
    features, target = table.features, [*others.tolist(), table.target]
    value = information.conditional(features, target, given)

    def finish(end: float) -> float:
        return information.bounded(end, features, target) if clip else end

    if confidence_level is None:
        return finish(value)
    blocks = [(features, target, given)]
    if information.counts([*features, *given, *target]):
        ends = intervals.interval_of_counts(information, blocks, confidence_level)
    else:
        columns = np.concatenate([features, table.given])
        places = np.split(np.arange(len(columns)), np.cumsum([len(features), len(given)]))

        def estimate(part: Table) -> NDArray[np.float64]:
            of_part = information.on(part)
            return np.array([of_part.conditional(places[0], [*places[2], part.target], places[1])])

        ends = intervals.interval_of_halves(information, blocks, columns, estimate, np.array([value]), confidence_level)
    return Estimate(finish(value), *(finish(float(end[0])) for end in ends))


def relevance(
    X: Any,
    y: Any,
    *,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    clip: bool = True,
    confidence_level: float | None = None,
    per_class: bool = False,
    n_jobs: int | None = None,
) -> PerFeature | Estimate:
    """Relevance of every column by itself, I(Xk; y), in nats.

    Parameters
    ----------
    X, y : array or frame of shape (n_samples, n_features), array or series of shape (n_samples,)
        The features, in any form that `BURSelector.fit` reads, and the target: class labels of any type, or numbers. Of
        several targets, of shape (n_samples, n_targets), each is a target of its own.
    mi_estimator : str or estimator of information
        "knn" (nearest neighbours), "plugin" (frequencies of discrete columns), "binned" (frequencies after binning),
        "gaussian", "partition", "kde", "mine", or an object such as ``KNN(n_neighbors=5)``. "auto" is "knn", and
        "binned" for a table in parts.
    discrete_features : "auto", bool, mask, list of names or positions, or mapping from columns to bool
        Which columns are discrete, as in scikit-learn; "auto" decides from their types and values, and so does a
        mapping for columns that it does not name.
    target_type : {"auto", "discrete", "continuous"}
        Whether the target is a class label; "auto" decides from its type and values.
    clip : bool
        Keep estimates between 0 and the entropy of a discrete target; False gives the raw value.
    confidence_level : float, optional
        Confidence level of intervals to give beside the estimates, such as 0.95; each is of one column, not of all.
    per_class : bool
        For every class what the column tells about it: I(Xk; whether y is that class). By "binned" all classes are
        counted in one pass, by other estimators each is a target of its own.
    n_jobs : int, optional
        Threads, as in scikit-learn: -1 for one for each core. The result does not depend on them.

    Returns
    -------
    ndarray of shape (n_features,), or pandas Series
        NaN for a column that is ignored. A Series with the names of the columns if `X` is a frame of pandas. With
        `confidence_level` an `Estimate` of value, low and high, as in `mutual_information`, which are arrays. With
        `per_class` of shape (n_features, n_classes), classes in sorted order; of a frame of pandas a frame. Likewise
        of several targets, of shape (n_features, n_targets).

    See Also
    --------
    mutual_information, conditional_relevance, unique_relevance, relevance_test

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import relevance
    >>> relevance(*load_iris(return_X_y=True)).round(2)
    array([0.5 , 0.25, 0.99, 0.99])
    >>> relevance(*load_iris(return_X_y=True, as_frame=True)).idxmax()
    'petal length (cm)'

    The petals tell the first of three species from the others, of which there are twice as many: that is all to know.

    >>> relevance(*load_iris(return_X_y=True), per_class=True).round(2)
    array([[0.41, 0.11, 0.24],
           [0.23, 0.11, 0.02],
           [0.64, 0.52, 0.52],
           [0.64, 0.52, 0.52]])
    """
    intervals.check_level(confidence_level)
    table = open_table(X, y, discrete_features, target_type, several=not per_class and confidence_level is None)[0]
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    if len(table.targets) > 1:
        each = [_relevance_of_target(one, clip) for one in for_each_target(information)]
        return name_classes(np.column_stack(each), X, [table.columns.names[target] for target in table.targets])
    if per_class:
        if confidence_level is not None:
            raise ValueError("confidence_level= and per_class=True do not go together; leave out one of them")
        return name_classes(relevance_per_class(table, information, X, clip), X, table.classes)
    values = information.relevance(table.features)

    def finish(ends: NDArray[np.float64]) -> NDArray[np.float64]:
        return table.one_per_feature(information.bounded_pairs(ends, table.features, table.target) if clip else ends)

    if confidence_level is None:
        return name_features(finish(values), X, "relevance")
    ends = intervals.intervals_of_relevance(information, values, confidence_level)
    return Estimate(finish(values), *map(finish, ends))


def conditional_relevance(
    X: Any,
    y: Any,
    given: Any,
    *,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    clip: bool = True,
    n_jobs: int | None = None,
) -> PerFeature:
    """Relevance of every column when others are known, I(Xk; y | given), in nats.

    Parameters
    ----------
    X, y, mi_estimator, discrete_features, target_type, clip, n_jobs
        As in `relevance`.
    given : name, position or list of them, or array or frame of shape (n_samples, n_conditions)
        What is known: a list names columns of `X`, an array or frame holds columns with the same rows.

    Returns
    -------
    ndarray of shape (n_features,), or pandas Series
        0 for a column that is among the given ones, NaN for one that is ignored. A Series as in `relevance`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import conditional_relevance
    >>> conditional_relevance(*load_iris(return_X_y=True), given=[2]).round(2)
    array([0.01, 0.  , 0.  , 0.04])
    """
    named = names_columns(given)
    table = open_table(X, y, discrete_features, target_type, conditional_on=None if named else given)[0]
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    known = known_columns(table, given) if named else table.given.tolist()
    values = np.zeros(len(table.features))
    for position, feature in enumerate(table.features):
        if feature not in known:
            values[position] = information.conditional([feature], [table.target], known)
    values = information.bounded_pairs(values, table.features, table.target) if clip else values
    return name_features(table.one_per_feature(values), X, "conditional_relevance")


def irrelevance(
    X: Any,
    y: Any,
    *,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    n_jobs: int | None = None,
) -> PerFeature:
    """What every column holds beside the target, H(Xk | y) = H(Xk) - I(Xk; y), in nats.

    Parameters
    ----------
    X, y, mi_estimator, discrete_features, target_type, n_jobs
        As in `relevance`.

    Returns
    -------
    ndarray of shape (n_features,), or pandas Series
        NaN for a column that is ignored. A Series as in `relevance`.

    Notes
    -----
    The entropy of a continuous column is differential (Kozachenko and Leonenko 1987), that of the standardised column
    with ``KNN(scale="standard")``, so that columns compare: it may be negative. With "binned" it is that of the bins.

    Examples
    --------
    >>> from unirel import irrelevance
    >>> coin, other = [0, 0, 1, 1] * 250, [0, 1, 0, 1] * 250
    >>> irrelevance([list(pair) for pair in zip(coin, other)], coin).round(2)
    array([0.  , 0.69])
    """
    table = open_table(X, y, discrete_features, target_type)[0]
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    entropies = np.array([information.entropy(feature) for feature in table.features])
    return name_features(table.one_per_feature(entropies - values), X, "irrelevance")


def unique_relevance(
    X: Any,
    y: Any,
    *,
    method: Method = "ksg",
    reference: Sequence[int | str] | None = None,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    clip: bool | Literal["auto"] = "auto",
    max_queries: int | None = None,
    return_std: bool = False,
    confidence_level: float | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> PerFeature | tuple[PerFeature, PerFeature] | Estimate:
    """Unique relevance of every feature, I(Omega; y) - I(Omega without Xk; y), in nats (Liu and Motani 2022).

    Parameters
    ----------
    X, y, discrete_features, target_type, n_jobs
        As in `relevance`.
    method : {"ksg", "reference", "gaussian", "classifier"}, KNN, Gaussian or ClassifierLoss
        "ksg" or a `KNN`: given all other features, by nearest neighbours. "reference", or a `KNN` with `reference`:
        given a small set of features, for its members without the member, for all others by adding them. "gaussian"
        or a `Gaussian`: given all other features, in closed form from the correlations of normal scores and
        categories, less what chance gives; for hundreds of features too, blind to what is not monotone. "classifier" or
        a `ClassifierLoss`: cross-entropy of a classifier that is trained without the feature, from 0 to 1 over the
        features.
    reference : list of names or positions
        The reference set.
    clip : bool or "auto"
        Set negative values to 0; "auto" does so for neighbours given all other features only.
    max_queries, random_state : int, optional
        Use that many random rows, all distinct, as centres of balls, and all rows as neighbours (None: all rows); and
        the seed of their choice, as nothing else is random.
    return_std : bool
        Also return the standard error of every value, taken over the centres; NaN for the methods that have none.
    confidence_level : float, optional
        Confidence level of intervals to give beside the values, such as 0.95, from 50 halves of the rows; by neighbours
        for classes, by "gaussian" for numbers as the target, and not for a classifier.

    Returns
    -------
    ndarray of shape (n_features,), or pandas Series, or two of them
        NaN for a column that is ignored. A Series as in `relevance`. With `return_std` the standard errors too; with
        `confidence_level` there is one `Estimate` of value, low and high instead, which are arrays.

    Notes
    -----
    Leaving out a column changes few distances that matter, so all values together cost little more than one estimate
    of I(Omega; y). Given very many features the estimate itself is no longer credible: with hundreds of columns it can
    come out below the relevance of a single feature. A warning says so. Remedies are "gaussian", if the relation is
    monotone, and "reference", which is a different quantity: relevance given a small set, not given all features.

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
    chosen = find_method(method)
    by_classifier = isinstance(chosen, ClassifierLoss)
    if clip not in (True, False, "auto"):
        raise ValueError(f"clip={clip!r} is not one of True, False, 'auto'")
    if reference is None and method == "reference":
        raise ValueError("method='reference' needs reference=, a list of names or positions of columns of X")
    if reference is not None and (method == "ksg" or not isinstance(chosen, KNN)):
        raise ValueError(f"reference= goes with method='reference' or a KNN, not with method={method!r}")
    intervals.check_level(confidence_level)
    if confidence_level is not None and (by_classifier or return_std):
        raise ValueError("confidence_level= goes with any method but a classifier's, without return_std=")
    table = open_table(X, y, discrete_features, target_type)[0]
    positions = None if reference is None else table.positions(reference)
    rows = None
    if max_queries is not None and check_whole_number("max_queries", max_queries, 2) < table.n_samples:
        rows = np.sort(np.random.default_rng(random_state).choice(table.n_samples, max_queries, replace=False))
    values, error = find_unique(table, chosen, positions, rows, n_jobs)
    clipped = clip is True or (clip == "auto" and isinstance(chosen, KNN) and reference is None)
    if confidence_level is not None:
        ends = intervals_of_unique(table, chosen, values, positions, confidence_level)
        return Estimate(*(np.maximum(end, 0.0) if clipped else end for end in (values, *ends)))
    values = np.maximum(values, 0.0) if clipped else stretch(values) if by_classifier else values
    named = name_features(values, X, "unique_relevance")
    return (named, name_features(error, X, "standard_error")) if return_std else named


def _relevance_of_target(information: Information, clip: bool) -> NDArray[np.float64]:
    table, values = information.table, information.relevance(information.table.features)
    return table.one_per_feature(information.bounded_pairs(values, table.features, table.target) if clip else values)


def relevance_per_class(table: Table, information: Information, X: Any, clip: bool = True) -> NDArray[np.float64]:
    """I(Xk; whether the target is this class) of every column of `X`, of which this is the table, and every class."""
    if table.classes is None:
        about = f"per_class=True needs class labels, but y is continuous ({table.columns[table.target].reason})"
        raise ValueError(f"{about}; pass target_type='discrete', or cut y into classes")

    def finish(estimator: Information, features: NDArray[np.intp]) -> NDArray[np.float64]:
        values = estimator.relevance(features)
        return estimator.bounded_pairs(values, features, estimator.table.target) if clip else values

    if len(table.classes) == 2:  # to be the one is not to be the other
        found = [finish(information, table.features)] * 2
    elif isinstance(information, Binned) and not information.looks_at_target:
        values = information.relevance_per_class(table.features)
        found = list((information.bounded_per_class(values, table.features) if clip else values).T)
    else:
        found = [finish(one, one.table.features) for one in _against_rest(table, information, X)]
    return np.column_stack([table.one_per_feature(one) for one in found])


def _against_rest(table: Table, information: Information, X: Any) -> Iterator[Information]:
    """The same estimator of tables whose target is whether it is one class, for each class."""
    codes, kinds = table.codes(table.target), table.decided_types(X)["discrete_features"]
    for own in range(len(table.class_sizes)):
        with quietly():  # of these columns everything has been said
            against = open_table(X, codes == own, kinds, "discrete")[0]
        yield information.on(against, n_jobs=information.n_jobs)


def _split_target(y: Any, conditional_on: Any) -> tuple[Any, Any, int]:
    """A target, what is given, and how many columns of the target were put behind it: of several all but the last."""
    shape: tuple[int, ...] = np.shape(y[:1]) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2:
        return y, conditional_on, 0
    given, columns = None if conditional_on is None else np.asarray(conditional_on), np.asarray(y)
    for name, numbers in (("y", columns), ("conditional_on", given)):
        if numbers is not None and numbers.dtype.kind not in "biuf":
            about = f"y has {shape[1]} columns, so {name} must hold numbers, not {numbers.dtype}"
            raise ValueError(f"{about}; code labels as numbers, or join those of y into one column")
    if n_missing := int(np.isnan(columns).sum()):
        raise ValueError(f"y has {n_missing} missing value{'s' * (n_missing > 1)} (NaN); drop those rows from X and y")
    if given is not None and len(given) != len(columns):
        about = f"y has {len(columns)} rows, conditional_on has {len(given)}"
        raise ValueError(f"{about}; they must describe the same samples")
    others = columns[:, :-1] if given is None else np.column_stack([given, columns[:, :-1]])
    return columns[:, -1], others, shape[1] - 1


def names_columns(given: Any) -> bool:
    """Whether `given` names columns of X: a name, a position, or a list of them. An array is a column itself."""
    listed = given if isinstance(given, list | tuple) else [given]
    return all(isinstance(one, str | int | np.integer) for one in listed)


def known_columns(table: Table, given: Any) -> list[int]:
    """Positions of the named columns, each once; ignored ones say nothing."""
    return [position for position in dict.fromkeys(table.positions(given)) if position in table.features]
