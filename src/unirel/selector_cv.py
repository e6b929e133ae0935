"""A selector that chooses the weight of unique relevance and the number of features by cross-validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from unirel._runtime import ProgressBar
from unirel.data.reading import take_columns, take_rows
from unirel.data.table import Table
from unirel.errors import check_beta, check_whole_number
from unirel.estimation.base import Columns, Values
from unirel.search.folds import score_prefixes, select_rows
from unirel.search.greedy import select
from unirel.search.settings import SearchSettings
from unirel.selectors import BaseSelector, BURSelector

# Means of the same scores in another order differ by less than this.
_ROUNDING = 1e-12


class BURSelectorCV(BaseSelector):
    """Select features as `BURSelector` does, with beta and the number of features chosen by cross-validation.

    In each fold features are selected from the training rows, once for all betas and numbers; the estimator is fitted
    to the first n of them and scored on the test rows. The best mean score decides, and with what it chooses features
    are selected from all rows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        What is scored. It gets columns of `X` as they are, so texts and missing values must be something it can handle,
        such as a pipeline that encodes them.
    selector : BURSelector, optional
        How features are selected, beta and their number aside; ``BURSelector()`` if None. Its time budget is that of
        each search: one for every fold, and one for all rows.
    betas : list of float, default=(0.0, 0.1, 0.3, 0.5)
        Weights of unique relevance to try; 0, no boost, is always tried.
    max_features : int, default=30
        Most features to try; all of them if there are fewer.
    step : int, default=1
        Try every `step`-th number of features, from `max_features` down.
    cv : int, splitter or iterable of splits, default=5
        How rows are split, as in scikit-learn.
    scoring : str or callable, optional
        A scorer of scikit-learn; None is the estimator's own score.
    one_standard_error : bool, default=False
        Choose the fewest features whose mean score is within one standard error of the best one.
    n_jobs : int, optional
        Folds at a time, as in scikit-learn.
    verbose : bool, default=False
        Draw a progress bar on standard error.

    Attributes
    ----------
    best_beta_ : float
        The weight of unique relevance that was chosen.
    n_features_ : int
        The number of features that was chosen.
    cv_results_ : dict of ndarray
        "beta", "n_features", "mean_test_score", "std_test_score" and "split0_test_score", ... with one entry for each
        beta and number of features. NaN where a search ended before it had that many features.
    order_, selection_scores_, ranking_, support_, relevance_, unique_relevance_, selection_, columns_
        As in `BURSelector`, and so are `n_features_in_` and `feature_names_in_`.

    See Also
    --------
    BURSelector : With beta and the number of features given.

    Notes
    -----
    Among equal scores the fewest features win, then the smallest beta. The score that was best of many is a little too
    good to be true; to judge the result, cross-validate the selector itself, in a pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from unirel import BURSelectorCV
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = BURSelectorCV(KNeighborsClassifier(), one_standard_error=True).fit(X, y)
    >>> selector.best_beta_, selector.n_features_
    (0.5, 2)
    >>> selector.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        estimator: Any,
        selector: BURSelector | None = None,
        *,
        betas: Sequence[float] = (0.0, 0.1, 0.3, 0.5),
        max_features: int = 30,
        step: int = 1,
        cv: Any = 5,
        scoring: Any = None,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.selector = selector
        self.betas = betas
        self.max_features = max_features
        self.step = step
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Choose beta and the number of features, then select features from all rows.

        Parameters
        ----------
        X, y : array or frame, array or series
            The features and the target, as in `BURSelector.fit`.
        **params
            `groups` for the splitter and, if metadata routing is enabled in scikit-learn, what the estimator, the
            scorer and the splitter have requested.

        Returns
        -------
        self
        """
        routed = self._route(params)
        X = self._check_table(X, reset=True)
        settings = self._searcher().settings()
        table, _ = self._read(X, y, settings)
        betas, sizes = _check_betas(self.betas), self._sizes(table, settings)
        trial = _Trial(
            estimator=self.estimator,
            scorer=check_scoring(self.estimator, scoring=self.scoring),
            table=table,
            betas=betas,
            sizes=sizes,
            settings=replace(settings, n_features_to_select=sizes[-1], n_jobs=1, verbose=False),
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
        )
        scores = self._cross_validate(trial, X, y, routed.splitter.split)
        self.cv_results_ = _results(betas, sizes, scores)
        best = _choose(self.cv_results_, scores, self.one_standard_error)
        self.best_beta_ = float(self.cv_results_["beta"][best])
        self.n_features_ = int(self.cv_results_["n_features"][best])
        verbose = settings.verbose or self.verbose
        settings = replace(settings, n_features_to_select=self.n_features_, verbose=verbose)
        (selection,) = select(table, [settings.criterion], [self.best_beta_], settings)
        self._keep(table, selection, self.n_features_)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata the estimator, the splitter and the scorer get."""
        router = MetadataRouter(owner=type(self).__name__)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan &= inner.allow_nan
        tags.input_tags.string = inner.string
        tags.input_tags.sparse &= inner.sparse
        return tags

    def _route(self, params: Mapping[str, Any]) -> Any:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        unknown = [name for name in params if name != "groups"]
        if unknown:
            raise ValueError(
                f"fit got {', '.join(unknown)}, which is only passed on if metadata routing is enabled: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        split = Bunch(split={"groups": params.get("groups")})
        return Bunch(estimator=Bunch(fit={}), splitter=split, scorer=Bunch(score={}))

    def _searcher(self) -> BURSelector:
        return BURSelector() if self.selector is None else self.selector

    def _sizes(self, table: Table, settings: SearchSettings) -> list[int]:
        """Numbers of features to try, in ascending order."""
        most, step = check_whole_number("max_features", self.max_features, 1), check_whole_number("step", self.step, 1)
        included, excluded = set(table.positions(settings.include)), set(table.positions(settings.exclude))
        if len(included) > most:
            raise ValueError(f"include names {len(included)} features, but max_features={most}; try more features")
        most = max(1, min(most, len(set(table.features.tolist()) - excluded)))
        return sorted(range(most, max(len(included), 1) - 1, -step)) or [most]

    def _cross_validate(self, trial: "_Trial", X: Any, y: Any, split_params: Mapping[str, Any]) -> Values:
        """Scores of shape (n_splits, n_betas, n_sizes)."""
        labels = column_or_1d(y)
        splitter = check_cv(self.cv, labels, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, labels, **split_params))
        progress = ProgressBar("cross-validating") if self.verbose else None
        pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
        scores = []
        for fold in pool(delayed(trial.score)(X, y, labels, train, test) for train, test in splits):
            scores.append(fold)
            if progress is not None:
                progress(len(scores), len(splits))
        return np.array(scores)


