"""How selected features relate: to each other, to the target together, and to the features that were not selected."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata
from sklearn.preprocessing import normalize

from unirel._runtime import quietly
from unirel.data.table import Table
from unirel.data.weights import sample_table
from unirel.estimation.base import Columns, Information, Values, entropy_of
from unirel.estimation.binned import Binned
from unirel.estimation.counting import few_bins
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.knn import KNN
from unirel.inference.tests import permutation_test
from unirel.results import RelevanceTest, Selection, plain

Partners = Mapping[int, tuple[int, float, str]]

# What is said around an answer must not take longer than the answer: of more rows a seeded sample is taken, by class,
# and the first of the selected and the most relevant of the other features are compared.
_MOST_ROWS, _MOST_SELECTED, _MOST_OTHERS, _MOST_EXPLAINED = 2000, 40, 30, 10
# Squared rows times columns, summed over the sizes of a curve, up to which it takes seconds.
_JOINT_WORK = 5e9
# From here on two features are said to be redundant with each other: rank correlation, or normalised information.
REDUNDANT = 0.9
# Rows that a level, or a pair of levels, needs for what is counted to be no accident.
_ROWS_PER_LEVEL = 5
# Rows for each distinct value, or pair of values, from which on numbers are taken for those of batches.
_ROWS_PER_BATCH = 5
# Enough where a tenth of the features is relevant; where fewer are, there are more.
_PERMUTATIONS = 200


@dataclass(frozen=True, eq=False)
class RedundantGroup:
    """Selected features every two of which are nearly the same, and others like them that were not selected."""

    members: tuple[int, ...]  # positions in the order of selection, first selected first
    best: int  # the most relevant of them
    least: float  # the similarity of the two members that are least similar
    measure: str  # what similarity is: "rank correlation" of numbers, "normalised MI" otherwise
    others: tuple[tuple[str, float], ...]  # features that were not selected, and how similar one member is at most
    # Information of all selected features about the target, and of those without the members that are not the best;
    # NaN where that was not estimated.
    together: float = np.nan
    without: float = np.nan


@dataclass(frozen=True, eq=False)
class Analysis:
    """How the first features of a selection relate to each other, to other features and to the target.

    Notes
    -----
    Information of two features is counted in bins, corrected for chance, and normalised by the larger of their
    entropies, so that 1 means that each determines the other. For two continuous features I is mapped to
    ``sqrt(1 - exp(-2 I))`` before, which is the absolute correlation of Gaussian columns (Linfoot 1957).

    Joint information about class labels is that of nearest neighbours, about a continuous target that of the Gaussian
    estimator.
    """

    names: tuple[str, ...] = ()  #: The selected features, first selected first.
    #: Normalised mutual information of every two of the first features, from 0 to 1.
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
    shared: Values  # normalised information with each of them
    together: Values  # information of it and each of them about the target
    alone: float  # information of the others about the target
    with_all: float  # and with it
    instead: Values  # and with it instead of each of them
    entropy: float | None  # of the target; None for a continuous one

    def to_dict(self) -> dict[str, Any]:
        columns = {"name": self.names, "shared": self.shared, "together": self.together, "instead": self.instead}
        rows = zip(*(plain(values) for values in columns.values()), strict=True)
        numbers = ("name", "relevance", "rank", "step", "alone", "with_all", "entropy")
        return {
            **{key: getattr(self, key) for key in numbers},
            "beside": [{"step": n, **dict(zip(columns, row, strict=True))} for n, row in enumerate(rows, start=1)],
        }


def analyse(table: Table, selection: Selection, *, curve: bool = True, sample_weight: Any = None) -> Analysis:
    """Compare the selected features of a table, as many of the first as can be done in seconds."""
    # For a `curve` the joint information of the first n is estimated for every n, otherwise of all of them only.
    entropy = entropy_of(table.class_sizes) if table.discrete[table.target] else None
    if len(selection) == 0:
        return Analysis(entropy=entropy)
    others = np.setdiff1d(table.features, selection.order)
    others = others[np.argsort(-_known(selection.relevance[others]), kind="stable")[:_MOST_OTHERS]]
    few = _take(table, np.concatenate([selection.order, others]), sample_weight)
    selected, judged = np.arange(len(selection)), np.arange(len(selection), len(selection) + len(others))
    compared = selected[:_MOST_SELECTED]
    counts = _counts(few)
    columns = np.concatenate([compared, judged])
    shared = np.array([shared_with(counts, columns, int(column)) for column in compared]).T
    _judge_by_batches(few, columns, shared)
    similar = _similarity(few, columns, shared)
    partners = {}
    for other, column, row in zip(others.tolist(), judged.tolist(), similar[len(compared) :], strict=True):
        place = int(np.argmax(row))
        partners[other] = place, float(row[place]), _measure(few, [column, place])
    accompanied = {place for place, value, _ in partners.values() if value >= REDUNDANT}
    joint = _Joint(few, selected)
    groups = [
        _describe(members, similar, few, selection, partners, joint if len(compared) == len(selected) else None)
        for members in _groups(similar[: len(compared)], accompanied)
    ]
    explained = dict(zip([*selection.order.tolist(), *others.tolist()], _explained(few).tolist(), strict=True))
    numbered = tuple(feature for feature in selection.order.tolist() if _numbers_rows(table, feature))
    between = np.maximum(shared[: len(compared)], shared[: len(compared)].T)
    np.fill_diagonal(between, 1.0)
    found = between, joint.nested(curve), entropy, tuple(groups), partners, explained, numbered
    return Analysis(tuple(selection.selected_names), *found)


def explain(table: Table, selection: Selection, feature: int) -> Explanation:
    """Information of one feature, given the first ten selected ones, and which of them it could replace."""
    order = selection.order.tolist()
    others = np.array([other for other in order if other != feature][:_MOST_EXPLAINED], np.intp)
    few = _take(table, np.append(others, feature))
    places, own = np.arange(len(others)), len(others)
    joint = _Joint(few, np.arange(own + 1))
    return Explanation(
        name=table.names[feature],
        relevance=joint([own]),
        rank=1 + int((_known(selection.relevance) > selection.relevance[feature]).sum()),
        step=order.index(feature) + 1 if feature in order else None,
        names=tuple(table.names[other] for other in others),
        shared=shared_with(_counts(few), places, own),
        together=np.array([joint([place, own]) for place in places.tolist()]),
        alone=joint(places),
        with_all=joint([*places, own]),
        instead=np.array([joint([*np.delete(places, place), own]) for place in places.tolist()]),
        entropy=entropy_of(table.class_sizes) if table.discrete[table.target] else None,
    )


def shared_with(information: Information, columns: Columns, column: int) -> Values:
    """Normalised information of some columns and another one: 1 where each determines the other."""
    chance = information.by_chance(columns, column)
    most = np.maximum(information.ceilings(columns), information.ceilings([column])) - chance
    values = np.clip(information.pairwise(columns, column), 0.0, most)
    table = information.table
    smooth = table.continuous[columns] & table.continuous[column]
    values, most = (np.where(smooth, -np.expm1(-2 * one), one) for one in (values, most))
    share = np.divide(values, most, out=np.zeros(len(values)), where=most > 0)
    return np.where(smooth, np.sqrt(share), share)


def _counts(few: Table) -> Binned:
    """Counts of pairs of columns, in bins that leave rows for every cell."""
    return Binned(n_bins=min(8, max(3, math.isqrt(few.n_samples // 8)))).on(few)


def order_by_similarity(shared: Values) -> list[int]:
    """An order in which features that share much stand side by side, from what every two of them share."""
    if len(shared) < 3:
        return list(range(len(shared)))
    tree = linkage(_distances(shared), "average", optimal_ordering=len(shared) <= 200)
    return leaves_list(tree).tolist()  # type: ignore[no-any-return]


def _distances(similar: Values) -> Values:
    return np.asarray(squareform(np.clip(1 - (similar + similar.T) / 2, 0, 1), checks=False))


def _take(table: Table, columns: Columns, sample_weight: Any = None) -> Table:
    """Some columns of a few rows of a table, each row as often as its weight says."""
    return sample_table(table, columns, _MOST_ROWS, np.random.default_rng(0), sample_weight)


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

    def nested(self, curve: bool) -> Values:
        """Of the first columns for every number of them, or of all only; NaN where it would take long."""
        sizes = np.arange(1, len(self._columns) + 1)
        pairs = float(self._table.n_samples) ** 2
        wanted = np.cumsum(sizes) * pairs <= _JOINT_WORK if curve else np.zeros(len(sizes), bool)
        wanted[-1] = sizes[-1] * pairs <= _JOINT_WORK
        return np.array([self(self._columns[:size]) if wanted[size - 1] else np.nan for size in sizes.tolist()])


def _similarity(few: Table, columns: Columns, shared: Values) -> Values:
    """How similar each column is to each of the first: rank correlation of numbers, normalised information otherwise.

    0 where there are too few rows to say so: levels that are rare seem to be alike.
    """
    first = columns[: shared.shape[1]]
    levels = np.maximum(1, few.n_levels)
    both = few.discrete[columns][:, None] & few.discrete[first]
    pairs = levels[columns][:, None], levels[first]
    n_cells = np.where(both, pairs[0] * pairs[1], np.maximum(*pairs))
    similar = np.where(n_cells * _ROWS_PER_LEVEL <= few.n_samples, shared, 0.0)
    smooth = few.continuous[columns]
    if smooth.any():
        ranks = rankdata(few.continuous_block(columns[smooth]), axis=1, nan_policy="omit")
        ranks -= np.nanmean(ranks, axis=1, keepdims=True)
        ranks = normalize(np.nan_to_num(ranks))
        n_first = int(smooth[: len(first)].sum())
        similar[np.ix_(smooth, smooth[: len(first)])] = np.abs(ranks @ ranks[:n_first].T)
    return similar


def _judge_by_batches(few: Table, columns: Columns, shared: Values) -> None:
    """Judge numbers that come in few distinct pairs by these: what varies with the same batches seems to be alike."""
    # A batch, such as a production lot, counts once then, and its pairs are too few for more than their rank
    # correlation.
    tied = np.flatnonzero(few.continuous[columns])
    numbers = few.continuous_block(columns[tied])
    codes = np.array([np.unique(row, return_inverse=True)[1] for row in numbers]).reshape(numbers.shape)
    of_batches = np.flatnonzero((codes.max(axis=1, initial=0) + 1) * _ROWS_PER_BATCH <= few.n_samples)
    for one, other in permutations(of_batches.tolist(), 2):
        if tied[other] < shared.shape[1]:
            pairs = np.unique(codes[[one, other]], axis=1)
            if pairs.shape[1] * _ROWS_PER_BATCH <= few.n_samples:
                ranks = rankdata(pairs, axis=1)
                shared[tied[one], tied[other]] = abs(np.corrcoef(ranks)[0, 1]) if np.ptp(ranks, axis=1).all() else 0.0


def _measure(few: Table, columns: Sequence[int]) -> str:
    return "rank correlation" if few.continuous[list(columns)].all() else "normalised MI"


def _groups(similar: Values, accompanied: set[int]) -> list[list[int]]:
    """Positions of features every two of which are redundant, and of single ones that others are redundant with."""
    if len(similar) < 2:
        return [[place] for place in sorted(accompanied)]
    labels = fcluster(linkage(_distances(similar), "complete"), 1 - REDUNDANT, "distance")
    groups = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
    kept = [group for group in groups if len(group) > 1 or group[0] in accompanied]
    return sorted(kept, key=lambda group: (-len(group), group[0]))


def _describe(
    members: list[int], similar: Values, few: Table, selection: Selection, partners: Partners, joint: _Joint | None
) -> RedundantGroup:
    """What is known about a group; `joint` only if all selected features were compared."""
    best = members[int(np.argmax(_known(selection.relevance[selection.order[members]])))]
    least = float(min((similar[a, b] for a in members for b in members if a != b), default=1.0))
    others = [
        (selection.names[other], value)
        for other, (place, value, _) in partners.items()
        if place in members and value >= REDUNDANT
    ]
    others.sort(key=lambda one: -one[1])
    group = (tuple(members), best, least, _measure(few, members), tuple(others))
    if joint is None or len(members) == 1:
        return RedundantGroup(*group)
    columns = np.arange(len(selection))
    kept = np.setdiff1d(columns, [place for place in members if place != best])
    return RedundantGroup(*group, joint(columns), joint(kept))


def _explained(few: Table) -> Values:
    """Share of the target's entropy, or of the variance of its normal scores, that each column has information on."""
    columns = np.arange(few.n_features)
    if not few.discrete[few.target]:
        return np.asarray(-np.expm1(-2 * np.maximum(0.0, Gaussian().on(few).relevance(columns))))
    counts = Binned(strategy="mdl").on(few)  # whose edges stand between the classes, however rare these are
    most = counts.entropy(few.target) - counts.by_chance(columns, few.target)
    # A level for every few rows determines the target in these rows, and says nothing of others.
    rare = few.discrete[columns] & (few.n_levels[columns] * _ROWS_PER_LEVEL > few.n_samples)
    values = counts.bounded_pairs(counts.relevance(columns), columns, few.target)
    return np.divide(values, most, out=np.zeros(len(values)), where=~rare & (most > 0))


