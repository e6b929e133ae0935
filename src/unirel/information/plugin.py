"""Mutual information of discrete columns, from the frequencies of their levels."""

from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel.information.base import Block, Columns, Information, Values, known_n_log_n
from unirel.information.codes import CodeMatrix, Codes, CodeSource, Counts, Joint, Rest
from unirel.information.part_codes import Cuts, open_parts
from unirel.information.sparse_codes import SparseCodes
from unirel.kernels.counts import sum_groups, sum_tables
from unirel.options import EstimationOptions
from unirel.parts.table import PartedTable
from unirel.table import Table
from unirel.weights import on_grid
from unirel.work import map_tasks

if TYPE_CHECKING:
    from unirel.information.binned import Bins

# Cells of a table beyond which it is not counted directly, however many rows there are: it may have to travel.
_MOST_CELLS = 2**22
# Whole numbers whose n log n is kept.
_KNOWN = 2**16


class Margins(NamedTuple):
    """Entropies of every candidate x, of a fixed block s, of another block y, and of what they are together."""

    x: Values
    xs: Values
    xy: Values
    xsy: Values
    s: float
    y: float
    sy: float


class Plugin(Information):
    """Entropies of the empirical distribution, H(A) + H(B) - H(A, B).

    Parameters
    ----------
    table : Table
        Only its discrete columns can be asked about.
    sample_weight : array of shape (n_samples,), optional
        How many rows each row stands for: a weight of 2 counts as two equal rows, one of 0 as none.
    **options
        `correction`: "miller-madow" adds (levels in use - 1) / (2 n_samples) to every entropy, which removes the
        first-order bias; and `n_jobs`.
    """

    name = "plugin"
    accepts = frozenset({"discrete"})
    takes_weights = True

    def __init__(
        self, table: Table, *, sample_weight: ArrayLike | None = None, **options: Unpack[EstimationOptions]
    ) -> None:
        super().__init__(table, **options)
        self._weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        self._total = float(table.n_samples if self._weights is None else self._weights.sum())
        self._codes: CodeSource
        if isinstance(table, PartedTable):
            self._codes, self._total = open_parts(table, self._make_cuts(), self.options)
        elif table.is_sparse:
            self._codes = SparseCodes(table, self._make_bins(), self._weights)
        else:
            self._codes = CodeMatrix(table, self._make_bins(), self._weights, self.options["n_jobs"])
        self._known = known_n_log_n(min(int(self._total) + 1, _KNOWN))
        self._ceilings = np.full(len(table.columns), np.nan)
        self._latest: tuple[tuple[int, ...], bool, Columns, Margins] | None = None

    def mutual_information(self, a: Block, b: Block) -> float:
        """I(a; b) of two blocks of discrete columns."""
        blocks = self._block(a), self._block(b)
        return self._entropy(blocks[0]) + self._entropy(blocks[1]) - self._entropy(self._combine(*blocks))

    def pairwise(self, candidates: Block, column: int) -> Values:
        """I(candidate; column) of every candidate."""
        margins = self._margins(candidates, [column], with_target=False)
        return margins.x + margins.s - margins.xs

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate."""
        margins = self._margins(candidates, [column])
        return margins.xy + margins.sy - margins.y - margins.xsy

    def joint(self, candidates: Block, selected: Block) -> Values:
        """I(candidate, selected; target) of every candidate."""
        margins = self._margins(candidates, selected)
        return margins.xs + margins.y - margins.xsy

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        """H(candidate, selected, target) of every candidate."""
        return self._margins(candidates, selected).xsy

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        """I(candidate; target | given) of every candidate."""
        return _conditional(self._margins(candidates, given))

    def given_codes(self, candidates: Columns, fixed: Joint, other: Joint) -> Values:
        """I(candidate; other | fixed) of every candidate, for codes that need not be columns of the table."""
        return _conditional(self._count(candidates, fixed, other))

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        """I(candidate; target | given) with the rows of target and given in other orders; codes are made once."""
        if self.looks_at_target:
            return super().permuted(candidates, given, orders)
        candidates, fixed, other = np.asarray(candidates, np.intp), self._block(given), self._block([self.table.target])
        alone = copy(self)  # the orders are what is shared out among threads
        alone.options = {**self.options, "n_jobs": 1}

        def count(part: Columns) -> Values:
            moved = ([_in_order(block, order) for block in (fixed, other)] for order in part)
            return np.array([alone.given_codes(candidates, *blocks) for blocks in moved])

        # The first one makes all codes that are missing, which is nothing that two threads could do.
        parts = [orders[:1], *np.array_split(orders[1:], min(8, max(1, len(orders) - 1)))]
        first = count(parts[0])
        return np.concatenate(
            [first, *map_tasks(count, [part for part in parts[1:] if len(part)], self.options["n_jobs"])]
        )

    def levels(self, column: int) -> Codes:
        """Codes of a column."""
        return self._codes.codes(column)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a column."""
        return self._entropy(self._block([column]))

    def ceilings(self, columns: Block) -> Values:
        """Plug-in entropies of columns, without correction."""
        columns = np.asarray(columns, np.intp)
        # Those of candidates are known by now, from the tables that were counted for what is to be bounded.
        for column in columns[np.isnan(self._ceilings[columns])].tolist():
            sums, _ = self._sum_n_log_n(self._codes.counts(self._block([column])))
            self._ceilings[column] = self._entropies(np.array([sums]), None)[0]
        return self._ceilings[columns]

    def _make_bins(self) -> "Bins | None":
        return None

    def _make_cuts(self) -> Cuts:
        return Cuts()

    def _margins(self, candidates: Block, selected: Block, with_target: bool = True) -> Margins:
        """All entropies that tables of candidates, selected columns and the target hold, from one pass over the rows.

        The latest ones are kept: a criterion that asks for several things about the same columns pays for one pass.
        """
        candidates, key = np.asarray(candidates, np.intp), tuple(int(column) for column in selected)
        if self._latest is not None:
            fixed, has_target, columns, margins = self._latest
            if fixed == key and has_target >= with_target and np.array_equal(columns, candidates):
                return margins
        margins = self._count(candidates, self._block(key), self._block([self.table.target] if with_target else []))
        self._latest = key, with_target, candidates, margins
        return margins

    def _count(self, candidates: Columns, fixed: Joint, other: Joint) -> Margins:
        both = self._combine(fixed, other)
        rest = Rest(both, fixed.n_levels, other.n_levels)
        limit = _table_limit(self.table.n_samples)
        # Relabelled codes of both no longer tell the two apart.
        direct = np.full(len(candidates), both.n_levels == rest.n_levels)
        direct &= self._codes.n_levels[candidates] * rest.n_levels <= limit
        sums, used = self._sums(candidates if direct.all() else candidates[direct], rest)
        if not direct.all():
            few, (sums, used) = (sums, used), self._sums_in_groups(candidates, ~direct, fixed, other)
            sums[direct], used[direct] = few
        self._ceilings[candidates] = self._entropies(sums[:, 0], None)
        return Margins(*self._entropies(sums, used).T, *(self._entropy(joint) for joint in (fixed, other, both)))

    def _sums(self, candidates: Columns, rest: Rest) -> tuple[Values, NDArray[np.int64]]:
        """Sums of n log n and levels in use, of the four margins of every candidate's table; see `sum_tables`."""
        sums, used = np.empty((len(candidates), 4)), np.empty((len(candidates), 4), np.int64)
        self._codes.prepare(candidates, rest)

        def count(part: slice) -> None:
            tables, starts = self._codes.tables(candidates[part], rest)
            n_levels, room = self._codes.n_levels[candidates[part]], np.empty(rest.n_other, tables.dtype)
            sum_tables(tables, starts, n_levels, rest.n_fixed, room, self._known, sums[part], used[part])

        most = int(self._codes.n_levels[candidates].max(initial=1)) * rest.n_levels
        size = max(1, min(self._codes.columns_at_once(len(candidates)), self._codes.cells_at_once // most))
        map_tasks(count, _slices(len(candidates), size), self.options["n_jobs"])
        return sums, used

    def _sums_in_groups(
        self, candidates: Columns, chosen: NDArray[np.bool_], fixed: Joint, other: Joint
    ) -> tuple[Values, NDArray[np.int64]]:
        """The same of chosen candidates where a table would have far more cells than there are rows."""
        sums, used = np.empty((len(candidates), 4)), np.empty((len(candidates), 4), np.int64)
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
            if alone.n_levels * other.n_levels <= _table_limit(self.table.n_samples):
                sums[place], used[place] = sum_groups(
                    alone.codes, alone.n_levels, groups, other.codes, other.n_levels, weights, self._known
                )
            else:
                sums[place], used[place] = self._sums_of_many(alone, fixed, other)

        map_tasks(count, np.flatnonzero(chosen).tolist(), self.options["n_jobs"])
        return sums, used

    def _sums_of_many(self, alone: Joint, fixed: Joint, other: Joint) -> tuple[list[float], list[int]]:
        """The same where even candidate and target have too many joint levels: only those in use are counted."""
        with_fixed = self._combine(alone, fixed)
        blocks = (alone, with_fixed, self._combine(alone, other), self._combine(with_fixed, other))
        pairs = [self._sum_n_log_n(self._codes.counts(joint)) for joint in blocks]
        return [total for total, _ in pairs], [used for _, used in pairs]

    def _entropy(self, joint: Joint) -> float:
        total, used = self._sum_n_log_n(self._codes.counts(joint))
        return float(self._entropies(np.array([total]), np.array([used]))[0])

    def _entropies(self, sums: Values, used: NDArray[np.int64] | None) -> Values:
        """Entropies from sums of n log n and, if they are to be corrected, from how many levels are in use."""
        entropies = (self._of_all - sums) / self._total
        if used is not None and self.options["correction"] is not None:
            entropies += (used - 1) / (2 * self._total)
        return np.asarray(entropies)

    @cached_property
    def _of_all(self) -> float:
        """N log n of all rows."""
        total = int(self._total) if self._total.is_integer() else self._total
        return self._sum_n_log_n(np.array([total]))[0]

    def _sum_n_log_n(self, counts: Counts) -> tuple[float, int]:
        """The sum of n log n over some counts, which are a table of one margin, and how many of them are above 0."""
        few = counts.dtype.kind == "i" and self._total < 2**31
        table = counts.astype(np.int32) if few else counts  # as tables of candidates are: the kernel is compiled once
        sums, used = np.empty((1, 4)), np.empty((1, 4), np.int64)
        start, n_levels = np.zeros(1, np.int64), np.array([len(table)])
        sum_tables(table, start, n_levels, 1, np.empty(1, table.dtype), self._known, sums, used)
        return float(sums[0, 0]), int(used[0, 0])

    def _block(self, columns: Block) -> Joint:
        """Codes of the joint levels of several columns."""
        block = Joint(1, (), lambda: np.zeros(self.table.n_samples, np.uint32))
        for column in map(int, columns):
            alone = Joint(int(self._codes.n_levels[column]), (column,), partial(self._codes.codes, column))
            block = self._combine(block, alone)
        return block

    def _combine(self, a: Joint, b: Joint) -> Joint:
        return a.beside(b, _table_limit(self.table.n_samples))


def _in_order(joint: Joint, order: Columns) -> Joint:
    """The same levels with the rows in another order."""
    return Joint(joint.n_levels, None, partial(np.take, joint.codes, order))


def _conditional(margins: Margins) -> Values:
    """I(candidate; other | fixed) of every candidate."""
    return margins.xs + margins.sy - margins.s - margins.xsy


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Values:
    """Weights of rows as numbers; refuse what cannot be one."""
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it needs one number for each of {n_samples} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "sample_weight has negative, missing or infinite values, or only zeros; pass numbers from 0 on"
        )
    return on_grid(weights, float(weights.max()), n_samples)


def _slices(n_all: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n_all, size)]


def _table_limit(n_samples: int) -> int:
    """Cells that are worth a direct table: more would cost more to clear and read than the data to count."""
    return min(max(2**14, 4 * n_samples), _MOST_CELLS)