@dataclass(frozen=True)
class _Trial:
    """What is tried in every fold."""

    estimator: Any
    scorer: Any
    table: Table
    betas: list[float]
    sizes: list[int]
    settings: SearchSettings
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]

    def score(self, X: Any, y: Any, labels: NDArray[Any], train: Any, test: Any) -> Values:
        """Scores of one fold, of shape (n_betas, n_sizes); NaN where too few features were selected."""
        train, test = _row_numbers(train), _row_numbers(test)
        path = select_rows(X, y, train, self.table, self.betas, self.settings)
        orders = [selection.order for selection in path]
        return score_prefixes(orders, self.sizes, lambda columns: self._score(X, labels, columns, train, test))

    def _score(self, X: Any, labels: NDArray[Any], columns: Columns, train: Columns, test: Columns) -> float:
        chosen = take_columns(X, columns)
        fit_params, score_params = _of_rows(self.fit_params, labels, train), _of_rows(self.score_params, labels, test)
        fitted = clone(self.estimator).fit(take_rows(chosen, train), labels[train], **fit_params)
        return float(self.scorer(fitted, take_rows(chosen, test), labels[test], **score_params))


def _row_numbers(rows: Any) -> Columns:
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype == bool else array.astype(np.intp)


def _of_rows(params: Mapping[str, Any], labels: NDArray[Any], rows: Columns) -> dict[str, Any]:
    """Metadata of some rows; what is not given by row stays as it is."""
    by_row = {name for name, value in params.items() if _length(value) == len(labels)}
    return {name: take_rows(value, rows) if name in by_row else value for name, value in params.items()}


def _length(value: Any) -> int | None:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, str) else None


def _check_betas(betas: Any) -> list[float]:
    """Weights to try in ascending order, 0 among them."""
    given = [betas] if isinstance(betas, Real) else list(betas)
    return sorted({0.0, *(check_beta(beta, "betas") for beta in given)})


def _results(betas: list[float], sizes: list[int], scores: Values) -> dict[str, NDArray[Any]]:
    """One entry for each beta and number of features."""
    flat = scores.reshape(len(scores), -1)
    return {
        "beta": np.repeat(betas, len(sizes)),
        "n_features": np.tile(sizes, len(betas)),
        "mean_test_score": flat.mean(axis=0),
        "std_test_score": flat.std(axis=0),
        **{f"split{number}_test_score": fold for number, fold in enumerate(flat)},
    }


def _choose(results: Mapping[str, NDArray[Any]], scores: Values, one_standard_error: bool) -> int:
    """Position of the fewest features, then of the smallest beta, among the best scores."""
    means = results["mean_test_score"]
    if np.isnan(means).all():
        raise TimeoutError("no number of features was reached in every fold; give more with max_seconds=")
    best = int(np.nanargmax(means))
    slack = _ROUNDING
    if one_standard_error and len(scores) > 1:
        slack += scores.reshape(len(scores), -1)[:, best].std(ddof=1) / len(scores) ** 0.5
    good = np.flatnonzero(means >= means[best] - slack)
    return int(good[np.lexsort((results["beta"][good], results["n_features"][good]))[0]])
