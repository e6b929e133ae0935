"""The test that ends a search by itself: what it promises, and its parts against plain formulas."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_sample_weight

from unirel import BURSelector, selection_path
from unirel.data.table import Table
from unirel.estimation.base import entropy_of
from unirel.estimation.counting import Joint
from unirel.estimation.permutation import Exceedances
from unirel.estimation.plugin import Plugin
from unirel.search.stopping import Evidence, _nearly_normal, merge_levels

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

NONE = np.empty(0, np.intp)
CRITERIA = ["jmi", "jmim", "cmim"]


def evidence_of(X, y, alpha=0.05, **options):
    table = Table.from_data(X, y)
    return Evidence(table, table.features, alpha, **options)


def noise(seed, n_rows, n_columns):
    """A table without any signal; classes and numbers as targets in turn."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    return X, rng.integers(0, 2, n_rows) if seed % 2 else rng.standard_normal(n_rows)


def length(X, y, criteria="jmim", **options):
    selector = BURSelector(n_features_to_select="auto")
    path = selection_path(X, y, criteria=criteria, betas=0, selector=selector, **options)
    return [len(selection) for selection in path]


# What it promises


def test_noise_seldom_yields_a_feature():
    assert sum(length(*noise(seed, 100, 50))[0] > 0 for seed in range(40)) <= 6  # more in 1 of 100 such tests


def test_weights_that_depend_on_the_target_do_not_make_noise_a_feature():
    """Weights go where the target goes: left at their rows they would tell which rows had been of the rare class."""

    def selects(seed):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 10)), np.arange(400) % 25 == 0
        return length(X, y, sample_weight=compute_sample_weight("balanced", y))[0] > 0

    assert sum(map(selects, range(40))) <= 6


def test_weights_of_a_sparse_table_move_too(rng):
    X = rng.integers(0, 3, size=(200, 5)).astype(float)
    y, weights = rng.integers(0, 2, 200), rng.integers(1, 5, 200).astype(float)
    dense, sparse = (Table.from_data(data, y, discrete_features=True) for data in (X, csr_array(X)))
    order = rng.permutation(200)
    moved = Joint(2, None, lambda: y[order].astype(np.uint32))
    nothing = Joint(1, None, lambda: np.zeros(200, np.uint32))
    found = [
        Plugin().on(table, sample_weight=weights).given_codes(np.arange(5), nothing, moved, weights[order])
        for table in (dense, sparse)
    ]
    anew = Plugin().on(Table.from_data(X, y[order], discrete_features=True), sample_weight=weights[order])
    assert_allclose(found, [anew.relevance(range(5))] * 2, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_columns", "n_tables", "most"), [(100, 50, 200, 14), (1000, 500, 60, 6)])
def test_noise_yields_a_feature_as_seldom_as_alpha_says(n_rows, n_columns, n_tables, most):
    found = sum(length(*noise(seed, n_rows, n_columns))[0] > 0 for seed in range(n_tables))
    print(f"{n_rows} x {n_columns}: a feature in {found} of {n_tables} tables of noise")
    assert found <= most


def planted(seed, coins):
    """Five features of equal strength, a copy of each and 90 columns of noise."""
    X = np.random.default_rng(seed).standard_normal((2000, 95))
    X = (X > 0).astype(float) if coins else X
    height = X[:, :5].sum(axis=1)
    return np.column_stack([X, X[:, :5]]), height if coins else height > 0


@pytest.mark.slow
@pytest.mark.parametrize("coins", [True, False])
def test_auto_finds_about_the_five_informative_features(coins):
    counts = {name: [] for name in [*CRITERIA, "default"]}
    for seed in range(15):
        X, y = planted(seed, coins)
        for name, n_selected in zip(CRITERIA, length(X, y, CRITERIA), strict=True):
            counts[name].append(n_selected)
        counts["default"].append(len(BURSelector(n_features_to_select="auto").fit(X, y).order_))
    good = {name: sum(4 <= n <= 8 for n in found) for name, found in counts.items()}
    print(f"coins={coins}: from 4 to 8 features in {good} of 15 tables; all: {counts}")
    assert min(good.values()) >= 13


def proxies(seed, n_rows, classes):
    """Two features that tell about the target, and 40 noisy readings of them, which add nothing."""
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((n_rows, 2))
    readings = np.repeat(true, 20, axis=1) + 0.3 * rng.standard_normal((n_rows, 40))
    target = true.sum(axis=1) + rng.standard_normal(n_rows)
    return np.column_stack([true, readings]), target > 0 if classes else target


@pytest.mark.parametrize("classes", [True, False])
def test_readings_of_selected_features_seldom_pass(classes):
    tests = [evidence_of(*proxies(seed, 300, classes)) for seed in range(20)]
    assert sum(len(test.adding(np.array([0, 1]))) > 0 for test in tests) <= 4
    assert all(len(test.adding(np.array([0]))) > 0 for test in tests)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [True, False])
