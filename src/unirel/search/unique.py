"""Unique relevance: what a feature tells about the target that the other features do not, and how it is boosted."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import Progress, call_apart, progress_of
from unirel.data.parts.opening import open_table
from unirel.data.sampling import sample_table
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.base import Columns, Information, Values
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.intervals import check_interval, interval_of_halves
from unirel.estimation.knn import KNN
from unirel.options import (
    BOOSTS,
    UNIQUE_METHODS,
    ClassifierOptions,
    Correction,
    Metric,
    ProgressOptions,
    ReadingOptions,
    SearchOptions,
    Shrinkage,
    ShrinkageOptions,
    WorkOptions,
    check_choice,
    check_whole_number,
    complete,
    documented,
    part_of,
)
from unirel.results import Estimate

Method = Literal["ksg", "reference", "classifier", "gaussian"]

# Features of the unboosted run beside which the reference kind is taken, and the neighbours it is taken with.
REFERENCE_SIZE = 20
_REFERENCE_NEIGHBORS = 10
# Candidates that the stepwise kind looks at, those with the best score of the other terms; features beside which it is
# taken at most; and its share where it stands beside the reference kind.
_ASKED, _MOST_SELECTED, _STEPWISE_SHARE = 50, 24, 0.4
# For a continuous target: weight of what candidates add by the Gaussian estimator, times that of unique relevance, and
# its ridge. Class labels gain nothing by it on average.
_GAUSSIAN_SHARE, _RIDGE = 0.6, 0.05


class UniqueOptions(ReadingOptions, ShrinkageOptions, ClassifierOptions, WorkOptions, ProgressOptions, total=False):
    """What `unique_relevance` shares with other functions."""


class Unique(NamedTuple):
    """Unique relevance of every feature, NaN for ignored ones."""

    values: Values
    error: Values  # standard errors, NaN where the method has none


@documented(UniqueOptions)
def unique_relevance(
    X: Any,
    y: Any,
    *,
    method: Method = "ksg",
    reference: Sequence[int | str] | None = None,
    n_neighbors: int | Literal["auto"] = "auto",
    metric: Metric = "auto",
    clip: bool | Literal["auto"] = "auto",
    normalize: Literal["auto", "minmax"] | None = "auto",
    max_queries: int | None = None,
    random_state: int | None = 0,
    return_std: bool = False,
    interval: float | None = None,
    **options: Unpack[UniqueOptions],
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]] | Estimate:
    """Unique relevance of every feature, I(Omega; y) - I(Omega without Xk; y), in nats.

    Parameters
    ----------
    {data}
    method : {"ksg", "reference", "classifier", "gaussian"}
        "ksg": given all other features, by nearest neighbours. "reference": given a small set of features, for its
        members without the member, for all others by adding them. "classifier": cross-entropy of a classifier that is
        trained without the feature. "gaussian": given all other features, in closed form from the correlations of
        normal scores and categories, less what chance gives; for hundreds of features too, blind to what is not
        monotone.
    reference : list of names or positions
        The reference set (method "reference").
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
        Also return the standard error of every value, taken over the centres; NaN for the methods that have none.
    interval : float, optional
        Level of intervals to give beside the values, such as 0.95, from 50 halves of the rows; not for "classifier".
    {options}

    Returns
    -------
    values : ndarray of shape (n_features,)
        NaN for a column that is ignored.
    std : ndarray of shape (n_features,)
        Only if `return_std` is true. With `interval` there is one `Estimate` of value, low and high instead.

    See Also
    --------
    relevance : What a feature tells by itself.
    conditional_relevance : What it tells when some others are known.

    Notes
    -----
    Leaving out a column changes few distances that matter, so all values together cost little more than one estimate
    of I(Omega; y). Given very many features the estimate itself is no longer credible: with hundreds of columns it can
    come out below the relevance of a single feature. A warning says so; method "gaussian" is one remedy, if what the
    features tell is monotone. Method "reference" is another. It is a different quantity: relevance beside a small set,
    not beside all features.

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
    check_choice("method", method, UNIQUE_METHODS)
    check_choice("normalize", normalize, ("auto", "minmax", None))
    if clip not in (True, False, "auto"):
        raise ValueError(f"clip={clip!r} is not one of True, False, 'auto'")
    if reference is not None and method != "reference":
        raise ValueError(f"reference= goes with method='reference', not with method={method!r}")
    check_interval(interval)
    if interval is not None and (method == "classifier" or return_std or normalize == "minmax"):
        raise ValueError("interval= goes with any method but 'classifier', without return_std= and normalize='minmax'")
    chosen = complete(UniqueOptions, options, "unique_relevance")
    reading = part_of(ReadingOptions, chosen)
    table = open_table(X, y, reading)[0] if method == "gaussian" else Table.from_data(X, y, **reading)
    of_classifier = chosen["classifier"], chosen["cv"]
    finder = UniqueFinder(
        table, method, n_neighbors, metric, *of_classifier, chosen["n_jobs"], shrinkage=chosen["shrinkage"]
    )
    positions = None if reference is None else table.positions(reference)
    rows = _choose_rows(table.n_samples, max_queries, random_state)
    unique = finder.find(positions, rows, progress_of(chosen, "unique relevance"))
    values = unique.values
    clipped = clip is True or (clip == "auto" and method == "ksg")
    if interval is not None:
        ends = _interval(finder, values, positions, interval)
        return Estimate(*(np.maximum(end, 0.0) if clipped else end for end in (values, *ends)))
    if clipped:
        values = np.maximum(values, 0.0)
    if normalize == "minmax" or (normalize == "auto" and method == "classifier"):
        values = stretch(values)
    return (values, unique.error) if return_std else values


