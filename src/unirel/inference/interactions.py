"""Pairs of features that tell more about the target together than one by one, and whether that could be chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, xlogy

from unirel._runtime import (
    READING_SECONDS,
    Deadline,
    OutOfTime,
    Progress,
    check_time,
    check_whole_number,
    no_progress,
    progress_of,
    reported,
    warn,
)
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.table import Table
from unirel.data.weights import check_weights
from unirel.estimation.base import Columns, Values
from unirel.estimation.binned import Binned
from unirel.estimation.counting import Counts
from unirel.estimation.kernels.chance import expected_information
from unirel.measures import known_columns
from unirel.results import Result, plain

# Bins of a continuous column: the product of two of them and the target has to leave rows in every cell.
_BINS = 4
# Cells that a table of two features and the target may have: one for each row, within these limits.
_CELLS = 2**10, 2**12
# Pairs that are tested: those that are reported, and as many times more.
_TESTED = 5
# Permutations that are tried first, and the p-value up to which all of them are.
_FIRST, _PROMISING = 50, 0.05
_ALPHA = 0.05
# How many times as much synergy as relevance pairs have that are said to matter only together.
_MOSTLY = 2
# Values of chance that can be told from 0.
_ROUNDING = 1e-9
# What of a table (a, b, y) is summed over, and whether the log of what is left is added or taken off: p(a, b, y) p(a)
# p(b) p(y) / (p(a, b) p(a, y) p(b, y)) has the mean I(a, b; y) - I(a; y) - I(b; y).
_MARGINS = (((), 1), ((-2, -1), 1), ((-3, -1), 1), ((-3, -2), 1), ((-1,), -1), ((-2,), -1), ((-3,), -1))


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Result, drawn_by="InteractionsDisplay", bars=("synergy",)):
    """Pairs of features whose information about a target is more than that of both by themselves."""

    _listed = ("n_pairs", "complete")
    pairs: tuple[tuple[str, str], ...]  #: Names of both, the strongest pair first.
    synergy: NDArray[np.float64]  #: I(a, b; y) - I(a; y) - I(b; y) in nats, less what it is by chance.
    relevance: NDArray[np.float64]  #: I(a; y) and I(b; y) of each pair, in the same bins, less chance.
    p_value: NDArray[np.float64]  #: Probability of at least that much if there is no synergy.
    adjusted: NDArray[np.float64]  #: The same for all pairs together: the expected share of false discoveries.
    n_pairs: int  #: How many pairs were looked at.
    names: tuple[str, ...]  #: Names of all features.
    complete: bool = True  #: False if time was up, or Ctrl-C came, before all pairs were looked at and tested.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Everything else that was asked for.

    def significant(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Which pairs have an adjusted value up to `alpha`."""
        return np.asarray(self.adjusted <= alpha)

    def only_together(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Which of the significant pairs have most of their information, two thirds, only as a pair, as an XOR has."""
        return np.asarray(self.significant(alpha) & (self.synergy > _MOSTLY * self.relevance.sum(axis=1)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON, with a row for each of the pairs."""
        found = super().to_dict()
        return {"pairs": found.pop("features"), **found}

    @property
    def _caption(self) -> str:
        mark = "" if self.complete else ", complete=False"
        return f"{np.count_nonzero(self.significant())} of {self.n_pairs:,} pairs significant at 0.05{mark}"

    def _columns(self) -> dict[str, list[Any]]:
        first, second = (list(side) for side in zip(*self.pairs, strict=True)) if self.pairs else ([], [])
        values = {
            **{"synergy": self.synergy, "first_relevance": self.relevance[:, 0]},
            **{"second_relevance": self.relevance[:, 1], "p_value": self.p_value, "adjusted": self.adjusted},
        }
        return {"first": first, "second": second, **{name: plain(one) for name, one in values.items()}}


def interactions(
    X: Any,
    y: Any,
    *,
    columns: Any = None,
    max_pairs: int = 20,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    sample_weight: ArrayLike | None = None,
    n_permutations: int = 1000,
    max_seconds: float | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Interactions:
    """Find pairs of features that have information about the target only together, such as the sides of an XOR.

    Parameters
    ----------
    X, y, discrete_features, target_type, n_jobs
        As in `relevance`.
    columns : list of names or positions, optional
        Only pairs with at least one of these; all pairs if not given.
    max_pairs : int
        Pairs to report at most.
    sample_weight : array of shape (n_samples,), optional
        How many rows each row stands for; slower, as rows are permuted one by one.
    n_permutations : int
        Permutations of the target behind a p-value; 50 where these do not give one below 0.05.
    max_seconds : float, optional
        Time budget. The pairs that were looked at by then are tested, and the result is marked as not complete; so it
        is after Ctrl-C.
    random_state : int, optional
        Seed of the permutations.
    verbose : bool
        Show progress.

    Returns
    -------
    Interactions
        Significant pairs first, those with the strongest synergy before others, with `to_frame()` and `plot()`.

    Notes
    -----
    Synergy is I(a, b; y) - I(a; y) - I(b; y), counted with four bins of equal frequency of each continuous column, less
    what it is by chance: the mean over all permutations of the target. It is negative for features that are redundant
    with each other. All pairs are looked at, and those with the most synergy for their number of cells are tested. The
    p-value is that of the cube root of the synergy among those of permuted targets, taken as normal (Wilson and
    Hilferty 1931), or that of a synergy of 0 given the scatter of the pointwise synergies, if that is larger. Adjusted
    values bound the expected share of false discoveries (Benjamini and Hochberg 1995) among all pairs, those that are
    not reported too.

    Features that are relevant by themselves have synergy as well where one matters more given the other, as the
    summands of a sum do. `only_together` tells those pairs apart that have most of their information as pairs.

    Patterns that are finer than a bin are not seen. Pairs are not looked at if their table with the target has more
    than 4,096 cells, or more than 1,024 and more than there are rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unirel import interactions
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> interactions(X, X[:, 1] * X[:, 3] > 0).pairs[0]
    ('x1', 'x3')
    """
    check_whole_number("max_pairs", max_pairs, 1)
    check_whole_number("n_permutations", n_permutations, 20)
    if random_state is not None:
        check_whole_number("random_state", random_state, 0)
    if max_seconds is not None and (not isinstance(max_seconds, Real) or not max_seconds >= 0):
        raise ValueError(f"max_seconds={max_seconds!r} must be None or a number from 0 on")
    deadline = Deadline.after(max_seconds)
    with deadline.applied(READING_SECONDS):
        table = Table.from_data(X, y, discrete_features=discrete_features, target_type=target_type)
    firsts = table.features if columns is None else np.unique(np.array(known_columns(table, columns), np.intp))
    asked: Any = {"max_pairs": max_pairs, "n_permutations": n_permutations, "random_state": random_state}
    progress = progress_of(verbose, "pairs")
    with deadline.applied():
        found = find_pairs(table, firsts, sample_weight, n_jobs=n_jobs, progress=progress, **asked)
    if found.n_pairs == 0:
        raise ValueError(
            f"there is no pair to look at among the {len(table.features)} columns that are used; pass at least two "
            "that vary, and join rare levels of those with very many"
        )
    if not found.complete:
        about = f"only {found.n_pairs:,} pairs were looked at, and the strongest of them tested"
        warn(f"{about}; for all of them give more with max_seconds=")
    return found


def find_pairs(
    table: Table,
    firsts: Columns,
    sample_weight: ArrayLike | None = None,
    *,
    max_pairs: int = 20,
    n_permutations: int = 1000,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    progress: Progress = no_progress,
) -> Interactions:
    """`interactions` of a table that has been read; there may be none."""
    weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
    counts = Binned(_BINS, correction=None).on(table, sample_weight, n_jobs)
    first, second, n_pairs, complete = _strongest(counts, firsts, weights, _TESTED * max_pairs, progress)
    tested = _Tests(counts, weights, n_permutations, np.random.default_rng(random_state)).run(first, second)
    p_value, synergy, *relevance = tested.T
    order = np.argsort(p_value, kind="stable")
    adjusted = np.empty(len(order))
    steps = p_value[order] * n_pairs / np.arange(1, len(order) + 1)  # of all pairs, those that are not tested too
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    by_chance = adjusted > _ALPHA
    shown = np.lexsort([-synergy, np.where(by_chance, p_value, 0.0), by_chance])[:max_pairs]
    return Interactions(
        pairs=tuple((table.names[first[one]], table.names[second[one]]) for one in shown),
        synergy=synergy[shown],
        relevance=np.maximum(np.transpose(relevance), 0.0)[shown],
        p_value=p_value[shown],
        adjusted=adjusted[shown],
        n_pairs=n_pairs,
        names=table.names,
        complete=complete and len(tested) == len(first),
        settings={"max_pairs": max_pairs, "n_permutations": n_permutations, "random_state": random_state},
    )


def _strongest(
    counts: Binned, firsts: Columns, weights: Values | None, most: int, progress: Progress
) -> tuple[Columns, Columns, int, bool]:
    """The pairs with the largest synergy for their number of cells, how many there are, and whether all were seen."""
    table, n_pairs, found = counts.table, 0, np.empty((3, 0))  # score, first and second column
    features, target = table.features, table.target
    total = table.n_samples if weights is None else float(weights.sum())
    n_levels = np.zeros(len(table.columns), np.int64)
    try:
        relevance = table.one_per_feature(counts.relevance(features))  # first: it codes columns in blocks
        for column in [*features.tolist(), target]:
            n_levels[column] = np.count_nonzero(np.bincount(counts.levels(column)))
        waiting = np.isin(np.arange(len(table.columns)), features) & (n_levels > 1)
        for first in reported(firsts.tolist(), len(firsts), progress):
            check_time()
            waiting[first] = False
            cells = n_levels[first] * n_levels * n_levels[target]
            others = np.flatnonzero(waiting & (cells <= np.clip(table.n_samples, *_CELLS)))
            if len(others) == 0 or n_levels[first] < 2:
                continue
            synergy = counts.conditional_relevance(others, [first]) - relevance[others]
            freedom = (n_levels[first] - 1) * (n_levels[others] - 1) * (n_levels[target] - 1)
            score = _normal(2 * total * synergy, freedom)
            found = np.hstack([found, [score, np.full(len(others), float(first)), others]])
            found = found[:, np.argsort(-found[0], kind="stable")[:most]]
            n_pairs += len(others)
    except (KeyboardInterrupt, OutOfTime):
        if n_pairs == 0:
            raise
        return *found[1:].astype(np.intp), n_pairs, False
    return *found[1:].astype(np.intp), n_pairs, True


def _normal(chi_square: Values, freedom: NDArray[np.int64]) -> Values:
    """About normal, if the values are distributed like chi-square (Wilson and Hilferty)."""
    spread = 2 / (9 * np.maximum(freedom, 1))
    return np.asarray((np.cbrt(chi_square / np.maximum(freedom, 1)) - 1 + spread) / np.sqrt(spread))


class _Tests:
    """Tests of pairs, one after the other, by permutations of the target, or of target and weights together."""

    def __init__(self, counts: Binned, weights: Values | None, n_permutations: int, rng: np.random.Generator) -> None:
        self._counts, self._weights, self._rng = counts, weights, rng
        self._n_permutations, self._target = n_permutations, self._levels(counts.table.target)

    def run(self, first: Columns, second: Columns) -> Values:
        """Of each pair its p-value, its synergy and the relevance of both, less chance, as far as there is time."""
        found: list[tuple[float, ...]] = []
        try:
            with Deadline.after(None).at_least(READING_SECONDS).applied():  # without tests there is nothing to return
                for pair in zip(first.tolist(), second.tolist(), strict=True):
                    check_time()
                    found.append(self._test(*pair))
        except (KeyboardInterrupt, OutOfTime):
            if not found:
                raise
        return np.array(found).reshape(-1, 4)

    def _test(self, first: int, second: int) -> tuple[float, ...]:
        a, b, y = self._levels(first), self._levels(second), self._target
        shape = int(a.max()) + 1, int(b.max()) + 1, int(y.max()) + 1
        pairs = (a * shape[1] + b) * shape[2]
        table: Counts = np.bincount(pairs + y, self._weights, minlength=int(np.prod(shape))).reshape(shape)
        of_a, of_b, of_y = (table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1)))
        chance = [expected_information(side, of_y) for side in (table.sum(axis=2).ravel(), of_a, of_b)]
        relevance = [_information(table.sum(axis=axis)) - by for axis, by in zip((1, 0), chance[1:], strict=True)]
        observed = float(_synergy(table))
        less_chance = observed - (chance[0] - chance[1] - chance[2])
        for n in (min(_FIRST, self._n_permutations), self._n_permutations):
            roots = np.cbrt(_synergy(self._permuted(pairs, table, n)))
            spread = max(float(roots.std(ddof=1)), _ROUNDING)
            p_value = float(ndtr((roots.mean() - np.cbrt(observed)) / spread))
            if p_value > _PROMISING:
                break
        error = max(_standard_error(table), _ROUNDING)
        return max(p_value, float(ndtr(-less_chance / error))), less_chance, *relevance

    def _permuted(self, pairs: Columns, table: Counts, n: int) -> Counts:
        """Tables with the target in other orders."""
        if self._weights is None:
            from scipy.stats import random_table  # here: it takes long to import

            # Drawn from the counts, which takes about as long for a million rows as for a hundred.
            sides = table.sum(axis=2).ravel(), table.sum(axis=(0, 1))
            drawn = random_table.rvs(*sides, size=n, method="patefield", random_state=self._rng)
            return np.asarray(drawn.reshape(n, *table.shape))
        orders = (self._rng.permutation(len(pairs)) for _ in range(n))
        moved = [np.bincount(pairs + self._target[own], self._weights[own], table.size) for own in orders]
        return np.array(moved).reshape(n, *table.shape)

    def _levels(self, column: int) -> Columns:
        """Codes of the levels in use."""
        codes = self._counts.levels(column)
        return np.asarray((np.cumsum(np.bincount(codes) > 0) - 1)[codes])


