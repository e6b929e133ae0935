"""The classifiers that the package knows by name, what each is tuned over, and the regressors of their kind.

A grid of settings costs one fit where that is exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVR

from unirel.classifiers.forest import Trees, suits_trees
from unirel.classifiers.linear_machine import LinearMachine, chosen_class, scores_of, weights_along
from unirel.options import CLASSIFIER_NAMES, check_choice

Values = NDArray[np.float64]
Labels = NDArray[np.int64]

# Squared distances closer than this share of the mean squared norm may be a tie that rounding has broken.
_TIE = 1e-10
# Distances held at a time.
_BLOCK = 2**22


class Classifier(ABC):
    """A classifier and the settings it is tuned over; its `repr` says all that decides what it predicts.

    Attributes
    ----------
    scaled : bool
        Whether it wants standardised columns.
    """

    scaled: bool = False

    @abstractmethod
    def settings(self, n_train: int) -> Sequence[Any]:
        """Settings to try with that many training rows, smallest first."""

    @abstractmethod
    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions for each of `inputs`, of shape (n_settings, n_rows), from a fit to `X` and `y`."""

    @abstractmethod
    def estimator(self, random_state: int, light: bool = False) -> Any:
        """An unfitted scikit-learn estimator with a usual setting, for wrappers; `light` is the quicker one."""

    def predict_quickly(self, X: Values, y: Labels, rows: Values, random_state: int) -> Labels:
        """Predictions for `rows` of the quick estimator, for searches that need very many."""
        labels: Labels = self.estimator(random_state, light=True).fit(X, y).predict(rows)
        return labels


@dataclass(frozen=True)
class Forest(Classifier):
    """Random forest of 10, 15, ..., 100 trees.

    A forest of fewer trees consists of the first trees of a larger one with the same seed, so one fit serves all sizes.
    The trees are scikit-learn's, whoever grows them.
    """

    sizes: tuple[int, ...] = tuple(range(10, 101, 5))

    def settings(self, n_train: int) -> Sequence[int]:
        """Numbers of trees."""
        return self.sizes

    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions of the first 10, 15, ... trees."""
        predictions = _predict_by_trees(X, y, np.concatenate(inputs), self.sizes, random_state)
        return np.split(predictions, np.cumsum([len(rows) for rows in inputs])[:-1], axis=1)

    def predict_quickly(self, X: Values, y: Labels, rows: Values, random_state: int) -> Labels:
        """Predictions of 10 trees."""
        labels: Labels = _predict_by_trees(X, y, rows, [10], random_state)[0]
        return labels

    def estimator(self, random_state: int, light: bool = False) -> Any:
        """A forest of 100 trees, or of 10."""
        return RandomForestClassifier(10 if light else 100, random_state=random_state, n_jobs=1)


def _predict_by_trees(X: Values, y: Labels, rows: Values, sizes: Sequence[int], random_state: int) -> Labels:
    """Predictions of forests of some sizes, the last the largest."""
    classes, codes = np.unique(y, return_inverse=True)
    if suits_trees(X, len(classes)) and suits_trees(rows, len(classes)):
        sums = Trees(X, codes, sizes[-1], random_state).shares(rows)
    else:  # a missing value has its own ways in scikit-learn
        sums = _shares_of(RandomForestClassifier(sizes[-1], random_state=random_state, n_jobs=1).fit(X, codes), rows)
    # Divided as a forest does, since a division may round two sums to a tie.
    chosen = [np.argmax(total / size, axis=1) for size, total in enumerate(sums, start=1) if size in sizes]
    labels: Labels = classes[np.array(chosen)]
    return labels


def _shares_of(forest: RandomForestClassifier, rows: Values) -> Iterator[Values]:
    """The same sums as `Trees.shares` gives, of a fitted forest."""
    single = np.ascontiguousarray(rows, dtype=np.float32)
    return accumulate(tree.predict_proba(single, check_input=False) for tree in forest.estimators_)


@dataclass(frozen=True)
class Neighbors(Classifier):
    """Nearest neighbours, 3, 5, ..., 49 of them but no more than there are training rows.

    One search serves all numbers of neighbours. Where the last neighbour ties with the next one and that may matter,
    scikit-learn's choice depends on the number, so it is asked for each number separately.
    """

    numbers: tuple[int, ...] = tuple(range(3, 50, 2))
    scaled: bool = True

    def settings(self, n_train: int) -> Sequence[int]:
        """Numbers of neighbours."""
        return [number for number in self.numbers if number <= n_train] or [n_train]

    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions of the 3, 5, ... nearest rows."""
        numbers = self.settings(len(y))
        tolerance = _TIE * float(np.square(X).sum(axis=1).mean())
        results = []
        for rows in inputs:
            squares, found = _nearest(rows, X, min(len(y), numbers[-1] + 1))
            labels = y[found]
            votes = np.cumsum(labels[:, :, None] == np.arange(y.max() + 1), axis=1)
            results.append(np.array([np.argmax(votes[:, number - 1], axis=1) for number in numbers]))
            for position, number in enumerate(numbers):
                if _tie_may_matter(squares, labels, number, len(y), tolerance):
                    results[-1][position] = KNeighborsClassifier(number).fit(X, y).predict(rows)
        return results

    def estimator(self, random_state: int, light: bool = False) -> Any:
        """Five neighbours."""
        return KNeighborsClassifier(5)

    def predict_quickly(self, X: Values, y: Labels, rows: Values, random_state: int) -> Labels:
        """Predictions of the five nearest rows, without what a call of scikit-learn costs; ties are broken anyhow."""
        _, found = _nearest(rows, X, min(5, len(y)))
        votes = (y[found][:, :, None] == np.arange(y.max() + 1)).sum(axis=1)
        labels: Labels = np.argmax(votes, axis=1)
        return labels


