"""The linear support vector machine, solved exactly, for one cost or along a path of them."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, qr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

Values = NDArray[np.float64]

# Newton steps end by themselves, after a handful.
_MAX_STEPS = 200
# A step below this share of the weights is made of rounding,
_ROUNDING = 1e-14
# a share of a sum that does not change it safely,
_LOST = 1e-13
# and a length that would change by less than this share is as good as any: the next step finds what is left.
_CLOSE = 1e-6


class LinearMachine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear support vector machine with squared hinge loss.

    Parameters
    ----------
    C : float
        Cost of a row on the wrong side of its margin.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights, of the second of two classes or of each class against all others.
    intercept_ : ndarray of shape (1 or n_classes,)
        Offsets.

    Notes
    -----
    The problem is that of scikit-learn's ``LinearSVC``: ``|w|^2 / 2 + C * sum(max(0, 1 - s * w.x)^2)`` is minimised,
    where s is 1 for rows of the class and -1 for others, and the offset is the weight of a further column of ones. That
    loss consists of pieces of a parabola: Newton steps of exact length find the minimum in finitely many, most often
    fewer than ten. liblinear instead approaches it by conjugate gradients, slowly where columns are correlated, and
    ends before it is there; what it predicts then depends on the processor.

    Examples
    --------
    >>> from unirel.classifiers.linear_machine import LinearMachine
    >>> machine = LinearMachine().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> machine.predict([[-3.0], [0.5]]).tolist()
    ['a', 'b']
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Find the weights."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has {len(self.classes_)} class only; a machine needs two to tell apart")
        (weights,) = weights_along(X, codes, [self.C])
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        return self

    def decision_function(self, X: Any) -> Values:
        """How far rows are on the side of the second of two classes, or of each class."""
        scores = self._scores(X)
        return scores if scores.shape[1] > 1 else scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side a row is farthest."""
        chosen = chosen_class(self._scores(X))
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _scores(self, X: Any) -> Values:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return scores_of(np.column_stack([self.coef_, self.intercept_]), rows)


def scores_of(weights: Values, rows: Values) -> Values:
    """How far rows are on the side of each machine, of shape (n_rows, n_machines)."""
    scores: Values = rows @ weights[:, :-1].T + weights[:, -1]
    return scores


def chosen_class(scores: Values) -> NDArray[np.intp]:
    """Number of the class on whose side a row is farthest, from one score for two classes, or one for each."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else np.argmax(scores, axis=1)


def weights_along(X: Values, y: NDArray[Any], costs: Sequence[float]) -> Values:
    """Weights of the linear machine for each cost.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Numbers.
    y : ndarray of shape (n_rows,)
        Classes, numbered without gaps.
    costs : sequence of float
        Smallest first: each begins where the one before has ended.

    Returns
    -------
    ndarray of shape (n_costs, n_machines, n_columns + 1)
        The last weight is the offset. One machine tells two classes apart, and of more each has its own.
    """
    rows = with_ones(X)
    turned = None
    if rows.shape[1] > len(rows):
        # Weights are sums of rows, so a space of as many dimensions as there are rows holds them all.
        turned, upper = qr(rows.T, mode="economic")
        rows = np.ascontiguousarray(upper.T)
    gram = rows.T @ rows
    found = np.stack([_Descent(rows, signs, gram).along(costs) for signs in signs_of(y)], axis=1)
    return found if turned is None else found @ turned.T


def with_ones(X: Values) -> Values:
    """Rows with a last column of ones, whose weight is the offset."""
    return np.column_stack([X, np.ones(len(X))])


def signs_of(y: NDArray[Any]) -> Values:
    """For each machine 1 where a row is of its class and -1 elsewhere."""
    n_classes = int(y.max()) + 1
    own = [1] if n_classes == 2 else np.arange(n_classes)
    return np.where(y == np.reshape(own, (-1, 1)), 1.0, -1.0)


class _Descent:
    """The way down to the weights of one machine.

    Only rows inside their margin, on the way called active, curve the loss. Few join or leave at a time, so the sum of
    their squares is brought up to date instead of made anew.
    """

    def __init__(self, rows: Values, signs: Values, gram: Values) -> None:
        self._rows, self._signs, self._gram = rows, signs, gram.copy()
        self._active = np.ones(len(rows), bool)
        self._weights = np.zeros(rows.shape[1])
        self._slack = np.ones(len(rows))  # how far a row is inside its margin

    def along(self, costs: Sequence[float]) -> Values:
        """Weights for each cost."""
        return np.array([self._descend(2.0 * cost) for cost in costs])

    def _descend(self, pull: float) -> Values:
        """Weights where the loss, which grows by `pull` for each unit inside a margin, is lowest."""
        for _ in range(_MAX_STEPS):
            self._look_around()
            curvature = pull * self._gram
            # Beside numbers far above 1, which are not standardised, 1 is lost; more of it shortens the step only.
            curvature.flat[:: len(curvature) + 1] += max(1.0, _LOST * float(np.trace(curvature)))
            factors = cho_factor(curvature, overwrite_a=True, check_finite=False)
            step = cho_solve(factors, -self._slope(pull), check_finite=False)
            approach = (self._rows @ step) * self._signs
            # A step that stays on one parabola ends at its lowest point, so it is the last.
            last = bool(((self._slack > approach) == self._active).all())
            self._go(step if last else self._length(step, approach, pull) * step)
            if last or np.abs(step).max() <= _ROUNDING * np.abs(self._weights).max():
                self._go(cho_solve(factors, -self._slope(pull), check_finite=False))  # what rounding has left
                break
        return self._weights

    def _slope(self, pull: float) -> Values:
        inside = np.where(self._active, self._slack, 0.0) * self._signs
        slope: Values = self._weights - pull * (inside @ self._rows)
        return slope

    def _go(self, way: Values) -> None:
        self._weights = self._weights + way
        self._slack = 1.0 - self._signs * (self._rows @ self._weights)

    def _look_around(self) -> None:
        """Find the rows that are active now."""
        now = self._slack > 0
        changed = np.flatnonzero(now != self._active)
        if len(changed) > now.sum():
            self._gram = self._rows[now].T @ self._rows[now]
        elif len(changed):
            others = self._rows[changed]
            self._gram += (others * np.where(now[changed], 1.0, -1.0)[:, None]).T @ others
        self._active = now

    def _length(self, step: Values, approach: Values, pull: float) -> float:
        """How many steps lead to the lowest point in their direction: where a slope of straight pieces is 0."""
        start, growth = float(self._weights @ step), float(step @ step)
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(_MAX_STEPS):
            inside = self._slack - length * approach
            speeds = np.where(inside > 0, approach, 0.0)
            slope = start + length * growth - pull * float(inside @ speeds)
            low, high = (low, length) if slope > 0 else (length, high)
            better = length - slope / (growth + pull * float(speeds @ speeds))
            if abs(better - length) <= _CLOSE * length:
                break
            length = better if low < better < high else (low + min(high, 4 * length)) / 2
        return length
