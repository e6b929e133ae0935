"""Mutual information of normal scores and categories, in closed form, however many columns are given."""

from copy import copy
from functools import cached_property
from numbers import Real
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, psi

from unirel._runtime import pieces
from unirel.data.chunks import PartedTable
from unirel.data.weights import add_sums, check_weights, sum_weights
from unirel.estimation.base import Block, Changes, Columns, Information, Values, entropy_of
from unirel.estimation.gaussian_rows import KNOWN, Encoded

# Of unit variance: a target that has less left is fully explained.
_EXPLAINED = 1e-10
# A determinant that falls by more than this factor is taken apart, so that each direction has the same least value.
_STEEP = 1e-5
# Columns whose products with all others are kept, and numbers that are looked at together for unique relevance.
_MOST_PRODUCTS, _BLOCK = 512, 2**22
# Unique relevance needs no ridge from that many rows for each column on, and no more than the second: more of it finds
# no more features, and makes all values small. The third only lets inverses exist.
_ROWS_PER_COLUMN, _MOST_RIDGE, _LEAST_RIDGE = 3, 0.5, 1e-6


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
    shrinkage : float or "auto"
        A ridge on the features, whose encoded columns have unit variance, as if each had that much noise
        of its own; "auto" is 0, but what each of many columns adds to all others (`without_each`) is estimated with the
        ridge of Ledoit and Wolf (2004) where there are fewer than three rows for each column.
    """

    name = "gaussian"
    takes_weights = True
    counts_levels = False
    compares_raw = True

    def __init__(self, shrinkage: float | Literal["auto"] = "auto") -> None:
        self.shrinkage = shrinkage

    def check_parameters(self) -> None:
        is_number = isinstance(self.shrinkage, Real) and 0 <= float(self.shrinkage) < float("inf")
        if not is_number and self.shrinkage != "auto":
            raise ValueError(f"shrinkage={self.shrinkage!r} must be 'auto' or a number from 0 on")

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        table = self.table
        sums = table.weights if isinstance(table, PartedTable) else None
        if sample_weight is not None:
            self._weights = check_weights(sample_weight, table.n_samples)
            sums = add_sums([sum_weights(np.asarray(sample_weight, np.float64))])
        self._total = float(table.n_samples) if sums is None else sums.n_effective
        self._found: Encoded | None = None
        self._products: dict[int, Values] = {}

    def mutual_information(self, a: Block, b: Block) -> float:
        return self.conditional(a, b, [])

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        known, known_and_a, other = (self._rows_of(block) for block in (given, [*given, *a], b))
        rows = np.unique(np.concatenate([known_and_a, other]))
        covariance = self._encoded.products(rows, rows)
        covariance[np.diag_indices(len(rows))] += self._ridges[rows]
        places = [np.searchsorted(rows, some) for some in (known, known_and_a)]
        fits = [_Fit(covariance[some], some, self._ridges[rows[some]]) for some in places]
        at = np.searchsorted(rows, other)
        left = [np.linalg.eigvalsh(fit.left(covariance[at], at)[:, at]) for fit in fits]
        value = 0.5 * float(_log_det(left[0]) - _log_det(left[1]))
        rank, freedom = int((left[0] > _EXPLAINED).sum()), fits[1].freedom - fits[0].freedom
        return float(self._less_chance(np.array([value]), fits[0].freedom, np.array([freedom]), rank)[0])

    def pairwise(self, candidates: Block, column: int) -> Values:
        return self._given(candidates, column, [])

    def joint(self, candidates: Block, selected: Block) -> Values:
        step = self._beside(candidates, self.table.target, selected)
        rank = int(self._encoded.ranks[self.table.target])
        return self._less_chance(-0.5 * step.after, 0.0, step.known_freedom + step.freedom, rank)

    def by_chance(self, candidates: Block, column: int) -> Values:
        step = self._beside(candidates, column, [])
        return -self._less_chance(np.zeros(len(step.freedom)), 0.0, step.freedom, step.rank)

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        return np.array([self._with_moved_target(given, order).estimate(candidates, given) for order in orders])

    def without_each(self, block: Block, rows: Columns | None = None) -> Changes:
        """How I(block; target) changes without each column of the block, from one inverse and always all rows."""
        fit, values, freedom = self._losses(block)
        rank = len(self._rows_of([self.table.target]))
        before = self._less_chance(np.array([fit.explained]), 0.0, np.array([fit.freedom]), rank)[0]
        unique = self._less_chance(values, fit.freedom - freedom, freedom, rank)
        return Changes(float(before), -unique, np.full(len(values), np.nan))

    def unique_with_chance(self, block: Block) -> tuple[Values, Values, Values]:
        """I(x; target | others of the block) of each column, and what a column of noise has: its mean and variance."""
        # By Bartlett's factor the information of noise is a chi-square variable; its degrees of freedom follow.
        fit, values, freedom = self._losses(block)
        rank = len(self._rows_of([self.table.target]))
        values, freedom = (np.where(freedom < 0.5, 0.0, one) for one in (values, freedom))  # of constants and copies
        factor = np.maximum(2 * (self._total - 1 - fit.freedom + freedom) - freedom - rank - 1, 1.0)
        return values, freedom * rank / factor, 2 * freedom * rank / factor**2

    def _losses(self, block: Block) -> "tuple[_FullFit, Values, Values]":
        """A fit on a block, what it loses without each column, and degrees of freedom of these."""
        columns, encoded = np.asarray(block, np.intp), self._encoded
        features, target = self._rows_of(columns), self._rows_of([self.table.target])
        fit = _FullFit(encoded, features, target, self._total, self.shrinkage)
        values, freedom, ranks = np.zeros(len(columns)), np.zeros(len(columns)), encoded.ranks[columns]
        for rank, chosen in _of_equal(ranks):
            for some in pieces(chosen, _BLOCK // (rank * min(len(features), encoded.n_samples))):
                first = (np.cumsum(ranks) - ranks)[some]
                values[some], freedom[some] = fit.without(first[:, None] + np.arange(rank))
        return fit, values, freedom

    def entropy(self, column: int) -> float:
        """Plug-in entropy of a discrete column; that of the normal distribution for the scores of a continuous one."""
        if not self.table.discrete[column]:
            return float(0.5 * np.log(2 * np.pi * np.e))
        if self._weights is None:
            return entropy_of(self.table.level_sizes(column))
        return max(0.0, float(entr(np.bincount(self.table.codes(column), self._weights) / self._total).sum()))

    def _given(self, candidates: Block, column: int, given: Block) -> Values:
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
        none = np.empty((0, self._encoded.n_rows))
        return np.concatenate([none, *(self._product(column) for column in dict.fromkeys(map(int, block)))])

    def _product(self, column: int) -> Values:
        if column not in self._products:
            if len(self._products) >= _MOST_PRODUCTS:
                self._products.clear()
            rows = self._rows_of([column])
            product = self._encoded.products(rows)
            product[np.arange(len(rows)), rows] += self._ridges[rows]
            self._products[column] = product
        return self._products[column]

    def _with_moved_target(self, given: Block, order: Columns) -> Self:
        """The same estimator with the rows of the target in another order, for what is to be asked beside `given`."""
        moved, target, rows = copy(self), self.table.target, self._rows_of([self.table.target])
        product = self._encoded.times(self._encoded.take(rows)[:, order])
        product[:, rows] = self._product(target)[:, rows]  # the target with itself
        moved._products = {target: product}
        for column in map(int, given):
            moved._products[column] = self._product(column).copy()
            moved._products[column][:, rows] = product[:, self._rows_of([column])].T
        return moved

    @cached_property
    def _ridges(self) -> Values:
        """The ridge of every encoded row: none of the target."""
        ridges = np.full(self._encoded.n_rows, 0.0 if self.shrinkage == "auto" else float(self.shrinkage))
        ridges[self._encoded.starts[self.table.target] :] = 0.0
        return ridges

    @property
    def _encoded(self) -> Encoded:
        """All columns as blocks of rows that have mean 0, variance 1 / N and nothing in common within a block."""
        # No cached_property: before Python 3.12 all instances share its lock, and this may wait for tasks of a cluster.
        self._found = self._found or Encoded.of(self.table, self._weights, self.n_jobs)
        return self._found


class _Beside(NamedTuple):
    """What is left of a column beside each candidate: logarithms of determinants, and degrees of freedom."""

    before: float  # without the candidate
    after: Values  # with each candidate
    known_freedom: float  # of what is given
    freedom: Values  # of each candidate
    rank: int  # directions of the column that what is given does not explain


class _Fit:
    """What a linear fit on some encoded rows leaves of others.

    `products` are the covariances of the known rows with all rows, `ridges` what has been added to their variances.
    """

    def __init__(self, products: Values, known: Columns, ridges: Values) -> None:
        eigenvalues, vectors = np.linalg.eigh(products[:, known])
        kept = eigenvalues > KNOWN
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

    The ridge is that of Ledoit and Wolf if `shrinkage` is "auto", unless there are many samples for each row.
    """

    def __init__(
        self, encoded: Encoded, features: Columns, target: Columns, total: float, shrinkage: str | float
    ) -> None:
        self._encoded, self._features = encoded, features
        self._of_samples = len(features) > encoded.n_samples and encoded.has_samples
        covariance = self._between_samples() if self._of_samples else encoded.products(features, features)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        kept = eigenvalues > KNOWN * max(1.0, eigenvalues.max(initial=0.0))
        eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
        ridge = float(shrinkage) if shrinkage != "auto" else 0.0
        if shrinkage == "auto" and len(features) * _ROWS_PER_COLUMN > total:
            ridge = _ledoit_wolf_ridge(encoded.fourth_moment(features), len(features), eigenvalues, total)
        if self._of_samples:
            shared = (vectors * np.sqrt(eigenvalues)).T @ encoded.take(target).T
            vectors = vectors / np.sqrt(eigenvalues)
        else:
            shared = vectors.T @ encoded.products(features, target)
        inverse = 1 / (eigenvalues + ridge)
        self._directions, self._inverse, self._hat = vectors, inverse, eigenvalues * inverse**2
        # Of directions that the rows do not have.
        self._inverse_of_rest = 1 / max(ridge, _LEAST_RIDGE) if len(eigenvalues) < len(features) else 0.0
        self.freedom = float(eigenvalues @ inverse)
        left, directions = np.linalg.eigh(np.eye(len(target)) - (shared.T * inverse) @ shared)
        self.explained = -0.5 * float(_log_det(left))
        self._slopes = inverse[:, None] * shared @ (directions / np.sqrt(np.maximum(left, _EXPLAINED)))

    def without(self, places: Columns) -> tuple[Values, Values]:
        """What the fit loses without each of some blocks of rows, given by place, and their degrees of freedom."""
        vectors, identity = self._vectors(places), np.eye(places.shape[1])
        turned = vectors.swapaxes(1, 2)
        inverse = (vectors * self._inverse) @ turned + self._inverse_of_rest * (identity - vectors @ turned)
        roots = _inverse_roots(inverse)
        lost = roots @ (vectors @ self._slopes)
        freedom = ((roots @ (vectors * self._hat) @ turned) * roots).sum((1, 2))
        return 0.5 * np.log(_det(identity + lost @ lost.swapaxes(1, 2))), freedom

    def _vectors(self, places: Columns) -> Values:
        """Entries of the eigenvectors for some rows."""
        if not self._of_samples:
            return np.asarray(self._directions[places])
        rows = self._encoded.take(self._features[places.ravel()])
        return np.asarray((rows @ self._directions).reshape(*places.shape, -1))

    def _between_samples(self) -> Values:
        """Sums of products of samples over the rows: it has the same eigenvalues, and is smaller if rows are many."""
        products = np.zeros((self._encoded.n_samples, self._encoded.n_samples))
        for some in pieces(self._features, _BLOCK // len(products)):
            rows = self._encoded.take(some)
            products += rows.T @ rows
        return products


def _ledoit_wolf_ridge(fourth_moment: float, n_rows: int, eigenvalues: Values, total: float) -> float:
    """The ridge on rows of unit variance that makes their covariance nearest to the true one, in the mean square."""
    squares = float(eigenvalues @ eigenvalues)
    noise = (total * fourth_moment - squares) / total
    spread = squares - n_rows  # around the identity, of which the noise is a part
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
        return np.asarray(1 / np.sqrt(np.where(matrices > KNOWN, matrices, np.inf)))
    eigenvalues, vectors = np.linalg.eigh(matrices)
    roots = 1 / np.sqrt(np.where(eigenvalues > KNOWN, eigenvalues, np.inf))
    return np.asarray((vectors * roots[:, None, :]).swapaxes(1, 2))


def _of_equal(ranks: Columns) -> list[tuple[int, Columns]]:
    """Positions of those that have the same rank, for each rank but 0."""
    return [(rank, np.flatnonzero(ranks == rank)) for rank in np.unique(ranks[ranks > 0]).tolist()]
