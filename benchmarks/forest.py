"""Random forests: of 100 trees, and without each feature, against scikit-learn's, whose trees they are."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import Comparison, report
from unirel.classifiers.forest import Trees
from unirel.classifiers.losses import losses_without_each
from unirel.data.table import Table


class _Stranger(RandomForestClassifier):
    """The same forest, of a class that the package does not know, so that it is fitted for each feature."""


def _data(n_rows: int, n_columns: int, n_classes: int, rounded: bool) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in a fifth of the columns."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % n_classes
    values = rng.standard_normal((n_rows, n_columns))
    some = -(-n_columns // 5)
    values[:, :some] += rng.standard_normal((n_classes, some))[labels]
    return (values.round(1) if rounded else values), labels


def _words(n_rows: int, n_columns: int, n_classes: int, rounded: bool = False) -> str:
    return f"{n_rows:>7,} x {n_columns:,}, {n_classes} classes{', rounded' if rounded else ''}"


def _beside_scikit_learn(n_rows: int, n_columns: int, n_classes: int, rounded: bool = False) -> Comparison:
    values, labels = _data(n_rows, n_columns, n_classes, rounded)
    train, test = slice(0, n_rows // 2), slice(n_rows // 2, None)
    return Comparison(
        _words(n_rows // 2, n_columns, n_classes, rounded),
        lambda: Trees(values[train], labels[train], 100, 0).probabilities(values[test]),
        lambda: (
            RandomForestClassifier(100, random_state=0).fit(values[train], labels[train]).predict_proba(values[test])
        ),
    )


def _without_each(n_rows: int, n_columns: int, n_classes: int, part: int = 2) -> Comparison:
    table = Table.from_data(*_data(n_rows, n_columns, n_classes, rounded=False))
    some = np.arange(part)
    return Comparison(
        _words(n_rows, n_columns, n_classes),
        lambda: losses_without_each(table, "rf", columns=some, n_jobs=1)[some],
        lambda: losses_without_each(table, _Stranger(random_state=0), columns=some, n_jobs=1)[some],
        repeats=1,
    )


def main(quick: bool = False) -> None:
    shapes = [(40, 3, 2), (60, 5, 3, True)]
    if not quick:
        shapes = [(80, 10, 2), (80, 1_000, 2), (400, 10, 2), (400, 100, 2), (2_000, 10, 6), (2_000, 100, 6)]
        shapes += [(2_000, 100, 26), (2_000, 100, 2, True), (20_000, 100, 2)]
    report("forest of 100 trees, against RandomForestClassifier", [_beside_scikit_learn(*shape) for shape in shapes])
    shapes = [(40, 3, 2)] if quick else [(80, 100, 2), (400, 30, 2), (2_000, 100, 2), (2_000, 100, 6)]
    title = "log-loss without each of two features, against RandomForestClassifier"
    report(title, [_without_each(*shape) for shape in shapes])
