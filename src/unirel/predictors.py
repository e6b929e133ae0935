"""scikit-learn's models and selectors by name, and the loss of a model trained without each feature.

scikit-learn is imported where it is used: what selects and reads names of models here does without it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import Parameters, check_choice, check_whole_number, map_tasks, warn
from unirel.data.table import Table
from unirel.documents import make_frame

Values = NDArray[np.float64]
Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]

# A column with more levels has columns of its own for the most frequent ones only.
_MAX_LEVELS = 100
_CALIBRATION_FOLDS = 5
PEERS = ("kbest", "lasso", "forest", "rfe", "lightgbm")
LINEAR = ("lasso", "rfe")  # those of them to which the codes of a category mean nothing
# A level that fewer rows have, or a smaller share of them, is merged with others like it.
_RARE_ROWS, _RARE_SHARE = 5, 0.01
# Models by name, and how a report calls them: for a target of classes and for one of numbers.
MODELS = {
    "logistic": ("logistic regression", "ridge regression, in place of logistic regression"),
    "rf": ("a random forest (100 trees)",) * 2,
    "knn": ("nearest neighbours (5)",) * 2,
    "svm": ("a linear support vector machine",) * 2,
}


def _named_model(name: str, discrete: bool) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression, Ridge

        return LogisticRegression(max_iter=1000) if discrete else Ridge()
    if name == "knn":
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        return KNeighborsClassifier(5) if discrete else KNeighborsRegressor(5)
    if name == "rf":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return (RandomForestClassifier if discrete else RandomForestRegressor)(100, random_state=0, n_jobs=1)
    from sklearn.svm import LinearSVC, LinearSVR

    # The primal solvers converge where the dual ones warn, and draw no random numbers.
    return LinearSVC(dual=False) if discrete else LinearSVR(dual=False, loss="squared_epsilon_insensitive", epsilon=0.1)


def quick_models(discrete: bool) -> dict[str, Any]:
    """Two models that are quick on a few thousand rows, by how a report calls them: a linear one and one of trees."""
    # Trees whose splits are drawn at random: benchmarks had them nearer to gradient boosting than random forests,
    # single trees or neighbours are, at a fifth of its time.
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    trees = ExtraTreesClassifier if discrete else ExtraTreesRegressor
    return {
        "logistic regression" if discrete else "ridge regression": LogisticRegression(max_iter=1000, tol=1e-3)
        if discrete
        else Ridge(),
        "extremely randomised trees": trees(12, min_samples_leaf=2, max_features=0.5, random_state=0, n_jobs=1),
    }


def make_model(model: Any, discrete: bool, parameter: str = "estimator") -> Any:
    """An unfitted model that suits the target: the one that a name means, or a clone of the user's."""
    from sklearn.base import clone, is_classifier, is_regressor

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
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    if isinstance(model, KNeighborsClassifier | KNeighborsRegressor) and model.n_neighbors > n_rows:
        model.set_params(n_neighbors=n_rows)
    return model


