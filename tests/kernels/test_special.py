"""The digamma function of whole numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from unirel.kernels.special import digamma_table, mean_digamma


@pytest.mark.parametrize("largest", [0, 1, 2, 1000])
def test_digamma_table(largest):
    table = digamma_table(largest)
    assert table.shape == (largest + 1,)
    assert table[0] == 0
    assert_allclose(table[1:], digamma(np.arange(1, largest + 1)), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_mean_digamma(dtype, rng):
    for counts in (rng.integers(1, 50, size=200), np.array([7]), np.full(9, 49), np.array([1, 49])):
        ours = mean_digamma(counts.astype(dtype), digamma_table(50))
        assert ours == pytest.approx(digamma(counts).mean(), abs=1e-13)


def test_mean_digamma_does_not_show_the_order(rng):
    counts = rng.integers(1, 5000, size=2000).astype(np.int32)
    psi = digamma_table(5000)
    assert len({mean_digamma(rng.permutation(counts), psi) for _ in range(20)}) == 1
