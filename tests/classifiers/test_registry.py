"""A name means one classifier in the whole package; grids of settings from one fit equal a fit for each setting."""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from unirel.classifiers.registry import (
    CLASSIFIERS,
    Forest,
    Neighbors,
    Tuned,
    make_estimator,
    make_tuned,
    standardise,
    words_of,
)
from unirel.evaluation.plan import make_plan, split_rows
from unirel.evaluation.scoring import count_correct
from unirel.options import CLASSIFIER_NAMES


def test_names_are_those_of_the_options():
    assert tuple(CLASSIFIERS) == CLASSIFIER_NAMES


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_name_means_the_same_estimator_everywhere(name):
    """The usual setting of what is tuned in a comparison is what unique relevance and the report train."""
    assert repr(make_estimator(name, discrete=True)) == repr(make_tuned(name).estimator(random_state=0))
    assert is_regressor(make_estimator(name, discrete=False))
    assert words_of(name, discrete=True)


def test_words_of_regressors():
    assert words_of("logistic", discrete=False).startswith("ridge regression")
    assert words_of("knn", discrete=False) == words_of("knn", discrete=True)


def test_standardise_is_that_of_scikit_learn(rng):
    X = rng.normal(size=(50, 4)) * [1, 100, 1e-3, 0]
    train = np.arange(0, 50, 2)
    np.testing.assert_allclose(standardise(X, train), StandardScaler().fit(X[train]).transform(X), atol=1e-12)


def test_the_mean_of_the_training_rows_stands_for_what_is_missing():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 5.0]])
    np.testing.assert_array_equal(standardise(X, np.array([0, 1])), [[-1, 0], [1, 0], [0, 5]])


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y.astype(np.int64), split_rows(y, 0, 0)


def test_forest_grid_equals_separate_fits(wine):
    X, y, (train, validation, test) = wine
    X = X[:, :4]
    grid = Forest().predict(X[train], y[train], [X[validation], X[test]], random_state=7)
    for place, size in enumerate(Forest.sizes):
        forest = RandomForestClassifier(size, random_state=7).fit(X[train], y[train])
        np.testing.assert_array_equal(grid[0][place], forest.predict(X[validation]))
        np.testing.assert_array_equal(grid[1][place], forest.predict(X[test]))


def test_forest_grid_equals_a_warm_start(wine):
    X, y, (train, validation, _) = wine
    X = X[:, 2:5]
    (grid,) = Forest().predict(X[train], y[train], [X[validation]], random_state=3)
    forest = RandomForestClassifier(random_state=3, warm_start=True)
    for place, size in enumerate(Forest.sizes):
        forest.set_params(n_estimators=size).fit(X[train], y[train])
        np.testing.assert_array_equal(grid[place], forest.predict(X[validation]))


def check_neighbors(X, y, rows):
    grid = Neighbors().predict(X, y, rows, random_state=0)
    numbers = Neighbors().settings(len(y))
    for predictions, inputs in zip(grid, rows, strict=True):
        assert predictions.shape == (len(numbers), len(inputs))
        for number, row in zip(numbers, predictions, strict=True):
            np.testing.assert_array_equal(row, KNeighborsClassifier(number).fit(X, y).predict(inputs))


@pytest.mark.parametrize("n_features", [1, 3, 13])
def test_neighbour_grid_equals_separate_fits(wine, n_features):
    X, y, (train, validation, test) = wine
    X = standardise(X[:, :n_features], train)
    check_neighbors(X[train], y[train], [X[validation], X[test]])


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_neighbour_grid_equals_separate_fits_with_ties(rng, n_features):
    X = standardise(rng.integers(-1, 2, (90, n_features)).astype(float), np.arange(60))
    y = rng.integers(0, 3, 90)
    check_neighbors(X[:60], y[:60], [X[60:]])


def test_neighbours_are_no_more_than_the_training_rows(rng):
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    assert list(Neighbors().settings(20)) == list(range(3, 20, 2))
    check_neighbors(X[:12], y[:12], [X[12:]])


def test_linear_machine_grid_equals_pipelines(wine):
    X, y, split = wine
    (counts,) = count_correct(make_tuned("svm"), X, y, split, [np.arange(5)], 0)
    for row, C in zip(counts, (0.001, 0.01, 0.1, 1, 10), strict=True):
        model = make_pipeline(StandardScaler(), LinearSVC(dual=False, C=C)).fit(X[split.train, :5], y[split.train])
        correct = [(model.predict(X[rows, :5]) == y[rows]).sum() for rows in (split.validation, split.test)]
        assert row.tolist() == correct


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_nothing_is_learnt_from_rows_that_are_not_for_training(wine, name):
    X, y, split = wine
    columns = [np.array([0, 3, 6])]
    (before,) = count_correct(make_tuned(name), X, y, split, columns, 0)
    for place, changed in enumerate((split.validation, split.test)):
        other = X.copy()
        other[changed] = 1e6 * (1 + other[changed])
        (after,) = count_correct(make_tuned(name), other, y, split, columns, 0)
        np.testing.assert_array_equal(after[:, 1 - place], before[:, 1 - place])


def test_any_classifier_can_be_tuned(wine):
    X, y, split = wine
    mine = make_tuned(Tuned(LogisticRegression(), "C", (0.1, 1.0), scaled=True))
    assert list(mine.settings(10)) == [0.1, 1.0]
    assert count_correct(mine, X, y, split, [np.arange(13)], 0)[0].shape == (2, 2)
    one = make_tuned(RandomForestClassifier(5))
    counts = [count_correct(one, X, y, split, [np.arange(13)], 5)[0].tolist() for _ in range(2)]
    assert counts[0] == counts[1]


def test_bad_classifiers_are_refused():
    with pytest.raises(ValueError, match=r"classifiers='svn' is not one of 'logistic', 'rf', 'knn', 'svm'"):
        make_tuned("svn")
    with pytest.raises(ValueError, match="no instance of a scikit-learn classifier"):
        make_tuned(StandardScaler())
    with pytest.raises(ValueError, match="classifiers is empty"):
        make_plan("iris", ["mim"], [], 3, "all", 0, None)
    with pytest.raises(ValueError, match="parameter='c'"):
        Tuned(LogisticRegression(), "c", (1,))


def test_splits_are_stratified_and_disjoint():
    y = load_iris().target
    split = split_rows(y, 0, 3)
    assert [len(rows) for rows in split] == [90, 30, 30]
    assert all(np.bincount(y[rows]).tolist() == [len(rows) // 3] * 3 for rows in split)
    assert sorted(np.concatenate(split)) == list(range(150))
    assert all(np.array_equal(*pair) for pair in zip(split, split_rows(y, 0, 3), strict=True))
    assert not np.array_equal(split.train, split_rows(y, 0, 4).train)
