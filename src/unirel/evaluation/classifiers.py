"""Classifiers with a grid of settings, the whole grid for the price of one fit where that is exact."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from unirel.options import check_choice

Values = NDArray[np.float64]
Labels = NDArray[np.int64]

# Squared distances closer than this share of the mean squared norm may be a tie that rounding has broken.
_TIE = 1e-10
# Distances held at a time.
_BLOCK = 2**22


class Classifier(ABC):
    """A classifier and the settings it is tuned over.

    Attributes
    ----------
    scaled : bool
        Whether it wants standardised columns.
    """

    scaled: bool = False

    @abstractmethod
    def settings(self, n_train: int) -> Sequence[Any]:
        """Settings to try with so many training rows, smallest first."""

    @abstractmethod
    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions for each of `inputs`, of shape (n_settings, n_rows), from a fit to `X` and `y`."""

    @abstractmethod
    def estimator(self, random_state: int, light: bool = False) -> Any:
        """An unfitted scikit-learn estimator with a usual setting, for wrappers; `light` is the quicker one."""

    @abstractmethod
    def description(self) -> str:
        """What a journal holds to recognise it by."""

    def predict_quickly(self, X: Values, y: Labels, rows: Values, random_state: int) -> Labels:
        """Predictions for `rows` of the quick estimator, for searches that need very many."""
        labels: Labels = self.estimator(random_state, light=True).fit(X, y).predict(rows)
        return labels


class Forest(Classifier):
    """Random forest of 10, 15, ..., 100 trees.

    A forest of fewer trees consists of the first trees of a larger one with the same seed, so one fit serves all sizes.
    """

    sizes = tuple(range(10, 101, 5))

    def settings(self, n_train: int) -> Sequence[int]:
        """Numbers of trees."""
        return self.sizes

    def predict(self, X: Values, y: Labels, inputs: Sequence[Values], random_state: int) -> list[Labels]:
        """Predictions of the first 10, 15, ... trees."""
        forest = RandomForestClassifier(self.sizes[-1], random_state=random_state, n_jobs=1).fit(X, y)
        return [self._predict(forest, rows) for rows in inputs]

    def _predict(self, forest: RandomForestClassifier, rows: Values) -> Labels:
        single = np.ascontiguousarray(rows, dtype=np.float32)
        total = np.zeros((len(rows), len(forest.classes_)))
        predictions = []
        for size, tree in enumerate(forest.estimators_, start=1):
            total += tree.predict_proba(single, check_input=False)
            if size in self.sizes:
                # Divided as a forest does, since a division may round two sums to a tie.
                predictions.append(forest.classes_[np.argmax(total / size, axis=1)])
        return np.array(predictions)

    def estimator(self, random_state: int, light: bool = False) -> Any:
        """A forest of 100 trees, or of 10."""
        return RandomForestClassifier(10 if light else 100, random_state=random_state, n_jobs=1)

    def description(self) -> str:
        """Kind and grid."""
        return f"random forest, trees {list(self.sizes)}"


class Neighbors(Classifier):
    """Nearest neighbours, 3, 5, ..., 49 of them but no more than there are training rows.

    One search serves all numbers of neighbours. Where the last neighbour ties with the next one and that may matter,
    scikit-learn's choice depends on the number, so it is asked for each number separately.
    """

    scaled = True
    numbers = tuple(range(3, 50, 2))

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
            results.append(
                np.array(
                    [
                        KNeighborsClassifier(number).fit(X, y).predict(rows)
                        if _tie_may_matter(squares, labels, number, len(y), tolerance)
                        else np.argmax(votes[:, number - 1], axis=1)
                        for number in numbers
                    ]
                )
            )
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

    def description(self) -> str:
        """Kind and grid."""
        return f"nearest neighbours of standardised columns, numbers {list(self.numbers)}"


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

    def description(self) -> str:
        """Kind and grid."""
        columns = "standardised columns" if self.scaled else "columns as they are"
        tuned = f", {self.parameter} {list(self.values)}" if self.parameter else ""
        return f"{type(self.base).__name__} {self.base.get_params()!r} of {columns}{tuned}"


# The primal solver of the linear machine converges where the dual one warns, and draws no random numbers.
CLASSIFIERS: dict[str, Classifier] = {
    "rf": Forest(),
    "knn": Neighbors(),
    "svm": Tuned(LinearSVC(dual=False), "C", (0.001, 0.01, 0.1, 1.0, 10.0), scaled=True),
}


def make_classifiers(classifiers: Any) -> dict[str, Classifier]:
    """Classifiers by name: a name, names, or a mapping from names of your own to names, estimators or `Tuned`."""
    if isinstance(classifiers, str):
        classifiers = [classifiers]
    if not isinstance(classifiers, Mapping):
        classifiers = {name: name for name in classifiers}
    if not classifiers:
        raise ValueError("classifiers is empty; name at least one of 'rf', 'knn', 'svm'")
    return {str(name): _make_classifier(classifier) for name, classifier in classifiers.items()}


def _make_classifier(classifier: Any) -> Classifier:
    if isinstance(classifier, Classifier):
        return classifier
    if isinstance(classifier, str):
        check_choice("classifiers", classifier, CLASSIFIERS)
        return CLASSIFIERS[classifier]
    return Tuned(classifier)


def count_correct(
    classifier: Classifier,
    X: Values,
    y: Labels,
    rows: Sequence[NDArray[np.intp]],
    subsets: Sequence[NDArray[np.intp]],
    random_state: int,
) -> list[NDArray[np.int64]]:
    """Correct predictions with each of some subsets of features.

    Parameters
    ----------
    classifier : Classifier
        What to tune.
    X, y : ndarray
        All rows.
    rows : three arrays
        Rows to train on, to validate with and to test with. Nothing is learnt from the last two.
    subsets : list of ndarray
        Columns to use.
    random_state : int
        Seed of a random classifier.

    Returns
    -------
    list of ndarray of shape (n_settings, 2)
        For each subset, correct predictions of validation and test rows.
    """
    train, *others = rows
    counts = []
    for columns in subsets:
        inputs = X[:, columns].astype(np.float64, copy=False)
        if classifier.scaled:
            inputs = standardise(inputs, train)
        predictions = classifier.predict(inputs[train], y[train], [inputs[other] for other in others], random_state)
        correct = [(labels == y[other]).sum(axis=1) for labels, other in zip(predictions, others, strict=True)]
        counts.append(np.stack(correct, axis=1).astype(np.int64))
    return counts


def standardise(X: Values, train: NDArray[np.intp]) -> Values:
    """All rows in units of the standard deviations of some; a column that is constant there is only centred."""
    known = X[train]
    deviation = known.std(axis=0)
    result: Values = (X - known.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result
