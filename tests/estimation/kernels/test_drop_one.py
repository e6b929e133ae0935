"""Leaving out each column in one pass against measuring every rest anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, MISMATCH, encoded_columns, encoded_distances, ksg_terms, ross_terms
from scipy.special import digamma

from unirel.estimation.geometry import line_of, make_room, side_by_side
from unirel.estimation.kernels.change_one import change_one_in_classes
from unirel.estimation.kernels.drop_one import drop_one_from_classes, drop_one_from_line


def drop_one_from_sum(columns, classes, rows, ball, changes):
    """Each column leaves the block; all of them stand side by side."""
    room = make_room(columns.shape[1], ball.n_neighbors)
    return change_one_in_classes(columns, side_by_side(columns), classes, rows, True, ball, room, changes)


DROP_ONE = {
    "chebyshev": drop_one_from_classes,
    "manhattan": drop_one_from_sum,
    "euclidean": drop_one_from_sum,
}
BLOCKS = {
    "numbers": [0, 5],
    "ties": [1, 5, 1, 1],
    "duplicates": [0, 6, 1],
    "levels": [3, 3, 4],
    "equal": [2, 2, 2],
    "all": list(range(7)),
    "wide": [0, 1, 3, 4, 5] * 3,
}


def class_terms(distance, labels, n_neighbors, tolerance):
    """psi(k) - psi(m) of each row."""
    constant = digamma(len(labels)) - digamma(np.bincount(labels)[labels])
    return ross_terms(distance, labels.tolist(), n_neighbors, tolerance) - constant


def summed(columns, terms_of, rows):
    """The sum of local terms, and the sums of their changes without each column and of the squares of these."""
    whole = terms_of(columns)[rows]
    changes = [terms_of(np.delete(columns, position, axis=0))[rows] - whole for position in range(len(columns))]
    return whole.sum(), [np.sum(changes, axis=1), np.sum(np.square(changes), axis=1)]


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (30, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("metric", MISMATCH)
@pytest.mark.parametrize("block", BLOCKS)
def test_drop_one_from_classes(block, metric, n_neighbors, dtype, rng, make_ball, make_classes):
    n_rows = 40
    columns = encoded_columns(rng, n_rows, dtype)[BLOCKS[block]]
    labels, rows = np.sort(np.r_[[2, 2], np.arange(n_rows - 2) % 2]), np.arange(0, n_rows, 2)
    ball, changes = make_ball(n_rows, n_neighbors, metric, dtype), np.zeros((2, len(columns)))
    total = DROP_ONE[metric](columns, make_classes(labels), rows, ball, changes)

    def terms_of(some):
        return class_terms(encoded_distances(some, metric, MISMATCH[metric]), labels, n_neighbors, ball.tolerance)

    expected = summed(columns, terms_of, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (39, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("target", [0, 1, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_drop_one_from_line(block, target, n_neighbors, dtype, rng, make_ball):
    n_rows = 40
    columns = encoded_columns(rng, n_rows, dtype)[BLOCKS[block]]
    target = encoded_columns(rng, n_rows, dtype)[target]
    rows, ball, changes = (
        np.arange(1, n_rows, 2),
        make_ball(n_rows, n_neighbors, dtype=dtype),
        np.zeros((2, len(columns))),
    )
    total = drop_one_from_line(columns, line_of(target), rows, ball, changes)

    def terms_of(some):
        sides = encoded_distances(some), encoded_distances([target])
        return ksg_terms(*sides, n_neighbors, ball.tolerance) - digamma(n_rows)

    expected = summed(columns, terms_of, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("columns", [[[0.0, 1.0], [0.5, 0.5]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 2 * FAR], [0.0, 3.0]]])
def test_two_rows(columns, make_ball, make_classes):
    for metric, drop_one in DROP_ONE.items():
        changes = np.zeros((2, 2))
        assert drop_one(np.array(columns), make_classes([0, 0]), np.arange(2), make_ball(2, 3, metric), changes) == 0
        assert_allclose(changes, 0, rtol=0, atol=0)


def test_sums_are_added_to(rng, make_ball, make_classes):
    """What is there stays, so that ranges of rows can be added up."""
    columns = encoded_columns(rng, 30)
    rest = make_ball(30, 3)
    classes = make_classes(np.arange(30) // 15)
    one, two = np.zeros((2, 2, 7))
    total = drop_one_from_classes(columns, classes, np.arange(30), rest, one)
    parts = [drop_one_from_classes(columns, classes, rows, rest, two) for rows in (np.arange(11), np.arange(11, 30))]
    assert sum(parts) == pytest.approx(total, abs=1e-12)
    assert_allclose(one, two, rtol=0, atol=1e-12)
