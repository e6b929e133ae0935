"""Our trees are those of scikit-learn's forests, digit for digit."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from packaging.version import Version
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from unirel.classifiers import forest, losses
from unirel.classifiers.forest import Trees, _draw, _ranked, _seeds_of_trees, plain_forest, suits_trees
from unirel.classifiers.losses import losses_without_each
from unirel.classifiers.registry import Forest
from unirel.data.table import Table
from unirel.estimation.kernels.forest import _sort


def check(X, y, inputs=None, n_trees=20, seed=0):
    inputs = X if inputs is None else inputs
    peer = RandomForestClassifier(n_trees, random_state=seed, n_jobs=1).fit(X, y)
    assert_array_equal(Trees(X, y, n_trees, seed).probabilities(inputs), peer.predict_proba(inputs))


def normal(rng, n_rows, n_columns, n_classes):
    y = np.arange(n_rows) % n_classes
    X = rng.standard_normal((n_rows, n_columns))
    X[:, : n_columns // 2] += rng.standard_normal((n_classes, n_columns // 2))[y]
    return X, y


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes"),
    [(2, 1, 2), (5, 3, 2), (40, 1, 3), (40, 300, 2), (300, 10, 2), (400, 5, 26), (1_000, 30, 6)],
)
@pytest.mark.parametrize("decimals", [None, 1, 0])
def test_equals_scikit_learn(rng, n_rows, n_columns, n_classes, decimals):
    X, y = normal(rng, n_rows, n_columns, n_classes)
    inputs = rng.standard_normal((50, n_columns))
    if decimals is not None:
        X, inputs = X.round(decimals), inputs.round(decimals)
    check(X, y, inputs, seed=n_rows)


def test_small_tables_of_all_kinds(rng):
    """Constant columns, copies, two levels, rows that only differ in their class, classes of one row."""
    for seed in range(60):
        n_rows, n_columns = rng.integers(2, 30), rng.integers(1, 12)
        X = rng.integers(0, rng.integers(1, 6, n_columns), (n_rows, n_columns)).astype(float)
        y = np.unique(rng.integers(0, 4, n_rows), return_inverse=True)[1]
        check(X, y, rng.integers(-1, 7, (10, n_columns)).astype(float), seed=seed)


@pytest.mark.skipif(
    Version(sklearn.__version__) < Version("1.8"),
    reason="scikit-learn 1.6 and 1.7 lost their tolerance by mistake (its pull request 32259)",
)
def test_values_that_nearly_are_equal(rng):
    """Differences around 1e-7, which single precision and scikit-learn's tolerance swallow in part, near 0 and far."""
    steps = rng.integers(0, 12, (200, 4)) * np.array([2e-8, 6e-8, 1e-7, 3e-7])
    y = rng.integers(0, 3, 200)
    for offset in (0.0, 0.01, 1.0, 1e6):
        check(steps + offset, y)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_real_tables(load):
    X, y = load(return_X_y=True)
    check(X[::2], y[::2], X[1::2])
    check(X[::2] * 1e30, y[::2], X[1::2] * 1e30)


def test_after_each_tree_the_sums_are_those_of_that_many(rng):
    X, y = normal(rng, 60, 6, 3)
    for size, totals in enumerate(Trees(X, y, 4, 5).shares(X), start=1):
        peer = RandomForestClassifier(size, random_state=5).fit(X, y)
        assert_array_equal(totals / size, peer.predict_proba(X))
    assert size == 4


@pytest.mark.parametrize("columns", [[0], [4, 1], [5, 4, 3, 2, 1, 0], [0, 2, 4]])
def test_some_columns(rng, columns):
    X, y = normal(rng, 80, 6, 3)
    peer = RandomForestClassifier(10, random_state=1).fit(X[:, columns], y)
    found = Trees(X, y, 10, 1).probabilities(X, np.array(columns))
    assert_array_equal(found, peer.predict_proba(X[:, columns]))


def test_places_and_levels(rng):
    values = rng.integers(0, 9, (50, 5)).astype(np.float32) / 7
    values[:, 2] = 3
    for own, place, level in zip(values.T, *_ranked(values), strict=True):
        distinct, inverse = np.unique(own, return_inverse=True)
        assert_array_equal(place, inverse)
        assert_array_equal(level[: len(distinct)], distinct)


