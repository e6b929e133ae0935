"""scikit-learn's models and selectors by name, and the loss of a model trained without each feature."""

import warnings
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel._runtime import Progress, map_tasks
from unirel.data.table import Table
from unirel.errors import UnirelWarning, check_choice, check_whole_number

Values = NDArray[np.float64]
Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]

# A column with more levels has columns of its own for the most frequent ones only.
_MAX_LEVELS = 100
_CALIBRATION_FOLDS = 5


# Models by name, and how a report calls them: for a target of classes and for one of numbers.
MODELS = {
    "logistic": ("logistic regression", "ridge regression, in place of logistic regression"),
    "rf": ("a random forest (100 trees)",) * 2,
    "knn": ("nearest neighbours (5)",) * 2,
    "svm": ("a linear support vector machine",) * 2,
}


def words_of(name: str, discrete: bool) -> str:
    """How a report calls the model of a name."""
    return MODELS[name][0 if discrete else 1]


def _named_model(name: str, discrete: bool) -> Any:
    # What takes long to import is imported when it is asked for.
    if name == "logistic":
        return LogisticRegression(max_iter=1000) if discrete else Ridge()
    if name == "knn":
        return KNeighborsClassifier(5) if discrete else KNeighborsRegressor(5)
    if name == "rf":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return (RandomForestClassifier if discrete else RandomForestRegressor)(100, random_state=0, n_jobs=1)
    from sklearn.svm import LinearSVC, LinearSVR

    # The primal solvers converge where the dual ones warn, and draw no random numbers.
    return LinearSVC(dual=False) if discrete else LinearSVR(dual=False, loss="squared_epsilon_insensitive", epsilon=0.1)


def make_model(model: Any, discrete: bool, parameter: str = "estimator") -> Any:
    """An unfitted model that suits the target: the one that a name means, or a clone of the user's."""
    if isinstance(model, str):
        check_choice(parameter, model, MODELS)
        return _named_model(model, discrete)
    about = f"{parameter}={repr(model).splitlines()[0]}"
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        names = ", ".join(map(repr, MODELS))
        raise ValueError(f"{about} is no object with fit and get_params; pass a scikit-learn model, or one of {names}")
    if not (is_classifier if discrete else is_regressor)(model):
        wanted, target = ("classifier", "discrete") if discrete else ("regressor", "continuous")
        raise ValueError(f"{about} is no {wanted}, but the target is {target}; pass a {wanted}")
    return clone(model)


def limit_neighbors(model: Any, n_rows: int) -> Any:
    """The model, with as many neighbours as there are rows if it asks for more."""
    if isinstance(model, KNeighborsClassifier | KNeighborsRegressor) and model.n_neighbors > n_rows:
        model.set_params(n_neighbors=n_rows)
    return model


PEERS = ("kbest", "lasso", "forest", "rfe", "lightgbm")


def make_peer(name: str, discrete: bool, is_category: NDArray[np.bool_], n_features: int) -> Any:
    """A selector that people use instead of ours, for columns of numbers in which categories are codes."""
    if name == "kbest":
        score = partial(mutual_info_classif if discrete else mutual_info_regression, random_state=0)
        return SelectKBest(partial(score, discrete_features=is_category), k="all")
    if name == "rfe":
        return partial(eliminate, make_model("logistic", discrete))
    if name == "lasso":
        model = make_model("svm", True).set_params(penalty="l1") if discrete else LassoCV()
    elif name == "forest":
        model = make_model("rf", discrete)
    else:
        library = import_module("lightgbm")
        model = (library.LGBMClassifier if discrete else library.LGBMRegressor)(random_state=0, n_jobs=1, verbose=-1)
    return make_pipeline(StandardScaler(), SelectFromModel(model, threshold=-np.inf, max_features=n_features))


def eliminate(model: Any, X: Values, y: Any, n_features: int, step: float = 0.1) -> Rows:
    """Order features by recursive elimination: a share of them at a time down to `n_features`, then one by one."""
    X = StandardScaler().fit_transform(X)
    left = np.arange(X.shape[1])
    if step > 0 and len(left) > n_features:
        left = np.flatnonzero(RFE(clone(model), n_features_to_select=n_features, step=step).fit(X, y).support_)
    fine = RFE(clone(model), n_features_to_select=1).fit(X[:, left], y)
    order: Rows = left[np.argsort(fine.ranking_, kind="stable")]
    return order[:n_features]


