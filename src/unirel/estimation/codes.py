"""The codes of all columns as one matrix, and the contingency tables that are counted from it."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks, pieces
from unirel.data.table import Table
from unirel.data.values import empty_matrices, find_places
from unirel.estimation.base import Columns, Values
from unirel.estimation.kernels.bitsets import Sets, count_tables_by_bits, pack_sets
from unirel.estimation.kernels.counts import count_tables, count_weighted_tables

if TYPE_CHECKING:
    from unirel.estimation.binned import Bins

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
# Rows times candidates that are worth a task of their own.
_WORK = 2**20
# Numbers of a block of columns that are coded at a time.
_BLOCK = 2**18


class Joint:
    """Joint levels of some columns: how many there may be, and the code of every row, made when it is asked for.

    Parameters
    ----------
    n_levels : int
        How many.
    columns : tuple of int or None
        The columns whose codes, the first one foremost, they are; None for levels that were numbered anew.
    make : callable
        Gives the codes.
    """

    def __init__(self, n_levels: int, columns: tuple[int, ...] | None, make: Callable[[], Codes]) -> None:
        self.n_levels, self.columns, self._make = n_levels, columns, make

    @cached_property
    def codes(self) -> Codes:
        """The code of every row."""
        return self._make()

    def beside(self, other: "Joint", most: int) -> "Joint":
        """Joint levels of both, numbered anew in the order of those in use where there would be too many."""
        n_levels = self.n_levels * other.n_levels
        if n_levels > most:
            levels, codes = np.unique(self.codes.astype(np.int64) * other.n_levels + other.codes, return_inverse=True)
            return Joint(len(levels), None, lambda: codes.astype(np.uint32))
        columns = None if self.columns is None or other.columns is None else self.columns + other.columns
        return Joint(n_levels, columns, lambda: self.codes.astype(np.uint32) * np.uint32(other.n_levels) + other.codes)


class Rest:
    """What candidates are counted against: the joint levels of a fixed block and another one.

    Its codes are made when a source first asks for them; one whose rows are elsewhere asks for the columns instead.
    """

    def __init__(self, codes: Codes | Joint, n_fixed: int, n_other: int) -> None:
        self._joint = codes if isinstance(codes, Joint) else Joint(n_fixed * n_other, None, lambda: codes)
        self.columns = self._joint.columns
        self.n_fixed, self.n_other = n_fixed, n_other
        self.n_levels = n_fixed * n_other

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The joint code of every row; of one type only, so that kernels are compiled once."""
        return self._joint.codes.astype(np.uint32, copy=False)

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
    n_samples: int
    cells_at_once: int  # of tables that are asked for together

    def columns_at_once(self, n_candidates: int) -> int:
        """How many of some candidates are counted together, in a thread or in a step."""

    def prepare(self, columns: Columns, rest: Rest | None = None) -> None:
        """Make what counting some columns against the rest needs; called first by whoever counts in threads."""

    def codes(self, column: int) -> Codes:
        """Codes of one column."""

    def tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins."""

    def counts(self, joint: Joint) -> Counts:
        """How many rows, or which weight, each joint level has."""

    def row_weights(self) -> Values | None:
        """Weight of every row, None if all count alike."""

    def weighted(self, weights: Values) -> Self:
        """The same codes with other weights of the rows."""


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

    cells_at_once = 2**18  # few enough to stay in the cache of a thread

    def __init__(self, table: Table, bins: "Bins | None", weights: Values | None, n_jobs: int | None) -> None:
        n_levels = table.n_levels.copy()
        if bins is not None:
            continuous = np.flatnonzero(table.continuous)
            n_levels[continuous] = bins.n_levels(continuous)
        self._table, self._bins = table, bins
        # Memory that nobody has written to costs nothing.
        self._hold(n_levels, empty_matrices(n_levels, table.n_samples, np.empty), weights, n_jobs)
        if table.discrete.all() and not self._widths.any():
            # Those of the table will do as they are.
            self._matrices[0] = table.code_block(np.arange(len(self.n_levels)))[0]  # type: ignore[assignment]
            self._ready[:] = True

    @classmethod
    def of_codes(
        cls, n_levels: NDArray[np.int64], matrices: list[Codes], weights: Values | None, n_jobs: int | None = 1
    ) -> "CodeMatrix":
        """The same from codes that are there already, in matrices as `empty_matrices` makes them."""
        self = cls.__new__(cls)
        self._hold(n_levels, matrices, weights, n_jobs)
        self._ready[:] = True
        return self

    def _hold(
        self, n_levels: NDArray[np.int64], matrices: list[Codes], weights: Values | None, n_jobs: int | None
    ) -> None:
        self.n_levels, self.n_samples = n_levels, matrices[0].shape[1]
        self._matrices, self._weights, self._n_jobs = matrices, weights, n_jobs
        self._widths, self._places = find_places(n_levels)
        self._ready, self._packed = np.zeros((2, len(n_levels)), bool)

    def prepare(self, columns: Columns, rest: Rest | None = None) -> None:
        """Make what counting some columns against the rest needs, unless it is there already."""
        if not self._ready[columns].all():
            self._each_block(self._encode, columns[~self._ready[columns]])
            self._ready[columns] = True
        if rest is None:
            return
        _ = rest.codes  # made here, once, before threads ask for them, and so are sets
        if (by_bits := self._by_bits(columns, rest)).any():
            few = columns[by_bits]
            _, _ = rest.sets, self._sets
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
        rows = (0, self.n_samples)
        by_bits = self._by_bits(candidates, rest)
        if not by_bits.any():
            return self.tables_of_part(candidates, rest, rows)
        tables, starts = self._empty_tables(candidates, rest)
        words = rest.sets.words.reshape(rest.n_levels - 1, -(-self.n_samples // 64))
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

    def columns_at_once(self, n_candidates: int) -> int:
        """How many of some candidates are counted together, in a thread."""
        return tasks_of(self.n_samples, n_candidates)

    def counts(self, joint: Joint) -> Counts:
        """How many rows, or which weight, each joint level has."""
        return np.bincount(joint.codes, self._weights, joint.n_levels)

    def row_weights(self) -> Values | None:
        """Weight of every row, None if all count alike."""
        return self._weights

    def weighted(self, weights: Values) -> Self:
        """The same codes with other weights of the rows."""
        found = copy(self)
        found._weights = weights
        return found

    def _each_block(self, work: Callable[[Columns], None], columns: Columns) -> None:
        map_tasks(work, pieces(columns, _BLOCK // self.n_samples), self._n_jobs)

    def _by_bits(self, candidates: Columns, rest: Rest) -> NDArray[np.bool_]:
        """Which candidates are counted by bit sets."""
        if self._weights is not None or len(candidates) < _FEWEST_CANDIDATES:
            return np.zeros(len(candidates), bool)
        n_levels = self.n_levels[candidates]
        few: NDArray[np.bool_] = n_levels <= MOST_LEVELS
        return few & (np.maximum(n_levels - 1, 1) * (rest.n_levels - 1) <= MOST_PAIRS) if few.any() else few

    def _empty_tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        ends = np.cumsum(self.n_levels[candidates] * rest.n_levels)
        starts = np.concatenate([[0], ends[:-1]])
        whole = np.int32 if self.n_samples < 2**31 else np.int64
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
        ends = np.cumsum(n_sets * -(-self.n_samples // 64))
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


def tasks_of(n_samples: int, n_candidates: int) -> int:
    """How many candidates make a task: an eighth of them, or as many as are worth it."""
    return max(_WORK // n_samples, -(-n_candidates // 8))