def fit_model(model: Any, discrete: bool, X: Values, y: NDArray[Any], sample_weight: Values | None = None) -> Any:
    """A model, by name or not, fitted; what is most frequent, or the mean, where there is no column to learn from.

    Neighbours know no weights of rows and do without.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.utils.validation import has_fit_parameter

    if X.shape[1] == 0:
        return (DummyClassifier() if discrete else DummyRegressor()).fit(X, y, sample_weight)
    fitted = limit_neighbors(make_model(model, discrete), len(y))
    weighted = sample_weight is not None and has_fit_parameter(fitted, "sample_weight")
    return fitted.fit(X, y, sample_weight=sample_weight) if weighted else fitted.fit(X, y)


def check_installed(name: str) -> None:
    if name == "lightgbm" and find_spec(name) is None:
        raise ImportError("the selector 'lightgbm' needs lightgbm; install it with: pip install lightgbm")


def prepare(values: Values, is_category: bool, train: Rows) -> Values:
    """One feature of all rows as columns for a model, by steps that are fitted to the training rows alone."""
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    # Marks of levels and of missing values are not standardised: those of a rare one would outweigh all else.
    steps: Any = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=max(_RARE_ROWS, int(_RARE_SHARE * len(train))),
        max_categories=_MAX_LEVELS,
        sparse_output=False,
    )
    if not is_category:
        numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
        steps = make_union(numbers, MissingIndicator(error_on_new=False))
    column = values[:, np.newaxis]
    return np.asarray(steps.fit(column[train]).transform(column), np.float64)


def order_by_columns(name: str, blocks: Sequence[Values], y: Any, discrete: bool, n_features: int) -> Rows:
    """Features in the order in which a linear peer prefers the best of their columns."""
    feature_of = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    X = np.hstack(blocks)
    # Some features have several columns among the best.
    n_columns = n_features if len(feature_of) == len(blocks) else min(len(feature_of), max(50, 4 * n_features))
    peer = make_peer(name, discrete, np.zeros(len(feature_of), bool), n_columns)
    best = feature_of[order_by(peer, X, y, n_columns, len(feature_of))]
    return np.array(list(dict.fromkeys(best.tolist()))[:n_features], np.intp)


def make_peer(name: str, discrete: bool, is_category: NDArray[np.bool_], n_features: int) -> Any:
    """A selector that people use instead of ours, for columns of numbers in which categories are codes."""
    from sklearn.feature_selection import SelectFromModel, SelectKBest, mutual_info_classif, mutual_info_regression
    from sklearn.linear_model import LassoCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "kbest":
        score = partial(mutual_info_classif if discrete else mutual_info_regression, random_state=0)
        return SelectKBest(partial(score, discrete_features=is_category), k="all")
    if name == "rfe":
        return partial(eliminate, make_model("logistic", discrete))
    if name == "lasso":
        model = make_model("svm", True).set_params(penalty="l1", max_iter=10_000) if discrete else LassoCV()
    elif name == "forest":
        model = make_model("rf", discrete)
    else:
        library = import_module("lightgbm")
        model = (library.LGBMClassifier if discrete else library.LGBMRegressor)(random_state=0, n_jobs=1, verbose=-1)
    return make_pipeline(StandardScaler(), SelectFromModel(model, threshold=-np.inf, max_features=n_features))


def eliminate(model: Any, X: Values, y: Any, n_features: int, step: float = 0.1) -> Rows:
    """Order features by recursive elimination: a share of them at a time down to `n_features`, then one by one."""
    from sklearn.base import clone
    from sklearn.feature_selection import RFE
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(X)
    left = np.arange(X.shape[1])
    if step > 0 and len(left) > n_features:
        left = np.flatnonzero(RFE(clone(model), n_features_to_select=n_features, step=step).fit(X, y).support_)
    fine = RFE(clone(model), n_features_to_select=1).fit(X[:, left], y)
    return np.asarray(left[np.argsort(fine.ranking_, kind="stable")][:n_features])


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
        about = f"{type(fitted).__name__} tells no order: it has no order_, ranking_, scores_ or get_support()"
        raise TypeError(f"{about}; wrap it in a function (X, y, n_features) -> order")
    model = getattr(fitted, "estimator_", None)
    weights = np.atleast_2d(getattr(model, "feature_importances_", getattr(model, "coef_", 0.0)))
    importances = np.abs(weights).sum(axis=0) if weights.shape[1] == n_features else np.zeros(n_features)
    order = np.argsort(-importances, kind="stable")
    return np.asarray(order[np.asarray(fitted.get_support(), bool)[order]])


def order_by(selector: Any, X: Any, y: Any, n_features: int, n_columns: int, **params: Any) -> Rows:
    """Features in the order in which a selector, or a function, prefers them; at least one, each at most once."""
    from sklearn.base import clone

    is_function = not hasattr(selector, "fit")
    order = selector(X, y, n_features) if is_function else order_of(clone(selector).fit(X, y, **params), n_columns)
    found = np.asarray(order)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(f"a selector must name at least one position of a column, but it says {order!r}")
    if len(np.unique(found)) < len(found) or found.min() < 0 or found.max() >= n_columns:
        raise ValueError(f"an order must name each of {n_columns} positions at most once: {found.tolist()}")
    return found


def design_matrix(
    table: Table, features: Rows | None = None, rows: Rows | slice = slice(None)
) -> tuple[Values, list[Rows]]:
    """Features as numbers for a model, and which columns of the matrix belong to each feature; none if it is left out.

    Numbers are as they are, NaN for a missing value, with a further column that marks it; categories are one column for
    each level, or one in all for two levels and none for a constant. Of more than 100 levels the most frequent count.
    """
    blocks = [np.empty((0, len(np.arange(table.n_samples)[rows])))] * table.n_features
    for feature in (table.features if features is None else features).tolist():
        if table.discrete[feature]:
            blocks[feature] = _levels_of(table.codes(feature)[rows])
        else:
            values = table.continuous_block([feature])[:, rows]
            missing = np.isnan(values)
            blocks[feature] = np.concatenate([values, missing]) if missing.any() else values
    matrix = np.ascontiguousarray(np.concatenate(blocks).T)
    ends = np.cumsum([len(block) for block in blocks])
    return matrix, np.split(np.arange(matrix.shape[1]), ends[:-1])


def code_matrix(table: Table) -> Values:
    """One column for each feature, for selectors that take numbers: levels as codes, NaN for a missing number."""
    matrix = np.zeros((table.n_samples, table.n_features))  # columns that are ignored stay 0
    for feature in table.features.tolist():
        matrix[:, feature] = table.codes(feature) if table.discrete[feature] else table.continuous_block([feature])[0]
    return matrix


def _levels_of(codes: NDArray[np.int32]) -> Values:
    counts = np.bincount(codes)
    levels = np.arange(1 if len(counts) <= 2 else 0, len(counts))
    if len(levels) > _MAX_LEVELS:
        levels = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LEVELS])
    return np.asarray(codes == levels[:, None], np.float64)


def standardise(matrix: Values, train: Rows) -> Values:
    """All rows in units of the training rows, whose mean stands for missing values; a constant is only centred."""
    from sklearn.preprocessing import StandardScaler

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


def split_rows(
    target: NDArray[Any], discrete: bool, n_folds: int, groups: NDArray[np.intp] | None = None
) -> Iterable[Split]:
    """Rows to train on and to predict, with equal shares of the classes if there are any, whatever their order.

    Rows of a group are on the same side.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    if groups is not None:
        together = (StratifiedGroupKFold if discrete else GroupKFold)(n_folds, shuffle=True, random_state=0)
        return together.split(target, target, groups)  # type: ignore[no-any-return]
    splitter = (StratifiedKFold if discrete else KFold)(n_folds, shuffle=True, random_state=0)
    return splitter.split(target, strata_of(target, n_folds) if discrete else None)  # type: ignore[no-any-return]


