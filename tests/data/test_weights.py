"""Weights of rows where they cannot be counted: how often a row is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from unirel import BURSelector
from unirel.data.weights import are_whole, repeat_rows, unit_of_weights


def repeat(weights, seed=0):
    weights = np.asarray(weights, np.float64)
    unit = unit_of_weights(weights.sum(), len(weights), are_whole(weights))
    return repeat_rows(weights, unit, np.random.default_rng(seed).random(len(weights)))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30).filter(any))
def test_whole_weights_repeat_rows_exactly(weights):
    assert_array_equal(repeat(weights), np.repeat(np.arange(len(weights)), weights))


@pytest.mark.parametrize("factor", [1e-300, 1 / 1000, 0.3, 1e6, 1e300])
def test_weights_are_relative_where_they_are_not_whole_or_very_large(factor):
    weights = factor * np.random.default_rng(1).choice([0.5, 1.0, 1.5], 1000)
    rows = np.bincount(repeat(weights), minlength=1000)
    assert 950 <= rows.sum() <= 1050
    heavy, light = rows[weights > 1.2 * factor].mean(), rows[weights < 0.8 * factor].mean()
    assert 2.5 < heavy / light < 3.5


@pytest.mark.parametrize("factor", [1 / 300, 100_000.0])
def test_equal_weights_of_any_size_select_as_no_weights_do(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] + X[:, 1] > 0
    expected = BURSelector(n_features_to_select=4).fit(X, y).order_
    assert_array_equal(
        BURSelector(n_features_to_select=4).fit(X, y, sample_weight=np.full(300, factor)).order_, expected
    )
