"""Mutual information from counts: of levels, and of the bins that continuous columns are cut into."""

import math
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from unirel._runtime import check_choice, check_whole_number, map_tasks
from unirel.data.chunks import PartedTable
from unirel.data.weights import check_weights
from unirel.estimation.base import Block, Columns, Information, Values
from unirel.estimation.codes import (
    Bins,
    CodeMatrix,
    Codes,
    Counts,
    Cuts,
    Joint,
    Margins,
    Strategy,
    TableCodes,
    find_edges,
    joint_of,
)
from unirel.estimation.kernels.chance import COARSE, FINE, NOTHING, Chance, expected_information, joined
from unirel.estimation.kernels.counts import NO_CHANCE, Lookup, known_n_log_n, sum_groups, sum_tables
from unirel.estimation.part_codes import open_parts
from unirel.estimation.sparse_codes import SparseCodes

# A continuous target has bins of its own, which make tables of 8 x 8 x 8 cells of two features and the target; a few
# hundred rows leave these nearly empty, so there "auto" takes fewer. Measured in docs/which_selector.rst.
_CLASS_BINS = 8

# Cells of a table beyond which it is not counted directly, however many rows: it may have to travel.
_MOST_CELLS = 2**22
# Whole numbers whose n log n is kept, and lookup tables of what is told by chance.
_KNOWN, _MOST_LOOKUPS = 2**16, 256

Correction = Literal["chance", "miller-madow"] | None
CORRECTIONS, STRATEGIES = ("chance", "miller-madow", None), ("quantile", "uniform", "mdl")


