"""Ross's estimator on a line for many labellings of the same sorted column."""

import numpy as np

from unirel.estimation.kernels._jit import Floats, Integers, inner, kernel
from unirel.estimation.kernels.line import count_around
from unirel.estimation.kernels.metric import Ball, smaller
from unirel.estimation.kernels.ties import limits_of, ross_term

# Labellings that are looked at together.
LANES = 64
# Neighbours that are passed before it is asked who is still looking, and how many at most: a byte has to hold them.
_STRIDE, _REACH = 4, 240
# Numbers of one byte, so that many go into one vector instruction.
_NONE, _ONE = np.uint8(0), np.uint8(1)


@inner
def _pass_neighbor(line: Floats, center: float, low: int, high: int) -> tuple[int, float, int, int]:
    """The nearer of the points at `low` and at `high`, its distance, and where the next ones are on either side."""
    to_left, to_right = center - line[low], line[high] - center
    # Which side is nearer is a matter of chance, and a branch on it would be guessed wrong half of the time.
    leftward = int(to_left < to_right)
    return high + (low - high) * leftward, smaller(to_left, to_right), low - leftward, high + 1 - leftward


@inner
def _ties(before: float, radius: float, after: float, ball: Ball) -> bool:
    """Whether a neighbour is as far away as the one before it or after it, or as all that are far away."""
    inner, outer = limits_of(radius, ball.tolerance)
    return (before > inner) | (after <= outer) | (radius >= ball.far)


@inner
def _term_of_tied(line: Floats, labels: Integers, position: int, radius: float, n_neighbors: int, ball: Ball) -> float:
    """Ross's term of a point whose ball has ties at its radius, by counting in full."""
    limits = limits_of(smaller(radius, ball.far), ball.tolerance)
    inside, within = 0, 0
    for step in (-1, 1):
        place = position + step
        while 0 < place < line.shape[0] - 1:
            distance = abs(line[place] - line[position])
            if limits[1] < ball.far and distance > limits[1]:
                break
            same = labels[place] == labels[position]
            inside += same and distance <= limits[0]
            within += same
            place += step
    everyone = count_around(line[1:-1], position - 1, limits, ball.far)
    return ross_term(n_neighbors, (inside, within), everyone, ball.psi)


@inner
def _walk_together(
    line: Floats, labels: Integers, position: int, missing: Integers, passed: Integers, distances: Floats
) -> tuple[int, int, int]:
    """Pass the neighbours of a point, nearest first, until few labellings still miss neighbours of its class.

    `missing` counts down in each labelling how many, `passed` counts up how many of any class it took. Returns how many
    neighbours were passed, and where the next ones are. The hot loop: all labellings have the same neighbours, and 64
    labels are compared in a few vector instructions.
    """
    own, center = labels[position], line[position]
    low, high = position - 1, position + 1
    n_passed, n_open, n_closed = 0, LANES, 0
    # A few labellings that wait for a rare class would hold up all others.
    while n_open and (n_open * 16 > LANES or n_closed * 4 >= n_open):
        if n_passed >= min(_REACH, line.shape[0] - 2 - _STRIDE):
            break
        for _ in range(_STRIDE):
            other, distance, low, high = _pass_neighbor(line, center, low, high)
            n_passed += 1
            distances[n_passed] = distance
            theirs = labels[other]
            for lane in range(LANES):
                is_open = _ONE if missing[lane] > _NONE else _NONE
                same = _ONE if theirs[lane] == own[lane] else _NONE
                passed[lane] = np.uint8(passed[lane] + is_open)
                missing[lane] = np.uint8(missing[lane] - (is_open & same))
        still = _NONE
        for lane in range(LANES):
            still = np.uint8(still + (_ONE if missing[lane] > _NONE else _NONE))
        n_closed, n_open = n_open - int(np.int64(still)), int(np.int64(still))
    return n_passed, low, high


@inner
def _walk_on(
    line: Floats,
    labels: Integers,
    position: int,
    missing: Integers,
    walk: tuple[int, int, int, float],
    wanted: Integers,
    ball: Ball,
    sums: Floats,
) -> None:
    """Go on for the labellings that still miss neighbours, one by one, and add Ross's terms of the point in these."""
    own, center = labels[position], line[position]
    n_passed, low, high, distance = walk
    late = np.flatnonzero(missing)
    n_late = late.shape[0]
    while n_late:
        before = distance
        other, distance, low, high = _pass_neighbor(line, center, low, high)
        n_passed += 1
        for place in range(n_late - 1, -1, -1):
            lane = late[place]
            missing[lane] -= labels[other, lane] == own[lane]
            if missing[lane] == _NONE:
                n_late -= 1
                late[place] = late[n_late]
                n_neighbors = wanted[own[lane]]
                after = smaller(center - line[low], line[high] - center)
                if _ties(before, distance, after, ball):
                    term = _term_of_tied(line, labels[:, lane], position, distance, n_neighbors, ball)
                else:
                    term = ball.psi[n_neighbors] - ball.psi[n_passed]
                sums[own[lane], lane] += term


@kernel
def ross_of_labellings(line: Floats, labels: Integers, wanted: Integers, ball: Ball) -> Floats:
    """Sum of Ross's terms of one column, for each of LANES labellings.

    `line` is the column in ascending order between two infinities, `labels` has a row for each of its positions with a
    byte for each labelling, and `wanted` says for each class how many neighbours a ball has to reach.
    """
    missing, passed = np.empty(LANES, np.uint8), np.empty(LANES, np.uint8)
    distances, tied = np.zeros(_REACH + _STRIDE + 2, line.dtype), np.zeros(_REACH + _STRIDE + 2, np.bool_)
    sums, terms = np.zeros((wanted.shape[0], LANES)), np.zeros((wanted.shape[0], _REACH + _STRIDE + 1))
    for label in range(wanted.shape[0]):
        for step in range(1, min(terms.shape[1], ball.psi.shape[0])):
            terms[label, step] = ball.psi[wanted[label]] - ball.psi[step]
    for position in range(1, line.shape[0] - 1):
        own = labels[position]
        for lane in range(LANES):
            missing[lane] = wanted[own[lane]]
            passed[lane] = _NONE
        n_passed, low, high = _walk_together(line, labels, position, missing, passed, distances)
        distances[n_passed + 1] = smaller(line[position] - line[low], line[high] - line[position])
        any_tied = False
        for step in range(1, n_passed + 1):
            tied[step] = _ties(distances[step - 1], distances[step], distances[step + 1], ball)
            any_tied |= tied[step]
        if missing.any():
            _walk_on(
                line, labels, position, missing.copy(), (n_passed, low, high, distances[n_passed]), wanted, ball, sums
            )
        for lane in range(LANES):
            place = _NONE if missing[lane] > _NONE else passed[lane]
            if any_tied and tied[place]:
                radius, n_neighbors = distances[place], wanted[own[lane]]
                sums[own[lane], lane] += _term_of_tied(line, labels[:, lane], position, radius, n_neighbors, ball)
            else:
                sums[own[lane], lane] += terms[own[lane], place]
    return sums.sum(axis=0)