def _interval(
    finder: "UniqueFinder", values: Values, reference: Sequence[int] | None, level: float
) -> tuple[Values, Values]:
    """Ends of intervals around unique relevance."""
    table, features = finder.table, finder.table.features
    members = None if reference is None else np.flatnonzero(np.isin(features, list(reference))).tolist()

    def estimate(part: Table) -> Values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnirelWarning)  # It has been said of all rows.
            return replace(finder, table=part, n_jobs=None).find(members).values

    low, high = interval_of_halves(table, features, estimate, values[features], level, None)
    return table.one_per_feature(low), table.one_per_feature(high)


@dataclass(frozen=True)
class UniqueFinder:
    """Finds raw unique relevance, neither clipped nor normalised, of the features of a table."""

    table: Table
    method: str
    n_neighbors: int | Literal["auto"] = "auto"
    metric: Metric = "auto"
    classifier: Any = None
    cv: Any = 5
    n_jobs: int | None = None
    shrinkage: Shrinkage = "auto"
    correction: Correction = "chance"

    def find(
        self, reference: Sequence[int] | None = None, rows: Columns | None = None, progress: Progress | None = None
    ) -> Unique:
        """Unique relevance by the method that was chosen, seen from some of the rows if that is possible."""
        if self.method == "classifier":
            return Unique(self.losses(progress=progress), np.full(self.table.n_features, np.nan))
        if self.method == "ksg":
            return _beside_all(self.information(), rows, progress)
        if self.method == "gaussian":
            changes = Gaussian(self.table, shrinkage=self.shrinkage, n_jobs=self.n_jobs).without_each(
                self.table.features
            )
            return _collect(self.table, self.table.features, -changes.change, changes.error)
        if reference is None:
            raise ValueError("method='reference' needs reference=, a list of names or positions of columns of X")
        features = self.table.features
        members = np.array([feature for feature in dict.fromkeys(reference) if feature in features], np.intp)
        if len(members) == 0:
            raise ValueError(f"reference={list(reference)!r} names no usable column; name at least one")
        others = np.setdiff1d(features, members)
        unique = _beside_reference(self.information(), members, others, rows, progress)
        return _collect(self.table, np.concatenate([members, others]), *unique)

    def losses(self, columns: Columns | None = None, progress: Progress | None = None) -> Values:
        """Losses of the classifier without each of some features, all if it is not said which."""
        # scikit-learn is slow to import, and only this needs it.
        from unirel.predictors import ClassifierLoss

        loss = ClassifierLoss("logistic" if self.classifier is None else self.classifier, self.cv)
        return loss.losses(self.table, columns, self.n_jobs, progress)

    def information(self) -> KNN:
        """The estimator, with what "auto" means to the method."""
        n_neighbors, metric = self.n_neighbors, self.metric
        if n_neighbors == "auto":
            n_neighbors = _REFERENCE_NEIGHBORS if self.method == "reference" else 3
        if metric == "auto" and self.method == "reference":
            metric = "euclidean"
        return KNN(self.table, n_neighbors=n_neighbors, metric=metric, n_jobs=self.n_jobs, correction=self.correction)