def strata_of(target: NDArray[Any], fewest: int) -> NDArray[Any]:
    """Classes; one of fewer rows cannot be divided, and as part of the largest class it falls anywhere."""
    sizes = np.bincount(target)
    return np.where(sizes[target] < fewest, sizes.argmax(), target)


class ClassifierLoss(Parameters):
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

    The loss is the mean of ``-log p(class of the row)`` over all predicted rows; of a continuous target
    ``0.5 * log(2 * pi * v) + 0.5`` with v the mean squared residual of the standardised target. Probabilities are
    raised to 1 / (2N): N rows cannot tell a rarer event from one that never happens, and forests and neighbours do
    answer 0. A classifier without ``predict_proba`` is calibrated on 5 folds of its training rows, fewer if a class is
    smaller. With one class or no column left to train on, the frequencies of the classes are predicted.

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

    def losses(self, table: Table, columns: Rows | None = None, n_jobs: int | None = None) -> Values:
        """Loss without each feature; the more it is missed, the larger. The model sees the others in any case.

        NaN for a feature that is ignored or not among the columns asked about, which are all if None.
        """
        from sklearn.base import clone

        if table.is_sparse:
            raise TypeError("X is sparse, but a classifier is trained on all values; pass X.toarray() or another kind")
        discrete = table.classes is not None
        model, cost = make_model(self.estimator, discrete), _log_loss if discrete else _squared_error
        numbers = None if discrete else table.continuous_block([table.target]).T
        y = table.codes(table.target) if numbers is None else standardise(numbers, np.arange(len(numbers)))[:, 0]
        matrix, columns_of = design_matrix(table)
        features = table.features if columns is None else columns
        splits = self._splits(table, matrix, y)
        # Each column is standardised by itself, so that can be done before one is left out.
        inputs = [standardise(matrix, train) for train, _ in splits]

        def cost_without(feature: int) -> float:
            total = 0.0
            for (train, test), scaled in zip(splits, inputs, strict=True):
                total += cost(clone(model), np.delete(scaled, columns_of[feature], axis=1), y, train, test)
            return total / sum(len(test) for _, test in splits)

        means = np.array(map_tasks(cost_without, features.tolist(), n_jobs))
        if not discrete:  # residuals that are all 0 would have an infinite likelihood
            means = 0.5 * np.log(2 * np.pi * np.maximum(means, 1e-12)) + 0.5
        return table.one_per_feature(means, features)

    def _splits(self, table: Table, matrix: Values, y: NDArray[Any]) -> list[Split]:
        rows = np.arange(len(y))
        if isinstance(self.cv, str) and self.cv == "train":
            return [(rows, rows)]
        if not isinstance(self.cv, str) and (hasattr(self.cv, "split") or isinstance(self.cv, Iterable)):
            from sklearn.model_selection import check_cv

            splits = check_cv(self.cv).split(matrix, y)
        else:
            n_folds = _lower_folds(check_whole_number("cv", self.cv, 2, or_name="train"), table, y)
            splits = split_rows(y, table.classes is not None, n_folds)
        return [(rows[train], rows[test]) for train, test in splits]


