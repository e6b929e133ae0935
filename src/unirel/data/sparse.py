"""Columns of a sparse matrix: only the entries that are stored are ever looked at."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import pieces
from unirel.data import CONTINUOUS, DISCRETE, IGNORED, UNKNOWN, Codes, Kinds, Positions, Values
from unirel.data.encoding import Columns, DenseColumns, narrowest, wide_type
from unirel.data.readers import Source, as_slice, no_infinity
from unirel.data.values import LARGEST_EXACT, refuse_rounding

# Columns whose levels are looked for together.
_STEP = 2**16


class SparseBlock(NamedTuple):
    """Coded columns of which every row that is not mentioned holds a zero."""

    starts: NDArray[np.int64]  # where the entries of each column begin, and where those of the last one end
    rows: Codes  # of each entry
    codes: Codes  # of each entry
    zero_codes: NDArray[np.int64]  # of all other rows of each column
    n_levels: NDArray[np.int64]  # of each column


class SparseNumbers(NamedTuple):
    """Columns of numbers of which every row that is not mentioned holds a zero."""

    starts: NDArray[np.int64]  # as in `SparseBlock`
    rows: Codes
    values: Values  # of each entry, NaN where it is missing
    n_samples: int

    def in_bins(self, n_bins: int) -> SparseBlock:
        """Entries in bins of equal frequency."""
        # A value is in the bin ``floor(n_bins * (rank - 1/2) / n_present)``, equal values sharing their mean rank,
        # zeros among them; missing values have a bin of their own, the last.
        n_columns, owners, missing = len(self.starts) - 1, _owners(self.starts), np.isnan(self.values)
        n_missing = np.bincount(owners[missing], minlength=n_columns)
        n_present = np.maximum(self.n_samples - n_missing, 1)
        # Sorted by column and value, without zeros, which are counted with those that are not stored.
        stored = np.flatnonzero(~missing & (self.values != 0))
        order = stored[np.lexsort((self.values[stored], owners[stored]))]
        owner, value = owners[order], self.values[order]
        n_stored = np.bincount(owner, minlength=n_columns)
        n_negative = np.bincount(owner[value < 0], minlength=n_columns)
        n_zeros = self.n_samples - n_missing - n_stored
        # Equal values of a column follow each other: where each stretch of them begins, and how long it is.
        differs = (owner[1:] != owner[:-1]) | (value[1:] != value[:-1])
        first = np.flatnonzero(np.r_[True, differs][: len(order)])
        sizes = np.diff(np.r_[first, len(order)])
        less = first - (np.cumsum(n_stored) - n_stored)[owner[first]]
        less += np.where(value[first] > 0, n_zeros[owner[first]], 0)
        ranks = np.repeat(less + (sizes + 1) / 2, sizes)
        zero_codes = np.floor(n_bins * (n_negative + (n_zeros + 1) / 2 - 0.5) / n_present).astype(np.int64)
        codes = np.where(missing, n_bins, zero_codes[owners]).astype(narrowest(n_bins + 1))
        codes[order] = np.floor(n_bins * (ranks - 0.5) / n_present[owner])
        return SparseBlock(self.starts, self.rows, codes, zero_codes, n_bins + (n_missing > 0))


class SparseColumns:
    """Columns of a sparse matrix, sorted by columns: codes of the discrete ones, numbers of the continuous ones.

    What is known about them is written to `facts`, whose first columns they are; the others are those of `dense`.
    """

    def __init__(self, source: Source, asked: Kinds, facts: Columns, dense: DenseColumns) -> None:
        matrix = source.sparse
        self.n_samples, n_columns = source.shape
        self.facts, self._dense = facts, dense
        self.facts.reasons[np.flatnonzero(asked != UNKNOWN)] = "given by discrete_features"
        self._starts: NDArray[np.int64] = matrix.indptr.astype(np.int64)
        self._rows: Codes = matrix.indices
        self._values = matrix.data.astype(wide_type(matrix.dtype), copy=False)
        self._codes: Codes = np.empty(len(self._rows), np.uint8)
        self._zero_codes = np.zeros(n_columns, np.int64)
        for kind in (UNKNOWN, CONTINUOUS, DISCRETE):
            for columns in pieces(np.flatnonzero(asked == kind), _STEP):
                self._decide(columns, kind)
        self._count_missing(source, asked)
        if matrix.dtype == bool:
            self.facts.reasons[np.flatnonzero(asked == UNKNOWN)] = "true or false"
        if self._values.dtype.kind in "iu" and self._values.max(initial=0) > LARGEST_EXACT:
            for column in np.flatnonzero(self.facts.kinds[:n_columns] == CONTINUOUS).tolist():
                stored = self._values[self._starts[column] : self._starts[column + 1]]
                refuse_rounding(source.label(column), stored.tolist, stored.astype(np.float64))

    def codes_of(self, columns: Positions) -> Codes:
        """Codes of discrete columns, one full row each: ask for few."""
        starts, rows, codes, zero_codes, _ = self.block(columns[columns < len(self._zero_codes)])
        full = np.repeat(zero_codes.astype(codes.dtype)[:, np.newaxis], self.n_samples, axis=1)
        full[_owners(starts), rows] = codes
        return self._joined(columns, full, self._dense.codes_of)

    def numbers_of(self, columns: Positions) -> Values:
        """Numbers of continuous columns, one full row each, NaN where they are missing: ask for few."""
        starts, rows, values, _ = self.numbers(columns[columns < len(self._zero_codes)])
        full = np.zeros((len(starts) - 1, self.n_samples))
        full[_owners(starts), rows] = values
        return self._joined(columns, full, self._dense.numbers_of)

    def _joined(self, columns: Positions, full: NDArray[Any], of_dense: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        """Rows of sparse columns and those of dense ones, in the order of the columns."""
        inside = columns < len(self._zero_codes)
        others = of_dense(columns[~inside] - len(self._zero_codes))
        rows = np.empty((len(columns), self.n_samples), np.result_type(full, others))
        rows[inside], rows[~inside] = full, others
        return rows

    def block(self, columns: Positions) -> SparseBlock:
        starts, entries = self._entries(columns)
        n_levels = self.facts.n_values[columns] + (self.facts.n_missing[columns] > 0)
        return SparseBlock(starts, self._rows[entries], self._codes[entries], self._zero_codes[columns], n_levels)

    def numbers(self, columns: Positions) -> SparseNumbers:
        starts, entries = self._entries(columns)
        return SparseNumbers(starts, self._rows[entries], self._values[entries].astype(np.float64), self.n_samples)

    def _entries(self, columns: Positions) -> tuple[NDArray[np.int64], Any]:
        """Where the entries of some columns begin once they are put together, and where they are stored."""
        if (columns >= len(self._zero_codes)).any():
            raise ValueError("only features of a sparse table are stored as entries; ask for code_block")
        sizes = self._starts[columns + 1] - self._starts[columns]
        starts = np.r_[0, np.cumsum(sizes)]
        stretch = as_slice(columns)
        if isinstance(stretch, slice):
            return starts, slice(self._starts[stretch.start], self._starts[stretch.stop])
        return starts, np.arange(starts[-1]) + np.repeat(self._starts[columns] - starts[:-1], sizes)

    def _count_missing(self, source: Source, asked: Kinds) -> None:
        """Count missing values, and refuse infinite ones."""
        if self._values.dtype.kind != "f" or np.isfinite(self._values).all():
            return
        owners = _owners(self._starts)
        for position in np.unique(owners[np.isinf(self._values)]).tolist():
            if asked[position] != IGNORED:
                raise no_infinity(source.label(position))
        n_missing = np.bincount(owners[np.isnan(self._values)], minlength=len(asked))
        self.facts.n_missing[: len(asked)] = np.where(asked == IGNORED, 0, n_missing)

    def _decide(self, columns: Positions, asked: int) -> None:
        if asked == CONTINUOUS:
            self.facts.kinds[columns] = CONTINUOUS
            return
        starts, entries = self._entries(columns)
        has_zeros = np.diff(starts) < self.n_samples
        found, discrete = self.facts.note_levels(columns, asked, self._values[entries], starts, has_zeros)
        self._codes[entries] = found.codes
        self._zero_codes[columns] = found.zero_codes
        if asked == DISCRETE:
            for column in columns[~discrete].tolist():
                self._code_many(column)

    def _code_many(self, column: int) -> None:
        """Code a column whose levels do not fit into a byte."""
        self._codes = self._codes.astype(np.int32, copy=False)
        stored = slice(self._starts[column], self._starts[column + 1])
        values = self._values[stored]
        present = ~np.isnan(values)
        known = values[:0] if len(values) == self.n_samples else np.zeros(1, values.dtype)
        levels = np.unique(np.r_[known, values[present]])
        self._codes[stored] = np.where(present, np.searchsorted(levels, values), len(levels))
        self._zero_codes[column] = np.searchsorted(levels, 0)
        self.facts.n_values[column] = len(levels)
        self.facts.kinds[column] = DISCRETE


def _owners(starts: NDArray[np.int64]) -> Positions:
    """The column of each entry."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
