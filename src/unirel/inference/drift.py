"""Which features have gained or lost information about the target between two tables, such as two years."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import OutOfTime, check_time, check_whole_number, progress_of, reported
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.stacking import stack
from unirel.data.table import Table
from unirel.estimation.base import Values
from unirel.estimation.binned import bin_edges
from unirel.estimation.counting import few_bins
from unirel.estimation.kernels.chance import expected_information
from unirel.estimation.permutation import Exceedances
from unirel.inference.tests import false_discovery_rates
from unirel.results import Result, plain

Counts = NDArray[np.int64]
Parts = tuple[slice, slice]

# Permutations behind a p-value at least, unless a number is given, and for each column, so that a change in one of
# them can be significant; a column needs no more once that many have reached its own value.
_PERMUTATIONS, _FOR_EACH, _EXCEEDANCES = 1999, 20, 20
# Permutations that are tried first, and numbers that are drawn at a time.
_FIRST, _AT_ONCE = 200, 2**20
# Levels of a column that are told apart; rarer ones are taken together.
_MOST_LEVELS = 100
# Values that are equal but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RelevanceChange(Result, drawn_by="RelevanceChangeDisplay", bars=("before", "after")):
    """How the information of features about a target differs between two tables."""

    _listed = ("only_before", "only_after", "complete")
    before: NDArray[np.float64]  #: I(Xk; y) in the first table, in nats; NaN for ignored features.
    after: NDArray[np.float64]  #: The same in the second table.
    p_value: NDArray[np.float64]  #: Probability of at least that difference if both tables are alike.
    adjusted: NDArray[np.float64]  #: The same for all features together: the expected share of false discoveries.
    names: tuple[str, ...]  #: Names of all features that both tables have.
    only_before: tuple[str, ...] = ()  #: Columns that only the first table has, which are not compared.
    only_after: tuple[str, ...] = ()  #: Columns that only the second table has.
    complete: bool = True  #: False if Ctrl-C came before all features were compared; the others are NaN.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Everything else that was asked for.

    @property
    def change(self) -> NDArray[np.float64]:
        """What was gained, or lost if it is negative."""
        return self.after - self.before

    @property
    def order(self) -> NDArray[np.intp]:
        """Features that were compared, significant changes first and large ones before others."""
        tested = np.flatnonzero(~np.isnan(self.adjusted))
        return tested[np.lexsort([-np.abs(self.change[tested]), ~self.significant()[tested]])]

    def significant(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Which features have an adjusted value up to `alpha`."""
        return np.asarray(self.adjusted <= alpha)

    @property
    def _caption(self) -> str:
        changed, n_tested = self.significant(), np.count_nonzero(~np.isnan(self.adjusted))
        gained, lost = (np.count_nonzero(changed & (sign * self.change > 0)) for sign in (1, -1))
        mark = "" if self.complete else ", complete=False"
        return f"{gained} gained and {lost} lost of {n_tested} features, at 0.05{mark}"

    def _columns(self) -> dict[str, list[Any]]:
        values = ("before", "after", "change", "p_value", "adjusted")
        return {"name": list(self.names), **{name: plain(getattr(self, name)) for name in values}}


