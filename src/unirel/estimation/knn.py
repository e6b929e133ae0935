"""Mutual information from nearest neighbours: Ross for labels, KSG for continuous pairs, counts for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks
from unirel.estimation.base import Block, Changes, Values
from unirel.estimation.binned import Binned
from unirel.estimation.kernels.change_one import change_one_in_line, make_room, side_by_side
from unirel.estimation.kernels.line import Line
from unirel.estimation.kernels.plane import ksg_in_plane, make_strips
from unirel.estimation.kernels.space import Sorted, count_by_side, count_in_balls, ksg_sum
from unirel.estimation.neighbors import Columns, Geometry, Mask, Metric, Neighbors, Rows, sorted_by

Counts = NDArray[np.int64]

# With fewer candidates it does not pay to put all rows in the order of their distance from every row.
_FEW = 8


class KNN(Neighbors):
    """Nearest-neighbour estimates; where distances tie, their mean over all ways to break the ties: nothing is random.

    Parameters
    ----------
    n_neighbors : int
        Neighbours that span a ball: more of them mean less variance and more bias.
    metric : {"auto", "chebyshev", "manhattan", "euclidean"}
        Distance in a block of columns when the other side is discrete; "auto" counts an all-discrete block, otherwise
        it is chebyshev for one or two columns and for continuous columns without missing values, manhattan for others.
    scale : {"standard", "rank", None}
        Divide continuous columns by their standard deviation, or use their ranks, or leave them alone.
    correction : {"chance", "miller-madow", None}
        For what is counted, as in `Binned`.
    """

    name = "knn"

    def mutual_information(self, a: Block, b: Block) -> float:
        return self.conditional(a, b, [])

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given): a difference of two estimates for a discrete b, the conditional KSG form otherwise."""
        a, b, given = self._varying(a), self._varying(b), self._varying(given)
        if not (a and b):
            return 0.0
        single = len(a) == len(b) == 1 and not given
        if self.table.discrete[[*a, *b, *given]].all() and (single or self.metric == "auto"):
            return self._counts.conditional(a, b, given)
        if not given and not self._are_labels(b) and self._are_labels(a):
            a, b = b, a
        if self._are_labels(b):
            metric = self.metric_of([*a, *given])
            joint = self._against_labels([*a, *given], b[0], metric)
            return joint - self._against_labels(given, b[0], metric) if given else joint
        return float(self._ksg.in_plane(a, b[0])[0]) if single else self._ksg.in_space(a, b, given)

    def counts(self, columns: Block) -> bool:
        """Whether information between these columns is counted: with a metric of its own that of no block is."""
        return super().counts(columns) and (self.metric == "auto" or len(self._varying(columns)) <= 2)

    def pairwise(self, candidates: Block, column: int) -> Values:
        is_discrete = self.table.discrete[column]

        def of_levels(some: Rows) -> Values:
            if is_discrete:
                return self._counts.pairwise(some, column)
            return np.concatenate(
                map_tasks(lambda one: self._labels(one).on_line([column]), some.tolist(), self.n_jobs)
            )

        def of_numbers(some: Rows) -> Values:
            return self._labels(column).on_line(some) if is_discrete else self._ksg.in_plane(some, column)

        return self._by_kind(candidates, column, of_levels, of_numbers)

    def permuted(self, candidates: Block, given: Block, orders: Rows) -> Values:
        """I(candidate; target | given) with the rows of the target in other orders; labels need one sort."""
        target = self.table.target
        if self._varying(given) or not self.table.discrete[target]:
            return super().permuted(candidates, given, orders)
        return self._by_kind(
            candidates,
            target,
            lambda some: self._counts.permuted(some, [], orders),
            lambda some: self._labels(target).permuted_on_line(some, orders),
            (len(orders),),
        )

    def by_chance(self, candidates: Block, column: int) -> Values:
        candidates = np.asarray(candidates, np.intp)
        chance = np.zeros(len(candidates))
        counted = self.table.discrete[candidates] & self.table.discrete[column]
        if counted.any():
            chance[counted] = self._counts.by_chance(candidates[counted], column)
        return chance

    def joint(self, candidates: Block, selected: Block) -> Values:
        candidates, selected = np.asarray(candidates, np.intp), self._varying(selected)
        if not selected:
            return self.relevance(candidates)
        information = np.empty(len(candidates))
        constant = ~self._geometry.varies[candidates]
        if constant.any():
            information[constant] = self.mutual_information(selected, [self.table.target])
        for chosen, metric in self._in_metrics(candidates, selected):
            information[chosen] = self._joint_in_metric(candidates[chosen], selected, metric)
        return information

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        candidates, given = np.asarray(candidates, np.intp), self._varying(given)
        if not given:
            return self.relevance(candidates)
        if not self.table.discrete[self.table.target]:
            return super().conditional_relevance(candidates, given)
        joint, information = self.joint(candidates, given), np.zeros(len(candidates))
        for chosen, metric in self._in_metrics(candidates, given):
            information[chosen] = joint[chosen] - self._against_labels(given, self.table.target, metric)
        return information

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate, for class labels the mean of I within the classes."""
        # A difference of estimates by the chain rule would have the errors of four estimates in different spaces, which
        # do not cancel. A class of a single row tells nothing.
        if not self.table.discrete[self.table.target]:
            return super().pairwise_given_target(candidates, column)
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros(len(candidates))
        counted = self.table.discrete[candidates] & self.table.discrete[column]
        if counted.any():
            information[counted] = self._counts.pairwise_given_target(candidates[counted], column)
        for share, of_class in self._classes:
            information[~counted] += share * of_class.pairwise(candidates[~counted], column)
        return information

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        if not self.table.discrete[[*candidates, *selected, self.table.target]].all():
            return super().joint_entropy(candidates, selected)
        return self._counts.joint_entropy(candidates, selected)

    def nested(self, order: Block) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().nested(order)
        columns = np.asarray(order, np.intp)
        varying = np.logical_or.accumulate(self._geometry.varies[columns])
        information = self._labels(self.table.target).nested(columns, self.metric_of(self._varying(order)))
        return np.where(varying, information, 0.0)

    def subsets(self, always: Block, columns: Block, subsets: Rows, floor: float = -np.inf) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().subsets(always, columns, subsets, floor)
        always, columns = np.asarray(always, np.intp), np.asarray(columns, np.intp)
        metric = self.metric_of(self._varying([*always, *columns]))
        information = self._labels(self.table.target).subsets(always, columns, subsets, floor, metric)
        varying = self._geometry.varies[columns][subsets].any(axis=1) | self._geometry.varies[always].any()
        return np.where(varying, information, 0.0)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of levels, that of Kozachenko and Leonenko of a density; missing values mix both."""
        return self._counts.entropy(column) if self.table.discrete[column] else self._ksg.entropy(column)

    def in_metric_of(self, block: Block) -> KNN:
        """The same estimator with the metric of this block for every block, so that estimates compare."""
        metric = cast(Metric, self.metric_of(self._varying(block)))
        return KNN(self.n_neighbors, metric, self.scale, self.correction).on(self.table, n_jobs=self.n_jobs)

    @cached_property
    def _counts(self) -> Binned:
        return Binned(correction=self.correction).bind(self.table, n_jobs=self.n_jobs)

    @cached_property
    def _ksg(self) -> KSG:
        return KSG(self._geometry)

    @cached_property
    def _classes(self) -> list[tuple[float, KNN]]:
        """The share of every class of at least two rows, and the same estimator for its rows in the same scale."""
        labels, found = self.table.codes(self.table.target), []
        for rows in (np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)):
            if len(rows) > 1:
                of_class = KNN(**self.get_params())
                of_class.table, of_class.n_jobs = self.table, self.n_jobs
                of_class._geometry = Geometry(self.table, self.n_neighbors, self.n_jobs, rows)
                found.append((len(rows) / self.table.n_samples, of_class))
        return found

    def _by_kind(
        self,
        candidates: Block,
        column: int,
        of_levels: Callable[[Rows], Values],
        of_numbers: Callable[[Rows], Values],
        shape: tuple[int, ...] = (),
    ) -> Values:
        """Estimates of discrete and of continuous candidates, along the last axis; 0 beside what is constant."""
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros((*shape, len(candidates)))
        varying = self._geometry.varies[candidates] & self._geometry.varies[column]
        discrete = self.table.discrete[candidates]
        for chosen, estimate in ((varying & discrete, of_levels), (varying & ~discrete, of_numbers)):
            if chosen.any():
                information[..., chosen] = estimate(candidates[chosen])
        return information

    def _in_metrics(self, candidates: Rows, selected: list[int]) -> Iterator[tuple[Mask, str]]:
        """Candidates that vary and the metric they have beside selected columns; none, "", where all are counted."""
        varying, plain = self._geometry.varies[candidates], self._geometry.plain[candidates]
        counts = self.metric == "auto" and self.table.discrete[[*selected, self.table.target]].all()
        counted = varying & self.table.discrete[candidates] & counts
        for chosen in (counted, varying & plain & ~counted, varying & ~plain & ~counted):
            if chosen.any():
                yield chosen, "" if chosen is counted else self.metric_of([candidates[chosen][0], *selected])

    def _against_labels(self, block: list[int], column: int, metric: str) -> float:
        if not metric:
            return self._counts.mutual_information(block, [column])
        labels = self._labels(column)
        if labels.n_samples == 0:
            return 0.0
        if len(block) == 1 and (metric == "chebyshev" or not self.table.has_missing[block[0]]):
            return float(labels.on_line(block)[0])
        if len(block) == 2 and metric == "chebyshev":
            return float(labels.in_plane(block[:1], block[1])[0])
        return labels.in_space(block, metric)

    def _joint_in_metric(self, candidates: Rows, selected: list[int], metric: str) -> Values:
        if not metric:
            return self._counts.joint(candidates, selected)
        if len(selected) == 1 and self.table.discrete[self.table.target] and metric == "chebyshev":
            return self._labels(self.table.target).in_plane(candidates, selected[0])
        if len(candidates) < _FEW:
            return super().joint(candidates, selected)
        changes = self._changes(selected, candidates, metric)
        return changes.before + changes.change

    def _changes_of_numbers(self, block: Block, candidates: Block | None, rows: Rows | None) -> Changes:
        return self._ksg.changes(block, candidates, self.table.target, rows)


class KSG:
    """I(a; b) and I(a; b | given) in the maximum norm: KSG-1, as its mean over all orders of distances that tie."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._ball = geometry.ball()._replace(n_neighbors=min(geometry.n_neighbors, geometry.n_samples - 1))

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
        return sorted_by(self._geometry.values[list(block)], self._geometry.anchor_of(block))


def _close_one_by_one(radius: Values, joint: Counts, x: Counts, y: Counts, z: Counts) -> tuple[Counts, Counts, Counts]:
    """What is in the balls as one side after the other is closed, where at most one side ties or all do at radius 0."""
    # In the joint space: nothing closed, given, given and a, given and b, all; on either side: nothing, given, both.
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
    """Kozachenko-Leonenko entropy of sorted values that are not all equal."""
    # The ball of a point reaches to the nearest distance, other than 0, that has n_neighbors points within; all points
    # that tie at that distance are counted.
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
