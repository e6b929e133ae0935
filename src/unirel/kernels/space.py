"""Neighbours in spaces of any dimension: blocks of columns in one of three metrics.

A block is an array of columns, all in the order of the first of them, the anchor. Whatever lies farther away along the
anchor than the distance in question need not be looked at; what is left is a stretch of contiguous points, measured
column by column. Euclidean distances stay squared throughout.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.line import end_within, first_within
from unirel.kernels.nearest import insert

CHEBYSHEV, MANHATTAN, EUCLIDEAN = 0, 1, 2


@kernel
def _larger(a: float, b: float) -> float:
    """Like max, but a plain select, which the compiler turns into vector code."""
    return a if a > b else b


@kernel
def _difference(value: float, center: float, far: float, mismatch: float) -> float:
    """How far two places in a column are apart, in double precision; from `far` on they are different levels."""
    difference = abs(value - center)
    return np.float64(difference if difference < far else mismatch)


@kernel
def _measure_chebyshev(block: Floats, point: int, start: int, stop: int, far: float, distances: Floats) -> None:
    """Largest difference to `point`, four columns a step to spare memory traffic, cut off at `far`."""
    n_columns = block.shape[0]
    whole = n_columns - n_columns % 4
    size = stop - start
    result = distances[start:stop]
    result[:] = 0
    for column in range(0, whole, 4):
        first, second = block[column, start:stop], block[column + 1, start:stop]
        third, fourth = block[column + 2, start:stop], block[column + 3, start:stop]
        a, b, c, d = block[column, point], block[column + 1, point], block[column + 2, point], block[column + 3, point]
        for other in range(size):
            left = _larger(abs(first[other] - a), abs(second[other] - b))
            right = _larger(abs(third[other] - c), abs(fourth[other] - d))
            result[other] = _larger(result[other], _larger(left, right))
    for column in range(whole, n_columns):
        values = block[column, start:stop]
        center = block[column, point]
        for other in range(size):
            result[other] = _larger(result[other], abs(values[other] - center))
    for other in range(size):
        result[other] = result[other] if result[other] < far else far


@kernel
def _measure_manhattan(
    block: Floats, point: int, start: int, stop: int, far: float, mismatch: float, distances: Floats
) -> None:
    """Sum of the differences to `point`."""
    size = stop - start
    result = distances[start:stop]
    result[:] = 0
    for column in range(block.shape[0]):
        values = block[column, start:stop]
        center = block[column, point]
        for other in range(size):
            result[other] += _difference(values[other], center, far, mismatch)


@kernel
def _measure_euclidean(
    block: Floats, point: int, start: int, stop: int, far: float, mismatch: float, distances: Floats
) -> None:
    """Sum of the squared differences to `point`."""
    size = stop - start
    result = distances[start:stop]
    result[:] = 0
    for column in range(block.shape[0]):
        values = block[column, start:stop]
        center = block[column, point]
        for other in range(size):
            difference = _difference(values[other], center, far, mismatch)
            result[other] += difference * difference


@kernel
def measure(
    block: Floats, point: int, start: int, stop: int, metric: int, far: float, mismatch: float, distances: Floats
) -> None:
    """Write the distances from `point` to the points `start` to `stop`."""
    if metric == CHEBYSHEV:
        _measure_chebyshev(block, point, start, stop, far, distances)
    elif metric == MANHATTAN:
        _measure_manhattan(block, point, start, stop, far, mismatch, distances)
    else:
        _measure_euclidean(block, point, start, stop, far, mismatch, distances)


@kernel
def _keep_nearest(distances: Floats, start: int, stop: int, point: int, nearest: Floats) -> None:
    """Keep the smallest of `distances[start:stop]`, but for `point` itself, in the ascending `nearest`."""
    for other in range(start, stop):
        if distances[other] < nearest[-1] and other != point:
            insert(nearest, distances[other])


@kernel
def _count_up_to(distances: Floats, start: int, stop: int, limit: float) -> int:
    stretch = distances[start:stop]
    count = 0
    for other in range(stop - start):
        count += stretch[other] <= limit
    return count


@kernel
def _along_anchor(limit: float, metric: int) -> float:
    """How far a point within `limit` can be away along the anchor; the root must not round below the true one."""
    return np.sqrt(limit) * (1.0 + 1e-12) if metric == EUCLIDEAN else limit


@kernel
def _search_own_group(
    block: Floats,
    point: int,
    begin: int,
    end: int,
    anchored: bool,
    n_neighbors: int,
    metric: int,
    far: float,
    mismatch: float,
    tolerance: float,
    distances: Floats,
) -> tuple[float, int]:
    """Distance from `point` to its n_neighbors-th neighbour among the points `begin` to `end`, and how many lie within.

    A first stretch around the point bounds the distance, and the bound says how far along the anchor to look.
    """
    anchor = block[0]
    half = max(n_neighbors + 1, 32, int((end - begin) ** (2 / 3)) // 2) if anchored else end - begin
    start = max(begin, point - half)
    stop = min(end, point + half + 1)
    nearest = np.full(n_neighbors, np.inf)
    measure(block, point, start, stop, metric, far, mismatch, distances)
    _keep_nearest(distances, start, stop, point, nearest)
    if anchored:
        reach = _along_anchor(nearest[-1] * (1.0 + tolerance), metric)
        lower = first_within(anchor, begin, start, anchor[point], reach)
        upper = end_within(anchor, stop, end, anchor[point], reach)
        measure(block, point, lower, start, metric, far, mismatch, distances)
        _keep_nearest(distances, lower, start, point, nearest)
        measure(block, point, stop, upper, metric, far, mismatch, distances)
        _keep_nearest(distances, stop, upper, point, nearest)
        start, stop = lower, upper
    return nearest[-1], _count_up_to(distances, start, stop, nearest[-1] * (1.0 + tolerance)) - 1


@kernel
def _count_range(
    block: Floats,
    point: int,
    begin: int,
    end: int,
    anchored: bool,
    limit: float,
    metric: int,
    far: float,
    mismatch: float,
    distances: Floats,
) -> int:
    """How many of the points `begin` to `end` lie within `limit` of `point`."""
    if anchored:
        reach = _along_anchor(limit, metric)
        anchor = block[0]
        # Both ends are searched in the whole range: `point` may stand outside it, in another group.
        lower = first_within(anchor, begin, end, anchor[point], reach)
        upper = end_within(anchor, lower, end, anchor[point], reach)
    else:
        lower, upper = begin, end
    measure(block, point, lower, upper, metric, far, mismatch, distances)
    return _count_up_to(distances, lower, upper, limit)


@kernel
def find_neighbors(
    block: Floats,
    starts: Integers,
    first: int,
    last: int,
    anchored: bool,
    n_neighbors: int,
    metric: int,
    far: float,
    mismatch: float,
    tolerance: float,
    distances: Floats,
    radius: Floats,
    same: Integers,
    everyone: Integers,
) -> None:
    """Neighbours of the points `first` to `last` of a block sorted by group and, within a group, by its first column.

    Writes the distance to the n_neighbors-th neighbour in the own group, how many others of the own group lie within
    it, and how many others of all groups. `starts` holds the start of every group and the end of the last.
    """
    n_groups = starts.shape[0] - 1
    group = 0
    for point in range(first, last):
        while point >= starts[group + 1]:
            group += 1
        begin = starts[group]
        end = starts[group + 1]
        n_inside = min(n_neighbors, end - begin - 1)
        radius[point], same[point] = _search_own_group(
            block, point, begin, end, anchored, n_inside, metric, far, mismatch, tolerance, distances
        )
        limit = radius[point] * (1.0 + tolerance)
        count = same[point]
        for other in range(n_groups):
            if other != group:
                count += _count_range(
                    block, point, starts[other], starts[other + 1], anchored, limit, metric, far, mismatch, distances
                )
        everyone[point] = count


@kernel
def count_neighbors(
    block: Floats,
    limits: Floats,
    first: int,
    last: int,
    anchored: bool,
    far: float,
    distances: Floats,
    counts: Integers,
) -> None:
    """How many others lie within its limit of each of the points `first` to `last`, in the maximum norm."""
    for point in range(first, last):
        if limits[point] < 0.0:
            counts[point] = 0
        else:
            counts[point] = (
                _count_range(block, point, 0, block.shape[1], anchored, limits[point], CHEBYSHEV, far, far, distances)
                - 1
            )