def stretch(values: Values) -> Values:
    """Min-max normalisation; values that are all equal become 0."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.asarray((values - low) / (high - low) if high > low else values - low)


class Sample:
    """The columns and rows that unique relevance is estimated from: of a large table a few, in a table of their own.

    Parameters
    ----------
    table : Table
        What is searched.
    columns : ndarray of int
        Columns that may be asked about.
    options : SearchOptions
        How many rows at most, their seed, and how distances are measured.
    sample_weight : ndarray, optional
        How many rows each row stands for: it is there that often.
    """

    def __init__(
        self, table: Table, columns: Columns, options: SearchOptions, sample_weight: Values | None = None
    ) -> None:
        most, self._positions = options["unique_samples"], np.arange(len(table.columns))
        elsewhere = table.is_sparse or table.is_parted
        if elsewhere or sample_weight is not None or (most is not None and most < table.n_samples):
            rng = np.random.default_rng(options["random_state"])
            self._positions[columns] = np.arange(len(columns))
            table = sample_table(table, columns, most, rng, sample_weight)
        self.credit, self._table = _credit(table), table
        finder = UniqueFinder(
            table, "reference", metric=options["metric"], n_jobs=options["n_jobs"], correction=options["correction"]
        )
        with warnings.catch_warnings():
            # That classes are smaller than a ball is not for the user to mend: the credit is lowered instead.
            warnings.simplefilter("ignore", UnirelWarning)
            self._information = finder.information()

    def beside(self, block: Columns, candidates: Columns) -> Values:
        """I(block and candidate; y) - I(block; y) of each candidate."""
        return self._information.with_each(self._positions[block], self._positions[candidates]).change

    def given(self, block: Columns, candidates: Columns) -> Values:
        """I(candidate; y | block) of each candidate by the Gaussian estimator."""
        return self._gaussian.conditional_relevance(self._positions[candidates], self._positions[block])

    @cached_property
    def _gaussian(self) -> Gaussian:
        return Gaussian(self._table, shrinkage=_RIDGE)

    def within_and_beside(self, members: Columns, others: Columns) -> Values:
        """Unique relevance of the members of a reference set, then of other columns beside it."""
        return _beside_reference(self._information, self._positions[members], self._positions[others]).values


def _credit(table: Table) -> float:
    """Which share of the neighbours asked for the rows have in their class: 1 unless there are small classes."""
    if table.classes is None:
        return 1.0
    sizes = table.class_sizes
    return float((sizes * np.minimum(1.0, (sizes - 1) / _REFERENCE_NEIGHBORS)).sum() / sizes.sum())


class Stepwise:
    """Unique relevance beside the features that are selected: I(x, S; y) - I(S; y).

    Beside many features it is noise, so from then on it is taken beside the first of them.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._known: dict[tuple[int, ...], dict[int, float]] = {}  # beside which features, of which candidate

    def beside(self, selected: Columns, candidates: Columns) -> Values:
        """What each candidate adds to the selected features, in whatever order they were selected."""
        first = np.sort(selected[:_MOST_SELECTED])
        known = self._known.setdefault(tuple(first.tolist()), {})
        asked = np.array([candidate for candidate in candidates.tolist() if candidate not in known], np.intp)
        if len(asked):
            known |= dict(zip(asked.tolist(), self._sample.beside(first, asked).tolist(), strict=True))
        return np.array([known[candidate] for candidate in candidates.tolist()])


