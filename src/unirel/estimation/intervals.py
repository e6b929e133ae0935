"""Intervals around estimates of information: from counts by a formula, from neighbours by parts of the rows."""

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_fraction, map_tasks, warn
from unirel.data.table import Table
from unirel.estimation.base import Block, Columns, Information, Values, n_log_n
from unirel.estimation.blocks import joint_codes
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.kernels.chance import expected_within
from unirel.estimation.knn import KNN

Blocks = Sequence[tuple[Block, Block, Block]]  # a, b and what is given
Measure = Callable[[Table], Values]
# Halves of the rows that an interval is made of, and the seed they are drawn with.
_HALVES, _SEED = 50, 0
# Rows for each cell of a table from which on a formula holds: with as many, 91 to 98 % of intervals of 95 % do.
_ROWS_PER_CELL = 6
# Nats of two numbers above which the bias of neighbours is about half a standard error.
_MOST_NATS = 1.25


def check_level(confidence_level: float | None) -> None:
    if confidence_level is not None:
        check_fraction("confidence_level", confidence_level)


def _check_is_unbiased(information: Information, blocks: Blocks) -> None:
    """Refuse blocks of columns for which bias would be taken for information."""
    discrete, several = information.table.discrete, any(sum(map(len, three)) > 2 for three in blocks)
    about = "" if information.has_intervals else "numbers by {}, which is biased; pass 'knn', 'binned' or 'gaussian'"
    if isinstance(information, Gaussian) and any(discrete[block].any() for three in blocks for block in three):
        about = "levels or classes by {}, which takes them for normal numbers; pass 'knn' or 'binned'"
    elif isinstance(information, KNN) and several and not discrete[information.table.target]:
        about = "a continuous target beside several columns by {}, which is biased; pass 'binned' or 'gaussian'"
    if about:
        raise ValueError("confidence_level= has no interval for " + about.format(f"mi_estimator={information.name!r}"))


def interval_of_counts(information: Information, blocks: Blocks, level: float) -> tuple[Values, Values]:
    """Ends of intervals of I(a; b | given) for some blocks of discrete columns.

    An interval holds the true values that the estimate does not contradict, each with the variance that belongs to it.
    """
    found = [moments_of_counts(*(_joint(information, block) for block in three)) for three in blocks]
    centre, slope, floor = np.array(found).reshape(-1, 3).T
    about = f"fewer than {_ROWS_PER_CELL} rows for each cell of the table, or one column determines the other"
    _warn_of_refused(np.isnan(slope), f"{about}; merge rare levels or use fewer bins.")
    return ends_of_interval(centre, slope, floor, level)


def _warn_of_refused(refused: NDArray[np.bool_], why: str) -> None:
    if refused.any():
        warn(f"{refused.sum()} of {len(refused)} confidence intervals are not given (NaN): {why}")


def ends_of_interval(centre: Values, slope: Values, floor: Values, level: float) -> tuple[Values, Values]:
    """True values that an estimate does not contradict, if their variance is a line of that slope above a floor."""
    width = NormalDist().inv_cdf(0.5 + level / 2)
    middle = centre + width**2 * slope / 2
    reach = width * np.sqrt(np.maximum(slope * centre + (width * slope / 2) ** 2 + floor, floor))
    return np.minimum(middle - reach, centre), middle + reach


def moments_of_counts(a: Columns, b: Columns, given: Columns) -> tuple[float, float, float]:
    """I(a; b | given) of coded columns less what chance gives, and how its variance grows with the true value.

    Near independence 2 n I is distributed like chi-square, whose variance is the least there is; further away the
    variance is that of the jackknife. So it is taken as a line: what chi-square has, where the true value is 0 (last),
    and a slope that gives what the jackknife has, where it is as estimated (second). With few rows for each cell the
    value itself is too low where columns depend on each other, and where one column determines the other it is on the
    edge of what is possible: the slope is NaN there.
    """
    n_rows = len(a)
    counts, used = [], []
    for columns in ((a, b, given), (given,), (a, given), (b, given)):
        codes = joint_codes(columns, n_rows)
        sizes = np.bincount(codes)
        counts.append(sizes[codes])
        used.append(int(np.count_nonzero(sizes)))
    freedom = max(used[0] + used[1] - used[2] - used[3], 0)
    signed = list(zip((1, 1, -1, -1), counts, strict=True))
    value = float(sum(sign * np.log(sizes).mean() for sign, sizes in signed))
    without_row = sum(sign * (n_log_n(sizes - 1) - n_log_n(sizes)) for sign, sizes in signed) / (n_rows - 1)
    variance = (n_rows - 1) * float(np.var(without_row))
    corrected = value - expected_within(a, b, given)
    n_cells = np.prod([len(np.unique(codes)) for codes in (a, b, given)])
    varies = min(used[2], used[3]) > used[1]
    determined = varies and bool((counts[0] == counts[2]).all() or (counts[0] == counts[3]).all())
    if (varies and n_rows < _ROWS_PER_CELL * n_cells) or determined:
        return corrected, np.nan, freedom / (2 * n_rows**2)
    slope = variance / value if value > 1e-12 else 2.0 / n_rows
    return corrected, slope, freedom / (2 * n_rows**2)


