"""Which candidates are seen to tell more than what is selected: the test that ends a search by itself.

What is selected is summarised in a column of few levels. If a candidate adds nothing, the target may be permuted among
rows that are alike in what is selected. That is done many times, for all candidates at once; a candidate adds something
if chance does as well, with any of the candidates, in a share of at most `alpha` of the permutations. With nothing
selected the test is exact. Of a table of very many rows a sample is looked at.
"""

from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel._runtime import map_tasks
from unirel.data.chunks import PartedTable
from unirel.data.table import Table
from unirel.data.weights import check_weights, sample_table
from unirel.estimation.base import Columns, Values, n_log_n
from unirel.estimation.binned import Binned
from unirel.estimation.counting import Joint, few_bins
from unirel.estimation.permutation import Exceedances, Permutations, expected_target, group_along, without_wide

# Permutations, and how many of them may do as well as a candidate that passes; more are made where alpha is small.
_PERMUTATIONS, _PASSING = 99, 5
# Rows for each pair of a level of the summary and a level of the newest feature, and most levels of each.
_ROWS, _MOST_LEVELS = 8, 24
# Rows that are looked at: at most the first, fewer if their values are more than the second, but never below the third.
_MOST_ROWS, _MOST_VALUES, _FEWEST_ROWS = 20_000, 2**25, 2_000
# Rows of a group in which the target is permuted, where rows of one level are not all alike: by one number, by several.
_GROUP, _FINE_GROUP = 10, 3


