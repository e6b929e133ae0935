"""Prefixes and subsets that share distances against measuring every block anew."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import FAR, encoded_columns, encoded_distances, ross_terms
from scipy.special import digamma

from unirel.kernels.special import digamma_table
from unirel.kernels.subsets import add_nested_terms, add_subset_terms

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-5}
MISMATCH = {"chebyshev": FAR, "manhattan": 1.125, "euclidean": 1.5}
N_ROWS = 50


@pytest.fixture
def labels():
    """Three classes, one of which is smaller than a ball, side by side."""
    return np.sort(np.r_[[2, 2], np.arange(N_ROWS - 2) % 2]).astype(np.int32)


def starts_of(labels):
    return np.concatenate([[0], np.cumsum(np.bincount(labels))])


def measure(metric, n_neighbors, dtype):
    how = (metric == "chebyshev", metric == "euclidean", dtype(FAR), dtype(MISMATCH[metric]), TOLERANCE[dtype])
    return (n_neighbors, *how, digamma_table(N_ROWS))


def slow_sum(block, labels, metric, n_neighbors, dtype, rows=slice(None)):
    """The sum of psi(kt) - psi(m) over some rows; with no column at all every point is at distance 0."""
    distance = encoded_distances(block, metric, MISMATCH[metric]) if len(block) else np.zeros((N_ROWS, N_ROWS))
    terms = ross_terms(distance, labels.tolist(), n_neighbors, TOLERANCE[dtype])
    return (terms - digamma(N_ROWS) + digamma(np.bincount(labels)[labels]))[rows].sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_neighbors", [1, 3, 40])
@pytest.mark.parametrize("metric", MISMATCH)
def test_nested(metric, n_neighbors, dtype, labels, rng):
    columns = encoded_columns(rng, N_ROWS, dtype)
    sums = np.ones(len(columns))
    rest = measure(metric, n_neighbors, dtype)
    for first, last in ((0, 20), (20, N_ROWS)):
        add_nested_terms(columns, starts_of(labels), first, last, *rest, sums)
    expected = [1 + slow_sum(columns[: size + 1], labels, metric, n_neighbors, dtype) for size in range(len(columns))]
    assert_allclose(sums, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_neighbors", [1, 3, 40])
@pytest.mark.parametrize("n_always", [0, 1, 3])
@pytest.mark.parametrize("metric", MISMATCH)
def test_subsets(metric, n_always, n_neighbors, dtype, labels, rng):
    columns = rng.permutation(encoded_columns(rng, N_ROWS, dtype))
    always, others = columns[:n_always], columns[n_always:]
    rest = measure(metric, n_neighbors, dtype)
    for size in range(len(others) + 1):
        chosen = list(combinations(range(len(others)), size))[:10]
        subsets, sums = np.array(chosen, np.intp).reshape(len(chosen), size), np.zeros(len(chosen))
        add_subset_terms(always, others, starts_of(labels), *rest, subsets, -np.inf, sums)
        blocks = [np.concatenate([always, others[list(subset)]]) for subset in chosen]
        expected = [slow_sum(block, labels, metric, n_neighbors, dtype) for block in blocks]
        assert_allclose(sums, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("metric", MISMATCH)
def test_order_of_subsets_does_not_show(metric, labels, rng):
    columns = encoded_columns(rng, N_ROWS)
    subsets = np.array(list(combinations(range(7), 3)))
    shuffled = rng.permutation(len(subsets))
    sums = np.zeros((2, len(subsets)))
    for some, total in ((subsets, sums[0]), (subsets[shuffled], sums[1])):
        add_subset_terms(columns[:0], columns, starts_of(labels), *measure(metric, 3, np.float64), some, -np.inf, total)
    assert np.array_equal(sums[0][shuffled], sums[1])


@pytest.mark.parametrize("metric", MISMATCH)
def test_floor_gives_up_only_what_is_below(metric, labels, rng):
    columns = encoded_columns(rng, N_ROWS)
    subsets = np.array(list(combinations(range(7), 3)))
    rest = (columns[:0], columns, starts_of(labels), *measure(metric, 3, np.float64), subsets)
    free, bounded = np.zeros((2, len(subsets)))
    add_subset_terms(*rest, -np.inf, free)
    floor = np.median(free)
    add_subset_terms(*rest, floor, bounded)
    assert np.array_equal(bounded, np.where(free >= floor, free, -np.inf))
