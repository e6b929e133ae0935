"""Neighbours in the plane, maximum norm: every candidate column against one fixed column.

The points are cut along the fixed column into strips of about sqrt(n_neighbors * n_points) points, and within a strip
they stand in the order of the candidate. A point searches its own strip outward, then neighbouring strips while they
are nearer than what it has found. The strips depend on the fixed column; a candidate only fills them, in one pass.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import Classes, Line, count_around, end_within, first_within
from unirel.estimation.kernels.metric import Ball, count_both, insert
from unirel.estimation.kernels.ties import crossed, ksg_term, limits_of, not_crossed, ross_term


class Strips(NamedTuple):
    """Strips along a fixed column, for each group of points by itself."""

    strip_of: NDArray[np.int32]  # the strip of every row
    starts: NDArray[np.int64]  # where every strip starts, and where the last one ends
    low: NDArray[np.floating]  # the smallest value of the fixed column in every strip
    high: NDArray[np.floating]  # the largest one
    firsts: NDArray[np.int64]  # the first strip of every group, and the number of strips


class Points(NamedTuple):
    """Points in the order of the strips: the candidate, the fixed column, and the row of each."""

    x: NDArray[np.floating]
    z: NDArray[np.floating]
    rows: NDArray[np.int32]


class Found(NamedTuple):
    """What a search finds for every row."""

    radius: NDArray[np.floating]  # of its ball
    inside: NDArray[np.int64]  # how many points of its group are inside, and how many within it
    within: NDArray[np.int64]


def make_strips(fixed: Floats, labels: Integers, n_groups: int, n_neighbors: int) -> Strips:
    """Cut the rows of every group into strips along `fixed` that never part equal values."""
    order = np.lexsort((fixed, labels)) if n_groups > 1 else np.argsort(fixed, kind="stable")
    group_starts = np.append(0, np.cumsum(np.bincount(labels, minlength=n_groups)))
    values = fixed[order]
    starts: list[int] = []
    firsts = [0]
    for begin, stop in itertools.pairwise(group_starts.tolist()):
        starts += _cut(values[begin:stop], begin, n_neighbors)
        firsts.append(len(starts))
    bounds = np.array([*starts, len(values)])
    strip_of = np.empty(len(fixed), np.int32)
    strip_of[order] = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(bounds))
    return Strips(strip_of, bounds, values[bounds[:-1]], values[bounds[1:] - 1], np.array(firsts))


def _cut(values: Floats, begin: int, n_neighbors: int) -> list[int]:
    """Where strips of about sqrt(k n) points begin: a search then looks at as many strips as points of one."""
    size, strip, starts = max(1, int(np.sqrt(n_neighbors * len(values)))), 0, list[int]()
    is_larger = np.append(True, values[1:] != values[:-1])
    runs = np.append(np.flatnonzero(is_larger), len(values))  # of equal values
    # A long run of equal values is a strip of its own: it is then searched and counted like a line.
    long_runs = np.append(runs[:-1][np.diff(runs) >= size], len(values))
    while strip < len(values):
        starts.append(begin + strip)
        full = runs[np.searchsorted(runs, min(strip + size, len(values)))]
        strip = int(min(full, long_runs[np.searchsorted(long_runs, strip + 1)]))
    return starts


@inner
def _make_points(n_samples: int, like: Floats) -> Points:
    return Points(np.empty(n_samples, like.dtype), np.empty(n_samples, like.dtype), np.empty(n_samples, np.int32))


@inner
def _make_found(n_samples: int, like: Floats) -> Found:
    return Found(np.empty(n_samples, like.dtype), np.empty(n_samples, np.int64), np.empty(n_samples, np.int64))


@inner
def _fill_strips(candidate: Floats, order: Integers, fixed: Floats, strips: Strips, points: Points) -> None:
    """Put every row into its strip, in the order of the candidate."""
    # Rows come in the order of the candidate, so every strip is filled in that order: no strip is sorted.
    fill = strips.starts.copy()
    for position in range(order.shape[0]):
        row = order[position]
        slot = fill[strips.strip_of[row]]
        fill[strips.strip_of[row]] = slot + 1
        points.x[slot] = candidate[row]
        points.z[slot] = fixed[row]
        points.rows[slot] = row


@inner
def _scan_side(
    points: Points, start: int, stop: int, step: int, point: int, nearest: Floats, reach: float, tolerance: float
) -> float:
    """Look at the points from `start` on, to one side, while they can matter; returns the reach that is left."""
    x_center = points.x[point]
    z_center = points.z[point]
    # The hot loop: a strip is left at the first point that is too far along the candidate.
    for other in range(start, stop, step):
        difference = abs(points.x[other] - x_center)
        if difference > reach:
            break
        distance = max(difference, abs(points.z[other] - z_center))
        # Rare once a few points are found; the reach then shrinks.
        if distance < nearest[-1]:
            insert(nearest, distance)
            reach = nearest[-2] * (1.0 + tolerance)
    return reach


@inner
def _scan_outward(points: Points, start: int, stop: int, point: int, nearest: Floats, tolerance: float) -> float:
    """Search the own strip, the nearer side first, so that the reach shrinks at once; returns the reach."""
    x, z = points.x, points.z
    x_center = x[point]
    z_center = z[point]
    reach = nearest[-2] * (1.0 + tolerance)
    left = point - 1
    right = point + 1
    while True:
        # The next point is the nearer one of the two sides.
        to_left = x_center - x[left] if left >= start else np.inf
        to_right = x[right] - x_center if right < stop else np.inf
        if to_left < to_right:
            difference = to_left
            other = left
            left -= 1
        else:
            difference = to_right
            other = right
            right += 1
        # Enough points at the very same place: what is left is to count them.
        if difference > reach or difference == np.inf or nearest[-1] == 0.0:
            return reach
        distance = max(difference, abs(z[other] - z_center))
        if distance < nearest[-1]:
            insert(nearest, distance)
            reach = nearest[-2] * (1.0 + tolerance)


@inner
def _locate(x: Floats, strip: int, starts: Integers, x_center: float, pointers: Integers) -> int:
    """First point of `strip` not left of `x_center`; centres come in ascending order, so the pointer only moves on."""
    point = pointers[strip]
    stop = starts[strip + 1]
    # Short as a rule: the centre before this one left the pointer just behind.
    while point < stop and x[point] < x_center:
        point += 1
    pointers[strip] = point
    return point


@inner
def _reset(pointers: Integers, starts: Integers, first: int, last: int) -> None:
    """Let every pointer stand at the start of its strip; a slice would cost the compiler seconds."""
    for strip in range(first, last):
        pointers[strip] = starts[strip]


@inner
def _limits_in_strips(radius: float, ball: Ball) -> tuple[float, float]:
    """The limits of a ball: strips hold values as they are, where different levels are farther apart than `far`."""
    inner, outer = limits_of(radius, ball.tolerance)
    return inner, np.inf if radius >= ball.far else outer


@inner
def _count_in_strips(
    points: Points, strips: Strips, group: int, strip: int, point: int, limits: tuple[float, float], pointers: Integers
) -> tuple[int, int]:
    """How many others in the strips of a group are inside the ball of `point`, and how many within it."""
    x, z, starts = points.x, points.z, strips.starts
    x_center, z_center = x[point], z[point]
    inner, outer = limits
    inside, within = -1 if inner >= 0.0 else 0, -1  # the point itself
    other = strip
    # Back to the lowest strip that can matter, then up through all of them.
    while other > strips.firsts[group] and z_center - strips.high[other - 1] <= outer:
        other -= 1
    while other < strips.firsts[group + 1] and strips.low[other] - z_center <= outer:
        start, stop = starts[other], starts[other + 1]
        middle = point if other == strip else _locate(x, other, starts, x_center, pointers)
        if max(z_center - strips.low[other], strips.high[other] - z_center) <= inner:
            # The whole strip is near enough along the fixed column: what is left is a line.
            lower = first_within(x, start, middle, x_center, outer)
            upper = end_within(x, middle, stop, x_center, outer)
            within += upper - lower
            # As a rule all but one are inside, so the ends are looked at before they are searched.
            if lower < middle and x_center - x[lower] > inner:
                lower = first_within(x, lower + 1, middle, x_center, inner)
            if upper > middle and x[upper - 1] - x_center > inner:
                upper = end_within(x, middle, upper - 1, x_center, inner)
            inside += upper - lower
        else:
            # A strip that is cut by the ball: each of its points near enough along x is asked about z.
            neighbor = middle
            while neighbor < stop and x[neighbor] - x_center <= outer:
                distance = max(abs(z[neighbor] - z_center), x[neighbor] - x_center)
                within += distance <= outer
                inside += distance <= inner
                neighbor += 1
            neighbor = middle - 1
            while neighbor >= start and x_center - x[neighbor] <= outer:
                distance = max(abs(z[neighbor] - z_center), x_center - x[neighbor])
                within += distance <= outer
                inside += distance <= inner
                neighbor -= 1
        other += 1
    return inside, within


@inner
def _search_group(points: Points, strips: Strips, group: int, ball: Ball, found: Found) -> None:
    """The ball that reaches the n_neighbors-th neighbour within one group of strips, for each of its points."""
    x, z, starts = points.x, points.z, strips.starts
    first, last = strips.firsts[group], strips.firsts[group + 1]
    n_others = starts[last] - starts[first] - 1
    n_neighbors = min(ball.n_neighbors, n_others)
    # Room for the distances found, ascending.
    nearest = np.empty(n_neighbors + 1, x.dtype)  # one more than asked for tells whether there is a tie
    pointers = starts.copy()
    for strip in range(first, last):
        _reset(pointers, starts, first, last)
        for point in range(starts[strip], starts[strip + 1]):
            nearest[:] = ball.far
            reach = _scan_outward(points, starts[strip], starts[strip + 1], point, nearest, ball.tolerance)
            # The own strip has bounded the reach; strips beyond it, nearest first, can only lower it.
            above = strip + 1
            below = strip - 1
            while True:
                to_above = strips.low[above] - z[point] if above < last else np.inf
                to_below = z[point] - strips.high[below] if below >= first else np.inf
                if min(to_above, to_below) > reach or min(to_above, to_below) == np.inf:
                    break
                if to_above < to_below:
                    other = above
                    above += 1
                else:
                    other = below
                    below -= 1
                middle = _locate(x, other, starts, x[point], pointers)
                reach = _scan_side(points, middle, starts[other + 1], 1, point, nearest, reach, ball.tolerance)
                reach = _scan_side(points, middle - 1, starts[other] - 1, -1, point, nearest, reach, ball.tolerance)
            # What is found is kept by row: the next strips, along another column, have another order.
            row = points.rows[point]
            inner, outer = limits_of(nearest[-2], ball.tolerance)
            found.radius[row] = nearest[-2]
            found.inside[row] = n_neighbors - 1
            if n_neighbors > 1 and nearest[-3] > inner:
                found.inside[row] = count_both(nearest[:-1], (inner, outer))[0]
            found.within[row] = n_neighbors
            if nearest[-2] >= ball.far:
                found.within[row] = n_others
            # The one more that was searched ties: how many do has to be counted.
            elif nearest[-1] <= outer:
                found.within[row] = _count_in_strips(points, strips, group, strip, point, (inner, outer), pointers)[1]


@inner
def _sum_of_classes(points: Points, whole: Strips, classes: Classes, ball: Ball, own: Found) -> float:
    """Sum of Ross's terms: count how many points of all classes are in the ball that was found in the own class."""
    starts = whole.starts
    n_strips = starts.shape[0] - 1
    pointers = starts.copy()
    total = 0.0
    for strip in range(n_strips):
        _reset(pointers, starts, zero(), n_strips)
        for point in range(starts[strip], starts[strip + 1]):
            row = points.rows[point]
            label = classes.labels[row]
            n_neighbors = min(ball.n_neighbors, classes.starts[label + 1] - classes.starts[label] - 1)
            everyone = _count_in_strips(
                points, whole, zero(), strip, point, _limits_in_strips(own.radius[row], ball), pointers
            )
            total += ross_term(n_neighbors, (own.inside[row], own.within[row]), everyone, ball.psi)
    return total


