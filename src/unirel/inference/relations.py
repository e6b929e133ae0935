"""How selected features relate: what they have in common, what they tell together, and what stands around them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from unirel.data.sampling import sample_table
from unirel.data.table import Table
from unirel.errors import quietly
from unirel.estimation.base import Information, entropy_of, make_information
from unirel.estimation.knn import KNN
from unirel.inference.findings import Analysis, Explanation, RepeatedGroup, Surroundings
from unirel.results import Selection

Values = NDArray[np.float64]
Columns = NDArray[np.intp]

# Pairs of columns times rows, and squared rows times columns, up to which an answer takes seconds.
_PAIR_WORK = 7e6
# Of more rows a seeded sample is taken, by class.
_MOST_ROWS = 5000
_JOINT_WORK = 2e10
# What stands around a selection is judged by fewer rows, and by the first of the selected and of the other features.
_FEW_ROWS, _MOST_SELECTED, _MOST_OTHERS = 1000, 40, 30
_MOST_EXPLAINED = 10
# From here on two features are said to repeat each other.
REPEATED = 0.9
# Rows that a level, or a pair of levels, needs for what is counted to be no accident.
_ROWS_PER_LEVEL = 5


def analyse(
    table: Table, order: Sequence[int] | Columns, mi_estimator: str | Information, *, curve: bool = True
) -> Analysis:
    """Compare the selected features of a table, as many of the first as can be done in seconds.

    Of a large table some thousand rows are compared.

    Parameters
    ----------
    table : Table
        What they were selected from.
    order : sequence of int
        Positions of the selected features, first selected first.
    mi_estimator : str or Information
        How information is estimated.
    curve : bool
        Find what the first n tell together for every n; otherwise for all of them only.
    """
    columns = np.asarray(order, np.intp)
    names = tuple(table.names[column] for column in columns)
    if len(columns) == 0:  # nobody wants to wait for more, and rows may be elsewhere
        nothing, discrete = np.zeros(0), table.discrete[table.target]
        return Analysis((), np.zeros((0, 0)), nothing, nothing, entropy_of(table.class_sizes) if discrete else None)
    if table.n_samples > _MOST_ROWS or table.is_sparse or table.is_parted:
        # What is said around an answer must not take longer than the answer.
        table = sample_table(table, columns, _MOST_ROWS, np.random.default_rng(0))
        columns = np.arange(len(columns))
    information = make_information(table, mi_estimator)
    entropy = information.entropy(table.target) if table.discrete[table.target] else None
    return Analysis(names, _shared(information, columns), *_about_target(table, columns, mi_estimator, curve), entropy)


def _shared(information: Information, columns: Columns) -> Values:
    """Normalised information of all pairs of the first columns."""
    pairs = _PAIR_WORK / information.table.n_samples
    columns = columns[: max(10, int((2 * pairs) ** 0.5))]
    shared = np.eye(len(columns))
    for n_before, column in enumerate(columns[1:].tolist(), start=1):
        values = shared_with(information, columns[:n_before], column)
        shared[n_before, :n_before] = shared[:n_before, n_before] = values
    return shared


def shared_with(information: Information, columns: Columns, column: int) -> Values:
    """Normalised information of some columns and another one."""
    values = np.maximum(0.0, information.pairwise(columns, column))
    most = np.minimum(information.ceilings(columns), information.ceilings([column]))
    return normalise(values, most - information.by_chance(columns, column))


def normalise(information: Values, ceiling: Values) -> Values:
    """Map nats to 0..1; the ceiling is the largest value possible, infinity for two continuous columns."""
    most = -np.expm1(-2 * ceiling)
    return np.sqrt(np.divide(-np.expm1(-2 * information), most, out=np.zeros_like(most), where=most > 0)).clip(0, 1)


def _about_target(
    table: Table, columns: Columns, mi_estimator: str | Information, curve: bool
) -> tuple[Values, Values]:
    """What the first columns tell together, and what is lost without each of all, as far as it is cheap.

    By neighbours in one metric, whatever the estimator: counted, a few discrete columns tell every row apart and seem
    to tell everything.
    """
    joint, lost = np.full(len(columns), np.nan), np.full(len(columns), np.nan)
    information = _neighbors(mi_estimator).on(table).in_metric_of(columns)
    target, sizes = [table.target], np.arange(1, len(columns) + 1)
    pairs = float(table.n_samples) ** 2
    wanted = np.cumsum(sizes) * pairs <= _JOINT_WORK if curve else np.zeros(len(sizes), bool)
    wanted[-1:] = sizes[-1:] * pairs <= _JOINT_WORK
    for size in sizes[wanted]:
        block = columns[:size]
        joint[size - 1] = information.bounded(information.mutual_information(block, target), block, target)
    if len(columns) > 1 and wanted[-1]:
        before, changes, _ = information.without_each(columns)
        whole, *rests = information.bounded_joint(np.concatenate([[before], before + changes]))
        lost = whole - np.array(rests)
    return joint, lost


def surround(table: Table, selection: Selection, analysis: Analysis, mi_estimator: str | Information) -> Surroundings:
    """Find features that repeat each other, and features that tell so much that somebody should ask why."""
    chosen = selection.order[: min(_MOST_SELECTED, len(analysis.shared))]
    if len(chosen) == 0:
        return Surroundings()
    others = _most_relevant_others(table, selection)
    between = analysis.shared[: len(chosen), : len(chosen)].copy()
    with _neighbours(table, np.concatenate([chosen, others]), mi_estimator) as information:
        return _surround(table, selection, between, information, others)


def _neighbors(mi_estimator: str | Information) -> KNN:
    return mi_estimator if isinstance(mi_estimator, KNN) else KNN()


@contextmanager
def _neighbours(table: Table, columns: Columns, mi_estimator: str | Information) -> Iterator[KNN]:
    """An estimator of some columns of a table, from few of its rows: what is said around an answer must be quick."""
    few = sample_table(table, columns, _FEW_ROWS, np.random.default_rng(0))
    with quietly():  # about small classes, which whoever selected has heard of
        yield _neighbors(mi_estimator).on(few)


def _surround(table: Table, selection: Selection, between: Values, information: KNN, others: Columns) -> Surroundings:
    """What stands around the first selected features, whose columns are the first of the estimator's table."""
    n_rows = information.table.n_samples
    chosen = selection.order[: len(between)]
    places = np.arange(len(chosen))
    beside = np.array([shared_with(information, places, len(chosen) + other) for other in range(len(others))])
    beside = beside.reshape(len(others), len(chosen))
    between[~_can_be_judged(table, chosen[:, None], chosen, n_rows)] = 0.0
    beside[~_can_be_judged(table, others[:, None], chosen, n_rows)] = 0.0
    partners = {
        int(other): (int(np.argmax(shared)), float(shared.max())) for other, shared in zip(others, beside, strict=True)
    }
    named = {table.names[other]: partner for other, partner in partners.items()}
    groups = [
        _describe(information, members, between, selection, named, len(chosen) == len(selection))
        for members in _repeated(between, {place for place, shared in named.values() if shared >= REPEATED})
    ]
    columns = np.concatenate([chosen, others])
    told = dict(zip(columns.tolist(), _told(information, np.arange(len(columns))).tolist(), strict=True))
    numbered = tuple(int(feature) for feature in chosen if _numbers_rows(table, int(feature)))
    return Surroundings(tuple(groups), partners, told, numbered)