def _numbers_rows(table: Table, feature: int) -> bool:
    """Whether a column holds whole numbers, all different, as an identifier does."""
    elsewhere = table.is_sparse or table.is_parted
    if elsewhere or not table.continuous[feature] or table.has_missing[feature] or table.n_samples < 50:
        return False
    values = table.continuous_block([feature])[0]
    return bool((values == np.round(values)).all()) and len(np.unique(values)) == table.n_samples


def find_significant(table: Table, sample_weight: Any, n_jobs: int | None, alpha: float) -> RelevanceTest | None:
    """Test of every feature by itself, by counts, whatever estimator the search has; None for tables in parts."""
    # Counts in bins are quick, and detect weak relations better than a few nearest neighbours do.
    if table.is_parted or table.n_samples < 2:
        return None
    information = Binned(n_bins=few_bins(table.n_samples)).on(table, sample_weight, n_jobs)

    def test(n_permutations: int) -> RelevanceTest:
        with quietly():  # few permutations are seen below
            return permutation_test(information, n_permutations=n_permutations)

    found = test(_PERMUTATIONS)
    # Features that no permutation has reached go on until they can be significant among all that are tested.
    never = (found.n_permutations == _PERMUTATIONS) & (found.p_value * (_PERMUTATIONS + 1) < 1.5)
    if not never.any() or found.adjusted[never].min() <= alpha:
        return found
    needed = math.ceil(np.isfinite(found.p_value).sum() / (alpha * never.sum()))
    return test(needed) if needed > _PERMUTATIONS else found
