"""The selectors of the quality benchmark: from a frame, target, number of features and kind of target to an order.

Ours take the frame as it is, with its categories and gaps. Others need numbers, so gaps are filled and categories coded
for them; lasso has a column for each level, and LightGBM treats both by itself.
"""

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
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

Order = Callable[[Any, np.ndarray, int, str], Any]
# What takes minutes with more columns than these.
MANY_COLUMNS = 3_000


def only(*kinds: str, most_columns: int = 10**6) -> Callable[[Order], Order]:
    """Say for which targets, and up to how many columns, a selector is tried."""

    def mark(order: Order) -> Order:
        order.kinds, order.most_columns = kinds, most_columns  # type: ignore[attr-defined]
        return order

    return mark


def is_category(column: pd.Series) -> bool:
    """Texts and categories, whatever their number of levels; all else is a number."""
    return not pd.api.types.is_numeric_dtype(column.dtype)


def texts_of(column: pd.Series) -> pd.Series:
    """Levels as texts, of which a gap is one."""
    return column.astype("string").fillna("(missing)")


def one_hot(column: pd.Series, train: np.ndarray, most_levels: int) -> np.ndarray:
    """A column for each of the levels that are most frequent in some rows; zeros for the rest."""
    texts = texts_of(column)
    levels = texts.iloc[train].value_counts().index[:most_levels]
    return (texts.to_numpy(object)[:, None] == levels.to_numpy(object)).astype(float)


