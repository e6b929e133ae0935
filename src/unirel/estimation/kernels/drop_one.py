"""What an estimate in the maximum norm becomes without each column, for little more than the price of one estimate.

Leaving out a column can only bring points nearer. So, for every point, only those others matter that are within reach
of it without their most distant column, and only the columns that keep one of them away. Both are few.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.estimation.kernels._jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import Classes, Line, count_around
from unirel.estimation.kernels.metric import Ball, larger, smaller
from unirel.estimation.kernels.nearest import count_both, kth_smallest
from unirel.estimation.kernels.ties import crossed, ksg_term, limits_of, not_crossed, ross_term_of


class Desk(NamedTuple):
    """Room to work in, for one row at a time."""

    largest: NDArray[np.floating]  # the largest difference to every point, and the second largest
    second: NDArray[np.floating]
    points: NDArray[np.int64]  # the points that can be within reach without some column
    owners: NDArray[np.int64]  # the column that alone keeps each of them away
    owning: NDArray[np.int64]  # these columns, each once, and the row that last met a column
    visited: NDArray[np.int64]
    whole: NDArray[np.float64]  # the distances of these points, and those without one column
    reduced: NDArray[np.float64]


@inner
def _make_desk(columns: Floats) -> Desk:
    n_columns, n_samples = columns.shape
    largest, second = np.empty(n_samples, columns.dtype), np.empty(n_samples, columns.dtype)
    points, owners = np.empty(n_samples, np.int64), np.empty(n_samples, np.int64)
    owning, visited = np.empty(n_columns, np.int64), np.full(n_columns, -1)
    return Desk(largest, second, points, owners, owning, visited, np.empty(n_samples), np.empty(n_samples))


@inner
def _two_largest(columns: Floats, row: int, far: float, largest: Floats, second: Floats) -> None:
    """The largest and the second largest difference of `row` to every row, cut off at `far`, itself at infinity."""
    n_columns, n_samples = columns.shape
    whole = n_columns - n_columns % 4
    largest[:] = 0
    second[:] = 0
    # The hot loop of the maximum norm: four columns a step and nothing but selects, so that it becomes vector code.
    for column in range(0, whole, 4):
        first, other, third, fourth = columns[column], columns[column + 1], columns[column + 2], columns[column + 3]
        a, b, c, d = first[row], other[row], third[row], fourth[row]
        for point in range(n_samples):
            p, q = abs(first[point] - a), abs(other[point] - b)
            r, s = abs(third[point] - c), abs(fourth[point] - d)
            left, left_second = larger(p, q), smaller(p, q)
            right, right_second = larger(r, s), smaller(r, s)
            top = larger(left, right)
            next_top = larger(smaller(left, right), larger(left_second, right_second))
            second[point] = larger(smaller(largest[point], top), larger(second[point], next_top))
            largest[point] = larger(largest[point], top)
    for column in range(whole, n_columns):
        values = columns[column]
        a = values[row]
        for point in range(n_samples):
            p = abs(values[point] - a)
            second[point] = larger(smaller(largest[point], p), second[point])
            largest[point] = larger(largest[point], p)
    for point in range(n_samples):
        largest[point] = smaller(largest[point], far)
        second[point] = smaller(second[point], far)
    largest[row] = np.inf
    second[row] = np.inf


@inner
def choose_points(nearest_possible: Floats, reach: float, begin: int, end: int, points: Integers) -> tuple[int, int]:
    """Write the points that can be within reach, the own class first; returns how many of it, and of all."""
    n_points = 0
    # Write first, then move on or not: no branch that could be guessed wrong.
    for point in range(begin, end):
        points[n_points] = point
        n_points += nearest_possible[point] <= reach
    n_own = n_points
    for point in range(begin):
        points[n_points] = point
        n_points += nearest_possible[point] <= reach
    for point in range(end, nearest_possible.shape[0]):
        points[n_points] = point
        n_points += nearest_possible[point] <= reach
    return n_own, n_points


@inner
def _find_owners(columns: Floats, row: int, points: Integers, desk: Desk) -> int:
    """The column that alone keeps each of the points away, or -1 where two columns share the largest difference.

    Returns how many columns own a point. Columns that own none change nothing.
    """
    n_owning = 0
    for chosen in range(points.shape[0]):
        point = points[chosen]
        desk.owners[chosen] = -1
        # Where two columns are equally far, leaving out one of them changes nothing.
        if desk.largest[point] > desk.second[point]:
            for column in range(columns.shape[0]):
                if abs(columns[column, point] - columns[column, row]) >= desk.largest[point]:
                    desk.owners[chosen] = column
                    if desk.visited[column] != row:
                        desk.visited[column] = row
                        desk.owning[n_owning] = column
                        n_owning += 1
                    break
    return n_owning


@inner
def _take(values: Floats, points: Integers, taken: Floats) -> None:
    """Do ``taken[: len(points)] = values[points]``."""
    for chosen in range(points.shape[0]):
        taken[chosen] = values[points[chosen]]


@inner
def _without_owner(owner: int, points: Integers, desk: Desk) -> None:
    """Distances without one column: the second largest difference where it owns the largest."""
    for chosen in range(points.shape[0]):
        owned = desk.owners[chosen] == owner
        desk.reduced[chosen] = desk.second[points[chosen]] if owned else desk.whole[chosen]


@inner
def _add(changes: Floats, column: int, change: float) -> None:
    """Add a change and its square to what is known of a column."""
    changes[0, column] += change
    changes[1, column] += change * change


@kernel
def drop_one_from_classes(columns: Floats, classes: Classes, rows: Integers, ball: Ball, changes: Floats) -> float:
    """Sum of Ross's terms of `rows` in the maximum norm, and how it changes without each column.

    The columns are sorted by class. Adds, for every column, the changes and their squares to the rows of `changes`.
    """
    desk = _make_desk(columns)
    buffer = np.empty(ball.n_neighbors)
    total = 0.0
    for row in rows:
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        nearest = buffer[: min(ball.n_neighbors, end - begin - 1)]
        _two_largest(columns, row, ball.far, desk.largest, desk.second)
        reach = limits_of(kth_smallest(desk.largest[begin:end], nearest), ball.tolerance)[1]
        n_own, n_points = choose_points(desk.second, reach, begin, end, desk.points)
        near = desk.points[:n_points]
        _take(desk.largest, near, desk.whole)
        term = ross_term_of(desk.whole[:n_points], zero(), n_own, nearest, ball)
        total += term
        # Columns that keep nobody away leave the term as it is, and are not asked: that is what makes it quick.
        for owning in range(_find_owners(columns, row, near, desk)):
            _without_owner(desk.owning[owning], near, desk)
            after = ross_term_of(desk.reduced[:n_points], zero(), n_own, nearest, ball)
            _add(changes, desk.owning[owning], after - term)
    return total


@inner
def _ksg_term_of(
    distances: Floats, apart: Floats, joint: Floats, nearest: Floats, target: Line, row: int, ball: Ball
) -> float:
    """KSG's term of one row: `distances` in the columns, `apart` in the target; `joint` is room to work in."""
    # In the joint space a point is as far as on its farther side.
    for point in range(distances.shape[0]):
        joint[point] = larger(distances[point], apart[point])
    limits = limits_of(kth_smallest(joint, nearest), ball.tolerance)
    x = count_both(distances, limits)
    y = count_around(target.ascending, target.positions[row], limits, ball.far)
    inside, within = count_both(joint, limits)
    counts = not_crossed(limits, inside, within, y)
    # Ties on both sides: how many points close with each of them has to be counted.
    if crossed(limits, within - inside, x, y):
        in_x, in_y = 0, 0
        for point in range(distances.shape[0]):
            in_x += (distances[point] <= limits[1]) & (apart[point] <= limits[0])
            in_y += (distances[point] <= limits[0]) & (apart[point] <= limits[1])
        counts = (inside, in_x, in_y, within)
    return ksg_term(nearest.shape[0], counts, x, y, ball.psi)