@kernel
def ross_in_plane(
    candidates: Floats, orders: Integers, fixed: Floats, classes: Classes, own: Strips, whole: Strips, ball: Ball
) -> Floats:
    """Sum of Ross's terms of (candidate, fixed) over all rows, for each of `candidates`."""
    # `own` are strips of each class by itself, for the search; `whole` are strips of all points, for the count.
    n_candidates, n_samples = orders.shape
    points = _make_points(n_samples, candidates)
    found = _make_found(n_samples, candidates)
    sums = np.empty(n_candidates)
    for candidate in range(n_candidates):
        # Search within each class, in narrow strips, then count all classes, in wider ones.
        _fill_strips(candidates[candidate], orders[candidate], fixed, own, points)
        for group in range(own.firsts.shape[0] - 1):
            _search_group(points, own, group, ball, found)
        _fill_strips(candidates[candidate], orders[candidate], fixed, whole, points)
        sums[candidate] = _sum_of_classes(points, whole, classes, ball, found)
    return sums


@inner
def _count_by_side(
    ascending: Floats, order: Integers, position: int, fixed: Floats, limits: tuple[float, float]
) -> tuple[int, int]:
    """How many others are within along the candidate and inside along the fixed column, and the other way round."""
    inner, outer = limits
    x_center, z_center = ascending[position], fixed[order[position]]
    in_x, in_z = 0, 0
    for other in range(
        first_within(ascending, zero(), position, x_center, outer),
        end_within(ascending, position + 1, order.shape[0], x_center, outer),
    ):
        along_z = abs(fixed[order[other]] - z_center)
        in_x += along_z <= inner
        in_z += (abs(ascending[other] - x_center) <= inner) & (along_z <= outer)
    itself = int(inner >= 0.0)
    return in_x - itself, in_z - itself


