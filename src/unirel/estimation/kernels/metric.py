"""How distances are measured, in one of three metrics; the smallest of them, and how many are within a limit."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.jit import Floats, inner

CHEBYSHEV, MANHATTAN, EUCLIDEAN = 0, 1, 2


class Ball(NamedTuple):
    """How distances are measured, and how many neighbours a ball has to reach."""

    n_neighbors: int
    metric: int  # euclidean distances stay squared throughout
    far: Any  # from here on two values of a column are different levels
    mismatch: Any  # what two levels cost
    tolerance: float  # distances that differ by less than this share tie
    psi: NDArray[np.float64]  # the digamma function of whole numbers


@inner
def larger(a: float, b: float) -> float:
    """Like max, but a plain select, which the compiler turns into vector code."""
    return a if a > b else b


@inner
def smaller(a: float, b: float) -> float:
    """Like min, but a plain select."""
    return a if a < b else b


@inner
def cost(value: float, center: float, ball: Ball) -> float:
    """What one column adds to a distance, in double precision."""
    difference = abs(value - center)
    result = np.float64(difference if difference < ball.far else ball.mismatch)
    # The metric is the same for a whole loop: the compiler makes two loops of one and decides in front of them.
    return result * result if ball.metric == EUCLIDEAN else result


@inner
def _largest_difference(block: Floats, point: int, start: int, stop: int, ball: Ball, distances: Floats) -> None:
    """Largest difference to `point`, cut off at `far`."""
    n_columns = block.shape[0]
    whole = n_columns - n_columns % 4
    size = stop - start
    result = distances[start:stop]
    result[:] = 0
    # Four columns a step: the results then go through memory once for four columns instead of once for each.
    for column in range(0, whole, 4):
        first, second = block[column, start:stop], block[column + 1, start:stop]
        third, fourth = block[column + 2, start:stop], block[column + 3, start:stop]
        a, b, c, d = block[column, point], block[column + 1, point], block[column + 2, point], block[column + 3, point]
        for other in range(size):
            left = larger(abs(first[other] - a), abs(second[other] - b))
            right = larger(abs(third[other] - c), abs(fourth[other] - d))
            result[other] = larger(result[other], larger(left, right))
    for column in range(whole, n_columns):
        values = block[column, start:stop]
        center = block[column, point]
        for other in range(size):
            result[other] = larger(result[other], abs(values[other] - center))
    for other in range(size):
        result[other] = smaller(result[other], ball.far)


@inner
def measure(block: Floats, point: int, start: int, stop: int, ball: Ball, distances: Floats) -> None:
    """Write the distances from `point` to the points `start` to `stop`, itself at infinity."""
    if ball.metric == CHEBYSHEV:
        _largest_difference(block, point, start, stop, ball, distances)
    else:
        result = distances[start:stop]
        result[:] = 0
        for column in range(block.shape[0]):
            values = block[column, start:stop]
            center = block[column, point]
            for other in range(stop - start):
                result[other] += cost(values[other], center, ball)
    if start <= point < stop:
        distances[point] = np.inf


@inner
def insert(nearest: Floats, distance: float) -> None:
    """Put a distance that is below the largest entry where it belongs; the largest drops out."""
    # From the end, where most newcomers belong; a few entries are moved at most.
    slot = nearest.shape[0] - 1
    while slot > 0 and nearest[slot - 1] > distance:
        nearest[slot] = nearest[slot - 1]
        slot -= 1
    nearest[slot] = distance


@inner
def keep_smallest(distances: Floats, nearest: Floats) -> None:
    """Let the smallest of some distances into the ascending `nearest`."""
    # Nearly every distance fails the one comparison here: that is what makes the scan as fast as reading.
    for point in range(distances.shape[0]):
        if distances[point] < nearest[-1]:
            insert(nearest, distances[point])


@inner
def kth_smallest(distances: Floats, nearest: Floats) -> float:
    """The k-th smallest of some distances, k being the length of `nearest`, which then holds the k smallest."""
    # Fewer distances than asked for leave infinities behind.
    nearest[:] = np.inf
    keep_smallest(distances, nearest)
    return nearest[-1]


@inner
def count_both(distances: Floats, limits: tuple[float, float]) -> tuple[int, int]:
    """How many distances are at most the first limit, and how many at most the second."""
    # Two comparisons a point in one pass, added up as numbers: vector code.
    inner, outer = limits
    inside = 0
    within = 0
    for point in range(distances.shape[0]):
        inside += distances[point] <= inner
        within += distances[point] <= outer
    return inside, within
