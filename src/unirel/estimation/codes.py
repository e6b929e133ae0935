"""Codes of tables that are sparse or in parts, and the contingency tables that are counted where their rows are."""

from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unirel.data import IGNORED
from unirel.data.chunks import Coded, PartedTable
from unirel.data.sparse import SparseBlock
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.estimation.counting import Bins, CodeMatrix, Codes, Counts, Joint, joint_of
from unirel.estimation.kernels.counts import count_sparse_tables

# Where the entries of each column begin, their rows, their codes, and the code of all other rows of each column.
Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

# Numbers of sparse columns that are cut into bins at a time, where bins are found from full columns.
_BLOCK = 2**20
# Margins of tables in parts that were counted, which are kept.
_MOST_KNOWN = 64


class SparseCodes(CodeMatrix):
    """Codes of all columns of a sparse table: the entries that are not zero, and the code of zero."""

    def __init__(self, table: Table, bins: Bins, weights: NDArray[np.float64] | None) -> None:
        self._table, self._bins, self.weights = table, bins, weights
        self.n_samples, self.n_levels = table.n_samples, bins.n_levels

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        _ = self._entries, rest is not None and rest.codes

    def codes(self, column: int) -> NDArray[Any]:
        (starts, rows, codes, zero_codes), places = self._entries
        place = places[column]
        full = np.full(self.n_samples, zero_codes[place], codes.dtype)
        entries = slice(starts[place], starts[place + 1])
        full[rows[entries]] = codes[entries]
        return full

    def tables(self, candidates: Columns, rest: Joint) -> tuple[NDArray[Any], Columns]:
        tables, starts = self._empty_tables(candidates, rest)
        entries, places = self._entries
        weights = np.ones(self.n_samples, tables.dtype) if self.weights is None else self.weights
        count_sparse_tables(entries, places[candidates], rest.codes, rest.n_levels, weights, starts, tables)
        return tables, starts

    @cached_property
    def _entries(self) -> tuple[Entries, Columns]:
        """Entries of all columns, and where each column is among them."""
        table, bins = self._table, self._bins
        features = table.features
        others = table.n_features + np.flatnonzero(table.columns.kinds[table.n_features :] != IGNORED)
        groups = [side[mask[side]] for mask in (table.discrete, table.continuous) for side in (features, others)]
        blocks = [table.sparse_block(groups[0]), _entries_of(table.code_block(groups[1])[0])]
        blocks += [self._cut(groups[2]), _entries_of(bins.codes(groups[3], np.dtype(np.int32)))]
        places = np.full(len(table.columns), -1)  # of columns that are neither, which nobody asks about
        places[np.concatenate(groups)] = np.arange(sum(map(len, groups)))
        sizes = np.concatenate([np.diff(block.starts) for block in blocks])
        rows, codes = (np.concatenate(parts) for parts in zip(*(block[1:3] for block in blocks), strict=True))
        zero_codes = np.concatenate([block.zero_codes for block in blocks])
        return (np.r_[0, np.cumsum(sizes)], rows, codes, zero_codes), places

    def _cut(self, columns: Columns) -> SparseBlock:
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


class PartCodes(CodeMatrix):
    """Codes in several places; only tables come here. `n_jobs` threads count parts that are in this process."""

    cells_at_once = 2**22  # of tables that travel together, and that every thread has

    def __init__(self, table: PartedTable, bins: Bins, n_jobs: int | None) -> None:
        plan, self._kept = table.encode(bins.n_bins, bins.strategy, bins.known)
        self.n_levels, self.n_samples, self._n_jobs = plan.n_levels, table.n_samples, n_jobs
        self._has_weights = table.weights is not None
        self._known: dict[tuple[int, ...], Counts] = {}

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self._kept.add(lambda part: part.weights.sum(), sum) if self._has_weights else self.n_samples)

    def columns_at_once(self, n_candidates: int) -> int:
        """All of them: a step is one question to wherever the parts are."""
        return n_candidates

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        """Nothing: the codes were made when they were kept."""

    def codes(self, column: int) -> Codes:
        """Codes of one column, of all rows: a byte for each of them comes here."""
        return _join(self._kept.map(lambda part: _matrix(part).codes(column)))

    def tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        sizes = self.n_levels[candidates] * rest.n_levels
        starts = np.cumsum(sizes) - sizes
        if rest.columns is None:  # Joint levels that were numbered anew are known here only.
            weights = self.weights
            cells = (self.codes(one).astype(np.int64) * rest.n_levels + rest.codes for one in candidates.tolist())
            found = np.concatenate([np.bincount(own, weights, n) for own, n in zip(cells, sizes, strict=True)])
            return self._narrow(found), starts
        count = partial(count_part, candidates=candidates, columns=rest.columns)
        return self._narrow(self._kept.add(count, add_tables, self._n_jobs)), starts

    def counts(self, joint: Joint) -> Counts:
        if joint.columns is None:
            return np.bincount(joint.codes, self.weights, joint.n_levels)
        for columns, known in self._known.items():
            n_own = len(joint.columns)
            if columns[:n_own] == joint.columns:
                return np.asarray(known.reshape(joint.n_levels, -1).sum(axis=1))
            if columns[len(columns) - n_own :] == joint.columns:
                return np.asarray(known.reshape(-1, joint.n_levels).sum(axis=0))
        count = partial(count_levels_of_part, columns=joint.columns)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[joint.columns] = counts = self._kept.add(count, add_tables, self._n_jobs)
        return counts  # type: ignore[no-any-return]

    @property
    def weights(self) -> Values | None:  # type: ignore[override]
        return _join(self._kept.map(lambda part: part.weights)) if self._has_weights else None

    def weighted(self, weights: Values) -> Self:
        """Refuse other weights: they would have to go where the rows are."""
        raise ValueError(f"rows in parts keep their own weights, {len(weights)} others were given; read X into memory")

    def _narrow(self, tables: Counts) -> Counts:
        """Whole numbers in the type that tables in memory have, for which kernels are compiled."""
        return tables.astype(np.int32) if tables.dtype.kind == "i" and self.n_samples < 2**31 else tables


def count_part(part: Coded, *, candidates: Columns, columns: tuple[int, ...]) -> Counts:
    """Tables of candidates against some columns, in one part."""
    matrix = _matrix(part)
    rest = joint_of(matrix, columns, 2**32)
    matrix.prepare(candidates, rest)
    return matrix.tables(candidates, rest)[0]


def count_levels_of_part(part: Coded, *, columns: tuple[int, ...]) -> Counts:
    """How many rows of a part, or which weight, each joint level of some columns has."""
    joint = joint_of(_matrix(part), columns, 2**32)
    counts = np.bincount(joint.codes, part.weights, joint.n_levels)
    return counts if part.weights is None else counts.astype(np.float64)  # of no rows it would be whole numbers


def add_tables(tables: list[Counts]) -> Counts:
    """Tables of several parts as those of all of them; whole numbers in a type that all rows fit into."""
    total = tables[0].astype(np.float64 if tables[0].dtype.kind == "f" else np.int64)
    for table in tables[1:]:
        total += table
    return total


def _matrix(part: Coded) -> CodeMatrix:
    return CodeMatrix(part.layout, part.matrices, part.weights)


def _join(parts: list[Any]) -> NDArray[Any]:
    return np.concatenate([part for part in parts if len(part)] or parts[:1])
