"""What estimators of whole blocks share: levels are counted, and numbers are normal scores."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unirel.data.table import Table
from unirel.estimation.base import Block, Columns, Information, Values
from unirel.estimation.binned import Binned


class Side(NamedTuple):
    """A block of columns as estimators see it; of a missing number the score is 0, and one more column says so."""

    levels: NDArray[np.int32]  # codes of discrete columns, one row each
    scores: Values  # normal scores of continuous columns, one row each


class BlockInformation(Information):
    """Information of blocks that are counted, as by `Binned`, if all their columns are discrete."""

    has_intervals = False

    @abstractmethod
    def estimate_blocks(self, a: Side, b: Side) -> float:
        """I(a; b) of two blocks of columns that vary, of which some are continuous."""

    @classmethod
    def check(cls, table: Table) -> None:
        if table.is_sparse or table.is_parted:
            where = "X is sparse" if table.is_sparse else "the rows are in parts"
            raise ValueError(
                f"mi_estimator={cls.name!r} needs a dense table in memory, {where}; pass mi_estimator='binned'"
            )
        super().check(table)

    def mutual_information(self, a: Block, b: Block) -> float:
        a, b = self._varying(a), self._varying(b)
        if not (a and b):
            return 0.0
        if self.table.discrete[[*a, *b]].all():
            return self._counts.mutual_information(a, b)
        return self.estimate_blocks(self.side(a), self.side(b))

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given), by the chain rule unless it is counted."""
        if self.table.discrete[[*a, *b, *given]].all():
            return self._counts.conditional(a, b, given)
        return super().conditional(a, b, given)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a discrete column; that of the normal distribution for the scores of a continuous one."""
        if self.table.discrete[column]:
            return self._counts.entropy(column)
        return float(0.5 * np.log(2 * np.pi * np.e))

    def side(self, block: Block) -> Side:
        """Codes and scores of the columns of a block."""
        columns = np.asarray(block, np.intp)
        numbers = self.table.continuous_block(columns[self.table.continuous[columns]])
        codes = self.table.code_block(columns[self.table.discrete[columns]])[0]
        missing = np.isnan(numbers)
        levels = np.concatenate([codes.astype(np.int32), missing[missing.any(axis=1)]])
        return Side(levels, np.array([normal_scores(row) for row in numbers]).reshape(numbers.shape))

    def _varying(self, block: Block) -> list[int]:
        """Columns of a block that are not constant, each once."""
        return [column for column in dict.fromkeys(map(int, block)) if self._varies(column)]

    def _varies(self, column: int) -> bool:
        if self.table.discrete[column]:
            return bool(self.table.n_levels[column] > 1)
        return len(np.unique(self.table.continuous_block([column]))) > 1  # All missing values are one.

    @cached_property
    def _counts(self) -> Binned:
        return Binned().bind(self.table, n_jobs=self.n_jobs)


def normal_scores(values: Values) -> Values:
    """Ranks through the inverse of the normal distribution, ties at their mean rank; 0 where a value is missing."""
    present, scores = ~np.isnan(values), np.zeros(len(values))
    from scipy.stats import rankdata  # slow to import

    scores[present] = ndtri(rankdata(values[present]) / (present.sum() + 1))
    return scores


def joint_codes(rows: Iterable[NDArray[np.integer]], n_samples: int) -> Columns:
    """Rows of codes as one: from 0 on, equal where all of them are equal."""
    joint = np.zeros(n_samples, np.intp)
    for row in rows:
        joint = np.unique(joint * (int(row.max(initial=0)) + 1) + row, return_inverse=True)[1]
    return joint
