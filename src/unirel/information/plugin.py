"""Mutual information of discrete columns, from the frequencies of their levels."""

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel.information.base import Block, Columns, Information, Values
from unirel.information.bins import Bins
from unirel.information.codes import CodeMatrix, Codes, CodeSource, Rest
from unirel.information.sparse_codes import SparseCodes
from unirel.kernels.counts import known_n_log_n, sum_groups, sum_n_log_n, sum_tables
from unirel.options import EstimationOptions
from unirel.table import Table
from unirel.work import map_tasks

# Cells of the tables that a thread fills at a time, few enough to stay in its cache.
_CELLS = 2**18
# Rows times candidates that are worth a task of their own.
_WORK = 2**20
# Whole numbers whose n log n is kept.
_KNOWN = 2**16


class Coded(NamedTuple):
    """Codes of the joint levels of some columns, and how many levels there may be."""

    codes: Codes
    n_levels: int


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
        self._known = known_n_log_n(min(int(self._total) + 1, _KNOWN))
        bins = self._make_bins()
        self._codes: CodeSource = (
            SparseCodes(table, bins, self._weights)
            if table.is_sparse
            else CodeMatrix(table, bins, self._weights, self.options["n_jobs"])
        )
        self._ceilings = np.full(len(table.columns), np.nan)
        self._latest: tuple[tuple[int, ...], bool, Columns, Margins] | None = None

    def mutual_information(self, a: Block, b: Block) -> float:
        """I(a; b) of two blocks of discrete columns."""
        coded = self._block(a), self._block(b)
        return self._entropy(coded[0]) + self._entropy(coded[1]) - self._entropy(_combine(*coded))

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

    def given_codes(self, candidates: Columns, fixed: Coded, other: Coded) -> Values:
        """I(candidate; other | fixed) of every candidate, for codes that need not be columns of the table."""
        margins = self._count(candidates, fixed, other)
        return margins.xs + margins.sy - margins.s - margins.xsy

    def levels(self, column: int) -> Codes:
        """Codes of a column."""
        return self._codes.codes(column)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a column."""
        return self._entropy(self._block([column]))

    def ceilings(self, columns: Block) -> Values:
        """Plug-in entropies of columns, without correction."""
        columns = np.asarray(columns, np.intp)
        unknown = columns[np.isnan(self._ceilings[columns])]
        if len(unknown):
            sums, _ = self._sums(unknown, Rest(np.zeros(self.table.n_samples, np.uint32), 1, 1))
            self._ceilings[unknown] = self._entropies(sums[:, 0], None)
        return self._ceilings[columns]

    def _make_bins(self) -> Bins | None:
        return None

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

    def _count(self, candidates: Columns, fixed: Coded, other: Coded) -> Margins:
        both = _combine(fixed, other)
        rest = Rest(both.codes, fixed.n_levels, other.n_levels)
        limit = _table_limit(self.table.n_samples)
        # Relabelled codes of both no longer tell the two apart.
        direct = np.full(len(candidates), both.n_levels == rest.n_levels)
        direct &= self._codes.n_levels[candidates] * rest.n_levels <= limit
        sums, used = self._sums(candidates if direct.all() else candidates[direct], rest)
        if not direct.all():
            few, (sums, used) = (sums, used), self._sums_in_groups(candidates, ~direct, fixed, other)
            sums[direct], used[direct] = few
        return Margins(*self._entropies(sums, used).T, *(self._entropy(coded) for coded in (fixed, other, both)))

    def _sums(self, candidates: Columns, rest: Rest) -> tuple[Values, NDArray[np.int64]]:
        """Sums of n log n and levels in use, of the four margins of every candidate's table; see `sum_tables`."""
        sums, used = np.empty((len(candidates), 4)), np.empty((len(candidates), 4), np.int64)
        self._codes.prepare(candidates, rest)

        def count(part: slice) -> None:
            tables, starts = self._codes.tables(candidates[part], rest)
            n_levels = self._codes.n_levels[candidates[part]]
            sum_tables(tables, starts, n_levels, rest.n_fixed, rest.n_other, self._known, sums[part], used[part])

        most = int(self._codes.n_levels[candidates].max(initial=1)) * rest.n_levels
        size = max(_WORK // self.table.n_samples, -(-len(candidates) // 8))
        map_tasks(count, _slices(len(candidates), max(1, min(size, _CELLS // most))), self.options["n_jobs"])
        return sums, used

    def _sums_in_groups(
        self, candidates: Columns, chosen: NDArray[np.bool_], fixed: Coded, other: Coded
    ) -> tuple[Values, NDArray[np.int64]]:
        """The same of chosen candidates where a table would have far more cells than there are rows."""
        sums, used = np.empty((len(candidates), 4)), np.empty((len(candidates), 4), np.int64)
        self._codes.prepare(candidates[chosen])
        weights = np.ones(self.table.n_samples) if self._weights is None else self._weights
        order = np.argsort(fixed.codes, kind="stable")
        order = order[weights[order] > 0]
        changes = np.flatnonzero(np.diff(fixed.codes[order])) + 1
        groups = order, np.concatenate([[0], changes, [len(order)]])

        def count(place: int) -> None:
            alone = self._block(candidates[[place]])
            if alone.n_levels * other.n_levels <= _table_limit(self.table.n_samples):
                sums[place], used[place] = sum_groups(*alone, groups, *other, weights, self._known)
            else:
                sums[place], used[place] = self._sums_of_many(alone, fixed, other)

        map_tasks(count, np.flatnonzero(chosen).tolist(), self.options["n_jobs"])
        return sums, used

    def _sums_of_many(self, alone: Coded, fixed: Coded, other: Coded) -> tuple[list[float], list[int]]:
        """The same where even candidate and target have too many joint levels: only those in use are counted."""
        with_fixed = _combine(alone, fixed)
        blocks = (alone, with_fixed, _combine(alone, other), _combine(with_fixed, other))
        pairs = [sum_n_log_n(np.bincount(coded.codes, self._weights), self._known) for coded in blocks]
        return [total for total, _ in pairs], [used for _, used in pairs]

    def _entropy(self, coded: Coded) -> float:
        counts = np.bincount(coded.codes, self._weights)
        total, used = sum_n_log_n(counts, self._known)
        return float(self._entropies(np.array([total]), np.array([used]))[0])

    def _entropies(self, sums: Values, used: NDArray[np.int64] | None) -> Values:
        """Entropies from sums of n log n and, if they are to be corrected, from how many levels are in use."""
        entropies = (sum_n_log_n(np.array([self._total]), self._known)[0] - sums) / self._total
        if used is not None and self.options["correction"] is not None:
            entropies += (used - 1) / (2 * self._total)
        return np.asarray(entropies)

    def _block(self, columns: Block) -> Coded:
        """Codes of the joint levels of several columns."""
        block = Coded(np.zeros(self.table.n_samples, np.uint32), 1)
        for column in columns:
            block = _combine(block, Coded(self._codes.codes(column), int(self._codes.n_levels[column])))
        return block


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Values:
    """Weights of rows as numbers; refuse what cannot be one."""
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it needs one number for each of {n_samples} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "sample_weight has negative, missing or infinite values, or only zeros; pass numbers from 0 on"
        )
    return np.ascontiguousarray(weights)


def _slices(n_all: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n_all, size)]


def _table_limit(n_samples: int) -> int:
    """Cells that are worth a direct table: more would cost more to clear and read than the data to count."""
    return max(2**14, 4 * n_samples)


def _combine(a: Coded, b: Coded) -> Coded:
    """Joint codes of two coded columns, relabelled to those in use where there would be too many."""
    n_levels = a.n_levels * b.n_levels
    if n_levels > _table_limit(len(a.codes)):
        levels, codes = np.unique(a.codes.astype(np.int64) * b.n_levels + b.codes, return_inverse=True)
        return Coded(codes.astype(np.uint32), len(levels))
    return Coded(a.codes.astype(np.uint32) * np.uint32(b.n_levels) + b.codes, n_levels)