def _nearest(rows: Values, X: Values, n_nearest: int) -> tuple[Values, NDArray[np.intp]]:
    """Squared distances from `rows` to their nearest rows of `X`, and which these are, nearest first."""
    squares, found = np.empty((len(rows), n_nearest)), np.empty((len(rows), n_nearest), np.intp)
    size = max(1, _BLOCK // len(X))
    for start in range(0, len(rows), size):
        block = slice(start, start + size)
        distances = cdist(rows[block], X, "sqeuclidean")
        nearest = np.argpartition(distances, n_nearest - 1, axis=1)[:, :n_nearest]
        unsorted = np.take_along_axis(distances, nearest, axis=1)
        order = np.argsort(unsorted, axis=1, kind="stable")
        squares[block] = np.take_along_axis(unsorted, order, axis=1)
        found[block] = np.take_along_axis(nearest, order, axis=1)
    return squares, found


def _tie_may_matter(squares: Values, labels: Labels, number: int, n_train: int, tolerance: float) -> bool:
    """Whether in some row neighbours of different classes, or too many to see, tie for the last place."""
    if number >= n_train:
        return False
    last = squares[:, number - 1]
    tied = squares[:, number] - last <= tolerance
    if not tied.any():
        return False
    group = np.abs(squares[tied] - last[tied, None]) <= tolerance
    own = labels[tied, number - 1, None]
    mixed = (group & (labels[tied] != own)).any()
    beyond = group[:, -1].any() and squares.shape[1] < n_train
    return bool(mixed or beyond)


_COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Machine(Classifier):
    """Linear support vector machine with C = 0.001, 0.01, 0.1, 1, 10, each cost found from the one before."""

    costs: tuple[float, ...] = _COSTS
    scaled: bool = True

    def settings(self, n_train: int) -> Sequence[float]:
        """The costs."""
        return self.costs

    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions with each cost."""
        classes, codes = np.unique(y, return_inverse=True)
        weights = weights_along(X, codes, self.costs)
        return [np.array([classes[chosen_class(scores_of(one, rows))] for one in weights]) for rows in inputs]

    def estimator(self, random_state: int, light: bool = False) -> Any:
        """The machine with C = 1."""
        return LinearMachine()


@dataclass(frozen=True)
class Tuned(Classifier):
    """Any scikit-learn classifier, fitted once for each value of one of its parameters.

    Attributes
    ----------
    base : estimator
        The classifier. A `random_state` of None is replaced by a seed of the run.
    parameter : str, optional
        What to tune; None tunes nothing.
    values : tuple
        What to try, smallest first.
    scaled : bool
        Whether to standardise the columns; the scale is learnt on the training rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from unirel.evaluation import Tuned
    >>> logistic = Tuned(LogisticRegression(), "C", (0.1, 1.0, 10.0), scaled=True)
    """

    base: Any
    parameter: str | None = None
    values: tuple[Any, ...] = ()
    scaled: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.base, type) or not hasattr(self.base, "get_params") or not is_classifier(self.base):
            raise ValueError(f"base={self.base!r} is no instance of a scikit-learn classifier")
        if self.parameter is not None and (self.parameter not in self.base.get_params() or not self.values):
            raise ValueError(f"parameter={self.parameter!r} must be one of {type(self.base).__name__}, with values")

    def settings(self, n_train: int) -> Sequence[Any]:
        """The values."""
        return self.values if self.parameter is not None else [None]

    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions of one fit for each value."""
        fitted = []
        for value in self.settings(len(y)):
            estimator = self.estimator(random_state)
            if self.parameter is not None:
                estimator.set_params(**{self.parameter: value})
            fitted.append(estimator.fit(X, y))
        return [np.array([estimator.predict(rows) for estimator in fitted]) for rows in inputs]

    def estimator(self, random_state: int, light: bool = False) -> Any:
        """The classifier as given."""
        estimator = clone(self.base)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=random_state)
        return estimator


