"""What every estimate becomes when one candidate joins a block: a few dozen looks per row instead of all rows.

A candidate can only push points away. So, for every row, the others are put once in the order of their distance within
the block, and each candidate walks along that order until the block alone is farther than what it has found.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.line import count_around
from unirel.kernels.nearest import insert
from unirel.kernels.space import CHEBYSHEV, EUCLIDEAN, measure

_N_BUCKETS = 512


@kernel
def _order_by_distance(
    distances: Floats, chosen: Integers, label: int, row: int, order: Integers, floors: Floats
) -> int:
    """Put the rows of one label (all rows if it is negative) roughly in the order of their distance; returns how many.

    They fall into buckets of equal width; `floors` never exceeds the distance of any row from there on.
    """
    lowest = np.inf
    highest = -np.inf
    for point in range(distances.shape[0]):
        if point != row and (label < 0 or chosen[point] == label):
            lowest = min(lowest, distances[point])
            highest = max(highest, distances[point])
    width = (highest - lowest) / _N_BUCKETS
    starts = np.zeros(_N_BUCKETS + 1, np.int64)
    bucket_of = np.empty(distances.shape[0], np.int16)
    for point in range(distances.shape[0]):
        if point != row and (label < 0 or chosen[point] == label):
            bucket = min(_N_BUCKETS - 1, int((distances[point] - lowest) / width)) if width > 0 else 0
            bucket_of[point] = bucket
            starts[bucket + 1] += 1
    for bucket in range(_N_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    n_points = starts[_N_BUCKETS]
    for point in range(distances.shape[0]):
        if point != row and (label < 0 or chosen[point] == label):
            place = starts[bucket_of[point]]
            starts[bucket_of[point]] = place + 1
            order[place] = point
            # Rounding may put a point one bucket too high; half a bucket less is safe.
            floors[place] = lowest + (bucket_of[point] - 0.5) * width
    return n_points


@kernel
def _extended(distance: float, value: float, center: float, metric: int, far: float, mismatch: float) -> float:
    """The distance after one more column."""
    difference = abs(value - center)
    difference = np.float64(difference if difference < far else mismatch)
    if metric == CHEBYSHEV:
        return max(distance, difference)
    return distance + difference * difference if metric == EUCLIDEAN else distance + difference


@kernel
def _kth_along(
    order: Integers,
    floors: Floats,
    n_points: int,
    distances: Floats,
    column: Floats,
    center: float,
    metric: int,
    far: float,
    mismatch: float,
    nearest: Floats,
) -> float:
    """The k-th smallest extended distance along an order, k being the length of `nearest`."""
    nearest[:] = np.inf
    for place in range(n_points):
        if floors[place] > nearest[-1]:
            break
        point = order[place]
        distance = _extended(distances[point], column[point], center, metric, far, mismatch)
        if distance < nearest[-1]:
            insert(nearest, distance)
    return nearest[-1]


@kernel
def _count_along(
    order: Integers,
    floors: Floats,
    n_points: int,
    distances: Floats,
    column: Floats,
    center: float,
    limit: float,
    far: float,
) -> int:
    """How many extended distances are within `limit`, in the maximum norm; `floors` may be below the distances."""
    count = 0
    for place in range(n_points):
        if floors[place] > limit:
            break
        point = order[place]
        count += _extended(distances[point], column[point], center, CHEBYSHEV, far, far) <= limit
    return count


@kernel
def add_one_to_classes(
    block: Floats,
    candidates: Floats,
    labels: Integers,
    sizes: Integers,
    rows: Integers,
    n_neighbors: int,
    metric: int,
    far: float,
    mismatch: float,
    tolerance: float,
    psi: Floats,
    sums: Floats,
    squares: Floats,
) -> float:
    """Ross's local terms of `rows` in a block: their sum, and how it changes with each candidate.

    Adds, for every candidate, the changes to `sums` and their squares to `squares`.
    """
    n_candidates, n_samples = candidates.shape
    distances = np.empty(n_samples)
    own = np.empty(n_samples, np.int64)
    own_floors = np.empty(n_samples)
    everyone = np.empty(n_samples, np.int64)
    floors = np.empty(n_samples)
    nothing = np.zeros(n_samples, candidates.dtype)
    buffer = np.empty(n_neighbors)
    total = 0.0
    for row in rows:
        nearest = buffer[: min(n_neighbors, sizes[labels[row]] - 1)]
        measure(block, row, 0, n_samples, metric, far, mismatch, distances)
        n_own = _order_by_distance(distances, labels, labels[row], row, own, own_floors)
        n_all = _order_by_distance(distances, labels, -1, row, everyone, floors)
        before = 0.0
        for candidate in range(-1, n_candidates):
            column = nothing if candidate < 0 else candidates[candidate]
            center = column[row]
            radius = _kth_along(own, own_floors, n_own, distances, column, center, metric, far, mismatch, nearest)
            limit = radius * (1.0 + tolerance)
            n_same = 0
            n_near = 0
            for place in range(n_all):
                if floors[place] > limit:
                    break
                point = everyone[place]
                within = _extended(distances[point], column[point], center, metric, far, mismatch) <= limit
                n_near += within
                n_same += within and labels[point] == labels[row]
            term = psi[n_same] - psi[n_near]
            if candidate < 0:
                before = term
            else:
                sums[candidate] += term - before
                squares[candidate] += (term - before) ** 2
        total += before
    return total


@kernel
def add_one_to_line(
    block: Floats,
    candidates: Floats,
    target: Floats,
    line: Floats,
    places: Integers,
    rows: Integers,
    n_neighbors: int,
    far: float,
    tolerance: float,
    psi: Floats,
    sums: Floats,
    squares: Floats,
) -> float:
    """KSG's local terms of `rows` against a continuous target, and how they change with each candidate.

    `line` is the sorted target, and `places` says where every row stands on it.
    """
    n_candidates, n_samples = candidates.shape
    distances = np.empty(n_samples)
    joint = np.empty(n_samples)
    order = np.empty(n_samples, np.int64)
    floors = np.empty(n_samples)
    no_labels = np.zeros(n_samples, np.int8)
    nothing = np.zeros(n_samples, candidates.dtype)
    nearest = np.empty(n_neighbors)
    total = 0.0
    for row in rows:
        measure(block, row, 0, n_samples, CHEBYSHEV, far, far, distances)
        n_points = _order_by_distance(distances, no_labels, -1, row, order, floors)
        for point in range(n_samples):
            joint[point] = max(distances[point], min(abs(target[point] - target[row]), far))
        before = 0.0
        for candidate in range(-1, n_candidates):
            column = nothing if candidate < 0 else candidates[candidate]
            center = column[row]
            radius = _kth_along(order, floors, n_points, joint, column, center, CHEBYSHEV, far, far, nearest)
            n_joint = _count_along(order, floors, n_points, joint, column, center, radius * (1.0 + tolerance), far)
            unique = n_joint == n_neighbors
            limit = radius * (1.0 + tolerance)
            if unique:
                limit = np.nextafter(radius * (1.0 - tolerance), 0.0) if radius > 0.0 else -1.0
            n_near = _count_along(order, floors, n_points, distances, column, center, limit, far)
            term = psi[n_joint] - psi[n_near + unique] - psi[count_around(line, places[row], limit, far) + unique]
            if candidate < 0:
                before = term
            else:
                sums[candidate] += term - before
                squares[candidate] += (term - before) ** 2
        total += before
    return total
