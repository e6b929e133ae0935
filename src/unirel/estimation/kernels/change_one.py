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
_N_BUCKETS = 2048
# Rows of the distances of all points. In the order of the rows of the data: in the block, without its farthest column
# if one is to leave, and what that one adds or, in the maximum norm, the distance with it. In the order of the buckets:
# what no later distance is below, the same two distances, and these two with the target as one more column.
_LEAST, _EXTRA, _FLOOR, _BLOCK, _JOINT, _N_DISTANCES = 0, 1, 2, 3, 5, 7
# Rows of what the candidates that walk together know: the distance of one point with each of them, the largest distance
# within their balls and inside, and their smallest distances, which ascend; one more than there are neighbours.
_CHANGED, _OUTER, _INNER, _NEAREST = 0, 1, 2, 3


class Room(NamedTuple):
    """Room to work in, for one row at a time. Made in Python: arrays that a kernel makes take long to compile."""

    distances: NDArray[np.float64]
    bits: NDArray[np.int64]  # those of the distances: as whole numbers they are in the same order
    points: NDArray[np.int32]  # in the order of the buckets
    starts: NDArray[np.int64]  # where a bucket begins; half of the buckets for the points of one class, half for others
    lanes: NDArray[np.float64]
    leaving: bool  # whether a column is to leave, and not to join


def make_room(n_samples: int, n_neighbors: int, leaving: bool) -> Room:
    """Room for one thread."""
    distances, points = np.empty((_N_DISTANCES, n_samples)), np.empty(n_samples, np.int32)
    starts, n_nearest = np.empty(2 * _N_BUCKETS + 1, np.int64), min(n_neighbors, n_samples) + 1
    lanes = np.empty((_NEAREST + n_nearest, LANES))
    return Room(distances, distances.view(np.int64), points, starts, lanes, leaving)


