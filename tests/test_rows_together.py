"""Rows that belong together: what may be permuted, levels with 40 patients of 25 rows, halves and folds by groups."""

import doctest
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline

import unirel.data.row_groups
from unirel import (
    KNN,
    BURSelector,
    BURSelectorCV,
    RowGroups,
    conditional_test,
    relevance,
    relevance_test,
    selection_path,
    selection_stability,
)
from unirel.data.table import Table
from unirel.estimation.base import Information, make_information
from unirel.estimation.permutation import BlockPermutations, GroupPermutations
from unirel.evaluation import _Dataset, _split, compare
from unirel.inference.stability import draw_rows
from unirel.report import Report
from unirel.search.folds import split_rows
from unirel.search.stopping import (
    Evidence,
    Support,
    _chance_of,
    _over_lags,
    _permuted_along,
    _permuted_groups,
    _permuted_within,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning"),
    pytest.mark.filterwarnings("ignore:.*least populated class"),
    pytest.mark.filterwarnings("ignore:The groups parameter is ignored"),  # an error follows
]
PATIENTS, ROWS = 40, 25
# Enough for a decision at 0.05: of 19 permutations none may reach the data.
QUICK = {"mi_estimator": "binned", "n_permutations": 19, "max_exceedances": 1, "discrete_features": False}


