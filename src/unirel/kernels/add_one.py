"""What every estimate becomes when one candidate joins a block: a few dozen looks per row instead of all rows.

A candidate can only push points away. So, for every row, the others are put once in the order of their distance within
the block, and candidates walk along that order until the block alone is farther than what they have found. Many
candidates walk together, side by side in one row of the array, so that every inner loop is plain vector code.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.line import count_around
from unirel.kernels.space import CHEBYSHEV, EUCLIDEAN, measure

# Candidates that walk together: few enough to stay in the nearest cache, many enough for long inner loops.
LANES = 64
# Buckets are steps of the leading bits of a distance, 64 to an octave: as fine for a few near points as for many far
# ones. There are enough for 32 octaves below the largest distance; what is nearer still shares the first bucket.
_SHIFT = 46
_N_BUCKETS = 2048


def side_by_side(columns: Floats) -> Floats:
    """Floats as columns of an array with a row for every row of the data, filled up with zeros to whole lanes."""
    n_columns, n_samples = columns.shape
    result = np.zeros((n_samples, -(-n_columns // LANES) * LANES), columns.dtype)
    result[:, :n_columns] = columns.T
    return result


@kernel
def _order_by_distance(distances: Floats, chosen: Integers, points: Integers, near: Floats, floors: Floats) -> None:
    """Put the chosen rows roughly in the order of their distance, that is into buckets.

    Writes the rows, their distances, and floors that no distance from there on is below.
    """
    bits = distances.view(np.int64)  # the bits of positive numbers are in the order of the numbers
    floor_bits = floors.view(np.int64)
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
            place = starts[bucket]
            starts[bucket] = place + 1
            points[place] = point
            near[place] = distances[point]
            floor_bits[place] = (base + bucket) << _SHIFT if bucket > 0 else 0


@kernel
def _extend(
    distance: float, values: Floats, centers: Floats, metric: int, far: float, mismatch: float, extended: Floats
) -> None:
    """The distance after one more column, for each candidate."""
    if metric == CHEBYSHEV:
        for lane in range(LANES):
            difference = np.float64(abs(values[lane] - centers[lane]))
            cost = difference if difference < far else mismatch
            extended[lane] = cost if cost > distance else distance
    elif metric == EUCLIDEAN:
        for lane in range(LANES):
            difference = np.float64(abs(values[lane] - centers[lane]))
            cost = difference if difference < far else mismatch
            extended[lane] = distance + cost * cost
    else:
        for lane in range(LANES):
            difference = np.float64(abs(values[lane] - centers[lane]))
            cost = difference if difference < far else mismatch
            extended[lane] = distance + cost


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
                kept[0] = old_a if old_a < a else a
                kept[1] = old_b if old_b < b else b
                kept[2] = old_c if old_c < c else c
                kept[3] = old_d if old_d < d else d
                a = a if old_a < a else old_a
                b = b if old_b < b else old_b
                c = c if old_c < c else old_c
                d = d if old_d < d else old_d


@kernel
def _largest(values: Floats) -> float:
    largest = values[0]
    for lane in range(1, LANES):
        largest = values[lane] if values[lane] > largest else largest
    return largest


@kernel
def _find_nearest(
    points: Integers,
    near: Floats,
    floors: Floats,
    start: int,
    stop: int,
    candidates: Floats,
    first: int,
    centers: Floats,
    metric: int,
    far: float,
    mismatch: float,
    tolerance: float,
    nearest: Floats,
    extended: Floats,
) -> None:
    """Keep the smallest extended distances along an order, in ascending rows of `nearest`, one column a candidate.

    All but the last row hold the neighbours, and the last one tells whether there is a tie.
    """
    nearest[:] = np.inf
    reach = np.inf
    for place in range(start, stop):
        if floors[place] > reach:
            break
        values = candidates[points[place], first : first + LANES]
        _extend(near[place], values, centers, metric, far, mismatch, extended)
        _sort_in(nearest[: min(place - start + 1, nearest.shape[0])], extended)  # what is below is still infinite
        if (place - start) % 4 == 3:
            reach = _largest(nearest[nearest.shape[0] - 2]) * (1.0 + tolerance)


@kernel
def _count_within(
    points: Integers,
    near: Floats,
    floors: Floats,
    start: int,
    stop: int,
    candidates: Floats,
    first: int,
    centers: Floats,
    metric: int,
    far: float,
    mismatch: float,
    limits: Floats,
    extended: Floats,
    counts: Floats,
) -> None:
    """How many extended distances along an order are within the limit of each candidate."""
    counts[:] = 0.0
    largest = _largest(limits)
    for place in range(start, stop):
        if floors[place] > largest:
            break
        values = candidates[points[place], first : first + LANES]
        _extend(near[place], values, centers, metric, far, mismatch, extended)
        for lane in range(LANES):
            counts[lane] += 1.0 if extended[lane] <= limits[lane] else 0.0


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

    Adds, for every candidate, the changes to `sums` and their squares to `squares`. `candidates` has a row for every
    row of the data, and columns for the candidates and some zeros, a multiple of `LANES` in all.
    """
    n_samples = block.shape[1]
    distances = np.empty(n_samples)
    chosen = np.empty(n_samples, np.bool_)
    # The own class first, then the others.
    points = np.empty(n_samples - 1, np.int32)
    near = np.empty(n_samples - 1)
    floors = np.empty(n_samples - 1)
    same = np.empty(LANES)
    others = np.empty(LANES)
    extended = np.empty(LANES)
    limits = np.empty(LANES)
    buffer = np.empty((n_neighbors + 1, LANES))
    nothing = np.zeros((n_samples, LANES), candidates.dtype)
    total = 0.0
    for row in rows:
        n_own = sizes[labels[row]] - 1
        nearest = buffer[: min(n_neighbors, n_own) + 1]
        measure(block, row, 0, n_samples, metric, far, mismatch, distances)
        for point in range(n_samples):
            chosen[point] = labels[point] == labels[row] and point != row
        _order_by_distance(distances, chosen, points[:n_own], near[:n_own], floors[:n_own])
        for point in range(n_samples):
            chosen[point] = labels[point] != labels[row]
        _order_by_distance(distances, chosen, points[n_own:], near[n_own:], floors[n_own:])
        before = 0.0
        for first in range(-LANES, candidates.shape[1], LANES):
            alone = first < 0  # the block without any candidate comes first
            values = nothing if alone else candidates
            place = 0 if alone else first
            centers = values[row, place : place + LANES]
            _find_nearest(
                points, near, floors, 0, n_own, values, place, centers, metric, far, mismatch, tolerance,
                nearest, extended,
            )  # fmt: skip
            tied = False
            for lane in range(LANES):
                limits[lane] = nearest[-2, lane] * (1.0 + tolerance)
                tied |= nearest[-1, lane] <= limits[lane]
            same[:] = nearest.shape[0] - 1
            if tied:
                _count_within(
                    points, near, floors, 0, n_own, values, place, centers, metric, far, mismatch, limits,
                    extended, same,
                )  # fmt: skip
            _count_within(
                points, near, floors, n_own, n_samples - 1, values, place, centers, metric, far, mismatch, limits,
                extended, others,
            )  # fmt: skip
            if alone:
                before = psi[int(same[0])] - psi[int(same[0] + others[0])]
                total += before
                continue
            for lane in range(min(LANES, sums.shape[0] - first)):
                change = psi[int(same[lane])] - psi[int(same[lane] + others[lane])] - before
                sums[first + lane] += change
                squares[first + lane] += change * change
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

    `line` is the sorted target, and `places` says where every row stands on it; `candidates` as for classes.
    """
    n_samples = block.shape[1]
    n_others = n_samples - 1
    distances = np.empty(n_samples)
    chosen = np.empty(n_samples, np.bool_)
    points = np.empty(n_others, np.int32)
    near = np.empty(n_others)
    joint = np.empty(n_others)
    floors = np.empty(n_others)
    within = np.empty(LANES)
    beside = np.empty(LANES)
    extended = np.empty(LANES)
    limits = np.empty(LANES)
    nearest = np.empty((n_neighbors + 1, LANES))
    nothing = np.zeros((n_samples, LANES), candidates.dtype)
    total = 0.0
    for row in rows:
        measure(block, row, 0, n_samples, CHEBYSHEV, far, far, distances)
        chosen[:] = True
        chosen[row] = False
        _order_by_distance(distances, chosen, points, near, floors)
        for other in range(n_others):
            joint[other] = max(near[other], min(abs(target[points[other]] - target[row]), far))
        before = 0.0
        for first in range(-LANES, candidates.shape[1], LANES):
            alone = first < 0
            values = nothing if alone else candidates
            place = 0 if alone else first
            centers = values[row, place : place + LANES]
            _find_nearest(
                points, joint, floors, 0, n_others, values, place, centers, CHEBYSHEV, far, far, tolerance,
                nearest, extended,
            )  # fmt: skip
            for lane in range(LANES):
                limits[lane] = nearest[-2, lane] * (1.0 + tolerance)
            _count_within(
                points, joint, floors, 0, n_others, values, place, centers, CHEBYSHEV, far, far, limits,
                extended, within,
            )  # fmt: skip
            for lane in range(LANES):
                if within[lane] == n_neighbors:
                    radius = nearest[-2, lane]
                    limits[lane] = np.nextafter(radius * (1.0 - tolerance), 0.0) if radius > 0.0 else -1.0
            _count_within(
                points, near, floors, 0, n_others, values, place, centers, CHEBYSHEV, far, far, limits,
                extended, beside,
            )  # fmt: skip
            for lane in range(LANES):
                unique = within[lane] == n_neighbors
                n_apart = count_around(line, places[row], limits[lane], far)
                term = psi[int(within[lane])] - psi[int(beside[lane]) + unique] - psi[n_apart + unique]
                if alone:
                    before = term
                    total += term
                    break
                if first + lane < sums.shape[0]:
                    sums[first + lane] += term - before
                    squares[first + lane] += (term - before) ** 2
    return total
