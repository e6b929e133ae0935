"""The codes of all columns as one matrix, how continuous ones are cut into bins, and the tables counted from them."""

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks, pieces
from unirel.data.encoding import empty_matrices, find_places
from unirel.data.kernels import find_bins, frequency_edges, width_edges
from unirel.data.table import Table
from unirel.estimation.base import Block, Columns, Values
from unirel.estimation.kernels.bins import description_edges
from unirel.estimation.kernels.bitsets import Sets, count_tables_by_bits, pack_sets
from unirel.estimation.kernels.counts import count_tables, known_n_log_n

Codes = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[Any]  # int32 or int64, float64 with weights
Strategy = Literal["quantile", "uniform", "mdl"]

# Bit sets are made of columns with at most that many levels, and used while they share at most that many pairs of sets
# with what is fixed. Measured, ns per row and candidate by bits and by a direct table, with a target of 2 classes and
# a fixed column of as many levels as the candidates: 2 levels (3 pairs) 0.013 and 0.47, 3 (10) 0.05 and 0.48, 4 (21)
# 0.14 and 0.46, 5 (36) 0.23 and 0.46, 8 (105) 0.57 and 0.45 for 100,000 rows; for 800 rows 0.03 and 0.7, 0.10 and 1.1,
# 0.16 and 1.1, 0.53 and 1.1, 1.5 and 0.9. They cross at 60 to 90 pairs.
MOST_LEVELS = 6
MOST_PAIRS = 64
# Packing the fixed side costs as much as counting a few candidates directly. And with fewer rows times candidates than
# the second number a direct table takes a tenth of a millisecond: another kernel is not worth compiling.
_FEWEST_CANDIDATES, _WORK_FOR_BITS = 8, 2**17
# Rows times candidates that are worth a task of their own.
_WORK = 2**20
# Numbers of a block of columns that are coded, or sorted, at a time.
_BLOCK = 2**18
# Edges that minimum description length may find: bins and a level for missing values fit into a byte.
_MOST_EDGES = 254


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
        """Its levels, few enough for a byte where bits are counted, as bit sets; the last one is left out."""
        n_words = -(-len(self.codes) // 64)
        zero = np.zeros(1, np.intp)
        words, sizes = np.empty((self.n_levels - 1) * n_words, np.uint64), np.zeros((1, self.n_levels), np.int64)
        sets = Sets(words, zero, np.array([self.n_levels - 1]), sizes)
        pack_sets(self.codes[None].astype(np.uint8), zero, zero, sets)
        sizes[0, -1] = len(self.codes) - sizes.sum()
        return sets

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

    @property
    def relevance(self) -> Values:
        """I(x; y)."""
        return self.x + self.y - self.xy - self.x_by_chance

    @property
    def conditional(self) -> Values:
        """I(x; y | s)."""
        return self.xs + self.sy - self.s - self.xsy - self.x_by_chance_within_s

    @property
    def joint(self) -> Values:
        """I(x, s; y) = I(s; y) + I(x; y | s)."""
        return self.xs + self.y - self.xsy - self.s_by_chance - self.x_by_chance_within_s

    @property
    def redundancy(self) -> Values:
        """I(x; s)."""
        return self.x + self.s - self.xs - self.s_from_x_by_chance

    @property
    def conditional_redundancy(self) -> Values:
        """I(x; s | y) = I(x; s) + I(x; y | s) - I(x; y), so that criteria that are equal on paper are equal here."""
        by_chance = self.s_from_x_by_chance + self.x_by_chance_within_s - self.x_by_chance
        return self.xy + self.sy - self.y - self.xsy - by_chance


class CodeMatrix:
    """Codes of all columns, a row for each, in matrices as `empty_matrices` makes them, of the narrowest types."""

    cells_at_once = 2**18  # few enough to stay in the cache of a thread

    def __init__(
        self, n_levels: NDArray[np.int64], matrices: list[Codes], weights: Values | None, n_jobs: int | None = 1
    ) -> None:
        self.n_levels, self.n_samples = n_levels, int(matrices[0].shape[1])
        self._matrices, self._weights, self._n_jobs = matrices, weights, n_jobs
        self._widths, self._places = find_places(n_levels)
        self._packed = np.zeros(len(n_levels), bool)

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        """Make what counting some columns against the rest needs, unless it is there already."""
        if rest is None:
            return
        _ = rest.codes  # made here, once, before threads ask for them, and so are sets
        if (by_bits := self._by_bits(columns, rest)).any():
            few = columns[by_bits]
            _ = rest.sets
            if not self._packed[few].all():
                pack = partial(pack_sets, self._matrices[0], self._places, sets=self._sets)
                self._each_block(pack, few[~self._packed[few]])
                self._packed[few] = True

    def codes(self, column: int) -> Codes:
        self.prepare(np.array([column]))
        codes: Codes = self._matrices[self._widths[column]][self._places[column]]
        return codes

    def tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins.

        They have been prepared, by whoever counts in threads.
        """
        tables, starts = self._empty_tables(candidates, rest)
        by_bits = self._by_bits(candidates, rest)
        if by_bits.any():
            words = rest.sets.words.reshape(rest.n_levels - 1, -(-self.n_samples // 64))
            count_tables_by_bits(self._sets, candidates[by_bits], words, rest.sets.sizes[0], starts[by_bits], tables)
        for width, matrix in enumerate(self._matrices):
            if len(matrix) == 0:
                continue
            chosen = ~by_bits & (self._widths[candidates] == width)
            places = self._places[candidates[chosen]]
            count_tables(matrix, places, rest.codes, rest.n_levels, self._weights, starts[chosen], tables)
        return tables, starts

    def columns_at_once(self, n_candidates: int) -> int:
        """How many of some candidates are counted together, in a thread: an eighth, or as many as are worth it."""
        return max(_WORK // self.n_samples, -(-n_candidates // 8))

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

    def _by_bits(self, candidates: Columns, rest: Joint) -> NDArray[np.bool_]:
        """Which candidates are counted by bit sets."""
        is_little = len(candidates) < _FEWEST_CANDIDATES or len(candidates) * self.n_samples < _WORK_FOR_BITS
        if self._weights is not None or is_little:
            return np.zeros(len(candidates), bool)
        n_levels = self.n_levels[candidates]
        few: NDArray[np.bool_] = n_levels <= MOST_LEVELS
        return few & (np.maximum(n_levels - 1, 1) * (rest.n_levels - 1) <= MOST_PAIRS) if few.any() else few

    def _empty_tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        sizes = self.n_levels[candidates] * rest.n_levels
        ends = np.cumsum(sizes)
        whole = np.int32 if self.n_samples < 2**31 else np.int64
        return np.zeros(ends[-1], whole if self._weights is None else np.float64), ends - sizes

    @cached_property
    def _sets(self) -> Sets:
        n_sets = np.where(self.n_levels <= MOST_LEVELS, np.maximum(self.n_levels - 1, 0), 0)
        ends = np.cumsum(n_sets * -(-self.n_samples // 64))
        sizes = np.zeros((len(n_sets), MOST_LEVELS - 1), np.int64)
        return Sets(np.empty(ends[-1], np.uint64), np.concatenate([[0], ends[:-1]]), n_sets, sizes)


class TableCodes(CodeMatrix):
    """Codes of all columns of a table, made when they are first asked for.

    Discrete columns keep their levels, bins say how continuous ones are cut.
    """

    def __init__(self, table: Table, bins: "Bins", weights: Values | None, n_jobs: int | None) -> None:
        # Memory that nobody has written to costs nothing.
        super().__init__(bins.n_levels, empty_matrices(bins.n_levels, table.n_samples, np.empty), weights, n_jobs)
        self._table, self._bins, self._ready = table, bins, np.zeros(len(self.n_levels), bool)
        if table.discrete.all() and not self._widths.any():
            # Those of the table will do as they are.
            self._matrices[0] = table.code_block(np.arange(len(self.n_levels)))[0]  # type: ignore[assignment]
            self._ready[:] = True

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        if not self._ready[columns].all():
            self._each_block(self._encode, columns[~self._ready[columns]])
            self._ready[columns] = True
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


class Cuts(NamedTuple):
    """How continuous columns are cut: into how many bins, by which rule, and edges that are given."""

    n_bins: int
    strategy: Strategy
    given: dict[int, Values]


class Bins:
    """Bins of the continuous columns of a table, found when they are first asked for, unless their edges are given.

    Missing values have a level of their own, behind the bins. The class of every row is needed by "mdl" only.
    """

    def __init__(
        self, table: Table, cuts: Cuts, labels: NDArray[np.integer] | None, weights: Values | None, n_jobs: int | None
    ) -> None:
        self._table, self._cuts, self._n_jobs = table, cuts, n_jobs
        self._find = partial(find_edges, n_bins=cuts.n_bins, strategy=cuts.strategy, labels=labels, weights=weights)
        # How many bins, if they are plain ones of equal frequency, which need no look at other columns or weights.
        self.equal_frequency = (
            cuts.n_bins if cuts.strategy == "quantile" and weights is None and not cuts.given else None
        )

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of all columns of the table; of continuous ones bins, and one for missing values if there are any."""
        table, n_levels, continuous = self._table, self._table.n_levels.copy(), np.flatnonzero(self._table.continuous)
        is_described = self._cuts.strategy == "mdl"
        n_levels[continuous] = self._described[1][continuous] + 1 if is_described else self._cuts.n_bins
        for column in self._cuts.given.keys() & set(continuous.tolist()):
            n_levels[column] = len(self._cuts.given[column]) + 1
        n_levels[continuous] += table.has_missing[continuous]
        return n_levels

    def codes(self, columns: Columns, dtype: np.dtype[Any]) -> NDArray[Any]:
        values = self._table.continuous_block(columns)
        edges, n_edges = self._edges(columns, values)
        codes = np.empty(values.shape, dtype)
        find_bins(values, edges, n_edges + 1, codes)
        return codes

    def _edges(self, columns: Columns, values: Values) -> tuple[Values, Columns]:
        """Edges of some columns, as `find_edges` gives them, or those that are given."""
        if self._cuts.strategy == "mdl":
            edges, n_edges = self._described[0][columns], self._described[1][columns]
        else:
            edges, n_edges = self._find(values)
        for place, column in enumerate(columns.tolist()):
            if (own := self._cuts.given.get(column)) is not None:
                room = np.full((len(edges), max(0, len(own) - edges.shape[1])), np.inf)
                edges = np.hstack([edges, room])
                edges[place], edges[place, : len(own)], n_edges[place] = np.inf, own, len(own)
        return edges, n_edges

    @cached_property
    def _described(self) -> tuple[Values, Columns]:
        """Edges of minimum description length of all columns, the number of which nobody knows before."""
        continuous = np.flatnonzero(self._table.continuous)
        blocks = pieces(continuous, _BLOCK // self._table.n_samples)
        found = map_tasks(lambda block: self._find(self._table.continuous_block(block)), blocks, self._n_jobs)
        n_edges = np.zeros(len(self._table.columns), np.intp)
        for block, (_, numbers) in zip(blocks, found, strict=True):
            n_edges[block] = numbers
        edges = np.full((len(n_edges), n_edges.max(initial=0)), np.inf)
        for block, (of_block, _) in zip(blocks, found, strict=True):
            edges[block] = of_block[:, : edges.shape[1]]
        return edges, n_edges


def find_edges(
    values: Values, n_bins: int, strategy: Strategy, labels: NDArray[np.integer] | None, weights: Values | None
) -> tuple[Values, Columns]:
    """Edges of every row, filled up with infinity where it has fewer than others, and how many there are."""
    if weights is not None:  # A row without weight is as good as not there.
        rows = np.flatnonzero(weights)
        values, weights, labels = values[:, rows], weights[rows], None if labels is None else labels[rows]
    sizes = (~np.isnan(values)).sum(axis=1)
    edges = np.full((len(values), _MOST_EDGES if strategy == "mdl" else n_bins - 1), np.inf)
    n_edges = np.full(len(values), edges.shape[1])
    if strategy == "uniform":
        width_edges(values, n_bins, edges)
    elif strategy == "quantile" and weights is None:
        before = np.arange(values.shape[1] + 1, dtype=np.float64)
        frequency_edges(np.sort(values, axis=1), sizes, before[None], n_bins, edges)
    else:
        order = np.argsort(values, axis=1, kind="stable")
        ordered = np.take_along_axis(values, order, axis=1)
        in_order = (np.ones(values.shape[1]) if weights is None else weights)[order]
        if strategy == "quantile":
            before = np.zeros((len(values), values.shape[1] + 1))
            np.cumsum(in_order, axis=1, out=before[:, 1:])
            frequency_edges(ordered, sizes, before, n_bins, edges)
        elif labels is None:
            raise ValueError("strategy='mdl' needs class labels as target; pass strategy='quantile' or 'uniform'")
        else:
            n_classes, total = int(labels.max(initial=0)) + 1, values.shape[1] if weights is None else weights.sum()
            known = known_n_log_n(min(int(total) + 1, 2**16))
            n_edges = description_edges(ordered, sizes, labels[order], in_order, n_classes, known, edges)
    return edges, n_edges
