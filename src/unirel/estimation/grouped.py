"""Features that are groups of columns, for estimators that take blocks."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from unirel.data.groups import GroupedTable
from unirel.data.table import Table
from unirel.estimation.base import Block, Columns, Information, Values

_TAKE_BLOCKS = ("knn", "gaussian")


def takes_blocks(estimator: Information) -> bool:
    return estimator.name in _TAKE_BLOCKS


def for_groups(estimator: Information, table: Table) -> Information:
    """The estimator; where it takes blocks and the table has groups that are no category, one that asks it of both."""
    has_blocks = isinstance(table, GroupedTable) and len(table.level_names) < len(table.members)
    return OfGroups(estimator) if has_blocks and takes_blocks(estimator) else estimator


class OfGroups(Information):
    """What an estimator that takes blocks finds of features, each a column or a group of columns."""

    takes_weights, counts_levels = True, False  # what they do not take the estimator refuses

    def __init__(self, estimator: Information) -> None:
        self.estimator = estimator

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        self._inner = self.estimator.on(self.table.apart, sample_weight, self.n_jobs)  # type: ignore[attr-defined]
        self.name, self.compares_raw = self.estimator.name, self._inner.compares_raw  # type: ignore[misc]

    def mutual_information(self, a: Block, b: Block) -> float:
        return self._inner.mutual_information(self._columns(a), self._columns(b))

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        return self._inner.conditional(self._columns(a), self._columns(b), self._columns(given))

    def pairwise(self, candidates: Block, column: int) -> Values:
        is_one = len(self._columns([column])) == 1
        of_single = (lambda some: self._inner.pairwise(some, column)) if is_one else None
        return self._each(candidates, of_single, lambda one: self.mutual_information([one], [column]))

    def joint(self, candidates: Block, selected: Block) -> Values:
        fixed, target = self._columns(selected), [self.table.target]

        def of_block(one: int) -> float:
            return self.mutual_information([one, *selected], target)

        return self._each(candidates, lambda some: self._inner.joint(some, fixed), of_block)

    def entropy(self, column: int) -> float:
        """Of a group that of its joint levels."""
        block = self._columns([column])
        return self._inner.entropy(column) if len(block) == 1 else super()._entropy_of_levels(column)

    def _entropy_of_levels(self, column: int) -> float:
        return np.inf if len(self._columns([column])) > 1 else super()._entropy_of_levels(column)

    def _each(
        self, candidates: Block, of_single: Callable[[Columns], Values] | None, of_block: Callable[[int], float]
    ) -> Values:
        """Values of candidates, single columns together if that can be."""
        candidates = np.asarray(candidates, np.intp)
        alone = np.array([len(self._columns([one])) == 1 for one in candidates.tolist()], bool)
        alone &= of_single is not None
        values = np.empty(len(candidates))
        if of_single is not None and alone.any():
            values[alone] = of_single(candidates[alone])
        values[~alone] = [of_block(one) for one in candidates[~alone].tolist()]
        return values

    def _columns(self, features: Block) -> list[int]:
        return [column for feature in features for column in self.table.block(int(feature))]  # type: ignore[attr-defined]