def side_by_side(columns: Floats) -> Floats:
    """Columns in groups, each with a row for every row of the data: one of zeros, which change nothing, and then them.

    Zeros fill up the last group too.
    """
    n_columns, n_samples = columns.shape
    result = np.zeros((n_columns // LANES + 1, n_samples, LANES), columns.dtype)
    for place, column in enumerate(columns, 1):
        result[place // LANES, :, place % LANES] = column
    return result


@inner
def _measure_least(block: Floats, row: int, ball: Ball, room: Room) -> None:
    """Distances from `row`, and if a column is to leave them, what its farthest column adds to each."""
    least, extra = room.distances[_LEAST], room.distances[_EXTRA]
    for point in range(least.shape[0]):
        least[point] = 0.0
        extra[point] = 0.0 if room.leaving else np.inf
    for column in range(block.shape[0]):
        values = block[column]
        center = values[row]
        for point in range(least.shape[0]):
            added = cost(values[point], center, ball)
            # Nothing is subtracted here, so that nothing is lost to rounding where one column is most of it.
            known = smaller(extra[point], added)
            least[point] = larger(least[point], known) if ball.metric == CHEBYSHEV else least[point] + known
            extra[point] = larger(extra[point], added)


@inner
def _put_in_order(begin: int, end: int, row: int, room: Room) -> None:
    """Put the points from `begin` to `end`, and behind them the others, roughly in order, that is in buckets."""
    distances, starts, least = room.distances, room.starts, room.bits[_LEAST]
    base = 0
    for point in range(least.shape[0]):
        lowest = (least[point] >> _SHIFT) - (_N_BUCKETS - 1)
        base = lowest if lowest > base else base
    for bucket in range(starts.shape[0]):
        starts[bucket] = 0
    # Twice over all points: first how many are in each bucket, then, where each bucket begins, who.
    for point in range(least.shape[0]):
        step = (least[point] >> _SHIFT) - base
        bucket = (step if step > 0 else 0) + (0 if begin <= point < end else _N_BUCKETS)
        starts[bucket + 1] += point != row
    for bucket in range(2 * _N_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    for point in range(least.shape[0]):
        if point != row:
            step = (least[point] >> _SHIFT) - base
            bucket = (step if step > 0 else 0) + (0 if begin <= point < end else _N_BUCKETS)
            slot = starts[bucket]
            starts[bucket] = slot + 1
            room.points[slot] = point
            room.bits[_FLOOR, slot] = (base + step) << _SHIFT if step > 0 else 0
            distances[_BLOCK, slot] = distances[_LEAST, point]
            distances[_BLOCK + 1, slot] = distances[_EXTRA, point] if room.leaving else 0.0


@inner
def _changed(least: float, extra: float, value: float, center: float, ball: Ball) -> float:
    """A distance after one more column, where `extra` is 0, or after one less."""
    added = cost(value, center, ball)
    if ball.metric != CHEBYSHEV:
        return least + abs(extra - added)
    # The farthest column, which added no less than that, leaves the second largest difference behind.
    return extra if added < extra else larger(added - extra, least)


@inner
def _sort_in(lanes: Floats, n_rows: int) -> None:
    """Put the changed distance of each candidate into its ascending column; the largest entries drop out."""
    # Four candidates at a time: their distances stay in registers on the way down, and most fours are left alone.
    changed, last = lanes[_CHANGED], lanes[_NEAREST + n_rows - 1]
    for lane in range(0, LANES, 4):
        a, b, c, d = changed[lane], changed[lane + 1], changed[lane + 2], changed[lane + 3]
        if (a < last[lane]) | (b < last[lane + 1]) | (c < last[lane + 2]) | (d < last[lane + 3]):
            for slot in range(_NEAREST, _NEAREST + n_rows):
                kept = lanes[slot]
                old_a, old_b, old_c, old_d = kept[lane], kept[lane + 1], kept[lane + 2], kept[lane + 3]
                kept[lane], kept[lane + 1] = smaller(old_a, a), smaller(old_b, b)
                kept[lane + 2], kept[lane + 3] = smaller(old_c, c), smaller(old_d, d)
                a, b, c, d = larger(a, old_a), larger(b, old_b), larger(c, old_c), larger(d, old_d)


@inner
def _largest(values: Floats) -> float:
    largest = values[0]
    for lane in range(1, LANES):
        largest = larger(values[lane], largest)
    return largest


@inner
def _find_nearest(
    points: Integers, floors: Floats, least: Floats, extra: Floats, last: int, columns: Floats, row: int,
    n_neighbors: int, ball: Ball, lanes: Floats,
) -> None:  # fmt: skip
    """Keep the smallest distances along the first part of an order, and the limits of the balls that reach them."""
    # Arrays one by one: with all of the room for an argument, this takes longer to compile.
    centers, changed, farthest = columns[row], lanes[_CHANGED], lanes[_NEAREST + n_neighbors - 1]
    for slot in range(_NEAREST, _NEAREST + n_neighbors + 1):
        for lane in range(LANES):
            lanes[slot, lane] = np.inf
    reach = np.inf
    # The hot loop: it ends where no later point can be among the nearest of any candidate.
    for step in range(last):
        if floors[step] > reach:
            break
        values = columns[points[step]]
        for lane in range(LANES):
            changed[lane] = _changed(least[step], extra[step], values[lane], centers[lane], ball)
        _sort_in(lanes, (step if step < n_neighbors else n_neighbors) + 1)  # what is below is still infinite
        if step % 4 == 3:
            reach = _largest(farthest) * (1.0 + ball.tolerance)
    for lane in range(LANES):
        lanes[_INNER, lane], lanes[_OUTER, lane] = limits_of(farthest[lane], ball.tolerance)


@inner
def _count_along(
    points: Integers, floors: Floats, least: Floats, extra: Floats, start: int, stop: int, columns: Floats, row: int,
    ball: Ball, lanes: Floats, counts: Floats,
) -> None:  # fmt: skip
    """How many distances along a part of an order are inside the ball of each candidate, and how many within it."""
    centers, inner_limits, outer_limits = columns[row], lanes[_INNER], lanes[_OUTER]
    inside, within = counts[0], counts[1]
    for lane in range(LANES):
        inside[lane] = 0.0
        within[lane] = 0.0
    reach = _largest(outer_limits)
    for step in range(start, stop):
        if floors[step] > reach:
            break
        values = columns[points[step]]
        # Counted in floating point: comparisons of this width then need no conversion.
        for lane in range(LANES):
            distance = _changed(least[step], extra[step], values[lane], centers[lane], ball)
            inside[lane] += 1.0 if distance <= inner_limits[lane] else 0.0
            within[lane] += 1.0 if distance <= outer_limits[lane] else 0.0


@kernel
def _count_in_classes(
    block: Floats, candidates: Floats, classes: Classes, rows: Integers, ball: Ball, room: Room, counts: Floats
) -> None:
    """For each of `rows` and each candidate, count the points of the own class and others inside a ball and within."""
    # The ball reaches the last of the neighbours of the own class.
    points, floors, lanes = room.points, room.distances[_FLOOR], room.lanes
    least, extra = room.distances[_BLOCK], room.distances[_BLOCK + 1]
    for place in range(rows.shape[0]):
        row = rows[place]
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        n_own = end - begin - 1
        n_neighbors = n_own if n_own < ball.n_neighbors else ball.n_neighbors
        _measure_least(block, row, ball, room)
        _put_in_order(begin, end, row, room)
        for group in range(candidates.shape[0]):
            columns = candidates[group]
            _find_nearest(points, floors, least, extra, n_own, columns, row, n_neighbors, ball, lanes)
            # Those of the own class are known from the search, unless some of them tie; then they are counted first.
            slot = 2 * (place * candidates.shape[0] + group)
            tied = False
            for lane in range(LANES):
                # Before the nearest of all stands the inner limit itself, which does not exceed it.
                tied |= lanes[_NEAREST + n_neighbors, lane] <= lanes[_OUTER, lane]
                tied |= lanes[_NEAREST + n_neighbors - 2, lane] > lanes[_INNER, lane]
                counts[slot, 0, lane] = n_neighbors - 1
                counts[slot, 1, lane] = n_neighbors
            for others in range(0 if tied else 1, 2):
                start, stop, found = others * n_own, block.shape[1] - 1 if others else n_own, counts[slot + others]
                _count_along(points, floors, least, extra, start, stop, columns, row, ball, lanes, found)


def change_one_in_classes(
    block: Floats, candidates: Floats, classes: Classes, rows: Integers, ball: Ball, leaving: bool, changes: Floats
) -> float:
    """Sum of Ross's terms of `rows` in a block, and how it changes with each candidate, or without it."""
    # Block and candidates are sorted by class, the candidates are `side_by_side`. If they are leaving, they are columns
    # of the block. Adds, for every candidate, the changes and their squares to the rows of `changes`.
    room = make_room(block.shape[1], ball.n_neighbors, leaving)
    counts = np.empty((2 * len(rows) * len(candidates), 2, LANES))
    _count_in_classes(block, candidates, classes, rows, ball, room, counts)
    by_lane = counts.reshape(len(rows), -1, 2, 2, LANES).transpose(2, 3, 0, 1, 4).reshape(2, 2, len(rows), -1)
    # The block as it is comes first; what fills up the last group is left out.
    own, others = by_lane[..., : 1 + changes.shape[1]].astype(np.int64)
    sizes = np.diff(classes.starts)[classes.labels[rows]]
    terms = ross_terms(np.minimum(ball.n_neighbors, sizes - 1), own, own + others, ball.psi)
    change = terms[:, 1:] - terms[:, :1]
    # Row by row, so that no sum depends on how many candidates there are, as it would if numpy added them its own way.
    changes += np.add.accumulate([change, change * change], axis=1)[:, -1]
    return float(np.add.accumulate(terms[:, 0])[-1])


@inner
def _count_by_side(
    room: Room, gaps: Floats, values: Floats, row: int, ball: Ball, limits: tuple[float, float]
) -> tuple[int, int]:
    """How many points are within in the block and inside in the target, and the other way round, for one candidate."""
    in_block = 0
    in_target = 0
    for step in range(values.shape[0] - 1):
        if room.distances[_FLOOR, step] > limits[1]:
            break
        point = room.points[step]
        least, extra = room.distances[_BLOCK, step], room.distances[_BLOCK + 1, step]
        distance = _changed(least, extra, values[point], values[row], ball)
        in_block += (distance <= limits[1]) & (gaps[point] <= limits[0])
        in_target += (distance <= limits[0]) & (gaps[point] <= limits[1])
    return in_block, in_target


@kernel
def change_one_in_line(
    block: Floats, candidates: Floats, target: Line, rows: Integers, ball: Ball, room: Room, changes: Floats
) -> float:
    """The same of KSG's terms against a continuous target, in the maximum norm."""
    n_samples = block.shape[1]
    n_points = n_samples - 1
    gaps = np.empty(n_samples)
    points, floors, lanes = room.points, room.distances[_FLOOR], room.lanes
    least, extra = room.distances[_BLOCK], room.distances[_BLOCK + 1]
    joint_least, joint_extra = room.distances[_JOINT], room.distances[_JOINT + 1]
    in_joint, in_block = np.empty((2, LANES)), np.empty((2, LANES))
    total = 0.0
    for row in rows:
        _measure_least(block, row, ball, room)
        for point in range(n_samples):
            gaps[point] = smaller(abs(target.values[point] - target.values[row]), ball.far)
        # One order serves both spaces: its floors are below the joint distances too.
        _put_in_order(zero(), n_samples, row, room)
        for step in range(n_points):
            gap = gaps[points[step]]
            joint_least[step] = larger(least[step], gap)
            joint_extra[step] = larger(extra[step], gap) if room.leaving else 0.0
        before = 0.0
        for group in range(candidates.shape[0]):
            columns = candidates[group]
            _find_nearest(
                points, floors, joint_least, joint_extra, n_points, columns, row, ball.n_neighbors, ball, lanes
            )
            _count_along(
                points, floors, joint_least, joint_extra, zero(), n_points, columns, row, ball, lanes, in_joint
            )
            _count_along(points, floors, least, extra, zero(), n_points, columns, row, ball, lanes, in_block)
            for lane in range(min(LANES, 1 + changes.shape[1] - group * LANES)):
                limits = (lanes[_INNER, lane], lanes[_OUTER, lane])
                inside, within = int(in_joint[0, lane]), int(in_joint[1, lane])
                x = (int(in_block[0, lane]), int(in_block[1, lane]))
                y = count_around(target.ascending, target.positions[row], limits, ball.far)
                counts = not_crossed(limits, inside, within, y)
                if crossed(limits, within - inside, x, y):
                    in_x, in_y = _count_by_side(room, gaps, columns[:, lane], row, ball, limits)
                    counts = (inside, in_x, in_y, within)
                term = ksg_term(ball.n_neighbors, counts, x, y, ball.psi)
                candidate = group * LANES + lane - 1
                if candidate < 0:  # the block as it is comes first
                    before = term
                    total += before
                else:
                    changes[0, candidate] += term - before
                    changes[1, candidate] += (term - before) * (term - before)
    return total
