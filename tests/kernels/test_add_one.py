"""Adding each candidate along one order of the rows against measuring every extended block anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, encoded_columns, encoded_distances, ksg_terms, ross_terms
from scipy.special import digamma

from unirel.kernels.add_one import add_one_to_classes, add_one_to_line, side_by_side
from unirel.kernels.space import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from unirel.kernels.special import digamma_table

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-5}
METRICS = {"chebyshev": CHEBYSHEV, "manhattan": MANHATTAN, "euclidean": EUCLIDEAN}
MISMATCH = {"chebyshev": FAR, "manhattan": 1.125, "euclidean": 1.5}
BLOCKS = {"line": [0], "ties": [1, 5], "levels": [3], "gaps": [4, 3, 4], "equal": [2, 2], "all": list(range(7))}


def summed(terms_of, block, candidates, rows):
    """The sum of local terms, the sums of their changes with each candidate, and the sums of the squares of these."""
    whole = terms_of(block)[rows]
    changes = np.array([terms_of(np.vstack([block, candidate]))[rows] - whole for candidate in candidates])
    return whole.sum(), changes.sum(axis=1), (changes**2).sum(axis=1)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (30, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", BLOCKS)
def test_add_one_to_classes(block, metric, n_neighbors, dtype, rng):
    n_rows, tolerance = 40, TOLERANCE[dtype]
    candidates = encoded_columns(rng, n_rows, dtype)
    columns = candidates[BLOCKS[block]]
    labels = rng.permutation(np.r_[[2, 2], np.arange(n_rows - 2) % 2]).astype(np.int32)
    sizes, rows = np.bincount(labels), np.arange(0, n_rows, 2)
    sums, squares = np.zeros(len(candidates)), np.zeros(len(candidates))
    total = add_one_to_classes(
        columns,
        side_by_side(candidates),
        labels,
        sizes,
        rows,
        n_neighbors,
        METRICS[metric],
        dtype(FAR),
        dtype(MISMATCH[metric]),
        tolerance,
        digamma_table(n_rows),
        sums,
        squares,
    )

    def terms_of(some):
        distance = encoded_distances(some, metric, MISMATCH[metric])
        constant = digamma(n_rows) - digamma(sizes[labels])
        return ross_terms(distance, labels.tolist(), n_neighbors, tolerance) - constant

    expected = summed(terms_of, columns, candidates, rows)
    for ours, twin in zip((total, sums, squares), expected, strict=True):
        assert_allclose(ours, twin, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (39, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("target", [0, 1, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_add_one_to_line(block, target, n_neighbors, dtype, rng):
    n_rows, tolerance = 40, TOLERANCE[dtype]
    candidates = encoded_columns(rng, n_rows, dtype)
    columns = candidates[BLOCKS[block]]
    target = encoded_columns(rng, n_rows, dtype)[target]
    order = np.argsort(target, kind="stable")
    rows = np.arange(1, n_rows, 2)
    sums, squares = np.zeros(len(candidates)), np.zeros(len(candidates))
    total = add_one_to_line(
        columns,
        side_by_side(candidates),
        target,
        target[order],
        np.argsort(order),
        rows,
        n_neighbors,
        dtype(FAR),
        tolerance,
        digamma_table(n_rows),
        sums,
        squares,
    )

    def terms_of(some):
        sides = encoded_distances(some), encoded_distances([target])
        return ksg_terms(*sides, n_neighbors, tolerance) - digamma(n_rows)

    expected = summed(terms_of, columns, candidates, rows)
    for ours, twin in zip((total, sums, squares), expected, strict=True):
        assert_allclose(ours, twin, rtol=0, atol=1e-10)


@pytest.mark.parametrize("candidates", [[[0.0, 1.0]], [[1.0, 1.0]], [[0.0, 2 * FAR]]])
@pytest.mark.parametrize("metric", METRICS)
def test_two_rows(metric, candidates):
    for block in ([[0.0, 1.0]], [[1.0, 1.0]], [[0.0, 2 * FAR]]):
        sums, squares = np.zeros(1), np.zeros(1)
        total = add_one_to_classes(
            np.array(block),
            side_by_side(np.array(candidates)),
            np.zeros(2, np.int32),
            np.array([2]),
            np.arange(2),
            3,
            METRICS[metric],
            FAR,
            MISMATCH[metric],
            1e-9,
            digamma_table(2),
            sums,
            squares,
        )
        assert total == 0
        assert_allclose([sums, squares], 0, rtol=0, atol=0)
