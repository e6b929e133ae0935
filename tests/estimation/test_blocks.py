"""What the adaptive partition, kernel densities and the neural bound have in common."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm, rankdata

from unirel import conditional_relevance, irrelevance, mutual_information, relevance
from unirel.data.table import Table
from unirel.estimation.base import find_estimator
from unirel.estimation.blocks import joint_codes, normal_scores


@pytest.fixture(params=["partition", "kde", "mine"])
def name(request):
    return request.param


def test_levels_are_counted(name, rng):
    X, y = rng.integers(0, 3, size=(100, 2)), rng.integers(0, 2, size=100)
    for measure in (mutual_information, relevance, irrelevance):
        expected = measure(X, y, mi_estimator="plugin", discrete_features=True)
        np.testing.assert_array_equal(measure(X, y, mi_estimator=name, discrete_features=True), expected)
    expected = conditional_relevance(X, y, 0, clip=False, mi_estimator="plugin", discrete_features=True)
    np.testing.assert_array_equal(
        conditional_relevance(X, y, 0, clip=False, mi_estimator=name, discrete_features=True), expected
    )


def test_an_interval_of_levels_is_that_of_counts(name, rng):
    X, y = rng.integers(0, 3, size=(100, 1)), rng.integers(0, 2, size=100)
    expected = mutual_information(X, y, mi_estimator="plugin", discrete_features=True, confidence_level=0.9)
    assert mutual_information(X, y, mi_estimator=name, discrete_features=True, confidence_level=0.9) == expected


def test_constant_and_repeated_columns_change_nothing(name, rng):
    x, y = rng.normal(size=(2, 60))
    y += x
    value = mutual_information(x, y, clip=False, mi_estimator=name)
    X = np.column_stack([x, np.ones(60), np.full(60, np.nan), np.full(60, 2.0)])
    kinds = {1: True, 2: False, 3: False}
    assert mutual_information(X, y, mi_estimator=name, discrete_features=kinds, clip=False) == value
    assert mutual_information(X[:, 1:], y, clip=False, mi_estimator=name, discrete_features=False) == 0
    information = find_estimator(name).on(Table.from_data(x[:, None], y))
    assert information.mutual_information([0, 0], [1]) == value


def test_being_missing_may_tell_something(name, rng):
    y = rng.integers(0, 2, size=300)
    x = np.where(y == 1, np.nan, rng.normal(size=300))
    assert mutual_information(x, y, mi_estimator=name) > 0.5


def test_relevance_given_another_column(name, rng):
    """The chain rule: what is given has no part in the result."""
    x, noise = rng.normal(size=(2, 600))
    y = x + 0.7 * noise
    X = np.column_stack([x, noise])
    together, alone = (mutual_information(block, y, clip=False, mi_estimator=name) for block in (X, x))
    given = conditional_relevance(X, y, 0, clip=False, mi_estimator=name)
    assert given[0] == 0
    assert given[1] == pytest.approx(together - alone, abs=0.1)
    assert mutual_information(noise, y, conditional_on=x, clip=False, mi_estimator=name) > 0.1


def test_entropy_of_scores(name, rng):
    X, y = rng.exponential(size=(80, 1)), rng.normal(size=80)
    expected = 0.5 * np.log(2 * np.pi * np.e) - relevance(X, y, mi_estimator=name)
    np.testing.assert_allclose(irrelevance(X, y, mi_estimator=name), expected, atol=1e-12)


def test_what_is_sparse_is_refused(name, rng):
    X = csr_array(rng.integers(0, 2, size=(40, 3)))
    with pytest.raises(
        ValueError, match=rf"mi_estimator='{name}' needs a dense table in memory, X is sparse"
    ) as caught:
        relevance(X, np.arange(40) % 2, mi_estimator=name)
    assert "mi_estimator='binned'" in str(caught.value)


def test_weights_are_refused(name, rng):
    from unirel import BURSelector

    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    with pytest.raises(ValueError, match=rf"sample_weight needs counts, mi_estimator='{name}' has none"):
        BURSelector("mim", beta=0, mi_estimator=name).fit(X, y, sample_weight=np.ones(40))


def test_normal_scores_are_ranks_through_the_inverse_normal(rng):
    values = np.round(rng.normal(size=50), 1)
    np.testing.assert_allclose(normal_scores(values), norm.ppf(rankdata(values) / 51), atol=1e-12)
    values[[3, 8]] = np.nan
    present = ~np.isnan(values)
    np.testing.assert_allclose(normal_scores(values)[present], norm.ppf(rankdata(values[present]) / 49), atol=1e-12)
    assert (normal_scores(values)[~present] == 0).all()


def test_joint_codes_are_equal_where_all_are(rng):
    rows = rng.integers(0, 3, size=(4, 60))
    joint = joint_codes(rows, 60)
    same = (rows[:, :, None] == rows[:, None]).all(axis=0)
    np.testing.assert_array_equal(joint[:, None] == joint, same)
    assert sorted(set(joint.tolist())) == list(range(joint.max() + 1))
    np.testing.assert_array_equal(joint_codes([], 5), np.zeros(5))
