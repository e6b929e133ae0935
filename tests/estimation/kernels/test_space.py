"""Kernels in many dimensions against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import FAR, MISMATCH, count_within, encoded_columns, encoded_distances, kth_smallest, ross_terms
from scipy.special import digamma

from unirel.estimation.kernels.space import count_by_side, count_in_balls, ross_in_space
from unirel.estimation.neighbors import sorted_by

BLOCKS = {"line": [0], "plane": [0, 1], "ties": [1, 5, 1], "levels": [3, 3, 4], "equal": [2, 2], "all": list(range(7))}
TOLERANCE = 1e-9


def sorted_blocks(columns, labels):
    """The columns by class, without an anchor and, if the first column can order the rows, with it."""
    anchor = columns[0]
    blocks = [sorted_by(columns, None, labels)[0]]
    # Levels and missing values order nothing, for they are all as far away.
    if np.all(anchor < FAR) and anchor.min() < anchor.max():
        blocks.append(sorted_by(columns, anchor, labels)[0])
    return blocks


def limits_of(radius):
    """The largest distances inside balls and within them."""
    inner = np.where(radius > 0, radius * (1 - TOLERANCE), -1.0)
    return inner, radius * (1 + TOLERANCE)


@pytest.mark.parametrize("n_neighbors", [1, 3, 60])
@pytest.mark.parametrize("metric", MISMATCH)
@pytest.mark.parametrize("block", BLOCKS)
def test_ross_in_space(block, metric, n_neighbors, rng, make_ball):
    n_rows, labels = 60, np.arange(60) % 3
    starts, ball = np.array([0, 20, 40, 60]), make_ball(n_rows, n_neighbors, metric)
    for points in sorted_blocks(encoded_columns(rng, n_rows)[BLOCKS[block]], labels):
        parts = [ross_in_space(points, starts, *part, ball, np.empty(n_rows)) for part in [(0, 25), (25, n_rows)]]
        distance = encoded_distances(points.columns, metric, MISMATCH[metric])
        twin = ross_terms(distance, np.sort(labels).tolist(), n_neighbors) - digamma(n_rows) + digamma(20)
        assert sum(parts) == pytest.approx(twin.sum(), abs=1e-10)


def test_ross_in_space_of_two_rows(make_ball):
    for columns in (np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 2 * FAR]])):
        for metric in MISMATCH:
            points, _ = sorted_by(columns, None)
            assert ross_in_space(points, np.array([0, 2]), 0, 2, make_ball(2, 3, metric), np.empty(2)) == 0


@pytest.mark.parametrize("n_rows", [2, 3, 60])
@pytest.mark.parametrize("block", BLOCKS)
def test_balls(block, n_rows, rng, make_ball):
    ball = make_ball(n_rows, min(4, n_rows - 1))
    for points in sorted_blocks(encoded_columns(rng, n_rows)[BLOCKS[block]], np.zeros(n_rows, int)):
        distance = encoded_distances(points.columns)
        expected = kth_smallest(distance, ball.n_neighbors, ~np.eye(n_rows, dtype=bool))[:, 0]
        counts = np.transpose([count_within(distance, limits) for limits in limits_of(expected)])
        for search, radius in ((True, np.empty(n_rows)), (False, expected)):
            ours = np.empty((n_rows, 2), np.int64)
            for first, last in [(0, 1), (1, n_rows)]:
                count_in_balls(points, first, last, ball, search, np.empty(n_rows), radius, ours)
            assert_allclose(radius, expected, rtol=1e-14)
            assert_array_equal(ours, counts)


@pytest.mark.parametrize("sides", [([1], [5], [4]), ([], [0, 1], [1]), ([3], [1], [1, 5]), ([1, 1], [5], [])])
def test_sides_closed_one_after_the_other(sides, rng, make_ball):
    columns = encoded_columns(rng, 40)
    ball, radius = make_ball(40, 3), rng.choice([0.5, 1.0, FAR], size=40)
    spaces = [encoded_distances(columns[side]) if side else np.full((40, 40), -1.0) for side in sides]
    rows, ours = np.arange(0, 40, 2), np.empty((40, 5), np.int64)
    blocks = tuple(columns[side] for side in sides)
    count_by_side(blocks, columns[0, :0], rows, ball, np.empty((3, 40)), radius, ours)
    inner, outer = ([space <= limits[:, None] for space in spaces] for limits in limits_of(radius))
    np.fill_diagonal(outer[0], False)
    np.fill_diagonal(inner[0], False)
    for column, closed in enumerate([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]):
        balls = [outer[side] if closed[side] else inner[side] for side in range(3)]
        assert_array_equal(ours[rows, column], np.sum(np.all(balls, axis=0), axis=1)[rows])
