"""The few smallest of some distances, and how many are within a limit."""

import numpy as np

from unirel.estimation.kernels._jit import Floats, inner


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
def count_up_to(distances: Floats, limit: float) -> int:
    """How many distances are at most `limit`."""
    count = 0
    for point in range(distances.shape[0]):
        count += distances[point] <= limit
    return count


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
