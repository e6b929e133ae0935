"""Mutual information of discrete columns, from the frequencies of their levels."""

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Block, Information, Values, entropy_of, n_log_n
from unirel.kernels.counts import joint_information
from unirel.options import EstimationOptions
from unirel.table import Table
from unirel.work import map_tasks

Codes = NDArray[np.integer]


class Plugin(Information):
    """Entropies of the empirical distribution, H(A) + H(B) - H(A, B).

    Parameters
    ----------
    table : Table
        Only its discrete columns can be asked about.
    **options
        `correction`: "miller-madow" adds (levels in use - 1) / (2 n_samples) to every entropy, which removes the
        first-order bias; and `n_jobs`.
    """

    name = "plugin"
    accepts = frozenset({"discrete"})

    def __init__(self, table: Table, **options: Unpack[EstimationOptions]) -> None:
        super().__init__(table, **options)
        self._weights = n_log_n(np.arange(table.n_samples + 1))
        self._codes: dict[int, tuple[Codes, int]] = {}

    def mutual_information(self, a: Block, b: Block) -> float:
        """I(a; b) of two blocks of discrete columns."""
        return float(self._information([self._block(a)], self._block([]), self._block(b))[0])

    def pairwise(self, candidates: Block, column: int) -> Values:
        """I(candidate; column) of every candidate."""
        return self._each(candidates, [], column)

    def joint(self, candidates: Block, selected: Block) -> Values:
        """I(candidate, selected; target) of every candidate."""
        return self._each(candidates, selected, self.table.target)

    def levels(self, column: int) -> Codes:
        """Codes of a column."""
        return self._column(column)[0]

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a column."""
        counts = np.bincount(self._column(column)[0])
        value = entropy_of(counts)
        return (
            value
            if self.options["correction"] is None
            else value + (np.count_nonzero(counts) - 1) / (2 * self.table.n_samples)
        )

    def encode(self, column: int) -> tuple[Codes, int]:
        """Codes of a column and their number."""
        return self.table.codes(column), self.table.columns[column].n_levels

    def _each(self, candidates: Block, selected: Block, column: int) -> Values:
        if len(candidates) == 0:
            return np.empty(0)
        fixed, other = self._block(selected), self._column(column)
        coded = [self._column(candidate) for candidate in candidates]
        size = max(1, min(2**20 // self.table.n_samples, -(-len(coded) // 8)))
        tasks = [coded[start : start + size] for start in range(0, len(coded), size)]
        parts = map_tasks(lambda task: self._information(task, fixed, other), tasks, self.options["n_jobs"])
        return np.concatenate(parts)

    def _information(
        self, candidates: list[tuple[Codes, int]], fixed: tuple[Codes, int], other: tuple[Codes, int]
    ) -> Values:
        """I(candidate, fixed; other) of coded columns."""
        rest = _combine(fixed, other)
        if rest[1] != fixed[1] * other[1]:  # Relabelled: the cells of `rest` no longer tell `fixed` and `other`.
            return np.array([self._information_of_many(_combine(coded, fixed), other) for coded in candidates])
        information = np.empty(len(candidates))
        for position, (codes, n_levels) in enumerate(candidates):
            if n_levels * rest[1] > _table_limit(self.table.n_samples):
                information[position] = self._information_of_many(_combine((codes, n_levels), fixed), other)
            else:
                value, used = joint_information(codes, n_levels, rest[0], fixed[1], other[1], self._weights)
                information[position] = self._corrected(value, used)
        return information

    def _information_of_many(self, a: tuple[Codes, int], b: tuple[Codes, int]) -> float:
        """I(a; b) where a table of all cells would be far larger than the data: only cells in use are counted."""
        n_samples = self.table.n_samples
        counts = [np.unique(codes, return_counts=True)[1] for codes in (a[0], b[0], _combine(a, b)[0])]
        sums = [n_log_n(count).sum() for count in counts]
        value = np.log(n_samples) + (sums[2] - sums[0] - sums[1]) / n_samples
        return self._corrected(float(value), np.array([len(count) for count in counts]))

    def _corrected(self, value: float, used: NDArray[np.int64]) -> float:
        if self.options["correction"] is None:
            return value
        return value + float(used[0] + used[1] - used[2] - 1) / (2 * self.table.n_samples)

    def _column(self, column: int) -> tuple[Codes, int]:
        if column not in self._codes:
            codes, n_levels = self.encode(column)
            self._codes[column] = codes.astype(_narrowest(n_levels)), n_levels
        return self._codes[column]

    def _block(self, columns: Block) -> tuple[Codes, int]:
        """Codes of the joint levels of several columns."""
        block: tuple[Codes, int] = (np.zeros(self.table.n_samples, np.uint8), 1)
        for column in columns:
            block = _combine(block, self._column(column))
        return block


def _table_limit(n_samples: int) -> int:
    """Cells that are worth a direct table: more would cost more to clear and read than the data to count."""
    return max(2**14, 4 * n_samples)


def _narrowest(n_levels: int) -> type[np.integer]:
    return np.uint8 if n_levels <= 2**8 else np.uint16 if n_levels <= 2**16 else np.int32


def _combine(a: tuple[Codes, int], b: tuple[Codes, int]) -> tuple[Codes, int]:
    """Joint codes of two coded columns, relabelled to those in use where there would be too many."""
    n_cells = a[1] * b[1]
    codes = a[0].astype(np.int64) * b[1] + b[0]
    if n_cells > _table_limit(len(codes)):
        levels, codes = np.unique(codes, return_inverse=True)
        n_cells = len(levels)
    return codes.astype(_narrowest(n_cells)), n_cells
