"""Weights of rows where they cannot be counted: how often a row is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from unirel import BURSelector
from unirel.data.table import Table
from unirel.data.weights import add_sums, check_weights, repeat_rows, sample_table, sum_weights
from unirel.estimation.binned import Binned


def repeat(weights, seed=0):
    weights = np.asarray(weights, np.float64)
    return repeat_rows(weights, add_sums([sum_weights(weights)]).unit, np.random.default_rng(seed).random(len(weights)))


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


@pytest.mark.parametrize(
    ("target", "estimator"),
    [
        ("labels", "binned"),
        ("labels", Binned(strategy="mdl")),
        ("numbers", Binned(correction="miller-madow")),
        ("numbers", "gaussian"),
    ],
)
def test_weights_are_free_of_scale(target, estimator):
    """They stand for (sum w)^2 / sum w^2 rows, whatever they add up to."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(600, 4)), rng.random(600) + 0.1
    y = X[:, 0] + rng.normal(size=600)
    y = y > 0 if target == "labels" else y
    fits = [
        BURSelector("mim", 4, beta=0, mi_estimator=estimator).fit(X, y, sample_weight=weights * factor)
        for factor in (1.0, 1 / weights.sum(), 1000.0, 1e300, 1e-300)
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.relevance_, fits[0].relevance_, rtol=0, atol=1e-6)
    assert fits[0].relevance_[0] > 0.05


@pytest.mark.parametrize("wrong", [1e300, [-1.0] * 4, [np.nan] * 4, [0.0] * 4, [np.inf] * 4, [1.0] * 3])
def test_what_is_no_weight_is_refused(wrong):
    with pytest.raises(ValueError, match="sample_weight has"):
        check_weights(wrong, 4)


@pytest.mark.parametrize("factor", [1 / 300, 100_000.0])
def test_equal_weights_of_any_size_select_as_no_weights_do(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] + X[:, 1] > 0
    expected = BURSelector(n_features_to_select=4).fit(X, y).order_
    assert_array_equal(
        BURSelector(n_features_to_select=4).fit(X, y, sample_weight=np.full(300, factor)).order_, expected
    )


@pytest.mark.parametrize("kind", ["whole", "any"])
def test_weights_of_any_scale_are_the_same_rows_bit_for_bit(kind):
    """Where weights of the rows of a bin add up to just its share, rounding by another unit would move its edge."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 4, 300).astype(float) if kind == "whole" else rng.exponential(size=300)
    expected = check_weights(weights / weights.sum(), 300)
    for factor in (1e-6, 0.37, 999.9, 1e6 / 3, 1e300):
        assert_array_equal(check_weights(weights * factor, 300), expected)
    assert expected.sum() == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize("options", [{}, {"n_features_to_select": "auto"}, {"mi_estimator": "gaussian"}], ids=str)
@pytest.mark.parametrize("target", ["labels", "numbers"])
def test_selections_are_the_same_for_weights_of_any_scale(target, options):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(300, 5)), rng.integers(1, 4, 300)
    y = X[:, 0] + X[:, 1] + rng.normal(size=300)
    y = y > 0 if target == "labels" else y
    fits = [
        BURSelector(**{"n_features_to_select": 3} | options).fit(X, y, sample_weight=weights * factor)
        for factor in (1 / weights.sum(), 1000 / weights.sum(), 1e5)
    ]
    for other in fits[1:]:
        assert_array_equal(other.order_, fits[0].order_)
        assert_array_equal(other.selection_scores_, fits[0].selection_scores_)


def test_a_class_of_little_weight_is_not_lost_from_a_sample():
    """Rows are repeated as their weights say; a class that would have none left keeps its heaviest row."""
    y = np.array([0] * 60 + [1] * 3)
    X = np.random.default_rng(0).standard_normal((63, 4))
    weights = np.where(y == 1, [0.001] * 60 + [0.001, 0.002, 0.001], 1.3)
    sample = sample_table(Table.from_data(X, y), np.arange(4), None, np.random.default_rng(0), weights)
    assert sample.class_sizes[1] == 1
    assert np.array_equal(sample.continuous_block([0])[0, sample.codes(sample.target) == 1], X[[61], 0])
    assert len(BURSelector(n_features_to_select=2).fit(X, y, sample_weight=weights).order_) == 2
