"""What the tests of kernels share: the tuples that kernels take."""

import numpy as np
import pytest
from reference import FAR, MISMATCH

from unirel.estimation.kernels.line import Classes
from unirel.estimation.kernels.metric import Ball
from unirel.estimation.neighbors import METRICS, digamma_table

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-5}


@pytest.fixture
def make_ball():
    """Return a function that says how kernels measure and count."""

    def make(n_rows, n_neighbors, metric="chebyshev", dtype=np.float64):
        costs = dtype(FAR), dtype(MISMATCH[metric])
        return Ball(n_neighbors, METRICS[metric], *costs, TOLERANCE[dtype], digamma_table(n_rows))

    return make


@pytest.fixture
def make_classes():
    """Return a function that says where the rows of each class are."""

    def make(labels):
        return Classes(np.asarray(labels, np.int32), np.concatenate([[0], np.cumsum(np.bincount(labels))]))

    return make
