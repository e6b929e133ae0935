"""What every estimate becomes when one candidate joins a block: a few dozen looks per row instead of all rows.

A candidate can only push points away. So, for every row, the others are put once in the order of their distance within
the block, and candidates walk along that order until the block alone is farther than what they have found. Many
candidates walk together, side by side in one row of the array, so that every inner loop is plain vector code.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.kernels._jit import Floats, Integers, kernel, zero
from unirel.kernels.line import Classes, Line, count_around
from unirel.kernels.metric import CHEBYSHEV, Ball, cost, larger, measure, smaller
from unirel.kernels.ties import crossed, ksg_term, limits_of, not_crossed, ross_term

# Candidates that walk together: few enough to stay in the nearest cache, many enough for long inner loops.
LANES = 64
# Buckets are steps of the leading bits of a distance, 64 to an octave: as fine for a few near points as for many far
# ones. There are enough for 32 octaves below the largest distance; what is nearer still shares the first bucket.
_SHIFT = 46
_N_BUCKETS = 2048


class Order(NamedTuple):
    """Points roughly in the order of their distance, the distances, and floors that no later distance is below."""

    points: NDArray[np.int32]
    near: NDArray[np.float64]
    floors: NDArray[np.float64]


class Lanes(NamedTuple):
    """What the candidates that walk together have found, one column each."""

    nearest: NDArray[np.float64]  # the smallest distances in ascending rows; one more than asked for
    limits: NDArray[np.float64]  # the largest distance inside the ball and within it
    counts: NDArray[np.float64]  # how many points of an order are inside and within
    extended: NDArray[np.float64]  # the distance of one point with each candidate


class Room(NamedTuple):
    """Room to work in, for one row at a time."""

    distances: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    nothing: NDArray[np.floating]  # candidates that change nothing
    counts: NDArray[np.float64]  # what was counted first, while the lanes count something else
    terms: NDArray[np.float64]


@kernel
def _make_lanes(n_neighbors: int) -> Lanes:
    return Lanes(np.empty((n_neighbors + 1, LANES)), np.empty((2, LANES)), np.empty((2, LANES)), np.empty(LANES))


@kernel
def _make_order(n_points: int) -> Order:
    return Order(np.empty(n_points, np.int32), np.empty(n_points), np.empty(n_points))


@kernel
def _make_room(n_samples: int, candidates: Floats) -> Room:
    nothing = np.zeros((n_samples, LANES), candidates.dtype)
    return Room(np.empty(n_samples), np.empty(n_samples, np.bool_), nothing, np.empty((2, LANES)), np.empty(LANES))


@kernel
def _order_by_distance(distances: Floats, chosen: Integers, order: Order) -> None:
    """Put the chosen rows roughly in the order of their distance, that is into buckets."""
    bits = distances.view(np.int64)  # the bits of positive numbers are in the order of the numbers
    floor_bits = order.floors.view(np.int64)
    highest = 0
    for point in range(distances.shape[0]):
        step = bits[point] >> _SHIFT if chosen[point] else 0
        highest = step if step > highest else highest
    base = highest - _N_BUCKETS + 1 if highest >= _N_BUCKETS else 0
    starts = np.zeros(_N_BUCKETS + 1, np.int32)
    for point in range(distances.shape[0]):
        if chosen[point]:
            starts[max(0, (bits[point] >> _SHIFT) - base) + 1] += 1
    for bucket in range(_N_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    for point in range(distances.shape[0]):
        if chosen[point]:
            bucket = max(0, (bits[point] >> _SHIFT) - base)
            slot = starts[bucket]
            starts[bucket] = slot + 1
            order.points[slot] = point
            order.near[slot] = distances[point]
            floor_bits[slot] = (base + bucket) << _SHIFT if bucket > 0 else 0


@kernel
def _extended(distance: float, value: float, center: float, ball: Ball) -> float:
    """A distance after one more column."""
    added = cost(value, center, ball)
    return larger(added, distance) if ball.metric == CHEBYSHEV else distance + added


@kernel
def _sort_in(nearest: Floats, extended: Floats) -> None:
    """Put one distance of each candidate into its ascending column; the largest entries drop out.

    Four candidates at a time: their distances stay in registers on the way down, and most fours are left alone.
    """
    last = nearest[nearest.shape[0] - 1]
    for lane in range(0, LANES, 4):
        a, b, c, d = extended[lane], extended[lane + 1], extended[lane + 2], extended[lane + 3]
        if (a < last[lane]) | (b < last[lane + 1]) | (c < last[lane + 2]) | (d < last[lane + 3]):
            for slot in range(nearest.shape[0]):
                kept = nearest[slot, lane : lane + 4]
                old_a, old_b, old_c, old_d = kept[0], kept[1], kept[2], kept[3]
                kept[0], kept[1] = smaller(old_a, a), smaller(old_b, b)
                kept[2], kept[3] = smaller(old_c, c), smaller(old_d, d)
                a, b, c, d = larger(a, old_a), larger(b, old_b), larger(c, old_c), larger(d, old_d)


@kernel
def _largest(values: Floats) -> float:
    largest = values[0]
    for lane in range(1, LANES):
        largest = larger(values[lane], largest)
    return largest


@kernel
def _find_nearest(order: Order, candidates: Floats, first: int, row: int, ball: Ball, lanes: Lanes) -> None:
    """Keep the smallest extended distances along an order, and the limits of the balls that reach them."""
    centers = candidates[row, first : first + LANES]
    nearest = lanes.nearest
    nearest[:] = np.inf
    reach = np.inf
    for step in range(order.points.shape[0]):
        if order.floors[step] > reach:
            break
        values = candidates[order.points[step], first : first + LANES]
        for lane in range(LANES):
            lanes.extended[lane] = _extended(order.near[step], values[lane], centers[lane], ball)
        _sort_in(nearest[: min(step + 1, nearest.shape[0])], lanes.extended)  # what is below is still infinite
        if step % 4 == 3:
            reach = _largest(nearest[nearest.shape[0] - 2]) * (1.0 + ball.tolerance)
    for lane in range(LANES):
        lanes.limits[0, lane], lanes.limits[1, lane] = limits_of(nearest[-2, lane], ball.tolerance)


@kernel
def _count_along(order: Order, candidates: Floats, first: int, row: int, ball: Ball, lanes: Lanes) -> None:
    """How many extended distances along an order are inside the ball of each candidate, and how many within it."""
    centers = candidates[row, first : first + LANES]
    inner, outer = lanes.limits[0], lanes.limits[1]
    inside, within = lanes.counts[0], lanes.counts[1]
    inside[:] = 0.0
    within[:] = 0.0
    reach = _largest(outer)
    for step in range(order.points.shape[0]):
        if order.floors[step] > reach:
            break
        values = candidates[order.points[step], first : first + LANES]
        # Counted in floating point: comparisons of this width then need no conversion.
        for lane in range(LANES):
            distance = _extended(order.near[step], values[lane], centers[lane], ball)
            inside[lane] += 1.0 if distance <= inner[lane] else 0.0
            within[lane] += 1.0 if distance <= outer[lane] else 0.0


@kernel
def _copy(counts: Floats, kept: Floats) -> None:
    """Do ``kept[:] = counts``, which would compile the text of an error for shapes that do not fit."""
    for lane in range(LANES):
        kept[0, lane] = counts[0, lane]
        kept[1, lane] = counts[1, lane]


@kernel
def _keep_unless_tied(lanes: Lanes, counts: Floats) -> bool:
    """Write down how many of the nearest are inside and within, unless some candidate has to count because of a tie."""
    tied = False
    n_neighbors = lanes.nearest.shape[0] - 1
    for lane in range(LANES):
        tied |= lanes.nearest[n_neighbors, lane] <= lanes.limits[1, lane]
    if n_neighbors > 1:
        for lane in range(LANES):
            tied |= lanes.nearest[n_neighbors - 2, lane] > lanes.limits[0, lane]
    for lane in range(LANES):
        counts[0, lane], counts[1, lane] = n_neighbors - 1, n_neighbors
    return not tied


@kernel
def _add(changes: Floats, first: int, before: float, terms: Floats) -> None:
    """Add the changes, and their squares, of the candidates that there are; what fills up the lanes is left out."""
    for lane in range(min(LANES, changes.shape[1] - first)):
        change = terms[lane] - before
        changes[0, first + lane] += change
        changes[1, first + lane] += change * change


@kernel
def add_one_to_classes(
    block: Floats, candidates: Floats, classes: Classes, rows: Integers, ball: Ball, changes: Floats
) -> float:
    """Sum of Ross's terms of `rows` in a block, and how it changes with each candidate.

    Block and candidates are sorted by class. `candidates` has a row for every row of the data and columns for the
    candidates and some zeros, a multiple of `LANES` in all. Adds, for every candidate, the changes and their squares
    to the rows of `changes`.
    """
    n_samples = block.shape[1]
    room = _make_room(n_samples, candidates)
    points = _make_order(n_samples - 1)  # the own class first, then the others
    whole = _make_lanes(ball.n_neighbors)
    total = 0.0
    for row in rows:
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        n_own = end - begin - 1
        n_neighbors = min(ball.n_neighbors, n_own)
        lanes = Lanes(whole.nearest[: n_neighbors + 1], whole.limits, whole.counts, whole.extended)
        own = Order(points.points[:n_own], points.near[:n_own], points.floors[:n_own])
        others = Order(points.points[n_own:], points.near[n_own:], points.floors[n_own:])
        measure(block, row, zero(), n_samples, ball, room.distances)
        for point in range(n_samples):
            room.chosen[point] = begin <= point < end and point != row
        _order_by_distance(room.distances, room.chosen, own)
        for point in range(n_samples):
            room.chosen[point] = not begin <= point < end
        _order_by_distance(room.distances, room.chosen, others)
        before = 0.0
        for first in range(-LANES, candidates.shape[1], LANES):
            alone = first < 0  # the block without any candidate comes first
            values, start = (room.nothing, 0) if alone else (candidates, first)
            _find_nearest(own, values, start, row, ball, lanes)
            if not _keep_unless_tied(lanes, room.counts):
                _count_along(own, values, start, row, ball, lanes)
                _copy(lanes.counts, room.counts)
            _count_along(others, values, start, row, ball, lanes)
            for lane in range(1 if alone else min(LANES, changes.shape[1] - first)):
                inside, within = int(room.counts[0, lane]), int(room.counts[1, lane])
                everyone = (inside + int(lanes.counts[0, lane]), within + int(lanes.counts[1, lane]))
                room.terms[lane] = ross_term(n_neighbors, (inside, within), everyone, ball.psi)
            if alone:
                before = room.terms[0]
                total += before
            else:
                _add(changes, first, before, room.terms)
    return total


@kernel
def _count_by_side(
    order: Order, gaps: Floats, values: Floats, row: int, ball: Ball, limits: tuple[float, float]
) -> tuple[int, int]:
    """How many points are within in the block and one candidate and inside in the target, and the other way round."""
    in_block = 0
    in_target = 0
    for step in range(order.points.shape[0]):
        if order.floors[step] > limits[1]:
            break
        distance = larger(order.near[step], cost(values[order.points[step]], values[row], ball))
        gap = gaps[order.points[step]]
        in_block += (distance <= limits[1]) & (gap <= limits[0])
        in_target += (distance <= limits[0]) & (gap <= limits[1])
    return in_block, in_target


@kernel
def add_one_to_line(
    block: Floats, candidates: Floats, target: Line, rows: Integers, ball: Ball, changes: Floats
) -> float:
    """Sum of KSG's terms of `rows` against a continuous target, and how it changes with each candidate."""
    n_samples = block.shape[1]
    room = _make_room(n_samples, candidates)
    gaps = np.empty(n_samples)
    order = _make_order(n_samples - 1)
    joint = Order(order.points, np.empty(n_samples - 1), order.floors)
    lanes = _make_lanes(ball.n_neighbors)
    total = 0.0
    for row in rows:
        measure(block, row, zero(), n_samples, ball, room.distances)
        for point in range(n_samples):
            room.chosen[point] = point != row
            gaps[point] = smaller(abs(target.values[point] - target.values[row]), ball.far)
        # One order serves both spaces: its floors are below the joint distances too.
        _order_by_distance(room.distances, room.chosen, order)
        for step in range(n_samples - 1):
            joint.near[step] = larger(order.near[step], gaps[order.points[step]])
        before = 0.0
        for first in range(-LANES, candidates.shape[1], LANES):
            alone = first < 0
            values, start = (room.nothing, 0) if alone else (candidates, first)
            _find_nearest(joint, values, start, row, ball, lanes)
            _count_along(joint, values, start, row, ball, lanes)
            _copy(lanes.counts, room.counts)
            _count_along(order, values, start, row, ball, lanes)
            for lane in range(1 if alone else min(LANES, changes.shape[1] - first)):
                limits = (lanes.limits[0, lane], lanes.limits[1, lane])
                inside, within = int(room.counts[0, lane]), int(room.counts[1, lane])
                x = (int(lanes.counts[0, lane]), int(lanes.counts[1, lane]))
                y = count_around(target.ascending, target.positions[row], limits, ball.far)
                counts = not_crossed(limits, inside, within, y)
                if crossed(limits, within - inside, x, y):
                    in_x, in_y = _count_by_side(order, gaps, values[:, start + lane], row, ball, limits)
                    counts = (inside, in_x, in_y, within)
                room.terms[lane] = ksg_term(ball.n_neighbors, counts, x, y, ball.psi)
            if alone:
                before = room.terms[0]
                total += before
            else:
                _add(changes, first, before, room.terms)
    return total
