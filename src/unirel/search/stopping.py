"""Whether features are seen to add something to those selected before them: the test that ends a search by itself.

The target is fitted to smooth functions of what is selected, to products of these, and to smooth functions of that fit.
Several targets are fitted and tested together: a feature has to add something about any of them.
If a feature adds nothing, what the fit leaves may be permuted among rows of which about the same target is expected.
Functions of the feature, less their own fit, then have covariances with it whose mean is 0 and whose spread over all
permutations is known in closed form, so that none is drawn: their sum of squares is nearly chi-square. With nothing
selected all rows are alike. Of a table of very many rows a sample is looked at.

Where rows belong together, a covariance is one between groups, of the sums of a function over each group with the means
of what is left, which are permuted among groups, and one within them, where rows are permuted within each group. In a
series of rows permutations do not tell how it varies: sums over lags of products of autocovariances do (Bartlett).

A near copy of a selected feature has nearly the same ranks, or the same levels under other names, and adds nothing.
"""

from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtri
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from unirel.data.chunks import PartedTable
from unirel.data.groups import GroupedTable
from unirel.data.row_groups import FEWEST_GROUPS, RowGroups
from unirel.data.table import Table
from unirel.data.weights import check_weights, choose_by_class
from unirel.estimation.base import Columns, Values
from unirel.estimation.permutation import group_along

# Rows that are looked at: at most the first, fewer if there are many classes or columns of parts, but never below the
# third.
_MOST_ROWS, _MOST_VALUES, _FEWEST_ROWS = 5_000, 2**20, 2_000
# Functions of a number that the target is fitted to, one for each so many rows, and how many of them are tested.
_FUNCTIONS, _ROWS_PER_FUNCTION, _TESTED = 8, 24, 4
# Most terms of a fit, rows for each of them, and most covariances that are tested.
_MOST_TERMS, _ROWS_PER_TERM, _MOST_COVARIANCES = 400, 4, 128
# Functions of several targets.
_MOST_TOGETHER = 32
# Levels of a feature that have an indicator, and rows that a level needs for that.
_MOST_LEVELS, _ROWS_PER_LEVEL = 12, 6
# Rows of a block of a series that count as independent: some of its rows are far enough from each other.
_PER_BLOCK = 4
# Rows among which what is left of the target is permuted.
_GROUP = 4
# Copies share this part of their variance, and with a chance of at least the second they add nothing.
_ALIKE, _NOTHING = 0.95, 0.01
# Squares of columns that have no more than this share left are known already; digits by which expected targets differ.
_KNOWN, _DIGITS = 1e-6, 9


Covariances = tuple[Values, Values]  # of columns of two blocks, and their spread


class Evidence:
    """The rows of a table that are looked at, for all searches on it; `columns` are what they may choose."""

    def __init__(
        self,
        table: Table,
        columns: Columns,
        alpha: float,
        random_state: int | None = 0,
        sample_weight: ArrayLike | None = None,
        groups: RowGroups | None = None,
    ) -> None:
        self.n_candidates, self.alpha, self.targets = len(columns), alpha, table.targets.tolist()
        self._asked = table, columns, random_state, sample_weight, groups
        self._sample: _Sample | None = None

    @property
    def sample(self) -> "_Sample":
        # No cached_property: before Python 3.12 all instances share its lock, and this may wait for tasks of a cluster.
        self._sample = self._sample or _Sample.of(*self._asked)
        return self._sample


def can_be_tested(groups: RowGroups, table: Table, needed: bool) -> bool:
    """Whether there are groups enough for a test, which are refused otherwise if one is needed."""
    if table.is_parted:
        raise ValueError("groups need all rows at once, but X is read in parts; pass a table in memory")
    n_groups = int(groups.codes(table.n_samples, None if needed else 1).max()) + 1
    return n_groups >= FEWEST_GROUPS or groups.permute == "within"


