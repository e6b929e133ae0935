"""Columns as rows of numbers that are told apart by products alone, and their sums of products.

The rows are normal scores, and indicators of levels; they are in memory, of a sparse table, or in parts.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unirel._runtime import map_tasks, pieces
from unirel.data.chunks import PartedTable, RowsOfPart
from unirel.data.parts import Rows
from unirel.data.table import Table
from unirel.data.weights import Weights
from unirel.estimation.base import Columns, Values

# Levels of a category that have an indicator: the most frequent ones. Those of the target all have one.
_MOST_LEVELS = 12
# Of unit variance: what has less left is known already.
KNOWN = 1e-9
# Numbers of a block of columns that are encoded at a time, and of a block of rows that are multiplied by others.
_BLOCK = 2**21


class Layout(NamedTuple):
    """Where the rows of each column are among those of all columns."""

    continuous: NDArray[np.bool_]  # whether a column holds numbers; others hold codes of levels
    starts: Columns  # the first row of each column
    heights: Columns  # how many rows each column has room for

    @classmethod
    def of(cls, table: Table) -> Self:
        """Room for scores and the indicator of missing ones, or for the indicators of levels."""
        heights = np.where(table.continuous, 1 + table.has_missing, np.minimum(table.n_levels - 1, _MOST_LEVELS))
        if table.discrete[table.target]:
            heights[table.target] = table.n_levels[table.target] - 1
        heights = np.maximum(heights, 0).astype(np.intp)
        return cls(table.continuous, np.cumsum(heights) - heights, heights)


class Encoder:
    """Turns a column into rows of mean 0 and length 1 that have nothing in common, no more than there is room for.

    Weights are how many samples each value stands for, and rows are multiplied by the roots of them; without, each
    stands for one.
    """

    def __init__(self, layout: Layout, n_samples: int, weights: Weights | None) -> None:
        self._layout, self._is_plain = layout, weights is None
        self._weights = np.ones(n_samples) if weights is None else weights
        self._total = float(self._weights.sum())

    def __call__(self, column: int, values: NDArray[np.floating | np.integer]) -> Values:
        """The rows of a column of numbers, NaN where they are missing, or of codes."""
        if self._layout.continuous[column]:
            return self._numbers(np.asarray(values, np.float64))
        codes = values.astype(np.intp, copy=False)
        shares = np.bincount(codes, self._weights) / self._total
        by_level = _whitened_indicators(shares, int(self._layout.heights[column]))
        return np.asarray(by_level.take(codes, axis=1) * np.sqrt(self._weights / self._total))

    def _numbers(self, values: Values) -> Values:
        """Normal scores and, where values are missing, the indicator of that."""
        order = np.argsort(values)  # Missing ones are the last.
        ordered = values[order]
        rises = np.append(True, ordered[1:] > ordered[:-1])
        if self._is_plain and rises.all():
            scores = np.empty((1, len(values)))
            scores[0, order] = self._untied
            return scores
        missing = np.isnan(values)
        scores = np.zeros((1 + int(missing.any()), len(values)))
        scores[1:] = missing
        present = order[: len(order) - np.count_nonzero(missing)]
        scores[0, present] = _normal_scores(rises[: len(present)], self._weights[present])
        scores -= (scores @ self._weights / self._total)[:, None]
        return _whiten(scores * np.sqrt(self._weights))

    @cached_property
    def _untied(self) -> Values:
        """The row of a complete column without ties, by rank: what most columns have, made once."""
        scores = _normal_scores(self._weights > 0, self._weights)
        return np.asarray(_whiten(scores[None] - scores.mean())[0])


def _normal_scores(rises: NDArray[np.bool_], weights: Weights) -> Values:
    """Quantiles of the normal distribution at the mean ranks of ordered values, given where they rise."""
    begins = np.flatnonzero(rises)
    ends, sums = np.append(begins, len(rises))[1:], np.append(0.0, np.cumsum(weights))
    return np.repeat(ndtri((sums[begins] + sums[ends] + 1) / (2 * sums[-1] + 2)), ends - begins)


def _whiten(rows: Values) -> Values:
    """Rows of mean 0 that span the same and are orthogonal and of length 1; constant ones are left out."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    varies = lengths > 1e-9 * np.sqrt(rows.shape[1])
    rows /= np.where(varies, lengths, 1.0)[:, None]
    if not varies.all():
        rows = rows[varies]
    if len(rows) < 2:
        return rows
    eigenvalues, vectors = np.linalg.eigh(rows @ rows.T)
    kept = eigenvalues > KNOWN
    return np.asarray((vectors[:, kept] / np.sqrt(eigenvalues[kept])).T @ rows)


