"""Counted information of many candidates at once: their codes and bins, contingency tables, and the entropies of these.

`Counted` has what a search asks for in every step; `Binned` in `binned.py` is the whole estimator.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from unirel._runtime import check_choice, check_whole_number, map_tasks, pieces
from unirel.data.encoding import empty_matrices, find_places
from unirel.data.kernels import find_bins, find_edges
from unirel.data.table import Table
from unirel.data.weights import check_weights
from unirel.estimation.base import Block, Columns, Information, Values
from unirel.estimation.bits import BitSets, sets_of
from unirel.estimation.kernels.bitsets import Sets
from unirel.estimation.kernels.chance import COARSE, FINE, NOTHING, Chance, joined
from unirel.estimation.kernels.counts import NO_CHANCE, Lookup, count_tables, known_n_log_n, sum_tables

Codes = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[Any]  # int32 or int64, float64 with weights
Strategy = Literal["quantile", "uniform", "mdl"]
Correction = Literal["chance", "miller-madow"] | None
CORRECTIONS, STRATEGIES = ("chance", "miller-madow", None), ("quantile", "uniform", "mdl")

# Cells of a table beyond which it is not counted directly, however many rows: it may have to travel.
_MOST_CELLS = 2**22
# Whole numbers whose n log n is kept, and lookup tables of what is told by chance.
_KNOWN, _MOST_LOOKUPS = 2**16, 256
# Packing the fixed side costs as much as counting a few candidates directly. And with fewer rows times candidates than
# the second number a direct table takes a tenth of a millisecond: another kernel is not worth compiling.
_FEWEST_CANDIDATES, _WORK_FOR_BITS = 8, 2**17
# Rows times candidates that are worth a task of their own, and numbers of a block of columns coded at a time.
_WORK, _BLOCK = 2**20, 2**18


class Joint:
    """Joint levels of some columns: how many there may be, and the code of every row, made when it is asked for.

    Its columns are those whose codes, the first one foremost, they are; None for levels that were numbered anew.
    """

    def __init__(self, n_levels: int, columns: tuple[int, ...] | None, make: Callable[[], Codes]) -> None:
        self.n_levels, self.columns, self._make = n_levels, columns, make

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code of every row; of one type only, so that kernels are compiled once."""
        return self._make().astype(np.uint32, copy=False)

    @cached_property
    def sets(self) -> Sets:
        """Its levels as bit sets."""
        return sets_of(self.codes, self.n_levels)

    def beside(self, other: "Joint", most: int) -> "Joint":
        """Joint levels of both, numbered anew in the order of those in use where there would be too many."""
        n_levels = self.n_levels * other.n_levels
        if n_levels > most:
            levels, codes = np.unique(self.codes.astype(np.int64) * other.n_levels + other.codes, return_inverse=True)
            return Joint(len(levels), None, lambda: codes)
        if self.columns == ():
            return other
        columns = None if self.columns is None or other.columns is None else self.columns + other.columns
        return Joint(n_levels, columns, lambda: self.codes * np.uint32(other.n_levels) + other.codes)


def joint_of(codes: "CodeMatrix", columns: Block, most: int) -> Joint:
    """Joint levels of several columns."""
    joint = Joint(1, (), lambda: np.zeros(codes.n_samples, np.uint32))
    for column in map(int, columns):
        joint = joint.beside(Joint(int(codes.n_levels[column]), (column,), partial(codes.codes, column)), most)
    return joint


