"""Adding each candidate along one order of the rows against measuring every extended block anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, MISMATCH, encoded_columns, encoded_distances, ksg_terms, ross_terms
from scipy.special import digamma

from unirel.estimation.geometry import common_values, line_of, make_room, rare_of, side_by_side
from unirel.estimation.kernels.change_one import add_one_to_line, change_one_in_classes
from unirel.estimation.kernels.rare import add_rare_to_classes

BLOCKS = {"line": [0], "ties": [1, 5], "levels": [3], "gaps": [4, 3, 4], "equal": [2, 2], "all": list(range(7))}


def summed(terms_of, block, candidates, rows):
    """The sum of local terms, and the sums of their changes with each candidate and of the squares of these."""
    whole = terms_of(block)[rows]
    changes = [terms_of(np.vstack([block, candidate]))[rows] - whole for candidate in candidates]
    return whole.sum(), [np.sum(changes, axis=1), np.sum(np.square(changes), axis=1)]


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (30, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("metric", MISMATCH)
@pytest.mark.parametrize("block", [*BLOCKS, "rare"])
def test_add_to_classes(block, metric, n_neighbors, dtype, rng, make_ball, make_classes):
    n_rows = 40
    candidates = encoded_columns(rng, n_rows, dtype)
    if block == "rare":
        candidates = np.where(rng.random(candidates.shape) < 0.1, candidates, candidates[:, :1])
    columns = candidates[BLOCKS.get(block, [0, 1, 3])]
    labels, rows = np.sort(np.r_[[2, 2], np.arange(n_rows - 2) % 2]), np.arange(0, n_rows, 2)
    ball, changes = make_ball(n_rows, n_neighbors, metric, dtype), np.zeros((2, len(candidates)))
    classes, room = make_classes(labels), make_room(n_rows, n_neighbors)
    total = change_one_in_classes(columns, side_by_side(candidates), classes, rows, False, ball, room, changes)

    def terms_of(some):
        distance = encoded_distances(some, metric, MISMATCH[metric])
        constant = digamma(n_rows) - digamma(np.bincount(labels)[labels])
        return ross_terms(distance, labels.tolist(), n_neighbors, ball.tolerance) - constant

    expected = summed(terms_of, columns, candidates, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)

    by_entries = np.zeros((2, len(candidates)))
    entries = rare_of(candidates, common_values(candidates))
    assert add_rare_to_classes(columns, entries, classes, rows, ball, by_entries) == pytest.approx(total, abs=1e-12)
    assert_allclose(by_entries, changes, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (39, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("target", [0, 1, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_add_to_line(block, target, n_neighbors, dtype, rng, make_ball):
    n_rows = 40
    candidates = encoded_columns(rng, n_rows, dtype)
    columns = candidates[BLOCKS[block]]
    target = encoded_columns(rng, n_rows, dtype)[target]
    ball, changes = make_ball(n_rows, n_neighbors, dtype=dtype), np.zeros((2, len(candidates)))
    rows = np.arange(1, n_rows, 2)
    line, room = line_of(target), make_room(n_rows, n_neighbors)
    total = add_one_to_line(columns, side_by_side(candidates), line, rows, ball, room, changes)

    def terms_of(some):
        sides = encoded_distances(some), encoded_distances([target])
        return ksg_terms(*sides, n_neighbors, ball.tolerance) - digamma(n_rows)

    expected = summed(terms_of, columns, candidates, rows)
    assert total == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(changes, expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("candidates", [[[0.0, 1.0]], [[1.0, 1.0]], [[0.0, 2 * FAR]]])
@pytest.mark.parametrize("metric", MISMATCH)
def test_two_rows(metric, candidates, make_ball, make_classes):
    candidates, classes, ball = side_by_side(np.array(candidates)), make_classes([0, 0]), make_ball(2, 3, metric)
    for block in ([[0.0, 1.0]], [[1.0, 1.0]], [[0.0, 2 * FAR]]):
        changes = np.zeros((2, 1))
        given = (np.array(block), candidates, classes, np.arange(2), False, ball, make_room(2, 3), changes)
        assert change_one_in_classes(*given) == 0
        assert_allclose(changes, 0, rtol=0, atol=0)
