"""Many labellings of one column at once give the very bits of one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirel.estimation.geometry import digamma_table
from unirel.estimation.kernels.line import Classes, ross_on_line
from unirel.estimation.kernels.metric import CHEBYSHEV, Ball
from unirel.estimation.kernels.permutations import LANES, ross_of_labellings

FAR = 1024.0


@st.composite
def labelled_columns(draw):
    """A column with or without ties, or with values that are far from all others, and classes of two rows or more."""
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    sizes = draw(st.lists(st.integers(2, 12), min_size=1, max_size=4))
    n_samples = sum(sizes)
    values = draw(st.lists(st.integers(-20, 20), min_size=n_samples, max_size=n_samples))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    blur = draw(st.sampled_from([0.0, 0.1, 1.0]))
    column = np.array(values) * draw(st.sampled_from([0.1, 1.0])) + blur * rng.standard_normal(n_samples)
    column[rng.random(n_samples) < draw(st.sampled_from([0.0, 0.2]))] = 4 * FAR
    labels = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return column.astype(dtype), labels, rng


def assert_bits_of_one_at_a_time(column, labels, n_neighbors, rng):
    labellings = np.array([rng.permutation(labels) for _ in range(LANES)])
    order, sizes = np.argsort(column), np.bincount(labels)
    tolerance, far = 1e-9 if column.dtype == np.float64 else 1e-5, column.dtype.type(FAR)
    ball = Ball(n_neighbors, CHEBYSHEV, far, far, tolerance, digamma_table(len(column)))
    line = np.pad(column[order], 1, constant_values=((-np.inf, np.inf),))
    places, wanted = np.pad(order, 1, mode="edge"), np.minimum(n_neighbors, sizes - 1)
    found = ross_of_labellings(line, labellings.T.astype(np.uint8)[places], wanted, ball)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    expected = [ross_on_line(column[None], order[None], Classes(own, starts), ball)[0] for own in labellings]
    assert found.tolist() == expected


@given(labelled_columns(), st.integers(1, 6))
def test_many_labellings_give_the_bits_of_one_at_a_time(case, n_neighbors):
    column, labels, rng = case
    assert_bits_of_one_at_a_time(column, labels, n_neighbors, rng)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [1 / 9] * 9, [0.9, 0.09, 0.01]], ids=str)
@pytest.mark.parametrize(("n_neighbors", "decimals"), [(3, 15), (3, 3), (30, 15), (30, 2)])
def test_long_columns(rng, shares, n_neighbors, decimals):
    """Long enough that neighbours are passed together first, and those of rare classes one by one."""
    column, labels = rng.standard_normal(2000).round(decimals), rng.choice(len(shares), 2000, p=shares)
    for dtype in (np.float64, np.float32):
        assert_bits_of_one_at_a_time(column.astype(dtype), labels.astype(np.int32), n_neighbors, rng)
