"""Intervals around estimates of information: from counts by a formula, from neighbours by parts of the rows."""

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks
from unirel.data.table import Table
from unirel.errors import check_fraction
from unirel.estimation.base import Block, Columns, Information, Values
from unirel.estimation.chance import expected_within
from unirel.estimation.plugin import Plugin

# Halves of the rows that an interval is made of, and the seed they are drawn with.
_HALVES, _SEED = 50, 0


def check_level(confidence_level: float | None) -> None:
    """Refuse what is no confidence level."""
    if confidence_level is not None:
        check_fraction("confidence_level", confidence_level)


def interval_of_counts(
    information: Information, pairs: Sequence[tuple[Block, Block]], given: Block, level: float
) -> tuple[Values, Values]:
    """Ends of intervals of I(a; b | given) for pairs of blocks of discrete columns.

    An interval holds the true values that the estimate does not contradict, each with the variance that belongs to it.
    """
    found = [moments_of_counts(*(_joint(information, block) for block in (a, b, given))) for a, b in pairs]
    centre, slope, floor = np.array(found).reshape(-1, 3).T
    width = NormalDist().inv_cdf(0.5 + level / 2)
    middle = centre + width**2 * slope / 2
    reach = width * np.sqrt(np.maximum(slope * centre + (width * slope / 2) ** 2 + floor, floor))
    return middle - reach, middle + reach


def moments_of_counts(a: Columns, b: Columns, given: Columns) -> tuple[float, float, float]:
    """I(a; b | given) of coded columns less what chance gives, and how its variance grows with the true value.

    The plug-in estimate is the mean over the rows of log p(a, b | c) / p(a | c) p(b | c), and the variance of these
    terms is that of the estimate. Near independence 2 n I is distributed like chi-square instead, whose variance is the
    least there is. So the variance is taken as a line: what chi-square has, where the true value is 0 (last), and a
    slope that gives what the terms have, where it is as estimated (second).
    """
    n_rows = len(a)
    counts, used = [], []
    for codes in (_pair(_pair(a, b), given), given, _pair(a, given), _pair(b, given)):
        sizes = np.bincount(codes)
        counts.append(sizes[codes])
        used.append(int(np.count_nonzero(sizes)))
    terms = np.log(counts[0] * counts[1] / (counts[2] * counts[3]))
    mean, freedom = float(terms.mean()), used[0] + used[1] - used[2] - used[3]
    slope = float(terms.var()) / mean if mean > 1e-12 else 2.0
    return mean - expected_within(a, b, given), slope / n_rows, max(float(freedom), 0.0) / (2 * n_rows**2)


def intervals_of_relevance(information: Information, values: Values, level: float) -> list[Values]:
    """Ends of intervals of the relevance of every feature: of those that are counted, and of the others."""
    table = information.table
    counted = np.array([all_counted(information, [feature, table.target]) for feature in table.features])
    low, high = np.empty((2, len(values)))
    if counted.any():
        pairs = [([feature], [table.target]) for feature in table.features[counted]]
        low[counted], high[counted] = interval_of_counts(information, pairs, [], level)
    if not counted.all():
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

    values = np.array(map_tasks(half, range(_HALVES), n_jobs))
    return _around(value, values.std(axis=0, ddof=1), level)


def _half_of(n_samples: int, labels: NDArray[np.integer] | None, rng: np.random.Generator) -> Columns:
    """Half of the rows in ascending order, of each class half."""
    groups = [np.arange(n_samples)] if labels is None else [np.flatnonzero(labels == one) for one in np.unique(labels)]
    return np.sort(np.concatenate([rng.choice(rows, -(-len(rows) // 2), replace=False) for rows in groups]))


def _around(centre: Values, error: Values, level: float) -> tuple[Values, Values]:
    reach = NormalDist().inv_cdf(0.5 + level / 2) * error
    return centre - reach, centre + reach


def all_counted(information: Information, columns: Block) -> bool:
    """Whether what is estimated from some columns is counted."""
    if isinstance(information, Plugin):
        return True
    return information.counts_levels and bool(information.table.discrete[list(columns)].all())


def _joint(information: Information, block: Block) -> Columns:
    """Codes of the joint levels of a block."""
    joint = np.zeros(information.table.n_samples, np.intp)
    for column in block:
        levels = information.levels(int(column))
        if levels is not None:
            joint = _pair(joint, levels.astype(np.intp))
    return joint


def _pair(a: Columns, b: Columns) -> Columns:
    """Codes of the joint levels of two coded columns, those in use."""
    codes: Columns = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_inverse=True)[1]
    return codes
