"""What every estimate becomes when one column joins a block or leaves it: a few dozen looks per row instead of all.

For every row, the others are put once in the order of the least distance that any change can leave them at. Then
candidates walk along that order until all that follows is farther than what they have found. Many candidates walk
together, side by side in one row of the array, so that every inner loop is plain vector code.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.kernels._jit import Floats, Integers, inner, kernel, zero
from unirel.kernels.line import Classes, Line, count_around
from unirel.kernels.metric import CHEBYSHEV, Ball, cost, larger, smaller
from unirel.kernels.ties import crossed, ksg_term, limits_of, not_crossed, ross_term

# Candidates that walk together: few enough to stay in the nearest cache, many enough for long inner loops.
LANES = 64
# Buckets are steps of the leading bits of a distance, 64 to an octave: as fine for a few near points as for many far
# ones. There are enough for 32 octaves below the largest distance; what is nearer still shares the first bucket.
_SHIFT = 46
N_BUCKETS = 2048


class Order(NamedTuple):
    """Points roughly in the order of their least distance."""

    points: NDArray[np.int32]
    least: NDArray[np.float64]  # the distance in the block or, if a column is to leave, without its farthest column
    extra: NDArray[np.float64]  # what that column adds; 0 if a column is to join
    floors: NDArray[np.float64]  # no later least distance is below


class Group(NamedTuple):
    """The candidates that walk together, and from where."""

    candidates: NDArray[Any]
    first: int
    row: int


class Lanes(NamedTuple):
    """What the candidates that walk together have found, one column each."""

    nearest: NDArray[np.float64]  # the smallest distances in ascending rows; one more than asked for
    limits: NDArray[np.float64]  # the largest distance inside the ball and within it
    counts: NDArray[np.float64]  # how many points of an order are inside and within
    kept: NDArray[np.float64]  # what was counted first, while they count something else
    changed: NDArray[np.float64]  # the distance of one point with each candidate
    terms: NDArray[np.float64]


class Room(NamedTuple):
    """Room to work in, for one row at a time. Made in Python: arrays that a kernel makes take long to compile."""

    least: NDArray[np.float64]  # of all points, in the order of the rows
    extra: NDArray[np.float64]
    order: Order
    starts: NDArray[np.int64]  # where a bucket begins; half of the buckets for the points of one class, half for others
    lanes: Lanes


@inner
def _measure_least(block: Floats, row: int, leaving: bool, ball: Ball, room: Room) -> None:
    """Distances from `row`, and if a column is to leave them, what its farthest column adds to each."""
    least, extra = room.least, room.extra
    for point in range(least.shape[0]):
        least[point] = 0.0
        extra[point] = 0.0
    for column in range(block.shape[0]):
        values = block[column]
        center = values[row]
        for point in range(least.shape[0]):
            added = cost(values[point], center, ball)
            if ball.metric == CHEBYSHEV:
                least[point] = larger(least[point], added)
            elif leaving:
                # Nothing is subtracted here, so that nothing is lost to rounding where one column is most of it.
                least[point] += smaller(extra[point], added)
                extra[point] = larger(extra[point], added)
            else:
                least[point] += added


@inner
def _put_in_order(begin: int, end: int, row: int, room: Room) -> None:
    """Put the points from `begin` to `end`, and behind them the others, roughly in order, that is in buckets."""
    bits = room.least.view(np.int64)  # the bits of positive numbers are in the order of the numbers
    floor_bits = room.order.floors.view(np.int64)
    starts = room.starts
    highest = N_BUCKETS - 1
    for point in range(bits.shape[0]):
        highest = max(highest, bits[point] >> _SHIFT)
    base = highest - N_BUCKETS + 1
    for bucket in range(starts.shape[0]):
        starts[bucket] = 0
    # Twice over all points: first how many are in each bucket, then, where each bucket begins, who.
    for point in range(bits.shape[0]):
        bucket = max(0, (bits[point] >> _SHIFT) - base) + (0 if begin <= point < end else N_BUCKETS)
        starts[bucket + 1] += point != row
    for bucket in range(2 * N_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    for point in range(bits.shape[0]):
        if point != row:
            step = max(0, (bits[point] >> _SHIFT) - base)
            bucket = step + (0 if begin <= point < end else N_BUCKETS)
            slot = starts[bucket]
            starts[bucket] = slot + 1
            room.order.points[slot] = point
            room.order.least[slot] = room.least[point]
            room.order.extra[slot] = room.extra[point]
            floor_bits[slot] = (base + step) << _SHIFT if step > 0 else 0


@inner
def _changed(least: float, extra: float, value: float, center: float, ball: Ball) -> float:
    """A distance after one more column or, where there is something extra, after one less."""
    added = cost(value, center, ball)
    return larger(added, least) if ball.metric == CHEBYSHEV else least + abs(extra - added)


@inner
def _sort_in(nearest: Floats, n_rows: int, changed: Floats) -> None:
    """Put one distance of each candidate into its ascending column; the largest entries drop out.

    Four candidates at a time: their distances stay in registers on the way down, and most fours are left alone.
    """
    last = nearest[n_rows - 1]
    for lane in range(0, LANES, 4):
        a, b, c, d = changed[lane], changed[lane + 1], changed[lane + 2], changed[lane + 3]
        if (a < last[lane]) | (b < last[lane + 1]) | (c < last[lane + 2]) | (d < last[lane + 3]):
            for slot in range(n_rows):
                kept = nearest[slot, lane : lane + 4]
                old_a, old_b, old_c, old_d = kept[0], kept[1], kept[2], kept[3]
                kept[0], kept[1] = smaller(old_a, a), smaller(old_b, b)
                kept[2], kept[3] = smaller(old_c, c), smaller(old_d, d)
                a, b, c, d = larger(a, old_a), larger(b, old_b), larger(c, old_c), larger(d, old_d)


@inner
def _largest(values: Floats) -> float:
    largest = values[0]
    for lane in range(1, LANES):
        largest = larger(values[lane], largest)
    return largest


@inner
def _find_nearest(order: Order, last: int, group: Group, n_neighbors: int, ball: Ball, lanes: Lanes) -> None:
    """Keep the smallest distances along the first part of an order, and the limits of the balls that reach them."""
    centers = group.candidates[group.row, group.first : group.first + LANES]
    nearest = lanes.nearest
    for slot in range(n_neighbors + 1):
        for lane in range(LANES):
            nearest[slot, lane] = np.inf
    reach = np.inf
    # The hot loop: it ends where no later point can be among the nearest of any candidate.
    for step in range(last):
        if order.floors[step] > reach:
            break
        values = group.candidates[order.points[step], group.first : group.first + LANES]
        for lane in range(LANES):
            lanes.changed[lane] = _changed(order.least[step], order.extra[step], values[lane], centers[lane], ball)
        _sort_in(nearest, min(step, n_neighbors) + 1, lanes.changed)  # what is below is still infinite
        if step % 4 == 3:
            reach = _largest(nearest[n_neighbors - 1]) * (1.0 + ball.tolerance)
    for lane in range(LANES):
        lanes.limits[0, lane], lanes.limits[1, lane] = limits_of(nearest[n_neighbors - 1, lane], ball.tolerance)


@inner
def _count_along(order: Order, start: int, stop: int, group: Group, ball: Ball, lanes: Lanes) -> None:
    """How many distances along a part of an order are inside the ball of each candidate, and how many within it."""
    centers = group.candidates[group.row, group.first : group.first + LANES]
    inner_limits, outer_limits = lanes.limits[0], lanes.limits[1]
    inside, within = lanes.counts[0], lanes.counts[1]
    for lane in range(LANES):
        inside[lane] = 0.0
        within[lane] = 0.0
    reach = _largest(outer_limits)
    for step in range(start, stop):
        if order.floors[step] > reach:
            break
        values = group.candidates[order.points[step], group.first : group.first + LANES]
        # Counted in floating point: comparisons of this width then need no conversion.
        for lane in range(LANES):
            distance = _changed(order.least[step], order.extra[step], values[lane], centers[lane], ball)
            inside[lane] += 1.0 if distance <= inner_limits[lane] else 0.0
            within[lane] += 1.0 if distance <= outer_limits[lane] else 0.0


@inner
def _keep_counts(lanes: Lanes) -> None:
    """Do ``kept[:] = counts``, which would compile the text of an error for shapes that do not fit."""
    for lane in range(LANES):
        lanes.kept[0, lane] = lanes.counts[0, lane]
        lanes.kept[1, lane] = lanes.counts[1, lane]


@inner
def _keep_unless_tied(lanes: Lanes, n_neighbors: int) -> int:
    """Write down how many of the nearest are inside and within; 0 if some candidate has to count because of a tie."""
    tied = False
    for lane in range(LANES):
        tied |= lanes.nearest[n_neighbors, lane] <= lanes.limits[1, lane]
        tied |= n_neighbors > 1 and lanes.nearest[max(0, n_neighbors - 2), lane] > lanes.limits[0, lane]
        lanes.kept[0, lane], lanes.kept[1, lane] = n_neighbors - 1, n_neighbors
    return 0 if tied else 1


@inner
def _add(changes: Floats, first: int, before: float, terms: Floats) -> None:
    """Add the changes, and their squares, of the candidates that there are; what fills up the lanes is left out."""
    for lane in range(min(LANES, changes.shape[1] - first)):
        change = terms[lane] - before
        changes[0, first + lane] += change
        changes[1, first + lane] += change * change


@kernel
def change_one_in_classes(
    block: Floats,
    candidates: Floats,
    classes: Classes,
    rows: Integers,
    leaving: bool,
    ball: Ball,
    room: Room,
    changes: Floats,
) -> float:
    """Sum of Ross's terms of `rows` in a block, and how it changes with each candidate, or without it.

    Block and candidates are sorted by class, the candidates are `side_by_side`. If they are `leaving`, they are columns
    of the block, and the metric is a sum. Adds, for every candidate, the changes and their squares to the rows of
    `changes`.
    """
    order, lanes = room.order, room.lanes
    total = 0.0
    for row in rows:
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        n_own = end - begin - 1
        n_neighbors = min(ball.n_neighbors, n_own)
        _measure_least(block, row, leaving, ball, room)
        _put_in_order(begin, end, row, room)
        before = 0.0
        for lanes_before in range(0, candidates.shape[1], LANES):
            group = Group(candidates, lanes_before, row)
            _find_nearest(order, n_own, group, n_neighbors, ball, lanes)
            # Those of the own class are known from the search, unless some of them tie; then they are counted first.
            for others in range(_keep_unless_tied(lanes, n_neighbors), 2):
                start, stop = (n_own, order.points.shape[0] - 1) if others else (zero(), n_own)
                _count_along(order, start, stop, group, ball, lanes)
                if not others:
                    _keep_counts(lanes)
            first = lanes_before - LANES  # the block as it is comes first
            for lane in range(1 if first < 0 else min(LANES, changes.shape[1] - first)):
                inside, within = int(lanes.kept[0, lane]), int(lanes.kept[1, lane])
                everyone = (inside + int(lanes.counts[0, lane]), within + int(lanes.counts[1, lane]))
                lanes.terms[lane] = ross_term(n_neighbors, (inside, within), everyone, ball.psi)
            if first < 0:
                before = lanes.terms[0]
                total += before
            else:
                _add(changes, first, before, lanes.terms)
    return total


@inner
def _count_by_side(
    order: Order, gaps: Floats, values: Floats, row: int, ball: Ball, limits: tuple[float, float]
) -> tuple[int, int]:
    """How many points are within in the block and one candidate and inside in the target, and the other way round."""
    in_block = 0
    in_target = 0
    for step in range(values.shape[0] - 1):
        if order.floors[step] > limits[1]:
            break
        distance = larger(order.least[step], cost(values[order.points[step]], values[row], ball))
        gap = gaps[order.points[step]]
        in_block += (distance <= limits[1]) & (gap <= limits[0])
        in_target += (distance <= limits[0]) & (gap <= limits[1])
    return in_block, in_target


@kernel
def add_one_to_line(
    block: Floats, candidates: Floats, target: Line, rows: Integers, ball: Ball, room: Room, changes: Floats
) -> float:
    """Sum of KSG's terms of `rows` against a continuous target, and how it changes with each candidate."""
    n_samples = block.shape[1]
    gaps = np.empty(n_samples)
    order, lanes = room.order, room.lanes
    n_points = n_samples - 1
    joint = Order(order.points, np.empty(n_points), order.extra, order.floors)
    total = 0.0
    for row in rows:
        _measure_least(block, row, False, ball, room)
        for point in range(n_samples):
            gaps[point] = smaller(abs(target.values[point] - target.values[row]), ball.far)
        # One order serves both spaces: its floors are below the joint distances too.
        _put_in_order(zero(), n_samples, row, room)
        for step in range(n_points):
            joint.least[step] = larger(order.least[step], gaps[order.points[step]])
        before = 0.0
        for start in range(0, candidates.shape[1], LANES):
            group = Group(candidates, start, row)
            _find_nearest(joint, n_points, group, ball.n_neighbors, ball, lanes)
            _count_along(joint, zero(), n_points, group, ball, lanes)
            _keep_counts(lanes)
            _count_along(order, zero(), n_points, group, ball, lanes)
            first = start - LANES
            for lane in range(1 if first < 0 else min(LANES, changes.shape[1] - first)):
                limits = (lanes.limits[0, lane], lanes.limits[1, lane])
                inside, within = int(lanes.kept[0, lane]), int(lanes.kept[1, lane])
                x = (int(lanes.counts[0, lane]), int(lanes.counts[1, lane]))
                y = count_around(target.ascending, target.positions[row], limits, ball.far)
                counts = not_crossed(limits, inside, within, y)
                if crossed(limits, within - inside, x, y):
                    in_x, in_y = _count_by_side(order, gaps, candidates[:, start + lane], row, ball, limits)
                    counts = (inside, in_x, in_y, within)
                lanes.terms[lane] = ksg_term(ball.n_neighbors, counts, x, y, ball.psi)
            if first < 0:
                before = lanes.terms[0]
                total += before
            else:
                _add(changes, first, before, lanes.terms)
    return total
