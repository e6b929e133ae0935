"""What every estimate becomes when one column joins a block or leaves it: a few dozen looks per row instead of all.

For every row, the others are put once in the order of the least distance that any change can leave them at. Then
candidates walk along that order until all that follows is farther than what they have found. Many candidates walk
together, side by side in one row of the array, so that every inner loop is plain vector code.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import Classes, Line, count_around
from unirel.estimation.kernels.metric import CHEBYSHEV, Ball, cost, larger, smaller
from unirel.estimation.kernels.ties import crossed, ksg_term, limits_of, not_crossed, ross_terms

# Candidates that walk together: few enough to stay in the nearest cache, many enough for long inner loops.
LANES = 64
# Buckets are steps of the leading bits of a distance, 64 to an octave: as fine for a few near points as for many far
# ones. There are enough for 32 octaves below the largest distance; what is nearer still shares the first bucket.
_SHIFT = 46
N_BUCKETS = 2048
# Rows of what the candidates that walk together know: the distance of one point with each of them, the largest distance
# within their balls and inside, and their smallest distances, which ascend; one more than there are neighbours.
CHANGED, OUTER, INNER, NEAREST = 0, 1, 2, 3


class Order(NamedTuple):
    """Points roughly in the order of their least distance."""

    points: NDArray[np.int32]
    least: NDArray[np.float64]  # the distance in the block or, if a column is to leave, without its farthest column
    extra: NDArray[np.float64]  # what that column adds or, in the maximum norm, the distance with it; 0 if one joins
    floors: NDArray[np.float64]  # no later least distance is below
    leaving: bool  # whether a column is to leave, and not to join


class Room(NamedTuple):
    """Room to work in, for one row at a time. Made in Python: arrays that a kernel makes take long to compile."""

    least: NDArray[np.float64]  # of all points, in the order of the rows
    extra: NDArray[np.float64]
    bits: NDArray[np.int64]  # those of the least distances: as whole numbers they are in the same order
    order: Order
    floor_bits: NDArray[np.int64]
    starts: NDArray[np.int64]  # where a bucket begins; half of the buckets for the points of one class, half for others
    lanes: NDArray[np.float64]


@inner
def _measure_least(block: Floats, row: int, leaving: bool, ball: Ball, least: Floats, extra: Floats) -> None:
    """Distances from `row`, and if a column is to leave them, what its farthest column adds to each."""
    for point in range(least.shape[0]):
        least[point] = 0.0
        extra[point] = 0.0
    for column in range(block.shape[0]):
        values = block[column]
        center = values[row]
        for point in range(least.shape[0]):
            added = cost(values[point], center, ball)
            # Nothing is subtracted here, so that nothing is lost to rounding where one column is most of it.
            known = smaller(extra[point], added) if leaving else added
            least[point] = larger(least[point], known) if ball.metric == CHEBYSHEV else least[point] + known
            extra[point] = larger(extra[point], added) if leaving else 0.0


@inner
def _put_in_order(begin: int, end: int, row: int, room: Room) -> None:
    """Put the points from `begin` to `end`, and behind them the others, roughly in order, that is in buckets."""
    bits, starts, order = room.bits, room.starts, room.order
    base = 0
    for point in range(bits.shape[0]):
        lowest = (bits[point] >> _SHIFT) - (N_BUCKETS - 1)
        base = lowest if lowest > base else base
    for bucket in range(starts.shape[0]):
        starts[bucket] = 0
    # Twice over all points: first how many are in each bucket, then, where each bucket begins, who.
    for point in range(bits.shape[0]):
        step = (bits[point] >> _SHIFT) - base
        bucket = (step if step > 0 else 0) + (0 if begin <= point < end else N_BUCKETS)
        starts[bucket + 1] += point != row
    for bucket in range(2 * N_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    for point in range(bits.shape[0]):
        if point != row:
            step = (bits[point] >> _SHIFT) - base
            bucket = (step if step > 0 else 0) + (0 if begin <= point < end else N_BUCKETS)
            slot = starts[bucket]
            starts[bucket] = slot + 1
            order.points[slot] = point
            order.least[slot] = room.least[point]
            order.extra[slot] = room.extra[point]
            room.floor_bits[slot] = (base + step) << _SHIFT if step > 0 else 0


@inner
def _changed(least: float, extra: float, value: float, center: float, leaving: bool, ball: Ball) -> float:
    """A distance after one more column or, if it is leaving, after one less."""
    added = cost(value, center, ball)
    if ball.metric != CHEBYSHEV:
        return least + abs(extra - added)
    # The farthest column leaves the second largest difference behind, any other one the largest.
    return (extra if added < extra else least) if leaving else larger(added, least)


@inner
def _sort_in(lanes: Floats, n_rows: int) -> None:
    """Put the changed distance of each candidate into its ascending column; the largest entries drop out.

    Four candidates at a time: their distances stay in registers on the way down, and most fours are left alone.
    """
    changed, last = lanes[CHANGED], lanes[NEAREST + n_rows - 1]
    for lane in range(0, LANES, 4):
        a, b, c, d = changed[lane], changed[lane + 1], changed[lane + 2], changed[lane + 3]
        if (a < last[lane]) | (b < last[lane + 1]) | (c < last[lane + 2]) | (d < last[lane + 3]):
            for slot in range(NEAREST, NEAREST + n_rows):
                kept = lanes[slot, lane : lane + 4]
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
def _find_nearest(
    order: Order, last: int, columns: Floats, row: int, n_neighbors: int, ball: Ball, lanes: Floats
) -> None:
    """Keep the smallest distances along the first part of an order, and the limits of the balls that reach them."""
    centers, changed = columns[row], lanes[CHANGED]
    for slot in range(NEAREST, NEAREST + n_neighbors + 1):
        for lane in range(LANES):
            lanes[slot, lane] = np.inf
    farthest = lanes[NEAREST + n_neighbors - 1]
    reach = np.inf
    # The hot loop: it ends where no later point can be among the nearest of any candidate.
    for step in range(last):
        if order.floors[step] > reach:
            break
        values, least, extra = columns[order.points[step]], order.least[step], order.extra[step]
        for lane in range(LANES):
            changed[lane] = _changed(least, extra, values[lane], centers[lane], order.leaving, ball)
        _sort_in(lanes, (step if step < n_neighbors else n_neighbors) + 1)  # what is below is still infinite
        if step % 4 == 3:
            reach = _largest(farthest) * (1.0 + ball.tolerance)
    for lane in range(LANES):
        lanes[INNER, lane], lanes[OUTER, lane] = limits_of(farthest[lane], ball.tolerance)


@inner
def _count_along(
    order: Order, start: int, stop: int, columns: Floats, row: int, ball: Ball, lanes: Floats, counts: Floats
) -> None:
    """How many distances along a part of an order are inside the ball of each candidate, and how many within it."""
    centers, inner_limits, outer_limits = columns[row], lanes[INNER], lanes[OUTER]
    inside, within = counts[0], counts[1]
    for lane in range(LANES):
        inside[lane] = 0.0
        within[lane] = 0.0
    reach = _largest(outer_limits)
    for step in range(start, stop):
        if order.floors[step] > reach:
            break
        values, least, extra = columns[order.points[step]], order.least[step], order.extra[step]
        # Counted in floating point: comparisons of this width then need no conversion.
        for lane in range(LANES):
            distance = _changed(least, extra, values[lane], centers[lane], order.leaving, ball)
            inside[lane] += 1.0 if distance <= inner_limits[lane] else 0.0
            within[lane] += 1.0 if distance <= outer_limits[lane] else 0.0


@inner
def _know_unless_tied(n_neighbors: int, lanes: Floats, counts: Floats) -> int:
    """Write down how many of the nearest are inside and within; 0 if some candidate has to count because of a tie."""
    tied = False
    for lane in range(LANES):
        # Before the nearest of all stands the inner limit itself, which does not exceed it.
        tied |= lanes[NEAREST + n_neighbors, lane] <= lanes[OUTER, lane]
        tied |= lanes[NEAREST + n_neighbors - 2, lane] > lanes[INNER, lane]
        counts[0, lane] = n_neighbors - 1
        counts[1, lane] = n_neighbors
    return 0 if tied else 1


@kernel
def _count_in_classes(
    block: Floats, candidates: Floats, classes: Classes, rows: Integers, ball: Ball, room: Room, counts: Floats
) -> None:
    """For each of `rows` and each candidate, count the points of the own class and others inside a ball and within.

    The ball reaches the last of the neighbours of the own class.
    """
    order, lanes = room.order, room.lanes
    n_points = block.shape[1] - 1
    for place in range(rows.shape[0]):
        row = rows[place]
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        n_own = end - begin - 1
        n_neighbors = n_own if n_own < ball.n_neighbors else ball.n_neighbors
        _measure_least(block, row, order.leaving, ball, room.least, room.extra)
        _put_in_order(begin, end, row, room)
        for group in range(candidates.shape[0]):
            columns = candidates[group]
            _find_nearest(order, n_own, columns, row, n_neighbors, ball, lanes)
            # Those of the own class are known from the search, unless some of them tie; then they are counted first.
            slot = 2 * (place * candidates.shape[0] + group)
            for others in range(_know_unless_tied(n_neighbors, lanes, counts[slot]), 2):
                stop = n_points if others else n_own
                _count_along(order, others * n_own, stop, columns, row, ball, lanes, counts[slot + others])


def change_one_in_classes(
    block: Floats, candidates: Floats, classes: Classes, rows: Integers, ball: Ball, room: Room, changes: Floats
) -> float:
    """Sum of Ross's terms of `rows` in a block, and how it changes with each candidate, or without it.

    Block and candidates are sorted by class, the candidates are `side_by_side`. If they are leaving, they are columns
    of the block. Adds, for every candidate, the changes and their squares to the rows of `changes`.
    """
    counts = np.empty((2 * len(rows) * len(candidates), 2, LANES))
    _count_in_classes(block, candidates, classes, rows, ball, room, counts)
    by_lane = counts.reshape(len(rows), -1, 2, 2, LANES).transpose(2, 3, 0, 1, 4).reshape(2, 2, len(rows), -1)
    # The block as it is comes first, in a group of its own; what fills up the last group is left out.
    own, others = np.take(by_lane, np.r_[0, LANES : LANES + changes.shape[1]], axis=-1).astype(np.int64)
    sizes = np.diff(classes.starts)[classes.labels[rows]]
    terms = ross_terms(np.minimum(ball.n_neighbors, sizes - 1), own, own + others, ball.psi)
    change = terms[:, 1:] - terms[:, :1]
    # Row by row, so that no sum depends on how many candidates there are, as it would if numpy added them its own way.
    changes += np.add.accumulate([change, change * change], axis=1)[:, -1]
    return float(np.add.accumulate(terms[:, 0])[-1])


@inner
def _count_by_side(
    order: Order, gaps: Floats, values: Floats, row: int, ball: Ball, limits: tuple[float, float]
) -> tuple[int, int]:
    """How many points are within in the block and inside in the target, and the other way round, for one candidate."""
    in_block = 0
    in_target = 0
    for step in range(values.shape[0] - 1):
        if order.floors[step] > limits[1]:
            break
        point = order.points[step]
        distance = _changed(order.least[step], order.extra[step], values[point], values[row], order.leaving, ball)
        in_block += (distance <= limits[1]) & (gaps[point] <= limits[0])
        in_target += (distance <= limits[0]) & (gaps[point] <= limits[1])
    return in_block, in_target


@kernel
def change_one_in_line(
    block: Floats, candidates: Floats, target: Line, rows: Integers, ball: Ball, room: Room, changes: Floats
) -> float:
    """The same of KSG's terms against a continuous target, in the maximum norm."""
    n_samples = block.shape[1]
    gaps = np.empty(n_samples)
    order, lanes = room.order, room.lanes
    n_points = n_samples - 1
    joint = Order(order.points, np.empty(n_points), np.empty(n_points), order.floors, order.leaving)
    in_joint, in_block = np.empty((2, LANES)), np.empty((2, LANES))
    total = 0.0
    for row in rows:
        _measure_least(block, row, order.leaving, ball, room.least, room.extra)
        for point in range(n_samples):
            gaps[point] = smaller(abs(target.values[point] - target.values[row]), ball.far)
        # One order serves both spaces: its floors are below the joint distances too.
        _put_in_order(zero(), n_samples, row, room)
        for step in range(n_points):
            gap = gaps[order.points[step]]
            joint.least[step] = larger(order.least[step], gap)
            joint.extra[step] = larger(order.extra[step], gap)
        before = 0.0
        for group in range(candidates.shape[0]):
            columns = candidates[group]
            _find_nearest(joint, n_points, columns, row, ball.n_neighbors, ball, lanes)
            _count_along(joint, zero(), n_points, columns, row, ball, lanes, in_joint)
            _count_along(order, zero(), n_points, columns, row, ball, lanes, in_block)
            first = (group - 1) * LANES  # the block as it is comes first
            for lane in range(1 if first < 0 else min(LANES, changes.shape[1] - first)):
                limits = (lanes[INNER, lane], lanes[OUTER, lane])
                inside, within = int(in_joint[0, lane]), int(in_joint[1, lane])
                x = (int(in_block[0, lane]), int(in_block[1, lane]))
                y = count_around(target.ascending, target.positions[row], limits, ball.far)
                counts = not_crossed(limits, inside, within, y)
                if crossed(limits, within - inside, x, y):
                    in_x, in_y = _count_by_side(order, gaps, columns[:, lane], row, ball, limits)
                    counts = (inside, in_x, in_y, within)
                term = ksg_term(ball.n_neighbors, counts, x, y, ball.psi)
                if first < 0:
                    before = term
                    total += before
                else:
                    changes[0, first + lane] += term - before
                    changes[1, first + lane] += (term - before) * (term - before)
    return total