class Named(NamedTuple):
    """What a name means: a classifier with a usual setting and a grid, the regressor of its kind, words for people."""

    classifier: Classifier
    regressor: Any
    words: str
    regressor_words: str = ""  # where they differ


CLASSIFIERS = {
    "logistic": Named(
        Tuned(LogisticRegression(max_iter=1000), "C", _COSTS, scaled=True),
        Ridge(),
        "logistic regression",
        "ridge regression, in place of logistic regression",
    ),
    "rf": Named(Forest(), RandomForestRegressor(100, random_state=0, n_jobs=1), "a random forest (100 trees)"),
    "knn": Named(Neighbors(), KNeighborsRegressor(5), "nearest neighbours (5)"),
    "svm": Named(
        Machine(),
        # The primal solver converges where the dual one warns, and draws no random numbers.
        LinearSVR(dual=False, loss="squared_epsilon_insensitive", epsilon=0.1),
        "a linear support vector machine",
    ),
}


def words_of(name: str, discrete: bool) -> str:
    """What a name means for a target of this kind, for people."""
    named = CLASSIFIERS[name]
    return named.words if discrete else named.regressor_words or named.words


def make_estimator(classifier: Any, discrete: bool) -> Any:
    """An unfitted estimator, the user's or the one that a name means, that suits the target."""
    if isinstance(classifier, str):
        check_choice("classifier", classifier, CLASSIFIER_NAMES)
        named = CLASSIFIERS[classifier]
        return named.classifier.estimator(random_state=0) if discrete else clone(named.regressor)
    if isinstance(classifier, type) or not (hasattr(classifier, "fit") and hasattr(classifier, "get_params")):
        names = ", ".join(map(repr, CLASSIFIER_NAMES))
        about = f"classifier={repr(classifier).splitlines()[0]} is no object with fit and get_params"
        raise ValueError(f"{about}; pass an instance of a scikit-learn classifier, or one of {names}")
    if not (is_classifier if discrete else is_regressor)(classifier):
        wanted = "classifier" if discrete else "regressor"
        given, other = ("discrete", "continuous") if discrete else ("continuous", "discrete")
        about = f"classifier={type(classifier).__name__} is no {wanted}, but the target is {given}"
        raise ValueError(f"{about}; pass a {wanted}, or target_kind={other!r}")
    return clone(classifier)


def make_tuned(classifier: Any) -> Classifier:
    """A classifier to tune: the one that a name means, a `Tuned`, or any of scikit-learn's with one setting."""
    if isinstance(classifier, Classifier):
        return classifier
    if isinstance(classifier, str):
        check_choice("classifiers", classifier, CLASSIFIER_NAMES)
        return CLASSIFIERS[classifier].classifier
    return Tuned(classifier)


def standardise(X: Values, train: NDArray[np.intp]) -> Values:
    """All rows in units of the training rows; a column that is constant there is only centred.

    The mean of the training rows stands for what is missing.
    """
    known = X[train]
    present = np.maximum((~np.isnan(known)).sum(axis=0), 1)
    means = np.nansum(known, axis=0) / present
    deviations = np.sqrt(np.nansum(np.square(known - means), axis=0) / present)
    scaled: Values = (X - means) / np.where(deviations > 0, deviations, 1.0)
    return np.where(np.isnan(scaled), 0.0, scaled)
