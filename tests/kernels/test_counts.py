"""Counting cells against a dictionary of counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import plugin, read

from unirel.kernels.counts import joint_information, n_log_n


def test_n_log_n():
    assert_allclose(n_log_n(np.array([0, 1, 2, 1000])), [0, 0, 2 * np.log(2), 1000 * np.log(1000)], rtol=1e-15)
    assert n_log_n(np.arange(0)).shape == (0,)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5, 101])
@pytest.mark.parametrize(("n_levels", "n_fixed", "n_other"), [(3, 4, 2), (1, 1, 1), (5, 1, 3), (1, 7, 2), (6, 250, 1)])
def test_joint_information(n_levels, n_fixed, n_other, n_rows, dtype, rng):
    codes, fixed, other = (rng.integers(0, size, size=n_rows) for size in (n_levels, n_fixed, n_other))
    rest = (fixed * n_other + other).astype(dtype)
    value, used = joint_information(
        codes.astype(np.uint8), n_levels, rest, n_fixed, n_other, n_log_n(np.arange(n_rows + 1))
    )
    columns = [read(column, "discrete") for column in (codes, fixed, other)]
    assert value == pytest.approx(plugin(columns[:2], columns[2:]), abs=1e-12)
    joint = zip(codes.tolist(), fixed.tolist(), other.tolist(), strict=True)
    pairs = zip(codes.tolist(), fixed.tolist(), strict=True)
    assert_array_equal(used, [len(set(pairs)), len(set(other.tolist())), len(set(joint))])
