"""Many labellings of one column at once give the very bits of one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirel.information.geometry import digamma_table
from unirel.kernels.line import Classes, ross_on_line
from unirel.kernels.metric import CHEBYSHEV, Ball
from unirel.kernels.permutations import MARGIN, ross_of_labellings

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
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return column.astype(dtype), np.array([rng.permutation(labels) for _ in range(3)]), starts


@given(labelled_columns(), st.integers(1, 6))
def test_many_labellings_give_the_bits_of_one_at_a_time(case, n_neighbors):
    column, labels, starts = case
    order = np.argsort(column)
    tolerance = 1e-9 if column.dtype == np.float64 else 1e-5
    far = column.dtype.type(FAR)
    ball = Ball(n_neighbors, CHEBYSHEV, far, far, tolerance, digamma_table(len(column)))
    line = np.pad(column[order], MARGIN, constant_values=((-np.inf, np.inf),))
    found = ross_of_labellings(line, order, labels, starts, ball)
    expected = [ross_on_line(column[None], order[None], Classes(own, starts), ball)[0] for own in labels]
    assert found.tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 9])
def test_long_columns(rng, n_classes):
    """Long enough that most balls end within the points that are compared, and with many classes beyond them."""
    column, labels = rng.standard_normal(2000), rng.integers(n_classes, size=2000).astype(np.int32)
    order, starts = np.argsort(column), np.concatenate([[0], np.cumsum(np.bincount(labels))])
    ball = Ball(3, CHEBYSHEV, FAR, FAR, 1e-9, digamma_table(2000))
    line = np.pad(column[order], MARGIN, constant_values=((-np.inf, np.inf),))
    found = ross_of_labellings(line, order, labels[None], starts, ball)
    assert found[0] == ross_on_line(column[None], order[None], Classes(labels, starts), ball)[0]
