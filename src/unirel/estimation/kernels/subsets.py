"""Ross's local terms of many blocks of columns that share columns: subsets of a few columns.

Points are sorted by class. Distances grow column by column, so blocks that begin with the same columns share the
distances in these.
"""

import numpy as np

from unirel.data.jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import Classes
from unirel.estimation.kernels.metric import CHEBYSHEV, Ball, cost, kth_smallest, larger
from unirel.estimation.kernels.ties import limits_of, ross_term_of


@inner
def _extend(before: Floats, costs: Floats, metric: int, after: Floats) -> None:
    """Distances with one more column: the larger of the two, or their sum."""
    # The hot loops of a search through subsets, one plain pass each: adding or taking the larger.
    if metric == CHEBYSHEV:
        for point in range(before.shape[0]):
            after[point] = larger(before[point], costs[point])
    else:
        for point in range(before.shape[0]):
            after[point] = before[point] + costs[point]


@inner
def _add_columns(columns: Floats, row: int, ball: Ball, costs: Floats, total: Floats) -> None:
    """Extend distances from `row` to every point by some columns."""
    for column in range(columns.shape[0]):
        values = columns[column]
        center = values[row]
        for point in range(values.shape[0]):
            costs[point] = cost(values[point], center, ball)
        _extend(total, costs, ball.metric, total)


@inner
def _choose_points(nearest_possible: Floats, reach: float, begin: int, end: int, points: Integers) -> tuple[int, int]:
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


@kernel
def add_subset_terms(
    always: Floats, columns: Floats, classes: Classes, ball: Ball, subsets: Integers, floor: float, sums: Floats
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
    buffer = np.empty(ball.n_neighbors)
    # Subsets that are still in the race, in their order; those given up are squeezed out.
    left = np.arange(n_subsets)
    n_left = n_subsets
    for row in range(n_samples):
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        nearest = buffer[: min(ball.n_neighbors, end - begin - 1)]
        base[:] = 0.0
        base[row] = np.inf
        _add_columns(always, row, ball, whole, base)
        for point in range(n_samples):
            whole[point] = base[point]
        _add_columns(columns, row, ball, costs[0], whole)
        # No subset is farther than the whole block, so no ball is larger than that of the whole block; and no subset is
        # nearer than what all of them share. The slack keeps what rounding could have pushed out of reach.
        reach = limits_of(kth_smallest(whole[begin:end], nearest), ball.tolerance)[1] * (1.0 + 1e-9)
        n_own, n_points = _choose_points(base, reach, begin, end, points)
        for chosen in range(n_points):
            point = points[chosen]
            # Costs of the chosen points side by side, so that the loops below read memory in order.
            stack[0, chosen] = base[point]
            for column in range(n_columns):
                costs[column, chosen] = cost(columns[column, point], columns[column, row], ball)
        # Depth first: the distances of a path of columns are kept, one row of the stack for each column of it.
        path[:] = -1
        n_kept = 0
        for candidate in range(n_left):
            subset = left[candidate]
            # How much of the path this subset shares with the last one.
            depth = 0
            while depth < size and path[depth] == subsets[subset, depth]:
                depth += 1
            for level in range(depth, size):
                path[level] = subsets[subset, level]
                _extend(
                    stack[level, :n_points], costs[path[level], :n_points], ball.metric, stack[level + 1, :n_points]
                )
            sums[subset] += ross_term_of(stack[size, :n_points], zero(), n_own, nearest, ball)
            # Terms are at most 0, so a sum below the floor can never come back.
            if sums[subset] >= floor:
                left[n_kept] = subset
                n_kept += 1
            else:
                sums[subset] = -np.inf
        n_left = n_kept
        if n_left == 0:
            break
