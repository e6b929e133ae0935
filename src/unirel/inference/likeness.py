"""How alike two features are, by figures that anybody can compute again."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.estimation.binned import Binned

# From here on two features are called nearly the same; and one is said to determine another from the second on.
REDUNDANT, DETERMINED = 0.9, 0.8
# Rows that a level, a pair of levels, or a batch needs for what is counted to be no accident.
ROWS_PER_LEVEL = 5


class Relation(StrEnum):
    """What can be said of a feature and another one."""

    SAME = "nearly the same"
    DETERMINED = "determined by it"
    DETERMINES = "determines it"
    BATCHES = "vary with the same batches"  # such as production lots, within which both are constant
    NONE = "none"


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike each of some columns, one to a row, is to each of some others."""

    #: Absolute rank correlation of two numbers; otherwise information in bins, corrected for chance and divided by the
    #: larger of the two entropies, so that 1 means that each determines the other.
    shared: Values
    ranked: NDArray[np.bool_]  #: Which of these are rank correlations.
    determined: Values  #: Share of the entropy of a column, in bins, that the other determines.
    determines: Values  #: Share of the entropy of the other that the column determines.
    batches: NDArray[np.bool_]  #: Which pairs of numbers have few distinct pairs of values, each of which is one batch.

    def measure(self, row: int, column: int) -> str:
        return "rank correlation" if self.ranked[row, column] else "normalised MI"

    def relation(self, row: int, column: int) -> Relation:
        if self.shared[row, column] >= REDUNDANT:
            return Relation.SAME
        if self.batches[row, column]:
            return Relation.BATCHES
        if self.determined[row, column] >= DETERMINED:
            return Relation.DETERMINED
        return Relation.DETERMINES if self.determines[row, column] >= DETERMINED else Relation.NONE


def compare(table: Table, columns: Columns, others: Columns, batches: bool = False) -> Likeness:
    """Compare some columns of a table with others; `batches` are looked for only if they are asked for."""
    columns, others = np.asarray(columns, np.intp), np.asarray(others, np.intp)
    counts = Binned(n_bins=min(8, max(3, math.isqrt(table.n_samples // 8)))).on(table)
    own = counts.ceilings(columns)
    found = np.zeros((3, len(columns), len(others)))
    for place, other in enumerate(others.tolist()):
        chance, theirs = counts.by_chance(columns, other), counts.ceilings([other])
        values = np.maximum(counts.pairwise(columns, other), 0.0)
        for kind, most in enumerate((np.maximum(own, theirs), own, theirs)):
            most = most - chance
            found[kind, :, place] = np.divide(values, most, out=np.zeros(len(values)), where=most > 1e-9).clip(0, 1)
    found *= _has_rows(table, columns, others)
    shared, determined, determines = found
    ranked = table.continuous[columns][:, None] & table.continuous[others]
    if ranked.any():
        numbers = [some[table.continuous[some]] for some in (columns, others)]
        shared[ranked] = np.abs(_ranks(table, numbers[0]) @ _ranks(table, numbers[1]).T).ravel()
    in_batches = _in_batches(table, columns, others) if batches else np.zeros(shared.shape, bool)
    return Likeness(shared, ranked, determined, determines, in_batches)


def _has_rows(table: Table, columns: Columns, others: Columns) -> NDArray[np.bool_]:
    """Which pairs have rows enough to be counted: levels that are rare seem to be alike."""
    levels = np.maximum(1, table.n_levels)
    both = table.discrete[columns][:, None] & table.discrete[others]
    pairs = levels[columns][:, None], levels[others]
    n_cells = np.where(both, pairs[0] * pairs[1], np.maximum(*pairs))
    return np.asarray(n_cells * ROWS_PER_LEVEL <= table.n_samples)


def _ranks(table: Table, columns: Columns) -> Values:
    """Ranks of numbers, whose products are rank correlations; a missing value has the mean rank."""
    ranks = np.array([mean_ranks(row) for row in table.continuous_block(columns)])
    lengths = np.sqrt(np.square(ranks).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(ranks, lengths, out=ranks, where=lengths > 0))


def mean_ranks(values: Values) -> Values:
    """Ranks of some numbers less their mean, equal ones sharing theirs, and 0 for missing ones."""
    # As `scipy.stats.rankdata` has them, but to import that takes longer than all that a short command does.
    ranks, present = np.zeros(len(values)), ~np.isnan(values)
    _, places, sizes = np.unique(values[present], return_inverse=True, return_counts=True)
    ranks[present] = (np.cumsum(sizes) - (sizes + present.sum()) / 2)[places]
    return ranks


def _in_batches(table: Table, columns: Columns, others: Columns) -> NDArray[np.bool_]:
    """Pairs of numbers with few distinct pairs of values, in which nearly every value goes with one of the other."""
    found = np.zeros((len(columns), len(others)), bool)
    numbers = [np.flatnonzero(table.continuous[some]) for some in (columns, others)]
    codes = [_codes(table, some[places]) for some, places in zip((columns, others), numbers, strict=True)]
    most = table.n_samples // ROWS_PER_LEVEL
    for row, own in zip(numbers[0].tolist(), codes[0], strict=True):
        for column, other in zip(numbers[1].tolist(), codes[1], strict=True):
            n_levels = int(own.max()) + 1, int(other.max()) + 1
            if 2 < min(n_levels) and max(n_levels) <= most:
                n_pairs = len(np.unique(own.astype(np.int64) * n_levels[1] + other))
                found[row, column] = n_pairs <= min(most, 1.1 * max(n_levels)) and max(n_levels) <= 2 * min(n_levels)
    return found


def _codes(table: Table, columns: Columns) -> list[NDArray[np.intp]]:
    return [np.unique(row, return_inverse=True)[1] for row in table.continuous_block(columns)] if len(columns) else []


def order_by_similarity(shared: Values) -> list[int]:
    """An order in which features that are alike stand side by side, from how alike every two of them are."""
    if len(shared) < 3:
        return list(range(len(shared)))
    from scipy.cluster.hierarchy import leaves_list, linkage  # here: it takes long to import

    tree = linkage(_distances(shared), "average", optimal_ordering=len(shared) <= 200)
    return leaves_list(tree).tolist()  # type: ignore[no-any-return]


def group_alike(shared: Values, accompanied: set[int]) -> list[list[int]]:
    """Positions of features every two of which are nearly the same, and of single ones that others are like."""
    if len(shared) < 2:
        return [[place] for place in sorted(accompanied)]
    distances, labels = _distances(shared), np.arange(len(shared))
    if distances.min() <= 1 - REDUNDANT:
        from scipy.cluster.hierarchy import fcluster, linkage  # here: it takes long to import

        labels = fcluster(linkage(distances, "complete"), 1 - REDUNDANT, "distance")
    groups = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
    kept = [group for group in groups if len(group) > 1 or group[0] in accompanied]
    return sorted(kept, key=lambda group: (-len(group), group[0]))


def _distances(shared: Values) -> Values:
    """Of every two features, as `scipy.cluster.hierarchy` wants them."""
    return np.asarray(np.clip(1 - (shared + shared.T) / 2, 0, 1)[np.triu_indices(len(shared), 1)])
