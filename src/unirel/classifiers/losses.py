"""Unique relevance by a classifier: how badly the target is predicted without each feature."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from unirel._runtime import Progress, map_tasks
from unirel.classifiers.calibrated_machine import CalibratedMachine, cost_of_machine
from unirel.classifiers.forest import Trees, plain_forest, suits_trees
from unirel.classifiers.neighbors import NeighborVotes, Rows, Values, plain_neighbors, split_rows
from unirel.classifiers.registry import make_estimator
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.options import check_whole_number

Split = tuple[Rows, Rows]

_CALIBRATION_FOLDS = 5


def losses_without_each(
    table: Table,
    classifier: Any,
    *,
    columns: Rows | None = None,
    cv: Any = 5,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Values:
    """Log-loss of a classifier trained without each feature, in nats.

    Parameters
    ----------
    table : Table
        Features and target; see `design_matrix` for what the classifier gets to see.
    classifier : {"rf", "knn", "svm", "logistic"} or estimator
        A random forest, nearest neighbours, a linear support vector machine, logistic regression, or any scikit-learn
        classifier, which is cloned. For a continuous target the names mean the regressors of their kind ("logistic": a
        ridge regression), and an estimator must be a regressor. Classes are numbered in the order of their labels.
    columns : ndarray of int, optional
        Features to leave out, one at a time; all if None. The classifier sees the others in any case.
    cv : int, splitter, iterable of splits or "train"
        Folds, shuffled by a fixed seed and stratified if the target is discrete; or a splitter of scikit-learn; or
        "train" for the loss on the rows that the classifier was trained on. With fewer rows of a class than folds, the
        number of folds is lowered with a warning.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on them.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of features.

    Returns
    -------
    ndarray of shape (n_features,)
        The more a feature is missed, the larger; NaN for a feature that is ignored or not asked about.

    Notes
    -----
    The loss is the mean of ``-log p(class of the row)`` over all predicted rows. Probabilities are raised to 1 / (2N):
    N rows cannot tell a rarer event from one that never happens, and forests and neighbours do answer 0. With a floor
    such as 1e-15 a single surprise would cost 35 nats and outweigh what a feature is worth. A class without a row to
    train on gets that probability too.

    A classifier without ``predict_proba`` is calibrated on 5 folds of its training rows, fewer if a class is smaller;
    a class with one training row cannot be calibrated and is left out. With one class or no column left to train on,
    the frequencies of the classes are predicted.

    For a continuous target the loss is the negative log-likelihood of a normal distribution,
    ``0.5 * log(2 * pi * v) + 0.5`` with v the mean squared residual, in units of the target as scaled in the table.

    Nearest neighbours (uniform weights, euclidean or manhattan) are never fitted again: the columns of a feature are
    subtracted from the distances. Rows that tie for the last place share it. The linear machine is solved with all
    columns, and from there it is a short way to where it is without those of a feature. A random forest is grown
    for each feature, but columns are sorted only once.

    Examples
    --------
    The first column tells all, the second nothing.

    >>> from unirel.classifiers.losses import losses_without_each
    >>> from unirel.data.table import Table
    >>> table = Table.from_data([[0, 0], [0, 1], [1, 0], [1, 1]] * 25, [0, 0, 1, 1] * 25)
    >>> losses_without_each(table, "knn").round(2)
    array([0.71, 0.  ])
    """
    estimator = make_estimator(classifier, table.classes is not None)
    target = _Numbers(table) if table.classes is None else _Classes(table)
    matrix, columns_of = design_matrix(table)
    features = table.features if columns is None else columns
    task = _Training(matrix, [columns_of[feature] for feature in features], target, _make_splits(cv, matrix, target))
    counter = _Counter(len(features), progress)
    neighbors = plain_neighbors(estimator)
    try:
        if neighbors is not None:
            costs = _costs_by_neighbors(task, neighbors, n_jobs, counter)
        elif isinstance(target, _Classes) and (quick := _quick_model(task, target, estimator)) is not None:
            costs = _costs_by_model(task, target, quick, not hasattr(estimator, "predict_proba"), n_jobs, counter)
        else:
            costs = _costs_by_fits(task, estimator, n_jobs, counter)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped after {counter.done} of {counter.total} features") from None
    return table.one_per_feature(target.loss(costs / sum(len(test) for _, test in task.splits)), features)


def design_matrix(table: Table) -> tuple[Values, list[Rows]]:
    """Features as numbers for a classifier.

    Parameters
    ----------
    table : Table
        The features.

    Returns
    -------
    matrix : ndarray of shape (n_samples, n_numbers)
        Continuous features as scaled in the table, with the mean for a missing value and a further column that marks
        it; discrete ones as one column for each level, or one in all for two levels and none for a constant.
    columns_of : list of ndarray
        Columns of the matrix that belong to each feature of the table, none for an ignored one.
    """
    blocks = [np.empty((0, table.n_samples))] * table.n_features
    for feature in table.features.tolist():
        blocks[feature] = _numbers_of(table, feature)
    matrix = np.ascontiguousarray(np.concatenate(blocks).T)
    ends = np.cumsum([len(block) for block in blocks])
    return matrix, np.split(np.arange(matrix.shape[1]), ends[:-1])


def _numbers_of(table: Table, feature: int) -> Values:
    """Columns of the design matrix for one feature, as rows."""
    if table.discrete[feature]:
        n_levels = table.columns[feature].n_levels
        first = 1 if n_levels <= 2 else 0
        levels: Values = (table.codes(feature) == np.arange(first, n_levels)[:, None]).astype(np.float64)
        return levels
    values: Values = table.values[feature].astype(np.float64)
    if not table.has_missing[feature]:
        return values[None]
    missing = values >= table.far
    values[missing] = 0 if missing.all() else values[~missing].mean()
    return np.stack([values, missing])


class _Classes:
    """Class labels: probabilities are predicted, and a row costs minus the logarithm of that of its class."""

    def __init__(self, table: Table) -> None:
        self.values = table.codes(table.target)
        self.outcomes = np.eye(table.columns[table.target].n_levels)[self.values]
        self._labels = [] if table.classes is None else table.classes.tolist()
        self._least = 0.5 / table.n_samples

    def split(self, n_folds: int) -> Iterable[Split]:
        single = np.bincount(self.values) == 1
        if single.all():
            raise ValueError("every class of y has one sample only; merge classes, or pass target_kind='continuous'")
        smallest, size = smallest_class(self.values)
        if size < n_folds:
            label = self._labels[smallest]
            _warn(f"class {label!r} has {size} samples, so cv={n_folds} is lowered to {size}; merge rare classes")
        if single.any():
            label = self._labels[int(single.argmax())]
            _warn(f"class {label!r} has one sample, which no other can help to predict; merge rare classes")
        return split_classes(self.values, min(n_folds, size))

    def predict(self, estimator: Any, inputs: Values, train: Rows, test: Rows) -> Values:
        calibrated = not hasattr(estimator, "predict_proba")
        known, present, labels = self.learnable(train, calibrated)
        if len(present) < 2:
            return _mean_outcomes(self, train, test)
        if calibrated:
            # One model of all rows, not a mean of models of some rows; it is also the quicker way.
            estimator = CalibratedClassifierCV(estimator, cv=_calibration_folds(labels), ensemble=False)
        return self.spread(clone(estimator).fit(inputs[known], labels).predict_proba(inputs[test]), present)

    def learnable(self, train: Rows, calibrated: bool) -> tuple[Rows, NDArray[Any], NDArray[Any]]:
        """Rows that can be learnt from, the classes there, and the number of the class of each row among these."""
        if calibrated:
            train = train[np.bincount(self.values[train])[self.values[train]] > 1]
        # Numbered anew, since some classifiers insist on labels without gaps.
        present, labels = np.unique(self.values[train], return_inverse=True)
        return train, present, labels

    def spread(self, probabilities: Values, present: NDArray[Any]) -> Values:
        """Probabilities of all classes, from those of the classes that were learnt."""
        predictions = np.zeros((len(probabilities), self.outcomes.shape[1]))
        predictions[:, present] = probabilities
        return predictions

    def costs(self, predictions: Values, rows: Rows) -> Values:
        probabilities = predictions[np.arange(len(rows)), self.values[rows]]
        costs: Values = np.log(1 / np.maximum(probabilities, self._least))
        return costs

    def loss(self, mean_costs: Values) -> Values:
        return mean_costs


class _Numbers:
    """A continuous target: its mean is predicted, and a row costs its squared residual."""

    def __init__(self, table: Table) -> None:
        self.values = table.values[table.target].astype(np.float64)
        self.outcomes = self.values[:, None]
        # Residuals that are all 0 would have an infinite likelihood.
        self._least = 1e-12 * self.values.var()

    def split(self, n_folds: int) -> Iterable[Split]:
        lowered = min(n_folds, len(self.values))
        if lowered < n_folds:
            _warn(f"y has {lowered} samples, so cv={n_folds} is lowered to {lowered}; pass a lower one")
        return split_numbers(len(self.values), lowered)

    def predict(self, estimator: Any, inputs: Values, train: Rows, test: Rows) -> Values:
        fitted = clone(estimator).fit(inputs[train], self.values[train])
        return np.reshape(fitted.predict(inputs[test]), (len(test), 1))

    def costs(self, predictions: Values, rows: Rows) -> Values:
        costs: Values = np.square(predictions[:, 0] - self.values[rows])
        return costs

    def loss(self, mean_costs: Values) -> Values:
        losses: Values = 0.5 * np.log(2 * np.pi * np.maximum(mean_costs, self._least)) + 0.5
        return losses


Target = _Classes | _Numbers


class _Training(NamedTuple):
    """Everything but the estimator."""

    matrix: Values
    columns_of: list[Rows]  # of each feature that is left out
    target: Target
    splits: list[Split]


class _Counter:
    """Remembers how far the work is, in features, and passes it on."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self._progress = 0, total, progress

    def __call__(self, done: int, total: int) -> None:
        self.done = self.total * done // total
        if self._progress is not None:
            self._progress(self.done, self.total)

    def part(self, number: int, n_parts: int) -> Progress:
        """What counts one of several parts of equal size."""
        return lambda done, total: self(number * total + done, n_parts * total)


