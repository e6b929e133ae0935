"""Permutation tests: p-values equal to their definition, uniform where there is nothing, small where there is."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2, chi2_contingency, false_discovery_control, kstest

import unirel
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.base import Information, make_information
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.permutation import Exceedances, expected_target, group_along
from unirel.inference.tests import _alike_rows, false_discovery_rates

# Short tests have few permutations, and small tables have small classes.
pytestmark = [
    pytest.mark.filterwarnings("ignore:n_permutations"),
    pytest.mark.filterwarnings("ignore:classes of y"),
]

KINDS = ("continuous", "discrete")


def make_column(kind, rng, n_samples):
    """Numbers, numbers with ties, levels, or numbers of which many are 0."""
    return {
        "continuous": lambda: rng.standard_normal(n_samples),
        "tied": lambda: rng.standard_normal(n_samples).round(),
        "discrete": lambda: rng.integers(3, size=n_samples).astype(float),
        "mixed": lambda: np.where(rng.random(n_samples) < 0.5, 0.0, rng.standard_normal(n_samples)),
    }[kind]()


def make_target(kind, rng, n_samples):
    return rng.integers(3, size=n_samples) if kind == "discrete" else rng.standard_normal(n_samples)


def mixed_table(rng, n_samples, target_kind):
    X = np.column_stack([make_column(kind, rng, n_samples) for kind in ("continuous", "tied", "discrete", "mixed")])
    X = np.column_stack([X, np.zeros(n_samples), rng.integers(2, size=n_samples)])
    X[rng.integers(n_samples, size=3), 0] = np.nan
    y = make_target(target_kind, rng, n_samples)
    if target_kind == "discrete":
        y[0] = 7  # a class of a single row
    return Table.from_data(X, y, discrete_features=[2, 4, 5], target_type=target_kind)


# Estimates with the target in another order

ESTIMATES = [KNN(), KNN(metric="manhattan"), Binned(), Binned(correction="miller-madow"), Binned(strategy="mdl")]


@pytest.mark.parametrize("known", [[], [0], [2], [0, 5], [2, 5], [4]], ids=str)
@pytest.mark.parametrize("target_kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATES, ids=repr)
def test_permuted_estimates_are_those_of_a_permuted_target(rng, estimator, target_kind, known):
    if getattr(estimator, "strategy", "") == "mdl" and target_kind == "continuous":
        return  # bins of that kind need labels
    table = mixed_table(rng, 40, target_kind)
    information = estimator.on(table)
    columns = np.setdiff1d(table.features, known)
    orders = np.array([rng.permutation(40) for _ in range(3)])
    slow = []
    for order in orders:
        moved = estimator.on(table.moved(order))
        slow.append([moved.conditional([column], [table.target], known) for column in columns])
    np.testing.assert_allclose(information.permuted(columns, known, orders), slow, rtol=0, atol=1e-12)
    np.testing.assert_allclose(Information.permuted(information, columns, known, orders), slow, rtol=0, atol=1e-12)


@pytest.mark.parametrize("target_kind", KINDS)
def test_the_order_as_it_is_gives_the_very_bits_of_relevance(rng, target_kind):
    information = make_information(mixed_table(rng, 60, target_kind))
    columns = information.table.features
    same = information.permuted(columns, [], np.arange(60)[None])[0]
    assert same.tobytes() == information.relevance(columns).tobytes()


def test_the_target_is_moved_and_no_other_column(rng):
    table = mixed_table(rng, 30, "discrete")
    order = rng.permutation(30)
    moved = table.moved(order)
    assert np.array_equal(moved.codes(table.target), table.codes(table.target)[order])
    assert np.array_equal(moved.codes(2), table.codes(2))
    assert np.array_equal(moved.values[-1], table.values[-1][order])
    assert np.array_equal(moved.values[:-1], table.values[:-1])
    assert np.array_equal(moved.continuous_block([1]), table.continuous_block([1]))


# P-values by their definition


@pytest.mark.parametrize("target_kind", KINDS)
def test_p_values_are_those_of_plain_calls_of_relevance(rng, target_kind):
    X, y = rng.standard_normal((50, 3)), make_target(target_kind, rng, 50)
    X[:, 1] += y
    test = unirel.relevance_test(X, y, n_permutations=30, max_exceedances=None, random_state=5)
    orders = np.random.default_rng(5)
    observed = unirel.relevance(X, y, clip=False)
    values = np.array([unirel.relevance(X, y[orders.permutation(50)], clip=False) for _ in range(30)])
    assert np.array_equal(test.p_value, ((values >= observed).sum(axis=0) + 1) / 31)
    assert np.array_equal(test.information, unirel.relevance(X, y))
    assert test.n_permutations.tolist() == [30, 30, 30]
    np.testing.assert_allclose(test.adjusted, false_discovery_control(test.p_value))


@pytest.mark.parametrize("n_tests", [0, 1, 2, 40])
def test_false_discovery_rates_are_those_of_scipy(rng, n_tests):
    p_values = rng.random(n_tests).round(1 if n_tests > 20 else 3) ** 2
    expected = false_discovery_control(p_values) if n_tests else p_values
    np.testing.assert_allclose(false_discovery_rates(p_values), expected, rtol=1e-15)


def test_family_wise_values_are_against_the_largest_of_all_columns(rng):
    X, y = rng.standard_normal((50, 4)), rng.integers(2, size=50)
    X[:, 1] += y
    test = unirel.relevance_test(X, y, n_permutations=40, adjust="fwer", random_state=5)
    orders = np.random.default_rng(5)
    values = [unirel.relevance(X, y, clip=False)]
    values += [unirel.relevance(X, y[orders.permutation(50)], clip=False) for _ in range(40)]
    standard = (np.array(values) - np.mean(values, axis=0)) / np.std(values, axis=0)
    largest = [row.max() for row in standard[1:]]
    expected = [(sum(one >= value for one in largest) + 1) / 41 for value in standard[0]]
    np.testing.assert_allclose(test.adjusted, expected)
    assert (test.adjusted >= test.p_value).all()
    assert test.n_permutations.tolist() == [40] * 4


def sequential_p_value(observed, values, max_exceedances):
    """Besag and Clifford, one permutation after the other."""
    reached = 0
    for used, value in enumerate(values, start=1):
        reached += value >= observed
        if reached == max_exceedances:
            return reached / used, used
    return (reached + 1) / (len(values) + 1), len(values)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=12, max_size=12), min_size=1, max_size=4),
    st.integers(1, 13),
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
)
def test_stopping_is_that_of_besag_and_clifford_whatever_the_rounds(columns, max_exceedances, sizes):
    values = np.array(columns, float).T
    tested = Exceedances(np.full(len(columns), 2.0), 12, max_exceedances)
    done = 0
    for size in [*sizes, 12]:
        if len(active := tested.active) and done < 12:
            tested.add(active, values[done : done + size][:, active])
            done += size
    expected = [sequential_p_value(2.0, column, max_exceedances) for column in values.T]
    assert list(zip(tested.p_values.tolist(), tested.used.tolist(), strict=True)) == expected


def test_a_sequential_p_value_is_exactly_uniform():
    """Over all ranks that the data can have among 11 permutations, in any order: up to h / l in h of l cases."""
    rng, max_exceedances, n_permutations = np.random.default_rng(0), 3, 11
    draws = rng.random((40_000, n_permutations + 1))
    tested = Exceedances(draws[:, 0].copy(), n_permutations, max_exceedances)
    tested.add(tested.active, draws[:, 1:].T.copy())
    for value in np.unique(tested.p_values):
        assert abs(np.mean(tested.p_values <= value) - value) < 4 * np.sqrt(value * (1 - value) / len(draws)) + 1e-12


def test_early_stopping_changes_no_p_value_below_its_reach(rng):
    """A column that never stops has the value of a full test; one that stops does so with about the same value."""
    X, y = rng.standard_normal((60, 20)), rng.integers(2, size=60)
    X[:, :3] += 2 * y[:, None]
    full = unirel.relevance_test(X, y, n_permutations=300, max_exceedances=None)
    early = unirel.relevance_test(X, y, n_permutations=300, max_exceedances=10)
    went_on = early.n_permutations == 300
    assert went_on[:3].all()
    assert not went_on.all()
    assert np.array_equal(early.p_value[went_on], full.p_value[went_on])
    assert np.abs(early.p_value - full.p_value).max() < 0.45


# Counts


def test_thick_tables_have_the_chi_square_of_g(rng):
    x, y = rng.integers(3, size=200), rng.integers(2, size=200)
    test = unirel.relevance_test(x, y, discrete_features=True)
    table = np.histogram2d(x, y, (3, 2))[0]
    g, _, freedom, expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert expected.min() >= 5
    assert np.isclose(g, 2 * 200 * unirel.relevance(x, y, mi_estimator=KNN(correction=None), discrete_features=True)[0])
    rows, columns = (200 * (1 / table.sum(axis=axis)).sum() - 1 for axis in (1, 0))
    assert np.isclose(test.p_value[0], chi2.sf(g / (1 + rows * columns / (6 * 200 * freedom)), freedom))
    assert test.n_permutations.tolist() == [0]


@pytest.mark.parametrize("correction", ["miller-madow", "chance"])
def test_the_correction_of_the_bias_does_not_change_g(rng, correction):
    x, y = rng.standard_normal(300), rng.integers(2, size=300)
    plain, corrected = (
        unirel.relevance_test(x, y, mi_estimator=Binned(4, correction=one)) for one in (None, correction)
    )
    assert corrected.p_value == plain.p_value


def test_thin_tables_are_permuted(rng):
    x, y = rng.integers(12, size=60), rng.integers(3, size=60)
    test = unirel.relevance_test(x, y, n_permutations=50, max_exceedances=None, discrete_features=True)
    assert test.n_permutations.tolist() == [50]


def test_levels_that_do_not_occur_are_not_counted(rng):
    """Bins of equal width may be empty."""
    x, y = np.r_[rng.random(100), 9 + rng.random(100)], rng.integers(2, size=200)
    test = unirel.relevance_test(x, y, mi_estimator=Binned(strategy="uniform"))
    table = np.histogram2d(x > 5, y, (2, 2))[0]
    g = chi2_contingency(table, correction=False, lambda_="log-likelihood")[0]
    rows, columns = (200 * (1 / table.sum(axis=axis)).sum() - 1 for axis in (1, 0))
    assert np.isclose(test.p_value[0], chi2.sf(g / (1 + rows * columns / 1200), 1))


def test_bins_that_look_at_the_target_look_at_the_permuted_one(rng):
    """Otherwise the search for the best cut would not be repeated, and noise would be significant."""
    found = []
    for _ in range(20):
        X, y = rng.standard_normal((60, 4)), rng.integers(2, size=60)
        test = unirel.relevance_test(X, y, n_permutations=39, max_exceedances=5, mi_estimator=Binned(strategy="mdl"))
        assert (test.n_permutations > 0).all()
        found += (test.p_value <= 0.05).tolist()
    assert np.mean(found) < 0.15


def test_a_sparse_table_is_tested_like_a_dense_one(rng):
    X = rng.integers(0, 3, size=(80, 6)).astype(float)
    y = (X[:, 2] + rng.random(80) > 1.5).astype(int)
    for adjust in ("fdr", "fwer"):
        options = {"n_permutations": 30, "mi_estimator": "binned", "adjust": adjust}
        dense = unirel.relevance_test(X, y, **options)
        thin = unirel.relevance_test(sparse.csr_matrix(X), y, **options)
        assert np.array_equal(dense.p_value, thin.p_value)
        assert np.array_equal(dense.adjusted, thin.adjusted)
    dense = unirel.conditional_test(X, y, [2], n_permutations=30, mi_estimator="binned")
    thin = unirel.conditional_test(sparse.csr_matrix(X), y, [2], n_permutations=30, mi_estimator="binned")
    assert np.array_equal(dense.p_value, thin.p_value, equal_nan=True)


# What is given


def test_the_target_is_permuted_among_rows_with_the_same_levels(rng):
    X = np.column_stack([rng.integers(3, size=50), rng.integers(2, size=50), rng.standard_normal(50)])
    table = Table.from_data(X, np.arange(50) % 2, discrete_features=[0, 1])
    groups = _alike_rows(table, np.array([0, 1]))
    levels = X[:, 0] * 2 + X[:, 1]
    assert all((groups[a] == groups[b]) == (levels[a] == levels[b]) for a in range(50) for b in range(50))


def test_rows_with_missing_values_have_groups_of_their_own(rng):
    X = rng.standard_normal((40, 1))
    X[::4] = np.nan
    groups = _alike_rows(Table.from_data(X, np.arange(40) % 2), np.array([0]))
    missing = np.isnan(X[:, 0])
    assert not set(groups[missing]) & set(groups[~missing])
    assert max(np.bincount(groups)[groups[missing]]) >= 3


@settings(max_examples=20)
@given(st.integers(1, 60), st.integers(1, 3), st.integers(2, 6), st.integers(0, 2**20))
def test_groups_are_small_and_stand_together(n_rows, n_strata, size, seed):
    rng = np.random.default_rng(seed)
    strata, along = np.sort(rng.integers(0, n_strata, n_rows)), rng.standard_normal(n_rows)
    groups = group_along(strata, along, size)
    for stratum in np.unique(strata):
        own = groups[strata == stratum][np.argsort(along[strata == stratum])]
        counts = np.unique(own, return_counts=True)[1]
        assert counts.max() < 2 * size
        assert counts.min() >= min(size, len(own))
        assert (np.diff(own) != 0).sum() == len(counts) - 1  # no other row stands between those of a group
        assert not set(own) & set(groups[strata != stratum])


def test_rows_of_wide_groups_stay_where_they_are():
    z = np.r_[np.arange(30) / 100, 5.0, 7.0, 9.0].reshape(-1, 1)
    groups = _alike_rows(Table.from_data(z, np.arange(33) % 2, discrete_features=False), np.array([0]))
    counts = np.bincount(groups)
    assert (counts[groups[:30]] == 3).all()
    assert (counts[groups[30:]] == 1).all()


@pytest.mark.parametrize("target_kind", KINDS)
def test_several_numbers_order_the_rows_by_what_they_say_about_the_target(rng, target_kind):
    Z = rng.standard_normal((300, 2))
    height = Z[:, 0] - Z[:, 1] + 3 * Z[:, 0] * Z[:, 1]
    y = height if target_kind == "continuous" else height > 0
    table, rows = Table.from_data(Z, y, discrete_features=False), np.arange(300)
    assert abs(np.corrcoef(expected_target(table, np.array([0, 1]), rows), height)[0, 1]) > 0.85


@pytest.mark.parametrize("target_kind", KINDS)
def test_what_is_not_quadratic_is_fitted_too(rng, target_kind):
    Z = rng.standard_normal((200, 3))
    height = 2 * np.sin(2 * Z[:, 0]) + Z[:, 1] ** 2 + Z[:, 2]
    y = height if target_kind == "continuous" else height > 1
    table = Table.from_data(Z, y, discrete_features=False)
    expected = expected_target(table, np.arange(3), np.arange(200))
    assert abs(np.corrcoef(expected, height)[0, 1]) > 0.85


def test_columns_that_are_too_many_for_splines_are_fitted_by_lines(rng):
    Z = rng.standard_normal((60, 8))
    table = Table.from_data(Z, Z @ np.arange(8), discrete_features=False)
    expected = expected_target(table, np.arange(8), np.arange(60))
    assert abs(np.corrcoef(expected, Z @ np.arange(8))[0, 1]) > 0.95


def test_numbers_that_fix_the_target_nearly_are_warned_of(rng):
    Z = rng.standard_normal((200, 3))
    X, y = np.column_stack([rng.standard_normal(200), Z]), Z.sum(axis=1) + 0.1 * rng.standard_normal(200)
    options = {"given": [1, 2, 3], "n_permutations": 19}
    with pytest.warns(UnirelWarning, match=r"given explains 9\d% of the target.*pass mi_estimator='knn'"):
        unirel.conditional_test(X, y, mi_estimator="gaussian", **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="what is given explains")
        unirel.conditional_test(X, y, **options)
        unirel.conditional_test(X, y > 0, mi_estimator="gaussian", **options)


def three_strong_conditions(seed, classes):
    """Column and target follow three numbers closely, and nothing else."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((200, 3))
    x, y = Z.sum(axis=1) + 0.5 * rng.standard_normal((2, 200))
    return np.column_stack([x, Z]), y > 0 if classes else y


