"""Mutual information of normal scores and categories, in closed form, however many columns are given."""

from copy import copy
from functools import cached_property
from typing import NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, ndtri, psi

from unirel.information.base import Block, Changes, Columns, Information, Values
from unirel.options import EstimationOptions
from unirel.table import Table
from unirel.weights import Weights, check_weights
from unirel.work import Progress, map_tasks, pieces

# Levels of a category that have an indicator: the most frequent ones. Those of the target all have one.
_MOST_LEVELS = 12
# Of unit variance: what has less left is known already, and a target that has less left is fully explained.
_KNOWN, _EXPLAINED = 1e-9, 1e-10
# A determinant that falls by more than this factor is taken apart, so that each direction has the same least value.
_STEEP = 1e-5
# Numbers of a block of columns that are encoded at a time, and columns whose products with all others are kept.
_BLOCK, _MOST_PRODUCTS = 2**18, 512
# Unique relevance needs no ridge from that many rows for each column on, and no more than the second: more of it finds
# no more features, and makes all values small. The third only lets inverses exist.
_ROWS_PER_COLUMN, _MOST_RIDGE, _LEAST_RIDGE = 4, 0.5, 1e-6


class Gaussian(Information):
    """Information as if the columns, after a monotone transform each, were jointly normal.

    A continuous column is taken as its normal scores: ranks, ties at their mean rank, through the inverse normal. A
    missing value has score 0 and is told apart by an indicator. A category is a block of indicators of its twelve most
    frequent levels, class labels as a target one of all classes. Then

        I(A; B | S) = 1/2 log det R(B | S) - 1/2 log det R(B | S, A),

    R being the covariance of what a linear fit leaves: for two continuous columns -log(1 - r^2) / 2 of their partial
    correlation r, for class labels minus half the logarithm of Wilks' lambda. Exact for Gaussian copulas, and blind to
    what is not monotone, such as an exclusive or. Nothing but sums of products over the rows is used, so what is given
    may be hundreds of columns.

    What independent columns share on average is taken off: the mean of Wilks' lambda for normal noise, from the degrees
    of freedom of both blocks. Where no degree of freedom is left, the estimate is 0.

    Parameters
    ----------
    table : Table
        Columns of any kind, in memory and dense.
    sample_weight : array of shape (n_samples,), optional
        How many rows each row stands for, as in `Plugin`.
    **options
        `shrinkage`: a ridge on the features, whose encoded columns have unit variance, as if each had that much noise
        of its own; "auto" is 0, but what each of many columns adds to all others (`without_each`) is estimated with the
        ridge of Ledoit and Wolf (2004) where there are fewer than four rows for each column. And `n_jobs`.
    """

    name = "gaussian"
    takes_weights = True
    counts_levels = False
    compares_raw = True

    def __init__(
        self, table: Table, *, sample_weight: ArrayLike | None = None, **options: Unpack[EstimationOptions]
    ) -> None:
        self.check(table)
        super().__init__(table, **options)
        weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        shrinkage = self.options["shrinkage"]
        self._total = float(table.n_samples if weights is None else weights.sum())
        self._weights, self._ridge = weights, 0.0 if shrinkage == "auto" else float(shrinkage)
        self._products: dict[int, Values] = {}

    @classmethod
    def check(cls, table: Table) -> None:
        """Refuse a table whose rows cannot be encoded here."""
        if table.is_sparse or table.is_parted:
            where = "X is sparse" if table.is_sparse else "the rows are in parts"
            raise ValueError(f"estimator='gaussian' needs a dense table in memory, {where}; pass estimator='binned'")
        super().check(table)

    def mutual_information(self, a: Block, b: Block) -> float:
        """I(a; b) of two blocks."""
        return self.conditional(a, b, [])

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given) of blocks."""
        known, known_and_a, other = (self._rows_of(block) for block in (given, [*given, *a], b))
        rows = np.unique(np.concatenate([known_and_a, other]))
        encoded = self._encoded.rows[rows]
        covariance = encoded @ encoded.T
        covariance[np.diag_indices(len(rows))] += self._ridges[rows]
        places = [np.searchsorted(rows, some) for some in (known, known_and_a)]
        fits = [_Fit(covariance[some], some, self._ridges[rows[some]]) for some in places]
        at = np.searchsorted(rows, other)
        left = [np.linalg.eigvalsh(fit.left(covariance[at], at)[:, at]) for fit in fits]
        value = 0.5 * float(_log_det(left[0]) - _log_det(left[1]))
        rank, freedom = int((left[0] > _EXPLAINED).sum()), fits[1].freedom - fits[0].freedom
        return float(self._less_chance(np.array([value]), fits[0].freedom, np.array([freedom]), rank)[0])

    def pairwise(self, candidates: Block, column: int) -> Values:
        """I(candidate; column) of every candidate."""
        return self._given(candidates, column, [])

    def joint(self, candidates: Block, selected: Block) -> Values:
        """I(candidate, selected; target) of every candidate."""
        step = self._beside(candidates, self.table.target, selected)
        rank = int(self._encoded.ranks[self.table.target])
        return self._less_chance(-0.5 * step.after, 0.0, step.known_freedom + step.freedom, rank)

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        """I(candidate; target | given) of every candidate."""
        return self._given(candidates, self.table.target, given)

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate."""
        return self._given(candidates, column, [self.table.target])

    def by_chance(self, candidates: Block, column: int) -> Values:
        """What was taken off I(candidate; column)."""
        step = self._beside(candidates, column, [])
        return -self._less_chance(np.zeros(len(step.freedom)), 0.0, step.freedom, step.rank)

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        """I(candidate; target | given) with the rows of target and given in other orders; nothing is encoded anew."""
        return np.array([self._with_moved_rows(given, order).estimate(candidates, given) for order in orders])

    def without_each(
        self, block: Block, rows: NDArray[np.intp] | None = None, progress: Progress | None = None
    ) -> Changes:
        """How I(block; target) changes without each column of the block, from one inverse and always all rows."""
        columns, encoded = np.asarray(block, np.intp), self._encoded
        features, target = (encoded.rows[self._rows_of(some)] for some in (columns, [self.table.target]))
        fit = _FullFit(features, target, self._total, self.options["shrinkage"])
        values, freedom, ranks = np.zeros(len(columns)), np.zeros(len(columns)), encoded.ranks[columns]
        for rank, chosen in _of_equal(ranks):
            first = (np.cumsum(ranks) - ranks)[chosen]
            values[chosen], freedom[chosen] = fit.without(first[:, None] + np.arange(rank))
        before = self._less_chance(np.array([fit.explained]), 0.0, np.array([fit.freedom]), len(target))[0]
        unique = self._less_chance(values, fit.freedom - freedom, freedom, len(target))
        return Changes(float(before), -unique, np.full(len(columns), np.nan))

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a discrete column; that of the normal distribution for the scores of a continuous one."""
        if not self.table.discrete[column]:
            return float(0.5 * np.log(2 * np.pi * np.e))
        return max(0.0, float(entr(self._shares(self.table.codes(column))).sum()))

    def _given(self, candidates: Block, column: int, given: Block) -> Values:
        """I(candidate; column | given) of every candidate."""
        step = self._beside(candidates, column, given)
        return self._less_chance(0.5 * (step.before - step.after), step.known_freedom, step.freedom, step.rank)

    def _beside(self, candidates: Block, column: int, given: Block) -> "_Beside":
        """What is left of a column when each candidate is known beside what is given."""
        candidates, other = np.asarray(candidates, np.intp), self._rows_of([column])
        known = self._rows_of(given)
        fit = _Fit(self._products_of(given), known, self._ridges[known])
        left = fit.left(self._product(column), other)
        eigenvalues, vectors = np.linalg.eigh(left[:, other])
        kept = eigenvalues > _EXPLAINED
        in_units = (vectors[:, kept] / np.sqrt(eigenvalues[kept])).T @ left
        before, ranks = float(_log_det(eigenvalues)), self._encoded.ranks[candidates]
        after, freedom = np.full(len(candidates), before), np.zeros(len(candidates))
        for rank, chosen in _of_equal(ranks):
            rows = self._encoded.starts[candidates[chosen], None] + np.arange(rank)
            roots = _inverse_roots(fit.left_of_blocks(rows, 1.0 + self._ridges[rows]))
            shared = roots @ np.moveaxis(in_units[:, rows], 0, -1)
            change = _det_of_identity_less(shared)
            steep = change < _STEEP
            change[~steep] = before + np.log(change[~steep])
            explained = roots[steep] @ np.moveaxis(left[:, rows[steep]], 0, -1)
            change[steep] = _log_det(np.linalg.eigvalsh(left[:, other] - explained.swapaxes(1, 2) @ explained))
            after[chosen], freedom[chosen] = change, fit.freedom_of_blocks(rows, roots, self._ridges[rows])
        return _Beside(before, after, fit.freedom, freedom, int(kept.sum()))

    def _less_chance(self, information: Values, known: float | Values, freedom: Values, rank: int) -> Values:
        """Information of blocks less what noise with as many degrees of freedom gives; 0 if that leaves none."""
        left = self._total - 1 - known
        enough = left - freedom - rank + 1 >= 1 - 1e-6
        chance = _chance(np.where(enough, left, rank + 1.0), np.where(enough, freedom, 0.0), rank)
        return np.where(enough, information - chance, 0.0)

    def _rows_of(self, block: Block) -> Columns:
        """Encoded rows of the columns of a block, each column once."""
        columns = np.fromiter(dict.fromkeys(map(int, block)), np.intp)
        starts, ranks = self._encoded.starts[columns], self._encoded.ranks[columns]
        return np.repeat(starts - np.cumsum(ranks) + ranks, ranks) + np.arange(ranks.sum())

    def _products_of(self, block: Block) -> Values:
        """Covariances of the encoded rows of a block with all encoded rows."""
        none = np.empty((0, len(self._encoded.rows)))
        return np.concatenate([none, *(self._product(column) for column in dict.fromkeys(map(int, block)))])

    def _product(self, column: int) -> Values:
        if column not in self._products:
            if len(self._products) >= _MOST_PRODUCTS:
                self._products.clear()
            rows = self._rows_of([column])
            product = np.ascontiguousarray((self._encoded.rows @ self._encoded.rows[rows].T).T)
            product[np.arange(len(rows)), rows] += self._ridges[rows]
            self._products[column] = product
        return self._products[column]

    def _with_moved_rows(self, given: Block, order: Columns) -> Self:
        """The same estimator with the rows of target and given in another order."""
        moved, columns = copy(self), [*map(int, given), self.table.target]
        rows = self._rows_of(columns)
        moved._products = {}
        for column in columns:
            product = self._encoded.rows[self._rows_of([column])][:, order] @ self._encoded.rows.T
            product[:, rows] = self._product(column)[:, rows]  # They move together.
            moved._products[column] = product
        return moved

    @cached_property
    def _ridges(self) -> Values:
        """The ridge of every encoded row: none of the target."""
        ridges = np.full(len(self._encoded.rows), self._ridge)
        ridges[self._encoded.starts[self.table.target] :] = 0.0
        return ridges

    @cached_property
    def _encoded(self) -> "_Encoded":
        """All columns as blocks of rows that have mean 0, variance 1 / N and nothing in common within a block."""
        table, n_samples = self.table, self.table.n_samples
        widths = np.where(table.continuous, 1 + table.has_missing, np.minimum(table.n_levels - 1, _MOST_LEVELS))
        if table.discrete[table.target]:
            widths[table.target] = table.n_levels[table.target] - 1
        starts = np.concatenate([[0], np.cumsum(np.maximum(widths, 0))])
        encoded = _Encoded(np.zeros((starts[-1], n_samples)), starts[:-1], np.zeros(len(widths), np.intp))

        def encode(columns: Columns) -> None:
            numeric = bool(table.continuous[columns[0]])
            values = table.continuous_block(columns) if numeric else table.code_block(columns)[0]
            for column, row in zip(columns.tolist(), values, strict=True):
                found = self._encode_numbers(row) if numeric else self._encode_levels(row, int(widths[column]))
                encoded.ranks[column] = len(found)
                encoded.rows[starts[column] : starts[column] + len(found)] = found

        kinds = np.flatnonzero(table.continuous), np.flatnonzero(table.discrete)
        parts = [part for kind in kinds for part in pieces(kind, _BLOCK // n_samples)]
        map_tasks(encode, parts, self.options["n_jobs"])
        return encoded

    def _encode_numbers(self, values: Values) -> Values:
        """Normal scores and, where values are missing, the indicator of that."""
        missing = np.isnan(values)
        if missing.any():
            scores = np.zeros((2, len(values)))
            weights = None if self._weights is None else self._weights[~missing]
            scores[0, ~missing], scores[1] = self._normal_scores(values[~missing], weights), missing
        else:
            scores = self._normal_scores(values, self._weights)[None]
        if self._weights is None:
            scores -= scores.mean(axis=1, keepdims=True)
        else:
            scores -= (scores @ self._weights / self._total)[:, None]
            scores *= np.sqrt(self._weights)
        return _whiten(scores)

    def _normal_scores(self, values: Values, weights: Weights | None) -> Values:
        """Quantiles of the normal distribution at the mean ranks of values, none of which is missing."""
        order, ordered = _in_order(values)
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(values)])
        ends = np.append(begins, len(values))[1:]
        if weights is not None:
            sums = np.append(0.0, np.cumsum(weights[order]))
            quantiles = ndtri((sums[begins] + sums[ends] + 1) / (2 * sums[-1] + 2))
        elif len(values) == self.table.n_samples:
            quantiles = self._quantiles[begins + ends + 1]  # Twice the mean rank of equal values is a whole number.
        else:
            quantiles = ndtri((begins + ends + 1) / (2 * len(values) + 2))
        scores = np.empty(len(values))
        scores[order] = quantiles if len(begins) == len(values) else np.repeat(quantiles, ends - begins)
        return scores

    @cached_property
    def _quantiles(self) -> Values:
        """Scores of all mean ranks that complete columns can have, by twice the rank."""
        n_samples = self.table.n_samples
        return np.asarray(ndtri(np.arange(2 * n_samples + 1) / (2 * n_samples + 2)))

    def _encode_levels(self, codes: NDArray[np.integer], most: int) -> Values:
        """Indicators of at most that many levels, made orthogonal."""
        by_level = _whitened_indicators(self._shares(codes), most)
        if self._weights is None:
            return np.asarray((by_level / np.sqrt(self._total)).take(codes, axis=1))
        return np.asarray(by_level.take(codes, axis=1) * np.sqrt(self._weights / self._total))

    def _shares(self, codes: NDArray[np.integer]) -> Values:
        """The share of the rows that each level has."""
        return np.bincount(codes, self._weights) / self._total


class _Encoded(NamedTuple):
    """All columns in numbers."""

    rows: Values  # of all columns; those of one follow each other
    starts: Columns  # the first row of each column
    ranks: Columns  # how many rows each column has


class _Beside(NamedTuple):
    """What is left of a column beside each candidate: logarithms of determinants, and degrees of freedom."""

    before: float  # without the candidate
    after: Values  # with each candidate
    known_freedom: float  # of what is given
    freedom: Values  # of each candidate
    rank: int  # directions of the column that what is given does not explain


class _Fit:
    """What a linear fit on some encoded rows leaves of others.

    Parameters
    ----------
    products : ndarray of shape (n_known, n_rows)
        Covariances of the rows that are known with all rows.
    known : ndarray of int
        Which rows these are.
    ridges : ndarray of shape (n_known,)
        What has been added to their variances.
    """

    def __init__(self, products: Values, known: Columns, ridges: Values) -> None:
        eigenvalues, vectors = np.linalg.eigh(products[:, known])
        kept = eigenvalues > _KNOWN
        self._roots = vectors[:, kept] / np.sqrt(eigenvalues[kept])
        self._basis = self._roots.T @ products
        self._ridges = ridges
        self.freedom = float(kept.sum() - ridges @ (self._roots**2).sum(axis=1))

    def left(self, products: Values, rows: Columns) -> Values:
        """Covariances of what is left of some rows with all rows."""
        return np.asarray(products - self._basis[:, rows].T @ self._basis)

    def left_of_blocks(self, rows: Columns, variances: Values) -> Values:
        """Covariances within blocks of rows, of which each has these variances and nothing in common."""
        basis = np.moveaxis(self._basis[:, rows], 0, -1)
        return np.asarray(variances[:, :, None] * np.eye(rows.shape[1]) - basis @ basis.swapaxes(1, 2))

    def freedom_of_blocks(self, rows: Columns, roots: Values, ridges: Values) -> Values:
        """Degrees of freedom that blocks add, given the inverse roots of what is left of them."""
        freedom: Values = (roots != 0).any(axis=2).sum(axis=1).astype(np.float64)
        if not ridges.any():
            return freedom
        # The ridge takes its part of the trace of the inverse, which grows for the rows of the block and those known.
        slopes = roots @ np.moveaxis((self._roots @ self._basis)[:, rows], 0, -1)
        own, known = (roots**2 * ridges[:, None, :]).sum((1, 2)), (slopes**2 * self._ridges).sum((1, 2))
        return np.asarray(freedom - own - known)


class _FullFit:
    """A ridge fit of a target on a whole block of rows, and what it would be without some of them.

    Parameters
    ----------
    features, target : ndarray of shape (n_rows, n_samples)
        Encoded rows.
    total : float
        Number of samples.
    shrinkage : "auto" or float
        The ridge, or that of Ledoit and Wolf unless there are many samples for each row.
    """

    def __init__(self, features: Values, target: Values, total: float, shrinkage: str | float) -> None:
        n_rows, n_samples = features.shape
        eigenvalues, vectors = np.linalg.eigh(features.T @ features if n_rows > n_samples else features @ features.T)
        kept = eigenvalues > _KNOWN * max(1.0, eigenvalues.max(initial=0.0))
        eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
        if n_rows > n_samples:
            vectors = features @ vectors / np.sqrt(eigenvalues)
        ridge = float(shrinkage) if shrinkage != "auto" else 0.0
        if shrinkage == "auto" and n_rows * _ROWS_PER_COLUMN > total:
            ridge = _ledoit_wolf_ridge(features, eigenvalues, total)
        inverse = 1 / (eigenvalues + ridge)
        self._vectors, self._inverse, self._hat = vectors, inverse, eigenvalues * inverse**2
        # Of directions that the rows do not have.
        self._inverse_of_rest = 1 / max(ridge, _LEAST_RIDGE) if len(eigenvalues) < n_rows else 0.0
        self.freedom = float(eigenvalues @ inverse)
        shared = vectors.T @ (features @ target.T)
        self._coefficients = vectors @ (inverse[:, None] * shared)
        left, directions = np.linalg.eigh(np.eye(len(target)) - (shared.T * inverse) @ shared)
        self.explained = -0.5 * float(_log_det(left))
        self._in_units = directions / np.sqrt(np.maximum(left, _EXPLAINED))

    def without(self, rows: Columns) -> tuple[Values, Values]:
        """What the fit loses without each of some blocks of rows, and their degrees of freedom."""
        vectors, identity = self._vectors[rows], np.eye(rows.shape[1])
        turned = vectors.swapaxes(1, 2)
        inverse = (vectors * self._inverse) @ turned + self._inverse_of_rest * (identity - vectors @ turned)
        roots = _inverse_roots(inverse)
        lost = roots @ self._coefficients[rows] @ self._in_units
        freedom = ((roots @ (vectors * self._hat) @ turned) * roots).sum((1, 2))
        return 0.5 * np.log(_det(identity + lost @ lost.swapaxes(1, 2))), freedom


def _ledoit_wolf_ridge(features: Values, eigenvalues: Values, total: float) -> float:
    """The ridge on rows of unit variance that makes their covariance nearest to the true one, in the mean square."""
    squares = float(eigenvalues @ eigenvalues)
    noise = (total * float((np.einsum("ij,ij->j", features, features) ** 2).sum()) - squares) / total
    spread = squares - len(features)  # around the identity, of which the noise is a part
    return noise / max(spread - noise, noise / _MOST_RIDGE, 1e-12)


def _chance(left: float | Values, freedom: Values, rank: int) -> Values:
    """The mean of I between noise of some degrees of freedom and normal noise of a rank, of `left` degrees in all."""
    pairs, places = np.unique(np.broadcast_arrays(np.asarray(left, np.float64), freedom), axis=1, return_inverse=True)
    steps = np.arange(rank)
    terms = psi((pairs[0][:, None] - steps) / 2) - psi((pairs[0] - pairs[1])[:, None] / 2 - steps / 2)
    return np.asarray(0.5 * terms.sum(axis=1)[places.ravel()])


def _log_det(eigenvalues: NDArray[np.floating]) -> NDArray[np.float64]:
    """Logarithms of determinants, no direction of which counts as less than hardly anything."""
    return np.asarray(np.log(np.maximum(eigenvalues, _EXPLAINED)).sum(axis=-1), np.float64)


def _det(matrices: Values) -> Values:
    return np.asarray(matrices[:, 0, 0] if matrices.shape[1] == 1 else np.linalg.det(matrices))


def _det_of_identity_less(shared: Values) -> Values:
    """Determinants of I - W W'."""
    turned = shared.swapaxes(1, 2)
    small = shared @ turned if shared.shape[1] <= shared.shape[2] else turned @ shared
    return _det(np.eye(small.shape[1]) - small)


