"""One huge value, a huge offset or far clusters break no ties, and the order of the rows does not show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unirel
from unirel.data.table import Table
from unirel.estimation.knn import KNN

N_ROWS = 200


def one_huge_value(numbers, _):
    return np.append(numbers[:-1], 1e10)


def huge_offset(numbers, _):
    return 1e15 + numbers / 8


def far_clusters(numbers, rng):
    return numbers + rng.choice([0, 1e10, 1e14], len(numbers))


SHAPES = [one_huge_value, huge_offset, far_clusters]


def draw(make, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 100, N_ROWS).astype(float)
    y = numbers + rng.normal(0, 30, N_ROWS)
    return make(numbers, rng), y, rng.permutation(N_ROWS)


@pytest.mark.parametrize("make", SHAPES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_relevance_needs_no_scale(make, seed):
    x, y, order = draw(make, seed)
    relevance = unirel.relevance(x[:, None], y > 50)
    np.testing.assert_array_equal(relevance, unirel.relevance(x[:, None], y > 50, mi_estimator=KNN(scale=None)))
    np.testing.assert_array_equal(relevance, unirel.relevance(x[order, None], y[order] > 50))


@pytest.mark.parametrize("make", SHAPES)
@pytest.mark.parametrize("target", ["labels", "numbers"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_blocks_do_not_depend_on_the_order_of_rows(make, target, seed):
    x, y, order = draw(make, seed)
    X, y = np.column_stack([x, np.round(y)]), y > 50 if target == "labels" else np.round(y / 3)
    apart = unirel.mutual_information(X, y, discrete_features=False)
    assert unirel.mutual_information(X[order], y[order], discrete_features=False) == pytest.approx(apart, abs=1e-12)


@pytest.mark.parametrize("make", SHAPES[:2])
def test_equal_differences_stay_equal(make):
    x, y, _ = draw(make, 0)
    scaled = Table.from_data(x, y > 50, discrete_features=False).values[0]
    _, first = np.unique(x[:-1], return_index=True)
    gaps, given_gaps = np.diff(scaled[first]), np.diff(x[first])
    np.testing.assert_allclose(gaps / given_gaps, gaps[0] / given_gaps[0], rtol=1e-11)


def test_an_offset_does_not_change_the_deviation():
    x, y, order = draw(huge_offset, 0)
    table = Table.from_data(x, y > 50, discrete_features=False)
    np.testing.assert_allclose(table.values[0].std(), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(
        Table.from_data(x[order], y > 50, discrete_features=False).values[0], table.values[0][order]
    )


def test_missing_values_stay_apart_on_a_line():
    table = Table.from_data([10000000000.0, np.nan, 3.0, 4.0, 5.0] * 4, np.arange(20) % 2, discrete_features=False)
    (line,) = table.line_block([0])
    assert (line[1::5] == 4 * table.far).all()
    assert np.ptp(np.delete(line, np.arange(1, 20, 5))) < table.far


@pytest.mark.parametrize("metric", ["chebyshev", "manhattan", "euclidean"])
def test_a_column_has_the_same_ties_in_every_metric(metric):
    """Distances to 1e10 differ by 0.4, 0.8, 1.2 ... billionths; up to one billionth they tie."""
    x, y, order = draw(lambda numbers, rng: one_huge_value(numbers // 4 * 4, rng), 0)
    knn = KNN(metric=metric).on(Table.from_data(np.column_stack([x, y]), order % 2, discrete_features=False))
    assert knn.with_each([0], [1]).before == pytest.approx(knn.relevance([0])[0], abs=1e-12)
