"""Neighbours among class labels: the coordinates of the rows, Ross' estimator, and how a block's information changes.

`Neighbors` has what a search asks for in every step; `KNN` in `knn.py` is the whole estimator.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from unirel._runtime import check_choice, check_whole_number, map_tasks, pieces, warn
from unirel.data.table import Table
from unirel.estimation.base import Block, Changes, Information, Values
from unirel.estimation.counting import CORRECTIONS, Correction
from unirel.estimation.kernels.change_one import change_one_in_classes, side_by_side
from unirel.estimation.kernels.line import Classes, ross_on_line
from unirel.estimation.kernels.metric import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Ball
from unirel.estimation.kernels.plane import make_strips, ross_in_plane
from unirel.estimation.kernels.space import Sorted, ross_in_space
from unirel.estimation.kernels.subsets import add_nested_terms, add_subset_terms

Columns = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Metric = Literal["auto", "chebyshev", "manhattan", "euclidean"]
Scale = Literal["standard", "rank"] | None

METRICS = {"chebyshev": CHEBYSHEV, "manhattan": MANHATTAN, "euclidean": EUCLIDEAN}
# What a mismatch costs in the summed metrics: the mean difference of two draws from a standard normal
# distribution, and the root of their mean squared difference.
_TYPICAL_DIFFERENCE = {"manhattan": 2 / np.sqrt(np.pi), "euclidean": np.sqrt(2.0)}
# Distances that differ by less than this share are a tie that rounding has broken.
_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# Rows a thread works on at a time. Fixed, so that the number of threads cannot show in a result.
_ROWS_PER_TASK = 128
# Numbers a thread sorts at a time when it works on several columns; subsets it works on, and pairs of rows in them.
_NUMBERS_PER_TASK, _SUBSETS_PER_TASK, _PAIRS_PER_TASK = 2**16, 2**12, 2**28
# More rows than fit anywhere, fewer than compiled code can count.
_MOST_ROWS = 10**15


class Geometry:
    """The coordinates of all rows of a table, or of some of them, and the threads that work on them."""

    def __init__(self, table: Table, n_neighbors: int, n_jobs: int | None, rows: Rows | slice = slice(None)) -> None:
        self._table, self._rows, self.n_neighbors, self.n_jobs = table, rows, n_neighbors, n_jobs
        self.values = table.values[:, rows]
        self.n_samples = self.values.shape[1]
        # In the precision of the columns, so that kernels do not compute in a wider one.
        self.far: Any = table.values.dtype.type(table.far)
        self.tolerance = _TOLERANCE[table.values.dtype]
        self.psi = digamma_table(table.n_samples)
        self.plain: Mask = ~(table.discrete | table.has_missing)  # continuous, without missing values

    def line_block(self, columns: Rows) -> Columns:
        """Columns to be looked at one by one, with the ties of the input."""
        return self._table.line_block(columns)[:, self._rows]

    def codes(self, column: int) -> NDArray[np.int32]:
        return self._table.codes(column)[self._rows]

    @cached_property
    def varies(self) -> Mask:
        """Whether each column has two different values."""
        return np.array(self.values.min(axis=1) < self.values.max(axis=1))

    def ball(self, metric: str = "chebyshev") -> Ball:
        """What kernels need to know of a metric; different levels, missing ones among them, cost a mismatch."""
        unit = self._table.unit
        mismatch = self.far if metric == "chebyshev" else self.far.dtype.type(_TYPICAL_DIFFERENCE[metric] * unit)
        # Squares differ by twice the share by which distances do.
        tolerance = self.tolerance * (2 if metric == "euclidean" else 1)
        return Ball(self.n_neighbors, METRICS[metric], self.far, mismatch, tolerance, self.psi)

    def anchor_of(self, block: Block) -> Columns | None:
        """The column of a block that orders the rows best, if there is any that does."""
        suitable = [self.values[column] for column in block if self.plain[column] and self.varies[column]]
        # A column with many equal values orders little. Of many columns any will do: no anchor helps much there.
        return max(suitable[:8], key=lambda column: len(np.unique(column)), default=None)

    def each_part(self, work: Callable[[Rows], Values], candidates: Block) -> Values:
        """Do `work` on parts of the candidates so small that a thread needs the memory of a few columns."""
        candidates = np.asarray(candidates, np.intp)
        tasks = pieces(candidates, min(_NUMBERS_PER_TASK // self.n_samples, -(-len(candidates) // 8)))
        return np.concatenate(map_tasks(work, tasks, self.n_jobs)) if tasks else np.empty(0)

    def each_range(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
        """Do `work` on ranges of rows, from a first to a last one."""
        firsts = range(0, n_rows, _ROWS_PER_TASK)
        return map_tasks(lambda first: work(first, min(first + _ROWS_PER_TASK, n_rows)), firsts, self.n_jobs)

    def changes(self, work: Callable[[Rows, Values], float], n_columns: int, centers: Rows, constant: float) -> Changes:
        """Means and standard errors of what `work` adds up for ranges of rows, in a fixed order."""

        def sums_of(part: Rows) -> tuple[float, Values]:
            sums = np.zeros((2, n_columns))
            return work(part, sums), sums

        parts = map_tasks(sums_of, pieces(centers, _ROWS_PER_TASK), self.n_jobs)
        total, (change, square) = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        before = constant + float(total) / len(centers)
        return Changes(before, change / len(centers), _standard_error(change, square, len(centers)))


@lru_cache(maxsize=2)
def digamma_table(largest: int) -> Values:
    """psi(0), psi(1), ..., psi(largest), with 0 at the pole at 0; kept, as every class of a table needs the same."""
    return np.concatenate([[0.0], digamma(np.arange(1, largest + 1))])


def sorted_by(
    columns: Columns, anchor: Columns | None, labels: NDArray[np.integer] | None = None
) -> tuple[Sorted, Rows]:
    """Columns with the rows in the order of an anchor, if there is one, within the classes, and that order."""
    keys = [key for key in (anchor, labels) if key is not None]
    order = np.lexsort(keys) if keys else np.arange(columns.shape[1])
    return Sorted(np.take(columns, order, axis=1), columns[0, :0] if anchor is None else anchor[order]), order


def _standard_error(change: Values, square: Values, n_rows: int) -> Values:
    """Standard error of means, from sums of changes and of their squares."""
    # A column on which few rows depend may show in none of those asked. One more row with a typical change stands for
    # those that were not.
    seen = square > 0
    n_changed = (change[seen] ** 2 / square[seen]).sum()  # at most as many rows as have changed
    typical = square[seen].sum() / max(1.0, n_changed)
    return np.asarray(np.sqrt(np.maximum(square - change**2 / n_rows, 0.0) + typical) / n_rows)


class Ross:
    """I(columns; labels) by where the k-th neighbour of the own class stands among the neighbours of all classes.

    Where distances tie, that is the mean over all orders in which the tied neighbours could stand. Rows whose class is
    theirs alone have no such neighbour and are left out.
    """

    def __init__(self, geometry: Geometry, column: int) -> None:
        codes = geometry.codes(column)
        counts = np.bincount(codes)
        order = np.argsort(codes, kind="stable")
        # Kernels want the rows of a class side by side.
        self._rows: Rows = order[counts[codes[order]] > 1]
        self._sizes = counts[counts > 1].astype(np.int64)
        labels = np.repeat(np.arange(len(self._sizes), dtype=np.int32), self._sizes)
        self._classes = Classes(labels, np.concatenate([[0], np.cumsum(self._sizes)]))
        self.n_samples = len(self._rows)
        self._geometry = geometry

    def on_line(self, candidates: Block) -> Values:
        """I(candidate; labels) of every candidate."""
        if self.n_samples == 0:
            return np.zeros(len(candidates))
        ball = self._geometry.ball()

        def work(part: Rows) -> Values:
            columns = self._take(self._geometry.line_block(part))
            return ross_on_line(columns, np.argsort(columns, axis=1), self._classes, ball)

        return self._mean(self._geometry.each_part(work, candidates))

    def permuted_on_line(self, candidates: Block, orders: Rows) -> Values:
        """The same with the labels in other orders, one row for each; candidates are sorted once for all of them."""
        labels = np.full(self._geometry.n_samples, -1, np.int32)
        labels[self._rows] = self._classes.labels
        ball, starts = self._geometry.ball(), self._classes.starts

        def work(part: Rows) -> Values:
            columns = self._geometry.values[part]
            sums = np.empty((len(part), len(orders)))
            for column, sorts, of_column in zip(columns, np.argsort(columns, axis=1), sums, strict=True):
                for place, order in enumerate(orders):
                    moved = labels[order]
                    # What is left of an order without the rows that are left out is in order.
                    kept = sorts[moved[sorts] >= 0]
                    of_column[place] = ross_on_line(column[None], kept[None], Classes(moved, starts), ball)[0]
            return sums

        return self._mean(self._geometry.each_part(work, candidates)).T

    def in_plane(self, candidates: Block, fixed: int) -> Values:
        """I(candidate, fixed; labels) of every candidate, in the maximum norm."""
        ball, labels = self._geometry.ball(), self._classes.labels
        along = self._take(self._geometry.values[fixed])
        own = make_strips(along, labels, len(self._sizes), ball.n_neighbors)
        # A ball holds points of all classes, so the strips that count are wider than those that search.
        whole = make_strips(along, np.zeros_like(labels), 1, 4 * ball.n_neighbors)

        def work(part: Rows) -> Values:
            columns = self._columns(part)
            return ross_in_plane(columns, np.argsort(columns, axis=1), along, self._classes, own, whole, ball)

        return self._mean(self._geometry.each_part(work, candidates))

    def in_space(self, block: Block, metric: str) -> float:
        """I(block; labels) in any metric."""
        geometry, ball = self._geometry, self._geometry.ball(metric)
        anchor, (labels, starts) = geometry.anchor_of(block), self._classes
        points, _ = sorted_by(self._columns(block), None if anchor is None else self._take(anchor), labels)
        dtype = points.columns.dtype if metric == "chebyshev" else np.float64

        def work(first: int, last: int) -> float:
            return ross_in_space(points, starts, first, last, ball, np.empty(self.n_samples, dtype))

        return float(self._mean(np.sum(geometry.each_range(work, self.n_samples))))

    def changes(self, block: Block, candidates: Block | None, metric: str, rows: Rows | None) -> Changes:
        """Changes of I(block; labels) without each of its columns or, if there are candidates, with each of them."""
        ball, columns, centers = self._geometry.ball(metric), self._columns(block), self._centers(rows)
        changed = side_by_side(columns if candidates is None else self._columns(candidates))

        def work(part: Rows, sums: Values) -> float:
            return change_one_in_classes(columns, changed, self._classes, part, ball, candidates is None, sums)

        n_changes = len(block if candidates is None else candidates)
        return self._geometry.changes(work, n_changes, centers, self._constant(centers))

    def nested(self, order: Block, metric: str) -> Values:
        """I(first columns; labels) of the first column, the first two, and so on."""
        columns, ball = self._columns(order), self._geometry.ball(metric)

        def work(first: int, last: int) -> Values:
            sums = np.zeros(len(columns))
            add_nested_terms(columns, self._classes, first, last, ball, sums)
            return sums

        return self._mean(np.sum(self._geometry.each_range(work, self.n_samples), axis=0))

    def subsets(self, always: Block, columns: Block, subsets: Rows, floor: float, metric: str) -> Values:
        """I(always and subset; labels) of subsets of the columns, -inf for one that is known to be below `floor`."""
        fixed, varied, ball = self._columns(always), self._columns(columns), self._geometry.ball(metric)
        # The slack keeps what is below the floor by rounding only.
        lowest = (floor - 1e-9 - self._constant()) * self.n_samples

        def work(part: Rows) -> Values:
            sums = np.zeros(len(part))
            add_subset_terms(fixed, varied, self._classes, ball, part, lowest, sums)
            return sums

        tasks = pieces(subsets, min(_SUBSETS_PER_TASK, _PAIRS_PER_TASK // self.n_samples**2))
        parts = map_tasks(work, tasks, self._geometry.n_jobs)
        return self._mean(np.concatenate(parts)) if parts else np.empty(0)

    def _mean(self, sums: Values) -> Values:
        """Estimates from sums of local terms."""
        return np.asarray(self._constant() + sums / self.n_samples)

    def _constant(self, centers: Rows | None = None) -> float:
        """psi(N) - mean psi(N_i) over the centres or over all rows, the part that does not depend on the columns."""
        psi, sizes = self._geometry.psi, self._sizes
        if centers is not None:
            sizes = np.bincount(self._classes.labels[centers], minlength=len(sizes))
        return float(psi[self.n_samples] - (sizes * psi[self._sizes]).sum() / sizes.sum())

    def _centers(self, rows: Rows | None) -> Rows:
        """Where some rows, or all of them, stand among those that are kept and sorted by class."""
        if rows is None:
            return np.arange(self.n_samples)
        kept = np.flatnonzero(np.isin(self._rows, rows))
        if len(kept) == 0:
            raise ValueError(f"each of the {len(rows)} rows chosen as centres is alone in its class; raise max_queries")
        return kept

    def _columns(self, block: Block) -> Columns:
        return self._take(self._geometry.values[list(block)])

    def _take(self, columns: Columns) -> Columns:
        """Columns without the rows that are left out, those of a class side by side."""
        return np.take(columns, self._rows, axis=-1)


class Neighbors(Information):
    """How I(block; target) changes with a column more or less, which is all that a search asks of neighbours."""

    def __init__(
        self,
        n_neighbors: int = 3,
        metric: Metric = "auto",
        scale: Scale = "standard",
        correction: Correction = "chance",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.scale = scale
        self.correction = correction

    def check_parameters(self) -> None:
        check_whole_number("n_neighbors", self.n_neighbors, 1, highest=_MOST_ROWS)
        check_choice("metric", self.metric, ("auto", *METRICS))
        check_choice("scale", self.scale, ("standard", "rank", None))
        check_choice("correction", self.correction, CORRECTIONS)

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        self.table = table = self.table.scaled(self.scale)
        self._geometry = Geometry(table, self.n_neighbors, self.n_jobs)
        if table.discrete[table.target]:
            self._check_classes()
        elif self.n_neighbors >= table.n_samples:
            n_others = table.n_samples - 1
            warn(f"n_neighbors={self.n_neighbors} is more than the {n_others} other rows; {n_others} are used")

    def without_each(self, block: Block, rows: Rows | None = None) -> Changes:
        columns = np.asarray(block, np.intp)
        varying = self._geometry.varies[columns]
        if varying.sum() < 3:  # a single column that is left may have to be counted
            return super().without_each(block)
        return self._changes(columns[varying], None, self.metric_of(columns[varying]), rows).among(varying)

    def with_each(self, block: Block, candidates: Block, rows: Rows | None = None) -> Changes:
        block, candidates = self._varying(block), np.asarray(candidates, np.intp)
        varying = self._geometry.varies[candidates]
        if not block or not varying.any():
            return super().with_each(block, candidates)
        metric = self.metric_of([*block, *candidates[varying]])
        changes = self._changes(block, candidates[varying], metric, rows)
        if self._are_labels(block) and self.table.discrete[self.table.target]:
            # A single discrete column by itself is counted, whatever the metric.
            counted = self.mutual_information(block, [self.table.target])
            changes = Changes(counted, changes.change + changes.before - counted, changes.error)
        return changes.among(varying)

    def metric_of(self, block: Block) -> str:
        """The metric in which a block is measured against labels; on a single column all of them agree."""
        if len(block) == 1:
            return "chebyshev"
        if self.metric != "auto":
            return self.metric
        return "chebyshev" if len(block) <= 2 or self._geometry.plain[list(block)].all() else "manhattan"

    def _varying(self, block: Block) -> list[int]:
        """The columns of a block that are not constant; a constant one must not even change the metric."""
        return [int(column) for column in block if self._geometry.varies[column]]

    def _are_labels(self, block: Block) -> bool:
        return len(block) == 1 and bool(self.table.discrete[block[0]])

    @cached_property
    def _target_labels(self) -> Ross:
        return Ross(self._geometry, self.table.target)

    def _labels(self, column: int) -> Ross:
        """Estimator of what blocks tell about a discrete column; the target's is kept."""
        return self._target_labels if column == self.table.target else Ross(self._geometry, column)

    def _changes(self, block: Block, candidates: Block | None, metric: str, rows: Rows | None = None) -> Changes:
        """Changes of a block without each of its columns or, if there are candidates, with each of them."""
        if self.table.discrete[self.table.target]:
            return self._labels(self.table.target).changes(block, candidates, metric, rows)
        return self._changes_of_numbers(block, candidates, rows)

    @abstractmethod
    def _changes_of_numbers(self, block: Block, candidates: Block | None, rows: Rows | None) -> Changes:
        """The same for a continuous target."""

    def _check_classes(self) -> None:
        """Refuse a target without company in any class, and warn of classes smaller than a ball."""
        sizes = self.table.class_sizes
        if sizes.max() == 1:
            raise ValueError("y has a single sample in every class; pass target_type='continuous' or another target")
        small = np.flatnonzero(sizes <= self.n_neighbors)
        if len(small) == 0 or self.table.classes is None:
            return
        labels = self.table.classes.tolist()
        listed = ", ".join(f"{labels[code]!r} ({sizes[code]})" for code in small[:5])
        warn(
            f"classes of y with at most n_neighbors={self.n_neighbors} samples: {listed}{', ...' * (len(small) > 5)}. "
            "Fewer neighbours are used there, and a class of one sample is left out; lower n_neighbors or merge some."
        )
