"""Kernels in the plane against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import FAR, encoded_columns, encoded_distances, inside, ksg, ross, within

from unirel.kernels.plane import ksg_in_plane, make_strips, marginal_limits, ross_in_plane
from unirel.kernels.special import digamma_table

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-5}


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


def ours_of_classes(candidates, fixed, labels, n_neighbors):
    """Call the kernel with strips as it wants them."""
    sizes = np.bincount(labels)
    own = make_strips(fixed, labels, len(sizes), n_neighbors)
    whole = make_strips(fixed, np.zeros_like(labels), 1, n_neighbors)
    tolerance = TOLERANCE[fixed.dtype.type]
    return ross_in_plane(
        candidates,
        np.argsort(candidates, axis=1),
        fixed,
        own,
        whole,
        sizes,
        n_neighbors,
        fixed.dtype.type(FAR),
        tolerance,
        digamma_table(len(labels)),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(12, 3), (60, 1), (200, 4)])
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_ross_in_plane(n_neighbors, n_rows, n_classes, dtype, rng):
    columns = encoded_columns(rng, n_rows, dtype)
    labels = rng.permutation(np.arange(n_rows) % n_classes).astype(np.int32)
    for fixed in columns[[0, 1, 2, 3, 4]]:
        twin = [
            ross(encoded_distances([column, fixed]), labels.tolist(), n_neighbors, TOLERANCE[dtype])
            for column in columns
        ]
        assert_allclose(ours_of_classes(columns, fixed, labels, n_neighbors), twin, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [2, 3, 12, 200])
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_ksg_in_plane(n_neighbors, n_rows, dtype, rng):
    columns = encoded_columns(rng, n_rows, dtype)
    n_neighbors = min(n_neighbors, n_rows - 1)
    for fixed in columns[[0, 1, 2, 4]]:
        ours = ksg_in_plane(
            columns,
            np.argsort(columns, axis=1),
            fixed,
            np.argsort(fixed),
            make_strips(fixed, np.zeros(n_rows, np.int32), 1, n_neighbors),
            n_neighbors,
            dtype(FAR),
            TOLERANCE[dtype],
            digamma_table(n_rows),
        )
        twin = [
            ksg(encoded_distances([column]), encoded_distances([fixed]), n_neighbors, TOLERANCE[dtype])
            for column in columns
        ]
        assert_allclose(ours, twin, rtol=0, atol=1e-12)


def test_marginal_limits_are_open_where_the_radius_is_unique():
    radius = np.array([1.0, 1.0, 0.0, 0.0, FAR, FAR])
    joint = np.array([3, 4, 3, 5, 3, 9], np.int32)
    limits = marginal_limits(radius, joint, 3, 1e-9)
    distances = np.array([0.0, 1e-12, 0.5, 1 - 1e-8, 1 - 1e-10, 1.0, 1 + 1e-10, 1 + 1e-8, FAR])
    for row in range(6):
        ball = within if joint[row] > 3 else inside
        assert_array_equal(distances <= limits[row], ball(distances, radius[row], 1e-9))