def order_of(fitted: Any, n_features: int) -> Rows:
    """Features in order of preference of a fitted scikit-learn selector.

    By `order_` if there is one, else by `ranking_` or `scores_`, which order all features, however many it selected;
    else those that it selected, by the importances or weights of its `estimator_` if it has one. Ties go to the lowest
    position. Of a pipeline, the last step.
    """
    fitted = fitted[-1] if hasattr(fitted, "steps") else fitted
    if hasattr(fitted, "order_"):
        return np.asarray(fitted.order_, np.intp)
    if hasattr(fitted, "ranking_"):
        return np.argsort(fitted.ranking_, kind="stable")
    scores = getattr(fitted, "scores_", None)
    if scores is not None and np.shape(scores) == (n_features,):
        return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")
    if not hasattr(fitted, "get_support"):
        raise TypeError(
            f"{type(fitted).__name__} tells no order: it has no order_, ranking_, scores_ or get_support(); "
            "wrap it in a function (X, y, n_features) -> order"
        )
    model = getattr(fitted, "estimator_", None)
    weights = np.atleast_2d(getattr(model, "feature_importances_", getattr(model, "coef_", 0.0)))
    importances = np.abs(weights).sum(axis=0) if weights.shape[1] == n_features else np.zeros(n_features)
    order = np.argsort(-importances, kind="stable")
    selected: Rows = order[np.asarray(fitted.get_support(), bool)[order]]
    return selected


def check_order(order: Any, n_features: int) -> Rows:
    """An order of features that someone else made, if it is one."""
    found = np.asarray(order)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(f"a selector must name at least one position of a column, but it says {order!r}")
    if len(np.unique(found)) < len(found) or found.min() < 0 or found.max() >= n_features:
        raise ValueError(f"an order must name each of {n_features} positions at most once: {found.tolist()}")
    return found


def design_matrix(table: Table) -> tuple[Values, list[Rows]]:
    """Features as numbers for a model.

    Parameters
    ----------
    table : Table
        The features.

    Returns
    -------
    matrix : ndarray of shape (n_samples, n_numbers)
        Continuous features as they are, NaN for a missing value, with a further column that marks it; discrete ones as
        one column for each level, or one in all for two levels and none for a constant. Of more than 100 levels the
        most frequent have columns.
    columns_of : list of ndarray
        Columns of the matrix that belong to each feature of the table, none for an ignored one.
    """
    blocks = [np.empty((0, table.n_samples))] * table.n_features
    for feature in table.features.tolist():
        blocks[feature] = _levels_of(table, feature) if table.discrete[feature] else _numbers_of(table, feature)
    matrix = np.ascontiguousarray(np.concatenate(blocks).T)
    ends = np.cumsum([len(block) for block in blocks])
    return matrix, np.split(np.arange(matrix.shape[1]), ends[:-1])


def code_matrix(table: Table) -> Values:
    """One column for each feature, for selectors that take numbers: levels as codes, NaN for a missing number."""
    matrix = np.zeros((table.n_samples, table.n_features))  # columns that are ignored stay 0
    for feature in table.features.tolist():
        values = table.codes(feature) if table.discrete[feature] else table.continuous_block([feature])[0]
        matrix[:, feature] = values
    return matrix


def _levels_of(table: Table, feature: int) -> Values:
    codes = table.codes(feature)
    counts = np.bincount(codes)
    levels = np.arange(1 if len(counts) <= 2 else 0, len(counts))
    if len(levels) > _MAX_LEVELS:
        levels = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LEVELS])
    return np.asarray(codes == levels[:, None], np.float64)


def _numbers_of(table: Table, feature: int) -> Values:
    values: Values = table.continuous_block([feature])
    missing = np.isnan(values)
    return np.concatenate([values, missing]) if missing.any() else values


def standardise(matrix: Values, train: Rows) -> Values:
    """All rows in units of the training rows, whose mean stands for missing values; a constant is only centred."""
    if matrix.shape[1] == 0:  # all features are constant
        return matrix
    with np.errstate(invalid="ignore", divide="ignore"):  # a column without any value among the training rows
        scaled: Values = StandardScaler().fit(matrix[train]).transform(matrix)
    return np.where(np.isnan(scaled), 0.0, scaled)


def smallest_class(codes: NDArray[Any]) -> tuple[int, int]:
    """The smallest class that has more than one row, and how many it has."""
    sizes = np.bincount(codes)
    smallest = int(np.where(sizes > 1, sizes, len(codes) + 1).argmin())
    return smallest, int(sizes[smallest])


