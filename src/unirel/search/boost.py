"""Unique relevance, what a feature tells about the target that others do not, and how a search is boosted by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import Parameters, call_apart, check_choice, check_whole_number, quietly, warn
from unirel.data.table import Table
from unirel.data.weights import sample_table
from unirel.estimation.base import Changes, Columns, Information, Values, find_estimator
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.intervals import interval_of_halves
from unirel.estimation.knn import KNN
from unirel.estimation.several import mean_share
from unirel.predictors import ClassifierLoss

if TYPE_CHECKING:
    from unirel.search.greedy import SearchSettings

Mask = NDArray[np.bool_]
_Method = KNN | Gaussian | ClassifierLoss
Method = str | _Method
# Features of the unboosted run that the reference kind is conditional on, and the neighbours it is estimated with.
REFERENCE_SIZE, _REFERENCE_NEIGHBORS = 20, 10
# Candidates that the stepwise kind looks at, those with the best score of the other terms; selected features it is
# conditional on at most; and its share where it stands beside the reference kind.
_ASKED, _MOST_SELECTED, _STEPWISE_SHARE = 50, 24, 0.4
# For a continuous target: weight of what candidates add by the Gaussian estimator, times that of unique relevance, and
# its ridge. Class labels gain nothing by it on average.
_GAUSSIAN_SHARE, _RIDGE = 0.6, 0.05


class Boost(Parameters):
    """Unique relevance by nearest neighbours, brought to the spread of the criterion at every step.

    Parameters
    ----------
    kind : {"both", "reference", "selected"}
        Given the first 20 features that the same criterion selects without boost, given those selected so far, or both
        of these, three parts to two; then for a continuous target also by the Gaussian estimator, with 30 % of all
        weight at ``beta=0.5``.
    max_samples : int, optional
        Rows it is estimated from: a seeded sample, by class, where there are more; None for all rows, whose cost grows
        with their square.
    """

    def __init__(self, kind: Literal["both", "reference", "selected"] = "both", max_samples: int | None = 2000) -> None:
        self.kind = kind
        self.max_samples = max_samples

    def check_parameters(self) -> None:
        check_choice("kind", self.kind, ("both", "reference", "selected"))
        if self.max_samples is not None:
            check_whole_number("max_samples", self.max_samples, 10)


def find_kind(settings: "SearchSettings") -> Any:
    """What `unique_relevance` asks for: a `Boost`, a `KNN`, a `ClassifierLoss` or values."""
    asked = settings.unique_relevance
    if isinstance(asked, Boost | KNN):
        asked.check_parameters()
    if not isinstance(asked, str):
        return asked
    check_choice("unique_relevance", asked, ("both", "reference", "selected", "ksg", "classifier"))
    if asked in ("ksg", "classifier"):
        return _neighbors(settings) if asked == "ksg" else ClassifierLoss()
    return Boost(asked)  # type: ignore[arg-type]


class Sample:
    """The columns and rows, as often as their weight says, that unique relevance is estimated from: a few of many."""

    def __init__(
        self,
        table: Table,
        columns: Columns,
        max_samples: int | None,
        settings: "SearchSettings",
        sample_weight: Values | None = None,
    ) -> None:
        self._positions = np.arange(len(table.columns))
        elsewhere = table.is_sparse or table.is_parted
        if elsewhere or sample_weight is not None or (max_samples is not None and max_samples < table.n_samples):
            rng = np.random.default_rng(settings.random_state)
            self._positions[columns] = np.arange(len(columns))
            table = sample_table(table, columns, max_samples, rng, sample_weight)
        self.credit, self._table = _credit(table), table
        self._gaussian: Gaussian | None = None
        self._added: dict[tuple[int, ...], dict[int, float]] = {}  # given which features, of which candidate
        # That classes are smaller than a ball is not for the user to mend: the credit is lowered instead.
        with quietly():
            self._information = _for_reference(_neighbors(settings)).on(table, n_jobs=settings.n_jobs)

    def added(self, selected: Columns, candidates: Columns) -> Values:
        """I(x, S; y) - I(S; y) of each candidate x; given many features that is noise, so S is the first of them."""
        first = np.sort(selected[:_MOST_SELECTED])
        known = self._added.setdefault(tuple(first.tolist()), {})
        asked = np.array([candidate for candidate in candidates.tolist() if candidate not in known], np.intp)
        if len(asked):
            changes = self._information.with_each(self._positions[first], self._positions[asked]).change
            known |= dict(zip(asked.tolist(), changes.tolist(), strict=True))
        return np.array([known[candidate] for candidate in candidates.tolist()])

    def conditional(self, block: Columns, candidates: Columns) -> Values:
        """I(candidate; y | block) of each candidate by the Gaussian estimator."""
        self._gaussian = self._gaussian or Gaussian(_RIDGE).on(self._table)
        return self._gaussian.conditional_relevance(self._positions[candidates], self._positions[block])

    def given_reference(self, members: Columns, others: Columns) -> Values:
        """Unique relevance of the members of a reference set, then of other columns given it."""
        return _given_reference(self._information, self._positions[members], self._positions[others]).change


def estimator_of(settings: "SearchSettings") -> Information:
    """The estimator of a search, where "auto" counts in bins."""
    return find_estimator(settings.mi_estimator, "binned")


def _neighbors(settings: "SearchSettings") -> KNN:
    """The neighbours of the settings, or those that go with other estimators."""
    estimator = estimator_of(settings)
    return estimator if isinstance(estimator, KNN) else KNN(correction=getattr(estimator, "correction", "chance"))


def _for_reference(neighbors: KNN) -> KNN:
    """The neighbours that go with a small reference set, in the metric and scale of some."""
    metric = "euclidean" if neighbors.metric == "auto" else neighbors.metric
    return KNN(_REFERENCE_NEIGHBORS, metric, neighbors.scale, neighbors.correction)


def _given_reference(information: KNN, members: Columns, others: Columns, rows: Columns | None = None) -> Changes:
    """Unique relevance of the members of a reference set given the others of it, then of other columns given it."""
    within = information.without_each(members, rows)
    if len(others) == 0:
        return within._replace(change=-within.change)
    added = information.with_each(members, others, rows)
    change, error = np.append(-within.change, added.change), np.append(within.error, added.error)
    return Changes(within.before, change, error)


def _credit(table: Table) -> float:
    """Which share of the neighbours asked for the rows have in their class: 1 unless there are small classes."""
    if table.classes is None:
        return 1.0
    sizes = table.class_sizes
    return float((sizes * np.minimum(1.0, (sizes - 1) / _REFERENCE_NEIGHBORS)).sum() / sizes.sum())


class MeanSample:
    """The samples of several targets, and means over them of what they tell, divided by the entropy of the target."""

    def __init__(self, each: Sequence[Sample], entropies: Values, gaussian: Sequence[float]) -> None:
        self._each, self._entropies, self._numbers = (
            each,
            entropies,
            [place for place, part in enumerate(gaussian) if part],
        )

    def added(self, selected: Columns, candidates: Columns) -> Values:
        return mean_share((one.added(selected, candidates) for one in self._each), self._entropies)

    def conditional(self, block: Columns, candidates: Columns) -> Values:
        """Of the targets that are numbers, the others have no part in it."""
        found = (self._each[place].conditional(block, candidates) for place in self._numbers)
        return mean_share(found, self._entropies[self._numbers])


@dataclass(frozen=True)
class Blend:
    """Unique relevance of every column of a table, ready to be blended with the score of a criterion."""

    values: Values  # NaN where a column is no candidate, or where none is known beforehand
    rescale: bool = False  # to the spread of the criterion at every step; the kinds of the paper are used as they are
    stepwise: Sample | MeanSample | None = None  # what is found anew at every step
    share: float = 0.0  # of that in the weight of unique relevance; the rest is that of the values
    credit: float = 1.0  # times the weight: below 1 where classes are too small for the neighbours asked for
    gaussian: float = 0.0  # which part of that the Gaussian estimator has: 1 for a number as target

    @classmethod
    def mean(cls, blends: Sequence["Blend"], entropies: Values) -> "Blend":
        """What is boosted for several targets: the mean of what is for each, divided by the entropy of the target."""
        values = mean_share((one.values for one in blends), entropies)
        samples, gaussian = [one.stepwise for one in blends], [one.gaussian for one in blends]
        known = [one for one in samples if isinstance(one, Sample)]
        stepwise = MeanSample(known, entropies, gaussian) if known else None
        credit = float(np.mean([one.credit for one in blends]))
        return cls(values, blends[0].rescale, stepwise, blends[0].share, credit, float(np.mean(gaussian)))

    def blend(
        self, scores: Values, candidates: Columns, selected: Columns, beta: float, allowed: Mask | None = None
    ) -> Values:
        """(1 - beta) J + beta UR of candidates, allowed ones first; minus infinity where they are too far behind."""
        blended = self.without_stepwise(scores, candidates, selected, beta)
        if self.stepwise is None or len(selected) == 0:
            return blended
        later = beta * self.credit * self.share
        if self.gaussian:
            weight = beta * _GAUSSIAN_SHARE * self.gaussian
            added = _to_spread_of(scores, self.stepwise.conditional(selected, candidates))
            blended, later = (1.0 - weight) * blended + weight * added, (1.0 - weight) * later
        order = np.lexsort([-blended] if allowed is None else [-blended, ~allowed])
        best = np.sort(order[:_ASKED])
        result = np.full(len(scores), -np.inf)
        result[best] = blended[best]
        result[best] += later * _to_spread_of(scores, self.stepwise.added(selected, candidates[best]))
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


def needs_reference(kind: Any) -> bool:
    """Whether an unboosted run comes first."""
    return isinstance(kind, Boost) and kind.kind != "selected"


def find_blend(
    table: Table,
    kind: Any,
    reference: Sequence[int] | None,
    columns: Columns,
    settings: "SearchSettings",
    sample_weight: Values | None = None,
) -> Blend:
    """What is boosted, for all columns that a search may ask about; `reference` are the first of the unboosted run."""
    if isinstance(kind, Boost):
        members = np.array([] if reference is None else reference, np.intp)
        sample = Sample(table, np.union1d(columns, members), kind.max_samples, settings, sample_weight)
        return _find_boost(table, kind, members, columns, sample)
    if isinstance(kind, KNN | ClassifierLoss) and sample_weight is not None:
        raise ValueError(f"sample_weight does not go with unique_relevance={kind!r}; pass 'both' or beta=0")
    if isinstance(kind, KNN):
        unique = np.maximum(find_unique(table, kind, n_jobs=settings.n_jobs)[0], 0.0)
    elif isinstance(kind, ClassifierLoss):
        # Training a classifier may take minutes, and looks neither at the clock nor for Ctrl-C.
        unique = stretch(call_apart(kind.losses, table, np.sort(columns), settings.n_jobs))
    else:
        unique = _given_values(table, kind, columns)
    return Blend(np.append(unique, np.full(len(table.columns) - table.n_features, np.nan)))


def _find_boost(table: Table, kind: Boost, members: Columns, columns: Columns, sample: Sample) -> Blend:
    values = np.full(len(table.columns), np.nan)
    if kind.kind == "selected":
        return Blend(values, True, sample, share=1.0, credit=sample.credit)
    others = np.setdiff1d(columns, members)
    values[np.concatenate([members, others])] = sample.given_reference(members, others)
    if kind.kind == "reference":
        return Blend(values, True, credit=sample.credit)
    return Blend(values, True, sample, _STEPWISE_SHARE, sample.credit, gaussian=float(table.classes is None))


def stretch(values: Values) -> Values:
    """Min-max normalisation; values that are all equal become 0."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.asarray((values - low) / (high - low) if high > low else values - low)


