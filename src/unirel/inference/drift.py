"""Which features have gained or lost information about the target between two tables, such as two years."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel.data.readers import DiscreteFeatures, TargetType, as_narwhals
from unirel.data.table import Table
from unirel.errors import check_whole_number
from unirel.estimation.base import Values
from unirel.estimation.binned import bin_edges, few_bins
from unirel.estimation.kernels.chance import expected_information
from unirel.results import RelevanceChange

Counts = NDArray[np.int64]

# Values that are equal but for rounding.
_ROUNDING = 1e-9


def compare_relevance(
    X1: Any,
    y1: Any,
    X2: Any,
    y2: Any,
    *,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    n_permutations: int = 1999,
    random_state: int | None = 0,
) -> RelevanceChange:
    """Find features whose relevance differs between two tables, such as training and production.

    Parameters
    ----------
    X1, y1, X2, y2
        Features and target of both tables, of one kind; frames are brought together by the names of their columns.
    discrete_features, target_type
        As in `relevance`, for both tables.
    n_permutations : int
        Permutations at most; no p-value is below one in that many.
    random_state : int, optional
        Seed of the permutations.

    Returns
    -------
    RelevanceChange
        Relevance `before` and `after`, `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    Notes
    -----
    Relevance is counted, numbers in bins of equal frequency of each table, less what chance gives. If a feature tells the same about the
    target in both, rows of both may change places, and the difference of the two estimates, in units of its standard
    error, has the same distribution (Janssen 1997). The tables of such permutations are drawn from the counts of both
    tables together, which takes no longer for a million rows than for a hundred. Adjusted values bound the expected
    share of false discoveries (Benjamini and Hochberg 1995).

    Examples
    --------
    >>> import numpy as np
    >>> from unirel import compare_relevance
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(2, 500, 3))
    >>> change = compare_relevance(old, old[:, 0] + old[:, 1] > 0, new, new[:, 0] > 0)
    >>> change.significant()
    array([ True,  True, False])
    """
    check_whole_number("n_permutations", n_permutations, 1)
    n_before = len(y1)
    table = Table.from_data(
        _stack(X1, X2, "X"), _stack(y1, y2, "y"), discrete_features=discrete_features, target_type=target_type
    )
    parts, rng = (slice(n_before), slice(n_before, None)), np.random.default_rng(random_state)
    n_bins = few_bins(min(n_before, table.n_samples - n_before))
    tables = (_tables(table, int(column), parts, n_bins) for column in table.features)
    before, after, p_value = np.array([_compare(one, n_permutations, rng) for one in tables]).reshape(-1, 3).T
    from scipy.stats import false_discovery_control  # here: it takes long to import

    return RelevanceChange(
        before=table.one_per_feature(np.maximum(before, 0.0)),
        after=table.one_per_feature(np.maximum(after, 0.0)),
        p_value=table.one_per_feature(p_value),
        adjusted=table.one_per_feature(false_discovery_control(p_value)),
        names=table.names,
        settings={"n_permutations": n_permutations, "random_state": random_state, "rows": [n_before, len(y2)]},
    )


def _stack(first: Any, second: Any, parameter: str) -> Any:
    """The rows of two tables or targets, one below the other."""
    frames = [as_narwhals(data, parameter) for data in (first, second)]
    if all(isinstance(frame, nw.DataFrame) for frame in frames):
        columns = frames[0].columns
        if missing := sorted(set(columns).symmetric_difference(frames[1].columns)):
            raise ValueError(f"only one of X1 and X2 has column {missing[0]!r}; pass the same columns in both")
        return nw.concat([frame.select(columns) for frame in frames]).to_native()
    arrays = [np.asarray(data) for data in (first, second)]
    if parameter == "X" and arrays[0].shape[1:] != arrays[1].shape[1:]:
        raise ValueError(f"X1 has shape {arrays[0].shape}, X2 {arrays[1].shape}; pass the same columns in both")
    return np.concatenate(arrays)


def _tables(table: Table, column: int, parts: tuple[slice, slice], n_bins: int) -> Counts:
    """Rows of both parts in each pair of a level and a class, of shape (2, n_levels, n_classes)."""
    codes, target = (_codes(table, one, parts, n_bins) for one in (column, table.target))
    shape = int(codes.max()) + 1, int(target.max()) + 1
    cells = np.ravel_multi_index((codes, target), shape)
    return np.array([np.bincount(cells[part], minlength=shape[0] * shape[1]).reshape(shape) for part in parts])


def _codes(table: Table, column: int, parts: tuple[slice, slice], n_bins: int) -> NDArray[np.intp]:
    """Levels of a column; numbers have bins of equal frequency in each part, so that a shift or a new unit is none."""
    if table.discrete[column]:
        return table.codes(column).astype(np.intp)
    values = next(iter(table.continuous_block(np.array([column]))))
    bins = [1 + np.searchsorted(bin_edges(values[part], n_bins), values[part], side="right") for part in parts]
    return np.where(np.isnan(values), 0, np.concatenate(bins)).astype(np.intp)


def _compare(tables: Counts, n_permutations: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Information in both tables, less chance, and the p-value of its difference."""
    both = tables.sum(axis=0)
    sizes = tables.sum(axis=(1, 2))
    drawn = rng.multivariate_hypergeometric(both.ravel(), int(sizes[0]), n_permutations, method="marginals")
    first = np.concatenate([tables[:1], drawn.reshape(-1, *both.shape)])
    information, variance = (np.array(pair) for pair in zip(*(_moments(t) for t in (first, both - first)), strict=True))
    error = np.sqrt(variance.sum(axis=0))
    difference = np.abs(information[0] - information[1] - np.subtract(*map(_chance, tables)))
    statistic = np.divide(difference, error, out=np.zeros(len(error)), where=error > _ROUNDING)
    p_value = np.mean(statistic >= statistic[0] - _ROUNDING)  # the data count like one more permutation
    before, after = (float(value[0]) - _chance(table) for value, table in zip(information, tables, strict=True))
    return before, after, float(p_value)


def _moments(tables: Counts) -> tuple[Values, Values]:
    """Information of tables of levels and classes, and the variance of that estimate."""
    total = tables.sum(axis=(1, 2), keepdims=True)
    shares = tables / total
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=2, keepdims=True)
    logs = np.log(np.divide(shares, expected, out=np.ones(tables.shape), where=shares > 0))
    mean = np.sum(shares * logs, axis=(1, 2))
    return mean, np.maximum(np.sum(shares * logs**2, axis=(1, 2)) - mean**2, 0.0) / total[:, 0, 0]


def _chance(table: Counts) -> float:
    return expected_information(table.sum(axis=1), table.sum(axis=0))
