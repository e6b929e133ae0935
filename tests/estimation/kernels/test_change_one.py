"""Adding a column to a block, or leaving one out, along one order of the rows against measuring every block anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, MISMATCH, encoded_columns, encoded_distances, ksg_terms, ross_terms
from scipy.special import digamma

from unirel.estimation.kernels.change_one import (
    LANES,
    change_one_in_classes,
    change_one_in_line,
    make_room,
    side_by_side,
)
from unirel.estimation.knn import line_of

N_ROWS = 40
BLOCKS = {
    "line": [0],
    "ties": [1, 5, 1, 1],
    "duplicates": [0, 6, 1],
    "levels": [3, 3, 4],
    "gaps": [4, 3, 4],
    "equal": [2, 2, 2],
    "all": list(range(7)),
    "wide": [0, 1, 3, 4, 5] * 3,
    "groups": [0, 1, 3, 5] * (LANES // 4),
}
any_change = pytest.mark.parametrize(
    ("block", "leaving"),
    [(block, leaving) for block in [*BLOCKS, "rare"] for leaving in (True, False) if block != "line" or not leaving],
)
any_ball = pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (30, np.float64), (3, np.float32)]
)
leaving_or_joining = pytest.mark.parametrize("leaving", [True, False])


def make_columns(rng, block, leaving, dtype):
    """A block, and the candidates that leave it or join it."""
    candidates = encoded_columns(rng, N_ROWS, dtype)
    if block == "rare":
        candidates = np.where(rng.random(candidates.shape) < 0.1, candidates, candidates[:, :1])
    if block == "groups" and not leaving:
        return candidates[:3], candidates[np.arange(2 * LANES) % len(candidates)]
    columns = candidates[BLOCKS.get(block, [0, 1, 3])]
    return columns, columns if leaving else candidates


def summed(terms_of, columns, candidates, leaving, rows):
    """The sum of local terms, and the sums of their changes with or without each candidate and of their squares."""
    whole = terms_of(columns)[rows]
    if leaving:
        changed = [np.delete(columns, position, axis=0) for position in range(len(columns))]
    else:
        changed = [np.vstack([columns, candidate]) for candidate in candidates]
    changes = [terms_of(block)[rows] - whole for block in changed]
    return whole.sum(), [np.sum(changes, axis=1), np.sum(np.square(changes), axis=1)]


@any_ball
@pytest.mark.parametrize("metric", MISMATCH)
@any_change
def test_change_one_in_classes(block, leaving, metric, n_neighbors, dtype, rng, make_ball, make_classes):
    columns, candidates = make_columns(rng, block, leaving, dtype)
    labels, rows = np.sort(np.r_[[2, 2], np.arange(N_ROWS - 2) % 2]), np.arange(0, N_ROWS, 2)
    ball, changes = make_ball(N_ROWS, n_neighbors, metric, dtype), np.zeros((2, len(candidates)))
    changed, classes = side_by_side(candidates), make_classes(labels)
    total = change_one_in_classes(columns, changed, classes, rows, ball, leaving, changes)

    def terms_of(some):
        distance = encoded_distances(some, metric, MISMATCH[metric])
        constant = digamma(N_ROWS) - digamma(np.bincount(labels)[labels])
        return ross_terms(distance, labels.tolist(), n_neighbors, ball.tolerance) - constant

    expected = summed(terms_of, columns, candidates, leaving, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("target", "n_neighbors", "dtype"),
    [(0, 1, np.float64), (0, 3, np.float32), (1, 3, np.float64), (5, 1, np.float64), (5, 30, np.float64)],
)
@any_change
def test_change_one_in_line(block, leaving, target, n_neighbors, dtype, rng, make_ball):
    columns, candidates = make_columns(rng, block, leaving, dtype)
    target = encoded_columns(rng, N_ROWS, dtype)[target]
    ball, changes = make_ball(N_ROWS, n_neighbors, dtype=dtype), np.zeros((2, len(candidates)))
    line, room, rows = line_of(target), make_room(N_ROWS, n_neighbors, leaving), np.arange(1, N_ROWS, 2)
    total = change_one_in_line(columns, side_by_side(candidates), line, rows, ball, room, changes)

    def terms_of(some):
        sides = encoded_distances(some), encoded_distances([target])
        return ksg_terms(*sides, n_neighbors, ball.tolerance) - digamma(N_ROWS)

    expected = summed(terms_of, columns, candidates, leaving, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("columns", [[[0.0, 1.0], [0.5, 0.5]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 2 * FAR], [0.0, 3.0]]])
@pytest.mark.parametrize("metric", MISMATCH)
@leaving_or_joining
def test_two_rows(columns, leaving, metric, make_ball, make_classes):
    columns, classes, ball = np.array(columns), make_classes([0, 0]), make_ball(2, 3, metric)
    changes = np.zeros((2, 2))
    assert change_one_in_classes(columns, side_by_side(columns), classes, np.arange(2), ball, leaving, changes) == 0
    assert_allclose(changes, 0, rtol=0, atol=0)


@leaving_or_joining
def test_sums_are_added_to(leaving, rng, make_ball, make_classes):
    """What is there stays, so that ranges of rows can be added up."""
    columns, classes, ball = encoded_columns(rng, 30), make_classes(np.arange(30) // 15), make_ball(30, 3)
    changed, (one, two) = side_by_side(columns), np.zeros((2, 2, 7))

    def total_of(rows, changes):
        return change_one_in_classes(columns, changed, classes, rows, ball, leaving, changes)

    total, parts = total_of(np.arange(30), one), [total_of(rows, two) for rows in (np.arange(11), np.arange(11, 30))]
    assert sum(parts) == pytest.approx(total, abs=1e-12)
    assert_allclose(one, two, rtol=0, atol=1e-12)