@kernel
def ksg_in_plane(candidates: Floats, orders: Integers, fixed: Line, whole: Strips, ball: Ball) -> Floats:
    """Sum of KSG's terms of candidate and fixed over all rows, for each of `candidates`."""
    n_candidates, n_samples = orders.shape
    points = _make_points(n_samples, candidates)
    joint = _make_found(n_samples, candidates)
    sums = np.zeros(n_candidates)
    for candidate in range(n_candidates):
        column, order = candidates[candidate], orders[candidate]
        ascending = column[order]
        _fill_strips(column, order, fixed.values, whole, points)
        _search_group(points, whole, zero(), ball, joint)
        for position in range(n_samples):
            row = order[position]
            limits = limits_of(joint.radius[row], ball.tolerance)
            inside, within = joint.inside[row], joint.within[row]
            # Along a sorted column a ball is found by two short searches.
            x = count_around(ascending, position, limits, ball.far)
            z = count_around(fixed.ascending, fixed.positions[row], limits, ball.far)
            counts = not_crossed(limits, inside, within, z)
            if crossed(limits, within - inside, x, z):
                # Ties of both columns could fall together: how they do is counted.
                limits = _limits_in_strips(joint.radius[row], ball)
                in_x, in_z = _count_by_side(ascending, order, position, fixed.values, limits)
                counts = (inside, in_x, in_z, within)
            sums[candidate] += ksg_term(ball.n_neighbors, counts, x, z, ball.psi)
    return sums
