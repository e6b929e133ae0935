"""Mutual information from counts, after cutting continuous columns into bins, and how these are found."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel._runtime import map_tasks, pieces
from unirel.data.chunks import PartedTable
from unirel.data.kernels import find_bins, frequency_edges, width_edges
from unirel.data.table import Table
from unirel.errors import check_choice, check_whole_number
from unirel.estimation.base import Columns, Values, known_n_log_n
from unirel.estimation.kernels.bins import description_edges
from unirel.estimation.part_codes import Cuts
from unirel.estimation.plugin import Correction, Plugin

# A continuous target has bins of its own, which make tables of 8 x 8 x 8 cells of two features and the target; a few
# hundred rows leave these nearly empty, so there "auto" takes fewer. Measured in docs/which_selector.rst.
_CLASS_BINS = 8
# Edges that minimum description length may find: bins and a level for missing values fit into a byte.
_MOST_EDGES = 254
# Numbers of a block of columns that are sorted at a time.
_BLOCK = 2**18


Strategy = Literal["quantile", "uniform", "mdl"]
STRATEGIES = ("quantile", "uniform", "mdl")


class Binned(Plugin):
    """The plug-in estimator on bins: far cheaper than neighbours, and blind within a bin.

    Parameters
    ----------
    n_bins : int or "auto"
        Bins of every continuous column, missing values aside; "auto" is 8 for class labels, and for a continuous
        target, which is cut as well, the fourth root of n_samples, from 3 to 20.
    strategy : {"quantile", "uniform", "mdl"}
        Bins of equal frequency, of equal width, or of minimum description length, which looks at class labels and finds
        the number of bins itself.
    correction : {"chance", "miller-madow", None}
        As in `Plugin`.
    edges : mapping from columns to edges, optional
        Edges that are known, as `bin_edges` gives them, by name or position of their column.
    """

    name = "binned"
    accepts = frozenset({"continuous", "discrete"})

    def __init__(
        self,
        n_bins: int | Literal["auto"] = "auto",
        strategy: Strategy = "quantile",
        correction: Correction = "chance",
        edges: Mapping[Any, ArrayLike] | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.correction = correction
        self.edges = edges

    def check_parameters(self) -> None:
        """Refuse numbers and names that are out of range."""
        super().check_parameters()
        check_choice("strategy", self.strategy, STRATEGIES)
        if self.n_bins != "auto":
            check_whole_number("n_bins", self.n_bins, 2, or_name="auto")

    def _make_bins(self) -> "Bins":
        n_bins, strategy, given = self._make_cuts()
        target = self.table.target
        self.looks_at_target = strategy == "mdl" and bool(self.table.discrete[target])
        labels = self.table.codes(target) if self.looks_at_target else None
        return Bins(self.table, BinRule(n_bins, strategy, labels, self._weights), self.n_jobs, given)

    def _make_cuts(self) -> Cuts:
        n_bins, total = self.n_bins, self._total
        if isinstance(self.table, PartedTable) and self.table.weights is not None:
            total = self.table.weights.n_effective
        if n_bins == "auto":
            n_bins = _CLASS_BINS if self.table.discrete[self.table.target] else few_bins(total)
        self.n_bins_ = int(n_bins)
        return Cuts(self.n_bins_, self.strategy, self._find_edges(self.edges or {}))

    def _find_edges(self, given: Mapping[Any, ArrayLike]) -> dict[int, Values]:
        """Edges by the position of their column."""
        target, found = self.table.columns.names[-1], {}
        for column, edges in given.items():
            is_target = isinstance(column, str) and column == target
            position = self.table.target if is_target else self.table.positions(column)[0]
            found[position] = np.sort(np.asarray(edges, np.float64))
            if np.isnan(found[position]).any():
                raise ValueError(f"edges of column {column!r} hold NaN; pass numbers, or infinity")
        return found


def few_bins(total: float) -> int:
    """As many bins as leave enough rows in each for tests of weak relations, and for tables of three columns."""
    return min(20, max(3, round(math.sqrt(math.sqrt(total)))))


def bin_edges(
    values: ArrayLike,
    n_bins: int,
    strategy: Strategy = "quantile",
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Values:
    """Edges between the bins of some values, to be kept and applied to other values.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Numbers; NaN is left out.
    n_bins : int
        How many bins; "mdl" finds their number itself.
    strategy : {"quantile", "uniform", "mdl"}, default="quantile"
        Bins of equal frequency, where equal values share a bin; of equal width; or those that describe class labels in
        the fewest words (Fayyad and Irani 1993).
    labels : array of shape (n_samples,), optional
        Class labels for "mdl".
    sample_weight : array of shape (n_samples,), optional
        How many rows each value stands for.

    Returns
    -------
    ndarray
        Edges in ascending order: the bin of a value is how many edges it reaches,
        ``numpy.searchsorted(edges, values, side="right")``. An edge of "quantile" and "mdl" is the least of the
        `values` in the bins above it, infinite if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from unirel.estimation.binned import bin_edges
    >>> edges = bin_edges([1, 2, 2, 3, 7, 9], 3)
    >>> edges
    array([2., 7.])
    >>> np.searchsorted(edges, [0, 2, 8, 100], side="right")
    array([0, 1, 2, 2])
    """
    check_choice("strategy", strategy, STRATEGIES)
    check_whole_number("n_bins", n_bins, 2)
    numbers = np.asarray(values, np.float64)
    present = ~np.isnan(numbers)
    classes = None
    if strategy == "mdl":
        if labels is None:
            raise ValueError("strategy='mdl' needs labels=, the class of every value; or pass strategy='quantile'")
        classes = np.unique(np.asarray(labels), return_inverse=True)[1][present]
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)[present]
    edges, n_edges = BinRule(n_bins, strategy, classes, weights).edges(numbers[None, present])
    return edges[0, : n_edges[0]]


class BinRule:
    """How continuous columns are cut.

    Parameters
    ----------
    n_bins : int
        How many bins; not used by "mdl".
    strategy : {"quantile", "uniform", "mdl"}
        As in `bin_edges`.
    labels : ndarray or None
        Class of every row as a code, for "mdl".
    weights : ndarray or None
        Weight of every row.
    """

    def __init__(
        self, n_bins: int, strategy: Strategy, labels: NDArray[np.integer] | None, weights: Values | None
    ) -> None:
        self.n_bins, self.strategy, self._labels, self._weights = n_bins, strategy, labels, weights
        self.weighted, self._rows = weights is not None, None
        if weights is not None:  # A row without weight is as good as not there.
            self._rows = np.flatnonzero(weights)
            self._weights = weights[self._rows]
            self._labels = None if labels is None else labels[self._rows]

    def edges(self, values: Values) -> tuple[Values, Columns]:
        """Edges of every row, filled up with infinity where it has fewer than others, and how many there are."""
        values = values if self._rows is None else values[:, self._rows]
        sizes = (~np.isnan(values)).sum(axis=1)
        most = _MOST_EDGES if self.strategy == "mdl" else self.n_bins - 1
        edges = np.full((len(values), most), np.inf)
        if self.strategy == "mdl":
            return edges, self._describe(values, sizes, edges)
        if self.strategy == "uniform":
            width_edges(values, self.n_bins, edges)
        elif self._weights is None:
            before = np.arange(values.shape[1] + 1, dtype=np.float64)
            frequency_edges(np.sort(values, axis=1), sizes, before[None], self.n_bins, edges)
        else:
            order = np.argsort(values, axis=1, kind="stable")
            before = np.zeros((len(values), values.shape[1] + 1))
            np.cumsum(self._weights[order], axis=1, out=before[:, 1:])
            frequency_edges(np.take_along_axis(values, order, axis=1), sizes, before, self.n_bins, edges)
        return edges, np.full(len(values), most)

    def _describe(self, values: Values, sizes: Columns, edges: Values) -> Columns:
        """Edges of minimum description length; returns how many there are."""
        if self._labels is None:
            raise ValueError("strategy='mdl' needs class labels as target; pass strategy='quantile' or 'uniform'")
        weights = np.ones(values.shape[1]) if self._weights is None else self._weights
        order = np.argsort(values, axis=1, kind="stable")
        ordered, n_classes = np.take_along_axis(values, order, axis=1), int(self._labels.max(initial=0)) + 1
        known = known_n_log_n(min(int(weights.sum()) + 1, 2**16))
        labels, weights = self._labels[order], weights[order]
        return description_edges(ordered, sizes, labels, weights, n_classes, known, edges)


class Bins:
    """Bins of the continuous columns of a table, found when they are first asked for.

    Parameters
    ----------
    table : Table
        Its missing values have a level of their own, behind the bins.
    rule : BinRule
        How columns are cut.
    n_jobs : int or None
        Threads that look for bins of minimum description length.
    given : mapping from positions to edges
        Columns whose edges are known.
    """

    def __init__(self, table: Table, rule: BinRule, n_jobs: int | None, given: Mapping[int, Values]) -> None:
        self._table, self.rule, self._n_jobs, self._given = table, rule, n_jobs, given

    @property
    def equal_frequency(self) -> int | None:
        """How many bins, if they are plain bins of equal frequency, which need no look at other columns or weights."""
        plain = self.rule.strategy == "quantile" and not self.rule.weighted and not self._given
        return self.rule.n_bins if plain else None

    def n_levels(self, columns: Columns) -> Columns:
        """Levels of some columns: bins, and one for missing values if there are any."""
        n_bins = (
            self._described[1][columns] + 1 if self.rule.strategy == "mdl" else np.full(len(columns), self.rule.n_bins)
        )
        for place, column in enumerate(columns.tolist()):
            if column in self._given:
                n_bins[place] = len(self._given[column]) + 1
        return np.asarray(n_bins + self._table.has_missing[columns])

    def codes(self, columns: Columns, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Bins of the values of some columns."""
        values = self._table.continuous_block(columns)
        if self.rule.strategy == "mdl":
            edges, n_edges = self._described[0][columns], self._described[1][columns]
        else:
            edges, n_edges = self._edges(columns, values)
        codes = np.empty(values.shape, dtype)
        find_bins(values, edges, n_edges + 1, codes)
        return codes

    def _edges(self, columns: Columns, values: Values) -> tuple[Values, Columns]:
        """Edges of some columns, those that are given and others, and how many there are."""
        known = [self._given.get(column) for column in columns.tolist()]
        others = np.array([place for place, own in enumerate(known) if own is None], np.intp)
        if len(others) == len(known):
            return self.rule.edges(values)
        n_edges = np.array([self.rule.n_bins - 1 if own is None else len(own) for own in known])
        edges = np.full((len(known), max(1, n_edges.max())), np.inf)
        for row, own in zip(edges, known, strict=True):
            row[: 0 if own is None else len(own)] = own
        if len(others):
            edges[others, : self.rule.n_bins - 1] = self.rule.edges(values[others])[0]
        return edges, n_edges

    @cached_property
    def _described(self) -> tuple[Values, Columns]:
        """Edges of minimum description length of all columns, the number of which nobody knows before."""
        continuous = np.flatnonzero(self._table.continuous)
        blocks = pieces(continuous, _BLOCK // self._table.n_samples)
        found = map_tasks(lambda block: self.rule.edges(self._table.continuous_block(block)), blocks, self._n_jobs)
        n_edges = np.zeros(len(self._table.columns), np.intp)
        for block, (_, numbers) in zip(blocks, found, strict=True):
            n_edges[block] = numbers
        edges = np.full((len(n_edges), n_edges.max(initial=0)), np.inf)
        for block, (of_block, _) in zip(blocks, found, strict=True):
            edges[block] = of_block[:, : edges.shape[1]]
        return edges, n_edges
