"""The selectors of the quality benchmark: from rows, target, number of features and kind of target to an order."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    SequentialFeatureSelector,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.linear_model import LogisticRegression, lars_path
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from unirel import BURSelector, BURSelectorCV

Order = Callable[[np.ndarray, np.ndarray, int, str], Any]


def only(*kinds: str, most_columns: int = 10**6) -> Callable[[Order], Order]:
    """Say for which targets, and up to how many columns, a selector is tried."""

    def mark(order: Order) -> Order:
        order.kinds, order.most_columns = kinds, most_columns  # type: ignore[attr-defined]
        return order

    return mark


def _target_kind(kind: str) -> str:
    return "discrete" if kind == "classes" else "continuous"


def ours(**parameters: Any) -> Order:
    """A selector of unirel."""

    def order(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
        selector = BURSelector(n_features_to_select=n_features, target_kind=_target_kind(kind), **parameters)
        return selector.fit(X, y).order_

    return order


def ours_by_validation(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """The default with its weight chosen by cross-validation of nearest neighbours."""
    model = KNeighborsClassifier(5) if kind == "classes" else KNeighborsRegressor(5)
    inner = BURSelector(target_kind=_target_kind(kind))
    found = BURSelectorCV(model, inner, max_features=min(20, n_features), cv=3, one_standard_error=len(y) < 100)
    beta = found.fit(StandardScaler().fit_transform(X), y).best_beta_
    return ours(beta=beta)(X, y, n_features, kind)


def ranked(classes: Callable[..., Any], numbers: Callable[..., Any]) -> Order:
    """Features by a score of each."""

    def order(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
        scores = np.nan_to_num((classes if kind == "classes" else numbers)(X, y), nan=-np.inf)
        return np.argsort(-scores, kind="stable")[:n_features]

    return order


def forest(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """Importance in a forest, as `SelectFromModel` has it."""
    model = RandomForestClassifier if kind == "classes" else RandomForestRegressor
    importance = model(300, random_state=0, n_jobs=1).fit(X, y).feature_importances_
    return np.argsort(-importance, kind="stable")[:n_features]


def lasso(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """In the order in which features enter as an l1 penalty is relaxed."""
    X = StandardScaler().fit_transform(X)
    if kind == "numbers":
        active = lars_path(X, y - y.mean(), method="lasso", max_iter=4 * n_features)[1]
        return list(dict.fromkeys(active))[:n_features]
    entered, weight = np.full(X.shape[1], np.inf), np.zeros(X.shape[1])
    for step, strength in enumerate(l1_min_c(X, y, loss="log") * np.logspace(0.02, 2.5, 14)):
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=strength, max_iter=60, tol=1e-3)
        fitted = OneVsRestClassifier(model).fit(X, y)
        size = np.max([np.abs(one.coef_[0]) for one in fitted.estimators_], axis=0)
        new = (size > 0) & np.isinf(entered)
        entered[new], weight[new] = step, size[new]
        if np.count_nonzero(size) >= n_features:
            break
    return np.lexsort((-weight, entered))[:n_features]


def mrmr_selection(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """F statistic over correlation, by the package mrmr-selection."""
    import mrmr
    import pandas as pd

    frame = pd.DataFrame(X, columns=range(X.shape[1]))
    select = mrmr.mrmr_classif if kind == "classes" else mrmr.mrmr_regression
    return select(frame, pd.Series(y), K=n_features, show_progress=False, n_jobs=1)


@only("classes", "numbers", most_columns=130)
def feature_engine(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """F statistic over correlation, by the package feature-engine, which tells sets, so one fit for each size."""
    import pandas as pd
    from feature_engine.selection import MRMR

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    order: list[int] = []
    for size in range(1, min(n_features, X.shape[1] - 1) + 1):
        kept = MRMR(method="FCQ", max_features=size, regression=kind == "numbers").fit(frame, pd.Series(y))
        order += [j for j, name in enumerate(frame) if name not in kept.features_to_drop_ and j not in order]
    return order


@only("classes")
def boruta(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """By the ranks of the package Boruta, then by importance."""
    from boruta import BorutaPy

    model = RandomForestClassifier(max_depth=5, random_state=0, n_jobs=1)
    found = BorutaPy(model, n_estimators=100, max_iter=30, random_state=0).fit(X, y)
    importance = RandomForestClassifier(300, random_state=0, n_jobs=1).fit(X, y).feature_importances_
    return np.lexsort((-importance, found.ranking_))[:n_features]


@only("classes", "numbers", most_columns=14)
def sequential(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """Forward selection by nearest neighbours, which tells sets, so one fit for each size."""
    X = StandardScaler().fit_transform(X)
    model = KNeighborsClassifier(5) if kind == "classes" else KNeighborsRegressor(5)
    order: list[int] = []
    for size in range(1, X.shape[1]):
        chosen = SequentialFeatureSelector(model, n_features_to_select=size, cv=3).fit(X, y).get_support(indices=True)
        order += [int(j) for j in chosen if j not in order]
    return order


def _seeded(score: Callable[..., Any]) -> Callable[..., Any]:
    return lambda X, y: score(X, y, random_state=0)


PAPERS = {"criterion": "jmi", "estimator": "knn", "unique_relevance": "ksg", "beta": 0.1}
FIRST = {"criterion": "jmi", "estimator": "knn", "unique_relevance": "reference", "beta": 0.1}
OURS: dict[str, Order] = {
    "unirel (default)": ours(),
    "unirel, beta by cross-validation": ours_by_validation,
    "unirel without boost": ours(beta=0.0),
    "unirel, reference UR at 0.3": ours(unique_relevance="reference", beta=0.3),
    "jmi by neighbours": ours(criterion="jmi", estimator="knn", beta=0.0),
    "first default (jmi by neighbours, reference UR at 0.1)": ours(**FIRST),
    "the paper's (UR given all others, 0.1)": ours(**PAPERS),
}
PEERS: dict[str, Order] = {
    "scikit-learn: MI ranking": ranked(_seeded(mutual_info_classif), _seeded(mutual_info_regression)),
    "scikit-learn: F ranking": ranked(lambda X, y: f_classif(X, y)[0], lambda X, y: f_regression(X, y)[0]),
    "scikit-learn: lasso path": lasso,
    "scikit-learn: forest importance": forest,
    "scikit-learn: forward selection": sequential,
}
PEERS |= {"mrmr-selection": mrmr_selection} if find_spec("mrmr") else {}
PEERS |= {"feature-engine: MRMR": feature_engine} if find_spec("feature_engine") else {}
PEERS |= {"Boruta": boruta} if find_spec("boruta") else {}
