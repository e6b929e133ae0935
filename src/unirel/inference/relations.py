"""How selected features relate: to each other, to the target together, and to the features that were not selected."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from unirel._runtime import quietly
from unirel.data.table import Table
from unirel.data.weights import sample_table
from unirel.estimation.base import Columns, Information, Values, entropy_of
from unirel.estimation.binned import Binned
from unirel.estimation.counting import few_bins
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.intervals import ends_of_interval
from unirel.estimation.knn import KNN
from unirel.inference.likeness import REDUNDANT, ROWS_PER_LEVEL, Likeness, Relation, compare, group_alike
from unirel.inference.likeness import order_by_similarity as order_by_similarity
from unirel.inference.tests import permutation_test
from unirel.results import RelevanceTest, Selection, plain

Partners = Mapping[int, tuple[int, float, str]]

# What is said around an answer must not take longer than the answer: of more rows a seeded sample is taken, by class,
# and the first of the selected and the most relevant of the other features are compared. A closed form takes more rows.
_MOST_ROWS, _MOST_SELECTED, _MOST_OTHERS, _MOST_EXPLAINED, _MOST_IN_CLOSED_FORM = 2000, 40, 30, 10, 20_000
# Squared rows times columns, summed over the sizes of a curve, up to which it takes seconds.
_JOINT_WORK = 5e9
# The chance that any feature that adds nothing given the others is said to add something; intervals have as much.
_ALPHA = 0.05
# A feature less than this share of whose relevance the Gaussian estimator sees is not judged by it; and what relevance
# may be by chance, in nats times rows.
_SEEN, _NOISE = 0.5, 8.0
# Values of samples scatter about this much more than rows whose neighbours are others' neighbours too seem to say
# (1.0 to 1.5 times in samples of 3 to 10 columns); intervals of halves, which know that, take much longer.
_SHARED = 1.25
_LEAST = 1e-4  # nats that anything has that is seen to add something
# Enough where a tenth of the features is relevant; where fewer are, there are more.
_PERMUTATIONS = 200


class Given(NamedTuple):
    """I(x; target | the other selected features) of each selected feature, in nats, with an interval of 95 %.

    By the Gaussian estimator in closed form; about class labels by neighbours, where these see it. NaN where neither
    can tell.
    """

    value: Values
    low: Values
    high: Values
    detectable: NDArray[np.bool_]  # beyond what any of all features would have by chance

    def of(self, place: int) -> dict[str, Any] | None:
        """Of one feature, or None where it is not known."""
        if place >= len(self.value) or np.isnan(self.value[place]):
            return None
        ends = {name: float(max(0.0, getattr(self, name)[place])) for name in ("value", "low", "high")}
        return {**ends, "detectable": bool(self.detectable[place])}


_NOT_ESTIMATED = Given(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, bool))


@dataclass(frozen=True, eq=False)
class RedundantGroup:
    """Selected features every two of which are nearly the same, and others like them that were not selected."""

    members: tuple[int, ...]  # positions in the order of selection, first selected first
    best: int  # the most relevant of them
    least: float  # the similarity of the two members that are least similar
    measure: str  # what similarity is: "rank correlation" of numbers, "normalised MI" otherwise
    others: tuple[tuple[str, float], ...]  # features that were not selected, and how similar one member is at most
    # Information of all selected features about the target, and of those without the members that are not the best;
    # NaN where that was not estimated. And the least p-value of one of these given those that stay.
    together: float = np.nan
    without: float = np.nan
    p_value: float = np.nan


@dataclass(frozen=True, eq=False)
class Analysis:
    """How the first features of a selection relate to each other, to other features and to the target.

    Notes
    -----
    How alike two features are is the absolute rank correlation of two continuous ones. Otherwise it is information,
    counted in bins, corrected for chance and normalised by the larger of the two entropies: 1 means that each
    determines the other.

    Joint information about class labels is that of nearest neighbours, about a continuous target that of the Gaussian
    estimator.
    """

    names: tuple[str, ...] = ()  #: The selected features, first selected first.
    #: How alike every two of the first features are, from 0 to 1: rank correlation, or normalised information.
    shared: Values = field(default_factory=lambda: np.zeros((0, 0)))
    #: I(first n features; target) for n = 1, 2, ...; NaN where it was not estimated, because it would take long.
    joint_information: Values = field(default_factory=lambda: np.zeros(0))
    entropy: float | None = None  #: Entropy of the target, which bounds information about it; None for numbers.
    groups: tuple[RedundantGroup, ...] = ()  #: Features that are nearly the same, largest group first.
    #: For features that were not selected but compared: the position in the order of selection of the most similar
    #: selected one, how similar it is, and by which measure.
    partners: Partners = field(default_factory=dict)
    #: Share of the target's entropy that a feature determines; for numbers of the variance of its normal scores.
    explained: Mapping[int, float] = field(default_factory=dict)
    numbered: tuple[int, ...] = ()  #: Selected features whose values are whole numbers, all different.
    #: Information of each feature up to the last supported step, or of all if that is not known, given the others.
    given: Given = _NOT_ESTIMATED

    def of_shares(self) -> "Analysis":
        """What holds for several targets as well: how features relate to each other. Shares have a sum of 1."""
        groups = tuple(replace(one, together=np.nan, without=np.nan, p_value=np.nan) for one in self.groups)
        return Analysis(
            self.names, self.shared, entropy=1.0, groups=groups, partners=self.partners, numbered=self.numbered
        )

    @property
    def curve(self) -> Values:
        """I(first n features; target) as far as all smaller numbers of features are known too."""
        return self.joint_information[np.logical_and.accumulate(np.isfinite(self.joint_information))]

    def most_similar(self, position: int) -> list[tuple[str, float]]:
        """The three selected features that share most with the one at a position of the selection, and how much."""
        if position >= len(self.shared):
            return []
        others = [other for other in np.argsort(-self.shared[position], kind="stable").tolist() if other != position]
        return [(self.names[other], float(self.shared[position, other])) for other in others[:3]]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        return {name: plain(getattr(self, name)) for name in ("names", "shared", "joint_information", "entropy")}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Information of one feature about the target, alone and given others, and which of them it could replace."""

    name: str
    relevance: float
    rank: int  # among all features by relevance, from 1 on
    step: int | None  # in which it was selected, from 1 on
    names: tuple[str, ...]  # the other selected features, first selected first
    shared: Values  # how alike it is to each of them: rank correlation, or normalised information
    measures: tuple[str, ...]  # which of these
    relations: tuple[Relation, ...]  # what can be said of it and each of them
    together: Values  # information of it and each of them about the target
    alone: float  # information of the others about the target
    with_all: float  # and with it
    instead: Values  # and with it instead of each of them
    given: dict[str, Any] | None  # what it adds to the others, by the better of two estimates; None if neither can tell
    entropy: float | None  # of the target; None for a continuous one

    def to_dict(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "name": self.names,
            "shared": self.shared,
            "together": self.together,
            "instead": self.instead,
        }
        columns["relation"] = [str(one) for one in self.relations]
        rows = zip(*(plain(values) for values in columns.values()), strict=True)
        numbers = ("name", "relevance", "rank", "step", "alone", "with_all", "given", "entropy")
        return {
            **{key: getattr(self, key) for key in numbers},
            "beside": [{"step": n, **dict(zip(columns, row, strict=True))} for n, row in enumerate(rows, start=1)],
        }


