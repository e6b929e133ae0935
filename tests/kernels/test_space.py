"""Kernels in many dimensions against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import FAR, count_within, encoded_columns, encoded_distances, kth_smallest

from unirel.kernels.space import CHEBYSHEV, EUCLIDEAN, MANHATTAN, count_neighbors, find_neighbors, measure

METRICS = {"chebyshev": CHEBYSHEV, "manhattan": MANHATTAN, "euclidean": EUCLIDEAN}
MISMATCH = {"chebyshev": FAR, "manhattan": 1.125, "euclidean": 1.4}
BLOCKS = {"line": [0], "plane": [0, 1], "ties": [1, 5, 1], "levels": [3, 3, 4], "equal": [2, 2], "all": list(range(7))}
TOLERANCE = 1e-9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", BLOCKS)
def test_measure(block, metric, dtype, rng):
    columns = encoded_columns(rng, 30, dtype)[BLOCKS[block]]
    expected = encoded_distances(columns, metric, MISMATCH[metric])
    for point, start, stop in [(0, 0, 30), (29, 3, 20), (5, 5, 6), (5, 7, 7)]:
        written = np.full(30, -1.0, dtype if metric == "chebyshev" else np.float64)
        measure(columns, point, start, stop, METRICS[metric], dtype(FAR), dtype(MISMATCH[metric]), written)
        assert_allclose(written[start:stop], expected[point, start:stop], rtol=1e-6 if dtype is np.float32 else 1e-14)


def sorted_block(columns, labels):
    """The columns in the order that the kernel wants: by group, then by the first column."""
    return np.take(columns, np.lexsort((columns[0], labels)), axis=1), np.sort(labels)


def can_anchor(column):
    """Numbers order the rows; levels and missing values do not, for they are all as far away."""
    return bool(np.all(column < FAR)) and column.min() < column.max()


@pytest.mark.parametrize("n_neighbors", [1, 3, 60])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", BLOCKS)
def test_find_neighbors(block, metric, n_neighbors, rng):
    n_rows, mismatch = 60, MISMATCH[metric]
    columns, labels = sorted_block(encoded_columns(rng, n_rows)[BLOCKS[block]], np.arange(n_rows) % 3)
    starts = np.searchsorted(labels, [0, 1, 2, 3])
    distance = encoded_distances(columns, metric, mismatch)
    own = np.array([np.flatnonzero((labels == labels[row]) & (np.arange(n_rows) != row)) for row in range(n_rows)])
    nearest = [kth_smallest(distance[row, own[row]], min(n_neighbors, 19)) for row in range(n_rows)]
    limits = np.array(nearest) * (1 + TOLERANCE)
    expected_same = [np.sum(distance[row, own[row]] <= limits[row]) for row in range(n_rows)]
    for anchored in {False, can_anchor(columns[0])}:
        radius = np.empty(n_rows)
        same, everyone = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
        for first, last in [(0, 25), (25, n_rows)]:
            find_neighbors(
                columns,
                starts,
                first,
                last,
                anchored,
                n_neighbors,
                METRICS[metric],
                FAR,
                mismatch,
                TOLERANCE,
                np.empty(n_rows),
                radius,
                same,
                everyone,
            )
        assert_allclose(radius, nearest, rtol=1e-14)
        assert_array_equal(same, expected_same)
        assert_array_equal(everyone, count_within(distance, limits))


def test_find_neighbors_of_two_rows():
    for columns in (np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 2 * FAR]])):
        for metric, code in METRICS.items():
            radius, same, everyone = np.empty(2), np.empty(2, np.int32), np.empty(2, np.int32)
            find_neighbors(
                columns,
                np.array([0, 2]),
                0,
                2,
                False,
                3,
                code,
                FAR,
                MISMATCH[metric],
                TOLERANCE,
                np.empty(2),
                radius,
                same,
                everyone,
            )
            assert_allclose(radius, encoded_distances(columns, metric, MISMATCH[metric])[[0, 1], [1, 0]])
            assert_array_equal([same, everyone], 1)


@pytest.mark.parametrize("n_rows", [2, 3, 60])
@pytest.mark.parametrize("block", BLOCKS)
def test_count_neighbors(block, n_rows, rng):
    columns, _ = sorted_block(encoded_columns(rng, n_rows)[BLOCKS[block]], np.zeros(n_rows, int))
    limits = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, FAR, 2 * FAR], size=n_rows)
    for anchored in {False, can_anchor(columns[0])}:
        counts = np.empty(n_rows, np.int32)
        for first, last in [(0, 1), (1, n_rows)]:
            count_neighbors(columns, limits, first, last, anchored, FAR, np.empty(n_rows), counts)
        assert_array_equal(counts, count_within(encoded_distances(columns), limits))
