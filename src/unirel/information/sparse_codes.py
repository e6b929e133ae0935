"""Contingency tables of sparse columns: entries are counted, and zeros follow by difference."""

import numpy as np

from unirel.information.base import Columns, Values
from unirel.information.bins import Bins
from unirel.information.codes import Codes, Counts, Rest
from unirel.kernels.sparse import count_sparse
from unirel.sparse import SparseBlock
from unirel.table import Table


class SparseCodes:
    """Offers what `CodeMatrix` does for a table whose features are sparse; nothing dense is made but single columns.

    Parameters
    ----------
    table : Table
        Read from a sparse matrix.
    bins : Bins or None
        How continuous columns are cut, in bins of equal frequency; None refuses them.
    weights : ndarray or None
        Weight of every row.
    """

    def __init__(self, table: Table, bins: Bins | None, weights: Values | None) -> None:
        if bins is not None and bins.rule.binning != "frequency":
            raise ValueError(f"binning={bins.rule.binning!r} needs a dense X; pass binning='frequency' or X.toarray()")
        self._table, self._bins, self._weights = table, bins, weights
        self._row_weights = np.ones(table.n_samples, np.int64) if weights is None else weights
        self._is_sparse = np.zeros(len(table.columns), bool)
        self._is_sparse[np.concatenate([table.features, table.probes])] = True
        self.n_levels = table.n_levels.copy()
        if bins is not None:
            continuous = np.flatnonzero(table.continuous)
            self.n_levels[continuous] = bins.rule.n_bins + table.has_missing[continuous]

    def prepare(self, columns: Columns, rest: Rest | None = None) -> None:
        """Nothing has to be made beforehand."""

    def codes(self, column: int) -> Codes:
        """Codes of one column."""
        if self._is_sparse[column]:
            block = self._block(np.array([column]))
            codes = np.full(self._table.n_samples, block.zero_codes[0], np.uint32)
            codes[block.rows] = block.codes
            return codes
        dense: Codes
        if self._table.discrete[column] or self._bins is None:
            dense = self._table.code_block([column])[0][0].astype(np.uint32)
        else:
            dense = self._bins.codes(np.array([column]), np.dtype(np.uint32))[0]
        return dense

    def tables(self, candidates: Columns, rest: Rest) -> tuple[Counts, Columns]:
        """Tables of some candidates against the rest, one after the other, and where each of them begins."""
        sizes = self.n_levels[candidates] * rest.n_levels
        starts = np.cumsum(sizes) - sizes
        tables = np.zeros(int(sizes.sum()), self._row_weights.dtype)
        for position in np.flatnonzero(~self._is_sparse[candidates]).tolist():
            cells = self.codes(int(candidates[position])).astype(np.int64) * rest.n_levels + rest.codes
            counts = np.bincount(cells, self._weights, sizes[position])
            tables[starts[position] : starts[position] + sizes[position]] = counts
        sparse = self._is_sparse[candidates]
        discrete = self._table.discrete[candidates]
        for kind in (sparse & discrete, sparse & ~discrete):
            for n_levels in np.unique(self.n_levels[candidates[kind]]).tolist():
                chosen = np.flatnonzero(kind & (self.n_levels[candidates] == n_levels))
                cells = starts[chosen, None] + np.arange(n_levels * rest.n_levels)
                tables[cells] = self._count(candidates[chosen], n_levels, rest).reshape(len(chosen), -1)
        return tables, starts

    def _count(self, columns: Columns, n_levels: int, rest: Rest) -> Counts:
        """Tables of sparse columns with equally many levels."""
        block = self._block(columns)
        tables = np.zeros((len(columns), n_levels, rest.n_levels), self._row_weights.dtype)
        count_sparse(block.starts, block.rows, block.codes, block.zero_codes, rest.codes, self._row_weights, tables)
        return tables

    def _block(self, columns: Columns) -> SparseBlock:
        """Entries of sparse columns, all of one kind."""
        if self._table.discrete[columns[0]] or self._bins is None:
            return self._table.sparse_block(columns)
        return self._table.sparse_bins(columns, self._bins.rule.n_bins)
