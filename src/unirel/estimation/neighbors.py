"""The estimators of Ross, columns against class labels, and of Kraskov, Stögbauer and Grassberger, against numbers.

`Geometry` has the coordinates in which all neighbours are measured.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from unirel._runtime import map_tasks, pieces
from unirel.data.table import Table
from unirel.estimation.base import Block, Changes, Values
from unirel.estimation.kernels.change_one import change_one_in_classes, change_one_in_line, make_room, side_by_side
from unirel.estimation.kernels.line import Classes, Line, ross_on_line
from unirel.estimation.kernels.metric import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Ball
from unirel.estimation.kernels.plane import ksg_in_plane, make_strips, ross_in_plane
from unirel.estimation.kernels.space import Sorted, count_by_side, count_in_balls, ksg_sum, ross_in_space
from unirel.estimation.kernels.subsets import add_nested_terms, add_subset_terms

Columns = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

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


class Geometry:
    """The coordinates of all rows of a table, or of some of them, and the threads that work on them."""

    def __init__(self, table: Table, n_neighbors: int, n_jobs: int | None, rows: Rows | None = None) -> None:
        self._table, self._rows, self.n_neighbors, self.n_jobs = table, rows, n_neighbors, n_jobs
        self.values = table.values if rows is None else table.values[:, rows]
        self.n_samples = self.values.shape[1]
        # In the precision of the columns, so that kernels do not compute in a wider one.
        self.far: Any = table.values.dtype.type(table.far)
        self.tolerance = _TOLERANCE[table.values.dtype]
        self.psi = digamma_table(table.n_samples)
        self.plain: Mask = ~(table.discrete | table.has_missing)  # continuous, without missing values

    def line_block(self, columns: Rows) -> Columns:
        """Columns to be looked at one by one, with the ties of the input."""
        block = self._table.line_block(columns)
        return block if self._rows is None else block[:, self._rows]

    def codes(self, column: int) -> NDArray[np.int32]:
        codes = self._table.codes(column)
        return codes if self._rows is None else codes[self._rows]

    @cached_property
    def varies(self) -> Mask:
        """Whether each column has two different values."""
        return np.array(self.values.min(axis=1) < self.values.max(axis=1))

    def ball(self, metric: str = "chebyshev", n_neighbors: int | None = None) -> Ball:
        """What kernels need to know of a metric; different levels, missing ones among them, cost a mismatch."""
        unit = self._table.unit
        mismatch = self.far if metric == "chebyshev" else self.far.dtype.type(_TYPICAL_DIFFERENCE[metric] * unit)
        size = self.n_neighbors if n_neighbors is None else n_neighbors
        # Squares differ by twice the share by which distances do.
        tolerance = self.tolerance * (2 if metric == "euclidean" else 1)
        return Ball(size, METRICS[metric], self.far, mismatch, tolerance, self.psi)

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


def sorted_by(columns: Columns, anchor: Columns | None, order: Rows) -> Sorted:
    """Columns in an order of the rows, along an anchor that is sorted by it, if there is one."""
    return Sorted(np.take(columns, order, axis=1), columns[0, :0] if anchor is None else anchor[order])


def _standard_error(change: Values, square: Values, n_rows: int) -> Values:
    """Standard error of means, from sums of changes and of their squares.

    A column on which few rows depend may show in none of those asked. One more row with a typical change stands for
    those that were not.
    """
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
            columns = self._take(self._geometry.values[part])
            return ross_in_plane(columns, np.argsort(columns, axis=1), along, self._classes, own, whole, ball)

        return self._mean(self._geometry.each_part(work, candidates))

    def in_space(self, block: Block, metric: str) -> float:
        """I(block; labels) in any metric."""
        geometry, ball = self._geometry, self._geometry.ball(metric)
        columns, anchor = self._take(geometry.values[list(block)]), geometry.anchor_of(block)
        order = self._order
        if anchor is not None:
            anchor = self._take(anchor)
            order = np.lexsort((anchor, self._classes.labels))
        points, starts = sorted_by(columns, anchor, order), self._classes.starts
        dtype = columns.dtype if metric == "chebyshev" else np.float64

        def work(first: int, last: int) -> float:
            return ross_in_space(points, starts, first, last, ball, np.empty(self.n_samples, dtype))

        return float(self._mean(np.sum(geometry.each_range(work, self.n_samples))))

    def changes(self, block: Block, candidates: Block | None, metric: str, rows: Rows | None) -> Changes:
        """Changes of I(block; labels) without each of its columns or, if there are candidates, with each of them."""
        ball, columns, centers = self._geometry.ball(metric), self._sorted(block), self._centers(rows)
        changed = side_by_side(columns if candidates is None else self._sorted(candidates))

        def work(part: Rows, sums: Values) -> float:
            return change_one_in_classes(columns, changed, self._by_class, part, ball, candidates is None, sums)

        n_changes = len(block if candidates is None else candidates)
        return self._geometry.changes(work, n_changes, centers, self._constant(centers))

    def nested(self, order: Block, metric: str) -> Values:
        """I(first columns; labels) of the first column, the first two, and so on."""
        columns, ball = self._sorted(order), self._geometry.ball(metric)

        def work(first: int, last: int) -> Values:
            sums = np.zeros(len(columns))
            add_nested_terms(columns, self._by_class, first, last, ball, sums)
            return sums

        return self._mean(np.sum(self._geometry.each_range(work, self.n_samples), axis=0))

    def subsets(self, always: Block, columns: Block, subsets: Rows, floor: float, metric: str) -> Values:
        """I(always and subset; labels) of subsets of the columns, -inf for one that is known to be below `floor`."""
        fixed, varied, ball = self._sorted(always), self._sorted(columns), self._geometry.ball(metric)
        # The slack keeps what is below the floor by rounding only.
        lowest = (floor - 1e-9 - self._constant()) * self.n_samples

        def work(part: Rows) -> Values:
            sums = np.zeros(len(part))
            add_subset_terms(fixed, varied, self._by_class, ball, part, lowest, sums)
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
            sizes = np.bincount(self._by_class.labels[centers], minlength=len(sizes))
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

    def _sorted(self, block: Block) -> Columns:
        """The columns of a block without these rows, those of a class side by side."""
        return np.take(self._geometry.values[list(block)], self._rows[self._order], axis=-1)


class KSG:
    """I(a; b) and I(a; b | given) in the maximum norm: KSG-1, as its mean over all orders of distances that tie."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._ball = geometry.ball(n_neighbors=min(geometry.n_neighbors, geometry.n_samples - 1))

    def in_plane(self, candidates: Block, fixed: int) -> Values:
        """I(candidate; fixed) of every candidate."""
        geometry = self._geometry
        along = line_of(geometry.values[fixed])
        whole = make_strips(along.values, np.zeros(geometry.n_samples, np.int32), 1, self._ball.n_neighbors)

        def work(part: Rows) -> Values:
            columns = geometry.values[part]
            return ksg_in_plane(columns, np.argsort(columns, axis=1), along, whole, self._ball)

        sums = geometry.each_part(work, candidates)
        return np.asarray(geometry.psi[geometry.n_samples] + sums / geometry.n_samples)

    def in_space(self, a: Block, b: Block, given: Block = ()) -> float:
        """I(a; b | given) of three blocks, I(a; b) if nothing is given."""
        geometry = self._geometry
        n_samples = geometry.n_samples
        radius = np.empty(n_samples)
        joint = self._count([*a, *b, *given], radius, search=True)
        x, y = self._count([*a, *given], radius), self._count([*b, *given], radius)
        z = self._count(given, radius) if len(given) else np.full((n_samples, 2), n_samples - 1, np.int64)
        counts = _close_one_by_one(radius, joint, x, y, z)
        # Where more than one side ties, how the ties fall together has to be counted.
        rows = _find_crossed(radius, joint, x, y, z)
        if len(rows):
            counts[0][rows] = self._count_by_side((given, a, b), radius, rows)
        if len(rows) and len(given):
            counts[1][rows] = self._count_by_side((given, a, ()), radius, rows)[:, [0, 1, 4]]
            counts[2][rows] = self._count_by_side((given, (), b), radius, rows)[:, [0, 1, 4]]
        return float(ksg_sum(*counts, z, self._ball) / n_samples)

    def changes(self, block: Block, candidates: Block | None, target: int, rows: Rows | None) -> Changes:
        """Changes of I(block; target) without each of its columns or, if there are candidates, with each of them."""
        geometry = self._geometry
        line, columns = line_of(geometry.values[target]), geometry.values[list(block)]
        changing = block if candidates is None else candidates
        changed = side_by_side(geometry.values[list(changing)])

        def work(part: Rows, sums: Values) -> float:
            room = make_room(geometry.n_samples, self._ball.n_neighbors, leaving=candidates is None)
            return change_one_in_line(columns, changed, line, part, self._ball, room, sums)

        centers = np.arange(geometry.n_samples) if rows is None else rows
        return geometry.changes(work, len(changing), centers, float(geometry.psi[geometry.n_samples]))

    def entropy(self, column: int) -> float:
        """That of Kozachenko and Leonenko of what is present, mixed with that of what is missing."""
        geometry = self._geometry
        values = geometry.values[column]
        present = np.sort(values[values < geometry.far].astype(np.float64))
        if len(present) < 2 or present[0] == present[-1]:
            return -np.inf
        share = len(present) / len(values)
        n_neighbors = min(geometry.n_neighbors, len(present) - 1)
        density = differential_entropy(present, n_neighbors, geometry.tolerance, geometry.psi)
        return float(share * density - sum(part * np.log(part) for part in (share, 1 - share) if part > 0))

    def _count(self, block: Block, radius: Values, search: bool = False) -> Counts:
        """How many rows are inside the ball of every row and how many within it; finds the balls first if asked to."""
        points, order = self._sorted(block)
        n_samples = len(order)
        counts, sorted_radius = np.empty((n_samples, 2), np.int64), radius[order]

        def work(first: int, last: int) -> None:
            distances = np.empty(n_samples, points.columns.dtype)
            count_in_balls(points, first, last, self._ball, search, distances, sorted_radius, counts)

        self._geometry.each_range(work, n_samples)
        radius[order] = sorted_radius
        return counts[np.argsort(order)]

    def _count_by_side(self, sides: tuple[Block, Block, Block], radius: Values, rows: Rows) -> Counts:
        """What is in the balls of some rows as the sides are closed: none, given, given and a, given and b, all."""
        block = [*sides[0], *sides[1], *sides[2]]
        points, order = self._sorted(block)
        given, a, b = (np.take(self._geometry.values[list(side)], order, axis=1) for side in sides)
        centers = np.argsort(order)[rows]
        ordered, counts = radius[order], np.empty((len(order), 5), np.int64)

        def work(first: int, last: int) -> None:
            distances = np.empty((3, len(order)), points.columns.dtype)
            count_by_side((given, a, b), points.anchor, centers[first:last], self._ball, distances, ordered, counts)

        self._geometry.each_range(work, len(rows))
        return counts[centers]

    def _sorted(self, block: Block) -> tuple[Sorted, Rows]:
        """The columns of a block in the order of an anchor, and that order."""
        values, anchor = self._geometry.values, self._geometry.anchor_of(block)
        order = np.arange(self._geometry.n_samples) if anchor is None else np.argsort(anchor)
        return sorted_by(values[list(block)], anchor, order), order


