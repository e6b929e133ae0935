"""What is compared: criteria with and without a boost, and wrappers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from paper.protocol import Labels, Values
from unirel import KNN, Binned, Boost, BURSelector, ClassifierLoss, relevance, unique_relevance
from unirel.data.table import Table
from unirel.predictors import eliminate, standardise

Orders = list[tuple[float | None, list[int]]]
# All columns have three levels: counting joint states of many of them says nothing, distances still do.
DISCRETE = ("colon", "leukemia")


def metric_of(dataset: str) -> Literal["auto", "euclidean"]:
    """The metric that suits the columns."""
    return "euclidean" if dataset in DISCRETE else "auto"


@dataclass(frozen=True)
class Criterion:
    """A criterion with the estimates of the paper.

    Attributes
    ----------
    name : str
        The criterion.
    unique : {"none", "ksg", "reference", "classifier"}
        What is boosted: UR given all other features, reference UR, or that of the classifier that is evaluated.
    betas : tuple of float
        Its weights, from which validation accuracy chooses.
    metric : str
        Of distances.
    max_candidates : int, optional
        How many of the most relevant features are searched; all if None.
    """

    name: str
    unique: str = "none"
    betas: tuple[float, ...] = (0.1,)
    metric: Literal["auto", "euclidean"] = "auto"
    max_candidates: int | None = None

    def suits(self, classifier: str) -> bool:
        return True

    def orders(
        self, X: Values, y: Labels, max_features: int, classifier: str, seed: int, known: dict[Any, Any]
    ) -> Orders:
        key = (self, classifier if self.unique == "classifier" else None)
        if key not in known:
            unique = self._unique(X, y, classifier, seed, known)
            betas = (0.0,) if self.unique == "none" else self.betas
            known[key] = [(beta, self.fit(X, y, max_features, beta, unique).order_.tolist()) for beta in betas]
        found: Orders = known[key]
        return found

    def fit(self, X: Values, y: Labels, max_features: int, beta: float, unique: Any) -> BURSelector:
        """The selector of the paper, fitted; labels are texts, so that nobody takes them for numbers."""
        neighbors = KNN(metric=self.metric, correction=None)
        given = {"mi_estimator": neighbors, "unique_relevance": unique, "max_candidates": self.max_candidates}
        return BURSelector.paper(self.name, n_features_to_select=max_features, beta=beta, **given).fit(X, y.astype(str))

    def _unique(self, X: Values, y: Labels, classifier: str, seed: int, known: dict[Any, Any]) -> Any:
        """What is boosted; values that do not depend on the criterion are found once in a run."""
        if self.unique == "none":
            return "ksg"
        if self.unique == "reference":
            return Boost("reference", max_samples=None)
        key = ("unique", self.unique, classifier if self.unique == "classifier" else None)
        if key not in known:
            method: Any = KNN(metric=self.metric, correction=None)
            if self.unique == "classifier":
                method = ClassifierLoss(make_estimator(classifier, seed))
            known[key] = self._values(X, y, method)
        return known[key]

    def _values(self, X: Values, y: Labels, method: Any) -> Values:
        labels = y.astype(str)
        if self.max_candidates is None or isinstance(method, KNN):
            return np.asarray(unique_relevance(X, labels, method=method))
        # A classifier is trained without each of the features that are searched only.
        neighbors = KNN(metric=self.metric, correction=None)
        order = np.argsort(-np.asarray(relevance(X, labels, mi_estimator=neighbors)), kind="stable")
        losses = method.losses(Table.from_data(X, labels), np.sort(order[: self.max_candidates]))
        low, high = np.nanmin(losses), np.nanmax(losses)
        return np.nan_to_num((losses - low) / (high - low) if high > low else losses - low)


@dataclass(frozen=True)
class Default:
    """The default of the library before chance was taken off counts; the paper has no numbers for it."""

    def suits(self, classifier: str) -> bool:
        return True

    def orders(
        self, X: Values, y: Labels, max_features: int, classifier: str, seed: int, known: dict[Any, Any]
    ) -> Orders:
        if self not in known:
            binned = Binned(correction=None)
            selector = BURSelector("jmim", max_features, beta=0.5, mi_estimator=binned, keep_copies=True)
            known[self] = [(0.5, selector.fit(X, y.astype(str)).order_.tolist())]
        found: Orders = known[self]
        return found


@dataclass(frozen=True)
class Wrapper:
    """A selector that asks the classifier which is being evaluated.

    Attributes
    ----------
    method : {"rfe", "ffs", "bfe"}
        Recursive feature elimination, by importances or weights (nearest neighbours have none); forward selection and
        backward elimination, by accuracy in cross-validation.
    n_candidates : int
        Forward selection and backward elimination search that many features, those with the highest relevance.
    cv : int
        Folds of the cross-validation.

    Notes
    -----
    Short cuts: recursive elimination drops a tenth of all features at a time until as many are left as may be selected,
    from there on one by one; the search has one setting instead of a grid: five neighbours, C = 1, forests of 100 trees
    for "rfe" and of 10 for the others. Equal accuracies go to the feature with the higher relevance.
    """

    method: Literal["rfe", "ffs", "bfe"]
    n_candidates: int = 60
    cv: int = 3

    def suits(self, classifier: str) -> bool:
        return not (self.method == "rfe" and classifier == "knn")

    def orders(
        self, X: Values, y: Labels, max_features: int, classifier: str, seed: int, known: dict[Any, Any]
    ) -> Orders:
        return [(None, self.order(X, y, max_features, classifier, seed))]

    def order(self, X: Values, y: Labels, max_features: int, classifier: str, seed: int) -> list[int]:
        if classifier != "rf":
            X = standardise(X, np.arange(len(X)))
        if self.method == "rfe":
            order: list[int] = eliminate(make_estimator(classifier, seed), X, y, max_features).tolist()
            return order
        found = np.asarray(relevance(X, y.astype(str), mi_estimator="knn"))
        candidates = np.argsort(-found, kind="stable")[: self.n_candidates].tolist()
        n_folds = max(2, min(self.cv, int(np.bincount(y)[np.unique(y)].min())))
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))

        def count(columns: Sequence[int]) -> int:
            """Correct predictions of held-out rows."""
            inputs, correct = X[:, columns], 0
            for train, test in folds:
                model = make_estimator(classifier, seed, n_trees=10).fit(inputs[train], y[train])
                correct += int((model.predict(inputs[test]) == y[test]).sum())
            return correct

        search = _select_forward if self.method == "ffs" else _eliminate_backward
        return search(count, candidates, max_features)


def make_estimator(classifier: str, seed: int, n_trees: int = 100) -> Any:
    """A classifier with one setting, for searches."""
    if classifier == "rf":
        return RandomForestClassifier(n_trees, random_state=seed, n_jobs=1)
    return KNeighborsClassifier(5) if classifier == "knn" else LinearSVC(dual=False)


def _select_forward(count: Callable[[Sequence[int]], int], candidates: list[int], max_features: int) -> list[int]:
    order: list[int] = []
    left = list(candidates)
    while left and len(order) < max_features:
        # The last one needs no comparison.
        best = int(np.argmax([count([*order, candidate]) for candidate in left])) if len(left) > 1 else 0
        order.append(left.pop(best))
    return order


def _eliminate_backward(count: Callable[[Sequence[int]], int], candidates: list[int], max_features: int) -> list[int]:
    left, dropped = list(candidates), []
    while len(left) > 1:
        # Candidates come by relevance, so looking from the end drops the least relevant of equals.
        without = [count(left[:position] + left[position + 1 :]) for position in range(len(left))]
        dropped.append(left.pop(len(left) - 1 - int(np.argmax(without[::-1]))))
    return [*left, *dropped[::-1]][:max_features]
