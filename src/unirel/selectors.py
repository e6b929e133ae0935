"""Selectors that drop into any scikit-learn pipeline; the second chooses its parameters by cross-validation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.utils import check_array, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from unirel._runtime import READING_SECONDS, Deadline
from unirel.criteria import Criterion
from unirel.data.readers import collected, is_frame, is_lazy, is_parted, take_columns, take_named
from unirel.data.table import Table, open_table
from unirel.estimation.knn import KNN
from unirel.predictors import ClassifierLoss, passing_on
from unirel.results import Selection
from unirel.search.folds import Trial, check_betas, choose, results_of, route, sizes_to_try, split_rows, splitter_of
from unirel.search.greedy import SearchSettings, check_selection, select, with_groups


class _Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Checks a table, keeps a selection and gives its columns; subclasses decide how to search."""

    def transform(self, X: Any, *, by_name: bool = False) -> Any:
        """Reduce `X` to the selected features, in the order in which they stand in `X`; of a frame a frame.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns as in `fit`. Of a polars LazyFrame only the selected columns are collected.
        by_name : bool
            Take the selected columns of a frame by their names, wherever they stand and whatever else there is. As
            scikit-learn wants it, columns are otherwise refused that are not those of `fit` in the same order.
        """
        check_is_fitted(self)
        if is_parted(X):
            from unirel.data.chunks import take_parted

            return take_parted(X, self)
        chosen = self.get_support(indices=True)
        asked = getattr(self, "_sklearn_output_config", {})  # where scikit-learn keeps what `set_output` is given
        library = str(asked.get("transform", get_config()["transform_output"]))
        if not by_name and not is_lazy(X):
            return take_columns(self._check_table(X, reset=False), chosen, library)
        if not by_name and not hasattr(self, "edges_"):  # or it was fitted in parts, whose target is a column too
            self._check_table(collected(X.head(0)), reset=False)  # the names are checked before anything is read
        return take_named(X, [self.selection_.column_names[position] for position in chosen.tolist()], library)

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected features, as `transform` gave them, back to their places, with zeros for all others."""
        if hasattr(X, "tocsc"):
            return super().inverse_transform(X)
        support = self.get_support()
        array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_features=0)
        if array.shape[1] != support.sum():
            raise ValueError(f"X has {array.shape[1]} columns, but {support.sum()} features were selected")
        result = np.zeros((array.shape[0], support.size), dtype=array.dtype)
        result[:, support] = array
        return result

    def to_sklearn(self) -> Any:
        """A fitted `ColumnTransformer` of scikit-learn that passes the selected columns on, as `transform` does.

        It needs no unirel where it is used, unpickled or cloned. Columns of frames with names are taken by these. It
        gives arrays, unless ``set_output(transform="pandas")``, of it or before of the selector, asks for frames.
        """
        names, asked = getattr(self, "feature_names_in_", None), getattr(self, "_sklearn_output_config", {})
        passing = passing_on(self.get_support(indices=True), self.n_features_in_, names)
        return passing.set_output(transform=asked["transform"]) if asked else passing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check shape and names the way scikit-learn does; what the columns hold is looked at when they are read."""
        if is_frame(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        if hasattr(X, "tocsc"):
            return validate_data(self, X, reset=reset, dtype=None, accept_sparse=True, ensure_all_finite=False)
        # In `fit` infinite values are refused by the name of their column; missing ones were fine if there were some.
        lenient = reset or get_tags(self).input_tags.allow_nan or any(column.n_missing for column in self.columns_)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=not lenient)
        if isinstance(X, np.ndarray):
            return X
        # numpy turns a list that mixes numbers and texts into texts.
        return np.array(X, dtype=object) if array.dtype.kind == "U" else array

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Set what scikit-learn sets, for a table in parts; the target and the weights may be columns of it."""
        from unirel.data.chunks import open_rows

        rows = open_rows(X, y, sample_weight)
        self.n_features_in_ = len(rows.names) - 1
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(rows.feature_names)
        return rows

    @contextmanager
    def _unchanged_if_it_fails(self) -> Iterator[None]:
        """Let whatever fails inside leave the selector as it was: fitted before, or not fitted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _read(self, X: Any, y: Any, settings: SearchSettings, sample_weight: Any = None) -> tuple[Table, Any]:
        """A table whose shape has been checked, and the weights of its rows; those of parts of it stay with them."""
        if getattr(y, "shape", ())[1:] == (1,):
            column_or_1d(y, warn=True)
        return open_table(X, y, settings.discrete_features, settings.target_type, sample_weight, several=True)

    def _keep(self, table: Table, selection: Selection) -> None:
        """Set what a fitted selector has.

        What Ctrl-C has left is kept as well, but the interrupt goes on: a loop around `fit` must not go on with it.
        """
        self._keep_selection(selection)
        self.columns_ = table.columns
        self.__dict__.pop("edges_", None)  # of a table that was fitted before
        if table.is_parted:
            self.edges_ = table.edges  # type: ignore[attr-defined]
        if selection.interrupted:
            raise KeyboardInterrupt(f"interrupted; the {len(selection)} features that were selected are kept")

    def _keep_selection(self, selection: Selection) -> None:
        self.selection_ = selection
        columns = selection.columns
        self.order_ = np.array([one for step in columns for one in step], np.intp)
        self.selection_scores_ = np.repeat(selection.scores, [len(step) for step in columns])
        self.relevance_ = selection.over_columns(selection.relevance)
        unique = selection.unique_relevance
        self.unique_relevance_ = None if unique is None else selection.over_columns(unique)
        self.support_ = np.isin(np.arange(len(selection.names)), self.order_)
        # Ties go to the lowest position, and ignored features, whose relevance is NaN, come last.
        others = np.flatnonzero(~self.support_)
        self.ranking_ = np.ones(self.support_.size, dtype=np.intp)
        self.ranking_[others[np.argsort(-self.relevance_[others], kind="stable")]] = np.arange(2, others.size + 2)


