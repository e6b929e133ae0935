"""The test that ends a search by itself: what it promises, and its parts against plain formulas."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import rankdata
from sklearn.utils.class_weight import compute_sample_weight

from unirel import BURSelector, selection_path
from unirel.data.table import Table
from unirel.search.stopping import Evidence, Support, _chance_of, _functions_of, _groups_along, _permuted

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

CRITERIA = ["jmi", "jmim", "cmim"]


def adding(X, y, selected, alpha=0.05, **options):
    """Columns that are seen to add something to some selected ones."""
    table = Table.from_data(X, y)
    support = Support(Evidence(table, table.features, alpha, **options))
    for feature in selected:
        support.tell(feature)
    return [feature for feature in table.features.tolist() if feature not in selected and support.adds(feature)]


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


def test_weights_decide_which_relation_is_tested():
    """Half of the rows rise and half of them fall: there is something to be found where one half has more weight."""
    rng = np.random.default_rng(0)
    X, falls = rng.standard_normal((400, 4)), np.arange(400) % 2 == 0
    y = np.where(falls, -X[:, 0], X[:, 0]) + 0.5 * rng.standard_normal(400)
    assert length(X, y, sample_weight=np.where(falls, 1.0, 9.0))[0] >= 1
    assert length(X, y)[0] == 0


def test_sparse_tables_and_missing_weights_are_the_same(rng):
    X = rng.integers(0, 3, size=(200, 5)).astype(float)
    y, weights = X[:, 2] + rng.integers(0, 2, 200) > 1, rng.integers(1, 5, 200).astype(float)
    dense, sparse = (BURSelector(discrete_features=True).fit(data, y, weights).selection_ for data in (X, csr_array(X)))
    assert dense.n_supported == sparse.n_supported >= 1
    assert_array_equal(dense.order, sparse.order)


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
    tables = [proxies(seed, 300, classes) for seed in range(10)]
    assert sum(len(adding(*table, [0, 1])) > 0 for table in tables) <= 2
    assert all(1 in adding(*table, [0]) for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [True, False])
def test_readings_of_selected_features_seldom_pass_in_long_tables(classes):
    assert sum(len(adding(*proxies(seed, 5000, classes), [0, 1])) > 0 for seed in range(24)) <= 4


def test_a_partner_is_found_where_it_matters_only_beside_the_first():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 10))
    y = np.where(X[:, 0] == 1, X[:, 1] ^ (rng.random(500) < 0.1), 0)
    assert 0 in adding(X, y, [])
    assert adding(X, y, [0]) == [1]
    assert adding(X, X[:, 0] ^ X[:, 1], [0]) == [1]  # an exclusive or


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
    loose, strict = (set(adding(X, y, [], alpha)) for alpha in (0.5, 0.001))
    assert strict < loose


def test_rows_without_weight_are_as_good_as_not_there():
    X, y = proxies(0, 200, False)
    weights = np.repeat([1.0, 0.0], 100)
    for selected in ([], [0]):
        assert adding(X, y, selected, sample_weight=weights) == adding(X[:100], y[:100], selected)


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


# How many of a given number


def copies_and_noise(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(n_rows)
    X = np.column_stack(
        [*[signal + 0.01 * rng.standard_normal(n_rows) for _ in range(5)], rng.normal(size=(n_rows, 5))]
    )
    return X, signal + 0.5 * rng.standard_normal(n_rows) > 0


@pytest.mark.parametrize("n_rows", [300, 1000, 10_000])
def test_of_five_copies_one_is_supported_and_noise_is_not(n_rows):
    selection = BURSelector().fit(*copies_and_noise(n_rows)).selection_
    assert selection.n_supported == 1
    assert selection.order[0] < 5
    assert set(selection.order[1:6].tolist()) == set(range(5, 10))  # copies come back when all others are selected
    three = BURSelector(n_features_to_select=3).fit(*copies_and_noise(n_rows)).selection_
    assert set(three.same_as.values()) <= {int(three.order[0])}
    assert set(three.same_as) < set(range(5))
    kept = BURSelector(n_features_to_select=3, keep_copies=True).fit(*copies_and_noise(n_rows)).selection_
    assert (kept.same_as, kept.n_supported) == ({}, 1)


def test_levels_with_other_names_are_copies(rng):
    level, other = rng.integers(0, 4, 500), rng.integers(0, 3, 500)
    X = np.column_stack([level, (level * 7 + 3) % 11, other])
    y = (level == 2) ^ (other == 1)
    selection = BURSelector("mim", 2, beta=0, discrete_features=True).fit(X, y).selection_
    assert sorted(selection.order.tolist()) == [0, 2]
    assert selection.same_as in ({1: 0}, {})
    copies = BURSelector("mim", "all", beta=0, discrete_features=True).fit(X, y)
    assert copies.order_[2] == 1
    assert copies.selection_.same_as == {}


def test_rare_levels_elsewhere_are_no_copies():
    X = np.zeros((400, 2))
    X[:8, 0] = X[8:16, 1] = 1
    y = np.arange(400) < 16
    selection = BURSelector(n_features_to_select=2, discrete_features=True).fit(X, y).selection_
    assert (selection.same_as, selection.n_supported) == ({}, 2)


def test_no_near_copies_among_the_first_of_breast_cancer():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    selection = BURSelector().fit(X, y).selection_
    ranks = np.corrcoef(rankdata(X[:, selection.order], axis=0).T)
    assert np.abs(ranks - np.eye(10)).max() < 0.98
    assert selection.same_as
    assert selection.n_supported >= 2


@pytest.mark.parametrize("weights", [False, True])
def test_parts_give_the_same_numbers(weights, rng):
    import pandas as pd

    dd = pytest.importorskip("dask.dataframe")
    X, y = copies_and_noise(600)
    frame = pd.DataFrame(X, columns=list("abcdefghij")).assign(y=y.astype(int), w=rng.integers(1, 4, 600).astype(float))
    parts, given = dd.from_pandas(frame, npartitions=3), frame["w"] if weights else None
    names = list("abcdefghij")
    here = BURSelector(n_features_to_select=4).fit(frame[names], frame["y"], given).selection_
    there = BURSelector(n_features_to_select=4)
    there.fit(parts[[*names, "y", *["w"] * weights]], "y", "w" if weights else None)
    assert there.selection_.n_supported == here.n_supported == 1
    assert there.selection_.same_as == here.same_as


def test_auto_has_a_limit_and_lists_what_follows():
    X, y = np.random.default_rng(0).standard_normal((500, 20)), None
    y = X[:, :4].sum(axis=1)
    free = BURSelector(n_features_to_select="auto").fit(X, y).selection_
    assert sorted(free.order.tolist()) == [0, 1, 2, 3]
    assert free.n_supported == 4
    assert len(free.following) == 6
    assert not set(free.following) & set(free.order)
    limited = BURSelector(n_features_to_select="auto:2").fit(X, y).selection_
    assert_array_equal(limited.order, free.order[:2])
    assert len(limited.following) == 0
    with pytest.raises(ValueError, match="n_features_to_select='auto:0' must be"):
        BURSelector(n_features_to_select="auto:0").fit(X, y)


# Its parts


def slow_chance(terms, left, groups, n_orders, rng):
    """The share of drawn orders within groups whose covariances are as unlikely, by their mean square in all orders."""

    def covariances(order):
        return (terms.T @ left[order]).ravel()

    def draw():
        order = np.arange(len(left))
        for group in range(groups.max() + 1):
            own = np.flatnonzero(groups == group)
            order[own] = rng.permutation(own)
        return order

    drawn = np.array([covariances(draw()) for _ in range(n_orders)])
    inverse = np.linalg.inv(np.cov(drawn.T))
    distances = [one @ inverse @ one for one in (drawn - drawn.mean(axis=0))]
    own = covariances(np.arange(len(left))) - drawn.mean(axis=0)
    return np.mean(np.array(distances) >= own @ inverse @ own)


@pytest.mark.parametrize("effect", [0.0, 0.15])
def test_the_chance_is_that_of_drawn_orders(effect, rng):
    terms, along = rng.standard_normal((240, 2)), rng.random(240)
    left = np.column_stack([effect * terms[:, 0] + rng.standard_normal(240), rng.standard_normal(240)])
    order, starts = _groups_along(along)
    groups = np.repeat(np.arange(len(starts)), np.diff([*starts, 240]))
    expected = slow_chance(terms[order], left[order], groups, 2000, rng)
    assert_allclose(_chance_of(_permuted(terms[order], left[order], starts)), expected, atol=0.04)


def test_groups_keep_ties_together():
    along = np.repeat([0.5, 0.1, 0.9], [7, 3, 10])
    order, starts = _groups_along(along)
    assert_array_equal(along[order], np.sort(along))
    for begin, end in zip(starts, [*starts[1:], 20], strict=True):
        assert end - begin >= 3
    assert len(starts) <= 3


def test_functions_of_numbers_do_not_change_with_units_and_know_gaps(rng):
    numbers = rng.standard_normal(100)
    assert_allclose(_functions_of(np.exp(numbers)), _functions_of(numbers), atol=1e-12)
    numbers[:10] = np.nan
    functions = _functions_of(numbers)
    assert_array_equal(functions[:, -1], np.isnan(numbers))
    assert not functions[:10, :-1].any()
    assert not _functions_of(np.ones(50)).any()
