"""How well the first features predict the target, with features selected anew in every fold."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from unirel.classifier import design_matrix, make_estimator
from unirel.folds import select_rows
from unirel.options import SelectionOptions, check_choice
from unirel.results import Selection
from unirel.table import Table
from unirel.work import Progress, Stages

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

_FOLDS = 5
# More points than this make no better curve, and every one costs a fit in every fold.
_MOST_SIZES = 30


# How the classifiers of `unirel.classifier`, and the regressors of their kind, are called in the page.
_WORDS = {
    "knn": "nearest neighbours (5)",
    "rf": "a random forest (100 trees)",
    "svm": "a linear support vector machine",
    "logistic": "logistic regression",
}
METHODS = tuple(_WORDS)


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Scores on rows that took no part in selecting features or in training.

    Attributes
    ----------
    method : str
        What predicts, in words.
    measure : {"accuracy", "R2"}
        Share of rows that are predicted correctly, or share of the variance of a continuous target that is explained.
    sizes : tuple of int
        Numbers of features.
    scores : ndarray of shape (n_folds, n_sizes)
        NaN where fewer features could be selected in a fold.
    all_features : ndarray of shape (n_folds,)
        Scores with all features.
    n_features : int
        How many these are.
    chance : float
        Score of always predicting the most frequent class or the mean.
    fewer_folds : str
        Why there are fewer folds than usual; empty if there are not.
    """

    method: str
    measure: str
    sizes: tuple[int, ...]
    scores: Values
    all_features: Values
    n_features: int
    chance: float
    fewer_folds: str = ""

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.scores)

    @property
    def means(self) -> Values:
        """Mean over the folds for each number of features."""
        means: Values = self.scores.mean(axis=0)
        return means

    @property
    def deviations(self) -> Values:
        """Standard deviation over the folds for each number of features."""
        deviations: Values = self.scores.std(axis=0)
        return deviations

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON; sizes that some fold did not reach are left out."""
        rows = zip(self.sizes, self.means.tolist(), self.deviations.tolist(), strict=True)
        return {
            "method": self.method,
            "measure": self.measure,
            "n_folds": self.n_folds,
            "fewer_folds": self.fewer_folds,
            "curve": [{"n": n, "mean": mean, "deviation": deviation} for n, mean, deviation in rows if mean == mean],
            "n_features": self.n_features,
            "all_mean": float(self.all_features.mean()),
            "all_deviation": float(self.all_features.std()),
            "chance": self.chance,
        }


def check_accuracy(accuracy: str, table: Table, unique_relevance: Any = "reference") -> None:
    """Refuse early what cannot be measured."""
    check_choice("accuracy", accuracy, METHODS)
    if not isinstance(unique_relevance, str):
        raise ValueError(
            f"accuracy={accuracy!r} selects features anew in every fold, which values of unique_relevance found on all "
            "rows do not allow; name a method, such as unique_relevance='reference'"
        )
    if table.classes is not None:
        repeated = int((np.bincount(table.codes(table.target)) > 1).sum())
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
    accuracy : {"knn", "rf", "svm", "logistic"}
        What predicts. For a continuous target it is the regressor of that kind.
    X, y : array or frame, array or series
        What the table was read from.
    table : Table
        All rows, for the kinds of the columns.
    selection : Selection
        Whose criterion, weight and number of features to use.
    options : SelectionOptions
        How it was found.
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
    n_folds, fewer_folds = _count_folds(table)
    sizes = _choose_sizes(len(selection))
    steps = Stages(progress, n_folds * (len(selection) + len(sizes) + 1))
    options = {**options, "n_features_to_select": len(selection), "max_seconds": None, "progress": steps.step}
    fold = _Fold(X if hasattr(X, "shape") else np.array(X, dtype=object), y, table, selection, options, steps)
    discrete = table.classes is not None
    ridge = accuracy == "logistic" and not discrete
    # On small tables, threads that scikit-learn starts by itself wait for each other more than they work.
    with threadpool_limits(1 if options["n_jobs"] in (None, 1) else None):
        scores = np.array([fold.score(accuracy, sizes, train, test) for train, test in _split(table, n_folds)])
    chance = float(np.bincount(table.codes(table.target)).max() / table.n_samples) if discrete else 0.0
    return Accuracy(
        "ridge regression, in place of logistic regression" if ridge else _WORDS[accuracy],
        "accuracy" if discrete else "R2",
        tuple(sizes),
        scores[:, :-1],
        scores[:, -1],
        len(table.features),
        chance,
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
    counts = np.bincount(table.codes(table.target))
    smallest = int(np.where(counts > 1, counts, table.n_samples).argmin())
    n_folds = min(_FOLDS, int(counts[smallest]))
    return n_folds, f"class '{table.classes.tolist()[smallest]}' has only {n_folds} rows" if n_folds < _FOLDS else ""


def _split(table: Table, n_folds: int) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of each fold, shuffled by a fixed seed, with equal shares of the classes."""
    rows = np.zeros(table.n_samples)
    if table.classes is None:
        yield from KFold(n_folds, shuffle=True, random_state=0).split(rows)
        return
    codes = table.codes(table.target)
    counts = np.bincount(codes)
    # A class of one row has no shares; as part of the largest class it falls into any fold.
    strata = np.where(counts[codes] == 1, counts.argmax(), codes)
    yield from StratifiedKFold(n_folds, shuffle=True, random_state=0).split(rows, strata)