def _spread(values: Values) -> float:
    """Standard deviation; 0 for values that are equal but for rounding, which would be blown up otherwise."""
    close = 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))
    return float(np.std(values)) if np.ptp(values) > close else 0.0


def _given_values(table: Table, values: Any, columns: Columns) -> Values:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (table.n_features,):
        about = f"unique_relevance has shape {array.shape}, but there are {table.n_features} features"
        raise ValueError(f"{about}; pass one value each")
    if not np.isfinite(array[columns]).all():
        raise ValueError("unique_relevance has values that are not finite; replace NaN and infinity by numbers")
    return array


def find_method(method: Method) -> _Method:
    """A method as it is, or that of a name with its defaults."""
    if isinstance(method, KNN | Gaussian | ClassifierLoss):
        return method
    named: dict[str, _Method] = {"ksg": KNN(), "reference": _for_reference(KNN())}
    named |= {"classifier": ClassifierLoss(), "gaussian": Gaussian()}
    check_choice("method", method, named)
    return named[method]


def find_unique(
    table: Table,
    method: _Method,
    reference: Sequence[int] | None = None,
    rows: Columns | None = None,
    n_jobs: int | None = None,
) -> tuple[Values, Values]:
    """Raw unique relevance of every feature given a reference set or all other features, and its standard error."""
    # NaN for ignored features, and where the method has no error. `rows` are those that neighbours are looked for from.
    if isinstance(method, ClassifierLoss):
        return method.losses(table, n_jobs=n_jobs), np.full(table.n_features, np.nan)
    information, features = method.on(table, n_jobs=n_jobs), table.features
    if isinstance(information, Gaussian) or reference is None:
        changes = information.without_each(features, rows)
        if isinstance(information, KNN):
            _warn_of_doubts(information, changes)
        return table.one_per_feature(-changes.change), table.one_per_feature(changes.error)
    members = np.array([feature for feature in dict.fromkeys(reference) if feature in features], np.intp)
    if len(members) == 0:
        raise ValueError(f"reference={list(reference)!r} names no usable column; name at least one")
    others = np.setdiff1d(features, members)
    unique, columns = _given_reference(information, members, others, rows), np.append(members, others)
    return table.one_per_feature(unique.change, columns), table.one_per_feature(unique.error, columns)