def intervals_of_relevance(information: Information, values: Values, level: float) -> list[Values]:
    """Ends of intervals of the relevance of every feature: of those that are counted, and of the others."""
    table = information.table
    counted = np.array([information.counts([feature, table.target]) for feature in table.features])
    low, high = np.empty((2, len(values)))
    own, others = table.features[counted], table.features[~counted]
    pairs: Blocks = [([feature], [table.target], []) for feature in (*own, *others)]
    if len(own):
        low[counted], high[counted] = interval_of_counts(information, pairs[: len(own)], level)
    if len(others):

        def estimate(part: Table) -> Values:
            return information.on(part).relevance(np.arange(len(others)))

        found = interval_of_halves(information, pairs[len(own) :], others, estimate, values[~counted], level)
        low[~counted], high[~counted] = found
    return [low, high]


def interval_of_halves(
    information: Information, blocks: Blocks, columns: Columns, estimate: Measure, values: Values, level: float
) -> tuple[Values, Values]:
    """Ends of intervals of I(a; b | given) for some blocks, from the same values of random halves of the rows.

    The variance over halves is that of the whole: a half has twice the variance, half of which is shared with the
    other rows. Rows are never repeated, because neighbours at distance 0 would be.
    """
    _check_is_unbiased(information, blocks)
    table = information.table
    labels = None if table.classes is None else table.codes(table.target)

    def half(number: int) -> Values:
        rows = _half_of(table.n_samples, labels, np.random.default_rng((_SEED, number)))
        return estimate(table.take(columns, rows))

    variance = np.array(map_tasks(half, range(_HALVES), information.n_jobs)).var(axis=0, ddof=1)
    if isinstance(information, Gaussian):
        # Two numbers by chance have the mean and variance of chi-square; so has the estimate before that was taken off.
        widths = np.array([[len(block) + table.has_missing[block].sum() for block in three] for three in blocks])
        freedom, left = widths[:, 0] * widths[:, 1], np.maximum(table.n_samples - 1 - widths[:, 2], 1)
        before = np.maximum(values + 0.75 * freedom / left, 0.25 * freedom / left)
        return ends_of_interval(values, variance / before, freedom / (2 * left**2), level)
    if isinstance(information, KNN) and not table.discrete[table.target]:
        variance[values > _MOST_NATS] = np.nan
        _warn_of_refused(np.isnan(variance), f"neighbours are biased above {_MOST_NATS} nats; use 'binned'.")
    return _ends_from_zero_on(values, np.sqrt(variance), level)


def _ends_from_zero_on(values: Values, error: Values, level: float) -> tuple[Values, Values]:
    """Ends of intervals of true values from 0 on: within reach of 0 only the lower end errs, as often as both do."""
    both, one = (max(NormalDist().inv_cdf(chance), 0.0) * error for chance in (0.5 + level / 2, level))
    return np.minimum(values - one, np.maximum(both, values - both)), np.maximum(values, 0.0) + both


def _half_of(n_samples: int, labels: NDArray[np.integer] | None, rng: np.random.Generator) -> Columns:
    """Half of the rows in ascending order, of each class half."""
    groups = [np.arange(n_samples)] if labels is None else [np.flatnonzero(labels == one) for one in np.unique(labels)]
    return np.sort(np.concatenate([rng.choice(rows, -(-len(rows) // 2), replace=False) for rows in groups]))


def _joint(information: Information, block: Block) -> Columns:
    """Codes of the joint levels of a block."""
    levels = [information.levels(int(column)) for column in block]
    return joint_codes([codes for codes in levels if codes is not None], information.table.n_samples)