def _inverse_roots(matrices: Values) -> Values:
    """Rows that make each of some covariances the identity; zeros in the place of directions that have no variance."""
    if matrices.shape[1] == 1:
        return np.asarray(1 / np.sqrt(np.where(matrices > _KNOWN, matrices, np.inf)))
    eigenvalues, vectors = np.linalg.eigh(matrices)
    roots = 1 / np.sqrt(np.where(eigenvalues > _KNOWN, eigenvalues, np.inf))
    return np.asarray((vectors * roots[:, None, :]).swapaxes(1, 2))


def _of_equal(ranks: Columns) -> list[tuple[int, Columns]]:
    """Positions of those that have the same rank, for each rank but 0."""
    return [(rank, np.flatnonzero(ranks == rank)) for rank in np.unique(ranks[ranks > 0]).tolist()]


def _in_order(values: Values) -> tuple[Columns, Values]:
    """Positions of values in ascending order, and the values in that order; of equal values any may be first.

    Whole numbers that have the order of the values, but a position in the place of their last digits, are sorted in
    half the time that `argsort` takes. Where those digits matter, the rest is done by a sort of what is nearly sorted.
    """
    bits = np.ascontiguousarray(values).view(np.int64)
    digits = (1 << len(values).bit_length()) - 1
    keys = bits ^ ((bits >> 63) & (2**63 - 1))
    keys = (keys & ~digits) | np.arange(len(values))
    keys.sort()
    order = keys & digits
    ordered = values[order]
    if (ordered[1:] < ordered[:-1]).any():
        again = np.argsort(ordered, kind="stable")
        return order[again], ordered[again]
    return order, ordered


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
    kept = eigenvalues > _KNOWN
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