def _most_relevant_others(table: Table, selection: Selection) -> Columns:
    others = np.setdiff1d(table.features, selection.order)
    relevance = np.nan_to_num(selection.relevance[others], nan=-1.0)
    return others[np.argsort(-relevance, kind="stable")[:_MOST_OTHERS]]


def _can_be_judged(table: Table, first: Columns, second: Columns, n_rows: int) -> NDArray[np.bool_]:
    """Whether there are rows enough to say of two columns that they are alike: levels that are rare seem to be."""
    levels = np.maximum(1, table.n_levels)
    both = table.discrete[first] & table.discrete[second]
    n_cells = np.where(both, levels[first] * levels[second], np.maximum(levels[first], levels[second]))
    return np.asarray(n_cells * _ROWS_PER_LEVEL <= n_rows)


def _repeated(shared: Values, accompanied: set[int]) -> list[list[int]]:
    """Places of features every two of which share nearly everything, and of single ones that others repeat."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(shared) < 2:
        return [[place] for place in sorted(accompanied)]
    distances = squareform(np.clip(1 - (shared + shared.T) / 2, 0, 1), checks=False)
    labels = fcluster(linkage(distances, "complete"), 1 - REPEATED, "distance")
    groups = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
    kept = [group for group in groups if len(group) > 1 or group[0] in accompanied]
    return sorted(kept, key=lambda group: (-len(group), group[0]))


def _describe(
    information: KNN,
    members: list[int],
    shared: Values,
    selection: Selection,
    partners: dict[str, tuple[int, float]],
    whole: bool,
) -> RepeatedGroup:
    """What is known about a group; `whole` if all selected features are at hand to tell what is lost without it."""
    relevance = np.nan_to_num(selection.relevance[selection.order[members]], nan=-1.0)
    best = members[int(np.argmax(relevance))]
    least = float(min((shared[a, b] for a in members for b in members if a != b), default=1.0))
    others = [(name, value) for name, (place, value) in partners.items() if place in members and value >= REPEATED]
    together = left = np.nan
    n_rows = float(information.table.n_samples)
    if whole and len(members) > 1 and n_rows**2 * len(shared) <= _JOINT_WORK:
        columns = np.arange(len(shared))
        kept = np.setdiff1d(columns, [place for place in members if place != best])
        space, target = information.in_metric_of(columns), [information.table.target]
        together, left = (space.mutual_information(block, target) for block in (columns, kept))
    return RepeatedGroup(tuple(members), best, least, tuple(sorted(others, key=lambda one: -one[1])), together, left)


def _told(information: KNN, columns: Columns) -> Values:
    """Which share of all there is to know about the target each column tells by itself."""
    table = information.table
    values = information.bounded_pairs(information.relevance(columns), columns, table.target)
    if not table.discrete[table.target]:
        return np.asarray(-np.expm1(-2 * values))
    # A level for every few rows tells everything about them, and nothing about others.
    rare = table.discrete[columns] & (table.n_levels[columns] * _ROWS_PER_LEVEL > table.n_samples)
    most = information.entropy(table.target) - information.by_chance(columns, table.target)
    return np.divide(values, most, out=np.zeros(len(values)), where=~rare & (most > 0))


def _numbers_rows(table: Table, feature: int) -> bool:
    """Whether a column holds whole numbers, all different, as an identifier does."""
    elsewhere = table.is_sparse or table.is_parted
    if elsewhere or not table.continuous[feature] or table.has_missing[feature] or table.n_samples < 50:
        return False
    values = table.continuous_block([feature])[0]
    return bool((values == np.round(values)).all()) and len(np.unique(values)) == table.n_samples


def explain(table: Table, selection: Selection, feature: int, mi_estimator: str | Information) -> Explanation:
    """What one feature tells, what it adds to the first ten selected ones, and which of them it could replace."""
    order = selection.order.tolist()
    beside = np.array([other for other in order if other != feature][:_MOST_EXPLAINED], np.intp)
    with _neighbours(table, np.append(beside, feature), mi_estimator) as small:
        places, own = np.arange(len(beside)), len(beside)
        information = small.in_metric_of(np.arange(own + 1))
        target = [small.table.target]

        def told(block: Columns) -> float:
            return information.bounded(information.mutual_information(block, target), block, target)

        swapped = [np.append(np.delete(places, place), own) for place in places]
        return Explanation(
            name=table.names[feature],
            relevance=told(np.array([own])),
            rank=1 + int((np.nan_to_num(selection.relevance, nan=-1.0) > selection.relevance[feature]).sum()),
            step=order.index(feature) + 1 if feature in order else None,
            names=tuple(table.names[other] for other in beside),
            shared=shared_with(small, places, own) if own else np.zeros(0),
            together=np.array([told(np.array([place, own])) for place in places]),
            alone=told(places) if own else 0.0,
            with_all=told(np.arange(own + 1)),
            instead=np.array([told(block) for block in swapped]),
            entropy=small.entropy(small.table.target) if small.table.discrete[small.table.target] else None,
        )