@dataclass(frozen=True)
class Boost:
    """Unique relevance of every column of a table, ready to be blended with the score of a criterion."""

    values: Values  # NaN where a column is no candidate, or where none is known beforehand
    rescale: bool = False  # to the spread of the criterion at every step; the kinds of the paper are used as they are
    stepwise: Stepwise | None = None  # what is found anew at every step
    share: float = 0.0  # of that in the weight of unique relevance; the rest is that of the values
    credit: float = 1.0  # times the weight: below 1 where classes are too small for the neighbours asked for
    gaussian: Sample | None = None  # what candidates add to the selected features by the Gaussian estimator

    def blend(
        self,
        scores: Values,
        candidates: Columns,
        selected: Columns,
        beta: float,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Values:
        """(1 - beta) J + beta UR of the candidates; minus infinity for those that are too far behind to ask about.

        Candidates that are allowed to win are asked about before others.
        """
        blended = self.without_stepwise(scores, candidates, selected, beta)
        if self.stepwise is None or len(selected) == 0:
            return blended
        later = beta * self.credit * self.share
        if self.gaussian is not None:
            weight = beta * _GAUSSIAN_SHARE
            added = _to_spread_of(scores, self.gaussian.given(selected, candidates))
            blended, later = (1.0 - weight) * blended + weight * added, (1.0 - weight) * later
        order = np.lexsort([-blended] if allowed is None else [-blended, ~allowed])
        best = np.sort(order[:_ASKED])
        result = np.full(len(scores), -np.inf)
        result[best] = blended[best]
        result[best] += later * _to_spread_of(scores, self.stepwise.beside(selected, candidates[best]))
        return result

    def without_stepwise(self, scores: Values, candidates: Columns, selected: Columns, beta: float) -> Values:
        """What `blend` makes of the scores before it looks beside the selected features."""
        if not self.rescale:
            return (1.0 - beta) * scores + beta * self.values[candidates]
        beta *= self.credit
        # Beside nothing, what a feature adds is its relevance, which is the score.
        later = beta * self.share
        blended = (1.0 - beta if len(selected) else 1.0 - beta + later) * scores
        if self.share < 1:
            blended += (beta - later) * _to_spread_of(scores, self.values[candidates])
        return blended


def _to_spread_of(scores: Values, unique: Values) -> Values:
    """Unique relevance in such units that it spreads as the scores do; as it is where one of them does not spread."""
    spread, own_spread = _spread(scores), _spread(unique)
    return unique * (spread / own_spread if spread > 0 and own_spread > 0 else 1.0)


def needs_reference(unique: Any) -> bool:
    """Whether this kind of unique relevance takes an unboosted run first."""
    return isinstance(unique, str) and unique in ("reference", "both")


def find_boost(
    table: Table,
    unique: Any,
    reference: Sequence[int] | None,
    columns: Columns,
    options: SearchOptions,
    sample_weight: Values | None = None,
) -> Boost:
    """Find what is boosted, for all columns that a search may ask about.

    `unique` is a kind or values, `reference` the first features of the unboosted run if the kind needs them. The kinds
    of the paper take the neighbours of the options, the others have their own number.
    """
    if not isinstance(unique, str):
        return Boost(_for_all_columns(table, _given_values(table, unique, columns)))
    check_choice("unique_relevance", unique, BOOSTS)
    if unique in ("ksg", "classifier"):
        if sample_weight is not None:
            raise ValueError(f"sample_weight does not go with unique_relevance={unique!r}; pass 'both' or beta=0")
        given = (options["n_neighbors"], options["metric"], options["classifier"], options["cv"], options["n_jobs"])
        finder = UniqueFinder(table, unique, *given, correction=options["correction"])
        if unique == "ksg":
            return Boost(_for_all_columns(table, np.maximum(finder.find().values, 0.0)))
        # Training a classifier may take minutes, and looks neither at the clock nor for Ctrl-C.
        return Boost(_for_all_columns(table, stretch(call_apart(finder.losses, np.sort(columns)))))
    members = np.array([] if reference is None else list(reference), np.intp)
    sample = Sample(table, np.union1d(columns, members), options, sample_weight)
    stepwise = None if unique == "reference" else Stepwise(sample)
    values = np.full(len(table.columns), np.nan)
    if reference is None:
        return Boost(values, True, stepwise, share=1.0, credit=sample.credit)
    others = np.setdiff1d(columns, members)
    values[np.concatenate([members, others])] = sample.within_and_beside(members, others)
    if stepwise is None:
        return Boost(values, True, credit=sample.credit)
    return Boost(values, True, stepwise, _STEPWISE_SHARE, sample.credit, sample if table.classes is None else None)


def _spread(values: Values) -> float:
    """Standard deviation; 0 for values that are equal but for rounding, which would be blown up otherwise."""
    close = 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))
    return float(np.std(values)) if np.ptp(values) > close else 0.0


