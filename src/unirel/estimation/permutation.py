"""Permutation tests: orders of the rows that are as likely as the one seen, and how often chance does as well.

A column that adds nothing to what is given is independent of the target among rows that are alike in what the given
columns say about the target. So the target may be permuted among such rows, and nobody would notice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import Progress, no_progress
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.estimation.blocks import normal_scores

Counts = NDArray[np.int64]
Groups = NDArray[np.intp]

# Values that are equal but for rounding: a permutation that only renames classes must count as one that ties.
_ROUNDING = 1e-9
# Rows in all orders that are held at a time, and orders that are tried in the first round.
_MOST_NUMBERS, _FEWEST_ORDERS = 2**23, 20
# Rows for each term of what the target is fitted to, most terms, most knots of a column, and penalties to choose from.
_ROWS_PER_TERM, _MOST_TERMS, _MOST_KNOTS, _PENALTIES = 8, 100, 6, tuple(10.0**power for power in range(-3, 3))
# A group of rows that is so many times as wide as that of the median row is not permuted.
_WIDE = 2


class Permutations:
    """Random orders of rows that keep each in its group; only `rows` move, whose groups are `groups`, or all rows."""

    keeps_rows = True  # each row is in each order once

    def __init__(self, n_samples: int, groups: Groups | None = None, rows: Columns | None = None) -> None:
        self._n_samples, self._groups = n_samples, groups
        self._rows = np.arange(n_samples) if rows is None else rows
        self._places = self._rows if groups is None else self._rows[np.argsort(groups, kind="stable")]

    def draw(self, rng: np.random.Generator) -> Columns:
        """An order of all rows: which row comes to each place."""
        if self._groups is None:
            return rng.permutation(self._n_samples)
        order = np.arange(self._n_samples)
        order[self._places] = self._rows[np.lexsort([rng.random(len(self._rows)), self._groups])]
        return order


class GroupPermutations:
    """Random orders in which the rows of a whole group take the places of those of another one.

    They keep their order, from a random one of them on. A smaller group begins again at its end, a larger one is cut.
    """

    def __init__(self, codes: Columns, alike: Groups | None = None) -> None:
        self._codes, self._sizes, self._members = codes, np.bincount(codes), np.argsort(codes, kind="stable")
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._places = np.empty_like(codes)
        self._places[self._members] = np.arange(len(codes)) - self._starts[codes[self._members]]
        self._groups = Permutations(len(self._sizes), alike)
        self.keeps_rows = bool((self._sizes == self._sizes[0]).all())

    def draw(self, rng: np.random.Generator) -> Columns:
        """An order of all rows: which row comes to each place."""
        group = self._groups.draw(rng)[self._codes]
        firsts = np.floor(rng.random(len(self._sizes)) * self._sizes).astype(np.intp)
        return self._members[self._starts[group] + (self._places + firsts[group]) % self._sizes[group]]


class BlockPermutations:
    """Random orders of blocks of consecutive rows, into which a circle of all rows is cut at random."""

    keeps_rows = True

    def __init__(self, n_samples: int, block_length: int) -> None:
        self._n_samples, self._block_length = n_samples, block_length

    def draw(self, rng: np.random.Generator) -> Columns:
        """An order of all rows: which row comes to each place."""
        circle = np.roll(np.arange(self._n_samples), rng.integers(self._n_samples))
        blocks = np.split(circle, np.arange(self._block_length, self._n_samples, self._block_length))
        return np.concatenate([blocks[number] for number in rng.permutation(len(blocks))])


@dataclass
class Exceedances:
    """How often permutations tell at least as much as the data, of each of some columns."""

    observed: Values  # what the data tell
    n_permutations: int  # at most
    max_exceedances: int | None = None  # how often a column must be reached to need no more permutations
    keep: bool = False  # all values, for maxima over columns
    reached: Counts = field(init=False)
    used: Counts = field(init=False)
    kept: list[Values] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.reached, self.used = np.zeros((2, len(self.observed)), np.int64)

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Which columns were reached so often that they need no more permutations."""
        return self._are_enough(self.reached)

    @property
    def active(self) -> Columns:
        """Positions of the columns that need more permutations."""
        return np.flatnonzero(~self.stopped & (self.used < self.n_permutations))

    def add(self, active: Columns, values: Values) -> None:
        """Count permutations, one row each, of the active columns: of each up to the one that stops it."""
        if self.keep:
            self.kept.append(values)
        reached = self.reached[active] + np.cumsum(values >= self.observed[active] - _ROUNDING, axis=0)
        enough = self._are_enough(reached)
        last = np.where(enough.any(axis=0), enough.argmax(axis=0), len(values) - 1)
        self.reached[active] = reached[last, np.arange(len(active))]
        self.used[active] += last + 1

    def fill(
        self,
        estimate: Callable[[Columns, Columns], Values],
        orders: Iterator[Columns],
        progress: Progress = no_progress,
    ) -> bool:
        """Count until no column is active; False if that was interrupted after some permutations."""
        # `estimate` is given positions of columns and orders, one row each, and returns a row of values for each order.
        done, total = 0, len(self.observed) * self.n_permutations
        try:
            while len(active := self.active):
                first = next(orders)
                # A column that stops within a round has been asked too often: rounds are short in proportion.
                size = max(self.max_exceedances or _FEWEST_ORDERS, done // 8)
                size = min(size, max(1, _MOST_NUMBERS // len(first)), self.n_permutations - done)
                self.add(active, estimate(active, np.array([first, *(next(orders) for _ in range(size - 1))])))
                done += size
                progress(int(np.where(self.stopped, self.n_permutations, self.used).sum()), total)
        except KeyboardInterrupt:
            if done == 0:
                raise
            return False
        return True

    def _are_enough(self, reached: Counts) -> NDArray[np.bool_]:
        return np.asarray(reached >= (np.inf if self.max_exceedances is None else self.max_exceedances))

    @property
    def p_values(self) -> Values:
        """Exactly valid p-values (Besag and Clifford)."""
        return np.asarray(np.where(self.stopped, self.reached / self.used, (self.reached + 1) / (self.used + 1)))

    def p_values_of_maximum(self, transform: Callable[[Values], Values] = np.asarray) -> Values:
        """How often chance does as well as each column with any of them; needs all values."""
        # Columns differ in what they tell by chance, so all values of a column, transformed, are brought to mean 0 and
        # spread 1. The data count like one more permutation, so that no row is treated unlike the others.
        if len(self.observed) == 0:
            return np.empty(0)
        values = np.array(transform(np.vstack([self.observed, *self.kept])))
        values -= values.mean(axis=0)
        spreads = values.std(axis=0)
        values /= np.where(spreads > _ROUNDING, spreads, np.inf)
        highest = np.sort(values[1:].max(axis=1))
        n_reached = len(highest) - np.searchsorted(highest, values[0] - _ROUNDING)
        return np.asarray((n_reached + 1) / (len(highest) + 1))


def group_along(strata: NDArray[np.integer], along: Values, size: int) -> Groups:
    """Cut the rows of every stratum, in the order of some values, into groups of this size or barely more."""
    order = np.lexsort([along, strata])
    sizes = np.bincount(strata)
    starts, n_groups = np.cumsum(sizes) - sizes, np.maximum(sizes // size, 1)
    ordered = strata[order]
    places = np.arange(len(order)) - starts[ordered]
    groups = np.empty(len(order), np.intp)
    groups[order] = (np.cumsum(n_groups) - n_groups)[ordered] + places * n_groups[ordered] // sizes[ordered]
    return groups


def without_wide(along: Values, groups: Groups) -> Groups:
    """Every row of a wide group by itself: its rows are not alike. Only what is given decides, so tests stay valid."""
    from scipy.ndimage import maximum, minimum  # here: it takes long to import

    numbers = np.arange(int(groups.max()) + 1)
    widths = maximum(along, groups, numbers) - minimum(along, groups, numbers)
    wide = (widths > _WIDE * np.median(widths[groups]))[groups]
    apart = np.where(wide, len(groups) + np.arange(len(groups)), groups)
    return np.asarray(np.unique(apart, return_inverse=True)[1], np.intp)


def expected_target(table: Table, numbers: Columns, rows: Columns) -> Values:
    """How high continuous columns let expect the target of some rows to be, by a ridge regression of normal scores."""
    # Of several classes it is the direction in which their expected shares differ most. The scores take part as cubic
    # splines and, if there are rows enough, products of two.
    from sklearn.linear_model import RidgeCV  # here: it takes long to import
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    scores = _scores_of(table, numbers, rows)
    n_terms = min(len(rows) // _ROWS_PER_TERM, _MOST_TERMS)
    n_knots = min(_MOST_KNOTS, n_terms // len(numbers) - 2)
    terms = scores.T
    if n_knots >= 2:
        splines = SplineTransformer(n_knots, knots="quantile", include_bias=False, extrapolation="linear")
        terms = splines.fit_transform(terms)
    products = [scores[a] * scores[b] for a in range(len(scores)) for b in range(a)]
    if terms.shape[1] + len(products) <= n_terms:
        terms = np.column_stack([terms, *products])
    if table.continuous[table.target]:
        target = _scores_of(table, np.array([table.target]), rows).T
    else:
        codes = table.codes(table.target)
        target = np.eye(int(codes.max()) + 1)[codes[rows]]
    terms = StandardScaler().fit_transform(terms)
    fitted = np.asarray(RidgeCV(_PENALTIES).fit(terms, target).predict(terms)).reshape(target.shape)
    fitted -= fitted.mean(axis=0)
    return np.asarray(fitted @ np.linalg.svd(fitted, full_matrices=False)[2][0])


def _scores_of(table: Table, numbers: Columns, rows: Columns) -> Values:
    """Normal scores of continuous columns, one row each, 0 for missing values."""
    return np.array([normal_scores(values[rows]) for values in table.continuous_block(numbers)])
