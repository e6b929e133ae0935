"""Subsets that share distances against measuring every block anew."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import MISMATCH, TOLERANCE, TOLERANCE_FLOAT32, encoded_columns, encoded_distances, ross_terms
from scipy.special import digamma

from unirel.estimation.kernels.subsets import add_subset_terms

N_ROWS = 50


@pytest.fixture
def labels():
    """Three classes, one of which is smaller than a ball, side by side."""
    return np.sort(np.r_[[2, 2], np.arange(N_ROWS - 2) % 2]).astype(np.int32)


def slow_sum(block, labels, metric, n_neighbors, dtype):
    """The sum of psi(k) - psi(m) over all rows; with no column at all every point is at distance 0."""
    distance = encoded_distances(block, metric, MISMATCH[metric]) if len(block) else np.zeros((N_ROWS, N_ROWS))
    tolerance = TOLERANCE_FLOAT32 if dtype is np.float32 else TOLERANCE
    terms = ross_terms(distance, labels.tolist(), n_neighbors, tolerance)
    return (terms - digamma(N_ROWS) + digamma(np.bincount(labels)[labels])).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_neighbors", [1, 3, 40])
@pytest.mark.parametrize("n_always", [0, 1, 3])
@pytest.mark.parametrize("metric", MISMATCH)
def test_subsets(metric, n_always, n_neighbors, dtype, labels, rng, make_ball, make_classes):
    columns = rng.permutation(encoded_columns(rng, N_ROWS, dtype))
    always, others = columns[:n_always], columns[n_always:]
    ball = make_ball(N_ROWS, n_neighbors, metric, dtype)
    for size in range(len(others) + 1):
        chosen = list(combinations(range(len(others)), size))[:10]
        subsets, sums = np.array(chosen, np.intp).reshape(len(chosen), size), np.zeros(len(chosen))
        add_subset_terms(always, others, make_classes(labels), ball, subsets, -np.inf, sums)
        blocks = [np.concatenate([always, others[list(subset)]]) for subset in chosen]
        expected = [slow_sum(block, labels, metric, n_neighbors, dtype) for block in blocks]
        assert_allclose(sums, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("metric", MISMATCH)
def test_order_of_subsets_does_not_show(metric, labels, rng, make_ball, make_classes):
    columns = encoded_columns(rng, N_ROWS)
    subsets = np.array(list(combinations(range(7), 3)))
    shuffled = rng.permutation(len(subsets))
    sums = np.zeros((2, len(subsets)))
    for some, total in ((subsets, sums[0]), (subsets[shuffled], sums[1])):
        ball = make_ball(N_ROWS, 3, metric)
        add_subset_terms(columns[:0], columns, make_classes(labels), ball, some, -np.inf, total)
    assert np.array_equal(sums[0][shuffled], sums[1])


@pytest.mark.parametrize("metric", MISMATCH)
def test_floor_gives_up_only_what_is_below(metric, labels, rng, make_ball, make_classes):
    columns = encoded_columns(rng, N_ROWS)
    subsets = np.array(list(combinations(range(7), 3)))
    rest = (columns[:0], columns, make_classes(labels), make_ball(N_ROWS, 3, metric), subsets)
    free, bounded = np.zeros((2, len(subsets)))
    add_subset_terms(*rest, -np.inf, free)
    floor = np.median(free)
    add_subset_terms(*rest, floor, bounded)
    assert np.array_equal(bounded, np.where(free >= floor, free, -np.inf))