def _given_values(table: Table, values: Any, columns: Columns) -> Values:
    """Values by the user, which must be known for the columns that are searched."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (table.n_features,):
        raise ValueError(
            f"unique_relevance has shape {array.shape}, but there are {table.n_features} features; pass one value each"
        )
    if not np.isfinite(array[columns]).all():
        raise ValueError("unique_relevance has values that are not finite; replace NaN and infinity by numbers")
    return array


def _for_all_columns(table: Table, values: Values) -> Values:
    """Values of the features, and NaN for other columns."""
    result = np.full(len(table.columns), np.nan)
    result[: table.n_features] = values
    return result


def _beside_all(information: KNN, rows: Columns | None, progress: Progress | None) -> Unique:
    features = information.table.features
    changes = information.without_each(features, rows, progress)
    _warn_of_zeros(information, -changes.change)
    _warn_of_incredible_joint(information, changes.before)
    return _collect(information.table, features, -changes.change, changes.error)


def _beside_reference(
    information: KNN,
    members: Columns,
    others: Columns,
    rows: Columns | None = None,
    progress: Progress | None = None,
) -> Unique:
    """Of the members of the reference, then of other columns."""
    within = information.without_each(members, rows)
    if len(others) == 0:
        return Unique(-within.change, within.error)
    beside = information.with_each(members, others, rows, progress)
    return Unique(np.concatenate([-within.change, beside.change]), np.concatenate([within.error, beside.error]))


def unique_in_metric(information: Information) -> Values:
    """Raw unique relevance by an estimator with one metric for any block; 0 for constant features, NaN for ignored."""
    table = information.table
    unique = table.one_per_feature(0.0)
    varying = np.array([feature for feature in table.features if varies(table, feature)], np.intp)
    if len(varying):
        whole = information.subsets(varying[:0], varying, np.arange(len(varying))[None])[0]
        unique[varying] = whole - without_each_of(information, varying[:0], varying)
    return unique


def without_each_of(information: Information, always: Columns, columns: Columns) -> Values:
    """I(always and columns; target) without each of the columns, none of which is constant."""
    block = np.concatenate([always, columns])
    if len(block) >= 3:
        changes = information.without_each(block)
        return np.asarray(changes.before + changes.change[len(always) :])
    # Of fewer, a single discrete column may be left, which would be counted; subsets never are.
    positions = np.arange(len(columns))
    rests = np.array([np.delete(positions, position) for position in positions], np.intp)
    return information.subsets(always, columns, rests.reshape(len(columns), -1))


def varies(table: Table, column: int) -> bool:
    """Whether a column has two different values."""
    return bool(table.values[column].min() < table.values[column].max())


def _collect(table: Table, columns: Columns, values: Values, error: Values) -> Unique:
    """Spread values of some columns over all features."""
    return Unique(table.one_per_feature(values, columns), table.one_per_feature(error, columns))


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
            f"tells alone ({relevance[best]:.3f}): not credible in that many dimensions with that few rows "
            f"({information.table.n_samples}). Pass method='reference' or fewer features.",
            UnirelWarning,
            stacklevel=5,
        )


def _choose_rows(n_samples: int, max_queries: int | None, random_state: int | None) -> Columns | None:
    """Some random rows in ascending order; None for all of them."""
    if max_queries is None or check_whole_number("max_queries", max_queries, 2) >= n_samples:
        return None
    chosen = np.random.default_rng(random_state).choice(n_samples, max_queries, replace=False)
    return np.sort(chosen)