def patients(seed, *, effect=0.0, classes=True, n_features=3, shared=1.0, n_rows=ROWS):
    """A diagnosis or a number for each patient, and columns that tell patients apart; the first may follow it."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(PATIENTS), n_rows)
    own = rng.standard_normal((PATIENTS, n_features))
    numbers = rng.standard_normal(PATIENTS)
    own[:, 0] += effect * numbers
    X = shared**0.5 * own[groups] + (1 - shared) ** 0.5 * rng.standard_normal((len(groups), n_features))
    return X, (numbers > np.median(numbers) if classes else numbers)[groups], groups


def share(found, n_tables=60):
    return np.mean([found(seed) for seed in range(n_tables)])


def finds(seed, *, grouped, **options):
    X, y, groups = patients(seed, **options)
    known = {"groups": groups} if grouped else {}
    return relevance_test(X[:, :1], y, target_type="auto", random_state=seed, **QUICK, **known).p_value[0] <= 0.05


def selects(seed, *, grouped, **options):
    X, y, groups = patients(seed, **options)
    return len(BURSelector("mim", "auto", beta=0).fit(X, y, groups=groups if grouped else None).order_) > 0


# Level and power


@pytest.mark.parametrize("classes", [True, False])
def test_what_only_identifies_patients_is_called_significant_unless_groups_are_named(classes):
    assert share(lambda seed: finds(seed, grouped=False, classes=classes), 20) >= 0.95
    assert share(lambda seed: finds(seed, grouped=True, classes=classes)) <= 0.13  # more in 1 of 200 such tests


@pytest.mark.parametrize("classes", [True, False])
def test_the_automatic_stop_keeps_its_level_if_groups_are_named(classes):
    assert share(lambda seed: selects(seed, grouped=False, classes=classes), 20) >= 0.95
    assert share(lambda seed: selects(seed, grouped=True, classes=classes)) <= 0.13


@pytest.mark.parametrize("shared", [0.3, 1.0])
def test_real_effects_are_found(shared):
    effect = {"effect": 1.5, "shared": shared}
    assert share(lambda seed: finds(seed, grouped=True, **effect), 20) >= 0.8
    assert share(lambda seed: selects(seed, grouped=True, **effect), 20) >= 0.8


def test_rows_that_vary_within_groups_keep_the_level_both_ways():
    """Column and target have 40 % of their variance in common within a patient, and nothing with each other."""

    def rejects(seed, permute):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(PATIENTS), rng.integers(2, 14, PATIENTS))
        X, y = (0.63 * rng.standard_normal(PATIENTS)[groups] + 0.77 * rng.standard_normal(len(groups)) for _ in "Xy")
        together = RowGroups(groups, permute=permute)
        test = relevance_test(X[:, None], y > 0, groups=together, random_state=seed, **QUICK).p_value[0] <= 0.05
        selector = BURSelector("mim", "auto", beta=0).fit(X[:, None], y > 0, groups=together)
        return test, len(selector.order_) > 0

    for permute in ("groups", "within"):
        assert (share(lambda seed, how=permute: rejects(seed, how)) <= 0.13).all(), permute


def test_within_groups_asks_for_information_beyond_the_group():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(PATIENTS), 10)
    of_patient = rng.standard_normal(PATIENTS)[groups]
    inside = rng.standard_normal(len(groups))
    X = np.column_stack([of_patient + 0.1 * rng.standard_normal(len(groups)), inside])
    y = of_patient + 0.5 * inside + 0.5 * rng.standard_normal(len(groups)) > 0
    whole, within = (
        relevance_test(X, y, groups=RowGroups(groups, permute=permute), mi_estimator="binned")
        for permute in ("groups", "within")
    )
    assert whole.significant().tolist() == [True, True]
    assert within.significant().tolist() == [False, True]
    assert (whole.settings["permuted"], within.settings["permuted"]) == ("40 whole groups", "rows within 40 groups")
    added = BURSelector("mim", "auto", beta=0).fit(X, y, groups=RowGroups(groups, permute="within"))
    assert added.order_.tolist() == [1]


def series(seed, n_columns=1, n_rows=300, kept=0.9):
    steps = np.random.default_rng(seed).standard_normal((n_rows + 200, n_columns + 1))
    drawn = lfilter([1.0], [1.0, -kept], steps, axis=0)[200:]
    return drawn[:, 1:], drawn[:, 0]


def test_blocks_of_a_series_keep_the_level():
    def rejects(seed, **known):
        X, y = series(seed)
        test = relevance_test(X, y, random_state=seed, **QUICK, **known).p_value[0] <= 0.05
        return test, len(BURSelector("mim", "auto", beta=0).fit(X, y, **known).order_) > 0

    assert (share(lambda seed: rejects(seed, groups=RowGroups(block_length=50))) <= 0.13).all()
    assert (share(rejects, 20) >= 0.4).all()


def test_effects_in_a_series_are_found():
    X, y = series(0, 2)
    X[:, 1] += y
    blocks = RowGroups(block_length=50)
    assert relevance_test(X, y, groups=blocks, mi_estimator="binned").significant().tolist() == [False, True]
    assert BURSelector("mim", "auto", beta=0).fit(X, y, groups=blocks).order_.tolist() == [1]


def test_given_columns_of_patients_are_conditioned_on():
    """Whole groups change places where what is given, which does not vary within them, is alike; else rows within."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 5)
    sex, other = rng.integers(0, 2, 200), rng.standard_normal(200)
    X = np.column_stack([sex, sex + 0.5 * rng.standard_normal(200), other, rng.standard_normal(200)])[groups]
    y = (sex + other > 0.5)[groups]
    test = conditional_test(X, y, [0], groups=groups, mi_estimator="binned")
    assert test.settings["permuted"] == "200 whole groups"
    assert test.significant().tolist() == [False, False, True, False]
    varying = X + 0.01 * rng.standard_normal(X.shape)
    y = y ^ (rng.random(len(y)) < 0.2)
    assert conditional_test(varying, y, [2], groups=groups).settings["permuted"] == "rows within 200 groups"


# Plain twins


def slow_group_order(codes, drawn, firsts):
    """Row by row: the rows of the group that is drawn, from one of them on, again from the start at their end."""
    members = [np.flatnonzero(codes == group) for group in range(codes.max() + 1)]
    order, seen = [], dict.fromkeys(range(len(members)), 0)
    for group in codes:
        rows = members[drawn[group]]
        order.append(rows[(seen[group] + firsts[drawn[group]]) % len(rows)])
        seen[group] += 1
    return order


