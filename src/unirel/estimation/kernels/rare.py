"""What an estimate becomes when a column joins a block in which nearly all rows have one value, such as a rare word.

Where a row has that value too, its distances to nearly all others stay as they are. So the ball of the block serves all
candidates whose few other rows leave the k-th neighbour where it was: only those rows are looked at. Rows of a class
that are at the same place in the block share what they find.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.estimation.kernels._jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import Classes
from unirel.estimation.kernels.metric import CHEBYSHEV, Ball, cost, larger, measure
from unirel.estimation.kernels.nearest import count_both, count_up_to, kth_smallest
from unirel.estimation.kernels.ties import limits_of, ross_term, ross_term_of


class Rare(NamedTuple):
    """Columns by their common values and the entries that have others."""

    common: NDArray[Any]
    starts: NDArray[np.int64]  # where the entries of each column begin, and where those of the last one end
    points: NDArray[np.int32]
    values: NDArray[Any]
    row_starts: NDArray[np.int64]  # the same by rows: where the columns begin in which each has an entry
    columns: NDArray[np.int32]


class Reach(NamedTuple):
    """The ball of a row in the block alone."""

    radius: float
    limits: tuple[float, float]
    up_to: int  # points of the own class that are no farther than the radius
    own: tuple[int, int]  # points of the own class inside the ball and within it
    everyone: tuple[int, int]


@kernel
def count_ties(block: Floats, classes: Classes, rows: Integers, ball: Ball) -> NDArray[np.int64]:
    """How many points of the own class are within the ball of each of the rows."""
    distances = np.empty(block.shape[1])
    buffer = np.empty(ball.n_neighbors)
    counts = np.empty(rows.shape[0], np.int64)
    for place in range(rows.shape[0]):
        row = rows[place]
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        nearest = buffer[: min(ball.n_neighbors, end - begin - 1)]
        measure(block, row, begin, end, ball, distances)
        own = distances[begin:end]
        counts[place] = count_up_to(own, limits_of(kth_smallest(own, nearest), ball.tolerance)[1])
    return counts


@inner
def _joined(distance: float, added: float, ball: Ball) -> float:
    """A distance after one more column."""
    return larger(added, distance) if ball.metric == CHEBYSHEV else distance + added


@inner
def _term_of_rare(
    rare: Rare, candidate: int, distances: Floats, begin: int, end: int, reach: Reach, ball: Ball
) -> float:
    """The term of a row that has the common value of a candidate; infinity where its entries do not tell it."""
    inner_limit, outer_limit = reach.limits
    up_to, own_inside, own_within = reach.up_to, reach.own[0], reach.own[1]
    inside, within = reach.everyone
    common = rare.common[candidate]
    # The hot loop: distances only grow, so points out of reach stay there.
    for entry in range(rare.starts[candidate], rare.starts[candidate + 1]):
        point = rare.points[entry]
        before = distances[point]
        if before <= outer_limit:
            after = _joined(before, cost(rare.values[entry], common, ball), ball)
            left = (before <= inner_limit) & (after > inner_limit)
            lost = after > outer_limit
            is_own = begin <= point < end
            inside -= left
            within -= lost
            own_inside -= is_own & left
            own_within -= is_own & lost
            up_to -= is_own & (before <= reach.radius) & (after > reach.radius)
    n_neighbors = min(ball.n_neighbors, end - begin - 1)
    if up_to < n_neighbors:
        return np.inf
    return ross_term(n_neighbors, (own_inside, own_within), (inside, within), ball.psi)


@inner
def _join_rare(rare: Rare, candidate: int, row: int, distances: Floats, ball: Ball, joined: Floats) -> None:
    """Write the distances from a row with one candidate, to all points."""
    common = rare.common[candidate]
    center = common
    first, last = rare.starts[candidate], rare.starts[candidate + 1]
    for entry in range(first, last):
        if rare.points[entry] == row:
            center = rare.values[entry]
    added = cost(common, center, ball)
    for point in range(distances.shape[0]):
        joined[point] = _joined(distances[point], added, ball)
    for entry in range(first, last):
        point = rare.points[entry]
        joined[point] = _joined(distances[point], cost(rare.values[entry], center, ball), ball)


@inner
def _same_place(block: Floats, classes: Classes, row: int, other: int) -> bool:
    """Whether two rows of a class are equal in all columns of the block."""
    same = classes.labels[row] == classes.labels[other]
    for column in range(block.shape[0]):
        same &= block[column, row] == block[column, other]
    return same


@kernel
def add_rare_to_classes(
    block: Floats, rare: Rare, classes: Classes, rows: Integers, ball: Ball, changes: Floats
) -> float:
    """Sum of Ross's terms of `rows` in a block, and how it changes with each candidate.

    Block and candidates are sorted by class; rows at the same place should follow each other. Adds, for every
    candidate, the changes and their squares to the rows of `changes`.
    """
    n_samples, n_candidates = block.shape[1], rare.common.shape[0]
    distances, joined, buffer = np.empty(n_samples), np.empty(n_samples), np.empty(ball.n_neighbors)
    terms = np.empty(n_candidates)  # of all rows at a place that have the common value; infinity if not yet known
    is_entry = np.zeros(n_candidates, np.bool_)
    reach = Reach(0.0, (0.0, 0.0), 0, (0, 0), (0, 0))
    total, before, last = 0.0, 0.0, -1
    for row in rows:
        begin, end = classes.starts[classes.labels[row]], classes.starts[classes.labels[row] + 1]
        nearest = buffer[: min(ball.n_neighbors, end - begin - 1)]
        if last >= 0 and _same_place(block, classes, row, last):
            distances[last], distances[row] = 0.0, np.inf
        else:
            measure(block, row, zero(), n_samples, ball, distances)
            own = distances[begin:end]
            radius = kth_smallest(own, nearest)
            limits = limits_of(radius, ball.tolerance)
            counts = count_both(own, limits), count_both(distances, limits)
            reach = Reach(radius, limits, count_up_to(own, radius), counts[0], counts[1])
            before = ross_term(nearest.shape[0], reach.own, reach.everyone, ball.psi)
            terms[:] = np.inf
        last = row
        total += before
        entries = rare.columns[rare.row_starts[row] : rare.row_starts[row + 1]]
        for candidate in entries:
            is_entry[candidate] = True
        for candidate in range(n_candidates):
            term = terms[candidate]
            if term == np.inf and not is_entry[candidate]:
                term = _term_of_rare(rare, candidate, distances, begin, end, reach, ball)
            if term == np.inf or is_entry[candidate]:
                _join_rare(rare, candidate, row, distances, ball, joined)
                term = ross_term_of(joined, begin, end, nearest, ball)
            if not is_entry[candidate]:
                terms[candidate] = term
            changes[0, candidate] += term - before
            changes[1, candidate] += (term - before) * (term - before)
        for candidate in entries:
            is_entry[candidate] = False
    return total