class _Fold:
    """Selects features from some rows and scores them on others."""

    def __init__(
        self, X: Any, y: Any, table: Table, selection: Selection, options: SelectionOptions, steps: Stages
    ) -> None:
        self._X, self._y, self._table, self._steps = X, y, table, steps
        self._criterion, self._beta, self._options = selection.criterion, selection.beta, options
        self._matrix, self._places = _numbers(table)
        self._target = table.values[table.target] if table.classes is None else table.codes(table.target)

    def score(self, method: str, sizes: list[int], train: Rows, test: Rows) -> list[float]:
        """Scores with each number of features, and with all."""
        order = self._select(train).tolist()
        inputs = _standardise(self._matrix, train)
        subsets = [order[:size] if size <= len(order) else None for size in sizes]
        scores = []
        for subset in [*subsets, self._table.features.tolist()]:
            scores.append(np.nan if subset is None else self._score(method, inputs, subset, train, test))
            self._steps.finish(1)
        return scores

    def _select(self, train: Rows) -> Rows:
        path = select_rows(self._X, self._y, train, self._table, self._criterion, [self._beta], self._options)
        (selection,) = path
        self._steps.finish(int(self._options["n_features_to_select"]))
        return selection.order

    def _score(self, method: str, inputs: Values, features: list[int], train: Rows, test: Rows) -> float:
        columns = np.concatenate([self._places[feature] for feature in features])
        estimator = make_estimator(method, self._table.classes is not None)
        if method == "knn" and estimator.n_neighbors > len(train):
            estimator.set_params(n_neighbors=len(train))
        if len(columns) == 0:  # constant features
            estimator = DummyRegressor() if self._table.classes is None else DummyClassifier()
        known, unknown = inputs[np.ix_(train, columns)], inputs[np.ix_(test, columns)]
        # What is made here needs no checks, which on small tables take longer than the fit.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return float(estimator.fit(known, self._target[train]).score(unknown, self._target[test]))


def _numbers(table: Table) -> tuple[Values, list[Rows]]:
    """Features as numbers, NaN for a missing one, and the columns that belong to each feature."""
    matrix, places = design_matrix(table)
    for feature in np.flatnonzero(table.has_missing[: table.n_features] & ~table.discrete[: table.n_features]):
        matrix[table.values[feature] >= table.far, places[feature][0]] = np.nan
    return matrix, places


def _standardise(matrix: Values, train: Rows) -> Values:
    """All rows in units of the training rows, whose mean also stands for what is missing."""
    known = matrix[train]
    present = np.maximum((~np.isnan(known)).sum(axis=0), 1)
    means = np.nansum(known, axis=0) / present
    deviations = np.sqrt(np.nansum(np.square(known - means), axis=0) / present)
    inputs: Values = np.nan_to_num((matrix - means) / np.where(deviations > 0, deviations, 1.0))
    return inputs