class BURSelector(_Selector, SearchSettings):
    """Select features by mutual information, with a boost for unique relevance.

    Features are selected one by one, each time the one with the largest ``(1 - beta) * J + beta * UR``, where J is the
    criterion and UR the unique relevance: what a feature tells about the target that others do not.

    Parameters
    ----------
    criterion : str or Criterion
        What to score candidates by: "mim", "mrmr", "jmi", "jmim", "cmim", "gsa" and others, see `unirel.criteria`.
    n_features_to_select : int, float, "auto", "auto:20" or "all"
        How many features, which share of them, as many as are seen to add something to those before them, no more than
        20 of these, or all features in order. If there are fewer than the number, all are selected.
    beta : float
        Weight of unique relevance, from 0 to 1; with 0 it is not computed at all.
    unique_relevance : {"both", "reference", "selected", "ksg", "classifier"}, Boost, KNN, ClassifierLoss or array
        Given the first 20 features that the same criterion selects without boost ("reference"), given those selected
        so far ("selected"), both of these, given all others ("ksg", as published), by the loss of a classifier without
        it ("classifier"), or values of your own. A `Boost`, which says more about the first three, `KNN` or
        `ClassifierLoss` has parameters of its own.
    mi_estimator : str or estimator of information
        "binned" (frequencies after binning), "plugin" (frequencies of discrete columns), "knn" (nearest neighbours),
        "gaussian", "partition", "kde", "mine", or an object such as ``Binned(n_bins=5)``. "auto" is "binned".
    discrete_features : "auto", bool, mask, list of names or positions, or mapping from columns to bool
        Which columns are discrete, as in scikit-learn; "auto" decides from their types and values, and so does a
        mapping for columns that it does not name.
    target_type : {"auto", "discrete", "continuous"}, or list of these for several targets
        Whether the target is a class label; "auto" decides from its type and values.
    include, exclude : list of names, positions, patterns or types
        Features that are selected first, in this order, and never: "age", 3, "lab_*" for all such names, "dtype:string"
        for all of a type (number, bool, string, category, datetime). A name goes before these, and then `exclude` does.
    groups : mapping from names to columns, optional
        Columns that are selected or left as one, such as those of a category, ``{"soil": "Soil_*"}``: names, positions
        or patterns. A group is one feature, see `selection_.members`; what follows has one entry per column.
    costs : mapping from columns to numbers, or Costs, optional
        What columns cost: the score per cost decides. ``Costs(prices, budget=500)`` also limits what all may cost.
    max_candidates : int, "auto" or None
        Search among the most relevant columns only, that many of them; None for all. With many columns and few rows
        noise wins maxima: "auto" is 300 where there are more than ten columns for each row, otherwise 5000.
    keep_copies : bool
        Select near copies that add nothing too; by default others go before them (``selection_.same_as``).
    alpha : float
        Chance that "auto" selects anything where nothing is relevant, or goes on when nothing is left to add.
    max_seconds : float, optional
        Time budget; what has been selected by then is kept, and marked incomplete.
    random_state : int, optional
        Seed of the samples of rows of large tables; nothing else is random.
    n_jobs : int, optional
        Threads, as in scikit-learn: -1 for one for each core. The result does not depend on them.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    order_, selection_scores_ : ndarray of shape (n_selected,)
        Positions of the selected features, first selected first, and the score of each when it was selected.
    support_, ranking_ : ndarray of shape (n_features,)
        Whether each feature is selected; 1 for selected ones, from 2 on for others, by relevance, ignored ones last.
    relevance_, unique_relevance_ : ndarray of shape (n_features,)
        I(Xk; y) in nats, of several targets a mean share, NaN for ignored features; unique relevance as boosted, None
        if nothing was boosted.
    selection_ : Selection
        All of this in one object, with `to_frame()` and `to_dict()`.
    edges_ : dict
        Edges of the bins of continuous columns, to be passed as ``Binned(edges=...)``; only if `X` was read in parts.
    columns_ : tuple of Column
        Name, kind and the reason for it, of every feature and, last, of the target.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features seen in `fit`, and their names; only if all of them are strings.

    See Also
    --------
    BURSelectorCV, selection_path

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = BURSelector("jmi", n_features_to_select=2).fit(X, y)
    >>> selector.order_
    array([3, 2])
    >>> selector.get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    @classmethod
    def paper(cls, criterion: str | Criterion = "jmi", **parameters: Any) -> Self:
        """The form of the paper: nearest neighbours, and unique relevance given all other features at weight 0.1.

        The paper has the criteria "mim", "mrmr", "jmi", "jmim" and "gsa"; other parameters of `BURSelector` go before
        those of the paper.

        Examples
        --------
        >>> from unirel import BURSelector
        >>> BURSelector.paper("mrmr")
        BURSelector(beta=0.1, criterion='mrmr', keep_copies=True, max_candidates=None,
                    mi_estimator=KNN(correction=None), unique_relevance='ksg')
        """
        published = {"mi_estimator": KNN(correction=None), "beta": 0.1, "unique_relevance": "ksg"}
        return cls(criterion, **{**published, "max_candidates": None, "keep_copies": True, **parameters})

    @classmethod
    def from_selection(cls, selection: Selection) -> Self:
        """A fitted selector that has selected this, such as `Selection.from_json` has read from a file.

        It has parameters as far as a file has them, names unless they are x0, x1, ..., as of an array, no `columns_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from unirel import BURSelector, Selection
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> text = BURSelector(n_features_to_select=2).fit(X, y).selection_.to_json()
        >>> BURSelector.from_selection(Selection.from_json(text)).transform(X).shape
        (150, 2)
        """
        known = signature(cls).parameters.keys() & selection.settings.keys()
        selector = cls(**{name: selection.settings[name] for name in known})
        selector.n_features_in_ = len(selection.names)
        if selection.column_names != tuple(f"x{position}" for position in range(len(selection.names))):
            selector.feature_names_in_ = np.array(selection.column_names, object)
        selector._keep_selection(selection)
        return selector

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            numpy array, list of rows, pandas, polars or pyarrow frame; columns of numbers, texts, categories, also
            missing. Read in parts: a `pyarrow.dataset.Dataset`, a frame of Dask or Spark, what streams Arrow.
        y : array or series of shape (n_samples,), or array or frame of shape (n_samples, n_targets)
            The target: class labels of any type, or numbers; or several, of which scores are means of shares. Of what
            is read in parts, or a lazy frame, also the name of a column, which is no feature then.
        sample_weight : array of shape (n_samples,), optional
            How many rows each row stands for; a row of weight 0 is as good as not there. For estimators that count.
        groups : array of shape (n_samples,) or RowGroups, optional
            Whose each row is, if rows belong together: for the test of whether a feature adds something ("auto").
        """
        with self._unchanged_if_it_fails():
            if is_parted(X, y):
                X = self._open_parts(X, y, sample_weight)
            else:
                X = self._check_table(collected(X), reset=True)
            settings = self.settings()
            deadline = Deadline.after(settings.max_seconds)
            with deadline.applied(READING_SECONDS):
                table, weights = self._read(X, y, settings, sample_weight)
            with deadline.applied():
                (selection,) = select(table, [settings.criterion], [settings.beta], settings, weights, groups)
            check_selection(selection, self.n_features_to_select)
        self._keep(table, selection)
        return self

    def __sklearn_tags__(self) -> Any:
        tags, unique = super().__sklearn_tags__(), self.unique_relevance
        # A sparse table will do where all can be counted, or estimated from a few columns.
        given_all = isinstance(unique, KNN | ClassifierLoss) or str(unique) in ("ksg", "classifier")
        by_neighbors = isinstance(self.mi_estimator, KNN) or self.mi_estimator == "knn"
        tags.input_tags.sparse = not by_neighbors and (self.beta == 0 or not given_all)
        return tags


@dataclass(eq=False, repr=False)
class BURSelectorCV(_Selector):
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
    n_jobs, verbose : int, optional, and bool, default=False
        Folds at a time, as in scikit-learn, and whether to draw a progress bar on standard error.

    Attributes
    ----------
    best_beta_, n_features_ : float, int
        The weight of unique relevance and the number of features that were chosen.
    cv_results_ : dict of ndarray
        "beta", "n_features", "mean_test_score", "std_test_score" and "split0_test_score", ... with one entry for each
        beta and number of features. NaN where a search ended before it had that many features.
    order_, selection_scores_, ranking_, support_, relevance_, unique_relevance_, selection_, columns_
        As in `BURSelector`, and so are `n_features_in_` and `feature_names_in_`.

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

    estimator: Any
    selector: BURSelector | None = None
    _: KW_ONLY
    betas: Sequence[float] = (0.0, 0.1, 0.3, 0.5)
    max_features: int = 30
    step: int = 1
    cv: Any = 5
    scoring: Any = None
    one_standard_error: bool = False
    n_jobs: int | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Choose beta and the number of features, then select features from all rows.

        Parameters
        ----------
        X, y : array or frame, array or series
            The features and the target, as in `BURSelector.fit`.
        **params
            `groups`, labels of rows that belong together, for the splitter, a `GroupKFold` where `cv` is a number. If
            metadata routing is enabled in scikit-learn, also what estimator, scorer and splitter have requested.
        """
        if is_parted(X, y):
            raise TypeError("X is read in parts, whose rows cannot be split into folds; pass a table in memory")
        with self._unchanged_if_it_fails():
            routed = route(self, params)
            X = self._check_table(collected(X), reset=True)
            settings = (self.selector or BURSelector()).settings()
            table, _ = self._read(X, y, settings)
            betas = check_betas(self.betas)
            table = with_groups(table, settings, betas)
            sizes = sizes_to_try(self.max_features, self.step, table, settings)
            scorer = check_scoring(self.estimator, scoring=self.scoring)
            tried = copy(settings).set_params(n_features_to_select=sizes[-1], n_jobs=1, verbose=False)
            labels = column_or_1d(y) if len(table.targets) == 1 else np.asarray(y)
            more = table, betas, sizes, tried, routed.estimator.fit, routed.scorer.score
            trial = Trial(X, y, labels, self.estimator, scorer, *more)
            asked = self.cv, X, labels, is_classifier(self.estimator), params.get("groups")
            scores = trial.cross_validate(split_rows(*asked, routed.splitter.split), self.n_jobs, self.verbose)
            results = results_of(betas, sizes, scores)
            best = choose(results, scores, self.one_standard_error)
            beta, n_features = float(results["beta"][best]), int(results["n_features"][best])
            verbose = settings.verbose or self.verbose
            settings = copy(settings).set_params(n_features_to_select=n_features, verbose=verbose)
            (selection,) = select(table, [settings.criterion], [beta], settings, groups=params.get("groups"))
            check_selection(selection, n_features)
        self.cv_results_, self.best_beta_, self.n_features_ = results, beta, n_features
        self._keep(getattr(table, "single", table), selection)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata the estimator, the splitter and the scorer get."""
        router = MetadataRouter(owner=type(self).__name__)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        router.add(splitter=splitter_of(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        return router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))

    def __sklearn_tags__(self) -> Any:
        tags, of_estimator = super().__sklearn_tags__(), get_tags(self.estimator)
        inner, tags.target_tags.multi_output = of_estimator.input_tags, of_estimator.target_tags.multi_output
        tags.input_tags.allow_nan &= inner.allow_nan
        tags.input_tags.string = inner.string
        tags.input_tags.sparse = inner.sparse and get_tags(self.selector or BURSelector()).input_tags.sparse
        return tags