def split_classes(codes: NDArray[Any], n_folds: int) -> Iterable[Split]:
    """Rows to train on and to predict, with equal shares of the classes, whatever the order of the rows."""
    sizes = np.bincount(codes)
    # A class of one row has no shares; as part of the largest class it falls into any fold.
    strata = np.where(sizes[codes] == 1, sizes.argmax(), codes)
    splits: Iterable[Split] = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(strata, strata)
    return splits


def split_numbers(n_rows: int, n_folds: int) -> Iterable[Split]:
    """Rows to train on and to predict, where there are no classes."""
    splits: Iterable[Split] = KFold(n_folds, shuffle=True, random_state=0).split(np.zeros(n_rows))
    return splits


class ClassifierLoss(BaseEstimator):  # type: ignore[misc]
    """Unique relevance by a classifier: its cross-entropy when it is trained without a feature, in nats.

    Parameters
    ----------
    estimator : {"logistic", "rf", "knn", "svm"} or scikit-learn classifier
        Logistic regression, a random forest of 100 trees, five nearest neighbours, a linear support vector machine; or
        a classifier of your own, which is cloned. For a continuous target the names mean the regressors of their kind
        ("logistic": ridge regression), and an estimator of your own must be a regressor.
    cv : int, splitter, iterable of splits or "train"
        Folds, shuffled by a fixed seed and stratified if the target is discrete; or a splitter of scikit-learn; or
        "train" for the loss on the rows that the classifier was trained on. With fewer rows of a class than folds, the
        number of folds is lowered with a warning.

    Notes
    -----
    Categories are one-hot encoded, numbers standardised by the training rows, missing values replaced by the mean and
    marked in a column of their own (see `design_matrix`).

    The loss is the mean of ``-log p(class of the row)`` over all predicted rows. Probabilities are raised to 1 / (2N):
    N rows cannot tell a rarer event from one that never happens, and forests and neighbours do answer 0. With a floor
    such as 1e-15 a single surprise would cost 35 nats and outweigh what a feature is worth. A class without a row to
    train on gets that probability too.

    A classifier without ``predict_proba`` is calibrated on 5 folds of its training rows, fewer if a class is smaller;
    a class with one training row cannot be calibrated and is left out. With one class or no column left to train on,
    the frequencies of the classes are predicted.

    For a continuous target the loss is the negative log-likelihood of a normal distribution,
    ``0.5 * log(2 * pi * v) + 0.5`` with v the mean squared residual of the standardised target.

    Examples
    --------
    The first column decides the class, the second has nothing to do with it.

    >>> from unirel.data.table import Table
    >>> from unirel.predictors import ClassifierLoss
    >>> table = Table.from_data([[0, 0], [0, 1], [1, 0], [1, 1]] * 25, [0, 0, 1, 1] * 25)
    >>> ClassifierLoss("logistic").losses(table).round(2)
    array([0.71, 0.04])
    """

    def __init__(self, estimator: Any = "logistic", cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def losses(
        self, table: Table, columns: Rows | None = None, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Values:
        """Loss without each feature.

        Parameters
        ----------
        table : Table
            Features and target.
        columns : ndarray of int, optional
            Features to leave out, one at a time; all if None. The classifier sees the others in any case.
        n_jobs : int, optional
            Threads, as in scikit-learn. The result does not depend on them.
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of features.

        Returns
        -------
        ndarray of shape (n_features,)
            The more a feature is missed, the larger; NaN for a feature that is ignored or not asked about.
        """
        if table.is_sparse:
            raise TypeError("X is sparse, but a classifier is trained on all values; pass X.toarray() or another kind")
        target = _Numbers(table) if table.classes is None else _Classes(table)
        model = make_model(self.estimator, table.classes is not None)
        matrix, columns_of = design_matrix(table)
        features = table.features if columns is None else columns
        splits = self._splits(matrix, target)
        # Each column is standardised by itself, so that can be done before one is left out.
        inputs = [standardise(matrix, train) for train, _ in splits]

        def cost_without(feature: int) -> float:
            total = 0.0
            for (train, test), scaled in zip(splits, inputs, strict=True):
                rest = np.delete(scaled, columns_of[feature], axis=1)
                total += target.cost(clone(model), rest, train, test)
            return total / sum(len(test) for _, test in splits)

        means = np.array(map_tasks(cost_without, features.tolist(), n_jobs, progress))
        return table.one_per_feature(target.loss(means), features)

    def _splits(self, matrix: Values, target: "_Classes | _Numbers") -> list[Split]:
        """Rows to train on and rows to predict, the same for every feature."""
        rows = np.arange(len(matrix))
        if isinstance(self.cv, str) and self.cv == "train":
            return [(rows, rows)]
        if not isinstance(self.cv, str) and (hasattr(self.cv, "split") or isinstance(self.cv, Iterable)):
            splits = check_cv(self.cv).split(matrix, target.values)
        else:
            splits = target.split(check_whole_number("cv", self.cv, 2, or_name="train"))
        return [(rows[train], rows[test]) for train, test in splits]


class _Classes:
    """Class labels: probabilities are predicted, and a row costs minus the logarithm of that of its class."""

    def __init__(self, table: Table) -> None:
        self.values = table.codes(table.target)
        self._n_classes = int(self.values.max()) + 1
        self._labels = [] if table.classes is None else table.classes.tolist()
        self._least = 0.5 / table.n_samples

    def split(self, n_folds: int) -> Iterable[Split]:
        single = np.bincount(self.values) == 1
        if single.all():
            raise ValueError("every class of y has one sample only; merge classes, or make the target continuous")
        smallest, size = smallest_class(self.values)
        if size < n_folds:
            label = self._labels[smallest]
            _warn(f"class {label!r} has {size} samples, so cv={n_folds} is lowered to {size}; merge rare classes")
        if single.any():
            label = self._labels[int(single.argmax())]
            _warn(f"class {label!r} has one sample, which no other can help to predict; merge rare classes")
        return split_classes(self.values, min(n_folds, size))

    def cost(self, model: Any, inputs: Values, train: Rows, test: Rows) -> float:
        probabilities = self._predict(model, inputs, train, test)[np.arange(len(test)), self.values[test]]
        return float(-np.log(np.maximum(probabilities, self._least)).sum())

    def loss(self, mean_costs: Values) -> Values:
        return mean_costs

    def _predict(self, model: Any, inputs: Values, train: Rows, test: Rows) -> Values:
        calibrated = not hasattr(model, "predict_proba")
        known = train[np.bincount(self.values[train])[self.values[train]] > 1] if calibrated else train
        # Numbered anew, since some classifiers insist on labels without gaps.
        present, labels = np.unique(self.values[known], return_inverse=True)
        if len(present) < 2 or inputs.shape[1] == 0:
            return np.tile(np.bincount(self.values[train], minlength=self._n_classes) / len(train), (len(test), 1))
        model = limit_neighbors(model, len(known))
        if calibrated:
            from sklearn.calibration import CalibratedClassifierCV

            folds = StratifiedKFold(
                min(_CALIBRATION_FOLDS, int(np.bincount(labels).min())), shuffle=True, random_state=0
            )
            # One model of all rows, not a mean of models of some rows; it is also the quicker way.
            model = CalibratedClassifierCV(model, cv=folds, ensemble=False)
        predictions = np.zeros((len(test), self._n_classes))
        predictions[:, present] = model.fit(inputs[known], labels).predict_proba(inputs[test])
        return predictions


class _Numbers:
    """A continuous target: its mean is predicted, and a row costs its squared residual."""

    def __init__(self, table: Table) -> None:
        self.values: Values = standardise(table.continuous_block([table.target]).T, np.arange(table.n_samples))[:, 0]

    def split(self, n_folds: int) -> Iterable[Split]:
        lowered = min(n_folds, len(self.values))
        if lowered < n_folds:
            _warn(f"y has {lowered} samples, so cv={n_folds} is lowered to {lowered}; pass a lower one")
        return split_numbers(len(self.values), lowered)

    def cost(self, model: Any, inputs: Values, train: Rows, test: Rows) -> float:
        predictions: Any = self.values[train].mean()
        if inputs.shape[1] > 0:
            fitted = limit_neighbors(model, len(train)).fit(inputs[train], self.values[train])
            predictions = np.ravel(fitted.predict(inputs[test]))
        return float(np.square(predictions - self.values[test]).sum())

    def loss(self, mean_costs: Values) -> Values:
        # Residuals that are all 0 would have an infinite likelihood.
        return np.asarray(0.5 * np.log(2 * np.pi * np.maximum(mean_costs, 1e-12)) + 0.5)


def _warn(message: str) -> None:
    warnings.warn(message, UnirelWarning, stacklevel=5)