def test_readings_of_selected_features_seldom_pass_in_long_tables(classes):
    tests = [evidence_of(*proxies(seed, 5000, classes)) for seed in range(24)]
    assert sum(len(test.adding(np.array([0, 1]))) > 0 for test in tests) <= 4


def test_a_partner_is_found_where_it_matters_only_beside_the_first():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 10))
    y = np.where(X[:, 0] == 1, X[:, 1] ^ (rng.random(500) < 0.1), 0)
    assert 0 in evidence_of(X, y).adding(NONE)
    assert evidence_of(X, y).adding(np.array([0])).tolist() == [1]


@pytest.mark.parametrize("criterion", ["mim", "mrmr", "jmi", "jmim", "cmim", "gsa"])
@pytest.mark.parametrize("estimator", ["binned", "knn"])
def test_no_criterion_takes_copies_or_noise(criterion, estimator):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 12))
    y = X[:, 4] + X[:, 7] > 0
    X = np.column_stack([X, X[:, [4, 7]]])
    selector = BURSelector(n_features_to_select="auto", mi_estimator=estimator, unique_relevance="reference")
    for selection in selection_path(X, y, criteria=criterion, betas=[0, 0.3], selector=selector):
        assert sorted(selection.order.tolist()) == [4, 7], (criterion, selection.beta)
        reason = "no other feature adds detectable information about the target given the 2 selected features"
        assert selection.reason == reason


def test_real_tables_give_a_few_features():
    from sklearn.datasets import load_breast_cancer

    assert 2 <= len(BURSelector(n_features_to_select="auto").fit(*load_breast_cancer(return_X_y=True)).order_) <= 10


def test_a_smaller_alpha_selects_less():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 40))
    y = X @ np.linspace(1, 0, 40) + 2 * rng.standard_normal(150)
    loose, strict = (set(evidence_of(X, y, alpha).adding(NONE).tolist()) for alpha in (0.5, 0.001))
    assert strict < loose


def test_threads_and_repetition_change_nothing():
    X, y = proxies(0, 200, True)
    one, two, again = (evidence_of(X, y, n_jobs=n_jobs) for n_jobs in (1, 2, 1))
    for selected in (NONE, np.array([0]), np.array([0, 1])):
        assert_array_equal(one.adding(selected), two.adding(selected))
        assert_array_equal(one.adding(selected), again.adding(selected))


def test_rows_without_weight_are_as_good_as_not_there():
    X, y = proxies(0, 200, False)
    weights = np.repeat([1.0, 0.0], 100)
    weighted, fewer = evidence_of(X, y, sample_weight=weights), evidence_of(X[:100], y[:100])
    for selected in (NONE, np.array([0])):
        assert_array_equal(weighted.adding(selected), fewer.adding(selected))