def imputed(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Gaps filled with the median of some rows, or with 0 where these have none."""
    gaps = np.isnan(X)
    if not gaps.any():
        return X
    return np.where(gaps, np.nan_to_num(np.nanmedian(X[train], axis=0)), X)


def to_numbers(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers without gaps, categories as the positions of their sorted levels; and which columns are categories."""
    frame = pd.DataFrame(X)
    categories = np.array([is_category(column) for _, column in frame.items()])
    numbers = np.empty(frame.shape)
    known = frame.loc[:, ~categories].to_numpy(float, na_value=np.nan)
    numbers[:, ~categories] = imputed(known, np.arange(len(frame)))
    for j in np.flatnonzero(categories):
        numbers[:, j] = pd.factorize(texts_of(frame.iloc[:, j]), sort=True)[0]
    return numbers, categories


def to_levels(X: Any, most_levels: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Numbers without gaps and a column for each frequent level; and from which column each comes."""
    frame, (numbers, categories) = pd.DataFrame(X), to_numbers(X)
    rows = np.arange(len(frame))
    blocks = {j: one_hot(frame.iloc[:, j], rows, most_levels) for j in np.flatnonzero(categories)}
    origins = [np.full(block.shape[1], j) for j, block in blocks.items()]
    parts = [numbers[:, ~categories], *blocks.values()]
    return np.hstack(parts), np.concatenate([np.flatnonzero(~categories), *origins])


def on_numbers(order: Order) -> Order:
    """Give a selector numbers instead of the frame."""

    @wraps(order)
    def encoded(X: Any, y: np.ndarray, n_features: int, kind: str) -> Any:
        return order(to_numbers(X)[0], y, n_features, kind)

    return encoded


def _target_type(kind: str) -> str:
    return "discrete" if kind == "classes" else "continuous"


def ours(**parameters: Any) -> Order:
    """A selector of unirel."""

    def order(X: Any, y: np.ndarray, n_features: int, kind: str) -> Any:
        selector = BURSelector(n_features_to_select=n_features, target_type=_target_type(kind), **parameters)
        return selector.fit(X, y).order_

    return order


@only("classes", "numbers", most_columns=MANY_COLUMNS)
@on_numbers
def ours_by_validation(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """The default with its weight chosen by cross-validation of nearest neighbours."""
    model = KNeighborsClassifier(5) if kind == "classes" else KNeighborsRegressor(5)
    inner = BURSelector(target_type=_target_type(kind))
    found = BURSelectorCV(model, inner, max_features=min(20, n_features), cv=3, one_standard_error=len(y) < 100)
    beta = found.fit(StandardScaler().fit_transform(X), y).best_beta_
    return ours(beta=beta)(X, y, n_features, kind)


def ranked(classes: Callable[..., Any], numbers: Callable[..., Any]) -> Order:
    """Features by a score of each."""

    @on_numbers
    def order(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
        scores = np.nan_to_num((classes if kind == "classes" else numbers)(X, y), nan=-np.inf)
        return np.argsort(-scores, kind="stable")[:n_features]

    return order


def by_information(X: Any, y: np.ndarray, n_features: int, kind: str) -> Any:
    """Features by their mutual information with the target, by neighbours; categories are counted."""
    numbers, categories = to_numbers(X)
    score = mutual_info_classif if kind == "classes" else mutual_info_regression
    found = score(numbers, y, discrete_features=categories, random_state=0)
    return np.argsort(-found, kind="stable")[:n_features]


@on_numbers
def forest(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """Importance in a forest, as `SelectFromModel` has it."""
    model = RandomForestClassifier if kind == "classes" else RandomForestRegressor
    importance = model(300, random_state=0, n_jobs=1).fit(X, y).feature_importances_
    return np.argsort(-importance, kind="stable")[:n_features]


def lightgbm_gain(X: Any, y: np.ndarray, n_features: int, kind: str) -> Any:
    """What the splits of boosted trees gain; categories and gaps as they are."""
    import lightgbm

    frame = pd.DataFrame(X)
    # Its names must have no special characters.
    frame = frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)
    frame = frame.astype({name: "category" for name, column in frame.items() if is_category(column)})
    model = lightgbm.LGBMClassifier if kind == "classes" else lightgbm.LGBMRegressor
    options = {"random_state": 0, "n_jobs": 1, "verbose": -1, "deterministic": True}
    # With its 20 rows for each leaf it would not split a table of 40 rows at all.
    options["min_child_samples"] = min(20, max(2, len(y) // 20))
    fitted = model(n_estimators=200, importance_type="gain", **options).fit(frame, y)
    return np.argsort(-fitted.feature_importances_, kind="stable")[:n_features]


def lasso(X: Any, y: np.ndarray, n_features: int, kind: str) -> Any:
    """In the order in which features enter as an l1 penalty is relaxed, a category with the first of its levels."""
    levels, origins = to_levels(X)
    levels = StandardScaler().fit_transform(levels)
    if kind == "classes":
        return _logistic_path(levels, y, origins, n_features)
    # Several levels of a category may enter, and each takes a step.
    n_steps = 4 * n_features * len(origins) // len(np.unique(origins))
    weights = lars_path(levels, y - y.mean(), method="lasso", max_iter=n_steps)[2]
    # Some leave again: what counts is when they came.
    entered = np.where((weights != 0).any(axis=1), (weights != 0).argmax(axis=1), weights.shape[1])
    order = np.argsort(entered, kind="stable")
    order = order[entered[order] < weights.shape[1]]
    return list(dict.fromkeys(origins[order].tolist()))[:n_features]


def _logistic_path(X: np.ndarray, y: np.ndarray, origins: np.ndarray, n_features: int) -> Any:
    """By the step in which the first of a feature's columns enters for any class, then by its weight there."""
    n_columns = origins.max() + 1
    entered, weight = np.full(n_columns, np.inf), np.zeros(n_columns)
    for step, strength in enumerate(l1_min_c(X, y, loss="log") * np.logspace(0.02, 2.5, 14)):
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=strength, max_iter=60, tol=1e-3)
        fitted = OneVsRestClassifier(model).fit(X, y)
        size = np.zeros(n_columns)
        np.maximum.at(size, origins, np.max([np.abs(one.coef_[0]) for one in fitted.estimators_], axis=0))
        new = (size > 0) & np.isinf(entered)
        entered[new], weight[new] = step, size[new]
        if np.count_nonzero(size) >= n_features:
            break
    return np.lexsort((-weight, entered))[:n_features]


@on_numbers
def mrmr_selection(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """F statistic over correlation, by the package mrmr-selection."""
    import mrmr

    frame = pd.DataFrame(X, columns=range(X.shape[1]))
    select = mrmr.mrmr_classif if kind == "classes" else mrmr.mrmr_regression
    return select(frame, pd.Series(y), K=n_features, show_progress=False, n_jobs=1)


@only("classes", "numbers", most_columns=130)
@on_numbers
def feature_engine(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """F statistic over correlation, by the package feature-engine, which tells sets, so one fit for each size."""
    from feature_engine.selection import MRMR

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    order: list[int] = []
    for size in range(1, min(n_features, X.shape[1] - 1) + 1):
        kept = MRMR(method="FCQ", max_features=size, regression=kind == "numbers").fit(frame, pd.Series(y))
        order += [j for j, name in enumerate(frame) if name not in kept.features_to_drop_ and j not in order]
    return order


@only("classes")
@on_numbers
def boruta(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """By the ranks of the package Boruta, then by importance."""
    from boruta import BorutaPy

    model = RandomForestClassifier(max_depth=5, random_state=0, n_jobs=1)
    found = BorutaPy(model, n_estimators=100, max_iter=30, random_state=0).fit(X, y)
    importance = RandomForestClassifier(300, random_state=0, n_jobs=1).fit(X, y).feature_importances_
    return np.lexsort((-importance, found.ranking_))[:n_features]


@only("classes", "numbers", most_columns=14)
@on_numbers
def sequential(X: np.ndarray, y: np.ndarray, n_features: int, kind: str) -> Any:
    """Forward selection by nearest neighbours, which tells sets, so one fit for each size."""
    X = StandardScaler().fit_transform(X)
    model = KNeighborsClassifier(5) if kind == "classes" else KNeighborsRegressor(5)
    order: list[int] = []
    for size in range(1, X.shape[1]):
        chosen = SequentialFeatureSelector(model, n_features_to_select=size, cv=3).fit(X, y).get_support(indices=True)
        order += [int(j) for j in chosen if j not in order]
    return order


by_neighbours = only("classes", "numbers", most_columns=MANY_COLUMNS)
PAPERS = {"criterion": "jmi", "estimator": "knn", "unique_relevance": "ksg", "beta": 0.1}
FIRST = {"criterion": "jmi", "estimator": "knn", "unique_relevance": "reference", "beta": 0.1}
OURS: dict[str, Order] = {
    "unirel (default)": ours(),
    "unirel, beta by cross-validation": ours_by_validation,
    "unirel without boost": ours(beta=0.0),
    "unirel, reference UR at 0.3": ours(unique_relevance="reference", beta=0.3),
    "jmi by neighbours": by_neighbours(ours(criterion="jmi", mi_estimator="knn", beta=0.0)),
    "first default (jmi by neighbours, reference UR at 0.1)": by_neighbours(ours(**FIRST)),
    "the paper's (UR given all others, 0.1)": by_neighbours(ours(**PAPERS)),
}
PEERS: dict[str, Order] = {
    "scikit-learn: MI ranking": by_information,
    "scikit-learn: F ranking": ranked(lambda X, y: f_classif(X, y)[0], lambda X, y: f_regression(X, y)[0]),
    "scikit-learn: lasso path": lasso,
    "scikit-learn: forest importance": forest,
    "scikit-learn: forward selection": sequential,
}
PEERS |= {"LightGBM: gain": lightgbm_gain} if find_spec("lightgbm") else {}
PEERS |= {"mrmr-selection": mrmr_selection} if find_spec("mrmr") else {}
PEERS |= {"feature-engine: MRMR": feature_engine} if find_spec("feature_engine") else {}
PEERS |= {"Boruta": boruta} if find_spec("boruta") else {}