def test_orders_of_groups_are_those_of_the_plain_rule(rng):
    codes = rng.integers(0, 6, 50)
    sizes = np.bincount(codes)
    draws = GroupPermutations(codes)
    for seed in range(20):
        again = np.random.default_rng(seed)
        drawn, firsts = again.permutation(6), np.floor(again.random(6) * sizes).astype(int)
        assert_array_equal(draws.draw(np.random.default_rng(seed)), slow_group_order(codes, drawn, firsts))
    assert not draws.keeps_rows
    equal = GroupPermutations(np.tile(np.arange(5), 4))
    assert equal.keeps_rows
    assert sorted(equal.draw(rng)) == list(range(20))


def test_orders_of_blocks_are_permutations_that_keep_neighbours(rng):
    for _ in range(20):
        order = BlockPermutations(103, 10).draw(rng)
        assert sorted(order) == list(range(103))
        assert np.count_nonzero((order[1:] - order[:-1]) % 103 != 1) <= 10


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("estimator", ["binned", "knn", "gaussian"])
def test_p_values_are_those_of_plain_calls_of_relevance(estimator, classes):
    """Groups differ in size: some rows of the target are repeated and others left out."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(12), rng.integers(2, 9, 12))
    X, y = rng.standard_normal((len(groups), 2)), rng.standard_normal(len(groups))
    y, kind = (y > 0, "discrete") if classes else (y, "continuous")
    options = {"mi_estimator": estimator, "target_type": kind, "discrete_features": False}
    test = relevance_test(X, y, groups=groups, n_permutations=20, max_exceedances=None, random_state=5, **options)
    orders, draws = np.random.default_rng(5), GroupPermutations(groups)
    values = np.array([relevance(X, y[draws.draw(orders)], clip=False, **options) for _ in range(20)])
    if estimator == "binned" and not classes:  # whose bins stay those of the target as it is
        information = make_information(Table.from_data(X, y, **{"target_type": kind}), "binned")
        orders = np.random.default_rng(5)
        values = information.permuted(information.table.features, [], np.array([draws.draw(orders) for _ in range(20)]))
    observed = relevance(X, y, clip=False, **options)
    assert_array_equal(test.p_value, ((values >= observed - 1e-9).sum(axis=0) + 1) / 21)


@pytest.mark.parametrize("known", [[], [1]], ids=str)
def test_counts_of_repeated_rows_are_those_of_a_table_of_them(rng, known):
    X, y = rng.standard_normal((60, 3)), rng.integers(3, size=60)
    information = make_information(Table.from_data(X, y), "binned")
    orders = rng.integers(60, size=(4, 60))
    slow = Information.permuted(information, [0, 2], known, orders)
    assert_allclose(information.permuted([0, 2], known, orders), slow, atol=1e-12)


def slow_chance(terms, left, draw, n_orders):
    """How often drawn orders give covariances as far from their mean as those that are seen, in their own spread."""
    drawn = np.array([(terms.T @ left[draw()]).ravel() for _ in range(n_orders)])
    inverse = np.linalg.inv(np.cov(drawn.T))
    distances = [one @ inverse @ one for one in drawn - drawn.mean(axis=0)]
    own = (terms.T @ left).ravel() - drawn.mean(axis=0)
    return np.mean(np.array(distances) >= own @ inverse @ own)


@pytest.mark.parametrize("effect", [0.0, 0.25])
def test_the_chance_between_and_within_groups_is_that_of_drawn_orders(effect):
    """Groups of equal size: rows are permuted within them, and then whole groups."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(30), 8)
    terms, left = (0.5 * rng.standard_normal((30, 2))[groups] + rng.standard_normal((240, 2)) for _ in range(2))
    left[:, 0] += effect * terms[:, 0]
    terms, left = terms - terms.mean(axis=0), left - left.mean(axis=0)

    def draw():
        rows = np.arange(240).reshape(30, 8)[rng.permutation(30)]
        return rng.permuted(rows, axis=1).ravel()

    along = np.zeros(240)
    parts = _permuted_groups(terms, left, along, groups), _permuted_within(terms, left, along, groups)
    assert_allclose(_chance_of(*parts), slow_chance(terms, left, draw, 3000), atol=0.04)