class Evidence:
    """Tests, in bins, whether candidates add anything; `alpha` is the chance that any passes if none does."""

    def __init__(
        self,
        table: Table,
        candidates: Columns,
        alpha: float,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self._candidates, self._alpha, self._n_jobs = candidates, alpha, n_jobs
        table, self._positions = _few_rows(table, sample_weight is not None, random_state)
        self._weights = None if sample_weight is None else check_weights(sample_weight, table.n_samples)
        weights = np.ones(table.n_samples) if self._weights is None else self._weights
        # What chance gives is the same in all permutations.
        self._counts = Binned(few_bins(weights.sum()), correction=None).on(table, sample_weight)
        self._rows = np.flatnonzero(weights > 0)  # others are as good as not there
        self._most_levels = int(min(_MOST_LEVELS, max(2, (len(self._rows) / _ROWS) ** 0.5)))
        self._fine = Binned(self._most_levels).on(table, sample_weight)
        self._table = table
        self._target = _coded(self._counts.levels(table.target))
        self._seeds = np.random.SeedSequence(random_state)
        self._summaries: dict[tuple[int, ...], Joint] = {(): _coded(np.zeros(table.n_samples, np.uint32))}
        self._known: dict[tuple[int, ...], Columns] = {}

    def adding(self, selected: Columns) -> Columns:
        """Candidates that add something to the selected features, those included."""
        key = tuple(self._positions[selected].tolist())
        if key not in self._known:
            candidates = np.setdiff1d(self._candidates, selected)
            self._known[key] = candidates[self._passing(key, self._positions[candidates])]
        return self._known[key]

    def _passing(self, selected: tuple[int, ...], candidates: Columns) -> NDArray[np.bool_]:
        if len(candidates) == 0:
            return np.zeros(0, np.bool_)
        summary = self._summary(selected)
        permutations = Permutations(self._table.n_samples, self._groups(selected, summary), self._rows)
        observed = self._counts.given_codes(candidates, summary, self._target)
        tested = Exceedances(observed, max(_PERMUTATIONS, ceil(_PASSING / self._alpha) - 1), keep=True)

        def count(order: Columns) -> Values:
            moved = _coded(self._target.codes[order])
            # Weights may depend on the target, and move with it.
            weights = None if self._weights is None else self._weights[order]
            return self._counts.given_codes(candidates, summary, moved, weights)

        # The same seeds at every step, so that a step does not depend on those before it.
        seeds = np.random.SeedSequence(self._seeds.entropy).spawn(tested.n_permutations)
        orders = (permutations.draw(np.random.default_rng(seed)) for seed in seeds)
        if not tested.fill(lambda _, some: np.array(map_tasks(count, list(some), self._n_jobs)), orders):
            raise KeyboardInterrupt
        return tested.p_values_of_maximum(_nearly_normal) <= self._alpha

    def _summary(self, selected: tuple[int, ...]) -> Joint:
        """A column of few levels that tells about the target what the selected features tell, as far as it can."""
        if selected not in self._summaries:
            before, newest = self._summary(selected[:-1]), _coded(self._fine.levels(selected[-1]))
            pairs = before.codes.astype(np.int64) * newest.n_levels + newest.codes
            cells, codes = np.unique(pairs, return_inverse=True)
            n_classes, of_target = self._target.n_levels, codes * self._target.n_levels + self._target.codes
            counted = np.bincount(of_target[self._rows], minlength=len(cells) * n_classes)
            levels = merge_levels(counted.reshape(-1, n_classes), self._most_levels)
            self._summaries[selected] = _coded(levels[codes])
        return self._summaries[selected]

    def _groups(self, selected: tuple[int, ...], summary: Joint) -> NDArray[np.intp]:
        """Rows among which the target may be permuted: of one level and, as numbers differ in it, alike in these."""
        levels = summary.codes[self._rows].astype(np.intp)
        numbers = np.array([column for column in selected if self._table.continuous[column]], np.intp)
        if len(numbers) == 0:
            return levels
        along = expected_target(self._table, numbers, self._rows)
        if len(numbers) == 1:
            return group_along(levels, along, _GROUP)
        return without_wide(along, group_along(levels, along, _FINE_GROUP))


def _few_rows(table: Table, weighted: bool, random_state: int | None) -> tuple[Table, Columns]:
    """A table of the rows that are looked at, all unless there are very many, and where in it each column is."""
    positions = np.arange(len(table.columns))
    if isinstance(table, PartedTable) and table.weights is not None:
        about = "n_features_to_select='auto' has no test for weighted rows in parts"
        raise ValueError(f"{about}; pass a number, or no weights")
    most = min(_MOST_ROWS, max(_MOST_VALUES // len(positions), _FEWEST_ROWS))
    if weighted or table.is_sparse or (table.n_samples <= most and not table.is_parted):
        return table, positions
    columns = table.features
    positions[columns] = np.arange(len(columns))
    return sample_table(table, columns, most, np.random.default_rng(random_state)), positions


def _nearly_normal(information: Values) -> Values:
    """The cube root of what is distributed like chi-square."""
    return np.asarray(np.cbrt(np.maximum(information, 0.0)))


def merge_levels(counts: NDArray[np.integer], most: int) -> NDArray[np.intp]:
    """Merge the rows of a contingency table, those that lose least information first, until at most `most` are left."""
    # Returns the number of the row that each row has become part of (an agglomerative information bottleneck).
    sums = counts.astype(np.int64)
    groups = np.arange(len(sums))
    own = _n_log_n_of(sums)
    losses = np.array([own + own[row] - _n_log_n_of(sums + sums[row]) for row in groups])
    np.fill_diagonal(losses, np.inf)
    for _ in range(len(sums) - most):
        first, second = sorted(divmod(int(np.argmin(losses)), len(sums)))
        sums[first] += sums[second]
        groups[groups == second] = first
        own[first] = _n_log_n_of(sums[[first]])[0]
        gone = np.isinf(losses[first])
        gone[second] = True
        row = own + own[first] - _n_log_n_of(sums + sums[first])
        row[gone] = np.inf
        losses[first], losses[:, first] = row, row
        losses[second], losses[:, second] = np.inf, np.inf
    return np.unique(groups, return_inverse=True)[1]


def _n_log_n_of(counts: NDArray[np.int64]) -> Values:
    """For every row of counts the sum of n log n, less that of their total: minus the total times the entropy."""
    return np.asarray(n_log_n(counts).sum(axis=1) - n_log_n(counts.sum(axis=1)))


def _coded(codes: NDArray[np.integer]) -> Joint:
    levels = codes.astype(np.uint32, copy=False)
    return Joint(int(codes.max(initial=0)) + 1, None, lambda: levels)
