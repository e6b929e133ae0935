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
    common_values,
    make_room,
    make_strips,
    rare_of,
    side_by_side,
    sorted_by,
)
from unirel.estimation.kernels.change_one import change_one_in_classes
from unirel.estimation.kernels.drop_one import drop_one_from_classes
from unirel.estimation.kernels.line import Classes, ross_on_line
from unirel.estimation.kernels.metric import Ball
from unirel.estimation.kernels.permutations import LANES, ross_of_labellings
from unirel.estimation.kernels.plane import ross_in_plane
from unirel.estimation.kernels.rare import add_rare_to_classes, count_ties
from unirel.estimation.kernels.space import ross_in_space
from unirel.estimation.kernels.subsets import add_nested_terms, add_subset_terms

# Subsets a thread works on at a time, and pairs of rows in all of them together.
_SUBSETS_PER_TASK = 2**12
_PAIRS_PER_TASK = 2**28
# Neighbours of all classes together that a point passes one by one; where it is more, they are searched.
_NEAR = 120
# A column is nearly constant if at most this share of its rows have another value than most. Neighbours tie a lot if
# that many times as many as were asked for are within a ball, in the median of about that many rows.
_RARE, _MANY_TIED, _ASKED_ABOUT_TIES = 0.1, 8, 64

# Adds changes, and their squares, seen from some rows, and returns the sum of their terms in the block.
Work = Callable[[Rows, Values], float]


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
        moved = labels[orders]
        lanes = _in_lanes(moved)

        def work(part: Rows) -> Values:
            columns = self._geometry.values[part]
            sorts = np.argsort(columns, axis=1)
            return np.array([self._of_labellings(*column, moved, lanes) for column in zip(columns, sorts, strict=True)])

        return self._mean(self._geometry.each_part(work, candidates)).T

    def _of_labellings(
        self, column: Columns, order: Rows, labels: NDArray[np.int32], lanes: list[NDArray[np.uint8]]
    ) -> Values:
        """Sums of local terms of one column for each row of `labels`, which are below 0 where a row is left out."""
        ball, starts = self._geometry.ball(), self._classes.starts
        ascending = column[order]
        n_equal = np.count_nonzero(ascending[1:] == ascending[:-1])
        wanted = np.minimum(ball.n_neighbors, self._sizes - 1)
        if wanted.sum() <= _NEAR and n_equal * 8 < self.n_samples == len(order):
            line = np.pad(ascending, 1, constant_values=((-np.inf, np.inf),))
            places = np.pad(order, 1, mode="edge")
            found = [ross_of_labellings(line, part[places], wanted, ball) for part in lanes]
            return np.concatenate(found)[: len(labels)]
        sums = np.empty(len(labels))
        for place, own in enumerate(labels):
            # What is left of an order without the rows that are left out is in order.
            kept = order[own[order] >= 0]
            sums[place] = ross_on_line(column[None], kept[None], Classes(own, starts), ball)[0]
        return sums

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
        if candidates is not None:
            work = self._joining(block, columns, centers, ball)
        elif metric == "chebyshev":
            # Where a column leaves the maximum norm, the second largest difference is all that has to be known.
            def work(part: Rows, sums: Values) -> float:
                return drop_one_from_classes(block, self._by_class, part, ball, sums)

        else:
            work = self._walking(block, columns, True, ball)
        return self._geometry.changes(work, len(columns), centers, self._constant(centers), progress)

    def _walking(self, block: Columns, columns: Columns, leaving: bool, ball: Ball) -> Work:
        """Adds up changes with each of the columns, or without it, along the rows in the order of their distance."""
        changed = side_by_side(columns)

        def work(part: Rows, sums: Values) -> float:
            room = make_room(self.n_samples, ball.n_neighbors)
            return change_one_in_classes(block, changed, self._by_class, part, leaving, ball, room, sums)

        return work

    def _joining(self, block: Columns, columns: Columns, centers: Rows, ball: Ball) -> Work:
        """Adds up changes with each of the columns; of a column that is nearly constant by its few other entries.

        That pays where many neighbours tie: all of them would have to be walked past.
        """
        common, classes = common_values(columns), self._by_class
        rare = (columns != common[:, None]).mean(axis=1) <= _RARE
        some = centers[:: -(-len(centers) // _ASKED_ABOUT_TIES)]
        if not rare.any() or np.median(count_ties(block, classes, some, ball)) <= _MANY_TIED * ball.n_neighbors:
            return self._walking(block, columns, False, ball)
        entries, walk = rare_of(columns[rare], common[rare]), self._walking(block, columns[~rare], False, ball)

        def work(part: Rows, sums: Values) -> float:
            of_rare, of_others = (np.zeros((2, np.count_nonzero(chosen))) for chosen in (rare, ~rare))
            part = part[np.lexsort([*block[:, part], classes.labels[part]])]  # rows at the same place together
            total = add_rare_to_classes(block, entries, classes, part, ball, of_rare)
            if not rare.all():
                walk(part, of_others)
            sums[:, rare], sums[:, ~rare] = of_rare, of_others
            return total

        return work

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


def _in_lanes(labels: NDArray[np.int32]) -> list[NDArray[np.uint8]]:
    """Labellings in parts of LANES, with a row for every row of the table; the last part is filled up."""
    filled = np.pad(labels.astype(np.uint8), ((0, -len(labels) % LANES), (0, 0)), mode="edge")
    return [np.ascontiguousarray(filled[start : start + LANES].T) for start in range(0, len(filled), LANES)]
