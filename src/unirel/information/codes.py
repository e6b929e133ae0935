"""The codes of all columns as one matrix, and the contingency tables that are counted from it."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Columns, Values
from unirel.information.bins import Bins
from unirel.kernels.bitsets import Sets, count_tables_by_bits, pack_sets
from unirel.kernels.counts import count_tables, count_weighted_tables
from unirel.table import Table
from unirel.work import map_tasks

Codes = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[Any]  # int32 or int64, float64 with weights

# Bit sets are made of columns with at most that many levels, and used while they share at most that many pairs of sets
# with what is fixed. Measured, ns per row and candidate by bits and by a direct table, with a target of 2 classes and
# a fixed column of as many levels as the candidates: 2 levels (3 pairs) 0.013 and 0.47, 3 (10) 0.05 and 0.48, 4 (21)
# 0.14 and 0.46, 5 (36) 0.23 and 0.46, 8 (105) 0.57 and 0.45 for 100,000 rows; for 800 rows 0.03 and 0.7, 0.10 and 1.1,
# 0.16 and 1.1, 0.53 and 1.1, 1.5 and 0.9. They cross at 60 to 90 pairs.
MOST_LEVELS = 6
MOST_PAIRS = 64
# Packing the fixed side costs as much as counting a few candidates directly.
_FEWEST_CANDIDATES = 8
# Numbers of a block of columns that are coded at a time.
_BLOCK = 2**20


class Rest:
    """What candidates are counted against: the joint levels of a fixed block and another one."""

    def __init__(self, codes: Codes, n_fixed: int, n_other: int) -> None:
        self.codes = codes.astype(np.uint32, copy=False)  # one type only, so that kernels are compiled once
        self.n_fixed, self.n_other = n_fixed, n_other
        self.n_levels = n_fixed * n_other

    @cached_property
    def sets(self) -> Sets:
        """Its levels, few enough for a byte where bits are counted, as bit sets; the last one is left out."""
        n_words = -(-len(self.codes) // 64)
        zero = np.zeros(1, np.intp)
        words, sizes = np.empty((self.n_levels - 1) * n_words, np.uint64), np.zeros((1, self.n_levels), np.int64)
        sets = Sets(words, zero, np.array([self.n_levels - 1]), sizes)
        pack_sets(self.codes[None].astype(np.uint8), zero, zero, sets)
        sizes[0, -1] = len(self.codes) - sizes.sum()
        return sets


class CodeSource(Protocol):
    """What estimators that count know of a table; one that is sparse, or in several places, can offer it too."""

    n_levels: NDArray[np.int64]

    def prepare(self, columns: Columns, rest: Rest | None = None) -> None:
        """Make what counting some columns against the rest needs; called first by whoever counts in threads."""

    def codes(self, column: int) -> Codes:
        """Codes of one column."""

    def tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins."""


