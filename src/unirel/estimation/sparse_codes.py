"""The codes of all columns of a sparse table, and the contingency tables that are counted from them."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.data import Positions
from unirel.data.sparse import SparseBlock
from unirel.data.table import Table
from unirel.estimation.codes import Bins, CodeMatrix, Joint
from unirel.estimation.kernels.counts import count_sparse_tables

# Where the entries of each column begin, their rows, their codes, and the code of all other rows of each column.
Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

# Numbers that are cut into bins at a time, where bins are found from full columns.
_BLOCK = 2**20


class SparseCodes(CodeMatrix):
    """Codes of all columns of a sparse table: the entries that are not zero, and the code of zero."""

    def __init__(self, table: Table, bins: Bins, weights: NDArray[np.float64] | None) -> None:
        self._table, self._bins, self._weights = table, bins, weights
        self.n_samples, self.n_levels = table.n_samples, bins.n_levels

    def prepare(self, columns: Positions, rest: Joint | None = None) -> None:
        _ = self._entries, rest is not None and rest.codes

    def codes(self, column: int) -> NDArray[Any]:
        (starts, rows, codes, zero_codes), places = self._entries
        place = places[column]
        full = np.full(self.n_samples, zero_codes[place], codes.dtype)
        entries = slice(starts[place], starts[place + 1])
        full[rows[entries]] = codes[entries]
        return full

    def tables(self, candidates: Positions, rest: Joint) -> tuple[NDArray[Any], Positions]:
        tables, starts = self._empty_tables(candidates, rest)
        entries, places = self._entries
        weights = np.ones(self.n_samples, tables.dtype) if self._weights is None else self._weights
        count_sparse_tables(entries, places[candidates], rest.codes, rest.n_levels, weights, starts, tables)
        return tables, starts

    @cached_property
    def _entries(self) -> tuple[Entries, Positions]:
        """Entries of all columns, and where each column is among them."""
        table, bins = self._table, self._bins
        features, others = table.features, np.r_[table.given, table.target]
        groups = [side[mask[side]] for mask in (table.discrete, table.continuous) for side in (features, others)]
        blocks = [table.sparse_block(groups[0]), _entries_of(table.code_block(groups[1])[0])]
        blocks += [self._cut(groups[2]), _entries_of(bins.codes(groups[3], np.dtype(np.int32)))]
        places = np.full(len(table.columns), -1)  # of columns that are neither, which nobody asks about
        places[np.concatenate(groups)] = np.arange(sum(map(len, groups)))
        sizes = np.concatenate([np.diff(block.starts) for block in blocks])
        rows, codes = (np.concatenate(parts) for parts in zip(*(block[1:3] for block in blocks), strict=True))
        zero_codes = np.concatenate([block.zero_codes for block in blocks])
        return (np.r_[0, np.cumsum(sizes)], rows, codes, zero_codes), places

    def _cut(self, columns: Positions) -> SparseBlock:
        """Entries of continuous features, in bins."""
        if self._bins.equal_frequency is not None:
            return self._table.sparse_numbers(columns).in_bins(self._bins.equal_frequency)
        starts, rows, _, n_samples = self._table.sparse_numbers(columns)
        codes, zero_codes = np.empty(len(rows), np.int32), np.zeros(len(columns), np.int64)
        step = max(1, _BLOCK // n_samples)
        for first in range(0, len(columns), step):
            full = self._bins.codes(columns[first : first + step], np.dtype(np.int32))
            own = slice(starts[first], starts[first + len(full)])
            owners = np.repeat(np.arange(len(full)), np.diff(starts[first : first + len(full) + 1]))
            codes[own] = full[owners, rows[own]]
            full[owners, rows[own]] = -1
            zero_codes[first : first + step] = full.max(axis=1)  # All rows that are left hold a zero.
        return SparseBlock(starts, rows, codes, np.maximum(zero_codes, 0), self.n_levels[columns])


def _entries_of(codes: NDArray[Any]) -> SparseBlock:
    """Full columns of codes as entries, those of code 0 left out."""
    columns, rows = np.nonzero(codes)
    starts = np.searchsorted(columns, np.arange(len(codes) + 1))
    zeros = np.zeros(len(codes), np.int64)
    return SparseBlock(starts, rows.astype(np.int32), codes[columns, rows], zeros, zeros)