def _warn_of_doubts(information: KNN, changes: Changes) -> None:
    """Say that no feature adds anything to the others, or that all features tell less than one of them."""
    table, features = information.table, information.table.features
    relevance = information.relevance(features)
    best = int(np.argmax(relevance))
    if len(features) < 2:
        return
    if (changes.change >= 0).all():
        metric = "chebyshev" if table.classes is None else information.metric_of(features)
        remedy = "method='reference'" if table.classes is None or metric == "euclidean" else "metric='euclidean'"
        about = f"unique relevance is 0 for all {len(features)} features: in metric={metric!r} none adds to the others."
        warn(f"{about} Boosting it will do nothing; pass {remedy}.")
    if changes.before < relevance[best]:
        warn(
            f"what all {len(features)} features tell together is estimated as {changes.before:.3f} nats, less than "
            f"{table.names[features[best]]!r} tells alone ({relevance[best]:.3f}): not credible in that many dimensions"
            f" with that few rows ({table.n_samples}). Pass method='reference' or fewer features."
        )


def intervals_of_unique(
    table: Table, method: Any, values: Values, reference: Sequence[int] | None, level: float
) -> tuple[Values, Values]:
    features = table.features
    members = None if reference is None else np.flatnonzero(np.isin(features, list(reference))).tolist()

    def estimate(part: Table) -> Values:
        with quietly():  # It has been said of all rows.
            return find_unique(part, method, members)[0]

    blocks = [([feature], [table.target], np.setdiff1d(features, feature).tolist()) for feature in features]
    low, high = interval_of_halves(method.on(table), blocks, features, estimate, values[features], level)
    return table.one_per_feature(low), table.one_per_feature(high)