def test_groups_of_one_row_are_rows():
    X, y, _ = patients(1, effect=0.5, n_rows=1)
    table = Table.from_data(X, y)
    columns, evidence = table.features, [None, RowGroups(np.arange(PATIENTS))]
    values = [[Support(Evidence(table, columns, 0.05, groups=one))._p_value(f) for f in columns] for one in evidence]
    assert_allclose(values[1], values[0], rtol=1e-9)


def test_copied_rows_count_once():
    """The chance with 25 equal rows of each patient is that with one of them."""
    X, y, groups = patients(1, effect=0.5)
    chances = []
    for rows, together in ((np.arange(len(y)), RowGroups(groups)), (np.arange(0, len(y), ROWS), None)):
        table = Table.from_data(X[rows], y[rows])
        support = Support(Evidence(table, table.features, 0.05, groups=together))
        chances.append([support._p_value(feature) for feature in table.features])
    assert_allclose(chances[0], chances[1], atol=0.05)
    assert chances[0][0] < 0.01


def test_the_spread_over_lags_is_bartletts_sum(rng):
    terms, left = rng.standard_normal((2, 80, 2)).cumsum(axis=1)
    covariances, spread = _over_lags(terms, left, 5)
    assert_allclose(covariances, (terms.T @ left).ravel())
    slow = np.zeros((4, 4))
    pairs = [(a, b) for a in range(2) for b in range(2)]
    for i in range(80):
        for j in range(80):
            lag = abs(i - j)
            weight = max(0.0, min(1.0, 2 - lag / 5))
            for row, (a, b) in enumerate(pairs):
                for column, (c, d) in enumerate(pairs):
                    steps = np.arange(max(0, i - j), 80 + min(0, i - j))
                    slow[row, column] += weight * terms[i, a] * terms[j, c] * (left[steps, b] @ left[steps - i + j, d])
    assert_allclose(spread, slow / 80)


def test_of_one_stratum_the_chance_is_that_of_any_order(rng):
    terms, left = rng.standard_normal((2, 50, 1))
    covariances, spread = _permuted_along(terms.copy(), left.copy(), np.zeros(50))
    score = (terms - terms.mean()).T @ (left - left.mean()) / (terms.std() * left.std() * 50) * 49**0.5
    assert_allclose(_chance_of((covariances, spread)), 2 * norm.sf(abs(score[0, 0])))


# Without groups


def test_without_groups_nothing_changes():
    X, y, groups = patients(0, effect=1.0)
    for one, other in (
        (relevance_test(X, y, n_permutations=30), relevance_test(X, y, n_permutations=30, groups=None)),
        (selection_path(X, y, betas=0).selections[0], selection_path(X, y, betas=0, groups=None).selections[0]),
    ):
        assert one.to_dict() == other.to_dict()
    plain = BURSelector(n_features_to_select=2).fit(X, y)
    grouped = BURSelector(n_features_to_select=2).fit(X, y, groups=groups)
    assert_array_equal(grouped.selection_scores_, plain.selection_scores_)  # only tests know groups
    assert "permuted" not in relevance_test(X, y, n_permutations=30).settings


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series, pl.Series, pd.Categorical])
def test_labels_may_be_of_any_kind(kind):
    X, y, groups = patients(0, effect=1.0)
    named = kind([f"p{number}" for number in groups])
    expected = relevance_test(X, y, groups=groups, n_permutations=30, mi_estimator="binned")
    found = relevance_test(X, y, groups=named, n_permutations=30, mi_estimator="binned")
    assert found.to_dict() == expected.to_dict()


# Halves and folds


