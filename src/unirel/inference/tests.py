"""Whether columns tell anything about a target at all, and whether they add anything to others: permutation tests."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from unirel._runtime import Progress, progress_of
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.base import Block, Columns, Information, Values, make_information
from unirel.measures import known_columns, names_columns
from unirel.options import (
    EstimationOptions,
    ReadingOptions,
    SignificanceOptions,
    check_whole_number,
    complete,
    documented,
    part_of,
    settings_of,
)
from unirel.results import RelevanceTest

Counts = NDArray[np.int64]
Draw = Callable[[int], Columns]

# Values that are equal but for rounding: a permutation that only renames classes must count as one that ties.
_ROUNDING = 1e-9
# Rows in all orders that are held at a time.
_MOST_NUMBERS = 2**23
# Rows that a cell is expected to have before its chi-square is trusted.
_EXPECTED = 5
# A group that is this many times as wide as that of the median row is not shuffled.
_WIDE = 2
# What a warning takes for significant.
_USUAL_ALPHA = 0.05


@documented(SignificanceOptions)
def relevance_test(X: Any, y: Any, **options: Unpack[SignificanceOptions]) -> RelevanceTest:
    """Test of every column by itself: whether it tells anything about the target, or whether that could be chance.

    Parameters
    ----------
    {data}
    {options}

    Returns
    -------
    RelevanceTest
        With `information`, `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    See Also
    --------
    conditional_test : Whether a column adds anything to others.
    relevance : The estimates alone.

    Notes
    -----
    If a column has nothing to do with the target, any order of the target's values is as likely as the one that was
    seen. So the estimate is made again with permuted targets, the same permutations for all columns, and the p-value
    says how often that gave at least as much: (reached + 1) / (n_permutations + 1). A column that was reached
    `stop_after` times is settled, after n permutations with p = stop_after / n [1]_. Either way the p-value is exactly
    valid: up to alpha with a chance of at most alpha. Values that are equal count as reached.

    Where column and target are both counted, and every cell of their table is expected to have at least 5 rows, the
    p-value is that of G = 2 N I, divided by Williams's correction [2]_, in its chi-square distribution.

    ``adjust="fdr"`` adjusts for all columns by Benjamini and Hochberg [3]_. ``adjust="family"`` takes from every
    permutation the largest value of any column, each in units of its own spread [4]_; for that all columns need all
    permutations.

    References
    ----------
    .. [1] J. Besag, P. Clifford (1991). Sequential Monte Carlo p-values. Biometrika 78(2).
    .. [2] D. A. Williams (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika 63(1).
    .. [3] Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. J. R. Stat. Soc. B 57(1).
    .. [4] P. H. Westfall, S. S. Young (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from unirel import relevance_test
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> X[:, 1] += 2 * y
    >>> test = relevance_test(X, y)
    >>> test.significant()
    array([False,  True, False])
    """
    chosen = complete(SignificanceOptions, options, "relevance_test")
    table = Table.from_data(X, y, **part_of(ReadingOptions, chosen))
    return permutation_test(make_information(table, part_of(EstimationOptions, chosen)), chosen)


@documented(SignificanceOptions)
def conditional_test(
    X: Any, y: Any, given: Any, *, group_size: int = 3, **options: Unpack[SignificanceOptions]
) -> RelevanceTest:
    """Test of every column when others are known: whether it adds anything to them, or whether that could be chance.

    Parameters
    ----------
    {data}
    {given}
    group_size : int
        Rows that are shuffled among each other, at least, where something continuous is given.
    {options}

    Returns
    -------
    RelevanceTest
        With `information`, I(Xk; y | given), `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    See Also
    --------
    relevance_test : The same with nothing given.
    conditional_relevance : The estimates alone.

    Notes
    -----
    A column that adds nothing may still depend on what is given, and so may the target; shuffled at random it would
    lose both. So it is shuffled only among rows that have the same given levels and, along given numbers, are
    neighbours [1]_: the rows are parted along the widest given column, again and again, into groups of `group_size`.
    Rows stay where they are if their group is more than twice as wide as that of the median row. With discrete columns
    given the test is exact. With continuous ones it is as good as the groups are narrow: many rows, few given columns.

    References
    ----------
    .. [1] J. Runge (2018). Conditional independence testing based on a nearest-neighbor estimator of conditional
       mutual information. AISTATS.

    Examples
    --------
    The second column is a blurred copy of the first. By itself it tells much about the target, beside it nothing.

    >>> import numpy as np
    >>> from unirel import conditional_test, relevance_test
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=300)
    >>> X = np.column_stack([first, first + rng.normal(size=300)])
    >>> y = first + rng.normal(size=300) > 0
    >>> relevance_test(X, y).significant()
    array([ True,  True])
    >>> conditional_test(X, y, given=[0]).significant()
    array([False, False])
    """
    chosen = complete(SignificanceOptions, options, "conditional_test")
    check_whole_number("group_size", group_size, 2)
    named = names_columns(given)
    table = Table.from_data(X, y, conditional_on=None if named else given, **part_of(ReadingOptions, chosen))
    information = make_information(table, part_of(EstimationOptions, chosen))
    known = np.array(known_columns(table, given), np.intp) if named else table.given
    groups = _neighborhoods(table, known, group_size)
    if groups.max() + 1 == table.n_samples:
        raise ValueError("given has different levels in every row, so nothing can be shuffled; give fewer columns")
    return _test(information, known, _within(groups, chosen["random_state"]), chosen, {"group_size": group_size})


def permutation_test(information: Information, options: SignificanceOptions) -> RelevanceTest:
    """The test of `relevance_test`, with an estimator that is there already and all options."""
    rng = np.random.default_rng(options["random_state"])

    def draw(n_orders: int) -> Columns:
        return np.array([rng.permutation(information.table.n_samples) for _ in range(n_orders)])

    return _test(information, np.empty(0, np.intp), draw, options)


def _test(
    information: Information, given: Columns, draw: Draw, options: SignificanceOptions, settings: Any = None
) -> RelevanceTest:
    table = information.table
    columns = np.setdiff1d(table.features, given)
    observed = information.estimate(columns, given)
    family = options["adjust"] == "family"
    counted = np.full(len(columns), np.nan)
    if not (family or len(given) or information.looks_at_target):
        counted = np.array([_g_test(information, int(column)) for column in columns])
    permuted = np.flatnonzero(np.isnan(counted))
    tally = Tally(observed[permuted], options["n_permutations"], None if family else options["stop_after"], family)
    finished = _permute(information, columns[permuted], given, draw, tally, progress_of(options, "permutations"))
    p_values, n_used = counted, np.zeros(len(columns), np.int64)
    p_values[permuted], n_used[permuted] = tally.p_values, tally.used
    adjusted = tally.family_p_values() if family else _control_false_discoveries(p_values)
    if not family:
        _warn_of_few(tally, adjusted[permuted], len(columns), finished)

    def spread(values: Any, fill: float = np.nan) -> Any:
        return table.one_per_feature(_fill(table.features, columns, values, fill))

    return RelevanceTest(
        spread(information.bounded_pairs(observed, columns, table.target), 0.0),
        spread(p_values),
        spread(adjusted),
        np.nan_to_num(spread(n_used)).astype(np.int64),
        table.names,
        tuple(table.columns[int(column)].name for column in given),
        options["adjust"],
        finished,
        {**settings_of(options), **(settings or {})},
    )


def _fill(features: Columns, columns: Columns, values: Any, fill: float) -> Values:
    """Values of some of the features, and the same one for all others."""
    result = np.full(len(features), fill)
    result[np.isin(features, columns)] = values
    return result


@dataclass
class Tally:
    """How often permutations reach what the data tell, of each of some columns."""

    observed: Values  # what the data tell
    n_permutations: int  # at most
    stop_after: int | None = None  # how often a column must be reached to be settled
    keep: bool = False  # all values, for maxima over columns
    reached: Counts = field(init=False)
    used: Counts = field(init=False)
    kept: list[Values] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.reached, self.used = np.zeros((2, len(self.observed)), np.int64)

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Which columns were reached so often that they need no more permutations."""
        if self.stop_after is None:
            return np.zeros(len(self.observed), bool)
        return np.asarray(self.reached >= self.stop_after)

    @property
    def active(self) -> Columns:
        """Positions of the columns that are not settled."""
        return np.flatnonzero(~self.stopped & (self.used < self.n_permutations))

    @property
    def n_steps(self) -> int:
        """Permutations that need not be made any more, over all columns."""
        return int(np.where(self.stopped, self.n_permutations, self.used).sum())

    def add(self, active: Columns, values: Values) -> None:
        """Count permutations, one row each, of the active columns: of each up to the one that settles it."""
        if self.keep:
            self.kept.append(values)
        reached = self.reached[active] + np.cumsum(values >= self.observed[active] - _ROUNDING, axis=0)
        last = np.full(len(active), len(values) - 1)
        if self.stop_after is not None:
            enough = reached >= self.stop_after
            last = np.where(enough.any(axis=0), enough.argmax(axis=0), last)
        self.reached[active] = reached[last, np.arange(len(active))]
        self.used[active] += last + 1

    @property
    def p_values(self) -> Values:
        """Exactly valid p-values (Besag and Clifford)."""
        return np.asarray(np.where(self.stopped, self.reached / self.used, (self.reached + 1) / (self.used + 1)))

    def family_p_values(self) -> Values:
        """P-values against the maximum over all columns, each in units of its own spread; needs all values."""
        if len(self.observed) == 0:
            return np.empty(0)
        values = np.vstack([self.observed, *self.kept])
        # The data count like one more permutation, so that no row is treated unlike the others.
        values -= values.mean(axis=0)
        deviations = values.std(axis=0)
        values /= np.where(deviations > _ROUNDING, deviations, np.inf)
        highest = np.sort(values[1:].max(axis=1))
        n_reached = len(highest) - np.searchsorted(highest, values[0] - _ROUNDING)
        return np.asarray((n_reached + 1) / (len(highest) + 1))


