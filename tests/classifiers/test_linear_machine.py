"""The linear machine finds the lowest point of the loss that scikit-learn's LinearSVC approaches."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from unirel.classifiers.linear_machine import LinearMachine, weights_along
from unirel.classifiers.registry import standardise

COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)


def slopes(X, signs, cost, weights):
    """Of the loss, like the formula, and the size of what is summed."""
    slope, size = weights.copy(), np.abs(weights)
    for row, sign in zip(np.column_stack([X, np.ones(len(X))]), signs, strict=True):
        margin = sign * (weights @ row)
        if margin < 1:
            slope -= 2 * cost * sign * (1 - margin) * row
            size += 2 * cost * (1 + abs(margin)) * np.abs(row)
    return np.abs(slope).max(), size.max()


def check_lowest(X, y, costs=COSTS):
    found = weights_along(X, y, costs)
    n_classes = y.max() + 1
    assert found.shape == (len(costs), 1 if n_classes == 2 else n_classes, X.shape[1] + 1)
    for cost, machines in zip(costs, found, strict=True):
        for own, weights in enumerate(machines):
            signs = np.where(y == (1 if n_classes == 2 else own), 1.0, -1.0)
            slope, size = slopes(X, signs, cost, weights)
            assert slope <= 1e-12 * size
    return found


def standardised(load, n_rows, n_columns):
    X, y = load(return_X_y=True)
    return standardise(X, np.arange(len(X)))[:n_rows, :n_columns], y[:n_rows]


@pytest.mark.parametrize(
    ("load", "n_rows", "n_columns"),
    [(load_wine, 178, 13), (load_breast_cancer, 200, 30), (load_breast_cancer, 25, 30), (load_digits, 300, 64)],
)
def test_real_tables(load, n_rows, n_columns):
    X, y = standardised(load, n_rows, n_columns)
    check_lowest(X, y)


def test_equals_scikit_learn_where_that_converges():
    X, y = standardised(load_wine, 178, 13)
    for cost, machines in zip(COSTS, weights_along(X, y, COSTS), strict=True):
        peer = LinearSVC(dual=False, C=cost, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(machines, np.column_stack([peer.coef_, peer.intercept_]), atol=1e-6)


def test_equals_a_general_minimiser(rng):
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(int)
    rows, signs = np.column_stack([X, np.ones(40)]), 2.0 * y - 1

    def loss(weights):
        return weights @ weights / 2 + 3.0 * np.square(np.maximum(0, 1 - signs * (rows @ weights))).sum()

    expected = minimize(loss, np.zeros(4), options={"gtol": 1e-9}).x
    np.testing.assert_allclose(weights_along(X, y, [3.0])[0, 0], expected, atol=1e-6)


@pytest.mark.parametrize("n_rows", [2, 3, 10, 60])
@pytest.mark.parametrize("n_columns", [1, 2, 9, 10, 11, 200])
def test_any_shape(rng, n_rows, n_columns):
    """Also with fewer rows than columns, which are turned into as many."""
    check_lowest(rng.standard_normal((n_rows, n_columns)), np.arange(n_rows) % 2)


def test_odd_columns(rng):
    """A column twice, a constant one, levels, one that tells all, and one of noise far away."""
    y = np.arange(90) % 3
    column = rng.standard_normal(90)
    X = np.column_stack([column, column, np.ones(90), rng.integers(0, 2, 90), y, 1e3 + column**2])
    check_lowest(X, y)


@pytest.mark.parametrize("scale", [1e-8, 1e4, 1e8, 1e12])
def test_columns_that_are_not_standardised(rng, scale):
    """Far from 1 there may be no digits left for the lowest loss, but classes that are apart are told apart."""
    y = np.arange(60) % 3
    X = scale * np.column_stack([y + 0.1 * rng.random(60), y == 1, rng.random(60), rng.random(60)])
    weights = weights_along(X, y, COSTS)
    assert np.isfinite(weights).all()
    if scale >= 1:
        assert (LinearMachine(10.0).fit(X, y).predict(X) == y).all()


@pytest.mark.parametrize("seed", range(40))
def test_random_tables(seed):
    """Rows with many ties, so that several meet their margin at once."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns, n_classes = rng.integers(5, 80), rng.integers(1, 12), rng.integers(2, 5)
    X = rng.integers(-2, 3, (n_rows, n_columns)) * rng.choice([0.1, 1.0, 10.0], n_columns)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])[:n_rows]
    check_lowest(X, y, sorted(10.0 ** rng.uniform(-4, 4, 3)))


def test_a_path_ends_where_each_cost_does_alone():
    X, y = standardised(load_wine, 178, 13)
    for cost, machines in zip(COSTS, weights_along(X, y, COSTS), strict=True):
        np.testing.assert_allclose(machines, weights_along(X, y, [cost])[0], atol=1e-9)


def test_without_a_step_there_is_nothing_to_search():
    """All rows at 0 of two classes of equal size: the weights are 0 from the start."""
    np.testing.assert_array_equal(weights_along(np.zeros((4, 2)), np.array([0, 1, 0, 1]), COSTS), np.zeros((5, 1, 3)))


@parametrize_with_checks([LinearMachine()])
def test_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def test_predicts_as_scikit_learn_does():
    X, y = standardised(load_wine, 178, 13)
    for labels in (np.array(["red", "white", "rose"])[y], np.array(["b", "a"])[y // 2]):
        ours, peer = LinearMachine().fit(X[::2], labels[::2]), LinearSVC(dual=False, tol=1e-9).fit(X[::2], labels[::2])
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)
        np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_works_in_calibration_and_elimination():
    X, y = standardised(load_wine, 178, 13)
    ours = CalibratedClassifierCV(LinearMachine(), ensemble=False).fit(X, y)
    peer = CalibratedClassifierCV(LinearSVC(dual=False, tol=1e-9), ensemble=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    ranks = [RFE(clone(one), n_features_to_select=1).fit(X, y).ranking_ for one in (ours.estimator, peer.estimator)]
    np.testing.assert_array_equal(*ranks)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y has 1 class only"):
        LinearMachine().fit([[1.0], [2.0]], [0, 0])
