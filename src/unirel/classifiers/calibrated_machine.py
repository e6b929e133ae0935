"""Probabilities of the linear machine without each feature, exactly, though it is hardly ever solved anew."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import inv
from scipy.special import expit

from unirel.classifiers.linear_machine import LinearMachine, scores_of, signs_of, weights_along, with_ones

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

# Sets of active rows that are tried without a feature, before the machine is solved anew.
_MAX_TRIALS = 20
# Numbers that inverses may hold at a time.
_MAX_NUMBERS = 2**25
# A sigmoid whose parameters change by less than this is found.
_CLOSE = 1e-10


def cost_of_machine(estimator: Any, n_columns: int, n_train: int, n_machines: int) -> float | None:
    """The cost C, if the estimator is a linear machine for a table that is longer than wide, and not too wide."""
    fits = n_columns < n_train and n_machines * (n_columns + 1) ** 2 <= _MAX_NUMBERS
    return float(estimator.C) if type(estimator) is LinearMachine and fits else None


class CalibratedMachine:
    """A linear machine whose scores become probabilities, as by ``CalibratedClassifierCV(..., ensemble=False)``.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_columns)
        Numbers of all rows.
    rows, labels : ndarray
        Rows to train on, and their classes, numbered without gaps.
    folds : iterable of pairs of ndarray
        Places in `rows` to train on and to find scores for, by which these are calibrated.
    cost : float
        C of the machine.
    """

    def __init__(
        self, matrix: Values, rows: Rows, labels: NDArray[Any], folds: Iterable[tuple[Rows, Rows]], cost: float
    ) -> None:
        self._matrix, self._rows, self._labels = matrix, rows, labels
        self._whole = _Machines(matrix[rows], labels, cost)
        self._folds = [(_Machines(matrix[rows[train]], labels[train], cost), test) for train, test in folds]

    def probabilities(self, columns: Rows, test: Rows) -> Values:
        """Of each class for the test rows, without some columns."""
        signs = signs_of(self._labels)
        scores = np.empty((len(self._rows), len(signs)))
        for machines, own in self._folds:
            scores[own] = scores_of(machines.weights_without(columns), self._matrix[self._rows[own]])
        found = scores_of(self._whole.weights_without(columns), self._matrix[test])
        sigmoids = [sigmoid_of(one, sign > 0) for one, sign in zip(scores.T, signs, strict=True)]
        chances = np.column_stack(
            [expit(slope * one + offset) for one, (slope, offset) in zip(found.T, sigmoids, strict=True)]
        )
        if chances.shape[1] == 1:
            return np.column_stack([1 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        return np.where(total > 0, chances / np.where(total > 0, total, 1.0), 1 / chances.shape[1])


class _Machines:
    """Machines of some rows, solved with all columns and ready to do without some."""

    def __init__(self, X: Values, y: NDArray[Any], cost: float) -> None:
        (weights,) = weights_along(X, y, [cost])
        self._X, self._y, self._cost = X, y, cost
        rows = with_ones(X)
        self._machines = [_Machine(rows, *one, 2.0 * cost) for one in zip(signs_of(y), weights, strict=True)]

    def weights_without(self, columns: Rows) -> Values:
        """Weights of shape (n_machines, n_columns + 1), which are 0 for some columns."""
        found = [machine.weights_without(columns) for machine in self._machines]
        if any(weights is None for weights in found):
            (anew,) = weights_along(np.delete(self._X, columns, axis=1), self._y, [self._cost])
            return np.insert(anew, columns - np.arange(len(columns)), 0.0, axis=1)
        return np.array(found)


class _Machine:
    """One machine, at the lowest loss with all columns.

    There the loss is a parabola whose curvature depends on the active rows, those inside their margin. With its inverse
    the lowest point without some columns is known, as long as the same rows are active; and for each row that joins or
    leaves the inverse changes by a matrix of rank one.
    """

    def __init__(self, rows: Values, signs: Values, weights: Values, pull: float) -> None:
        self._rows, self._signs, self._weights, self._pull = rows, signs, weights, pull
        self._active = signs * (rows @ weights) < 1
        active = rows[self._active]
        self._inverse = inv(np.eye(len(weights)) + pull * (active.T @ active), check_finite=False)

    def weights_without(self, columns: Rows) -> Values | None:
        """Weights that are 0 for some columns, or None if too many other rows become active."""
        own = self._inverse[:, columns]
        share = np.linalg.solve(own[columns], own.T).T  # how the others make up for these columns
        base: Values = self._weights - share @ self._weights[columns]
        weights, before = base, self._active
        for _ in range(_MAX_TRIALS):
            now = self._signs * (self._rows @ weights) < 1
            if (now == before).all():
                weights[columns] = 0.0
                return weights
            changed = np.flatnonzero(now != self._active)
            if len(changed) >= len(weights):
                return None
            others = self._rows[changed]
            reach = self._inverse @ others.T
            reach -= share @ reach[columns]
            small = others @ reach
            small.flat[:: len(small) + 1] += np.where(now[changed], 1.0, -1.0) / self._pull
            weights = base + reach @ np.linalg.solve(small, self._signs[changed] - others @ base)
            before = now
        return None


def sigmoid_of(scores: Values, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of Platt's sigmoid, which makes probabilities of scores.

    The cross-entropy is minimised by Newton steps. What is aimed at is not 0 and 1 but what a uniform prior makes of as
    many rows, so that scores which separate the classes have a finite slope.
    """
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    aims = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    mean, spread = float(scores.mean()), float(scores.std())
    design = np.column_stack([(scores - mean) / (spread or 1.0), np.ones(len(scores))])

    def loss(parameters: Values) -> float:
        logits = design @ parameters
        return float((np.logaddexp(0, logits) - aims * logits).sum())

    parameters = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    for _ in range(100):
        chances = expit(design @ parameters)
        curvature = (design.T * (chances * (1 - chances))) @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (aims - chances))
        while loss(parameters + step) > loss(parameters) and np.abs(step).max() > _CLOSE:
            step /= 2
        parameters = parameters + step
        if np.abs(step).max() <= _CLOSE:
            break
    slope = float(parameters[0]) / (spread or 1.0)
    return slope, float(parameters[1]) - slope * mean
