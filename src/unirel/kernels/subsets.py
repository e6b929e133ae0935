"""Ross's local terms of many blocks of columns that share columns: growing prefixes, and all subsets of a few columns.

Points are sorted by class, and a class is a stretch of them. Distances grow column by column, so blocks that begin with
the same columns share the distances in these. Euclidean distances stay squared throughout.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.arrays import copy_stretch
from unirel.kernels.nearest import insert


@kernel
def _cost(value: float, center: float, far: float, mismatch: float, squared: bool) -> float:
    """What one column adds to a distance, in double precision; from `far` on two places are different levels."""
    difference = abs(value - center)
    cost = np.float64(difference if difference < far else mismatch)
    return cost * cost if squared else cost


@kernel
def _extend(before: Floats, costs: Floats, maximum: bool, after: Floats) -> None:
    """Distances with one more column: the larger of the two, or their sum."""
    if maximum:
        for point in range(before.shape[0]):
            after[point] = before[point] if before[point] > costs[point] else costs[point]
    else:
        for point in range(before.shape[0]):
            after[point] = before[point] + costs[point]


@kernel
def _add_columns(
    columns: Floats, row: int, maximum: bool, squared: bool, far: float, mismatch: float, costs: Floats, total: Floats
) -> None:
    """Extend distances from `row` to every point by some columns."""
    for column in range(columns.shape[0]):
        values = columns[column]
        center = values[row]
        for point in range(values.shape[0]):
            costs[point] = _cost(values[point], center, far, mismatch, squared)
        _extend(total, costs, maximum, total)


@kernel
def _kth_smallest(distances: Floats, nearest: Floats) -> float:
    """The k-th smallest of some distances, k being the length of `nearest`."""
    nearest[:] = np.inf
    for point in range(distances.shape[0]):
        if distances[point] < nearest[-1]:
            insert(nearest, distances[point])
    return nearest[-1]


@kernel
def _count_up_to(distances: Floats, limit: float) -> int:
    count = 0
    for point in range(distances.shape[0]):
        count += distances[point] <= limit
    return count


@kernel
def _ross_term(distances: Floats, begin: int, end: int, tolerance: float, nearest: Floats, psi: Floats) -> float:
    """psi(kt) - psi(m) of one point, whose class stands from `begin` to `end`, the point itself at infinity."""
    own = distances[begin:end]
    limit = _kth_smallest(own, nearest) * (1.0 + tolerance)
    return psi[_count_up_to(own, limit)] - psi[_count_up_to(distances, limit)]


@kernel
def add_nested_terms(
    columns: Floats,
    starts: Integers,
    first: int,
    last: int,
    n_neighbors: int,
    maximum: bool,
    squared: bool,
    far: float,
    mismatch: float,
    tolerance: float,
    psi: Floats,
    sums: Floats,
) -> None:
    """Add to `sums` the terms of the points `first` to `last` in the first column, the first two, and so on.

    `starts` holds the start of every class and the end of the last.
    """
    n_columns, n_samples = columns.shape
    distances = np.empty(n_samples)
    costs = np.empty(n_samples)
    buffer = np.empty(n_neighbors)
    group = 0
    for row in range(first, last):
        while row >= starts[group + 1]:
            group += 1
        begin, end = starts[group], starts[group + 1]
        nearest = buffer[: min(n_neighbors, end - begin - 1)]
        distances[:] = 0.0
        distances[row] = np.inf
        for column in range(n_columns):
            _add_columns(columns[column : column + 1], row, maximum, squared, far, mismatch, costs, distances)
            sums[column] += _ross_term(distances, begin, end, tolerance, nearest, psi)


@kernel
def _choose_points(
    base: Floats, whole: Floats, begin: int, end: int, tolerance: float, nearest: Floats, points: Integers
) -> tuple[int, int]:
    """Write the points that can be within reach in some subset, the own class first; how many of it, and of all.

    No subset is farther than the whole block, so no ball is larger than that of the whole block; and no subset is
    nearer than what all of them share. The slack keeps what rounding could have pushed out of reach.
    """
    reach = _kth_smallest(whole[begin:end], nearest) * (1.0 + tolerance) * (1.0 + 1e-9)
    n_points = 0
    # Near points first: the search for the k-th neighbour then rarely finds a nearer one later.
    for place in np.argsort(whole[begin:end]):
        if base[begin + place] <= reach:
            points[n_points] = begin + place
            n_points += 1
    n_own = n_points
    for point in range(base.shape[0]):
        if base[point] <= reach and not begin <= point < end:
            points[n_points] = point
            n_points += 1
    return n_own, n_points


@kernel
def add_subset_terms(
    always: Floats,
    columns: Floats,
    starts: Integers,
    n_neighbors: int,
    maximum: bool,
    squared: bool,
    far: float,
    mismatch: float,
    tolerance: float,
    psi: Floats,
    subsets: Integers,
    floor: float,
    sums: Floats,
) -> None:
    """Add to `sums` the terms of all points in the columns `always` and each of some subsets of `columns`.

    A subset is a row of ascending positions in `columns`. Successive ones share the distances in the positions they
    begin with, so lexicographic order is quickest. No term is positive: a subset whose sum has fallen below `floor` is
    given up, and its sum becomes minus infinity.
    """
    n_columns, n_samples = columns.shape
    n_subsets, size = subsets.shape
    base = np.empty(n_samples)
    whole = np.empty(n_samples)
    points = np.empty(n_samples, np.int64)
    costs = np.empty((n_columns, n_samples))
    stack = np.empty((size + 1, n_samples))
    path = np.empty(size, np.int64)
    buffer = np.empty(n_neighbors)
    left = np.arange(n_subsets)
    n_left = n_subsets
    group = 0
    for row in range(n_samples):
        while row >= starts[group + 1]:
            group += 1
        begin, end = starts[group], starts[group + 1]
        nearest = buffer[: min(n_neighbors, end - begin - 1)]
        base[:] = 0.0
        base[row] = np.inf
        _add_columns(always, row, maximum, squared, far, mismatch, whole, base)
        copy_stretch(base, 0, n_samples, whole)
        _add_columns(columns, row, maximum, squared, far, mismatch, costs[0], whole)
        n_own, n_points = _choose_points(base, whole, begin, end, tolerance, nearest, points)
        for place in range(n_points):
            point = points[place]
            stack[0, place] = base[point]
            for column in range(n_columns):
                costs[column, place] = _cost(columns[column, point], columns[column, row], far, mismatch, squared)
        path[:] = -1
        n_kept = 0
        for place in range(n_left):
            subset = left[place]
            depth = 0
            while depth < size and path[depth] == subsets[subset, depth]:
                depth += 1
            for level in range(depth, size):
                path[level] = subsets[subset, level]
                _extend(stack[level, :n_points], costs[path[level], :n_points], maximum, stack[level + 1, :n_points])
            sums[subset] += _ross_term(stack[size, :n_points], 0, n_own, tolerance, nearest, psi)
            if sums[subset] >= floor:
                left[n_kept] = subset
                n_kept += 1
            else:
                sums[subset] = -np.inf
        n_left = n_kept
        if n_left == 0:
            break
