"""What counted information is by chance: its mean over all orders of the rows, given how often every level occurs.

In a random order the number n of rows that have a level of one side (a rows of N) and a level of the other (b rows) is
hypergeometric with mean m = ab / N, and

    E[I] = 1/N * sum over all pairs of levels of E[n log n] - m log m.

Each term, the excess of a pair, is at least 0. Summed over the levels of one side it is a function of a alone, so that
one lookup table serves all columns that are compared with that side. Where something is given, the rows change places
within its levels only, each of which has a lookup table of its own.
"""

from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel.estimation.base import Columns, Values, known_n_log_n
from unirel.estimation.kernels.chance import N_KNOWN, Precision, find_excess
from unirel.estimation.kernels.counts import Lookup

_KNOWN = known_n_log_n(N_KNOWN)
# Nothing interpolated.
_EXACT = Precision(100.0, 1e-17, np.inf, 1.0)


class Grid(NamedTuple):
    """How a lookup table is made: levels of few rows have an entry each, larger ones some for each unit of their root.

    What is between is interpolated.
    """

    precision: Precision
    n_near: int
    per_root: int


# Where the series begins its error is below 4e-10. There are at most N / m pairs with a mean of m, so E[I] is wrong by
# less than 4e-12; what is interpolated adds less than 1e-11 for each level of the other side.
FINE = Grid(Precision(100.0, 1e-17, 256.0, 1.005), 2**12, 16)
# Within levels and about features, where tables are many: by less than 3e-6 for each level of the other side.
COARSE = Grid(Precision(25.0, 1e-10, 16.0, 1.15), 2**10, 4)
# A lookup table for a group of no rows.
NOTHING: Lookup = (np.zeros(1), np.array([0, 1]), np.ones(1, np.int64), np.zeros(1))


def joined(*lookups: Lookup) -> Lookup:
    """Lookup tables as one with all their groups."""
    entries, begins, n_near, per_root = zip(*lookups, strict=True)
    firsts = accumulate(map(len, entries), initial=0)
    starts = [own[:-1] + first for own, first in zip(begins, firsts, strict=False)]
    ends = [sum(map(len, entries))]
    return np.concatenate(entries), np.concatenate([*starts, ends]), np.concatenate(n_near), np.concatenate(per_root)


def expected_information(a: ArrayLike, b: ArrayLike) -> float:
    """Mean information of two columns over all orders of the rows, from how often each of their levels occurs.

    Parameters
    ----------
    a, b : array of numbers
        Rows of every level of either side; both add up to the same number.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    Two coins that have nothing to do with each other, thrown ten times, five heads each:

    >>> from unirel.estimation.chance import expected_information
    >>> round(expected_information([5, 5], [5, 5]), 3)
    0.06
    """
    (sizes, often), other = np.unique(np.asarray(a, np.float64), return_counts=True), np.asarray(b, np.float64)
    return float(often @ Chance.about(other).of(sizes) / max(other.sum(), 1.0))


def expected_within(a: Columns, b: Columns, given: Columns) -> float:
    """Mean information of two coded columns over all orders of the rows within the levels of a third one."""
    sides = []
    for codes in (b, a):
        n_levels = int(codes.max(initial=0)) + 1
        pairs, counts = np.unique(given.astype(np.int64) * n_levels + codes, return_counts=True)
        sides.append((counts.astype(np.float64), pairs // n_levels))
    chance = Chance.within(*sides[0], int(given.max(initial=0)) + 1)
    return float(chance.of(*sides[1]).sum()) / len(a)


class Chance:
    """What levels tell by chance about a column, within each of some groups of rows, times the number of all rows.

    Numbers of rows may have fractions, as sums of weights have; then the probabilities of whole n are continued. That
    is right where levels have many rows. Of levels of few rows it is too much (by a fifth for levels of a dozen rows
    with exponential weights), so that noise with weights comes out below 0, never above.

    Parameters
    ----------
    sizes, often : ndarray
        Numbers of rows that levels of the column have, and how many have as many, group by group.
    begins : ndarray of int
        Where each group begins, and where the last one ends.
    grid : Grid
        How lookup tables are made.
    """

    def __init__(self, sizes: Values, often: Values, begins: Columns, grid: Grid) -> None:
        self._sizes, self._often, self._begins, self._grid = sizes, often, begins, grid
        self._totals = np.add.reduceat(np.append(sizes * often, 0.0), begins[:-1]) * (np.diff(begins) > 0)

    @classmethod
    def about(cls, counts: NDArray[Any], grid: Grid = FINE) -> Self:
        """With nothing given: from how many rows each level of the column has."""
        counts = counts.astype(np.float64)
        sizes, often = np.unique(counts[counts > 0], return_counts=True)
        return cls(sizes, often.astype(np.float64), np.array([0, len(sizes)]), grid)

    @classmethod
    def within(cls, counts: Values, groups: NDArray[np.integer], n_groups: int) -> Self:
        """Within groups: from how many rows each pair of a group and a level has, in the order of the groups."""
        return cls(counts, np.ones(len(counts)), np.searchsorted(groups, np.arange(n_groups + 1)), COARSE)

    def of(self, rows: Values, groups: NDArray[np.integer] | None = None) -> Values:
        """For levels of these numbers of rows, in the order of their groups, without a lookup table."""
        begins = np.array([0, len(rows)])
        if groups is not None:
            begins = np.searchsorted(groups, np.arange(len(self._begins)))
        return self._excess(rows, begins, begins, np.empty(0), _EXACT)

    @property
    def lookup(self) -> Lookup:
        """The same to be looked up by kernels."""
        n_near = np.minimum(self._grid.n_near, np.ceil(self._totals) + 1)
        roots = np.sqrt(np.maximum(self._totals, n_near - 1)) - np.sqrt(n_near - 1)
        n_far = np.ceil(roots * self._grid.per_root)
        per_root = n_far / np.maximum(roots, 1e-300)
        begins = np.concatenate([[0], np.cumsum(n_near + n_far)]).astype(np.int64)
        layout = begins, n_near.astype(np.int64), per_root
        return self._excess(np.empty(0), *layout, self._grid.precision), *layout

    def _excess(self, rows: Values, begins: Columns, n_near: Columns, per_root: Values, precision: Precision) -> Values:
        found, levels = np.empty(begins[-1]), (self._sizes, self._often, self._begins)
        find_excess(rows, begins, n_near, per_root, *levels, _KNOWN, precision, found)
        return found