class CodeMatrix:
    """Codes of all columns of a table, a row for each, in the narrowest type; made when they are first asked for.

    Parameters
    ----------
    table : Table
        Its discrete columns keep their levels.
    bins : Bins or None
        How continuous columns are cut; None refuses them.
    weights : ndarray or None
        Weight of every row.
    n_jobs : int or None
        Threads that make codes.
    """

    def __init__(self, table: Table, bins: Bins | None, weights: Values | None, n_jobs: int | None) -> None:
        self._table, self._bins, self._weights, self._n_jobs = table, bins, weights, n_jobs
        self.n_levels = table.n_levels.copy()
        if bins is not None:
            continuous = np.flatnonzero(table.continuous)
            self.n_levels[continuous] = bins.n_levels(continuous)
        self._ready, self._packed = np.zeros((2, len(self.n_levels)), bool)
        self._widths = np.searchsorted([2**8, 2**16], self.n_levels)
        self._places = np.empty(len(self.n_levels), np.intp)
        self._matrices: list[Codes] = []
        for width, dtype in enumerate((np.uint8, np.uint16, np.uint32)):
            columns = np.flatnonzero(self._widths == width)
            self._places[columns] = np.arange(len(columns))
            # Memory that nobody has written to costs nothing.
            self._matrices.append(np.empty((len(columns), table.n_samples), dtype))
        if table.discrete.all() and not self._widths.any():
            # Those of the table will do as they are.
            self._matrices[0] = table.code_block(np.arange(len(self.n_levels)))[0]  # type: ignore[assignment]
            self._ready[:] = True

    def prepare(self, columns: Columns, rest: Rest | None = None) -> None:
        """Make what counting some columns against the rest needs, unless it is there already."""
        if not self._ready[columns].all():
            self._each_block(self._encode, columns[~self._ready[columns]])
            self._ready[columns] = True
        if rest is not None and (by_bits := self._by_bits(columns, rest)).any():
            few = columns[by_bits]
            _, _ = rest.sets, self._sets  # both are made here, once, before threads ask for them
            if not self._packed[few].all():
                self._each_block(self._pack, few[~self._packed[few]])
                self._packed[few] = True

    def codes(self, column: int) -> Codes:
        """Codes of one column."""
        self.prepare(np.array([column]))
        codes: Codes = self._matrices[self._widths[column]][self._places[column]]
        return codes

    def tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins."""
        rows = (0, self._table.n_samples)
        self.prepare(candidates, rest)
        by_bits = self._by_bits(candidates, rest)
        if not by_bits.any():
            return self.tables_of_part(candidates, rest, rows)
        tables, starts = self._empty_tables(candidates, rest)
        words = rest.sets.words.reshape(rest.n_levels - 1, -(-self._table.n_samples // 64))
        count_tables_by_bits(self._sets, candidates[by_bits], words, rest.sets.sizes[0], starts[by_bits], tables)
        if not by_bits.all():
            self._count(candidates[~by_bits], rest, rows, starts[~by_bits], tables)
        return tables, starts

    def tables_of_part(self, candidates: Columns, rest: Rest, rows: tuple[int, int]) -> tuple[Counts, Columns]:
        """The same of the rows from the first to before the last; those of all parts add up to those of all rows."""
        self.prepare(candidates)
        tables, starts = self._empty_tables(candidates, rest)
        self._count(candidates, rest, rows, starts, tables)
        return tables, starts

    def _each_block(self, work: Callable[[Columns], None], columns: Columns) -> None:
        size = max(1, _BLOCK // self._table.n_samples)
        map_tasks(work, [columns[start : start + size] for start in range(0, len(columns), size)], self._n_jobs)

    def _by_bits(self, candidates: Columns, rest: Rest) -> NDArray[np.bool_]:
        """Which candidates are counted by bit sets."""
        if self._weights is not None or len(candidates) < _FEWEST_CANDIDATES:
            return np.zeros(len(candidates), bool)
        n_levels = self.n_levels[candidates]
        n_pairs = np.maximum(n_levels - 1, 1) * (rest.n_levels - 1)
        return (n_levels <= MOST_LEVELS) & (n_pairs <= MOST_PAIRS)

    def _empty_tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        ends = np.cumsum(self.n_levels[candidates] * rest.n_levels)
        starts = np.concatenate([[0], ends[:-1]])
        whole = np.int32 if self._table.n_samples < 2**31 else np.int64
        return np.zeros(ends[-1], whole if self._weights is None else np.float64), starts

    def _count(self, candidates: Columns, rest: Rest, rows: tuple[int, int], starts: Columns, tables: Counts) -> None:
        """Add some rows to tables, the columns of every width by themselves."""
        for width, matrix in enumerate(self._matrices):
            chosen = self._widths[candidates] == width
            if not chosen.any():
                continue
            counted = (matrix, self._places[candidates[chosen]], rest.codes, rest.n_levels, rows)
            if self._weights is None:
                count_tables(*counted, starts[chosen], tables)
            else:
                count_weighted_tables(*counted, self._weights, starts[chosen], tables)

    @cached_property
    def _sets(self) -> Sets:
        n_sets = np.where(self.n_levels <= MOST_LEVELS, np.maximum(self.n_levels - 1, 0), 0)
        ends = np.cumsum(n_sets * -(-self._table.n_samples // 64))
        sizes = np.zeros((len(n_sets), MOST_LEVELS - 1), np.int64)
        return Sets(np.empty(ends[-1], np.uint64), np.concatenate([[0], ends[:-1]]), n_sets, sizes)

    def _pack(self, columns: Columns) -> None:
        """Write the bit sets of some columns of few levels."""
        pack_sets(self._matrices[0], self._places, columns, self._sets)

    def _encode(self, columns: Columns) -> None:
        """Write the codes of some columns; without bins the table says that a continuous one has none."""
        discrete = self._table.discrete[columns] | (self._bins is None)
        for width, matrix in enumerate(self._matrices):
            chosen = self._widths[columns] == width
            levels, numbers = columns[chosen & discrete], columns[chosen & ~discrete]
            if len(levels):
                matrix[self._places[levels]] = self._table.code_block(levels)[0]
            if len(numbers) and self._bins is not None:
                matrix[self._places[numbers]] = self._bins.codes(numbers, matrix.dtype)