def _make_splits(cv: Any, matrix: Values, target: Target) -> list[Split]:
    """Rows to train on and rows to predict, the same for every feature."""
    rows = np.arange(len(matrix))
    if isinstance(cv, str) and cv == "train":
        return [(rows, rows)]
    if not isinstance(cv, str) and (hasattr(cv, "split") or isinstance(cv, Iterable)):
        splits = check_cv(cv).split(matrix, target.values)
    else:
        splits = target.split(check_whole_number("cv", cv, 2, or_name="train"))
    return [(rows[train], rows[test]) for train, test in splits]


def smallest_class(codes: NDArray[Any]) -> tuple[int, int]:
    """The smallest class that has more than one row, and how many it has."""
    sizes = np.bincount(codes)
    smallest = int(np.where(sizes > 1, sizes, len(codes) + 1).argmin())
    return smallest, int(sizes[smallest])


def split_classes(codes: NDArray[Any], n_folds: int) -> Iterable[Split]:
    """Rows to train on and to predict, with equal shares of the classes."""
    sizes = np.bincount(codes)
    # A class of one row has no shares; as part of the largest class it falls into any fold.
    strata = np.where(sizes[codes] == 1, sizes.argmax(), codes)
    splits: Iterable[Split] = _stratified(n_folds).split(strata, strata)
    return splits