def test_missing_values_and_levels():
    rng = np.random.default_rng(0)
    level, number = rng.integers(0, 3, 400), rng.standard_normal(400)
    y = (level == 1) | (number > 0.5)
    number[rng.random(400) < 0.2] = np.nan
    X = np.column_stack([number, rng.standard_normal((400, 4)), level])
    assert sorted(
        selection_path(X, y, criteria="jmi", betas=0, selector=BURSelector(n_features_to_select="auto")).order("jmi", 0)
    ) == [0, 5]


def test_forced_features_are_taken_as_they_are():
    X, y = proxies(0, 300, True)
    path = selection_path(
        X, y, criteria="jmi", betas=0, selector=BURSelector(n_features_to_select="auto", include=[5], exclude=[0])
    )
    assert path.order("jmi", 0)[0] == 5
    assert 0 not in path.order("jmi", 0)


def test_an_empty_selection_is_said_and_transforms():
    X, y = np.tile([[0], [1]], (30, 1)), np.repeat([0, 1], 30)
    with pytest.warns(UserWarning, match=r"selects nothing: no feature has detectable information about the target"):
        selector = BURSelector(n_features_to_select="auto").fit(X, y)
    assert selector.support_.tolist() == [False]
    assert selector.order_.tolist() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert selector.transform(X).shape == (60, 0)
    assert selector.inverse_transform(np.empty((60, 0))).shape == (60, 1)


# Its parts


def p_values_of_maximum(information):
    """Of what was observed, the first row, among permutations, the others."""
    tested = Exceedances(information[0], len(information) - 1, keep=True)
    tested.add(tested.active, information[1:])
    return tested.p_values_of_maximum(_nearly_normal)


def test_the_maximum_is_that_of_standardised_cube_roots(rng):
    information = rng.chisquare([1, 4, 9], (100, 3))
    information[0, 1] = 40
    roots = np.cbrt(information)
    scores = (roots - roots.mean(axis=0)) / roots.std(axis=0)
    expected = [(1 + sum(max(row) >= one for row in scores[1:])) / 100 for one in scores[0]]
    assert_allclose(p_values_of_maximum(information), expected)
    assert p_values_of_maximum(information)[1] == 0.01


def test_candidates_that_tell_nothing_in_any_permutation_pass_never():
    assert_array_equal(p_values_of_maximum(np.zeros((20, 3))), 1)


def test_p_values_of_the_maximum_are_uniform(rng):
    smallest = np.array([p_values_of_maximum(rng.chisquare([1, 3, 30], (20, 3))).min() for _ in range(2000)])
    for level in (0.05, 0.25, 0.5):
        assert abs((smallest <= level).mean() - level) < 0.04


def merged_information(counts, groups):
    """I(group; class) of a table whose rows are put into groups."""
    table = np.array([counts[groups == group].sum(axis=0) for group in range(groups.max() + 1)])
    return entropy_of(table.sum(axis=1)) + entropy_of(table.sum(axis=0)) - entropy_of(table.ravel())


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(2, 4))
def test_the_first_merger_loses_least(seed, n_rows, n_classes):
    counts = np.random.default_rng(seed).integers(0, 6, (n_rows, n_classes)) + np.eye(n_rows, n_classes, dtype=int)
    counts[:, 0] += 1
    groups = merge_levels(counts, n_rows - 1)
    assert groups.max() + 1 == max(n_rows - 1, 1)
    options = []
    for first, second in combinations(range(n_rows), 2):
        merged = np.arange(n_rows)
        merged[second] = first
        options.append(merged_information(counts, np.unique(merged, return_inverse=True)[1]))
    assert_allclose(merged_information(counts, groups), max(options), atol=1e-12)


def test_rows_alike_are_merged_before_others():
    counts = np.array([[5, 0], [0, 5], [50, 0], [3, 3], [0, 1], [30, 30]])
    assert merge_levels(counts, 3).tolist() == [0, 1, 0, 2, 1, 2]
    assert merge_levels(counts, 10).tolist() == list(range(6))
