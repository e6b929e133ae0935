"""Neighbours on a line: sorted columns, one at a time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.metric import Ball
from unirel.estimation.kernels.ties import limits_of, ross_term


class Classes(NamedTuple):
    """The class of every row, and where the rows of each class begin and end when they are sorted by class."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]


class Line(NamedTuple):
    """A column as it is and in ascending order, the row at every position of it, and the position of every row."""

    values: NDArray[np.floating]
    ascending: NDArray[np.floating]
    order: NDArray[np.int64]
    positions: NDArray[np.int64]


@inner
def first_within(values: Floats, start: int, stop: int, center: float, limit: float) -> int:
    """First position in the sorted `values[start:stop]` at most `limit` below `center`, or `stop`."""
    # Halving: a ball holds few points of a long line, and a scan would look at all of them.
    while start < stop:
        middle = (start + stop) >> 1
        if center - values[middle] <= limit:
            stop = middle
        else:
            start = middle + 1
    return start


@inner
def end_within(values: Floats, start: int, stop: int, center: float, limit: float) -> int:
    """One past the last position in the sorted `values[start:stop]` at most `limit` above `center`, or `start`."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] - center <= limit:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def _count_inside(values: Floats, start: int, stop: int, position: int, inner: float) -> int:
    """How many others of the sorted `values[start:stop]` are inside a ball around `position` that just holds them."""
    # A ball of radius 0 has nothing inside.
    if inner < 0.0:
        return 0
    center = values[position]
    left = center - values[start] > inner
    right = values[stop - 1] - center > inner
    # Which end ties is a matter of chance, and a branch on it would be guessed wrong half of the time: hence a select.
    following = abs(values[start + 1 if left else stop - 2] - center) > inner
    # At most one end ties as a rule, and is subtracted. Several are rare enough to be searched.
    if left + right + following > 1:
        start = first_within(values, start, position, center, inner)
        return end_within(values, position + 1, stop, center, inner) - start - 1
    return stop - start - 1 - left - right


@inner
def count_around(line: Floats, position: int, limits: tuple[float, float], far: float) -> tuple[int, int]:
    """How many others of a sorted line are inside a ball around the one at `position`, and how many within it."""
    inner, outer = limits
    start = zero()
    stop = line.shape[0]
    # Beyond `far` everything is within: levels that differ are all equally far away.
    if outer < far:
        start = first_within(line, start, position, line[position], outer)
        stop = end_within(line, position + 1, stop, line[position], outer)
    return _count_inside(line, start, stop, position, inner), stop - start - 1


@inner
def _sum_of_class(line: Floats, own: Floats, positions: Integers, start: int, stop: int, ball: Ball) -> float:
    """Sum of Ross's terms of the points of one class, `own[start:stop]`, which stand at `positions` on the line."""
    n_neighbors = min(ball.n_neighbors, stop - start - 1)
    window = start
    total = 0.0
    # The hot loop of relevance: a point costs a few comparisons and four short searches.
    for point in range(start, stop):
        center = own[point]
        # The window of n_neighbors + 1 points that reaches least far only ever moves to the right.
        while window + n_neighbors + 1 < stop and (
            window + n_neighbors < point or own[window + n_neighbors + 1] - center < center - own[window]
        ):
            window += 1
        radius = min(max(center - own[window], own[window + n_neighbors] - center), ball.far)
        limits = limits_of(radius, ball.tolerance)
        left, right = start, stop
        lower, upper = 0, line.shape[0]
        if radius < ball.far:
            left, right = window, window + n_neighbors + 1
            if left > start and center - own[left - 1] <= limits[1]:
                left = first_within(own, start, left, center, limits[1])
            if right < stop and own[right] - center <= limits[1]:
                right = end_within(own, right, stop, center, limits[1])
            # On the whole line the ball ends somewhere between the outermost own point and the next own point.
            lower = positions[left - 1] + 1 if left > start else 0
            upper = positions[right] if right < stop else line.shape[0]
            lower = first_within(line, lower, positions[left], center, limits[1])
            upper = end_within(line, positions[right - 1] + 1, upper, center, limits[1])
        # Without a tie, one point is at the radius itself, and the term is a difference of two known numbers.
        inside, within = _count_inside(line, lower, upper, positions[point], limits[0]), upper - lower - 1
        if within == inside + 1:
            total += ball.psi[n_neighbors] - ball.psi[within]
        else:
            same = (_count_inside(own, left, right, point, limits[0]), right - left - 1)
            total += ross_term(n_neighbors, same, (inside, within), ball.psi)
    return total


@kernel
def ross_on_line(columns: Floats, orders: Integers, classes: Classes, ball: Ball) -> Floats:
    """Sum of Ross's terms of all rows, for each of `columns`, given the order that sorts it."""
    n_columns, n_samples = orders.shape
    n_classes = classes.starts.shape[0] - 1
    line = np.empty(n_samples, columns.dtype)
    own = np.empty(n_samples, columns.dtype)
    positions = np.empty(n_samples, np.int64)
    sums = np.zeros(n_columns)
    # Room is shared by all columns, so that a thread allocates once.
    for column in range(n_columns):
        # One pass deals the sorted rows out to their classes, which are then sorted too.
        fill = classes.starts.copy()
        for position in range(n_samples):
            row = orders[column, position]
            label = classes.labels[row]
            line[position] = columns[column, row]
            own[fill[label]] = line[position]
            positions[fill[label]] = position
            fill[label] += 1
        for label in range(n_classes):
            sums[column] += _sum_of_class(line, own, positions, classes.starts[label], classes.starts[label + 1], ball)
    return sums