def split_numbers(n_rows: int, n_folds: int) -> Iterable[Split]:
    """Rows to train on and to predict, where there are no classes."""
    splits: Iterable[Split] = KFold(n_folds, shuffle=True, random_state=0).split(np.zeros(n_rows))
    return splits


def _stratified(n_folds: int) -> StratifiedKFold:
    """Folds that do not depend on how rows are sorted, the same each time."""
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def _calibration_folds(labels: NDArray[Any]) -> StratifiedKFold:
    return _stratified(min(_CALIBRATION_FOLDS, int(np.bincount(labels).min())))


def _warn(message: str) -> None:
    warnings.warn(message, UnirelWarning, stacklevel=5)


def _mean_outcomes(target: Target, train: Rows, test: Rows) -> Values:
    """What is predicted where there is nothing to learn from."""
    return np.tile(target.outcomes[train].mean(axis=0), (len(test), 1))


def _costs_by_fits(task: _Training, estimator: Any, n_jobs: int | None, counter: _Counter) -> Values:
    """Sum of the costs of all predictions without each feature, for any estimator."""
    target = task.target

    def work(columns: Rows) -> float:
        inputs = np.delete(task.matrix, columns, axis=1)
        total = 0.0
        for train, test in task.splits:
            if inputs.shape[1] == 0:
                predictions = _mean_outcomes(target, train, test)
            else:
                predictions = target.predict(estimator, inputs, train, test)
            total += float(target.costs(predictions, test).sum())
        return total

    return np.array(map_tasks(work, task.columns_of, n_jobs, counter))


