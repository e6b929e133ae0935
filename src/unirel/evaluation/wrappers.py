"""Wrappers: orders of features that a classifier itself makes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import RFE
from sklearn.model_selection import StratifiedKFold

from unirel.classifiers.registry import Classifier, Labels, Neighbors, Values, standardise
from unirel.measures import relevance
from unirel.options import check_choice, check_whole_number

# Correct predictions with some columns.
Count = Callable[[Sequence[int]], int]


@dataclass(frozen=True)
class Wrapper:
    """A selector that asks the classifier which is being evaluated.

    Attributes
    ----------
    method : {"rfe", "ffs", "bfe"}
        Recursive feature elimination, by the importances or weights of the classifier (not for nearest neighbours,
        which have none); forward selection and backward elimination, by its accuracy in cross-validation.
    n_candidates : int or None
        Forward selection and backward elimination look at that many features only, those with the highest relevance;
        None for all.
    cv : int
        Folds of the cross-validation.
    step : float
        Recursive elimination drops this share of all features at a time until as many are left as may be selected,
        from there on one by one; 0 for one by one from the start.

    Notes
    -----
    All of them see the training rows only. How many features of the order are used is chosen by validation accuracy, as
    for every selector. Short cuts: `n_candidates`, `step`, and within the search one setting instead of a grid: five
    neighbours, C = 1, forests of 100 trees for "rfe" and of 10 for the others. Equal accuracies go to the feature with
    the higher relevance. Recursive elimination is scikit-learn's; its sequential selector does not tell the order, so
    the others are our own.

    Examples
    --------
    >>> from unirel.evaluation import Wrapper
    >>> forward = Wrapper("ffs", n_candidates=30)
    """

    depends_on_classifier: ClassVar[bool] = True

    method: Literal["rfe", "ffs", "bfe"]
    n_candidates: int | None = 60
    cv: int = 3
    step: float = 0.1

    def __post_init__(self) -> None:
        check_choice("method", self.method, ("rfe", "ffs", "bfe"))
        check_whole_number("cv", self.cv, 2)
        if self.n_candidates is not None:
            check_whole_number("n_candidates", self.n_candidates, 1)
        if not 0 <= self.step < 1:
            raise ValueError(f"step={self.step!r} must be a share from 0 to below 1")

    def suits(self, classifier: Classifier) -> bool:
        """Whether it works with a classifier."""
        return not (self.method == "rfe" and isinstance(classifier, Neighbors))

    def order(self, X: Values, y: Labels, max_features: int, classifier: Classifier, random_state: int) -> list[int]:
        """Features in order of preference, found on the rows given."""
        if classifier.scaled:
            X = standardise(X, np.arange(len(X)))
        if self.method == "rfe":
            return _eliminate_recursively(X, y, max_features, classifier.estimator(random_state), self.step)
        candidates = np.argsort(-relevance(X, y, target_kind="discrete"), kind="stable")[: self.n_candidates]
        n_folds = min(self.cv, int(np.bincount(y)[np.unique(y)].min()))
        folds = list(StratifiedKFold(max(2, n_folds), shuffle=True, random_state=random_state).split(X, y))

        def count(columns: Sequence[int]) -> int:
            """Correct predictions of the classifier, out of fold."""
            inputs, correct = X[:, columns], 0
            for train, test in folds:
                labels = classifier.predict_quickly(inputs[train], y[train], inputs[test], random_state)
                correct += int((labels == y[test]).sum())
            return correct

        search = _select_forward if self.method == "ffs" else _eliminate_backward
        return search(count, candidates.tolist(), max_features)


def _select_forward(n_correct: Count, candidates: list[int], max_features: int) -> list[int]:
    order: list[int] = []
    left = list(candidates)
    while left and len(order) < max_features:
        # The last one needs no comparison.
        best = int(np.argmax([n_correct([*order, candidate]) for candidate in left])) if len(left) > 1 else 0
        order.append(left.pop(best))
    return order


def _eliminate_backward(n_correct: Count, candidates: list[int], max_features: int) -> list[int]:
    left, dropped = list(candidates), []
    while len(left) > 1:
        # Candidates come by relevance, so looking from the end drops the least relevant of equals.
        without = [n_correct(left[:position] + left[position + 1 :]) for position in range(len(left))]
        dropped.append(left.pop(len(left) - 1 - int(np.argmax(without[::-1]))))
    return [*left, *dropped[::-1]][:max_features]


def _eliminate_recursively(X: Values, y: Labels, max_features: int, estimator: Any, step: float) -> list[int]:
    left = np.arange(X.shape[1])
    if step > 0 and len(left) > max_features:
        coarse = RFE(clone(estimator), n_features_to_select=max_features, step=step).fit(X, y)
        left = np.flatnonzero(coarse.support_)
    fine = RFE(clone(estimator), n_features_to_select=1, step=1).fit(X[:, left], y)
    order: list[int] = left[np.argsort(fine.ranking_, kind="stable")][:max_features].tolist()
    return order