@kernel
def drop_one_from_line(columns: Floats, target: Line, rows: Integers, ball: Ball, changes: Floats) -> float:
    """Sum of KSG's terms of `rows` against a continuous target, and how it changes without each column."""
    n_samples = columns.shape[1]
    desk = _make_desk(columns)
    nearest = np.empty(ball.n_neighbors)
    gaps = np.empty(n_samples)
    joint = np.empty(n_samples)
    apart = np.empty(n_samples)
    total = 0.0
    for row in rows:
        _two_largest(columns, row, ball.far, desk.largest, desk.second)
        for point in range(n_samples):
            gaps[point] = smaller(abs(target.values[point] - target.values[row]), ball.far)
            joint[point] = larger(desk.largest[point], gaps[point])
        # No ball grows without a column, so what the whole block does not reach without one of its columns is out.
        reach = limits_of(kth_smallest(joint, nearest), ball.tolerance)[1]
        n_points = choose_points(desk.second, reach, zero(), n_samples, desk.points)[1]
        near = desk.points[:n_points]
        _take(gaps, near, apart)
        _take(desk.largest, near, desk.whole)
        term = _ksg_term_of(desk.whole[:n_points], apart, joint[:n_points], nearest, target, row, ball)
        total += term
        for owning in range(_find_owners(columns, row, near, desk)):
            _without_owner(desk.owning[owning], near, desk)
            after = _ksg_term_of(desk.reduced[:n_points], apart, joint[:n_points], nearest, target, row, ball)
            _add(changes, desk.owning[owning], after - term)
    return total