def _close_one_by_one(radius: Values, joint: Counts, x: Counts, y: Counts, z: Counts) -> tuple[Counts, Counts, Counts]:
    """What is in the balls as one side after the other is closed, where at most one side ties or all do at radius 0.

    In the joint space: nothing closed, given, given and a, given and b, all; on either side: nothing, given, both.
    """
    given = (z[:, 1] > z[:, 0]) & (radius > 0)  # at radius 0 a ball is empty until its last side is closed
    apart = ~given & (radius > 0)

    def pick(counts: Counts, *closed: NDArray[np.bool_]) -> Counts:
        steps = [np.where(step, counts[:, 1], counts[:, 0]) for step in closed]
        return np.column_stack([counts[:, 0], *steps, counts[:, 1]])

    in_joint = pick(joint, given, given | (apart & (x[:, 1] > x[:, 0])), given | (apart & (y[:, 1] > y[:, 0])))
    return in_joint, pick(x, given), pick(y, given)


def _find_crossed(radius: Values, joint: Counts, x: Counts, y: Counts, z: Counts) -> Rows:
    """Rows where ties of more than one side could fall together, other than one point that is at the radius."""
    in_joint, in_x, in_y, in_z = (counts[:, 1] - counts[:, 0] for counts in (joint, x, y, z))
    several = np.maximum(np.maximum(in_joint, in_x), np.maximum(in_y, in_z)) > 1
    crossed = (in_z > 0) | ((in_x > 0) & (in_y > 0))
    return np.flatnonzero(crossed & several & (radius > 0))


def line_of(values: Columns) -> Line:
    """A column in ascending order."""
    order = np.argsort(values, kind="stable")
    return Line(values, values[order], order, np.argsort(order))


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