def compare_relevance(
    X1: Any,
    y1: Any,
    X2: Any,
    y2: Any,
    *,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    common_bins: bool = False,
    n_permutations: int | None = None,
    random_state: int | None = 0,
    verbose: bool = False,
) -> RelevanceChange:
    """Find features whose relevance differs between two tables, such as training and production.

    Parameters
    ----------
    X1, y1, X2, y2
        Features and target of both tables. Columns of frames are matched by name, and a warning names those that only
        one of them has; columns of arrays by position.
    discrete_features, target_type
        As in `relevance`, for both tables together: a level is the same in both.
    common_bins : bool
        Cut numbers at the same values in both tables. Otherwise each has bins of equal frequency, as many in both, so
        that a shift or another unit is no change: a feature has as much information as before.
    n_permutations : int, optional
        Permutations at most; no p-value is below one in that many. By default 20 for each column, at least 1,999.
    random_state : int, optional
        Seed of the permutations.
    verbose : bool
        Show progress.

    Returns
    -------
    RelevanceChange
        Relevance `before` and `after`, `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    Notes
    -----
    Relevance is counted, of numbers in bins, less what chance gives. If a feature tells the same about the target in
    both tables, rows of both may change places, and the difference of the two estimates, in units of its standard
    error, has the same distribution (Janssen 1997). The tables of such permutations are drawn from the counts of both
    tables together, which takes no longer for a million rows than for a hundred. A column that was reached 20 times
    needs no more of them (Besag and Clifford 1991). Adjusted values bound the expected share of false discoveries
    (Benjamini and Hochberg 1995). Of a column with more than 100 levels the rarest are taken together.

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
    if n_permutations is not None:
        check_whole_number("n_permutations", n_permutations, 1)
    if random_state is not None:
        check_whole_number("random_state", random_state, 0)
    X, y, n_before, (only_before, only_after) = stack(X1, y1, X2, y2)
    table = Table.from_data(X, y, discrete_features=discrete_features, target_type=target_type)
    parts = slice(n_before), slice(n_before, None)
    n_permutations = n_permutations or max(_PERMUTATIONS, _FOR_EACH * len(table.features))
    coded = _Codes(table, parts, few_bins(min(n_before, table.n_samples - n_before)), common_bins)
    found, complete = _compare_all(coded, n_permutations, random_state, verbose)
    before, after, p_value = found.T
    settings = {"common_bins": common_bins, "n_permutations": n_permutations, "random_state": random_state}
    return RelevanceChange(
        before=table.one_per_feature(np.maximum(before, 0.0)),
        after=table.one_per_feature(np.maximum(after, 0.0)),
        p_value=table.one_per_feature(p_value),
        adjusted=table.one_per_feature(_adjusted(p_value)),
        names=table.names,
        only_before=only_before,
        only_after=only_after,
        complete=complete,
        settings={**settings, "rows": [n_before, table.n_samples - n_before]},
    )


class _Codes:
    """Levels of every column of two tables, one below the other."""

    def __init__(self, table: Table, parts: Parts, n_bins: int, common_bins: bool) -> None:
        self.table, self._parts, self._n_bins, self._common_bins = table, parts, n_bins, common_bins
        self._target = self._codes(table.target)

    def tables(self, column: int) -> Counts:
        """Rows of both parts in each pair of a level and a class, of shape (2, n_levels, n_classes)."""
        codes, target = self._codes(column), self._target
        shape = int(codes.max()) + 1, int(target.max()) + 1
        cells = np.ravel_multi_index((codes, target), shape)
        counts = [np.bincount(cells[part], minlength=shape[0] * shape[1]) for part in self._parts]
        return np.array(counts).reshape(2, *shape)

    def _codes(self, column: int) -> NDArray[np.intp]:
        if self.table.discrete[column]:
            return _most_frequent(self.table.codes(column).astype(np.intp))
        values = np.asarray(next(iter(self.table.continuous_block(np.array([column])))))
        codes = np.zeros(len(values), np.intp)  # for missing values
        for part in (slice(None),) if self._common_bins else self._parts:
            edges = bin_edges(values[part], self._n_bins)
            codes[part] = 1 + np.searchsorted(edges, values[part], side="right")
        return np.where(np.isnan(values), 0, codes)


def _most_frequent(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same, or the most frequent levels and one for all others."""
    counts = np.bincount(codes)
    if len(counts) <= _MOST_LEVELS:
        return codes
    renamed = np.full(len(counts), _MOST_LEVELS - 1)
    renamed[np.argsort(-counts, kind="stable")[: _MOST_LEVELS - 1]] = np.arange(_MOST_LEVELS - 1)
    return np.asarray(renamed[codes], np.intp)


def _compare_all(coded: _Codes, n_permutations: int, random_state: int | None, verbose: bool) -> tuple[Values, bool]:
    """Of every feature its information before and after and the p-value of the change, and whether all were reached."""
    features, rng = coded.table.features, np.random.default_rng(random_state)
    found = np.full((len(features), 3), np.nan)
    done = 0
    try:
        for column in reported(features.tolist(), len(features), progress_of(verbose, "features")):
            check_time()
            found[done] = _compare(coded.tables(column), n_permutations, rng)
            done += 1
    except (KeyboardInterrupt, OutOfTime):
        if done == 0:
            raise
    return found, done == len(features)


def _compare(tables: Counts, n_permutations: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Information in both tables, less chance, and the p-value of its difference."""
    both, size = tables.sum(axis=0), int(tables[0].sum())
    chance = [expected_information(table.sum(axis=1), table.sum(axis=0)) for table in tables]
    tested = Exceedances(_differences(tables[:1], both, chance), n_permutations, _EXCEEDANCES)
    while len(active := tested.active):
        n = min(max(_FIRST, int(tested.used[0])), max(1, _AT_ONCE // both.size), n_permutations - int(tested.used[0]))
        drawn = rng.multivariate_hypergeometric(both.ravel(), size, n, method="marginals").reshape(n, *both.shape)
        tested.add(active, _differences(drawn, both, chance)[:, None])
    before, after = (float(_moments(table[None])[0][0]) - by for table, by in zip(tables, chance, strict=True))
    return before, after, float(tested.p_values[0])


def _differences(first: Counts, both: Counts, chance: list[float]) -> Values:
    """By how much information differs between parts of a table, in standard errors; the first parts are given."""
    information, variance = (np.array(pair) for pair in zip(*(_moments(t) for t in (first, both - first)), strict=True))
    error = np.sqrt(variance.sum(axis=0))
    difference = np.abs(information[0] - information[1] - (chance[0] - chance[1]))
    return np.asarray(np.divide(difference, error, out=np.zeros(len(error)), where=error > _ROUNDING))


def _moments(tables: Counts) -> tuple[Values, Values]:
    """Information of tables of levels and classes, and the variance of that estimate."""
    total = tables.sum(axis=(1, 2), keepdims=True)
    shares = tables / total
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=2, keepdims=True)
    logs = np.log(np.divide(shares, expected, out=np.ones(tables.shape), where=shares > 0))
    mean = np.sum(shares * logs, axis=(1, 2))
    return mean, np.maximum(np.sum(shares * logs**2, axis=(1, 2)) - mean**2, 0.0) / total[:, 0, 0]


def _adjusted(p_values: Values) -> Values:
    """By Benjamini and Hochberg, of those that are known."""
    known, adjusted = ~np.isnan(p_values), np.full(len(p_values), np.nan)
    if known.any():
        adjusted[known] = false_discovery_rates(p_values[known])
    return adjusted
