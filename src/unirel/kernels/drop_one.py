"""What every estimate becomes when one column is left out: all columns for little more than the price of one estimate.

Leaving out a column can only bring points nearer. So, for every point, only those others matter that are within reach
of it without their most distant column, and only the columns that keep one of them away. Both are few.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel
from unirel.kernels.line import count_around
from unirel.kernels.nearest import insert


@kernel
def _smaller(a: float, b: float) -> float:
    return a if a < b else b


@kernel
def _larger(a: float, b: float) -> float:
    return a if a > b else b


@kernel
def _two_largest(columns: Floats, row: int, far: float, largest: Floats, second: Floats) -> None:
    """The largest and the second largest difference of `row` to every row, four columns a step, cut off at `far`."""
    n_columns, n_samples = columns.shape
    whole = n_columns - n_columns % 4
    largest[:] = 0
    second[:] = 0
    for column in range(0, whole, 4):
        first, other, third, fourth = columns[column], columns[column + 1], columns[column + 2], columns[column + 3]
        a, b, c, d = first[row], other[row], third[row], fourth[row]
        for point in range(n_samples):
            p, q = abs(first[point] - a), abs(other[point] - b)
            r, s = abs(third[point] - c), abs(fourth[point] - d)
            left, left_second = _larger(p, q), _smaller(p, q)
            right, right_second = _larger(r, s), _smaller(r, s)
            top = _larger(left, right)
            next_top = _larger(_smaller(left, right), _larger(left_second, right_second))
            second[point] = _larger(_smaller(largest[point], top), _larger(second[point], next_top))
            largest[point] = _larger(largest[point], top)
    for column in range(whole, n_columns):
        values = columns[column]
        a = values[row]
        for point in range(n_samples):
            p = abs(values[point] - a)
            second[point] = _larger(_smaller(largest[point], p), second[point])
            largest[point] = _larger(largest[point], p)
    for point in range(n_samples):
        largest[point] = _smaller(largest[point], far)
        second[point] = _smaller(second[point], far)


@kernel
def _find_owners(
    columns: Floats, row: int, points: Integers, n_points: int, largest: Floats, second: Floats, owners: Integers
) -> None:
    """The column that alone keeps each of the points away, or -1 where two columns share the largest difference."""
    for place in range(n_points):
        point = points[place]
        owners[place] = -1
        if largest[point] > second[point]:
            for column in range(columns.shape[0]):
                if abs(columns[column, point] - columns[column, row]) >= largest[point]:
                    owners[place] = column
                    break


@kernel
def _kth_smallest(distances: Floats, chosen: Integers, n_points: int, nearest: Floats) -> float:
    """The k-th smallest of the first distances among those chosen, k being the length of `nearest`."""
    nearest[:] = np.inf
    for place in range(n_points):
        if distances[place] < nearest[-1] and chosen[place]:
            insert(nearest, distances[place])
    return nearest[-1]


@kernel
def _ross_term(
    distances: Floats, same: Integers, n_points: int, tolerance: float, nearest: Floats, psi: Floats
) -> float:
    """psi(kt) - psi(m) of one point, from its distances to those that can be within reach."""
    limit = _kth_smallest(distances, same, n_points, nearest) * (1.0 + tolerance)
    n_same = 0
    n_all = 0
    for place in range(n_points):
        within = distances[place] <= limit
        n_all += within
        n_same += within & same[place]
    return psi[n_same] - psi[n_all]


@kernel
def _ksg_term(
    distances: Floats,
    apart: Floats,
    n_points: int,
    tolerance: float,
    nearest: Floats,
    everyone: Integers,
    line: Floats,
    place_on_line: int,
    far: float,
    psi: Floats,
) -> float:
    """psi(kt) - psi(nx) - psi(ny) of one point: `distances` in the columns, `apart` in the target."""
    joint = np.empty(n_points)
    for place in range(n_points):
        joint[place] = max(distances[place], apart[place])
    radius = _kth_smallest(joint, everyone, n_points, nearest)
    limit = radius * (1.0 + tolerance)
    n_joint = 0
    for place in range(n_points):
        n_joint += joint[place] <= limit
    unique = n_joint == nearest.shape[0]
    if unique:
        limit = np.nextafter(radius * (1.0 - tolerance), 0.0) if radius > 0.0 else -1.0
    n_near = 0
    for place in range(n_points):
        n_near += distances[place] <= limit
    return psi[n_joint] - psi[n_near + unique] - psi[count_around(line, place_on_line, limit, far) + unique]


@kernel
def _kth_of_class(distances: Floats, labels: Integers, row: int, nearest: Floats) -> float:
    """Distance from `row` to its k-th neighbour in its class, k being the length of `nearest`."""
    nearest[:] = np.inf
    for point in range(distances.shape[0]):
        if distances[point] < nearest[-1] and labels[point] == labels[row] and point != row:
            insert(nearest, distances[point])
    return nearest[-1]


@kernel
def drop_one_from_classes(
    columns: Floats,
    labels: Integers,
    sizes: Integers,
    rows: Integers,
    n_neighbors: int,
    far: float,
    tolerance: float,
    psi: Floats,
    sums: Floats,
    squares: Floats,
) -> float:
    """Ross's local terms of `rows` in the maximum norm: their sum, and how it changes without each column.

    Adds, for every column, the changes to `sums` and their squares to `squares`.
    """
    n_columns, n_samples = columns.shape
    largest = np.empty(n_samples, columns.dtype)
    second = np.empty(n_samples, columns.dtype)
    buffer = np.empty(n_neighbors)
    points = np.empty(n_samples, np.int64)
    owners = np.empty(n_samples, np.int64)
    same = np.empty(n_samples, np.bool_)
    whole = np.empty(n_samples)
    reduced = np.empty(n_samples)
    visited = np.full(n_columns, -1)
    total = 0.0
    for row in rows:
        nearest = buffer[: min(n_neighbors, sizes[labels[row]] - 1)]
        _two_largest(columns, row, far, largest, second)
        limit = _kth_of_class(largest, labels, row, nearest) * (1.0 + tolerance)
        n_points = 0
        for point in range(n_samples):
            if second[point] <= limit and point != row:
                points[n_points] = point
                same[n_points] = labels[point] == labels[row]
                whole[n_points] = largest[point]
                n_points += 1
        _find_owners(columns, row, points, n_points, largest, second, owners)
        term = _ross_term(whole, same, n_points, tolerance, nearest, psi)
        total += term
        for place in range(n_points):
            owner = owners[place]
            if owner >= 0 and visited[owner] != row:
                visited[owner] = row
                for other in range(n_points):
                    reduced[other] = second[points[other]] if owners[other] == owner else whole[other]
                change = _ross_term(reduced, same, n_points, tolerance, nearest, psi) - term
                sums[owner] += change
                squares[owner] += change * change
    return total


@kernel
def drop_one_from_line(
    columns: Floats,
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
    """KSG's local terms of `rows` against a continuous target, and how they change without each column.

    `line` is the sorted target, and `places` says where every row stands on it.
    """
    n_columns, n_samples = columns.shape
    largest = np.empty(n_samples, columns.dtype)
    second = np.empty(n_samples, columns.dtype)
    joint = np.empty(n_samples)
    nearest = np.empty(n_neighbors)
    points = np.empty(n_samples, np.int64)
    owners = np.empty(n_samples, np.int64)
    everyone = np.ones(n_samples, np.bool_)
    no_labels = np.zeros(n_samples, np.int8)
    apart = np.empty(n_samples)
    whole = np.empty(n_samples)
    reduced = np.empty(n_samples)
    visited = np.full(n_columns, -1)
    total = 0.0
    for row in rows:
        _two_largest(columns, row, far, largest, second)
        for point in range(n_samples):
            joint[point] = max(largest[point], min(abs(target[point] - target[row]), far))
        limit = _kth_of_class(joint, no_labels, row, nearest) * (1.0 + tolerance)
        n_points = 0
        for point in range(n_samples):
            if second[point] <= limit and point != row:
                points[n_points] = point
                whole[n_points] = largest[point]
                apart[n_points] = min(abs(target[point] - target[row]), far)
                n_points += 1
        _find_owners(columns, row, points, n_points, largest, second, owners)
        term = _ksg_term(whole, apart, n_points, tolerance, nearest, everyone, line, places[row], far, psi)
        total += term
        for place in range(n_points):
            owner = owners[place]
            if owner >= 0 and visited[owner] != row:
                visited[owner] = row
                for other in range(n_points):
                    reduced[other] = second[points[other]] if owners[other] == owner else whole[other]
                change = (
                    _ksg_term(reduced, apart, n_points, tolerance, nearest, everyone, line, places[row], far, psi)
                    - term
                )
                sums[owner] += change
                squares[owner] += change * change
    return total


@kernel
def _cost(value: float, center: float, far: float, mismatch: float, squared: bool) -> float:
    """What one column adds to a summed distance."""
    difference = abs(value - center)
    cost = np.float64(difference if difference < far else mismatch)
    return cost * cost if squared else cost


@kernel
def _sum_and_largest(
    columns: Floats, row: int, far: float, mismatch: float, squared: bool, distances: Floats, largest: Floats
) -> None:
    """Summed distance from `row` to every row, and the most that one column adds to it."""
    distances[:] = 0
    largest[:] = 0
    for column in range(columns.shape[0]):
        values = columns[column]
        center = values[row]
        if squared:
            for point in range(distances.shape[0]):
                cost = _cost(values[point], center, far, mismatch, True)
                distances[point] += cost
                largest[point] = _larger(largest[point], cost)
        else:
            for point in range(distances.shape[0]):
                cost = _cost(values[point], center, far, mismatch, False)
                distances[point] += cost
                largest[point] = _larger(largest[point], cost)


@kernel
def _sum_without(
    columns: Floats, row: int, point: int, dropped: int, far: float, mismatch: float, squared: bool
) -> float:
    """The distance without one column, summed anew."""
    rest = 0.0
    for column in range(columns.shape[0]):
        if column != dropped:
            rest += _cost(columns[column, point], columns[column, row], far, mismatch, squared)
    return rest


@kernel
def _subtract(
    columns: Floats,
    row: int,
    points: Integers,
    dropped: int,
    whole: Floats,
    far: float,
    mismatch: float,
    squared: bool,
    reduced: Floats,
) -> None:
    """Distances without one column; summed anew where subtracting would leave little but rounding."""
    values = columns[dropped]
    center = values[row]
    n_lost = 0
    for place in range(points.shape[0]):
        rest = whole[place] - _cost(values[points[place]], center, far, mismatch, squared)
        reduced[place] = rest
        n_lost += rest <= 1e-4 * whole[place]
    if n_lost > 0:
        for place in range(points.shape[0]):
            if reduced[place] <= 1e-4 * whole[place]:
                reduced[place] = _sum_without(columns, row, points[place], dropped, far, mismatch, squared)


@kernel
def drop_one_from_sum(
    columns: Floats,
    labels: Integers,
    sizes: Integers,
    rows: Integers,
    n_neighbors: int,
    squared: bool,
    far: float,
    mismatch: float,
    tolerance: float,
    psi: Floats,
    sums: Floats,
    squares: Floats,
) -> float:
    """Ross's local terms of `rows` in a summed metric, and how they change without each column."""
    n_columns, n_samples = columns.shape
    distances = np.empty(n_samples)
    largest = np.empty(n_samples)
    buffer = np.empty(n_neighbors)
    points = np.empty(n_samples, np.int64)
    same = np.empty(n_samples, np.bool_)
    whole = np.empty(n_samples)
    reduced = np.empty(n_samples)
    total = 0.0
    for row in rows:
        nearest = buffer[: min(n_neighbors, sizes[labels[row]] - 1)]
        _sum_and_largest(columns, row, far, mismatch, squared, distances, largest)
        limit = _kth_of_class(distances, labels, row, nearest) * (1.0 + tolerance)
        n_points = 0
        for point in range(n_samples):
            # The slack keeps what rounding could have pushed out of reach; it only costs a look.
            if distances[point] - largest[point] <= limit + 1e-9 * distances[point] and point != row:
                points[n_points] = point
                same[n_points] = labels[point] == labels[row]
                whole[n_points] = distances[point]
                n_points += 1
        term = _ross_term(whole, same, n_points, tolerance, nearest, psi)
        total += term
        for column in range(n_columns):
            _subtract(columns, row, points[:n_points], column, whole, far, mismatch, squared, reduced)
            change = _ross_term(reduced, same, n_points, tolerance, nearest, psi) - term
            sums[column] += change
            squares[column] += change * change
    return total