def _lower_folds(n_folds: int, table: Table, y: NDArray[Any]) -> int:
    """As many folds as each class has rows, or all rows are; fewer than were asked for are warned of."""
    if table.classes is None:
        about, size = "y", len(y)
    else:
        labels, single = table.classes.tolist(), np.bincount(y) == 1
        if single.all():
            raise ValueError("every class of y has one sample only; merge classes, or make the target continuous")
        if single.any():
            lone = f"class {labels[int(single.argmax())]!r} has one sample"
            warn(f"{lone}, which no other can help to predict; merge rare classes")
        smallest, size = smallest_class(y)
        about = f"class {labels[smallest]!r}"
    if size < n_folds:
        warn(f"{about} has {size} samples, so cv={n_folds} is lowered to {size}; pass a lower one")
    return min(n_folds, size)


def _log_loss(model: Any, inputs: Values, codes: NDArray[Any], train: Rows, test: Rows) -> float:
    """Minus the logarithm of the predicted probability of the class of each test row, summed."""
    probabilities = _predict(model, inputs, codes, train, test)[np.arange(len(test)), codes[test]]
    return float(-np.log(np.maximum(probabilities, 0.5 / len(codes))).sum())


def _predict(model: Any, inputs: Values, codes: NDArray[Any], train: Rows, test: Rows) -> Values:
    n_classes, calibrated = int(codes.max()) + 1, not hasattr(model, "predict_proba")
    known = train[np.bincount(codes[train])[codes[train]] > 1] if calibrated else train
    # Numbered anew, since some classifiers insist on labels without gaps.
    present, labels = np.unique(codes[known], return_inverse=True)
    if len(present) < 2 or inputs.shape[1] == 0:
        return np.tile(np.bincount(codes[train], minlength=n_classes) / len(train), (len(test), 1))
    model = limit_neighbors(model, len(known))
    if calibrated:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import StratifiedKFold

        n_folds = min(_CALIBRATION_FOLDS, int(np.bincount(labels).min()))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        # One model of all rows, not a mean of models of some rows; it is also the quicker way.
        model = CalibratedClassifierCV(model, cv=folds, ensemble=False)
    predictions = np.zeros((len(test), n_classes))
    predictions[:, present] = model.fit(inputs[known], labels).predict_proba(inputs[test])
    return predictions


def _squared_error(model: Any, inputs: Values, y: NDArray[Any], train: Rows, test: Rows) -> float:
    fitted = fit_model(model, False, inputs[train], y[train])
    return float(np.square(np.ravel(fitted.predict(inputs[test])) - y[test]).sum())


def passing_on(columns: NDArray[np.intp], n_features: int, names: Any = None) -> Any:
    """A fitted transformer of scikit-learn that passes some columns on, by their names if there are names."""
    from sklearn.compose import ColumnTransformer  # slow to import

    taken = columns.tolist() if names is None else names[columns].tolist()
    transformer = ColumnTransformer([("selected", "passthrough", taken)], verbose_feature_names_out=False)
    row: Any = np.zeros((1, n_features))  # it is fitted to shape and names only
    return transformer.fit(row if names is None else make_frame(dict(zip(names, row.T, strict=True))))
