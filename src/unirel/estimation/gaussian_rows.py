"""Columns as rows of numbers that are told apart by products alone: normal scores, and indicators of levels."""

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unirel.data.table import Table
from unirel.data.weights import Weights
from unirel.estimation.base import Columns, Values

# Levels of a category that have an indicator: the most frequent ones. Those of the target all have one.
_MOST_LEVELS = 12
# Of unit variance: what has less left is known already.
KNOWN = 1e-9


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

    @property
    def n_rows(self) -> int:
        """Rows of all columns."""
        return int(self.heights.sum())


class Encoder:
    """Turns a column into rows of mean 0 and length 1 that have nothing in common, no more than there is room for.

    With weights, how many samples each value stands for, rows are multiplied by the roots of them.
    """

    def __init__(self, layout: Layout, n_samples: int, weights: Weights | None) -> None:
        self._layout, self._n_samples, self._weights = layout, n_samples, weights
        self._total = float(n_samples if weights is None else weights.sum())

    def __call__(self, column: int, values: NDArray[np.floating | np.integer]) -> Values:
        """The rows of a column of numbers, NaN where they are missing, or of codes."""
        if self._layout.continuous[column]:
            return self._numbers(np.asarray(values, np.float64))
        return self._levels(values.astype(np.intp, copy=False), int(self._layout.heights[column]))

    def _numbers(self, values: Values) -> Values:
        """Normal scores and, where values are missing, the indicator of that."""
        present = ~np.isnan(values)
        if not present.all():
            scores, weights = np.zeros((2, len(values))), None if self._weights is None else self._weights[present]
            scores[0, present], scores[1] = self._normal_scores(*in_order(values[present]), weights), ~present
        else:
            order, rises = in_order(values)
            if self._weights is None and rises.all():
                scores = np.empty((1, len(values)))
                scores[0, order] = self._untied
                return scores
            scores = self._normal_scores(order, rises, self._weights)[None]
        if self._weights is None:
            scores -= scores.mean(axis=1, keepdims=True)
        else:
            scores -= (scores @ self._weights / self._total)[:, None]
            scores *= np.sqrt(self._weights)
        return _whiten(scores)

    def _normal_scores(self, order: Columns, rises: NDArray[np.bool_], weights: Weights | None) -> Values:
        """Quantiles of the normal distribution at the mean ranks of values, given their order and where they rise."""
        begins = np.flatnonzero(np.append(True, rises)[: len(order)])
        ends = np.append(begins, len(order))[1:]
        if weights is not None:
            sums = np.append(0.0, np.cumsum(weights[order]))
            quantiles = ndtri((sums[begins] + sums[ends] + 1) / (2 * sums[-1] + 2))
        elif len(order) == self._n_samples:
            quantiles = self._quantiles[begins + ends + 1]  # Twice the mean rank of equal values is a whole number.
        else:
            quantiles = ndtri((begins + ends + 1) / (2 * len(order) + 2))
        scores = np.empty(len(order))
        scores[order] = np.repeat(quantiles, ends - begins)
        return scores

    @cached_property
    def _quantiles(self) -> Values:
        """Scores of all mean ranks that complete columns can have, by twice the rank."""
        return np.asarray(ndtri(np.arange(2 * self._n_samples + 1) / (2 * self._n_samples + 2)))

    @cached_property
    def _untied(self) -> Values:
        """The row of a complete column without ties, by rank."""
        return np.asarray(_whiten(self._quantiles[None, 2::2] - self._quantiles[2::2].mean())[0])

    def _levels(self, codes: Columns, most: int) -> Values:
        """Indicators of at most that many levels."""
        by_level = _whitened_indicators(np.bincount(codes, self._weights) / self._total, most)
        if self._weights is None:
            return np.asarray((by_level / np.sqrt(self._total)).take(codes, axis=1))
        return np.asarray(by_level.take(codes, axis=1) * np.sqrt(self._weights / self._total))


def in_order(values: Values) -> tuple[Columns, NDArray[np.bool_]]:
    """Positions of values in ascending order, of equal values in any, and whether each but the first is a larger one.

    Whole numbers that have the order of the values, but a position in the place of their last digits, are sorted in
    half the time that `argsort` takes. Where those digits matter, the rest is done by a sort of what is nearly sorted.
    """
    bits = (values + 0.0).view(np.int64)  # without minus zero, which is equal to zero
    digits = (1 << len(values).bit_length()) - 1
    keys = bits >> 63
    keys &= 2**63 - 1
    keys ^= bits
    keys &= ~digits
    keys |= np.arange(len(values))
    keys.sort()
    known = keys & ~digits
    rises = known[1:] != known[:-1]
    keys &= digits
    if rises.all():
        return keys, rises
    ordered = values[keys]
    if (ordered[1:] < ordered[:-1]).any():
        again = np.argsort(ordered, kind="stable")
        keys, ordered = keys[again], ordered[again]
    return keys, ordered[1:] != ordered[:-1]


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
    """Values at each level of orthogonal columns of unit variance that span the indicators of most levels.

    Of all levels the most frequent one needs no indicator; if there are more than that, the rarest ones have none.
    """
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    chosen = order[1:] if len(order) <= most + 1 else order[:most]
    means = shares[chosen]
    spread = np.sqrt(means * (1 - means))
    eigenvalues, vectors = np.linalg.eigh((np.diag(means) - np.outer(means, means)) / np.outer(spread, spread))
    indicators = np.repeat(-means[:, None], len(shares), axis=1)
    indicators[np.arange(len(chosen)), chosen] += 1
    return np.asarray((vectors / np.sqrt(eigenvalues)).T @ (indicators / spread[:, None]))