class Binned(Information):
    """Entropies of the empirical distribution, H(A) + H(B) - H(A, B), of levels and bins, less what that is by chance.

    Far cheaper than neighbours, and blind within a bin.

    Parameters
    ----------
    n_bins : int or "auto"
        Bins of every continuous column, missing values aside; "auto" is 8 for class labels, and for a continuous
        target, which is cut as well, the fourth root of n_samples, from 3 to 20.
    strategy : {"quantile", "uniform", "mdl"}
        Bins of equal frequency, of equal width, or of minimum description length, which looks at class labels and finds
        the number of bins itself.
    correction : {"chance", "miller-madow", None}
        "chance" takes off the mean over all orders of the rows (see `unirel.estimation.kernels.chance`), so that
        independent columns share 0 on average, however many levels they have; "miller-madow" adds (observed levels - 1)
        / (2 n_samples) to every entropy, which removes the first-order bias where all cells are filled well; None does
        neither.
    edges : mapping from columns to edges, optional
        Edges that are known, as `bin_edges` gives them, by name or position of their column.

    Notes
    -----
    A weight of 2 counts as two equal rows, one of 0 as none. Weights that are not all whole numbers, or add up to more
    than eight times the rows, stand for (sum w)^2 / sum w^2 rows.
    """

    name = "binned"
    takes_weights = True

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
        self._weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        self._total = float(table.n_samples if self._weights is None else self._weights.sum())
        self._codes: CodeMatrix
        if isinstance(table, PartedTable):
            self._codes, self._total = open_parts(table, self._cuts(), self.n_jobs)
        else:
            self.looks_at_target = self.strategy == "mdl" and bool(table.discrete[table.target])
            labels = table.codes(table.target) if self.looks_at_target else None
            bins = Bins(table, self._cuts(), labels, self._weights, self.n_jobs)
            if table.is_sparse:
                self._codes = SparseCodes(table, bins, self._weights)
            else:
                self._codes = TableCodes(table, bins, self._weights, self.n_jobs)
        # More cells would cost more to clear and read than the data to count.
        self._most_cells = min(max(2**14, 4 * table.n_samples), _MOST_CELLS)
        self._known = known_n_log_n(min(int(self._total) + 1, _KNOWN))
        self._of_all = self._sum_n_log_n(np.array([self._total]))
        self._latest: tuple[tuple[int, ...], int, bool, Columns, Margins] | None = None
        self._lookups: dict[Any, Lookup] = {}

    def mutual_information(self, a: Block, b: Block) -> float:
        blocks = self._block(a), self._block(b)
        value = self._entropy(blocks[0]) + self._entropy(blocks[1]) - self._entropy(self._combine(*blocks))
        if not self._by_chance:
            return value
        return value - expected_information(*(self._codes.counts(block) for block in blocks))

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given), less what chance gives within the levels of what is given."""
        if len(given) == 0:
            return self.mutual_information(a, b)
        one, other, fixed = (self._block(columns) for columns in (a, b, given))
        with_one, with_other = self._combine(fixed, one), self._combine(fixed, other)
        value = self._entropy(with_one) + self._entropy(with_other) - self._entropy(fixed)
        value -= self._entropy(self._combine(with_one, other))
        if not self._by_chance:
            return value
        return value - self._chance_within(one, other, fixed) / self._total

    def pairwise(self, candidates: Block, column: int) -> Values:
        if self._latest is not None:
            fixed, _, about_fixed, columns, margins = self._latest
            if fixed == (column,) and about_fixed and np.array_equal(columns, candidates):
                return margins.redundancy
        return self._margins(candidates, None, column).relevance

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        return self._margins(candidates, [column], self.table.target, about_fixed=True).conditional_redundancy

    def joint(self, candidates: Block, selected: Block) -> Values:
        return self._margins(candidates, selected, self.table.target).joint

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        return self._margins(candidates, selected, self.table.target).xsy

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        return self._margins(candidates, given, self.table.target).conditional

    def given_codes(self, candidates: Columns, fixed: Joint, other: Joint, weights: Values | None = None) -> Values:
        """I(candidate; other | fixed) of every candidate, for codes that need not be columns of the table.

        Weights that belong to such codes, and not to the rows of the table, come with them.
        """
        if weights is None:
            return self._count(candidates, fixed, other).conditional
        moved = copy(self)
        moved._codes = self._codes.weighted(weights)
        return moved._count(candidates, fixed, other).conditional

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        """I(candidate; target | given) with the rows of the target in other orders; codes are made once."""
        if self.looks_at_target:
            return super().permuted(candidates, given, orders)
        candidates, fixed, other = np.asarray(candidates, np.intp), self._block(given), self._block([self.table.target])
        alone = copy(self)  # the orders are what is shared out among threads
        alone.n_jobs = 1

        def moved(order: Columns) -> Values:
            weights = None if self._weights is None else self._weights[order]
            in_order = Joint(other.n_levels, None, partial(np.take, other.codes, order))
            return alone.given_codes(candidates, fixed, in_order, weights)

        # The first one makes all codes that are missing, which is nothing that two threads could do.
        return np.array([moved(orders[0]), *map_tasks(moved, list(orders[1:]), self.n_jobs)])

    def counts(self, columns: Block) -> bool:
        return True

    def levels(self, column: int) -> Codes:
        return self._codes.codes(column)

    def entropy(self, column: int) -> float:
        return self._entropy(self._block([column]))

    def by_chance(self, candidates: Block, column: int) -> Values:
        return self._margins(candidates, None, column).x_by_chance

    def _entropy_of_levels(self, column: int) -> float:
        """Without correction. Of candidates it is known by now, from the tables of what is to be bounded."""
        return float(self._entropies(self._sum_n_log_n(self._codes.counts(self._block([column])))))

    def _cuts(self) -> Cuts:
        n_bins, total = self.n_bins, self._total
        if isinstance(self.table, PartedTable) and self.table.weights is not None:
            total = self.table.weights.n_effective
        if n_bins == "auto":
            n_bins = _CLASS_BINS if self.table.discrete[self.table.target] else few_bins(total)
        self.n_bins_ = int(n_bins)
        return Cuts(self.n_bins_, self.strategy, self._find_edges(self.edges or {}))

    def _find_edges(self, given: Mapping[Any, ArrayLike]) -> dict[int, Values]:
        """Edges by the position of their column."""
        target, found = self.table.columns.names[-1], {}
        for column, edges in given.items():
            is_target = isinstance(column, str) and column == target
            position = self.table.target if is_target else self.table.positions(column)[0]
            found[position] = np.sort(np.asarray(edges, np.float64))
            if np.isnan(found[position]).any():
                raise ValueError(f"edges of column {column!r} hold NaN; pass numbers, or infinity")
        return found

    def _margins(self, candidates: Block, fixed: Block | None, other: int, about_fixed: bool = False) -> Margins:
        """All entropies that tables of candidates, fixed columns and another one hold, from one pass over the rows.

        The latest ones are kept: a criterion that asks for several things about the same columns pays for one pass.
        `fixed` may be None where it does not matter; `about_fixed` if it is wanted what candidates tell about it.
        """
        candidates, key = np.asarray(candidates, np.intp), None if fixed is None else tuple(int(one) for one in fixed)
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
        counts = self._counts_of(fixed, other, both)
        chance = self._lookup_of(other, fixed, about_fixed, counts)
        n_pairs = fixed.n_levels * other.n_levels
        # Relabelled codes of both no longer tell the two apart.
        direct = self._codes.n_levels[candidates] <= (self._most_cells // n_pairs if both.n_levels == n_pairs else 0)
        if direct.all():
            sums = self._sums(candidates, both, other.n_levels, chance)
        else:
            sums = self._sums_in_groups(candidates, ~direct, fixed, other, chance)
            sums[direct] = self._sums(candidates[direct], both, other.n_levels, chance)
        self._ceilings[candidates] = self._entropies(sums[:, 0])
        entropies, by_chance = self._entropies(sums[:, :4], sums[:, 7:]).T, sums[:, 4:7].T / self._total
        single = [self._entropy_of(one) for one in counts]
        return Margins._make([*entropies, *by_chance, *single, self._looked_up(counts[0], chance) / self._total])

    def _counts_of(self, fixed: Joint, other: Joint, both: Joint) -> list[Counts]:
        """Rows of every fixed level, of every other one, and of every pair."""
        counts = self._codes.counts(both)
        if len(counts) != fixed.n_levels * other.n_levels:
            return [self._codes.counts(fixed), self._codes.counts(other), counts]
        pairs = counts.reshape(fixed.n_levels, other.n_levels)
        return [pairs.sum(axis=1), pairs.sum(axis=0), counts]

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

    def _sums_in_groups(
        self, candidates: Columns, chosen: NDArray[np.bool_], fixed: Joint, other: Joint, chance: Lookup
    ) -> Values:
        """The same of chosen candidates where a table would have far more cells than there are rows."""
        sums = np.empty((len(candidates), 11))
        self._codes.prepare(candidates[chosen])
        weights = self._codes.row_weights()
        weights = np.ones(self.table.n_samples) if weights is None else weights
        order = np.argsort(fixed.codes, kind="stable")
        order = order[weights[order] > 0]
        changes = np.flatnonzero(np.diff(fixed.codes[order])) + 1
        _ = other.codes  # made here, once, before threads ask for them
        groups = order, np.concatenate([[0], changes, [len(order)]])

        def count(place: int) -> None:
            alone = self._block(candidates[[place]])
            if alone.n_levels * other.n_levels <= self._most_cells:
                levels = alone.codes, alone.n_levels, groups, other.codes, other.n_levels
                sums[place] = sum_groups(*levels, weights, self._known, chance, fixed.codes)
            else:
                sums[place] = self._sums_of_many(alone, fixed, other)

        map_tasks(count, np.flatnonzero(chosen).tolist(), self.n_jobs)
        return sums

    def _sums_of_many(self, alone: Joint, fixed: Joint, other: Joint) -> Values:
        """The same where even candidate and target have too many joint levels: only those in use are counted."""
        with_fixed = self._combine(alone, fixed)
        blocks = (alone, with_fixed, self._combine(alone, other), self._combine(with_fixed, other))
        counts = [self._codes.counts(joint) for joint in blocks]
        used = [np.count_nonzero(one) for one in counts]
        by_chance = np.zeros(3)
        if self._by_chance:
            about = [expected_information(counts[0], self._codes.counts(side)) for side in (other, fixed)]
            by_chance[:] = self._total * about[0], self._chance_within(alone, other, fixed), self._total * about[1]
        return np.array([*map(self._sum_n_log_n, counts), *by_chance, *used])

    def _chance_within(self, one: Joint, other: Joint, fixed: Joint) -> float:
        """What one block tells about another by chance within the levels of a fixed one, times all rows."""
        pairs = [self._codes.counts(self._combine(fixed, side)) for side in (other, one)]
        begins = [self._begins_within(fixed, *side) for side in zip((other, one), map(len, pairs), strict=True)]
        return float(Chance.within(pairs[0], begins[0]).of(pairs[1], begins[1]).sum())

    def _entropy(self, joint: Joint) -> float:
        return self._entropy_of(self._codes.counts(joint))

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
        if self._is_known(counts):
            return float(self._known[counts].sum())
        whole = counts.astype(np.int64)
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


def bin_edges(
    values: ArrayLike,
    n_bins: int,
    strategy: Strategy = "quantile",
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Values:
    """Edges between the bins of some numbers, NaN left out, to be kept and applied to other values.

    They are in ascending order: the bin of a value is how many edges it reaches. Strategies are those of `Binned`;
    "mdl" needs class labels. An edge of "quantile" and "mdl" is the least of the values in the bins above it, infinite
    if there is none.

    >>> edges = bin_edges([1, 2, 2, 3, 7, 9], 3)
    >>> edges
    array([2., 7.])
    >>> np.searchsorted(edges, [0, 2, 8, 100], side="right")
    array([0, 1, 2, 2])
    """
    check_choice("strategy", strategy, STRATEGIES)
    check_whole_number("n_bins", n_bins, 2)
    numbers = np.asarray(values, np.float64)
    present = ~np.isnan(numbers)
    classes = None
    if strategy == "mdl":
        if labels is None:
            raise ValueError("strategy='mdl' needs labels=, the class of every value; or pass strategy='quantile'")
        classes = np.unique(np.asarray(labels), return_inverse=True)[1][present]
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)[present]
    edges, n_edges = find_edges(numbers[None, present], n_bins, strategy, classes, weights)
    return edges[0, : n_edges[0]]