class Support:
    """Is told the selected features one after the other, and asked whether others add something or repeat them."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._told = evidence, list[int]()
        self._fit: _Fit | None = None  # made where something is asked

    def tell(self, feature: int) -> None:
        self._told.append(feature)

    def adds(self, feature: int, forced: bool = False) -> bool:
        """Whether a feature, the best of all that are left unless it was forced, is seen to add something."""
        n_tries = 1 if forced else max(1, self._evidence.n_candidates - len(self._told))
        return self._p_value(feature) * n_tries <= self._evidence.alpha

    def copied(self, feature: int) -> int | None:
        """The feature told before of which one is a near copy that adds nothing."""
        sample = self._evidence.sample
        alike = [other for other in self._told if sample.are_alike(feature, other)]
        return alike[0] if alike and self._p_value(feature) >= _NOTHING else None

    def _p_value(self, feature: int) -> float:
        with _threads().limit(limits=1, user_api="blas"):  # Products of narrow blocks are not worth two threads.
            self._fit = self._fit or _Fit(self._evidence)
            for known in self._told[self._fit.n_features :]:
                self._fit.learn(known)
            return self._fit.p_value(feature)


class _Fit:
    """What the target is fitted to, and what is left of it."""

    def __init__(self, evidence: Evidence) -> None:
        self._sample, blocks = evidence.sample, list[Values]()
        self._roots = self._sample.roots[:, None]
        self._basis = self._roots / np.linalg.norm(self._roots)
        self._n_units = self._sample.n_units
        for target in evidence.targets:
            functions = self._sample.functions(target)
            # Of a number its score: the fit is one of its height.
            own = functions[:, _TESTED:][:, :1] if self._sample.is_number(target) else functions
            blocks.append(_less_fit(own * self._roots, self._basis))
        self._target = self._left = blocks[0] if len(blocks) == 1 else _together(blocks)
        self._firsts: list[Values] = []  # the first function of each feature

    @property
    def n_features(self) -> int:
        return len(self._firsts)

    def learn(self, feature: int) -> None:
        """Fit the target to one more feature."""
        new = _orthonormal(np.concatenate(self._terms(feature), axis=1), self._basis)
        self._basis = np.concatenate([self._basis, new], axis=1)
        self._left = _less_fit(self._left, new)
        self._firsts.append(self._sample.functions(feature)[:, :1])

    def p_value(self, feature: int) -> float:
        """How often what is left of the target, in other orders, has as much to do with a feature."""
        basis, left = self._basis, self._left
        if self._firsts:  # the fit itself may be bent
            bent = _functions_of(self._expected(left), self._n_units)[:, _TESTED:]
            bent = _orthonormal(bent * self._roots, basis)
            basis, left = np.concatenate([basis, bent], axis=1), _less_fit(left, bent)
        terms, n_free = _orthonormal(self._terms(feature)[0], basis), self._n_units - basis.shape[1]
        if terms.shape[1] == 0 or left.shape[1] == 0 or n_free <= terms.shape[1]:
            return 1.0
        expected = self._expected(left)
        left = left * np.sqrt(self._n_units / n_free)  # which is less than what the fit does not explain
        terms, left = np.divide(terms, self._roots), left * self._roots
        together, groups = self._sample.together, self._sample.groups
        if together is None:
            return _chance_of(_permuted_along(terms, left, expected))
        if together.permute == "within":
            return _chance_of(_permuted_within(terms, left, expected, groups))
        if together.block_length is not None:
            return _chance_of(_over_lags(terms, left, together.block_length))
        between = _permuted_groups(terms, left, expected, groups)
        return _chance_of(between, _permuted_within(terms, left, expected, groups))

    def _terms(self, feature: int) -> tuple[Values, Values]:
        """Functions of a feature and products with those before it that are tested, and others that are fitted too."""
        functions, n_rows = self._sample.functions(feature), self._n_units
        first, products = functions[:, :1], [functions[:, :1] * other for other in self._firsts]
        room = max(0, min(_MOST_TERMS, n_rows // _ROWS_PER_TERM) - self._basis.shape[1])
        if functions.shape[1] + len(products) > room:
            functions, products = first[:, :room], []
        n_own = min(functions.shape[1], _TESTED if self._sample.is_number(feature) else _MOST_LEVELS)
        terms = np.concatenate([functions[:, :n_own], *products, functions[:, n_own:]], axis=1) * self._roots
        n_tested = min(n_own + len(products), max(1, _MOST_COVARIANCES // max(1, self._target.shape[1])))
        return terms[:, :n_tested], terms[:, n_tested:]

    def _expected(self, left: Values) -> Values:
        """What is expected of the target of each row: of several classes the direction in which that differs most."""
        fitted = (self._target - left) / self._roots
        fitted -= fitted.mean(axis=0)
        return np.asarray(np.round(fitted @ np.linalg.eigh(fitted.T @ fitted)[1][:, -1], _DIGITS))


class _Sample(NamedTuple):
    """The rows of a table that are looked at."""

    table: Table
    positions: Columns  # where in it each column is
    rows: Columns
    roots: Values  # of the weights of the rows
    known: dict[int, Values]  # functions of columns
    bases: dict[int, Values]  # what tells them from others
    together: RowGroups | None = None  # whether rows belong together
    groups: Columns = np.empty(0, np.intp)  # and which

    @classmethod
    def of(
        cls,
        table: Table,
        columns: Columns,
        random_state: int | None,
        sample_weight: ArrayLike | None,
        together: RowGroups | None,
    ) -> Self:
        weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        one = len(table.targets) == 1
        n_classes = 1 if table.classes is None else len(table.classes)
        n_classes = n_classes if one else _MOST_TOGETHER
        codes = None if together is None else together.codes(table.n_samples, fewest=1)
        width = max(n_classes**2, len(columns) if table.is_parted else 1)
        if isinstance(table, PartedTable) and (own := table.row_weights()) is not None:
            weights = check_weights(own, table.n_samples)
        rows = np.arange(table.n_samples) if weights is None else np.flatnonzero(weights)
        most = min(_MOST_ROWS, max(_MOST_VALUES // width, _FEWEST_ROWS))
        if len(rows) > most:
            rng = np.random.default_rng(random_state)
            if together is not None and codes is not None and together.block_length is not None:
                rows = rows[codes[rows] % -(-len(rows) // most) == 0]  # blocks stay whole
            else:
                rows = choose_by_class(table.target_codes() if one else None, rows, most, rng)
        roots = np.ones(len(rows)) if weights is None else np.sqrt(weights[rows])
        positions = np.arange(len(table.columns))
        if isinstance(table, PartedTable):
            positions[[*columns, table.target]] = np.arange(len(columns) + 1)
            table, rows = table.take_few(columns, rows), np.arange(len(rows))
        if codes is not None:
            return cls(table, positions, rows, roots, {}, {}, together, np.unique(codes[rows], return_inverse=True)[1])
        return cls(table, positions, rows, roots, {}, {})

    @property
    def n_units(self) -> int:
        """How many rows there are that do not belong together."""
        n_groups = int(self.groups.max(initial=-1)) + 1
        if self.together is None or self.together.permute == "within":
            return len(self.rows) - n_groups
        return n_groups if self.together.block_length is None else _PER_BLOCK * n_groups

    def is_number(self, column: int) -> bool:
        return bool(self.table.continuous[self.positions[column]])

    def functions(self, column: int) -> Values:
        """Functions of a column, one column each; the first ones of a number are those that are tested."""
        if column not in self.known:
            place = int(self.positions[column])
            is_target = place in self.table.targets
            if self.is_number(column):
                self.known[column] = _functions_of(self.table.continuous_block([place])[0][self.rows], self.n_units)
            else:
                most = _MOST_COVARIANCES if is_target else _MOST_LEVELS
                indicators = _indicators_of(self.table.codes(place)[self.rows], most)
                self.known[column] = np.concatenate([*self._of_members(place), indicators], axis=1)
        return self.known[column]

    def _of_members(self, place: int) -> list[Values]:
        """The first functions of the numbers in a group, as many of each as are tested together."""
        if not isinstance(self.table, GroupedTable):
            return []
        single, block = self.table.single, np.array(self.table.block(place), np.intp)
        numbers = single.continuous_block(block[single.continuous[block]])[:, self.rows]
        return [_functions_of(one)[:, : max(1, _TESTED // len(numbers))] for one in numbers]

    def are_alike(self, one: int, other: int) -> bool:
        """Whether two columns have nearly the same ranks or levels, so that each tells the other."""
        if self.is_number(one) != self.is_number(other):
            return False
        shared = (self.own_basis(one).T @ self.own_basis(other)) ** 2
        return bool(shared.size and min(shared.sum(axis=0).min(), shared.sum(axis=1).min()) >= _ALIKE)

    def own_basis(self, column: int) -> Values:
        """What tells a column from others: the first function of a number, or all indicators."""
        if column not in self.bases:
            functions = self.functions(column)[:, : 1 if self.is_number(column) else None]
            self.bases[column] = _orthonormal(functions, np.full((len(functions), 1), len(functions) ** -0.5))
        return self.bases[column]


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()  # takes a hundredth of a second


def _indicators_of(codes: NDArray[np.integer], most: int) -> Values:
    """Indicators of the frequent levels but the first."""
    sizes = np.bincount(codes)
    n_common = min(int(np.count_nonzero(sizes >= _ROWS_PER_LEVEL)), most + 1)
    return np.asarray(codes[:, None] == np.argsort(-sizes, kind="stable")[1 : max(2, n_common)], np.float64)


def _functions_of(numbers: Values, n_units: int | None = None) -> Values:
    """Cosines of ranks, which are tested, polynomials of normal scores and, if there are any, which are missing."""
    # No row has much weight among the cosines, so that a few rows of a class do not make them large by chance. The
    # polynomials of Chebyshev fit what is smooth far more closely.
    n_units = len(numbers) if n_units is None else n_units
    missing, n_fitted = np.isnan(numbers), min(_FUNCTIONS, max(1, n_units // _ROWS_PER_FUNCTION))
    functions = np.zeros((len(numbers), _TESTED + n_fitted + bool(missing.any())))
    functions[:, _TESTED + n_fitted :] = missing[:, None]
    _, places, sizes = np.unique(numbers[~missing], return_inverse=True, return_counts=True)
    if len(sizes) > 1:
        shares = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        scores = ndtri(shares)
        angles = np.pi * shares, np.arccos(scores / np.abs(scores).max())
        degrees = np.arange(1, _TESTED + 1), np.arange(1, n_fitted + 1)
        known = np.concatenate([np.cos(np.outer(*one)) for one in zip(angles, degrees, strict=True)], axis=1)
        functions[~missing, : _TESTED + n_fitted] = known[places]
    return functions


def _less_fit(columns: Values, basis: Values) -> Values:
    return np.asarray(columns - basis @ (basis.T @ columns))


def _orthonormal(columns: Values, basis: Values) -> Values:
    """An orthonormal basis of what columns have beside one that is known."""
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns = _less_fit(columns / np.maximum(lengths, 1e-300), basis)
    squares, directions = np.linalg.eigh(columns.T @ columns)
    kept = squares > _KNOWN
    return np.asarray(columns @ (directions[:, kept] / np.sqrt(squares[kept])))


def _together(blocks: list[Values]) -> Values:
    """Functions of several targets, all of which vary as much; of very many what they share most."""
    target = np.concatenate([one / max(float(np.linalg.norm(one)), 1e-300) for one in blocks], axis=1)
    if target.shape[1] <= _MOST_TOGETHER:
        return target
    return np.asarray(target @ np.linalg.eigh(target.T @ target)[1][:, -_MOST_TOGETHER:])


def _groups_along(along: Values) -> tuple[Columns, Columns]:
    """An order of rows by some values, and where in it each group of about equal ones begins; ties stay together."""
    order = np.argsort(along, kind="stable")
    rises = np.append(True, np.diff(along[order]) > 0)
    firsts = np.maximum.accumulate(np.where(rises, np.arange(len(order)), 0))
    groups = np.minimum(firsts // _GROUP, max(1, len(order) // _GROUP) - 1)
    return order, np.flatnonzero(np.append(True, np.diff(groups) > 0))


def _permuted_along(terms: Values, left: Values, along: Values) -> Covariances:
    """Covariances of two blocks, of which the rows of one are permuted where some values are about equal."""
    order, starts = _groups_along(along)
    return _permuted(terms[order], left[order], starts)


def _permuted_groups(terms: Values, left: Values, along: Values, groups: Columns) -> Covariances:
    """The same of whole groups: sums of one block over each group, means of the other one, which are permuted."""
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    sums = [np.add.reduceat(block[order], np.cumsum(sizes) - sizes) for block in (terms, left, along)]
    return _permuted_along(sums[0], sums[1] / sizes[:, None], np.round(sums[2] / sizes, _DIGITS))


def _permuted_within(terms: Values, left: Values, along: Values, groups: Columns) -> Covariances:
    """The same of rows that are permuted within groups, among those of about equal values if these differ."""
    strata = groups if np.ptp(along) == 0 else group_along(groups, along, _GROUP)
    order = np.argsort(strata, kind="stable")
    return _permuted(terms[order], left[order], np.flatnonzero(np.diff(strata[order], prepend=-1)))


def _permuted(terms: Values, left: Values, starts: Columns) -> Covariances:
    """Covariances of two blocks, less their mean, and their spread where the rows of one are permuted within groups."""
    # Their covariances over all permutations are sums over the groups of products of those within each block.
    sizes = np.diff(np.append(starts, len(terms)))
    products = []
    for block in (terms, left):
        block -= np.repeat(np.add.reduceat(block, starts) / sizes[:, None], sizes, axis=0)
        squares = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        products.append(np.add.reduceat(squares, starts))
    spread = products[0].T @ (products[1] / np.maximum(sizes - 1, 1)[:, None])
    return _as_matrix(terms, left, spread)


def _over_lags(terms: Values, left: Values, block_length: int) -> Covariances:
    """The same of two independent series, in each of which rows that are a block apart are independent."""
    # Lags up to a block count in full, those up to two blocks less and less.
    spread = np.zeros((terms.shape[1] ** 2, left.shape[1] ** 2))
    for lag in range(min(2 * block_length, len(terms))):
        share = min(1.0, 2 - lag / block_length) / len(terms)
        products = [block[: len(block) - lag].T @ block[lag:] for block in (terms, left)]
        spread += share * np.outer(products[0], products[1])
        if lag > 0:
            spread += share * np.outer(products[0].T, products[1].T)
    return _as_matrix(terms, left, spread)


def _as_matrix(terms: Values, left: Values, spread: Values) -> Covariances:
    n_terms, n_left = terms.shape[1], left.shape[1]
    spread = spread.reshape(n_terms, n_terms, n_left, n_left).swapaxes(1, 2).reshape(n_terms * n_left, -1)
    return (terms.T @ left).ravel(), spread


def _chance_of(*parts: Covariances) -> float:
    """The chance of sums of independent covariances, by their spread."""
    covariances, spread = (sum(both) for both in zip(*parts, strict=True))
    variances, directions = np.linalg.eigh(spread)
    kept = variances > _KNOWN * variances[-1]
    if not kept.any():
        return 1.0
    statistic = ((directions[:, kept].T @ covariances) ** 2 / variances[kept]).sum()
    return float(chdtrc(np.count_nonzero(kept), statistic))
