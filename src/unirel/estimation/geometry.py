"""Columns of a table as coordinates: what every neighbour estimator needs to measure distances and share the work."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from unirel._runtime import Progress, map_tasks, pieces
from unirel.data.table import Table
from unirel.estimation.base import Block, Changes, Values
from unirel.estimation.kernels.change_one import LANES, N_BUCKETS, NEAREST, Order, Room
from unirel.estimation.kernels.line import Line
from unirel.estimation.kernels.metric import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Ball
from unirel.estimation.kernels.plane import Strips, cut_strips
from unirel.estimation.kernels.space import Sorted

Columns = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]

METRICS = {"chebyshev": CHEBYSHEV, "manhattan": MANHATTAN, "euclidean": EUCLIDEAN}
# What a mismatch costs in the summed metrics: the mean difference of two draws from a standard normal
# distribution, and the root of their mean squared difference.
_TYPICAL_DIFFERENCE = {"manhattan": 2 / np.sqrt(np.pi), "euclidean": np.sqrt(2.0)}
# Distances that differ by less than this share are a tie that rounding has broken.
_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# Rows a thread works on at a time. Fixed, so that the number of threads cannot show in a result.
_ROWS_PER_TASK = 128
# Numbers a thread sorts at a time when it works on several columns.
_NUMBERS_PER_TASK = 2**16


class Geometry:
    """The coordinates of a table, and the threads that work on them."""

    def __init__(self, table: Table, n_neighbors: int, n_jobs: int | None) -> None:
        self.values: Columns = table.values
        self.n_samples = table.n_samples
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        # In the precision of the columns, so that kernels do not compute in a wider one.
        self.far: Any = table.values.dtype.type(table.far)
        self.tolerance = _TOLERANCE[table.values.dtype]
        self.psi = digamma_table(table.n_samples)
        self._table = table
        self._rows: Rows | None = None
        self.plain: NDArray[np.bool_] = ~(table.discrete | table.has_missing)  # continuous, without missing values
        self._unit = table.unit

    def of_rows(self, rows: Rows) -> "Geometry":
        """The same coordinates of some of the rows."""
        part = copy(self)
        part.__dict__.pop("varies", None)
        part.values, part.n_samples, part._rows = self.values[:, rows], len(rows), rows
        return part

    def line_block(self, columns: Rows) -> Columns:
        """Columns to be looked at one by one, with the ties of the input."""
        block = self._table.line_block(columns)
        return block if self._rows is None else block[:, self._rows]

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column has two different values."""
        return np.array(self.values.min(axis=1) < self.values.max(axis=1))

    def ball(self, metric: str = "chebyshev", n_neighbors: int | None = None) -> Ball:
        """What kernels need to know of a metric; different levels, missing ones among them, cost a mismatch."""
        mismatch = self.far if metric == "chebyshev" else self.far.dtype.type(_TYPICAL_DIFFERENCE[metric] * self._unit)
        size = self.n_neighbors if n_neighbors is None else n_neighbors
        # Squares differ by twice the share by which distances do.
        tolerance = self.tolerance * (2 if metric == "euclidean" else 1)
        return Ball(size, METRICS[metric], self.far, mismatch, tolerance, self.psi)

    def anchor_of(self, block: Block) -> int | None:
        """The column of a block that orders the rows best, if there is any that does."""
        suitable = [column for column in block if self.plain[column] and self.varies[column]]
        # A column with many equal values orders little. Of many columns any will do: no anchor helps much there.
        return max(suitable[:8], key=lambda column: len(np.unique(self.values[column])), default=None)

    def each_part(self, work: Callable[[Rows], Values], candidates: Block) -> Values:
        """Do `work` on parts of the candidates so small that a thread needs the memory of a few columns."""
        candidates = np.asarray(candidates, np.intp)
        tasks = pieces(candidates, min(_NUMBERS_PER_TASK // self.n_samples, -(-len(candidates) // 8)))
        return np.concatenate(map_tasks(work, tasks, self.n_jobs)) if tasks else np.empty(0)

    def each_range(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
        """Do `work` on ranges of rows, from a first to a last one."""
        return map_tasks(lambda bounds: work(*bounds), _ranges(n_rows), self.n_jobs)

    def changes(
        self,
        work: Callable[[Rows, Values], float],
        n_columns: int,
        centers: Rows,
        constant: float,
        progress: Progress | None,
    ) -> Changes:
        """Means and standard errors of what `work` adds up for ranges of rows, in a fixed order."""

        def sums_of(bounds: tuple[int, int]) -> tuple[float, Values]:
            sums = np.zeros((2, n_columns))
            return work(centers[slice(*bounds)], sums), sums

        parts = map_tasks(sums_of, _ranges(len(centers)), self.n_jobs, progress)
        total, (change, square) = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        before = constant + float(total) / len(centers)
        return Changes(before, change / len(centers), _standard_error(change, square, len(centers)))


def digamma_table(largest: int) -> NDArray[np.float64]:
    """psi(0), psi(1), ..., psi(largest), with 0 at the pole at 0."""
    return np.concatenate([[0.0], digamma(np.arange(1, largest + 1))])


def differential_entropy(line: Values, n_neighbors: int, tolerance: float, psi: Values) -> float:
    """Kozachenko-Leonenko entropy of sorted values that are not all equal.

    The ball of a point reaches to the nearest distance, other than 0, that has n_neighbors points within; all points
    that tie at that distance are counted.
    """
    padded = np.pad(line, n_neighbors, constant_values=((-np.inf, np.inf),))
    windows = np.lib.stride_tricks.sliding_window_view(padded, n_neighbors + 1)
    # A point stands in n_neighbors + 1 windows of as many points: the one that reaches least far is its ball.
    reaches = [
        np.maximum(line - windows[place : place + len(line), 0], windows[place : place + len(line), -1] - line)
        for place in range(n_neighbors + 1)
    ]
    values, inverse = np.unique(line, return_inverse=True)
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    radius = np.maximum(np.min(reaches, axis=0), np.minimum(gaps[:-1], gaps[1:])[inverse])
    # What ties with the last one by rounding belongs to the ball too.
    limit = radius * (1.0 + tolerance)
    n_within = np.searchsorted(line, line + limit, "right") - np.searchsorted(line, line - limit)
    return float(psi[len(line)] + np.mean(np.log(2.0 * radius) - psi[n_within - 1]))


def line_of(values: Columns) -> Line:
    """A column in ascending order."""
    order = np.argsort(values, kind="stable")
    return Line(values, values[order], order, np.argsort(order))


def sorted_by(columns: Columns, anchor: Columns | None, order: Rows) -> Sorted:
    """Columns in an order of the rows, along an anchor that is sorted by it, if there is one."""
    return Sorted(np.take(columns, order, axis=1), columns[0, :0] if anchor is None else anchor[order])


def make_strips(fixed: Columns, labels: NDArray[np.int32], n_groups: int, n_neighbors: int) -> Strips:
    """Cut the rows of every group into strips along `fixed`."""
    order = np.lexsort((fixed, labels)) if n_groups > 1 else np.argsort(fixed, kind="stable")
    group_starts = np.zeros(n_groups + 1, np.int64)
    group_starts[1:] = np.cumsum(np.bincount(labels, minlength=n_groups))
    values = fixed[order]
    starts, firsts = cut_strips(values, group_starts, n_neighbors)
    strip_of = np.empty(len(fixed), np.int32)
    strip_of[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    return Strips(strip_of, starts, values[starts[:-1]], values[starts[1:] - 1], firsts)


def make_room(n_samples: int, n_neighbors: int, leaving: bool) -> Room:
    """Room for one thread."""
    least, extra, least_in_order, extra_in_order, floors = np.empty((5, n_samples))
    order = Order(np.empty(n_samples, np.int32), least_in_order, extra_in_order, floors, leaving)
    starts, lanes = np.empty(2 * N_BUCKETS + 1, np.int64), np.empty((NEAREST + n_neighbors + 1, LANES))
    return Room(least, extra, least.view(np.int64), order, floors.view(np.int64), starts, lanes)


def side_by_side(columns: Columns) -> Columns:
    """Columns in groups, each with a row for every row of the data: one of zeros, which change nothing, and then them.

    Zeros fill up the last group too.
    """
    n_columns, n_samples = columns.shape
    n_groups = -(-n_columns // LANES)
    result = np.zeros(((1 + n_groups) * LANES, n_samples), columns.dtype)
    result[LANES : LANES + n_columns] = columns
    return np.ascontiguousarray(result.reshape(-1, LANES, n_samples).swapaxes(1, 2))


def _standard_error(change: Values, square: Values, n_rows: int) -> Values:
    """Standard error of means, from sums of changes and of their squares.

    A column on which few rows depend may show in none of those asked. One more row with a typical change stands for
    those that were not.
    """
    seen = square > 0
    n_changed = (change[seen] ** 2 / square[seen]).sum()  # at most as many rows as have changed
    typical = square[seen].sum() / max(1.0, n_changed)
    return np.asarray(np.sqrt(np.maximum(square - change**2 / n_rows, 0.0) + typical) / n_rows)


def _ranges(n_rows: int) -> Sequence[tuple[int, int]]:
    return [(start, min(start + _ROWS_PER_TASK, n_rows)) for start in range(0, n_rows, _ROWS_PER_TASK)]
