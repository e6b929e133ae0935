"""Stability, areas, differences and ranks."""

import numpy as np
import pytest
from scipy import stats

from unirel.evaluation import area, average_ranks, paired_difference, stability


def test_equal_selections_are_stable():
    assert stability([[3, 1], [1, 3], [1, 3]], 7) == 1


def test_random_selections_are_about_0(rng):
    selections = [rng.permutation(100)[:10] for _ in range(400)]
    assert abs(stability(selections, 100)) < 0.01


def test_opposite_selections_are_at_the_lower_bound():
    # Two runs that share nothing, of half of the features each: 1 - M / (M - 1) = -1.
    assert stability([[0, 1], [2, 3]], 4) == pytest.approx(-1)


def test_stability_is_the_formula(rng):
    Z = rng.random((12, 9)) < 0.4
    p, k, d = Z.mean(axis=0), Z.sum(axis=1).mean(), 9
    expected = 1 - np.mean(12 / 11 * p * (1 - p)) / (k / d * (1 - k / d))
    assert stability([np.flatnonzero(row) for row in Z], 9) == pytest.approx(expected, rel=1e-12)


def test_stability_is_unknown_where_it_is_undefined():
    assert np.isnan(stability([[0, 1]], 3))
    assert np.isnan(stability([[0, 1], [0, 1]], 2))


def test_area_is_the_mean():
    assert area([0.5, 1.0]) == 0.75


def test_differences_equal_scipy(rng):
    values, baseline = rng.random((2, 15))
    difference = paired_difference(values, baseline, confidence=0.9)
    test = stats.ttest_rel(values, baseline)
    interval = test.confidence_interval(0.9)
    assert difference.mean == pytest.approx(np.mean(values - baseline))
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.p_value == stats.wilcoxon(values, baseline).pvalue
    assert difference.wins + difference.ties + difference.losses == difference.n_runs == 15


def test_overlap_widens_the_interval():
    values, baseline = [0.9, 0.8, 0.7, 0.9], [0.8, 0.8, 0.6, 0.7]
    plain, wide = paired_difference(values, baseline), paired_difference(values, baseline, overlap=1 / 3)
    assert wide.high - wide.mean == pytest.approx((plain.high - plain.mean) * np.sqrt((1 / 4 + 1 / 3) * 4))


def test_no_difference_at_all():
    assert paired_difference([0.5, 0.7], [0.5, 0.7]) == (2, 0, 0, 0, 1, 0, 2, 0)


def test_one_run_has_no_interval():
    assert np.isnan(paired_difference([0.5], [0.4]).low)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="one value for each run"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="confidence=95"):
        paired_difference([1], [0], confidence=95)


def test_ranks_equal_scipy(rng):
    scores = rng.integers(0, 4, (5, 6)) / 4
    expected = np.mean([stats.rankdata(-row) for row in scores], axis=0)
    np.testing.assert_allclose(average_ranks(scores), expected)
