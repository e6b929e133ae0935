"""The few smallest of a stream."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unirel.kernels.nearest import insert


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
