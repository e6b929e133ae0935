"""A linear machine that does without a feature has the probabilities of one that never saw it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedKFold

from unirel.classifiers import calibrated_machine, losses
from unirel.classifiers.calibrated_machine import CalibratedMachine, cost_of_machine, sigmoid_of
from unirel.classifiers.linear_machine import LinearMachine, weights_along
from unirel.classifiers.losses import losses_without_each
from unirel.classifiers.registry import standardise
from unirel.data.table import Table

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def correlated(rng, n_rows=120, n_classes=2):
    """Copies with noise, so that others take the place of a column; the last column tells nearly all."""
    y = np.arange(n_rows) % n_classes
    source = rng.standard_normal((n_rows, 2)) + y[:, None]
    X = np.column_stack([source, source + 0.1 * rng.standard_normal((n_rows, 2)), rng.standard_normal((n_rows, 3))])
    return np.column_stack([X, 3 * y + 0.5 * rng.standard_normal(n_rows)]), y


def check(X, y, columns, cost=1.0):
    rows, test = np.array_split(np.arange(len(y)), 2)
    labels = y[rows]
    ours = CalibratedMachine(X, rows, labels, FOLDS.split(labels, labels), cost)
    for own in columns:
        rest = np.delete(X, own, axis=1)
        peer = CalibratedClassifierCV(LinearMachine(cost), cv=FOLDS, ensemble=False).fit(rest[rows], labels)
        np.testing.assert_allclose(ours.probabilities(np.array(own), test), peer.predict_proba(rest[test]), atol=2e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_equals_machines_that_never_saw_the_columns(rng, n_classes, cost):
    X, y = correlated(rng, n_classes=n_classes)
    check(X, y, [[0], [3], [6], [7], [0, 1], [1, 4, 7]], cost)


def test_real_tables():
    X, y = load_wine(return_X_y=True)
    check(standardise(X, np.arange(len(X))), y, [[0], [6], [12], [5, 6, 7]])
    X, y = load_digits(return_X_y=True)
    check(standardise(X[:600], np.arange(600)), y[:600], [[0], [10], [33]])


def test_solved_anew_where_other_rows_become_active(rng, monkeypatch):
    """The same values, whichever way they are found; and both ways are gone."""
    X, y = correlated(rng)
    machines = calibrated_machine._Machines(X, y, 1.0)
    ways = []
    for trials in (20, 0):
        monkeypatch.setattr(calibrated_machine, "_MAX_TRIALS", trials)
        ways.append([machines.weights_without(np.array(own)) for own in ([0], [7], [0, 7], [2, 3])])
    assert machines._machines[0].weights_without(np.array([0])) is None
    np.testing.assert_allclose(ways[0], ways[1], atol=1e-9)
    assert (ways[1][2][:, [0, 7]] == 0).all()
    np.testing.assert_allclose(
        np.delete(ways[1][3], [2, 3], axis=1), weights_along(np.delete(X, [2, 3], 1), y, [1.0])[0]
    )


def test_losses_equal_those_of_fits(rng, monkeypatch):
    X, y = correlated(rng, n_classes=3)
    X[::9, 1] = np.nan
    table = Table.from_data(np.column_stack([X, rng.integers(0, 3, len(y))]), y, kinds={8: "discrete"})
    seen = []
    quick = losses_without_each(table, "svm", progress=lambda *done: seen.append(done))
    assert seen[-1] == (9, 9)
    assert seen == sorted(seen)
    monkeypatch.setattr(losses, "cost_of_machine", lambda *_: None)
    np.testing.assert_allclose(quick, losses_without_each(table, "svm"), rtol=1e-5)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_the_last_feature_leaves_the_frequencies_of_the_classes(rng, n_columns):
    X, y = correlated(rng)
    table = Table.from_data(X[:, :n_columns], y)
    expected = np.log(2) if n_columns == 1 else 0.55
    assert losses_without_each(table, "svm")[0] == pytest.approx(expected, abs=0.1)


@pytest.mark.filterwarnings("ignore:class")
def test_a_class_of_one_row_is_not_learnt(rng, monkeypatch):
    X, y = correlated(rng)
    y[3] = 2
    table = Table.from_data(X, y)
    quick = losses_without_each(table, "svm")
    monkeypatch.setattr(losses, "cost_of_machine", lambda *_: None)
    np.testing.assert_allclose(quick, losses_without_each(table, "svm"), rtol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 0.5, 50.0])
def test_sigmoid_has_the_lowest_cross_entropy(rng, shift):
    """Also where scores separate the classes."""
    positive = np.arange(60) % 3 == 0
    scores = 1e3 + rng.standard_normal(60) + shift * positive
    aims = np.where(positive, 21 / 22, 1 / 42)

    def loss(parameters):
        logits = parameters[0] * (scores - 1e3) + parameters[1]
        return (np.logaddexp(0, logits) - aims * logits).sum()

    slope, offset = sigmoid_of(scores, positive)
    assert loss([slope, offset + 1e3 * slope]) <= minimize(loss, [0, 0], method="Nelder-Mead").fun + 1e-9


def test_sigmoid_of_equal_scores():
    slope, offset = sigmoid_of(np.full(10, 7.0), np.arange(10) < 5)
    assert slope == 0
    assert offset == pytest.approx(0)


def test_wide_tables_and_other_estimators_are_fitted(rng):
    assert cost_of_machine(LinearMachine(3.0), 10, 11, 2) == 3
    assert cost_of_machine(LinearMachine(), 10, 10, 2) is None
    assert cost_of_machine(LinearMachine(), 5_000, 10_000, 2) is None
    assert cost_of_machine(CalibratedClassifierCV(), 10, 11, 2) is None