# Probabilities of the classes without some columns.
Without = Callable[[Rows], Values]
# Makes that from rows to train on, their classes and rows to predict.
Trained = Callable[[Rows, NDArray[Any], Rows], Without]


def _quick_model(task: _Training, target: _Classes, estimator: Any) -> Trained | None:
    """A model that is made ready with all columns and then does without each feature quickly, if there is one."""
    matrix, every = task.matrix, np.arange(task.matrix.shape[1])
    if (forest := plain_forest(estimator)) is not None and suits_trees(matrix, target.outcomes.shape[1]):

        def grow(known: Rows, labels: NDArray[Any], test: Rows) -> Without:
            trees = Trees(matrix[known], labels, *forest)
            return lambda columns: trees.probabilities(matrix[test], np.delete(every, columns))

        return grow
    n_train = min((len(train) for train, _ in task.splits), default=0)
    n_learnt = n_train - n_train // _CALIBRATION_FOLDS - 1
    n_machines = (_CALIBRATION_FOLDS + 1) * target.outcomes.shape[1]
    if (cost := cost_of_machine(estimator, len(every), n_learnt, n_machines)) is not None:

        def solve(known: Rows, labels: NDArray[Any], test: Rows) -> Without:
            folds = _calibration_folds(labels).split(labels, labels)
            machine = CalibratedMachine(matrix, known, labels, folds, cost)
            return lambda columns: machine.probabilities(columns, test)

        return solve
    return None


def _costs_by_model(
    task: _Training, target: _Classes, train_model: Trained, calibrated: bool, n_jobs: int | None, counter: _Counter
) -> Values:
    """The same for a model that is trained with all features and then does without each."""
    totals = np.zeros(len(task.columns_of))
    for number, split in enumerate(task.splits):
        work = _model_work(target, split, train_model, calibrated, task.matrix.shape[1])
        totals += map_tasks(work, task.columns_of, n_jobs, counter.part(number, len(task.splits)))
    return totals


def _model_work(
    target: _Classes, split: Split, train_model: Trained, calibrated: bool, n_columns: int
) -> Callable[[Rows], float]:
    """A function that sums the costs of all predictions for a split without some columns."""
    train, test = split
    known, present, labels = target.learnable(train, calibrated)
    without = train_model(known, labels, test) if len(present) > 1 else None

    def work(columns: Rows) -> float:
        if without is None or len(columns) == n_columns:
            predictions = _mean_outcomes(target, train, test)
        else:
            predictions = target.spread(without(columns), present)
        return float(target.costs(predictions, test).sum())

    return work


def _costs_by_neighbors(task: _Training, neighbors: tuple[int, int], n_jobs: int | None, counter: _Counter) -> Values:
    """The same for nearest neighbours, which are never fitted again."""
    nearest = NeighborVotes(task.matrix, task.columns_of, task.target.outcomes, *neighbors)

    def work(block: Split) -> Values:
        train, test = block
        return np.array([task.target.costs(votes, test).sum() for votes in nearest.votes(train, test)])

    blocks = [(train, rows) for train, test in task.splits for rows in split_rows(test, len(train))]
    totals: Values = np.sum(map_tasks(work, blocks, n_jobs, counter), axis=0)
    return totals
