"""Ross's estimator: class labels against columns."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import Progress, map_tasks, pieces
from unirel.estimation.base import Block, Changes, Values
from unirel.estimation.geometry import (
    Columns,
    Geometry,
    Rows,
    make_room,
    make_strips,
    side_by_side,
    sorted_by,
)
from unirel.estimation.kernels.change_one import change_one_in_classes
from unirel.estimation.kernels.line import Classes, ross_on_line
from unirel.estimation.kernels.plane import ross_in_plane
from unirel.estimation.kernels.space import ross_in_space
from unirel.estimation.kernels.subsets import add_nested_terms, add_subset_terms

# Subsets a thread works on at a time, and pairs of rows in all of them together.
_SUBSETS_PER_TASK = 2**12
_PAIRS_PER_TASK = 2**28


class Ross:
    """I(columns; labels) by where the k-th neighbour of the own class stands among the neighbours of all classes.

    Where distances tie, that is the mean over all orders in which the tied neighbours could stand. Rows whose class is
    theirs alone have no such neighbour and are left out.
    """

    def __init__(self, geometry: Geometry, codes: NDArray[np.int32]) -> None:
        counts = np.bincount(codes)
        kept = counts > 1
        labels = (np.cumsum(kept) - 1).astype(np.int32)[codes]
        self._rows = np.flatnonzero(kept[codes])
        self._sizes = counts[kept].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self._classes = Classes(labels[self._rows], starts)
        # Most kernels want the rows of a class side by side.
        self._order = np.argsort(self._classes.labels, kind="stable")
        self._by_class = Classes(self._classes.labels[self._order], starts)
        self.n_samples = len(self._rows)
        self._geometry = geometry

    def on_line(self, candidates: Block) -> Values:
        """I(candidate; labels) of every candidate."""
        geometry, ball, classes = self._geometry, self._geometry.ball(), self._classes
        return self._each_column(
            lambda columns, orders: ross_on_line(columns, orders, classes, ball), candidates, geometry.line_block
        )

    def permuted_on_line(self, candidates: Block, orders: Rows) -> Values:
        """The same with the labels in other orders, one row for each; candidates are sorted once for all of them."""
        if self.n_samples == 0:
            return np.zeros((len(orders), len(candidates)))
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
        if self.n_samples == 0:
            return np.zeros(len(candidates))
        ball, labels = self._geometry.ball(), self._classes.labels
        along = self._take(self._geometry.values[fixed])
        own = make_strips(along, labels, len(self._sizes), ball.n_neighbors)
        # A ball holds points of all classes, so the strips that count are wider than those that search.
        whole = make_strips(along, np.zeros_like(labels), 1, 4 * ball.n_neighbors)
        return self._each_column(
            lambda columns, orders: ross_in_plane(columns, orders, along, self._classes, own, whole, ball),
            candidates,
            self._geometry.values.__getitem__,
        )

    def in_space(self, block: Block, metric: str) -> float:
        """I(block; labels) in any metric."""
        if self.n_samples == 0:
            return 0.0
        geometry, ball = self._geometry, self._geometry.ball(metric)
        columns, column = self._take(geometry.values[list(block)]), geometry.anchor_of(block)
        anchor = None if column is None else self._take(geometry.values[column])
        order = self._order if anchor is None else np.lexsort((anchor, self._classes.labels))
        points, starts = sorted_by(columns, anchor, order), self._classes.starts
        dtype = columns.dtype if metric == "chebyshev" else np.float64

        def work(first: int, last: int) -> float:
            return ross_in_space(points, starts, first, last, ball, np.empty(self.n_samples, dtype))

        return float(self._mean(np.sum(geometry.each_range(work, self.n_samples))))

    def changes(
        self,
        block: Columns,
        candidates: Columns | None,
        metric: str,
        rows: Rows | None,
        progress: Progress | None,
    ) -> Changes:
        """Changes of I(block; labels) without each of its columns or, if there are candidates, with each of them."""
        ball, block, centers = self._geometry.ball(metric), self._sorted(block), self._centers(rows)
        columns = block if candidates is None else self._sorted(candidates)
        changed = side_by_side(columns)

        def work(part: Rows, sums: Values) -> float:
            room = make_room(self.n_samples, ball.n_neighbors, leaving=candidates is None)
            return change_one_in_classes(block, changed, self._by_class, part, ball, room, sums)

        return self._geometry.changes(work, len(columns), centers, self._constant(centers), progress)

    def nested(self, columns: Columns, metric: str) -> Values:
        """I(first columns; labels) of the first column, the first two, and so on."""
        columns, ball = self._sorted(columns), self._geometry.ball(metric)

        def work(first: int, last: int) -> Values:
            sums = np.zeros(len(columns))
            add_nested_terms(columns, self._by_class, first, last, ball, sums)
            return sums

        return self._mean(np.sum(self._geometry.each_range(work, self.n_samples), axis=0))

    def subsets(self, always: Columns, columns: Columns, subsets: Rows, floor: float, metric: str) -> Values:
        """I(always and subset; labels) of subsets of the columns, -inf for one that is known to be below `floor`."""
        always, columns, ball = self._sorted(always), self._sorted(columns), self._geometry.ball(metric)
        # The slack keeps what is below the floor by rounding only.
        lowest = (floor - 1e-9 - self._constant()) * self.n_samples

        def work(part: Rows) -> Values:
            sums = np.zeros(len(part))
            add_subset_terms(always, columns, self._by_class, ball, part, lowest, sums)
            return sums

        tasks = pieces(subsets, min(_SUBSETS_PER_TASK, _PAIRS_PER_TASK // self.n_samples**2))
        parts = map_tasks(work, tasks, self._geometry.n_jobs)
        return self._mean(np.concatenate(parts)) if parts else np.empty(0)

    def _each_column(
        self, sums_of: Callable[[Columns, Rows], Values], candidates: Block, take: Callable[[Rows], Columns]
    ) -> Values:
        """Estimates from what a kernel adds up for some columns, which `take` gives, and the orders that sort them."""
        if self.n_samples == 0:
            return np.zeros(len(candidates))

        def work(part: Rows) -> Values:
            columns = self._take(take(part))
            return sums_of(columns, np.argsort(columns, axis=1))

        return self._mean(self._geometry.each_part(work, candidates))

    def _mean(self, sums: Values) -> Values:
        """Estimates from sums of local terms."""
        return np.asarray(self._constant() + sums / self.n_samples)

    def _constant(self, centers: Rows | None = None) -> float:
        """psi(N) - mean psi(N_i) over the centres or over all rows, the part that does not depend on the columns."""
        psi = self._geometry.psi
        sizes = (
            self._sizes if centers is None else np.bincount(self._by_class.labels[centers], minlength=len(self._sizes))
        )
        return float(psi[self.n_samples] - (sizes * psi[self._sizes]).sum() / sizes.sum())

    def _centers(self, rows: Rows | None) -> Rows:
        """Where some rows, or all of them, stand among those that are kept and sorted by class."""
        if rows is None:
            return np.arange(self.n_samples)
        kept = np.flatnonzero(np.isin(self._rows[self._order], rows))
        if len(kept) == 0:
            raise ValueError(f"each of the {len(rows)} rows chosen as centres is alone in its class; raise max_queries")
        return kept

    def _take(self, columns: Columns) -> Columns:
        """Columns without the rows that are left out."""
        return columns if columns.shape[-1] == self.n_samples else np.take(columns, self._rows, axis=-1)

    def _sorted(self, columns: Columns) -> Columns:
        """The same with the rows of a class side by side."""
        return np.take(columns, self._rows[self._order], axis=-1)