class CodeMatrix:
    """Codes of all columns, a row for each, in matrices as `empty_matrices` makes them, of the narrowest types."""

    cells_at_once = 2**18  # few enough to stay in the cache of a thread

    def __init__(
        self, n_levels: NDArray[np.int64], matrices: list[Codes], weights: Values | None, n_jobs: int | None = 1
    ) -> None:
        self.n_levels, self.n_samples = n_levels, int(matrices[0].shape[1])
        self._matrices, self._n_jobs = matrices, n_jobs
        self.weights = weights  # of every row, None if all count alike
        self._widths, self._places = find_places(n_levels)

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        """Make what counting some columns against the rest needs, unless it is there already."""
        if rest is None:
            return
        _ = rest.codes  # made here, once, before threads ask for them, and so are sets
        if (by_bits := self._by_bits(columns, rest)).any():
            _ = rest.sets
            self._bits.pack(columns[by_bits], self._n_jobs)

    def codes(self, column: int) -> Codes:
        self.prepare(np.array([column]))
        codes: Codes = self._matrices[self._widths[column]][self._places[column]]
        return codes

    def tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins."""
        # They have been prepared, by whoever counts in threads.
        tables, starts = self._empty_tables(candidates, rest)
        by_bits = self._by_bits(candidates, rest)
        if by_bits.any():
            self._bits.count(candidates[by_bits], rest.sets, starts[by_bits], tables)
        for width, matrix in enumerate(self._matrices):
            if len(matrix) == 0:
                continue
            chosen = ~by_bits & (self._widths[candidates] == width)
            places = self._places[candidates[chosen]]
            count_tables(matrix, places, rest.codes, rest.n_levels, self.weights, starts[chosen], tables)
        return tables, starts

    def columns_at_once(self, n_candidates: int) -> int:
        """How many of some candidates are counted together, in a thread: an eighth, or as many as are worth it."""
        return max(_WORK // self.n_samples, -(-n_candidates // 8))

    def counts(self, joint: Joint) -> Counts:
        """How many rows, or which weight, each joint level has."""
        return np.bincount(joint.codes, self.weights, joint.n_levels)

    def weighted(self, weights: Values) -> Self:
        """The same codes with other weights of the rows."""
        found = copy(self)
        found.weights = weights
        return found

    def _by_bits(self, candidates: Columns, rest: Joint) -> NDArray[np.bool_]:
        """Which candidates are counted by bit sets."""
        is_little = len(candidates) < _FEWEST_CANDIDATES or len(candidates) * self.n_samples < _WORK_FOR_BITS
        if self.weights is not None or is_little:
            return np.zeros(len(candidates), bool)
        return self._bits.serve(candidates, rest.n_levels)

    def _empty_tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        sizes = self.n_levels[candidates] * rest.n_levels
        ends = np.cumsum(sizes)
        whole = np.int32 if self.n_samples < 2**31 else np.int64
        return np.zeros(ends[-1], whole if self.weights is None else np.float64), ends - sizes

    @cached_property
    def _bits(self) -> BitSets:
        return BitSets(self._matrices[0], self._places, self.n_levels)


class TableCodes(CodeMatrix):
    """Codes of all columns of a table, made when they are first asked for: levels, and bins of continuous columns."""

    def __init__(self, table: Table, bins: "Bins", weights: Values | None, n_jobs: int | None) -> None:
        # Memory that nobody has written to costs nothing.
        super().__init__(bins.n_levels, empty_matrices(bins.n_levels, table.n_samples, np.empty), weights, n_jobs)
        self._table, self._bins, self._ready = table, bins, np.zeros(len(self.n_levels), bool)
        if table.discrete.all() and not self._widths.any():
            # Those of the table will do as they are.
            self._matrices[0] = table.code_block(np.arange(len(self.n_levels)))[0]  # type: ignore[assignment]
            self._ready[:] = True

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        missing = columns[~self._ready[columns]]
        map_tasks(self._encode, pieces(missing, _BLOCK // self.n_samples), self._n_jobs)
        self._ready[missing] = True
        super().prepare(columns, rest)

    def _encode(self, columns: Columns) -> None:
        discrete = self._table.discrete[columns]
        for width, matrix in enumerate(self._matrices):
            chosen = self._widths[columns] == width
            levels, numbers = columns[chosen & discrete], columns[chosen & ~discrete]
            if len(levels):
                matrix[self._places[levels]] = self._table.code_block(levels)[0]
            if len(numbers):
                matrix[self._places[numbers]] = self._bins.codes(numbers, matrix.dtype)


class Bins:
    """Bins of the continuous columns of a table; missing values have a level of their own, behind them.

    Columns are cut into `n_bins` by a rule, those of which the edges are known by these.
    """

    def __init__(
        self, table: Table, n_bins: int, strategy: Strategy, known: dict[int, Values], weights: Values | None
    ) -> None:
        self.n_bins, self.strategy, self.known, self._table, self._weights = n_bins, strategy, known, table, weights
        self.n_levels = table.n_levels.copy()  # of all columns
        self.n_levels[table.continuous] = n_bins
        for column in known.keys() & set(np.flatnonzero(table.continuous).tolist()):
            self.n_levels[column] = len(known[column]) + 1
        self.n_levels += table.continuous & table.has_missing
        # How many bins, if they are plain ones of equal frequency, which need no look at other columns or weights.
        self.equal_frequency = n_bins if strategy == "quantile" and weights is None and not known else None

    def codes(self, columns: Columns, dtype: np.dtype[Any]) -> NDArray[Any]:
        values = self._table.continuous_block(columns)
        codes = np.empty(values.shape, dtype)
        if self.strategy != "mdl":  # its edges are all known
            edges = find_edges(values, self.n_bins, self.strategy, self._weights)
            find_bins(values, edges, np.full(len(values), self.n_bins), codes)
        for place, column in enumerate(columns.tolist()):
            if (own := self.known.get(column)) is not None:
                find_bins(values[[place]], own[None], np.array([len(own) + 1]), codes[place : place + 1])
        return codes


class Margins(NamedTuple):
    """Entropies of every candidate x, of a fixed block s, of another block y, and of what they are together.

    Those by chance are what x tells about y, about y within the levels of s, and about s, and what s tells about y.
    """

    x: Values
    xs: Values
    xy: Values
    xsy: Values
    x_by_chance: Values
    x_by_chance_within_s: Values
    s_from_x_by_chance: Values
    s: float
    y: float
    sy: float
    s_by_chance: float


class Counted(Information):
    """What tables of candidates, fixed columns and the target tell, less what that is by chance."""

    def __init__(
        self,
        n_bins: int | Literal["auto"] = "auto",
        strategy: Strategy = "quantile",
        correction: Correction = "chance",
        edges: Mapping[Any, ArrayLike] | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.correction = correction
        self.edges = edges

    def check_parameters(self) -> None:
        check_choice("correction", self.correction, CORRECTIONS)
        check_choice("strategy", self.strategy, STRATEGIES)
        if self.n_bins != "auto":
            check_whole_number("n_bins", self.n_bins, 2, or_name="auto")

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        table = self.table
        self.compares_raw = self._by_chance = self.correction == "chance"
        self.looks_at_target = bool(self.strategy == "mdl" and table.continuous.any() and table.discrete[table.target])
        self._weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        self._total = float(table.n_samples if self._weights is None else self._weights.sum())
        self.n_bins_ = self._find_n_bins() if self.n_bins == "auto" else self.n_bins
        known = self._known_edges() if self.edges or self.strategy == "mdl" else {}
        bins = Bins(table, self.n_bins_, self.strategy, known, self._weights)
        self._codes: CodeMatrix
        if table.is_sparse or table.is_parted:
            self._open_codes(bins)
        else:
            self._codes = TableCodes(table, bins, self._weights, self.n_jobs)
        # More cells would cost more to clear and read than the data to count.
        self._most_cells = min(max(2**14, 4 * table.n_samples), _MOST_CELLS)
        self._known = known_n_log_n(min(int(self._total) + 1, _KNOWN))
        self._of_all = self._sum_n_log_n(np.array([self._total]))
        self._latest: tuple[tuple[int, ...], int, bool, Columns, Margins] | None = None
        self._lookups: dict[Any, Lookup] = {}

    def toward(self, table: Table) -> Self:
        of_other_kind = table.discrete[table.target] != self.table.discrete[self.table.target]
        if self.looks_at_target or (of_other_kind and self.n_bins == "auto"):
            return super().toward(table)
        other = copy(self)
        other.table, other._latest = table, None
        return other

    def pairwise(self, candidates: Block, column: int) -> Values:
        if self._latest is not None:
            fixed, _, about_fixed, columns, margins = self._latest
            if fixed == (column,) and about_fixed and np.array_equal(columns, candidates):
                return margins.x + margins.s - margins.xs - margins.s_from_x_by_chance
        margins = self._margins(candidates, None, column)
        return margins.x + margins.y - margins.xy - margins.x_by_chance

    def joint(self, candidates: Block, selected: Block) -> Values:
        """I(x, s; y) = I(s; y) + I(x; y | s)."""
        margins = self._margins(candidates, selected, self.table.target)
        return margins.xs + margins.y - margins.xsy - margins.s_by_chance - margins.x_by_chance_within_s

    @abstractmethod
    def _known_edges(self) -> dict[int, Values]:
        """Edges that are given or that need all values of a column and the target, by position of their column."""

    @abstractmethod
    def _open_codes(self, bins: Bins) -> None:
        """Find the codes of a table that is sparse or in parts."""

    def _find_n_bins(self) -> int:
        # A continuous target has bins of its own, which make tables of 8 x 8 x 8 cells of two features and the target;
        # a few hundred rows leave these nearly empty, so it takes fewer. Measured in docs/which_selector.rst.
        if self.table.discrete[self.table.target]:
            return 8
        weights = self.table.weights
        return few_bins(self._total if weights is None else weights.n_effective)

    def _margins(self, candidates: Block, fixed: Block | None, other: int, about_fixed: bool = False) -> Margins:
        """All entropies that tables of candidates, fixed columns and another one hold, from one pass over the rows."""
        # The latest ones are kept: a criterion that asks for several things about the same columns pays for one pass.
        # `fixed` may be None where it does not matter; `about_fixed` if it is wanted what candidates tell about it.
        candidates, key = np.asarray(candidates, np.intp), None if fixed is None else tuple(map(int, fixed))
        if self._latest is not None:
            of_latest, column, has_fixed, columns, margins = self._latest
            same = column == other and key in (None, of_latest) and has_fixed >= about_fixed
            if same and np.array_equal(columns, candidates):
                return margins
        key = key or ()
        margins = self._count(candidates, self._block(key), self._block([other]), about_fixed)
        self._latest = key, other, about_fixed, candidates, margins
        return margins

    def _count(self, candidates: Columns, fixed: Joint, other: Joint, about_fixed: bool = False) -> Margins:
        both = self._combine(fixed, other)
        # Of a table in parts the others are margins of the first, which is there by then.
        counts = [self._codes.counts(one) for one in (both, other, fixed)][::-1]
        chance = self._lookup_of(other, fixed, about_fixed, counts)
        n_pairs = fixed.n_levels * other.n_levels
        # Relabelled codes of both no longer tell the two apart.
        direct = self._codes.n_levels[candidates] <= (self._most_cells // n_pairs if both.n_levels == n_pairs else 0)
        sums = np.empty((len(candidates), 11))
        sums[direct] = self._sums(candidates[direct], both, other.n_levels, chance)
        if not direct.all():
            sums[~direct] = self._sums_in_groups(candidates[~direct], fixed, other, chance)
        self._ceilings[candidates] = self._entropies(sums[:, 0])
        entropies, by_chance = self._entropies(sums[:, :4], sums[:, 7:]).T, sums[:, 4:7].T / self._total
        single = [self._entropy_of(one) for one in counts]
        return Margins._make([*entropies, *by_chance, *single, self._looked_up(counts[0], chance) / self._total])

    def _lookup_of(self, other: Joint, fixed: Joint, about_fixed: bool, counts: list[Counts]) -> Lookup:
        """What is told by chance about a block, about it within the levels of a fixed one, and about that one."""
        if not self._by_chance:
            return NO_CHANCE
        key: Any = (fixed.columns, other.columns, about_fixed)
        if None in key:  # rows in another order, or levels that were numbered anew
            key = (fixed.n_levels, about_fixed, counts[2].tobytes())
        return self._remembered(key, lambda: self._make_lookup(other, fixed, about_fixed, counts))

    def _make_lookup(self, other: Joint, fixed: Joint, about_fixed: bool, counts: list[Counts]) -> Lookup:
        of_fixed, of_other, of_both = counts
        # Of the target, whose rows may be in another order, more exactly.
        grid = FINE if other.columns in (None, (self.table.target,)) else COARSE
        about_other = self._remembered(other.columns or of_other.tobytes(), lambda: Chance.about(of_other, grid).lookup)
        if fixed.n_levels == 1:
            return joined(about_other, about_other, NOTHING)
        within = Chance.within(of_both, self._begins_within(fixed, other, len(of_both))).lookup
        return joined(about_other, within, Chance.about(of_fixed, COARSE).lookup if about_fixed else NOTHING)

    def _remembered(self, key: Any, make: Callable[[], Lookup]) -> Lookup:
        if key not in self._lookups:
            if len(self._lookups) >= _MOST_LOOKUPS:
                self._lookups.clear()
            self._lookups[key] = make()
        return self._lookups[key]

    def _begins_within(self, fixed: Joint, other: Joint, n_pairs: int) -> Columns:
        """Where the pairs of each fixed level begin among all pairs of one and another level."""
        if n_pairs == fixed.n_levels * other.n_levels:
            return np.arange(0, n_pairs + 1, other.n_levels)
        # Pairs that were numbered anew are still in the order of fixed levels.
        _, rows = np.unique(self._combine(fixed, other).codes, return_index=True)
        return np.searchsorted(fixed.codes[rows], np.arange(fixed.n_levels + 1))

    @abstractmethod
    def _sums_in_groups(self, candidates: Columns, fixed: Joint, other: Joint, chance: Lookup) -> Values:
        """The same as `_sums` where a table would have far more cells than there are rows."""

    def _sums(self, candidates: Columns, rest: Joint, n_other: int, chance: Lookup) -> Values:
        """Sums of the margins of every candidate's table: n log n and chance, as `sum_tables`, and four of levels used.

        The last four are those of n log n with 1 for each level in use; they are left out unless somebody needs them.
        """
        sums = np.empty((len(candidates), 11))
        self._codes.prepare(candidates, rest)
        most = int(self._codes.n_levels[candidates].max(initial=1)) * rest.n_levels

        def count(part: slice) -> None:
            tables, starts = self._codes.tables(candidates[part], rest)
            room, is_known = np.empty(n_other, tables.dtype), self._is_known(tables)
            shape = starts, self._codes.n_levels[candidates[part]], rest.n_levels // n_other
            sum_tables(tables, *shape, room, self._known, chance, sums[part], is_known)
            if self.correction == "miller-madow":
                # With 1 for every cell in use, and 1 instead of n log n for all but 0, the sums are levels in use.
                in_use, known = np.empty((len(starts), 7)), np.minimum(np.arange(most + 1.0), 1.0)
                sum_tables((tables > 0).astype(tables.dtype), *shape, room, known, NO_CHANCE, in_use, is_known)
                sums[part, 7:] = in_use[:, :4]

        size = max(1, min(self._codes.columns_at_once(len(candidates)), self._codes.cells_at_once // most))
        map_tasks(count, [slice(first, first + size) for first in range(0, len(candidates), size)], self.n_jobs)
        return sums

    def _entropy_of(self, counts: Counts) -> float:
        return float(self._entropies(self._sum_n_log_n(counts), np.count_nonzero(counts)))

    def _entropies(self, sums: Any, used: Any = None) -> Any:
        """Entropies from sums of n log n and, if they are to be corrected, from how many levels are in use."""
        entropies = (self._of_all - sums) / self._total
        if used is not None and self.correction == "miller-madow":
            entropies = entropies + (used - 1) / (2 * self._total)
        return entropies

    def _sum_n_log_n(self, counts: Counts) -> float:
        """Of counts or sums of weights; whole ones are looked up, so that a weight of 2 gives the bits of two rows."""
        whole = counts.astype(np.int64, copy=False)
        if whole.max(initial=0) < len(self._known) and (whole == counts).all():
            return float(self._known[whole].sum())
        return float(xlogy(counts, counts).sum())

    def _is_known(self, counts: Counts) -> bool | None:
        """True for numbers of rows, none of which can be more than what n log n is kept of; None for others."""
        return True if counts.dtype.kind == "i" and self._total < len(self._known) else None

    def _looked_up(self, counts: Counts, chance: Lookup) -> float:
        """What levels of so many rows tell by chance about the other side, times all rows."""
        few = counts.dtype.kind == "i" and self._total < 2**31
        table = counts.astype(np.int32) if few else counts  # as tables of candidates are: the kernel is compiled once
        sums, start, n_levels = np.empty((1, 7)), np.zeros(1, np.int64), np.array([len(table)])
        sum_tables(
            table, start, n_levels, 1, np.empty(1, table.dtype), self._known, chance, sums, self._is_known(table)
        )
        return float(sums[0, 4])

    def _block(self, columns: Block) -> Joint:
        return joint_of(self._codes, columns, self._most_cells)

    def _combine(self, a: Joint, b: Joint) -> Joint:
        return a.beside(b, self._most_cells)


def few_bins(total: float) -> int:
    """As many bins as leave enough rows in each for tests of weak relations, and for tables of three columns."""
    return min(20, max(3, round(math.sqrt(math.sqrt(total)))))
