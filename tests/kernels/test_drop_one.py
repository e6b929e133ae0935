"""Leaving out each column in one pass against measuring every rest anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, encoded_columns, encoded_distances, ksg_terms, ross_terms
from scipy.special import digamma

from unirel.kernels.drop_one import drop_one_from_classes, drop_one_from_line, drop_one_from_sum
from unirel.kernels.special import digamma_table

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-5}
MISMATCH = {"chebyshev": FAR, "manhattan": 1.125, "euclidean": 1.5}
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
    """psi(kt) - psi(m) of each row."""
    sizes = np.bincount(labels)[labels]
    constant = digamma(len(labels)) - digamma(sizes)
    return ross_terms(distance, labels.tolist(), n_neighbors, tolerance) - constant


def summed(columns, terms_of, rows):
    """The sum of local terms, the sums of their changes without each column, and the sums of the squares of these."""
    whole = terms_of(columns)[rows]
    changes = np.array([terms_of(np.delete(columns, place, axis=0))[rows] - whole for place in range(len(columns))])
    return whole.sum(), changes.sum(axis=1), (changes**2).sum(axis=1)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (30, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("metric", MISMATCH)
@pytest.mark.parametrize("block", BLOCKS)
def test_drop_one_from_classes(block, metric, n_neighbors, dtype, rng):
    n_rows, tolerance = 40, TOLERANCE[dtype]
    columns = encoded_columns(rng, n_rows, dtype)[BLOCKS[block]]
    labels = rng.permutation(np.r_[[2, 2], np.arange(n_rows - 2) % 2]).astype(np.int32)
    rows = np.arange(0, n_rows, 2)
    sums, squares = np.zeros(len(columns)), np.zeros(len(columns))
    classes = (columns, labels, np.bincount(labels), rows, n_neighbors)
    if metric == "chebyshev":
        total = drop_one_from_classes(*classes, dtype(FAR), tolerance, digamma_table(n_rows), sums, squares)
    else:
        costs = (metric == "euclidean", dtype(FAR), dtype(MISMATCH[metric]))
        total = drop_one_from_sum(*classes, *costs, tolerance, digamma_table(n_rows), sums, squares)

    def terms_of(some):
        return class_terms(encoded_distances(some, metric, MISMATCH[metric]), labels, n_neighbors, tolerance)

    expected = summed(columns, terms_of, rows)
    for ours, twin in zip((total, sums, squares), expected, strict=True):
        assert_allclose(ours, twin, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("n_neighbors", "dtype"), [(1, np.float64), (3, np.float64), (39, np.float64), (3, np.float32)]
)
@pytest.mark.parametrize("target", [0, 1, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_drop_one_from_line(block, target, n_neighbors, dtype, rng):
    n_rows, tolerance = 40, TOLERANCE[dtype]
    columns = encoded_columns(rng, n_rows, dtype)[BLOCKS[block]]
    target = encoded_columns(rng, n_rows, dtype)[target]
    order = np.argsort(target, kind="stable")
    rows = np.arange(1, n_rows, 2)
    sums, squares = np.zeros(len(columns)), np.zeros(len(columns))
    line = (target, target[order], np.argsort(order), rows, n_neighbors)
    total = drop_one_from_line(columns, *line, dtype(FAR), tolerance, digamma_table(n_rows), sums, squares)

    def terms_of(some):
        sides = encoded_distances(some), encoded_distances([target])
        return ksg_terms(*sides, n_neighbors, tolerance) - digamma(n_rows)

    expected = summed(columns, terms_of, rows)
    for ours, twin in zip((total, sums, squares), expected, strict=True):
        assert_allclose(ours, twin, rtol=0, atol=1e-10)


@pytest.mark.parametrize("columns", [[[0.0, 1.0], [0.5, 0.5]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 2 * FAR], [0.0, 3.0]]])
def test_two_rows(columns):
    columns, psi = np.array(columns), digamma_table(2)
    classes = (columns, np.zeros(2, np.int32), np.array([2]), np.arange(2), 3)
    for squared in (None, False, True):
        sums, squares = np.zeros(2), np.zeros(2)
        if squared is None:
            total = drop_one_from_classes(*classes, FAR, 1e-9, psi, sums, squares)
        else:
            total = drop_one_from_sum(*classes, squared, FAR, 1.125, 1e-9, psi, sums, squares)
        assert total == 0
        assert_allclose([sums, squares], 0, rtol=0, atol=0)


def test_sums_are_added_to(rng):
    """What is there stays, so that ranges of rows can be added up."""
    columns = encoded_columns(rng, 30)
    labels = (np.arange(30) % 2).astype(np.int32)
    one, two = np.zeros((2, 7)), np.zeros((2, 7))
    rest = (FAR, 1e-9, digamma_table(30))
    total = drop_one_from_classes(columns, labels, np.bincount(labels), np.arange(30), 3, *rest, *one)
    parts = [
        drop_one_from_classes(columns, labels, np.bincount(labels), rows, 3, *rest, *two)
        for rows in (np.arange(11), np.arange(11, 30))
    ]
    assert sum(parts) == pytest.approx(total, abs=1e-12)
    assert_allclose(one, two, rtol=0, atol=1e-12)