def _permute(
    information: Information, columns: Columns, given: Block, draw: Draw, tally: Tally, progress: Progress | None
) -> bool:
    """Fill a tally, in rounds, each of columns that are not settled; whether that was not interrupted."""
    done, total = 0, len(columns) * tally.n_permutations
    most = max(1, _MOST_NUMBERS // information.table.n_samples)
    try:
        while len(active := tally.active):
            # A column that is settled within a round has been asked a little too often: rounds are short in proportion.
            size = min(max(tally.stop_after or 20, done // 8), most, tally.n_permutations - done)
            tally.add(active, information.permuted(columns[active], given, draw(size)))
            done += size
            if progress is not None:
                progress(tally.n_steps, total)
    except KeyboardInterrupt:
        if done == 0:
            raise
        return False
    return True


def _g_test(information: Information, column: int) -> float:
    """P-value of G in its chi-square distribution; NaN where something is not counted or cells are thin."""
    codes, labels = information.levels(column), information.levels(information.table.target)
    if codes is None or labels is None:
        return np.nan
    n_levels, n_classes = int(codes.max()) + 1, int(labels.max()) + 1
    if n_levels * n_classes * _EXPECTED > len(codes):
        return np.nan
    table = np.bincount(codes.astype(np.int64) * n_classes + labels, minlength=n_levels * n_classes)
    table = table.reshape(n_levels, n_classes)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(codes)
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    if expected.min() < _EXPECTED or freedom == 0:
        return np.nan
    seen = table > 0
    g = 2 * np.sum(table[seen] * np.log(table[seen] / expected[seen]))
    return float(chdtrc(freedom, g / _williams(table, freedom)))


def _williams(table: Counts, freedom: int) -> float:
    """What G is too large by in small tables, as a factor."""
    n_samples = table.sum()
    sides = [n_samples * np.sum(1 / table.sum(axis=axis)) - 1 for axis in (0, 1)]
    return float(1 + sides[0] * sides[1] / (6 * n_samples * freedom))


def _control_false_discoveries(p_values: Values) -> Values:
    """Adjusted values of Benjamini and Hochberg; scipy.stats has them too, but takes a second to import."""
    order = np.argsort(-p_values, kind="stable")
    shares = p_values[order] * len(p_values) / np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.minimum.accumulate(shares), 1.0)
    return adjusted


def _warn_of_few(tally: Tally, adjusted: Values, n_columns: int, finished: bool) -> None:
    """Say that columns which no permutation has reached cannot be significant with that few permutations."""
    never = (tally.reached == 0) & (tally.used > 0)
    n_never = np.count_nonzero(never)
    if not finished or n_never == 0 or adjusted[never].min() <= _USUAL_ALPHA:
        return
    needed = int(np.ceil(n_columns / (_USUAL_ALPHA * n_never)))
    warnings.warn(
        f"n_permutations={tally.n_permutations} are few for {n_columns} columns: no permutation reached {n_never} of "
        f"them, yet their adjusted value is {adjusted[never].min():.2g}; pass n_permutations={needed}",
        UnirelWarning,
        stacklevel=4,
    )


def _neighborhoods(table: Table, given: Columns, size: int) -> Columns:
    """Group of every row: the same given levels and, along given numbers, neighbours."""
    continuous = given[table.continuous[given]]
    numbers = table.continuous_block(continuous) if len(continuous) else np.empty((0, table.n_samples))
    missing = np.isnan(numbers)
    levels = [table.codes(int(column)) for column in given[table.discrete[given]]]
    strata = np.zeros(table.n_samples, np.int64)
    for codes in [*levels, *missing]:
        strata = np.unique(strata * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    if len(continuous) == 0:
        return strata
    deviations = np.nanstd(numbers, axis=1, keepdims=True)
    numbers = np.where(missing, 0.0, numbers) / np.where(deviations > 0, deviations, 1.0)
    return _without_wide(numbers, _part(numbers, strata, size))


def _without_wide(numbers: Values, groups: Columns) -> Columns:
    """Every row of a wide group in a group of its own: where rows are rare, neighbours are not alike.

    That looks only at what is given, so it makes no test less valid.
    """
    rows = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[rows], np.arange(int(groups.max()) + 1))
    ordered = numbers[:, rows]
    spans = (np.maximum.reduceat(ordered, starts, axis=1) - np.minimum.reduceat(ordered, starts, axis=1)).max(axis=0)
    wide = (spans > _WIDE * np.median(spans[groups]))[groups]
    apart = np.where(wide, len(groups) + np.arange(len(groups)), groups)
    return np.asarray(np.unique(apart, return_inverse=True)[1], np.intp)


def _part(numbers: Values, strata: Columns, size: int) -> Columns:
    """Part every stratum along its widest column, again and again, into groups of this size or barely more."""
    groups, n_groups = np.empty(len(strata), np.intp), 0
    parts = [np.flatnonzero(strata == stratum) for stratum in range(int(strata.max()) + 1)]
    while parts:
        rows = parts.pop()
        spreads = np.ptp(numbers[:, rows], axis=1)
        n_parts = len(rows) // size
        if n_parts < 2 or spreads.max() == 0:
            groups[rows] = n_groups
            n_groups += 1
        else:
            ordered = rows[np.argsort(numbers[np.argmax(spreads), rows], kind="stable")]
            middle = len(rows) * (n_parts // 2) // n_parts
            parts += [ordered[:middle], ordered[middle:]]
    return groups


def _within(groups: Columns, random_state: int | None) -> Draw:
    """Draws orders that keep every row in its group."""
    rng, rows = np.random.default_rng(random_state), np.argsort(groups, kind="stable")

    def draw(n_orders: int) -> Columns:
        orders = np.empty((n_orders, len(groups)), np.intp)
        for order in orders:
            order[rows] = np.lexsort((rng.random(len(groups)), groups))
        return orders

    return draw