def test_halves_keep_groups_whole_and_classes_apart():
    X, y, groups = patients(0)
    for number in range(20):
        rows = draw_rows(len(y), y.astype(int), 0.5, (0, number), groups)
        assert len(rows) == 20 * ROWS
        assert np.bincount(groups[rows]).max() == np.bincount(groups[rows])[np.unique(groups[rows])].min() == ROWS
        assert y[rows].mean() == 0.5
    result = selection_stability(
        X, y, selector=BURSelector("mim", "auto", beta=0), groups=groups, n_subsamples=6, random_state=3
    )
    selected = []
    for number in range(6):
        rows = draw_rows(len(y), y.astype(int), 0.5, (3, number), groups)
        selected.append(BURSelector("mim", "auto", beta=0).fit(X[rows], y[rows], groups=groups[rows]).support_)
    assert_array_equal(result.selected, selected)


def test_journals_of_other_groups_are_refused(tmp_path):
    X, y, groups = patients(0)
    options = {"selector": BURSelector("mim", 1, beta=0), "n_subsamples": 2, "journal": tmp_path / "journal"}
    found = selection_stability(X, y, groups=groups, **options)
    assert_array_equal(selection_stability(X, y, groups=groups, **options).selected, found.selected)
    for other in (None, groups // 2):
        with pytest.raises(ValueError, match="is of another selector"):
            selection_stability(X, y, groups=other, **options)


def cross_validated(**options):
    return BURSelectorCV(LogisticRegression(), BURSelector(beta=0), betas=[0], max_features=2, **options)


def means(selector, *data, **params):
    return selector.fit(*data, **params).cv_results_["mean_test_score"]


@pytest.mark.parametrize("routing", [True, False])
def test_folds_keep_groups_together(routing):
    X, y, groups = patients(0, effect=1.0)
    with sklearn.config_context(enable_metadata_routing=routing):
        expected = means(cross_validated(cv=StratifiedGroupKFold(4)), X, y, groups=groups)
        assert_array_equal(means(cross_validated(cv=4), X, y, groups=groups), expected)
        by_group = means(cross_validated(cv=GroupKFold(4)), X, y, groups=groups)
        splits = list(GroupKFold(4).split(X, y, groups))
        assert_array_equal(by_group, means(cross_validated(cv=splits), X, y))
        assert not np.array_equal(means(cross_validated(cv=4), X, y), expected)


def test_folds_of_numbers_and_blocks():
    splits = split_rows(3, np.zeros((60, 1)), np.arange(60.0), False, RowGroups(block_length=10), {"groups": None})
    assert len(splits) == 3
    assert all(len(np.intersect1d(train // 10, test // 10)) == 0 for train, test in splits)


def test_groups_reach_a_selector_in_a_pipeline():
    X, y, groups = patients(0, effect=3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        selector = BURSelector("mim", "auto", beta=0).set_fit_request(groups=True)
        fitted = make_pipeline(selector, LogisticRegression()).fit(X, y, groups=groups)
    assert fitted[0].order_.tolist() == [0]
    assert len(BURSelector("mim", "auto", beta=0).fit(X, y).order_) > 1


def test_comparisons_hold_out_whole_groups():
    X, y, groups = patients(0)
    data = _Dataset("table", X, y.astype(int), True, {}, X, np.zeros(3, bool), [1], groups)
    for seed in range(5):
        parts = _split(data, 0.2, seed)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
        assert [len(np.unique(groups[part])) for part in parts] == [24, 8, 8]
        assert [y[part].mean() for part in parts] == [0.5, 0.5, 0.5]
    known, honest = (
        compare(table, "mim", "rf", n_features=[3], n_splits=2).to_frame()["test_score"].mean()
        for table in (("table", X, y), ("table", X, y, groups))
    )
    assert known > 0.95  # trees know the patients
    assert honest < 0.8


def test_a_report_keeps_groups_together():
    X, y, groups = patients(0, effect=3.0)
    options = {"selector": BURSelector("mim", "auto:2", beta=0), "stability": 3}
    plain, grouped = (Report.from_data(X, y, **options, **known) for known in ({}, {"groups": groups}))
    assert (len(plain.selection), len(grouped.selection)) == (2, 1)
    assert grouped.test.significant().tolist() == [True, False, False]
    said = " ".join([*grouped.paragraphs(), *grouped.to_dict()["accuracy"]["words"]])
    for words in (
        "permuted are 40 whole groups",
        "halves of the groups of rows",
        "Rows of a group are in the same fold",
    ):
        assert words in said
        assert words not in " ".join([*plain.paragraphs(), *plain.to_dict()["accuracy"]["words"]])
    few = Report.from_data(X, y == y[0], selector=BURSelector("mim", 1, beta=0), groups=groups)
    assert few.accuracy.grouped


def test_nearest_neighbours_of_the_same_patient_tell_nothing():
    """What the page on rows that belong together says: fewer neighbours than rows of a group see the group alone."""
    X, y, groups = patients(0, effect=3.0)
    p_values = [relevance_test(X, y, mi_estimator=KNN(k), groups=groups).p_value[0] for k in (3, 60)]
    assert p_values[0] > 0.5
    assert p_values[1] < 0.01


# What cannot be


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(5), r"groups has shape \(5,\); it needs one label for each of 1000 rows"),
        (np.arange(1000) % 3, "groups has 3 different labels, but at least 5 are needed; with permute='within'"),
        (np.where(np.arange(1000) < 7, np.nan, np.arange(1000) % 9), "groups has 7 missing labels; leave out"),
        ([None] * 4 + ["a"] * 996, "groups has 4 missing labels"),
        (pd.Series(["a", None] * 500, dtype="string"), "groups has 500 missing labels"),
        (RowGroups(block_length=300), "block_length=300 must be a whole number from 2 to 200"),
        (RowGroups(block_length=1), "block_length=1 must be a whole number from 2 on"),
        (RowGroups(np.repeat(np.arange(40), 25), permute="within"), "y does not vary among rows of a group"),
    ],
    ids=str,
)
def test_wrong_groups_are_refused(groups, message):
    X, y, _ = patients(0)
    with pytest.raises(ValueError, match=message) as raised:
        relevance_test(X, y, groups=groups)
    assert "\n" not in str(raised.value)
    if "y does not vary" not in message:
        with pytest.raises(ValueError, match=message):
            BURSelector("mim", "auto", beta=0).fit(X, y, groups=groups)


def test_other_mistakes_are_named():
    X, y, groups = patients(0)
    for options, message in (
        ({}, "needs either labels or block_length"),
        ({"labels": groups, "block_length": 5}, "needs either labels or block_length"),
        ({"labels": groups, "permute": "rows"}, "permute='rows' is not one of"),
    ):
        with pytest.raises(ValueError, match=message):
            RowGroups(**options)
    with pytest.raises(ValueError, match="given varies within groups; pass permute='within'"):
        conditional_test(X + np.arange(len(y))[:, None], y, [0], groups=RowGroups(groups, permute="groups"))
    for cv in (KFold(3), [(np.arange(890), np.arange(890, 1000))]):
        with pytest.raises(ValueError, match=r"splits \d+ groups of rows.*GroupKFold"):
            cross_validated(cv=cv).fit(X, y, groups=groups)
    cross_validated(cv=GroupShuffleSplit(2, random_state=0)).fit(X, y, groups=groups)


def test_few_groups_are_selected_from_without_a_test():
    X, y, groups = patients(0, effect=3.0)
    selection = BURSelector("mim", 2, beta=0).fit(X, y, groups=groups % 3).selection_
    assert selection.n_supported is None
    assert len(selection) == 2


def test_tables_in_parts_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.dataset as ds

    X, y, groups = patients(0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    with pytest.raises(ValueError, match="groups need all rows at once, but X is read in parts"):
        BURSelector(beta=0).fit(ds.dataset(table), "y", groups=groups)


def test_the_example_of_the_class_runs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert doctest.testmod(unirel.data.row_groups).failed == 0
