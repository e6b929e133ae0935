"""The linear machine: along five costs, and without each feature, against LinearSVC, which begins anew every time."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.timing import Comparison, report
from unirel.classifiers.linear_machine import weights_along
from unirel.classifiers.losses import losses_without_each
from unirel.data.table import Table

COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)


def _data(n_rows: int, n_columns: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that share ten sources, as those of a spectrum do, and classes that differ in these."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % n_classes
    sources = rng.standard_normal((n_rows, 10)) + rng.standard_normal((n_classes, 10))[labels]
    values = sources @ rng.standard_normal((10, n_columns)) + 0.3 * rng.standard_normal((n_rows, n_columns))
    return (values - values.mean(axis=0)) / values.std(axis=0), labels


def _loss(rows: np.ndarray, labels: np.ndarray, cost: float, weights: np.ndarray) -> float:
    """What is minimised, summed over machines, for each row."""
    wide = np.column_stack([rows, np.ones(len(rows))])
    own = [1] if len(weights) == 1 else range(len(weights))
    signs = np.where(labels[:, None] == own, 1, -1)
    inside = np.maximum(0, 1 - signs * (wide @ weights.T))
    return (np.square(weights).sum() / 2 + cost * np.square(inside).sum()) / len(rows)


def _peer(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    found = []
    for cost in COSTS:
        machine = LinearSVC(dual=False, C=cost).fit(rows, labels)
        found.append(np.column_stack([machine.coef_, machine.intercept_]))
    return np.array(found)


def _beside_scikit_learn(n_rows: int, n_columns: int, n_classes: int) -> Comparison:
    rows, labels = _data(n_rows, n_columns, n_classes)

    def losses(find: Callable[[], np.ndarray]) -> list[float]:
        return [_loss(rows, labels, cost, weights) for cost, weights in zip(COSTS, find(), strict=True)]

    return Comparison(
        f"{n_rows:>7,} x {n_columns:,}, {n_classes} classes",
        lambda: losses(lambda: weights_along(rows, labels, COSTS)),
        lambda: losses(lambda: _peer(rows, labels)),
    )


def _without_each(n_rows: int, n_columns: int, n_classes: int, part: int = 2) -> Comparison:
    table = Table.from_data(*_data(n_rows, n_columns, n_classes))
    some = np.arange(part)
    return Comparison(
        f"{n_rows:>7,} x {n_columns:,}, {n_classes} classes",
        lambda: losses_without_each(table, "svm", n_jobs=1),
        lambda: losses_without_each(table, LinearSVC(dual=False), columns=some, n_jobs=1)[some],
        scale=n_columns / part,
        repeats=1,
        part=part,
    )


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # the last column says how far the peer is from the minimum
    shapes = [(40, 3, 2), (60, 5, 3)]
    if not quick:
        shapes = [(40, 100, 2), (1_000, 10, 2), (1_000, 100, 2), (1_000, 100, 26), (2_000, 10, 6), (2_000, 100, 6)]
    title = "linear machine with five costs, against LinearSVC; difference in the loss"
    report(title, [_beside_scikit_learn(*shape) for shape in shapes])
    shapes = [(40, 3, 2)] if quick else [(1_000, 10, 2), (1_000, 100, 2), (1_000, 400, 2), (2_000, 100, 6)]
    title = "log-loss without each feature, against calibrated LinearSVC"
    report(title, [_without_each(*shape) for shape in shapes])
