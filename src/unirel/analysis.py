"""How selected features relate: what they have in common, and what they tell together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Information, Memo, make_information
from unirel.information.knn import KNN
from unirel.options import EstimationOptions
from unirel.results import Analysis
from unirel.table import Table
from unirel.unique import sample_table

Values = NDArray[np.float64]
Columns = NDArray[np.intp]

# Pairs of columns times rows, and squared rows times columns, up to which an answer takes seconds.
_PAIR_WORK = 7e6
# Of more rows a seeded sample is taken, by class.
_MOST_ROWS = 5000
_JOINT_WORK = 2e10


def analyse(
    table: Table, order: Sequence[int] | Columns, options: EstimationOptions, *, curve: bool = True
) -> Analysis:
    """Compare the selected features of a table, as many of the first as can be done in seconds.

    Of a large table some thousand rows are compared.

    Parameters
    ----------
    table : Table
        What they were selected from.
    order : sequence of int
        Positions of the selected features, first selected first.
    options : dict
        How information is estimated.
    curve : bool
        Find what the first n tell together for every n; otherwise for all of them only.
    """
    columns = np.asarray(order, np.intp)
    names = tuple(table.names[column] for column in columns)
    if len(columns) and (table.n_samples > _MOST_ROWS or table.is_sparse or table.is_parted):
        # What is said around an answer must not take longer than the answer.
        table = sample_table(table, columns, _MOST_ROWS, np.random.default_rng(0))
        columns = np.arange(len(columns))
    information = make_information(table, options)
    entropy = information.entropy(table.target) if table.discrete[table.target] else None
    return Analysis(names, _shared(information, columns), *_about_target(table, columns, options, curve), entropy)


def _shared(information: Information, columns: Columns) -> Values:
    """Normalised information of all pairs of the first columns."""
    pairs = _PAIR_WORK / information.table.n_samples
    columns = columns[: max(10, int((2 * pairs) ** 0.5))]
    memo = Memo(information)
    shared = np.eye(len(columns))
    for n_before, column in enumerate(columns[1:].tolist(), start=1):
        before = columns[:n_before]
        most = np.array([_ceiling(information, int(other), column) for other in before])
        values = normalise(memo.pairwise(before, column), most)
        shared[n_before, :n_before] = shared[:n_before, n_before] = values
    return shared


def normalise(information: Values, ceiling: Values) -> Values:
    """Map nats to 0..1; the ceiling is the largest value possible, infinity for two continuous columns."""
    most = -np.expm1(-2 * ceiling)
    return np.sqrt(np.divide(-np.expm1(-2 * information), most, out=np.zeros_like(most), where=most > 0)).clip(0, 1)


def _ceiling(information: Information, a: int, b: int) -> float:
    """The lesser entropy of the discrete ones of two columns."""
    entropies = [information.entropy(column) for column in (a, b) if information.levels(column) is not None]
    return min(entropies, default=np.inf)


def _about_target(table: Table, columns: Columns, options: EstimationOptions, curve: bool) -> tuple[Values, Values]:
    """What the first columns tell together, and what is lost without each of all, as far as it is cheap.

    By neighbours in one metric, whatever the estimator: counted, a few discrete columns tell every row apart and seem
    to tell everything.
    """
    joint, lost = np.full(len(columns), np.nan), np.full(len(columns), np.nan)
    information = KNN(table, **options).in_metric_of(columns)
    target, sizes = [table.target], np.arange(1, len(columns) + 1)
    pairs = float(table.n_samples) ** 2
    wanted = np.cumsum(sizes) * pairs <= _JOINT_WORK if curve else np.zeros(len(sizes), bool)
    wanted[-1:] = sizes[-1:] * pairs <= _JOINT_WORK
    for size in sizes[wanted]:
        block = columns[:size]
        joint[size - 1] = information.bounded(information.mutual_information(block, target), block, target)
    if len(columns) > 1 and wanted[-1]:
        lost = -information.without_each(columns).change
    return joint, lost
