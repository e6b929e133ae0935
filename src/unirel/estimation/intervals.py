"""Intervals around estimates of information: from counts by a formula, from neighbours by parts of the rows."""

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_fraction, map_tasks, warn
from unirel.data.table import Table
from unirel.estimation.base import Block, Columns, Information, Values, n_log_n
from unirel.estimation.blocks import joint_codes
from unirel.estimation.kernels.chance import expected_within

# Halves of the rows that an interval is made of, and the seed they are drawn with.
_HALVES, _SEED = 50, 0
# Estimates of few rows are biased and skewed, which no spread over halves shows: with 100 rows intervals are a fifth
# wider, as measured for what is added to a given number and for classes that are not normal.
_ROWS_TOO_FEW = 20
# Rows for each cell of a table from which on a formula holds: with as many, 91 to 98 % of intervals of 95 % do.
_ROWS_PER_CELL = 6


def check_level(confidence_level: float | None) -> None:
    if confidence_level is not None:
        check_fraction("confidence_level", confidence_level)


def check_has_intervals(information: Information) -> None:
    """Refuse an estimator whose bias would be taken for information."""
    if not information.has_intervals:
        about = f"confidence_level= has no interval for numbers by mi_estimator={information.name!r}, which is biased"
        raise ValueError(f"{about}; pass 'knn', 'binned' or 'gaussian'")


def interval_of_counts(
    information: Information, pairs: Sequence[tuple[Block, Block]], given: Block, level: float
) -> tuple[Values, Values]:
    """Ends of intervals of I(a; b | given) for pairs of blocks of discrete columns.

    An interval holds the true values that the estimate does not contradict, each with the variance that belongs to it.
    """
    found = [moments_of_counts(*(_joint(information, block) for block in (a, b, given))) for a, b in pairs]
    centre, slope, floor = np.array(found).reshape(-1, 3).T
    if refused := int(np.isnan(slope).sum()):
        warn(
            f"{refused} of {len(pairs)} confidence intervals are not given (NaN): fewer than {_ROWS_PER_CELL} "
            "rows for each cell of the table, or one column determines the other; merge rare levels or use fewer bins."
        )
    return ends_of_interval(centre, slope, floor, level)


def ends_of_interval(centre: Values, slope: Values, floor: Values, level: float) -> tuple[Values, Values]:
    """True values that an estimate does not contradict, if their variance is a line of that slope above a floor."""
    width = NormalDist().inv_cdf(0.5 + level / 2)
    middle = centre + width**2 * slope / 2
    reach = width * np.sqrt(np.maximum(slope * centre + (width * slope / 2) ** 2 + floor, floor))
    return middle - reach, middle + reach


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
    if counted.any():
        pairs = [([feature], [table.target]) for feature in table.features[counted]]
        low[counted], high[counted] = interval_of_counts(information, pairs, [], level)
    if not counted.all():
        check_has_intervals(information)
        others = table.features[~counted]

        def estimate(part: Table) -> Values:
            return information.on(part).relevance(np.arange(len(others)))

        found = interval_of_halves(table, others, estimate, values[~counted], level, information.n_jobs)
        low[~counted], high[~counted] = found
    return [low, high]


def interval_of_halves(
    table: Table, columns: Columns, estimate: Callable[[Table], Values], value: Values, level: float, n_jobs: int | None
) -> tuple[Values, Values]:
    """Ends of intervals around values of a table, from the same values of random halves of its rows.

    The variance over halves is that of the whole: a half has twice the variance, half of which is shared with the
    other rows. Rows are never repeated, because neighbours at distance 0 would be.
    """
    labels = None if table.classes is None else table.codes(table.target)

    def half(number: int) -> Values:
        rows = _half_of(table.n_samples, labels, np.random.default_rng((_SEED, number)))
        return estimate(table.take(columns, rows))

    error = np.array(map_tasks(half, range(_HALVES), n_jobs)).std(axis=0, ddof=1)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * error * (1 + _ROWS_TOO_FEW / table.n_samples)
    return value - reach, value + reach


def _half_of(n_samples: int, labels: NDArray[np.integer] | None, rng: np.random.Generator) -> Columns:
    """Half of the rows in ascending order, of each class half."""
    groups = [np.arange(n_samples)] if labels is None else [np.flatnonzero(labels == one) for one in np.unique(labels)]
    return np.sort(np.concatenate([rng.choice(rows, -(-len(rows) // 2), replace=False) for rows in groups]))


def _joint(information: Information, block: Block) -> Columns:
    """Codes of the joint levels of a block."""
    levels = [information.levels(int(column)) for column in block]
    return joint_codes([codes for codes in levels if codes is not None], information.table.n_samples)
