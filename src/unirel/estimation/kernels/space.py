"""Neighbours in spaces of any dimension: blocks of columns in one of three metrics.

A block is an array of columns, all in the order of one of them, the anchor. Whatever lies farther away along the anchor
than the distance in question need not be looked at; what is left is a stretch of contiguous points, measured column by
column. Without an anchor the stretch is everything.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.jit import Floats, Integers, inner, kernel, zero
from unirel.estimation.kernels.line import end_within, first_within
from unirel.estimation.kernels.metric import EUCLIDEAN, Ball, count_both, keep_smallest, measure
from unirel.estimation.kernels.ties import conditional_term, limits_of, ross_term


class Sorted(NamedTuple):
    """Columns in the order of the anchor, and the anchor itself; an anchor of no length where nothing orders them."""

    columns: NDArray[np.floating]
    anchor: NDArray[np.floating]


@inner
def _stretch(anchor: Floats, point: int, begin: int, end: int, limit: float, metric: int) -> tuple[int, int]:
    """The points from `begin` to `end` that can be within `limit` of `point`, as the anchor tells."""
    if anchor.shape[0] == 0:
        return begin, end
    # The root must not round below the true one.
    reach = np.sqrt(limit) * (1.0 + 1e-12) if metric == EUCLIDEAN else limit
    # Both ends are searched in the whole range: `point` may stand outside it, in another group.
    lower = first_within(anchor, begin, end, anchor[point], reach)
    return lower, end_within(anchor, lower, end, anchor[point], reach)


@inner
def _radius_in_group(
    block: Sorted, point: int, begin: int, end: int, ball: Ball, distances: Floats
) -> tuple[float, int, int]:
    """Distance to the n_neighbors-th neighbour among the points `begin` to `end`, and the stretch that was measured."""
    # A first stretch around the point bounds the distance, and the bound says how far along the anchor to look.
    anchor = block.anchor
    n_neighbors = min(ball.n_neighbors, end - begin - 1)
    half = end - begin
    if anchor.shape[0] > 0:
        half = max(n_neighbors + 1, 32, int((end - begin) ** (2 / 3)) // 2)
    # Where the anchor tells nothing, the first stretch is everything, and there is no second one.
    start = max(begin, point - half)
    stop = min(end, point + half + 1)
    nearest = np.full(n_neighbors, np.inf)
    measure(block.columns, point, start, stop, ball, distances)
    keep_smallest(distances[start:stop], nearest)
    lower, upper = start, stop
    if anchor.shape[0] > 0:
        bound = limits_of(nearest[-1], ball.tolerance)[1]
        lower, upper = _stretch(anchor, point, begin, end, bound, ball.metric)
        # What was measured already is not measured again.
        lower, upper = min(lower, start), max(upper, stop)
        measure(block.columns, point, lower, start, ball, distances)
        measure(block.columns, point, stop, upper, ball, distances)
        keep_smallest(distances[lower:start], nearest)
        keep_smallest(distances[stop:upper], nearest)
    return nearest[-1], lower, upper


@kernel
def ross_in_space(block: Sorted, starts: Integers, first: int, last: int, ball: Ball, distances: Floats) -> float:
    """Sum of Ross's terms of the points `first` to `last` of a block sorted by class and, within one, by the anchor."""
    # `starts` holds the start of every class and the end of the last.
    n_classes = starts.shape[0] - 1
    label = 0
    total = 0.0
    for point in range(first, last):
        # Points come class by class, so the class of the next one is this one or a later one.
        while point >= starts[label + 1]:
            label += 1
        begin, end = starts[label], starts[label + 1]
        radius, lower, upper = _radius_in_group(block, point, begin, end, ball, distances)
        limits = limits_of(radius, ball.tolerance)
        own = count_both(distances[lower:upper], limits)
        inside, within = own
        # The hot loop: in each other class only the stretch that the anchor leaves is measured.
        for other in range(n_classes):
            if other != label:
                lower, upper = _stretch(block.anchor, point, starts[other], starts[other + 1], limits[1], ball.metric)
                measure(block.columns, point, lower, upper, ball, distances)
                more = count_both(distances[lower:upper], limits)
                inside, within = inside + more[0], within + more[1]
        total += ross_term(min(ball.n_neighbors, end - begin - 1), own, (inside, within), ball.psi)
    return total


@kernel
def count_in_balls(
    block: Sorted, first: int, last: int, ball: Ball, search: bool, distances: Floats, radius: Floats, counts: Integers
) -> None:
    """How many others are inside, and within, the balls of the points `first` to `last`."""
    # Their radius is searched for in this block, or is known from another one.
    for point in range(first, last):
        lower, upper = zero(), distances.shape[0]
        if search:
            radius[point], lower, upper = _radius_in_group(block, point, lower, upper, ball, distances)
        limits = limits_of(radius[point], ball.tolerance)
        if not search:
            lower, upper = _stretch(block.anchor, point, lower, upper, limits[1], ball.metric)
            measure(block.columns, point, lower, upper, ball, distances)
        counts[point, 0], counts[point, 1] = count_both(distances[lower:upper], limits)


@kernel
def count_by_side(
    sides: tuple[Floats, Floats, Floats], anchor: Floats, points: Integers, ball: Ball, distances: Floats,
    radius: Floats, counts: Integers,
) -> None:  # fmt: skip
    """Count the others in the balls of some points with one side after the other closed, the rest of them open."""
    # The sides are what is given, x and y, each a block or no column at all. The counts are those with no side closed,
    # the given one, that and x, that and y, and all three.
    given, x, y = distances[0], distances[1], distances[2]
    # Few rows come here, those with ties on several sides; it need not be quick.
    for point in points:
        inner, outer = limits_of(radius[point], ball.tolerance)
        lower, upper = _stretch(anchor, point, zero(), distances.shape[1], outer, ball.metric)
        measure(sides[0], point, lower, upper, ball, given)
        measure(sides[1], point, lower, upper, ball, x)
        measure(sides[2], point, lower, upper, ball, y)
        for closed in range(5):
            counts[point, closed] = 0
        for other in range(lower, upper):
            # Comparisons as numbers instead of branches, which the processor could not guess.
            x_inside, y_inside = x[other] <= inner, y[other] <= inner
            x_within, y_within = x[other] <= outer, y[other] <= outer
            counts[point, 0] += (given[other] <= inner) & x_inside & y_inside
            if given[other] <= outer:
                counts[point, 1] += x_inside & y_inside
                counts[point, 2] += x_within & y_inside
                counts[point, 3] += x_inside & y_within
                counts[point, 4] += x_within & y_within


@kernel
def ksg_sum(joint: Integers, x: Integers, y: Integers, given: Integers, ball: Ball) -> float:
    """Sum of KSG's terms of all rows, from the counts that `conditional_term` wants to know."""
    total = 0.0
    for row in range(joint.shape[0]):
        total += conditional_term(
            ball.n_neighbors,
            (joint[row, 0], joint[row, 1], joint[row, 2], joint[row, 3], joint[row, 4]),
            (x[row, 0], x[row, 1], x[row, 2]),
            (y[row, 0], y[row, 1], y[row, 2]),
            (given[row, 0], given[row, 1]),
            ball.psi,
        )
    return total
