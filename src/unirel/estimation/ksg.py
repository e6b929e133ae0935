"""The estimator of Kraskov, Stögbauer and Grassberger: continuous columns against continuous columns."""

import numpy as np
from numpy.typing import NDArray

from unirel.estimation.base import Block, Changes, Values
from unirel.estimation.kernels.change_one import change_one_in_line, make_room, side_by_side
from unirel.estimation.kernels.line import Line
from unirel.estimation.kernels.plane import ksg_in_plane, make_strips
from unirel.estimation.kernels.space import Sorted, count_by_side, count_in_balls, ksg_sum
from unirel.estimation.ross import Columns, Geometry, Rows, sorted_by

Counts = NDArray[np.int64]


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