def analyse(table: Table, selection: Selection, *, curve: bool = True, sample_weight: Any = None) -> Analysis:
    """Compare the selected features of a table, as many of the first as can be done in seconds."""
    if table.n_targets > 1:
        one = table.each_target()[0]
        one.n_targets = 1
        return analyse(one, selection, curve=False, sample_weight=sample_weight).of_shares()
    # For a `curve` the joint information of the first n is estimated for every n, otherwise for what is spoken of.
    entropy = entropy_of(table.class_sizes) if table.discrete[table.target] else None
    if len(selection) == 0:
        return Analysis(entropy=entropy)
    others = np.setdiff1d(table.features, np.append(selection.order, selection.following))
    others = others[np.argsort(-_known(selection.relevance[others]), kind="stable")]
    others = np.append(selection.following, others)[:_MOST_OTHERS].astype(np.intp)
    few = _take(table, np.concatenate([selection.order, others]), sample_weight)
    selected, judged = np.arange(len(selection)), np.arange(len(selection), len(selection) + len(others))
    compared = selected[:_MOST_SELECTED]
    alike = compare(few, np.concatenate([compared, judged]), compared)
    partners = {}
    for row, other in enumerate(others.tolist(), start=len(compared)):
        place = int(np.argmax(alike.shared[row]))
        partners[other] = place, float(alike.shared[row, place]), alike.measure(row, place)
    accompanied = {place for place, value, _ in partners.values() if value >= REDUNDANT}
    between = np.maximum(alike.shared[: len(compared)], alike.shared[: len(compared)].T)
    np.fill_diagonal(between, 1.0)
    joint = _Joint(few, selected)
    groups = [
        _describe(members, alike, few, selection, partners, joint if len(compared) == len(selected) else None)
        for members in group_alike(between, accompanied)
    ]
    explained = dict(zip([*selection.order.tolist(), *others.tolist()], _explained(few).tolist(), strict=True))
    numbered = tuple(feature for feature in selection.order.tolist() if _numbers_rows(table, feature))
    last = selection.n_supported or len(selection)
    sizes = range(1, len(selection) + 1) if curve else (last, -(-last // 2))  # which shows whether it falls
    first = selected[:last]
    given = _NOT_ESTIMATED
    if len(first) <= _MOST_SELECTED:
        kept = replace(selection, order=selection.order[: len(first)])
        given = _given_others(table, kept, _Joint(few, first), sample_weight)
    found = between, joint.nested(sizes), entropy, tuple(groups), partners, explained, numbered, given
    return Analysis(tuple(selection.selected_names), *found)


def explain(table: Table, selection: Selection, feature: int) -> Explanation:
    """Information of one feature, given the first ten selected ones, and which of them it could replace."""
    order = selection.order.tolist()
    others = np.array([other for other in order if other != feature][:_MOST_EXPLAINED], np.intp)
    few = _take(table, np.append(others, feature))
    places, own = np.arange(len(others)), len(others)
    joint, alike = _Joint(few, np.arange(own + 1)), compare(few, np.array([own]), places, batches=True)
    chosen = np.append(others, feature)
    given = _given_others(table, replace(selection, order=chosen), joint, selection.sample_weight)
    return Explanation(
        name=table.names[feature],
        relevance=float(np.nan_to_num(selection.relevance[feature], nan=joint([own]))),
        rank=1 + int((_known(selection.relevance) > selection.relevance[feature]).sum()),
        step=order.index(feature) + 1 if feature in order else None,
        names=tuple(table.names[other] for other in others),
        shared=alike.shared[0],
        measures=tuple(alike.measure(0, place) for place in places.tolist()),
        relations=tuple(alike.relation(0, place) for place in places.tolist()),
        together=np.array([joint([place, own]) for place in places.tolist()]),
        alone=joint(places),
        with_all=joint([*places, own]),
        instead=np.array([joint([*np.delete(places, place), own]) for place in places.tolist()]),
        given=given.of(own),
        entropy=entropy_of(table.class_sizes) if table.discrete[table.target] else None,
    )


def _take(table: Table, columns: Columns, sample_weight: Any = None, most: int = _MOST_ROWS) -> Table:
    """Some columns of a few rows of a table, each row as often as its weight says."""
    return sample_table(table, columns, most, np.random.default_rng(0), sample_weight)


def _known(relevance: Values) -> Values:
    """Relevance, below all others where it is not known."""
    return np.nan_to_num(relevance, nan=-1.0)


class _Joint:
    """I(block; target) of blocks of columns, by kernels that a search has compiled, or in closed form.

    By neighbours in one metric for class labels: counted, a few discrete columns identify every row and seem to
    determine the target.
    """

    def __init__(self, table: Table, columns: Columns) -> None:
        self._table, self._columns, self._target = table, columns, [table.target]
        self._information: Information | None = None
        if not table.discrete[table.target]:
            self._information = Gaussian().on(table)
        elif table.class_sizes.max() > 1:
            with quietly():  # about small classes, which the selection has warned of
                self._information = KNN().on(table).in_metric_of(columns)

    def __call__(self, block: Sequence[int] | Columns) -> float:
        information = self._information
        if information is None or len(block) == 0:
            return np.nan if len(block) else 0.0
        if isinstance(information, Gaussian):
            return max(0.0, information.mutual_information(block, self._target))
        value = information.with_each(block, np.asarray(block, np.intp)[:1]).before
        return information.bounded(value, block, self._target)

    def nested(self, sizes: Sequence[int]) -> Values:
        """Of the first columns for some numbers of them, of all first; NaN for others and where it would take long."""
        values, work = np.full(len(self._columns), np.nan), 0.0
        for size in dict.fromkeys([len(self._columns), *sizes]):
            work += size * float(self._table.n_samples) ** 2
            if work <= _JOINT_WORK:
                values[size - 1] = self(self._columns[:size])
        return values

    def lost_without_each(self) -> tuple[Values, Values] | None:
        """What neighbours of all columns lose without each of them, and the standard errors; None for numbers."""
        information, columns = self._information, self._columns
        if not isinstance(information, KNN) or len(columns) < 2:
            return None
        if len(columns) > 2:
            changes = information.without_each(columns)
            return -changes.change, changes.error
        pair = [information.with_each([other], [own]) for own, other in (columns, columns[::-1])]
        return np.concatenate([one.change for one in pair]), np.concatenate([one.error for one in pair])


def _given_others(table: Table, selection: Selection, joint: _Joint, sample_weight: Any) -> Given:
    """What every selected feature tells given the others."""
    few = _take(table, selection.order, sample_weight, _MOST_IN_CLOSED_FORM)
    columns, gaussian = np.arange(len(selection)), Gaussian(0.0).on(few)
    alpha = _ALPHA / max(1, len(table.features))
    found = _beyond_chance(*gaussian.unique_with_chance(columns), alpha)
    relevance = _known(selection.relevance[selection.order]) - _NOISE / table.n_samples
    seen = gaussian.relevance(columns) >= _SEEN * relevance
    found.value[~seen & ~found.detectable] = np.nan
    if (lost := joint.lost_without_each()) is None:
        return found
    width, strictly = (NormalDist().inv_cdf(1 - chance / 2) for chance in (_ALPHA, alpha))
    value, error = lost[0], np.nan_to_num(lost[1], nan=np.inf)
    most = np.minimum(found.value, np.maximum(value + width * error, _LEAST))
    seen, reach = value - strictly * error > 0, _SHARED * width * error
    high = np.minimum(np.maximum(value + reach, _LEAST), np.where(np.isinf(error), found.high, np.inf))
    low = np.maximum(value - reach, 0.0)
    # A line through class labels shows that a feature adds something, but by far too much of it: the value is taken
    # half way to what neighbours let it be at most.
    value = np.where(seen, value, np.where(np.isinf(error), most, (np.maximum(value, 0.0) + most) / 2))
    share = np.divide(value, found.value, out=np.zeros(len(value)), where=found.value > 0)
    low = np.where(seen, low, np.fmax(low, share * found.low))  # what neighbours see has their interval
    return Given(value, np.fmin(low, value), high, seen | found.detectable)


def _beyond_chance(values: Values, mean: Values, variance: Values, alpha: float) -> Given:
    """Information less what noise has, and what of it is no chance."""
    slope = np.divide(2 * variance, mean, out=np.zeros(len(mean)), where=mean > 0)  # that of chi-square
    low, high = ends_of_interval(values - mean, slope, variance, 1 - _ALPHA)
    return Given(np.maximum(values - mean, 0.0), low, high, _p_values(values, mean, variance) <= alpha)


def _p_values(values: Values, mean: Values, variance: Values) -> Values:
    """How often noise of that mean and variance, chi-square but for a factor, has as much; 1 where there is none."""
    factor = np.divide(2 * mean, variance, out=np.ones(len(mean)), where=mean > 0)
    return np.where(mean > 0, chdtrc(np.maximum(mean, 1e-9) * factor, np.maximum(values, 0.0) * factor), 1.0)


def _describe(
    members: list[int], alike: Likeness, few: Table, selection: Selection, partners: Partners, joint: _Joint | None
) -> RedundantGroup:
    """What is known about a group; `joint` only if all selected features were compared."""
    best = members[int(np.argmax(_known(selection.relevance[selection.order[members]])))]
    least = float(min((alike.shared[a, b] for a in members for b in members if a != b), default=1.0))
    others = [
        (selection.names[other], value)
        for other, (place, value, _) in partners.items()
        if place in members and value >= REDUNDANT
    ]
    others.sort(key=lambda one: -one[1])
    measure = "rank correlation" if few.continuous[members].all() else "normalised MI"
    group = (tuple(members), best, least, measure, tuple(others))
    if joint is None or len(members) == 1:
        return RedundantGroup(*group)
    columns, left_out = np.arange(len(selection)), [place for place in members if place != best]
    kept = np.setdiff1d(columns, left_out)
    gaussian = Gaussian(0.0).on(few)
    p_value = min(float(_p_values(*gaussian.unique_with_chance([*kept, place]))[-1]) for place in left_out)
    return RedundantGroup(*group, joint(columns), joint(kept), p_value)


def _explained(few: Table) -> Values:
    """Share of the target's entropy, or of the variance of its normal scores, that each column has information on."""
    columns = np.arange(few.n_features)
    if not few.discrete[few.target]:
        return np.asarray(-np.expm1(-2 * np.maximum(0.0, Gaussian().on(few).relevance(columns))))
    counts = Binned(strategy="mdl").on(few)  # whose edges stand between the classes, however rare these are
    most = counts.entropy(few.target) - counts.by_chance(columns, few.target)
    # A level for every few rows determines the target in these rows, and says nothing of others.
    rare = few.discrete[columns] & (few.n_levels[columns] * ROWS_PER_LEVEL > few.n_samples)
    values = counts.bounded_pairs(counts.relevance(columns), columns, few.target)
    return np.divide(values, most, out=np.zeros(len(values)), where=~rare & (most > 0))


def _numbers_rows(table: Table, feature: int) -> bool:
    """Whether a column holds whole numbers, all different, as an identifier does."""
    elsewhere = table.is_sparse or table.is_parted
    if elsewhere or not table.continuous[feature] or table.has_missing[feature] or table.n_samples < 50:
        return False
    values = table.continuous_block([feature])[0]
    return bool((values == np.round(values)).all()) and len(np.unique(values)) == table.n_samples


def find_significant(
    table: Table, sample_weight: Any, n_jobs: int | None, alpha: float, groups: Any = None
) -> RelevanceTest | None:
    """Test of every feature by itself, by counts; None for tables in parts, or of several targets."""
    # Counts in bins are quick, and detect weak relations better than a few nearest neighbours do.
    if table.is_parted or table.n_samples < 2 or table.n_targets > 1:
        return None
    information = Binned(n_bins=few_bins(table.n_samples)).on(table, sample_weight, n_jobs)

    def test(n_permutations: int) -> RelevanceTest:
        with quietly():  # few permutations are seen below
            return permutation_test(information, n_permutations=n_permutations, groups=groups)

    found = test(_PERMUTATIONS)
    # Features that no permutation has reached go on until they can be significant among all that are tested.
    never = (found.n_permutations == _PERMUTATIONS) & (found.p_value * (_PERMUTATIONS + 1) < 1.5)
    if not never.any() or found.adjusted[never].min() <= alpha:
        return found
    needed = math.ceil(np.isfinite(found.p_value).sum() / (alpha * never.sum()))
    return test(needed) if needed > _PERMUTATIONS else found
