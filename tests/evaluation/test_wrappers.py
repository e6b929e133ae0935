"""Wrappers: orders that a classifier itself makes."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from unirel.classifiers.registry import make_tuned, standardise
from unirel.datasets import make_planted
from unirel.evaluation import Wrapper, compare


@pytest.fixture(scope="module")
def planted():
    bunch = make_planted(120, n_informative=2, n_copies=0, n_noise=6, random_state=1)
    return bunch.data, bunch.target, set(bunch.informative)


@pytest.mark.parametrize("method", ["ffs", "bfe", "rfe"])
@pytest.mark.parametrize("name", ["knn", "svm", "rf"])
def test_informative_features_come_first(planted, method, name):
    X, y, informative = planted
    wrapper = Wrapper(method)
    if method == "rfe" and name == "knn":
        assert not wrapper.suits(make_tuned(name))
        return
    order = wrapper.order(X, y, 4, make_tuned(name), random_state=0)
    assert len(order) == len(set(order)) == 4
    assert set(order[:2]) == informative


def test_forward_selection_equals_scikit_learn():
    X, y = load_wine(return_X_y=True)
    X = standardise(X[:, [12, 9, 6, 5, 3, 1]], np.arange(len(X)))
    order = Wrapper("ffs").order(X, y, 3, make_tuned("knn"), random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    peer = SequentialFeatureSelector(KNeighborsClassifier(5), n_features_to_select=3, scoring=_n_correct, cv=folds)
    assert set(order) == set(np.flatnonzero(peer.fit(X, y).support_))


def _n_correct(model, X, y):
    return int((model.predict(X) == y).sum())


def test_recursive_elimination_equals_scikit_learn():
    X, y = load_wine(return_X_y=True)
    svm = make_tuned("svm")
    order = Wrapper("rfe", step=0).order(X, y, 13, svm, random_state=0)
    peer = RFE(svm.estimator(0), n_features_to_select=1).fit(standardise(X, np.arange(len(X))), y)
    assert order == np.argsort(peer.ranking_).tolist()


def test_candidates_are_the_most_relevant(planted):
    X, y, informative = planted
    assert set(Wrapper("ffs", n_candidates=2).order(X, y, 5, make_tuned("knn"), 0)) == informative


def test_wrappers_are_compared_where_they_suit(planted):
    X, y, _ = planted
    selectors = {"rfe": Wrapper("rfe"), "ffs": Wrapper("ffs", n_candidates=4)}
    evaluation = compare(("planted", X, y), selectors, ["knn", "svm"], n_runs=1, max_features=3)
    pairs = [(outcome.selector, outcome.classifier) for outcome in evaluation]
    assert pairs == [("rfe", "svm"), ("ffs", "knn"), ("ffs", "svm")]
    assert {row["selector"]: row["n_datasets"] for row in evaluation.rank_rows()} == {"ffs": 1, "rfe": 1}


@pytest.mark.parametrize("change", [{"method": "rfa"}, {"cv": 1}, {"n_candidates": 0}, {"step": 1.0}])
def test_bad_parameters_are_named(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"{name}="):
        Wrapper(**{"method": "ffs", **change})
