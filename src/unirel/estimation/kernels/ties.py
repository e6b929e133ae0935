"""The rule for ties, the same for all kernels: a term is its mean over all orders in which equal distances could stand.

A neighbour that is the k-th only because some order had to be chosen among equal distances is no event of the data. So
all those orders count alike, and the mean over them is known in closed form or is a short sum. Nothing is drawn, and
where nothing ties there is one order only: the estimators of Ross, and of Kraskov, Stögbauer and Grassberger.
"""

import numpy as np

from unirel.data.jit import Floats, Integers, inner, kernel
from unirel.estimation.kernels.metric import Ball, count_both, kth_smallest

# Terms with ties that take Python two milliseconds. Compiling the kernel takes half a second.
_FEW_TIES = 256


@inner
def limits_of(radius: float, tolerance: float) -> tuple[float, float]:
    """The largest distance inside a ball, and the largest within it; what lies between them ties with the radius."""
    # Nothing is inside a ball of radius 0.
    return radius * (1.0 - tolerance) if radius > 0.0 else -1.0, radius * (1.0 + tolerance)


@inner
def _mean_over_orders(before: int, tied: int, marked: int, wanted: int, psi: Floats) -> float:
    """Sum psi over the positions that the wanted marked point can have, weighted by how many orders put it there."""
    # With u unmarked points in front of it there are C(u + wanted - 1, u) C(rest, marked - wanted) orders. The sum
    # starts at the largest weight, so that nothing underflows, and ends on both sides where weights are lost in
    # rounding.
    unmarked = tied - marked
    top = min(unmarked, (wanted - 1) * (unmarked + 1) // (marked - 1)) if marked > 1 else 0
    weights = 1.0
    total = psi[before + wanted + top]
    # Upwards from the largest weight: each follows from the one before.
    weight = 1.0
    for u in range(top, unmarked):
        weight *= (u + wanted) * (unmarked - u) / ((u + 1.0) * (unmarked - u + marked - wanted))
        weights += weight
        total += weight * psi[before + wanted + u + 1]
        if weight < 1e-17 * weights:
            break
    # And downwards.
    weight = 1.0
    for u in range(top, 0, -1):
        weight *= u * (unmarked - u + 1.0 + marked - wanted) / ((u + wanted - 1.0) * (unmarked - u + 1.0))
        weights += weight
        total += weight * psi[before + wanted + u - 1]
        if weight < 1e-17 * weights:
            break
    return total / weights


@inner
def digamma_of_position(before: int, tied: int, marked: int, wanted: int, psi: Floats) -> float:
    """Mean of psi at the position of the wanted-th of the marked points."""
    # It stands behind `before` points, among `tied` ones in any order, of which `marked` are of its kind.
    # All that tie are of its kind: only one position is possible.
    if tied == marked:
        return psi[before + wanted]
    # Nothing stands in front: the mean has a closed form.
    if before == 0:
        return psi[wanted] + psi[tied + 1] - psi[marked + 1]
    return _mean_over_orders(before, tied, marked, wanted, psi)


@inner
def ross_term(n_neighbors: int, own: tuple[int, int], everyone: tuple[int, int], psi: Floats) -> float:
    """psi(k) - psi(m): m is where the k-th neighbour of the own class stands among the neighbours of all classes."""
    # `own` and `everyone` say how many points are inside the ball and how many within it.
    inside, within = everyone
    # No tie, by far the most common case.
    if within == inside + 1:
        return psi[n_neighbors] - psi[within]
    return psi[n_neighbors] - digamma_of_position(inside, within - inside, own[1] - own[0], n_neighbors - own[0], psi)


def _tied_terms(n_neighbors: Integers, own: Integers, everyone: Integers, psi: Floats) -> Floats:
    terms = np.empty(n_neighbors.shape[0])
    for place in range(terms.shape[0]):
        same, all_classes = (own[0, place], own[1, place]), (everyone[0, place], everyone[1, place])
        terms[place] = ross_term(n_neighbors[place], same, all_classes, psi)
    return terms


_compiled_tied_terms = kernel(_tied_terms)


def ross_terms(n_neighbors: Integers, own: Integers, everyone: Integers, psi: Floats) -> Floats:
    """Ross's terms of rows, each with its number of neighbours, for many columns."""
    inside, within = everyone
    terms = np.asarray(psi[n_neighbors][:, None] - psi[within])
    # Where nothing ties, numpy is quick enough, and where little does, so is Python: the kernel is not compiled.
    tied = within != inside + 1
    if n_tied := np.count_nonzero(tied):
        of_ties = _compiled_tied_terms if n_tied > _FEW_TIES else _tied_terms
        terms[tied] = of_ties(n_neighbors[tied.nonzero()[0]], own[:, tied], everyone[:, tied], psi)
    return terms


@inner
def ross_term_of(distances: Floats, begin: int, end: int, nearest: Floats, ball: Ball) -> float:
    """The same of a point that is itself at infinity, from its distances; its class stands from `begin` to `end`."""
    own = distances[begin:end]
    n_neighbors = nearest.shape[0]
    limits = limits_of(kth_smallest(own, nearest), ball.tolerance)
    inside, within = count_both(distances, limits)
    if within == inside + 1:
        return ball.psi[n_neighbors] - ball.psi[within]
    return ross_term(n_neighbors, count_both(own, limits), (inside, within), ball.psi)


@inner
def _one_side_first(
    n_neighbors: int, joint: tuple[int, int, int], first: tuple[int, int], second: tuple[int, int], psi: Floats
) -> float:
    """One half of `ksg_term`: the first side is a trifle shorter than the second, so its ties come first."""
    none, some, both = joint
    # The neighbour wanted is reached while the first side closes, or only as the second one does.
    if some >= n_neighbors:
        position = digamma_of_position(first[0], first[1] - first[0], some - none, n_neighbors - none, psi)
        return psi[n_neighbors] - position - psi[second[0] + 1]
    position = digamma_of_position(second[0], second[1] - second[0], both - some, n_neighbors - some, psi)
    return psi[n_neighbors] - psi[first[1] + 1] - position


@inner
def _either_side_first(
    n_neighbors: int, joint: tuple[int, int, int, int], x: tuple[int, int], y: tuple[int, int], psi: Floats
) -> float:
    """The mean of both halves."""
    none, in_x, in_y, both = joint
    x_first = _one_side_first(n_neighbors, (none, in_x, both), x, y, psi)
    if x[0] == x[1] or y[0] == y[1]:
        return x_first  # one side does not tie, and both halves are equal
    return 0.5 * (x_first + _one_side_first(n_neighbors, (none, in_y, both), y, x, psi))


@inner
def _no_order(tied: int, x: tuple[int, int], y: tuple[int, int]) -> bool:
    """Whether there is nothing to be ordered: one point at the radius in the joint space, and no other on a side."""
    return tied == 1 and x[1] - x[0] <= 1 and y[1] - y[0] <= 1


@inner
def crossed(limits: tuple[float, float], tied: int, x: tuple[int, int], y: tuple[int, int]) -> bool:
    """Whether ties of both sides could fall together, so that the joint space has to be counted for `ksg_term`."""
    return limits[0] >= 0.0 and x[1] > x[0] and y[1] > y[0] and not _no_order(tied, x, y)


@inner
def not_crossed(limits: tuple[float, float], inside: int, within: int, y: tuple[int, int]) -> tuple[int, int, int, int]:
    """What `ksg_term` wants to know of the joint space otherwise; at radius 0 nothing is in a ball before all is."""
    in_x = inside if limits[0] < 0.0 or y[1] > y[0] else within
    in_y = inside if limits[0] < 0.0 or y[1] == y[0] else within
    return inside, in_x, in_y, within


@inner
def ksg_term(
    n_neighbors: int, joint: tuple[int, int, int, int], x: tuple[int, int], y: tuple[int, int], psi: Floats
) -> float:
    """psi(k) - psi(x) - psi(y): where the k-th neighbour in the joint space stands among the neighbours on each side.

    `x` and `y` say how many points are inside the ball and how many within it on one side alone; `joint` how many are
    inside on both sides, within in x and inside in y, inside in x and within in y, and within on both. KSG-1 needs a
    neighbour that is farthest on one side only. Where both sides tie, let one be a trifle shorter, and then the other.
    """
    if _no_order(joint[3] - joint[0], x, y):
        return psi[n_neighbors] - psi[x[0] + 1] - psi[y[0] + 1]
    return _either_side_first(n_neighbors, joint, x, y, psi)


@inner
def conditional_term(
    n_neighbors: int, joint: tuple[int, int, int, int, int], x: tuple[int, int, int], y: tuple[int, int, int],
    given: tuple[int, int], psi: Floats,
) -> float:  # fmt: skip
    """psi(k) - psi(xz) - psi(yz) + psi(z): what is given is a trifle shorter than both sides."""
    # All begin with the points inside the ball, and go on with those that are within it along what is given; then
    # `joint` has those within along x too, along y too, and along all.
    marked = joint[1] - joint[0]
    if _no_order(joint[4] - joint[0], (x[0], x[2]), (y[0], y[2])) and given[1] - given[0] <= 1:
        return psi[n_neighbors] - psi[x[0] + 1] - psi[y[0] + 1] + psi[given[0] + 1]
    # What is given closes first; if that does not reach the neighbour, the sides close next.
    if joint[1] < n_neighbors:
        rest = (joint[1], joint[2], joint[3], joint[4])
        return _either_side_first(n_neighbors, rest, (x[1], x[2]), (y[1], y[2]), psi) + psi[given[1] + 1]
    wanted = n_neighbors - joint[0]
    return (
        psi[n_neighbors]
        - digamma_of_position(x[0], x[1] - x[0], marked, wanted, psi)
        - digamma_of_position(y[0], y[1] - y[0], marked, wanted, psi)
        + digamma_of_position(given[0], given[1] - given[0], marked, wanted, psi)
    )
