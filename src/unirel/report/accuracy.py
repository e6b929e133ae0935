"""How well the first features predict the target, with features selected anew in every fold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from unirel._runtime import Progress, Stages, call_apart, check_time
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.inference.findings import Accuracy
from unirel.options import SelectionOptions, check_choice
from unirel.predictors import (
    MODELS,
    design_matrix,
    limit_neighbors,
    make_model,
    smallest_class,
    split_classes,
    split_numbers,
    standardise,
    words_of,
)
from unirel.results import Selection
from unirel.search.folds import score_prefixes, select_rows

_FOLDS = 5
# More points than this make no better curve, and every one costs a fit in every fold.
_MOST_SIZES = 30


def check_accuracy(accuracy: str, table: Table, unique_relevance: Any = "reference") -> None:
    """Refuse early what cannot be measured."""
    check_choice("accuracy", accuracy, MODELS)
    if not isinstance(unique_relevance, str):
        raise ValueError(
            f"accuracy={accuracy!r} selects features anew in every fold, which values of unique_relevance found on all "
            "rows do not allow; name a method, such as unique_relevance='reference'"
        )
    if table.classes is not None:
        repeated = int((table.class_sizes > 1).sum())
        if repeated < 2:
            raise ValueError(
                f"accuracy={accuracy!r} needs two classes with at least two rows each, but the target has {repeated}; "
                "merge rare classes, or choose another target"
            )
    elif table.n_samples < 4:
        raise ValueError(f"accuracy={accuracy!r} needs at least 4 rows, but there are {table.n_samples}")


def measure_accuracy(
    accuracy: str,
    X: Any,
    y: Any,
    table: Table,
    selection: Selection,
    options: SelectionOptions,
    progress: Progress | None = None,
) -> Accuracy | None:
    """Cross-validate selecting features and predicting the target from the first n of them.

    In each fold features are selected once, from the training rows; what predicts is then trained on the same rows with
    the first feature, the first two, and so on, and scored on the rest.

    Parameters
    ----------
    accuracy : {"logistic", "rf", "knn", "svm"}
        What predicts. For a continuous target it is the regressor of that kind.
    X, y : array or frame, array or series
        What the table was read from.
    table : Table
        All rows, for the kinds of the columns.
    selection : Selection
        Whose criterion, weight and number of features to use.
    options : SelectionOptions
        How it was found; with a criterion of your own, ``options["criterion"]`` has it.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    Accuracy or None
        None if nothing was selected.
    """
    check_accuracy(accuracy, table, options["unique_relevance"])
    if len(selection) == 0:
        return None
    sizes = _choose_sizes(len(selection))
    n_folds, fewer_folds = _count_folds(table)
    discrete = table.classes is not None
    target = table.codes(table.target) if discrete else table.values[table.target]
    splits = split_classes(target, n_folds) if discrete else split_numbers(table.n_samples, n_folds)
    steps = Stages(progress, n_folds * (len(selection) + len(sizes) + 1))
    changed: SelectionOptions = {"n_features_to_select": len(selection), "max_seconds": None, "progress": steps.step}
    rows = X if hasattr(X, "shape") else np.array(X, dtype=object)
    given: SelectionOptions = {**options, **changed}
    trial = _Measurement(accuracy, table, target, *design_matrix(table), sizes, selection, given, steps)
    # On small tables, threads that scikit-learn starts by itself wait for each other more than they work.
    with threadpool_limits(1 if options["n_jobs"] in (None, 1) else None):
        scores = np.array([trial.score(rows, y, train, test) for train, test in splits])
    return Accuracy(
        words_of(accuracy, discrete),
        "accuracy" if discrete else "R2",
        tuple(sizes),
        scores[:, :-1],
        scores[:, -1],
        len(table.features),
        float(np.bincount(target).max() / table.n_samples) if discrete else 0.0,
        fewer_folds,
    )


def _choose_sizes(most: int) -> list[int]:
    """Numbers of features to score, in equal steps down from the largest, and 1."""
    step = -(-most // _MOST_SIZES)
    return sorted({1, *range(most, 0, -step)})


def _count_folds(table: Table) -> tuple[int, str]:
    """How many folds there can be, and why if they are fewer than usual."""
    if table.classes is None:
        n_folds = min(_FOLDS, table.n_samples // 2)
        return n_folds, f"there are only {table.n_samples} rows" if n_folds < _FOLDS else ""
    smallest, size = smallest_class(table.codes(table.target))
    label = table.classes.tolist()[smallest]
    return min(_FOLDS, size), f"class '{label}' has only {size} rows" if size < _FOLDS else ""


@dataclass(frozen=True, eq=False)
class _Measurement:
    """What is tried in every fold."""

    method: str
    table: Table
    target: Any
    matrix: Values
    columns_of: list[Columns]
    sizes: list[int]
    selection: Selection
    options: SelectionOptions
    steps: Stages

    def score(self, X: Any, y: Any, train: Columns, test: Columns) -> Values:
        """Scores with each number of features, and with all."""
        end = self.steps.done + len(self.selection) + len(self.sizes) + 1
        given: Mapping[str, Any] = self.options
        criterion = given.get("criterion", self.selection.criterion)
        (selection,) = select_rows(X, y, train, self.table, criterion, [self.selection.beta], self.options)
        check_time()  # which would have cut the selection short
        self.steps.finish(len(self.selection))
        inputs = standardise(self.matrix, train)

        def score(features: Columns) -> float:
            columns = np.concatenate([self.columns_of[feature] for feature in features])
            known, unknown = inputs[np.ix_(train, columns)], inputs[np.ix_(test, columns)]
            found = call_apart(self._score, known, unknown, train, test)
            self.steps.finish(1)
            return found

        scores = np.append(score_prefixes([selection.order], self.sizes, score), score(self.table.features))
        self.steps.finish(end - self.steps.done)  # sizes that this fold has not reached
        return scores

    def _score(self, known: Values, unknown: Values, train: Columns, test: Columns) -> float:
        discrete = self.table.classes is not None
        estimator = limit_neighbors(make_model(self.method, discrete), len(train))
        if known.shape[1] == 0:  # constant features
            estimator = DummyClassifier() if discrete else DummyRegressor()
        # What is made here needs no checks, which on small tables take longer than the fit.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return float(estimator.fit(known, self.target[train]).score(unknown, self.target[test]))