def test_rows_are_drawn_as_by_scikit_learn(rng):
    X, y = normal(rng, 30, 2, 2)
    peer = RandomForestClassifier(7, random_state=11).fit(X, y)
    draws = [_draw(seed, 30)[0] for seed in _seeds_of_trees(7, 11)]
    assert_array_equal(draws, [np.bincount(rows, minlength=30) for rows in peer.estimators_samples_])


def test_many_rows_in_blocks(rng, monkeypatch):
    """Columns sorted a few at a time, and draws that nobody remembers."""
    X, y = normal(rng, 60, 7, 3)
    monkeypatch.setattr(forest, "_BLOCK", 150)
    monkeypatch.setattr(forest, "_FEW_ROWS", 10)
    check(X, y)


@pytest.mark.parametrize("places", [range(15), range(100), [5] * 20 + [4] * 20, [*range(60), 10**6, 10**9]])
def test_keys_are_sorted_by_place_only(rng, places):
    """A far one leaves the others to one bucket."""
    keys = (rng.permutation(places) << 32) | rng.integers(0, 2**32, len(places))
    spare, starts = np.empty(len(keys), np.int64), np.empty(len(keys) + 2, np.int64)
    found = _sort(keys.copy(), spare, starts, min(places), max(places))
    assert_array_equal(found, keys[np.argsort(keys >> 32, kind="stable")])


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(random_state=None),
        RandomForestClassifier(random_state=np.random.RandomState(0)),
        RandomForestClassifier(0, random_state=0),
        RandomForestClassifier(random_state=0, max_depth=3),
        RandomForestClassifier(random_state=0, min_samples_leaf=1.0),
        RandomForestClassifier(random_state=0, class_weight="balanced"),
        RandomForestClassifier(random_state=0, monotonic_cst=np.array([1, 0, 0])),
        RandomForestRegressor(random_state=0),
        ExtraTreesClassifier(random_state=0),
    ],
)
def test_other_forests_are_left_to_scikit_learn(estimator):
    assert plain_forest(estimator) is None


def test_plain_forests_are_known():
    assert plain_forest(RandomForestClassifier(7, random_state=3, n_jobs=2, verbose=1)) == (7, 3)


def test_what_trees_cannot_hold():
    assert suits_trees(np.array([[1.0, -3e38]]), 2)
    for value in (np.nan, np.inf, 1e39):
        assert not suits_trees(np.array([[1.0, value]]), 2)
    assert not suits_trees(np.ones((1, 1)), 2**16 + 1)


class Stranger(RandomForestClassifier):
    """The same forest, of a class that nobody knows, so that it is fitted for each feature."""


@pytest.mark.filterwarnings("ignore:class 3 has one sample")
@pytest.mark.parametrize("cv", [3, "train"])
def test_losses_without_each_feature(rng, monkeypatch, cv):
    """Features of one column, of several, with missing values; a class that one training fold lacks."""
    X, y = normal(rng, 90, 4, 3)
    X[::7, 1] = np.nan
    X[:, 3] = rng.integers(0, 4, 90)
    y[0] = 3
    table = Table.from_data(X, y, kinds={"x3": "discrete"})
    slow = losses_without_each(table, Stranger(10, random_state=2), cv=cv)
    monkeypatch.setattr(losses, "_costs_by_fits", None)
    assert_array_equal(losses_without_each(table, RandomForestClassifier(10, random_state=2), cv=cv), slow)


def test_missing_values_have_their_own_ways(rng):
    X, y = normal(rng, 120, 5, 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    for train, test in [(slice(0, 80), slice(80, 120)), (~np.isnan(X).any(axis=1), slice(None))]:
        (labels,) = Forest((10, 20)).predict(X[train], y[train], [X[test]], random_state=4)
        for own, size in zip(labels, (10, 20), strict=True):
            peer = RandomForestClassifier(size, random_state=4).fit(X[train], y[train])
            assert_array_equal(own, peer.predict(X[test]))


def test_labels_are_the_own_ones(rng):
    X, y = normal(rng, 60, 4, 3)
    own = np.array([2, 5, 9])[y]
    quick = Forest().predict_quickly(X[:40], own[:40], X[40:], random_state=1)
    assert_array_equal(quick, RandomForestClassifier(10, random_state=1).fit(X[:40], own[:40]).predict(X[40:]))