@pytest.mark.parametrize("classes", [True, False])
def test_three_strong_conditions_are_no_discovery(classes):
    """Along neighbours in three dimensions a column that adds nothing was found in 16 to 24 % of tables."""
    p_values = [
        unirel.conditional_test(
            *three_strong_conditions(seed, classes), [1, 2, 3], n_permutations=39, max_exceedances=4, random_state=seed
        ).p_value[0]
        for seed in range(40)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.1  # more in 1 of 20 such tests


@pytest.mark.parametrize("options", [{}, {"mi_estimator": Binned(2)}], ids=str)
def test_what_only_two_columns_tell_together_is_found_beside_the_other(rng, options):
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    test = unirel.conditional_test(X, y, [0], n_permutations=99, **options)
    assert np.isnan(test.p_value[0])
    assert test.information[0] == 0
    assert test.p_value[1] == 0.01
    assert test.p_value[2] > 0.05
    # Many columns at once have what chance gives within levels interpolated.
    close = 1e-6 if options else 1e-12
    np.testing.assert_allclose(test.information, unirel.conditional_relevance(X, y, [0], **options), atol=close)
    assert test.given == ("x0",)


def test_a_column_that_is_known_adds_nothing(rng):
    z = rng.standard_normal(200)
    x, y = z + rng.standard_normal(200), z + rng.standard_normal(200)
    assert unirel.relevance_test(x, y, n_permutations=199).p_value[0] <= 0.01
    assert unirel.conditional_test(x, y, z.reshape(-1, 1), n_permutations=99).p_value[0] > 0.05


def test_given_columns_and_a_given_frame_are_the_same(rng):
    X, y = rng.standard_normal((80, 3)), rng.integers(2, size=80)
    named = unirel.conditional_test(X, y, [1], n_permutations=20)
    apart = unirel.conditional_test(X[:, [0, 2]], y, X[:, [1]], n_permutations=20)
    assert np.array_equal(named.p_value[[0, 2]], apart.p_value)
    assert np.array_equal(named.adjusted[[0, 2]], apart.adjusted)


def test_what_has_no_equal_rows_cannot_be_given(rng):
    X = np.column_stack([rng.standard_normal((20, 2)), np.arange(20)])
    with pytest.raises(ValueError, match="given has different levels in every row"):
        unirel.conditional_test(X, [0, 1] * 10, [2], discrete_features={2: True})


# The result, and how it is made


@pytest.mark.parametrize("options", [{}, {"mi_estimator": "binned"}, {"adjust": "fwer"}, {"given": [0]}], ids=str)
@pytest.mark.parametrize("target_kind", KINDS)
def test_threads_change_no_bit(rng, options, target_kind):
    X, y = rng.standard_normal((60, 10)), make_target(target_kind, rng, 60)
    test = unirel.conditional_test if "given" in options else unirel.relevance_test
    one, two = (test(X, y, n_permutations=40, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    for name in ("information", "p_value", "adjusted", "n_permutations"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_the_seed_decides(rng):
    X, y = rng.standard_normal((60, 5)), rng.integers(2, size=60)
    p_values = [unirel.relevance_test(X, y, n_permutations=50, random_state=seed).p_value for seed in (0, 0, 1)]
    assert np.array_equal(p_values[0], p_values[1])
    assert not np.array_equal(p_values[0], p_values[2])


def test_more_permutations_begin_with_the_same_ones(rng):
    X, y = rng.standard_normal((60, 5)), rng.integers(2, size=60)
    few, many = (unirel.relevance_test(X, y, n_permutations=n, max_exceedances=5) for n in (40, 80))
    settled = few.n_permutations < 40
    assert settled.any()
    assert np.array_equal(few.p_value[settled], many.p_value[settled])


def with_texts(rng, n_samples):
    """Numbers, a column to be filled, and texts that are all different, which are ignored."""
    texts = [f"row {row}" for row in range(n_samples)]
    return np.column_stack([rng.standard_normal(n_samples), np.zeros(n_samples), texts]).astype(object)


@pytest.mark.filterwarnings("ignore:ignored")
def test_ignored_and_constant_columns(rng):
    X, y = with_texts(rng, 40), np.arange(40) % 2
    X[:, :2] = X[:, :2].astype(float)
    test = unirel.relevance_test(X, y, n_permutations=30)
    assert np.isnan(test.p_value).tolist() == [False, False, True]
    assert test.p_value[1] == 1
    assert test.information[1] == 0
    assert test.n_permutations[2] == 0
    fwer = unirel.relevance_test(X, y, n_permutations=30, adjust="fwer")
    assert np.isnan(fwer.adjusted).tolist() == [False, False, True]


def test_an_interrupted_test_has_valid_values_of_what_was_done(rng, monkeypatch):
    X, y = rng.standard_normal((40, 3)), rng.integers(2, size=40)
    X[:, 0] += 3 * y

    def stop(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr("unirel.inference.tests.progress_of", lambda *_: stop)
    test = unirel.relevance_test(X, y)
    assert not test.complete
    assert test.n_permutations[0] == 20
    assert test.p_value[0] == 1 / 21
    assert "complete=False" in repr(test)


def test_progress_ends_at_its_total(rng, monkeypatch):
    X, y = rng.standard_normal((40, 3)), rng.integers(2, size=40)
    told = []
    monkeypatch.setattr("unirel.inference.tests.progress_of", lambda *_: lambda *step: told.append(step))
    unirel.relevance_test(X, y, n_permutations=100)
    assert told[-1] == (300, 300)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_few_permutations_for_many_columns_are_named(rng):
    X, y = rng.standard_normal((60, 30)), rng.integers(2, size=60)
    X[:, 0] += 4 * y
    with pytest.warns(unirel.UnirelWarning, match=r"n_permutations=99 are few for 30 columns: .* pass n_permutations="):
        unirel.relevance_test(X, y, n_permutations=99)
    test = unirel.relevance_test(X, y, n_permutations=600)
    assert test.significant()[0]


@pytest.mark.filterwarnings("ignore:ignored")
def test_the_result_as_a_frame_and_as_plain_values(rng):
    pytest.importorskip("pandas")
    X, y = with_texts(rng, 60), np.arange(60) % 2
    X[:, 0], X[:, 1] = rng.standard_normal((2, 60)) + np.outer([0, 3], y)
    test = unirel.relevance_test(X, y, n_permutations=99)
    frame = test.to_frame()
    assert list(frame.columns) == ["feature", "name", "information", "p_value", "adjusted", "n_permutations"]
    assert frame["p_value"][1] == 0.01
    plain = test.to_dict()
    assert plain["features"][2]["p_value"] is None
    assert plain["settings"]["n_permutations"] == 99
    assert repr(test) == "RelevanceTest(1 of 2 significant at 0.05)"
    assert test.significant().tolist() == [False, True, False]
    assert not test.significant(0.001).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_permutations": 0}, "n_permutations=0 must be a whole number from 1 on"),
        ({"max_exceedances": 0}, "max_exceedances=0 must be a whole number from 1 on"),
        ({"adjust": "bonferroni"}, "adjust='bonferroni' is not one of 'fdr', 'fwer'"),
        ({"random_state": -1}, "random_state=-1 must be a whole number from 0 on"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        unirel.relevance_test([[0.5], [1.5], [2.5], [3.5]], [0, 1, 0, 1], **options)


# Under the null


def smooth(p_value, n_used, n_permutations, max_exceedances, rng):
    """A p-value spread evenly down to the next lower one it could have been: uniform if p-values are exact."""
    stopped = max_exceedances is not None and np.isclose(p_value * n_used, max_exceedances)
    step = max_exceedances / (n_used + 1) if stopped else p_value - 1 / (n_permutations + 1)
    return step + rng.random() * (p_value - step)


def null_p_values(n_tables, make, max_exceedances=8, n_permutations=59, test=unirel.relevance_test):
    """P-values of tables without relation, as they are and spread evenly."""
    p_values = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y, options = make(rng)
        result = test(
            X,
            y,
            n_permutations=n_permutations,
            max_exceedances=max_exceedances,
            random_state=int(rng.integers(2**31)),
            **options,
        )
        n_used = result.n_permutations[0]
        plain = result.p_value[0]
        p_values.append((plain, smooth(plain, n_used, n_permutations, max_exceedances, rng) if n_used else plain))
    return np.array(p_values).T


def assert_not_too_small(p_values, level=1e-3):
    """Kolmogorov and Smirnov, one-sided: nowhere are there more small values than there should be."""
    assert kstest(p_values, "uniform", alternative="greater").pvalue > level


def assert_uniform(p_values, level=1e-3):
    assert kstest(p_values, "uniform").pvalue > level


@pytest.mark.parametrize("target_kind", KINDS)
def test_p_values_of_noise_are_uniform(target_kind):
    def make(rng):
        return rng.standard_normal((25, 1)), make_target(target_kind, rng, 25), {"target_type": target_kind}

    plain, smoothed = null_p_values(100, make, n_permutations=39)
    assert_not_too_small(plain)
    assert_uniform(smoothed)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["knn", "binned"])
@pytest.mark.parametrize("target_kind", KINDS)
# When to stop is decided alike for all kinds of columns.
@pytest.mark.parametrize(
    ("kind", "max_exceedances"), [("continuous", None), ("continuous", 8), ("tied", 8), ("discrete", 8), ("mixed", 8)]
)
def test_p_values_of_noise_are_uniform_over_500_tables(kind, target_kind, estimator, max_exceedances):
    """Counts tie often, and ties count as reached: there p-values are larger than uniform, never smaller."""

    def make(rng):
        options = {"discrete_features": kind == "discrete", "target_type": target_kind}
        options |= {"mi_estimator": "knn" if estimator == "knn" else Binned(3)}
        return make_column(kind, rng, 40).reshape(-1, 1), make_target(target_kind, rng, 40), options

    plain, smoothed = null_p_values(500, make, max_exceedances)
    assert_not_too_small(plain)
    if estimator == "knn" and (kind != "discrete" or target_kind == "continuous"):
        assert_uniform(smoothed)


@pytest.mark.parametrize("n_levels", [2, 4])
def test_chi_square_values_of_noise_are_uniform(rng, n_levels):
    """In tables of 8 rows to a cell, which are the thinnest that are not permuted, at usual levels."""
    n_samples = 2 * n_levels * 8
    X, y = rng.integers(n_levels, size=(n_samples, 1500)), np.arange(n_samples) % 2
    test = unirel.relevance_test(X, y, n_permutations=1, discrete_features=True, target_type="discrete")
    p_values = test.p_value[test.n_permutations == 0]
    assert len(p_values) > 500
    for level in (0.01, 0.05, 0.1, 0.2):
        assert np.mean(p_values <= level) < level + 3 * np.sqrt(level / len(p_values))


STRONG = {
    "numbers": lambda rng, n: rng.standard_normal(n),
    "levels": lambda rng, n: rng.integers(4, size=n).astype(float),
}


@pytest.mark.slow
@pytest.mark.parametrize("target_kind", KINDS)
@pytest.mark.parametrize("estimator", ["knn", "binned"])
@pytest.mark.parametrize(
    ("known", "correlation"), [("numbers", 0.9), ("numbers", 0.95), ("numbers", 0.995), ("levels", 0.97)]
)
def test_conditional_p_values_of_noise_are_uniform_over_500_tables(known, correlation, estimator, target_kind):
    """Column and target both follow what is given, and by themselves tell each other much."""
    noise = (correlation**-2 - 1) ** 0.5

    def make(rng):
        z = STRONG[known](rng, 80)
        x, y = z + noise * rng.standard_normal(80), z + noise * rng.standard_normal(80)
        # Cut in the middle of a level: between two levels nothing is left to permute, and every p-value is 1.
        y = (y > (2.0 if known == "levels" else np.median(y))).astype(int) if target_kind == "discrete" else y
        options = {"given": [1], "discrete_features": [1] if known == "levels" else False, "target_type": target_kind}
        options |= {"mi_estimator": "knn" if estimator == "knn" else Binned(4)}
        return np.column_stack([x, z]), y, options

    plain, smoothed = null_p_values(500, make, n_permutations=39, test=unirel.conditional_test)
    assert_not_too_small(plain)
    # Counts tie often, and where classes are nearly determined by what is given few rows change places.
    if estimator == "knn" and not (target_kind == "discrete" and correlation > 0.99):
        assert_uniform(smoothed, 0.01)


def planted(rng, n_samples=200, n_informative=10, n_features=60):
    """Columns in blocks of five that are correlated; some blocks follow the class."""
    y = np.arange(n_samples) % 2
    blocks = np.repeat(rng.standard_normal((n_samples, n_features // 5)), 5, axis=1)
    X = 0.7 * blocks + 0.7 * rng.standard_normal((n_samples, n_features))
    X[:, :n_informative] += 1.5 * y[:, None]
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["knn", "binned"])
def test_false_discoveries_are_controlled_with_correlated_columns(estimator):
    shares, found = [], []
    for seed in range(100):
        X, y = planted(np.random.default_rng(seed))
        test = unirel.relevance_test(X, y, n_permutations=300, random_state=seed, mi_estimator=estimator)
        called = test.significant(0.1)
        shares.append(called[10:].sum() / max(1, called.sum()))
        found.append(called[:10].mean())
    assert np.mean(shares) <= 0.12
    assert np.mean(found) > 0.5


@pytest.mark.slow
def test_any_false_alarm_is_as_rare_as_promised():
    alarms = []
    for seed in range(200):
        X, y = planted(np.random.default_rng(seed), n_samples=60, n_informative=0, n_features=20)
        test = unirel.relevance_test(X, y, adjust="fwer", n_permutations=99, random_state=seed)
        alarms.append(test.significant(0.1).any())
    assert np.mean(alarms) <= 0.1 + 3 * np.sqrt(0.09 / 200)


@pytest.mark.slow
def test_early_and_full_p_values_have_the_same_distribution():
    def make(rng):
        return rng.standard_normal((30, 1)), rng.integers(2, size=30), {}

    _, full = null_p_values(500, make, None)
    _, early = null_p_values(500, make, 8)
    from scipy.stats import ks_2samp

    assert ks_2samp(full, early).pvalue > 1e-3
