"""Encoded rows of all columns and their sums of products: in memory, of a sparse table, or in parts."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks, pieces
from unirel.data.chunks import PartedTable, RowsOfPart
from unirel.data.parts import Kept
from unirel.data.table import Table
from unirel.data.weights import Weights
from unirel.estimation.base import Columns, Values
from unirel.estimation.gaussian_rows import Encoder, Layout

# Numbers of a block of columns that are encoded at a time, and of a block of rows that are multiplied by others.
_BLOCK = 2**21


class Encoded:
    """Encoded rows in memory: of each column `ranks` rows that follow each other from `starts` on."""

    has_samples = True  # whether single numbers can be had, not only sums of products

    def __init__(self, layout: Layout, n_samples: int) -> None:
        self.starts, self.n_rows, self.n_samples = layout.starts, layout.n_rows, n_samples
        self.ranks = np.zeros(len(layout.starts), np.intp)
        self.rows = np.zeros((self.n_rows, n_samples))

    @classmethod
    def of(cls, table: Table, weights: Weights | None, n_jobs: int | None) -> "Encoded":
        """The rows of a table, wherever it is."""
        layout = Layout.of(table)
        if isinstance(table, PartedTable):
            return EncodedParts(layout, table)
        if table.is_sparse:
            return EncodedEntries(layout, table, weights)
        encoded, encoder = cls(layout, table.n_samples), Encoder(layout, table.n_samples, weights)

        def encode(columns: Columns) -> None:
            for column, values in _values_of(table, columns):
                found = encoder(column, values)
                encoded.ranks[column] = len(found)
                encoded.rows[layout.starts[column] :][: len(found)] = found

        map_tasks(encode, _blocks(table, np.flatnonzero(layout.heights)), n_jobs)
        return encoded

    def take(self, rows: Columns) -> Values:
        """Some rows in full."""
        return self.rows[rows]

    def times(self, vectors: Values, others: Columns | slice = slice(None)) -> Values:
        """Products of vectors of all samples with some rows, all of them if it is not said which."""
        return np.ascontiguousarray((self.rows[others] @ vectors.T).T)

    def products(self, rows: Columns, others: Columns | slice = slice(None)) -> Values:
        """Sums of products of some rows with others."""
        parts = pieces(rows, _BLOCK // self.n_samples)
        return np.concatenate([self.times(self.take(some), others) for some in parts or [rows]])

    def fourth_moment(self, rows: Columns) -> float:
        """The sum over all samples of the square of the sum of squares of some rows."""
        squares = np.zeros(self.n_samples)
        for some in pieces(rows, _BLOCK // self.n_samples):
            block = self.take(some)
            squares += np.einsum("ij,ij->j", block, block)
        return float(squares @ squares)


class EncodedEntries(Encoded):
    """Rows of a sparse table: a constant each, times the roots of the weights, and what entries differ from that.

    All zeros of a column have one rank, so that a column is encoded as one of its entries and a zero that stands for as
    many samples as there are zeros.
    """

    def __init__(self, layout: Layout, table: Table, weights: Weights | None) -> None:
        from scipy.sparse import csr_array

        self.starts, self.n_rows, self.n_samples = layout.starts, layout.n_rows, table.n_samples
        self.ranks = np.zeros(len(layout.starts), np.intp)
        self._constants, sizes = np.zeros(self.n_rows), np.zeros(self.n_rows, np.int64)
        weights = np.ones(table.n_samples) if weights is None else weights
        self._roots, total = np.sqrt(weights), weights.sum()
        differences: dict[int, Values] = {}  # of entries, by the first row of a column
        samples: dict[int, NDArray[np.integer]] = {}  # that have them
        for column, values, where, zero in _entries_of(table, np.flatnonzero(layout.heights)):
            own = weights[where]
            zeros = max(0.0, float(total - own.sum()))
            encoder = Encoder(layout, len(values) + 1, np.append(own, zeros))
            found = encoder(column, np.append(values, zero))
            first = int(layout.starts[column])
            rows = slice(first, first + len(found))
            if zeros > 0:
                self._constants[rows] = found[:, -1] / np.sqrt(zeros)
            self.ranks[column], sizes[rows] = len(found), len(where)
            differences[first] = (found[:, :-1] - np.outer(self._constants[rows], self._roots[where])).ravel()
            samples[first] = np.tile(where, len(found))
        values, where = (np.concatenate([own[first] for first in sorted(own)]) for own in (differences, samples))
        ends = np.append(0, np.cumsum(sizes))
        self._entries = csr_array((values, where, ends), shape=(self.n_rows, self.n_samples))

    def take(self, rows: Columns) -> Values:
        """Some rows in full."""
        return np.asarray(self._entries[rows].toarray() + np.outer(self._constants[rows], self._roots))

    def times(self, vectors: Values, others: Columns | slice = slice(None)) -> Values:
        """Products of vectors of all samples with some rows, all of them if it is not said which."""
        entries = self._entries if isinstance(others, slice) else self._entries[others]  # A slice would be a copy.
        constants = np.outer(self._constants[others], vectors @ self._roots)
        return np.ascontiguousarray((entries @ vectors.T + constants).T)


class EncodedParts(Encoded):
    """Rows of a table in parts, which stay where they are: only sums come here, and are added up in one order."""

    has_samples = False

    def __init__(self, layout: Layout, table: PartedTable) -> None:
        self.starts, self.n_rows, self.n_samples = layout.starts, layout.n_rows, table.n_samples
        self._kept: Kept = table.encode_rows(partial(encode_columns, layout=layout), layout.heights)
        owners, is_there = (
            np.repeat(np.arange(len(layout.heights)), layout.heights),
            self._add(RowsOfPart.lengths) > 0.5,
        )
        self.ranks = np.bincount(owners[is_there], minlength=len(layout.heights))

    def products(self, rows: Columns, others: Columns | slice = slice(None)) -> Values:
        """Sums of products of some rows with others."""
        return np.asarray(self._add(partial(RowsOfPart.products, rows=rows, others=others)))

    def fourth_moment(self, rows: Columns) -> float:
        """The sum over all samples of the square of the sum of squares of some rows."""
        return float(self._add(partial(RowsOfPart.fourth_moment, rows=rows)))

    def _add(self, function: Callable[[RowsOfPart], Any]) -> Any:
        """What a function finds in all parts, always added up in their order."""
        return sum(self._kept.map(function))


def encode_columns(taken: list[tuple[Values, Weights | None]], columns: Columns, *, layout: Layout) -> list[Values]:
    """Rows of columns whose values and weights came from several parts, cut as those were."""
    values = np.concatenate([own for own, _ in taken], axis=1)
    weights = [own for _, own in taken if own is not None]
    encoder = Encoder(layout, values.shape[1], np.concatenate(weights) if weights else None)
    heights = layout.heights[columns]
    rows = np.zeros((heights.sum(), values.shape[1]))
    for column, first, row in zip(columns.tolist(), (np.cumsum(heights) - heights).tolist(), values, strict=True):
        found = encoder(column, row)
        rows[first : first + len(found)] = found
    return np.split(rows, np.cumsum([own.shape[1] for own, _ in taken])[:-1], axis=1)


def _blocks(table: Table, columns: Columns) -> list[Columns]:
    """Columns of one kind that are read together."""
    kinds = columns[table.continuous[columns]], columns[table.discrete[columns]]
    return [some for kind in kinds for some in pieces(kind, _BLOCK // table.n_samples)]


def _values_of(table: Table, columns: Columns) -> Iterator[tuple[int, NDArray[Any]]]:
    """Numbers or codes of columns of one kind, one after the other."""
    numeric = bool(table.continuous[columns[0]])
    values = table.continuous_block(columns) if numeric else table.code_block(columns)[0]
    return zip(columns.tolist(), values, strict=True)


def _entries_of(table: Table, columns: Columns) -> Iterator[tuple[int, NDArray[Any], NDArray[Any], float]]:
    """Stored numbers or codes of columns, the samples that have them, and what all other samples have."""
    everywhere = np.arange(table.n_samples, dtype=np.int32)
    for some in _blocks(table, columns[columns >= table.n_features]):
        yield from ((column, values, everywhere, 0) for column, values in _values_of(table, some))
    features = columns[columns < table.n_features]
    numbers, coded = features[table.continuous[features]], features[table.discrete[features]]
    values, codes = table.sparse_numbers(numbers), table.sparse_block(coded)
    for some, block, entries, zeros in (
        (numbers, values, values.values, np.zeros(len(numbers))),
        (coded, codes, codes.codes, codes.zero_codes),
    ):
        for place, column in enumerate(some.tolist()):
            own = slice(block.starts[place], block.starts[place + 1])
            yield column, entries[own], block.rows[own], zeros[place]
