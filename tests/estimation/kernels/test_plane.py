"""Kernels in the plane against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import FAR, encoded_columns, encoded_distances, ksg, ross
from scipy.special import digamma

from unirel.estimation.kernels.plane import ksg_in_plane, make_strips, ross_in_plane
from unirel.estimation.knn import line_of


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("n_rows", [3, 40, 400])
def test_strips_keep_equal_values_together_in_order(n_rows, n_groups, rng):
    labels = rng.permutation(np.arange(n_rows) % n_groups).astype(np.int32)
    for fixed in encoded_columns(rng, n_rows):
        strips = make_strips(fixed, labels, n_groups, 3)
        sizes = np.diff(strips.starts)
        assert np.all(sizes > 0)
        assert_array_equal(np.bincount(strips.strip_of), sizes)
        assert len(strips.low) == len(strips.high) == strips.firsts[-1] == len(sizes)
        for strip in range(len(sizes)):
            rows = strips.strip_of == strip
            assert len(set(labels[rows].tolist())) == 1
            assert (strips.low[strip], strips.high[strip]) == (fixed[rows].min(), fixed[rows].max())
        for group in range(n_groups):
            own = slice(strips.firsts[group], strips.firsts[group + 1])
            assert set(strips.strip_of[labels == group].tolist()) == set(range(own.start, own.stop))
            assert np.all(strips.high[own][:-1] < strips.low[own][1:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(12, 3), (60, 1), (200, 4)])
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_ross_in_plane(n_neighbors, n_rows, n_classes, dtype, rng, make_ball, make_classes):
    columns = encoded_columns(rng, n_rows, dtype)
    labels = rng.permutation(np.arange(n_rows) % n_classes)
    classes, ball, orders = make_classes(labels), make_ball(n_rows, n_neighbors, dtype=dtype), np.argsort(columns)
    constant = digamma(n_rows) - np.mean(digamma(np.bincount(labels)[labels]))
    for fixed in columns[[0, 1, 2, 3, 4]]:
        own = make_strips(fixed, classes.labels, n_classes, n_neighbors)
        whole = make_strips(fixed, np.zeros_like(classes.labels), 1, n_neighbors)
        sums = ross_in_plane(columns, orders, fixed, classes, own, whole, ball)
        spaces = [encoded_distances([column, fixed]) for column in columns]
        twin = [ross(space, labels.tolist(), n_neighbors, ball.tolerance) for space in spaces]
        assert_allclose(constant + sums / n_rows, twin, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [2, 3, 12, 200])
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_ksg_in_plane(n_neighbors, n_rows, dtype, rng, make_ball):
    grid = rng.integers(0, 9, size=n_rows) * 0.5
    more = [grid, np.where(rng.random(n_rows) < 0.3, 4 * FAR, rng.permutation(grid))]
    columns = np.vstack([encoded_columns(rng, n_rows, dtype), *more]).astype(dtype)
    ball = make_ball(n_rows, min(n_neighbors, n_rows - 1), dtype=dtype)
    for fixed in columns[[0, 1, 2, 4, 7, 8]]:
        whole = make_strips(fixed, np.zeros(n_rows, np.int32), 1, n_neighbors)
        sums = ksg_in_plane(columns, np.argsort(columns), line_of(fixed), whole, ball)
        sides = [(encoded_distances([column]), encoded_distances([fixed])) for column in columns]
        twin = [ksg(*side, ball.n_neighbors, ball.tolerance) for side in sides]
        assert_allclose(digamma(n_rows) + sums / n_rows, twin, rtol=0, atol=1e-12)
