"""The few smallest of a stream."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import from_python

from unirel.estimation.kernels import metric

count_both = from_python(metric.count_both)
insert = from_python(metric.insert)
kth_smallest = from_python(metric.kth_smallest)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("values", ["numbers", "ties", "equal", "ascending", "descending"])
def test_insert_keeps_the_smallest_in_order(values, k, rng):
    stream = {
        "numbers": rng.normal(size=40),
        "ties": rng.integers(0, 3, size=40).astype(float),
        "equal": np.ones(40),
        "ascending": np.arange(40.0),
        "descending": np.arange(40.0)[::-1],
    }[values]
    nearest = np.full(k, np.inf)
    for seen, value in enumerate(stream, start=1):
        if value < nearest[-1]:
            insert(nearest, value)
        expected = np.full(k, np.inf)
        expected[: min(k, seen)] = np.sort(stream[:seen])[:k]
        assert_array_equal(nearest, expected)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_kth_smallest_leaves_the_smallest_behind(k, rng):
    for distances in (rng.random(40), rng.integers(0, 4, size=40).astype(float)):
        nearest = np.zeros(k)
        assert kth_smallest(distances, nearest) == np.sort(distances)[k - 1]
        assert_array_equal(nearest, np.sort(distances)[:k])


def test_counts_include_the_limit(rng):
    distances = rng.integers(0, 4, size=40) * 0.5
    for inner, outer in ((-1.0, 0.0), (0.5, 1.0), (1.0, 9.0)):
        expected = np.sum(distances <= inner), np.sum(distances <= outer)
        assert count_both(distances, (inner, outer)) == expected