def _synergy(tables: Counts) -> Values:
    """I(a, b; y) - I(a; y) - I(b; y) of tables (..., a, b, y)."""
    found = 0.0
    for axes, sign in _MARGINS:
        margin = tables.sum(axis=axes)
        found = found + sign * xlogy(margin, margin).sum(axis=tuple(range(tables.ndim - 3, margin.ndim)))
    total = tables.sum(axis=(-3, -2, -1))
    return np.asarray(found / total - np.log(total))


def _information(table: Counts) -> float:
    sides = [xlogy(one, one).sum() for one in (table, table.sum(axis=0), table.sum(axis=1))]
    return float((sides[0] - sides[1] - sides[2]) / table.sum() + np.log(table.sum()))


def _standard_error(table: Counts) -> float:
    """Of the synergy, from the scatter of its pointwise values over the rows."""
    total = table.sum()
    shares, logs = table / total, np.zeros(table.shape)
    for axes, sign in _MARGINS:
        margin = shares.sum(axis=axes, keepdims=True)
        logs += sign * np.log(np.where(margin > 0, margin, 1.0))
    # Noise alone gives pointwise synergies a scatter too, which the permutations have judged already.
    by_chance = np.prod(np.array(table.shape) - 1.0) / total
    variance = np.sum(shares * logs**2) - np.sum(shares * logs) ** 2 - by_chance
    return float(np.sqrt(max(0.0, variance) / total))
