"""Neighbours in the plane, maximum norm: every candidate column against one fixed column.

The points are cut along the fixed column into strips of about sqrt(n_neighbors * n_points) points, and within a strip
they stand in the order of the candidate. A point searches its own strip outward, then neighbouring strips while they
are nearer than what it has found. The strips depend on the fixed column; a candidate only fills them, in one pass.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.arrays import copy_stretch
from unirel.kernels.line import count_on_line, end_within, first_within
from unirel.kernels.nearest import insert
from unirel.kernels.special import class_digamma, mean_digamma


class Strips(NamedTuple):
    """Strips along a fixed column, for each group of points by itself."""

    strip_of: NDArray[np.int32]  # the strip of every row
    starts: NDArray[np.int64]  # where every strip starts, and where the last one ends
    low: NDArray[np.floating]  # the smallest value of the fixed column in every strip
    high: NDArray[np.floating]  # the largest one
    firsts: NDArray[np.int64]  # the first strip of every group, and the number of strips


def make_strips(fixed: NDArray[np.floating], labels: NDArray[np.int32], n_groups: int, n_neighbors: int) -> Strips:
    """Cut the rows of every group into strips along `fixed`."""
    order = np.lexsort((fixed, labels)) if n_groups > 1 else np.argsort(fixed, kind="stable")
    group_starts = np.zeros(n_groups + 1, np.int64)
    group_starts[1:] = np.cumsum(np.bincount(labels, minlength=n_groups))
    values = fixed[order]
    starts, firsts = _cut_strips(values, group_starts, n_neighbors)
    strip_of = np.empty(len(fixed), np.int32)
    strip_of[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    return Strips(strip_of, starts, values[starts[:-1]], values[starts[1:] - 1], firsts)


@kernel
def _cut_strips(values: Floats, group_starts: Integers, n_neighbors: int) -> tuple[Integers, Integers]:
    """Cut `values`, sorted within each group, into strips that never part equal values.

    Returns the start of every strip (and the end of the last), and the first strip of every group (and the end).
    """
    n_groups = group_starts.shape[0] - 1
    starts = np.empty(values.shape[0] + 1, np.int64)
    firsts = np.empty(n_groups + 1, np.int64)
    n_strips = 0
    for group in range(n_groups):
        firsts[group] = n_strips
        begin = group_starts[group]
        stop = group_starts[group + 1]
        size = max(1, int(np.sqrt(n_neighbors * (stop - begin))))
        strip = begin
        position = begin
        while position < stop:
            run = position
            while position < stop and values[position] == values[run]:
                position += 1
            # A long run of equal values is a strip of its own: it is then searched and counted like a line.
            if run > strip and (run - strip >= size or position - run >= size):
                starts[n_strips] = strip
                n_strips += 1
                strip = run
        if stop > begin:
            starts[n_strips] = strip
            n_strips += 1
    firsts[n_groups] = n_strips
    starts[n_strips] = values.shape[0]
    return starts[: n_strips + 1], firsts


@kernel
def _fill_strips(
    candidate: Floats,
    order: Integers,
    fixed: Floats,
    strip_of: Integers,
    starts: Integers,
    x: Floats,
    z: Floats,
    rows: Integers,
) -> None:
    """Put every row into its strip, in the order of the candidate."""
    fill = starts.copy()
    for position in range(order.shape[0]):
        row = order[position]
        slot = fill[strip_of[row]]
        fill[strip_of[row]] = slot + 1
        x[slot] = candidate[row]
        z[slot] = fixed[row]
        rows[slot] = row


@kernel
def _scan_right(
    x: Floats,
    z: Floats,
    start: int,
    stop: int,
    x_center: float,
    z_center: float,
    reach: float,
    tolerance: float,
    nearest: Floats,
) -> float:
    """Look at points to the right while they can matter; returns the reach that is left."""
    for point in range(start, stop):
        difference = x[point] - x_center
        if difference > reach:
            break
        distance = max(difference, abs(z[point] - z_center))
        if distance < nearest[-1]:
            insert(nearest, distance)
            reach = nearest[-2] * (1.0 + tolerance)
    return reach


@kernel
def _scan_left(
    x: Floats,
    z: Floats,
    start: int,
    stop: int,
    x_center: float,
    z_center: float,
    reach: float,
    tolerance: float,
    nearest: Floats,
) -> float:
    """Mirror image of `_scan_right`: from `stop - 1` down to `start`."""
    for point in range(stop - 1, start - 1, -1):
        difference = x_center - x[point]
        if difference > reach:
            break
        distance = max(difference, abs(z[point] - z_center))
        if distance < nearest[-1]:
            insert(nearest, distance)
            reach = nearest[-2] * (1.0 + tolerance)
    return reach


@kernel
def _scan_outward(x: Floats, z: Floats, start: int, stop: int, point: int, tolerance: float, nearest: Floats) -> float:
    """Search the own strip, the nearer side first, so that the reach shrinks at once; returns the reach."""
    x_center = x[point]
    z_center = z[point]
    reach = nearest[-2] * (1.0 + tolerance)
    left = point - 1
    right = point + 1
    while True:
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


@kernel
def _locate(x: Floats, strip: int, starts: Integers, x_center: float, pointers: Integers) -> int:
    """First point of `strip` not left of `x_center`; centres come in ascending order, so the pointer only moves on."""
    point = pointers[strip]
    stop = starts[strip + 1]
    while point < stop and x[point] < x_center:
        point += 1
    pointers[strip] = point
    return point


@kernel
def _count_in_strips(
    x: Floats,
    z: Floats,
    starts: Integers,
    low: Floats,
    high: Floats,
    first: int,
    last: int,
    strip: int,
    point: int,
    limit: float,
    pointers: Integers,
) -> int:
    """How many points of the strips `first` to `last` lie within `limit` of `point`, itself included."""
    x_center = x[point]
    z_center = z[point]
    count = 0
    other = strip
    while other > first and z_center - high[other - 1] <= limit:
        other -= 1
    while other < last and low[other] - z_center <= limit:
        start = starts[other]
        stop = starts[other + 1]
        place = point if other == strip else _locate(x, other, starts, x_center, pointers)
        if z_center - low[other] <= limit and high[other] - z_center <= limit:
            # The whole strip is near enough along the fixed column: what is left is a line.
            count += end_within(x, place, stop, x_center, limit) - first_within(x, start, place, x_center, limit)
        else:
            neighbor = place
            while neighbor < stop and x[neighbor] - x_center <= limit:
                count += abs(z[neighbor] - z_center) <= limit
                neighbor += 1
            neighbor = place - 1
            while neighbor >= start and x_center - x[neighbor] <= limit:
                count += abs(z[neighbor] - z_center) <= limit
                neighbor -= 1
        other += 1
    return count


@kernel
def _search_group(
    x: Floats,
    z: Floats,
    rows: Integers,
    starts: Integers,
    low: Floats,
    high: Floats,
    first: int,
    last: int,
    n_neighbors: int,
    far: float,
    tolerance: float,
    radius: Floats,
    same: Integers,
) -> None:
    """Distance to the n_neighbors-th neighbour within one group of strips, and how many points lie within it."""
    n_points = starts[last] - starts[first]
    nearest = np.empty(n_neighbors + 1, x.dtype)
    pointers = starts.copy()
    for strip in range(first, last):
        copy_stretch(starts, first, last, pointers)
        for point in range(starts[strip], starts[strip + 1]):
            x_center = x[point]
            z_center = z[point]
            nearest[:] = far
            reach = _scan_outward(x, z, starts[strip], starts[strip + 1], point, tolerance, nearest)
            above = strip + 1
            below = strip - 1
            while True:
                to_above = low[above] - z_center if above < last else np.inf
                to_below = z_center - high[below] if below >= first else np.inf
                if min(to_above, to_below) > reach or min(to_above, to_below) == np.inf:
                    break
                if to_above < to_below:
                    other = above
                    above += 1
                else:
                    other = below
                    below -= 1
                place = _locate(x, other, starts, x_center, pointers)
                reach = _scan_right(x, z, place, starts[other + 1], x_center, z_center, reach, tolerance, nearest)
                reach = _scan_left(x, z, starts[other], place, x_center, z_center, reach, tolerance, nearest)
            row = rows[point]
            radius[row] = nearest[-2]
            if nearest[-2] >= far:
                same[row] = n_points - 1
            elif nearest[-1] > reach:
                same[row] = n_neighbors
            else:
                same[row] = _count_in_strips(x, z, starts, low, high, first, last, strip, point, reach, pointers) - 1


@kernel
def _count_everyone(
    x: Floats,
    z: Floats,
    rows: Integers,
    starts: Integers,
    low: Floats,
    high: Floats,
    far: float,
    tolerance: float,
    radius: Floats,
    everyone: Integers,
) -> None:
    """How many other points lie within the radius of every point."""
    n_strips = starts.shape[0] - 1
    pointers = starts.copy()
    for strip in range(n_strips):
        copy_stretch(starts, 0, n_strips, pointers)
        for point in range(starts[strip], starts[strip + 1]):
            row = rows[point]
            if radius[row] >= far:
                everyone[row] = x.shape[0] - 1
            else:
                limit = radius[row] * (1.0 + tolerance)
                everyone[row] = (
                    _count_in_strips(x, z, starts, low, high, 0, n_strips, strip, point, limit, pointers) - 1
                )


@kernel
def ross_in_plane(
    candidates: Floats,
    orders: Integers,
    fixed: Floats,
    own: Strips,
    whole: Strips,
    sizes: Integers,
    n_neighbors: int,
    far: float,
    tolerance: float,
    psi: Floats,
) -> Floats:
    """Ross's estimate of I(candidate, fixed; labels) for each of `candidates`.

    `own` are strips of each class by itself, for the search; `whole` are strips of all points, for the count.
    """
    n_candidates, n_samples = orders.shape
    x = np.empty(n_samples, candidates.dtype)
    z = np.empty(n_samples, candidates.dtype)
    rows = np.empty(n_samples, np.int32)
    radius = np.empty(n_samples, candidates.dtype)
    same = np.empty(n_samples, np.int32)
    everyone = np.empty(n_samples, np.int32)
    information = np.empty(n_candidates)
    class_term = class_digamma(sizes, psi)
    for candidate in range(n_candidates):
        _fill_strips(candidates[candidate], orders[candidate], fixed, own.strip_of, own.starts, x, z, rows)
        for label in range(sizes.shape[0]):
            n_inside = min(n_neighbors, sizes[label] - 1)
            first = own.firsts[label]
            last = own.firsts[label + 1]
            _search_group(
                x, z, rows, own.starts, own.low, own.high, first, last, n_inside, far, tolerance, radius, same
            )
        _fill_strips(candidates[candidate], orders[candidate], fixed, whole.strip_of, whole.starts, x, z, rows)
        _count_everyone(x, z, rows, whole.starts, whole.low, whole.high, far, tolerance, radius, everyone)
        information[candidate] = psi[n_samples] + mean_digamma(same, psi) - class_term - mean_digamma(everyone, psi)
    return information


@kernel
def ksg_in_plane(
    candidates: Floats,
    orders: Integers,
    fixed: Floats,
    fixed_order: Integers,
    whole: Strips,
    n_neighbors: int,
    far: float,
    tolerance: float,
    psi: Floats,
) -> Floats:
    """The KSG estimate of I(candidate; fixed) for each of `candidates`, closed balls where the radius ties."""
    n_candidates, n_samples = orders.shape
    x = np.empty(n_samples, candidates.dtype)
    z = np.empty(n_samples, candidates.dtype)
    rows = np.empty(n_samples, np.int32)
    radius = np.empty(n_samples, candidates.dtype)
    joint = np.empty(n_samples, np.int32)
    counts = np.empty(n_samples, np.int32)
    information = np.empty(n_candidates)
    n_strips = whole.starts.shape[0] - 1
    for candidate in range(n_candidates):
        column = candidates[candidate]
        _fill_strips(column, orders[candidate], fixed, whole.strip_of, whole.starts, x, z, rows)
        _search_group(
            x, z, rows, whole.starts, whole.low, whole.high, 0, n_strips, n_neighbors, far, tolerance, radius, joint
        )
        limits = marginal_limits(radius, joint, n_neighbors, tolerance)
        information[candidate] = psi[n_samples] + mean_digamma(joint, psi)
        count_on_line(column, orders[candidate], limits, far, counts)
        information[candidate] -= mean_digamma(counts + (joint == n_neighbors), psi)
        count_on_line(fixed, fixed_order, limits, far, counts)
        information[candidate] -= mean_digamma(counts + (joint == n_neighbors), psi)
    return information


@kernel
def marginal_limits(radius: Floats, joint: Integers, n_neighbors: int, tolerance: float) -> Floats:
    """What "within" means in the marginals: open balls where the radius is unique, closed ones where it ties."""
    limits = np.empty(radius.shape[0])
    for row in range(radius.shape[0]):
        if joint[row] > n_neighbors:
            limits[row] = radius[row] * (1.0 + tolerance)
        elif radius[row] > 0.0:
            limits[row] = np.nextafter(radius[row] * (1.0 - tolerance), 0.0)
        else:
            limits[row] = -1.0
    return limits