def _whitened_indicators(shares: Values, most: int) -> Values:
    """Values at each level of orthogonal columns of unit variance that span the indicators of most levels."""
    # Of all levels the most frequent one needs no indicator; if there are more than that, the rarest ones have none.
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    chosen = order[1:] if len(order) <= most + 1 else order[:most]
    means = shares[chosen]
    spread = np.sqrt(means * (1 - means))
    eigenvalues, vectors = np.linalg.eigh((np.diag(means) - np.outer(means, means)) / np.outer(spread, spread))
    indicators = np.repeat(-means[:, None], len(shares), axis=1)
    indicators[np.arange(len(chosen)), chosen] += 1
    return np.asarray((vectors / np.sqrt(eigenvalues)).T @ (indicators / spread[:, None]))


class Encoded:
    """Encoded rows in memory: of each column `ranks` rows that follow each other from `starts` on."""

    has_samples = True  # whether single numbers can be had, not only sums of products
    rows: Values

    def __init__(self, layout: Layout, n_samples: int) -> None:
        self.starts, self.n_rows, self.n_samples = layout.starts, int(layout.heights.sum()), n_samples
        self.ranks = np.zeros(len(layout.starts), np.intp)

    @classmethod
    def of(cls, table: Table, weights: Weights | None, n_jobs: int | None) -> "Encoded":
        """The rows of a table, wherever it is."""
        layout = Layout.of(table)
        if isinstance(table, PartedTable):
            return EncodedParts(layout, table)
        if table.is_sparse:
            return EncodedEntries(layout, table, weights)
        encoded, encoder = cls(layout, table.n_samples), Encoder(layout, table.n_samples, weights)
        encoded.rows = np.zeros((encoded.n_rows, table.n_samples))

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

        super().__init__(layout, table.n_samples)
        self._constants = np.zeros(self.n_rows)
        weights = np.ones(table.n_samples) if weights is None else weights
        self._roots, total = np.sqrt(weights), weights.sum()
        entries = []  # of each column: rows, samples, and what they differ from the constant
        for column, values, where, zero in _entries_of(table, np.flatnonzero(layout.heights)):
            own = weights[where]
            zeros = max(0.0, float(total - own.sum()))
            encoder = Encoder(layout, len(values) + 1, np.append(own, zeros))
            found = encoder(column, np.append(values, zero))
            self.ranks[column], rows = len(found), layout.starts[column] + np.arange(len(found))
            if zeros > 0:
                self._constants[rows] = found[:, -1] / np.sqrt(zeros)
            differences = found[:, :-1] - np.outer(self._constants[rows], self._roots[where])
            entries.append((np.repeat(rows, len(where)), np.tile(where, len(found)), differences.ravel()))
        rows, where, values = map(np.concatenate, zip(*entries, strict=True))
        self._entries = csr_array((values, (rows, where)), shape=(self.n_rows, self.n_samples))

    def take(self, rows: Columns) -> Values:
        return np.asarray(self._entries[rows].toarray() + np.outer(self._constants[rows], self._roots))

    def times(self, vectors: Values, others: Columns | slice = slice(None)) -> Values:
        entries = self._entries if isinstance(others, slice) else self._entries[others]  # A slice would be a copy.
        constants = np.outer(self._constants[others], vectors @ self._roots)
        return np.ascontiguousarray((entries @ vectors.T + constants).T)


class EncodedParts(Encoded):
    """Rows of a table in parts, which stay where they are: only sums come here, and are added up in one order."""

    has_samples = False

    def __init__(self, layout: Layout, table: PartedTable) -> None:
        super().__init__(layout, table.n_samples)
        self._kept: Rows = table.encode_rows(partial(encode_columns, layout=layout), layout.heights)
        owners = np.repeat(np.arange(len(layout.heights)), layout.heights)
        is_there = self._add(lambda stretch: np.einsum("ij,ij->i", stretch, stretch)) > 0.5
        self.ranks = np.bincount(owners[is_there], minlength=len(layout.heights))

    def products(self, rows: Columns, others: Columns | slice = slice(None)) -> Values:
        return np.asarray(self._add(lambda stretch: stretch[rows] @ stretch[others].T))

    def fourth_moment(self, rows: Columns) -> float:
        return float(self._add(lambda stretch: ((stretch[rows] ** 2).sum(axis=0) ** 2).sum()))

    def _add(self, function: Callable[[Values], Any]) -> Any:
        """What a function finds in stretches of samples of all parts, always added up in their order."""
        return sum(self._kept.map(partial(RowsOfPart.total, function=function)))


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
