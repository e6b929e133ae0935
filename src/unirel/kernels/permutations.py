"""Ross's estimator on a line for many labellings of the same sorted column."""

import numpy as np

from unirel.kernels._jit import Floats, Integers, inner, kernel
from unirel.kernels.line import count_around
from unirel.kernels.metric import Ball
from unirel.kernels.ties import limits_of, ross_term

# Infinities at both ends of a line; that many points are looked at without asking where the ball ends.
MARGIN = 4


@inner
def _term_of_tied(
    line: Floats, position: int, own: Floats, point: int, radius: float, n_neighbors: int, ball: Ball
) -> float:
    """Ross's term of a point whose ball may have ties at its radius, by counting in full."""
    limits = limits_of(min(radius, ball.far), ball.tolerance)
    inside, within = count_around(line, position, limits, ball.far)
    if within == inside + 1:
        return ball.psi[n_neighbors] - ball.psi[within]
    return ross_term(n_neighbors, count_around(own, point, limits, ball.far), (inside, within), ball.psi)


@inner
def _find_balls(own: Floats, begin: int, end: int, n_neighbors: int, radii: Floats, windows: Integers) -> None:
    """The radius around every point of a class, and the first of the n_neighbors + 1 points that it just holds.

    One pass over all points for each place that a point can have among its neighbours: passes without a branch, which
    the compiler turns into vector instructions.
    """
    # Slices, since positions that could be negative would be looked at one by one.
    center, reaches, firsts = own[begin:end], radii[begin:end], windows[begin:end]
    last = own[begin + n_neighbors : end + n_neighbors]
    for point in range(center.shape[0]):
        reaches[point] = last[point] - center[point]
        firsts[point] = begin + point
    for before in range(1, n_neighbors + 1):
        first = own[begin - before : end - before]
        last = own[begin - before + n_neighbors : end - before + n_neighbors]
        for point in range(center.shape[0]):
            left, right = center[point] - first[point], last[point] - center[point]
            reach = left if left > right else right
            reaches[point] = reach if reach < reaches[point] else reaches[point]
    for before in range(1, n_neighbors + 1):
        first = own[begin - before : end - before]
        for point in range(center.shape[0]):
            firsts[point] -= center[point] - first[point] <= reaches[point]


@inner
def _sum_of_class(
    line: Floats, own: Floats, places: Integers, begin: int, end: int, ball: Ball, radii: Floats, windows: Integers
) -> float:
    """Sum of Ross's terms of the points of one class, ``own[begin:end]``, which stand at `places` on the line.

    The line has infinities at both ends, and so have the points of a class, as many as there are neighbours: no loop
    has to look where it is. Which side a ball touches is a matter of chance, and a branch on it would be guessed wrong
    half of the time: it is selected instead. On the other side the first few points are compared, not searched.
    """
    n_neighbors = min(ball.n_neighbors, end - begin - 1)
    psi = ball.psi
    total = 0.0
    _find_balls(own, begin, end, n_neighbors, radii, windows)
    for point in range(begin, end):
        center, radius, window = own[point], radii[point], windows[point]
        low, high = places[window], places[window + n_neighbors]
        inner, outer = limits_of(radius, ball.tolerance)
        on_right = own[window + n_neighbors] - center >= radius
        step = -1 if on_right else 1
        touched = high if on_right else low
        other = low if on_right else high
        n_more = 0
        for ahead in range(1, MARGIN + 1):
            n_more += abs(line[other + ahead * step] - center) <= outer
        if n_more == MARGIN:
            while abs(line[other + (n_more + 1) * step] - center) <= outer:
                n_more += 1
        tied = abs(line[other + n_more * step] - center) > inner
        tied |= abs(line[touched + step] - center) > inner
        tied |= abs(line[touched - step] - center) <= outer
        if tied or radius >= ball.far or radius <= 0.0:
            inner_line, inner_own = line[MARGIN:-MARGIN], own[begin:end]
            place = places[point] - MARGIN
            total += _term_of_tied(inner_line, place, inner_own, point - begin, radius, n_neighbors, ball)
        else:
            total += psi[n_neighbors] - psi[high - low + n_more]
    return total


@kernel
def ross_of_labellings(line: Floats, rows: Integers, labels: Integers, starts: Integers, ball: Ball) -> Floats:
    """Sum of Ross's terms of one column, for each row of `labels`.

    `line` is the column in ascending order between infinities, MARGIN at each end, and `rows` the row at every position
    of it without these.
    """
    n_labellings, n_samples = labels.shape
    n_classes = starts.shape[0] - 1
    margin = ball.n_neighbors
    own = np.empty(n_samples + 2 * n_classes * margin, line.dtype)
    radii = np.empty(own.shape[0], line.dtype)
    places = np.zeros(own.shape[0], np.int64)
    windows = np.empty(own.shape[0], np.int64)
    for label in range(n_classes):
        own[starts[label] + 2 * label * margin :] = -np.inf
        own[starts[label + 1] + (2 * label + 1) * margin :] = np.inf
    fill = np.empty(n_classes, np.int64)
    sums = np.zeros(n_labellings)
    for labelling in range(n_labellings):
        for label in range(n_classes):
            fill[label] = starts[label] + (2 * label + 1) * margin
        of_row = labels[labelling]
        for position in range(n_samples):
            label = of_row[rows[position]]
            slot = fill[label]
            own[slot] = line[position + MARGIN]
            places[slot] = position + MARGIN
            fill[label] = slot + 1
        for label in range(n_classes):
            begin = starts[label] + (2 * label + 1) * margin
            end = begin + starts[label + 1] - starts[label]
            sums[labelling] += _sum_of_class(line, own, places, begin, end, ball, radii, windows)
    return sums
