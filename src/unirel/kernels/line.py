"""Neighbours on a line: sorted columns, one at a time."""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.arrays import copy_stretch, starts_of
from unirel.kernels.special import class_digamma, mean_digamma


@kernel
def first_within(values: Floats, start: int, stop: int, center: float, limit: float) -> int:
    """First position in the sorted `values[start:stop]` at most `limit` below `center`, or `stop`."""
    while start < stop:
        middle = (start + stop) >> 1
        if center - values[middle] <= limit:
            stop = middle
        else:
            start = middle + 1
    return start


@kernel
def end_within(values: Floats, start: int, stop: int, center: float, limit: float) -> int:
    """One past the last position in the sorted `values[start:stop]` at most `limit` above `center`, or `start`."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] - center <= limit:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def count_around(line: Floats, place: int, limit: float, far: float) -> int:
    """How many others of a sorted line lie within `limit` of the one at `place`; a negative limit holds nothing."""
    if limit < 0.0:
        return 0
    if limit >= far:
        return line.shape[0] - 1
    start = first_within(line, 0, place, line[place], limit)
    return end_within(line, place + 1, line.shape[0], line[place], limit) - start - 1


@kernel
def count_on_line(values: Floats, order: Integers, limits: Floats, far: float, counts: Integers) -> None:
    """Write, for every row, how many other rows lie within its limit."""
    line = values[order]
    for place in range(order.shape[0]):
        counts[order[place]] = count_around(line, place, limits[order[place]], far)


@kernel
def _count_in_class(
    line: Floats,
    own: Floats,
    places: Integers,
    start: int,
    stop: int,
    n_neighbors: int,
    far: float,
    tolerance: float,
    same: Integers,
    everyone: Integers,
) -> None:
    """Neighbour counts of the points of one class, `own[start:stop]`, which stand at `places` on the whole line."""
    n_samples = line.shape[0]
    window = start
    for point in range(start, stop):
        center = own[point]
        # The window of n_neighbors + 1 points that reaches least far only ever moves to the right.
        while window + n_neighbors + 1 < stop and (
            window + n_neighbors < point or own[window + n_neighbors + 1] - center < center - own[window]
        ):
            window += 1
        radius = max(center - own[window], own[window + n_neighbors] - center)
        if radius >= far:
            same[point] = stop - start - 1
            everyone[point] = n_samples - 1
            continue
        limit = radius * (1.0 + tolerance)
        left = window
        right = window + n_neighbors
        if left > start and center - own[left - 1] <= limit:
            left = first_within(own, start, left, center, limit)
        if right + 1 < stop and own[right + 1] - center <= limit:
            right = end_within(own, right + 1, stop, center, limit) - 1
        # On the whole line the ball ends somewhere between the outermost own point and the next own point.
        lower = places[left - 1] + 1 if left > start else 0
        upper = places[right + 1] if right + 1 < stop else n_samples
        lower = first_within(line, lower, places[left], center, limit)
        upper = end_within(line, places[right] + 1, upper, center, limit)
        same[point] = right - left
        everyone[point] = upper - lower - 1


@kernel
def ross_on_line(
    columns: Floats,
    orders: Integers,
    labels: Integers,
    sizes: Integers,
    n_neighbors: int,
    far: float,
    tolerance: float,
    psi: Floats,
) -> Floats:
    """Ross's estimate of I(column; labels) for each of `columns`, given the order that sorts it."""
    n_columns, n_samples = orders.shape
    starts = starts_of(sizes)
    line = np.empty(n_samples, columns.dtype)
    own = np.empty(n_samples, columns.dtype)
    places = np.empty(n_samples, np.int64)
    same = np.empty(n_samples, np.int32)
    everyone = np.empty(n_samples, np.int32)
    fill = np.empty(sizes.shape[0], np.int64)
    information = np.empty(n_columns)
    class_term = class_digamma(sizes, psi)
    for column in range(n_columns):
        copy_stretch(starts, 0, sizes.shape[0], fill)
        for position in range(n_samples):
            row = orders[column, position]
            value = columns[column, row]
            slot = fill[labels[row]]
            fill[labels[row]] = slot + 1
            line[position] = value
            own[slot] = value
            places[slot] = position
        for label in range(sizes.shape[0]):
            n_inside = min(n_neighbors, sizes[label] - 1)
            _count_in_class(
                line, own, places, starts[label], starts[label + 1], n_inside, far, tolerance, same, everyone
            )
        information[column] = psi[n_samples] + mean_digamma(same, psi) - class_term - mean_digamma(everyone, psi)
    return information


@kernel
def differential_entropy(line: Floats, n_neighbors: int, tolerance: float, psi: Floats) -> float:
    """Kozachenko-Leonenko entropy of sorted values that are not all equal.

    The ball of a point reaches to the nearest distance, other than 0, that has n_neighbors points within; all points
    that tie at that distance are counted.
    """
    n_samples = line.shape[0]
    counts = np.empty(n_samples, np.int32)
    logarithms = 0.0
    start = 0
    while start < n_samples:
        center = line[start]
        end = end_within(line, start, n_samples, center, 0.0)
        left = start - 1
        right = end
        radius = 0.0
        while right - left - 2 < n_neighbors or radius == 0.0:
            to_left = center - line[left] if left >= 0 else np.inf
            to_right = line[right] - center if right < n_samples else np.inf
            if to_left < to_right:
                radius = to_left
                left -= 1
            else:
                radius = to_right
                right += 1
        limit = radius * (1.0 + tolerance)
        left = first_within(line, 0, left + 1, center, limit)
        right = end_within(line, right, n_samples, center, limit)
        counts[start:end] = right - left - 1
        logarithms += (end - start) * np.log(2.0 * radius)
        start = end
    return psi[n_samples] - mean_digamma(counts, psi) + logarithms / n_samples
