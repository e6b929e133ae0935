"""Distances from one point against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import MISMATCH, encoded_columns, encoded_distances, from_python

from unirel.estimation.kernels import metric

measure = from_python(metric.measure)


BLOCKS = {"line": [0], "plane": [0, 1], "ties": [1, 5, 1], "levels": [3, 3, 4], "equal": [2, 2], "all": list(range(7))}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", MISMATCH)
@pytest.mark.parametrize("block", BLOCKS)
def test_measure(block, metric, dtype, rng, make_ball):
    columns = encoded_columns(rng, 30, dtype)[BLOCKS[block]]
    expected = encoded_distances(columns, metric, MISMATCH[metric])
    np.fill_diagonal(expected, np.inf)
    for point, start, stop in [(0, 0, 30), (29, 3, 20), (5, 5, 6), (5, 7, 7)]:
        written = np.full(30, -1.0, dtype if metric == "chebyshev" else np.float64)
        measure(columns, point, start, stop, make_ball(30, 3, metric, dtype), written)
        assert_allclose(written[start:stop], expected[point, start:stop], rtol=1e-6 if dtype is np.float32 else 1e-14)
