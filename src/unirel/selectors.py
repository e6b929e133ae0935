"""A selector that drops into any scikit-learn pipeline, and what it shares with its cross-validated sibling."""

import warnings
from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from unirel._runtime import READING_SECONDS, end_of, until
from unirel.criteria.base import Criterion
from unirel.data.parts.opening import column_names, open_table, take_parted, taken_names
from unirel.data.reading import (
    DiscreteFeatures,
    TargetType,
    collected,
    is_frame,
    is_lazy,
    is_parted,
    take_columns,
    take_named,
)
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.base import Information
from unirel.estimation.knn import KNN
from unirel.predictors import ClassifierLoss
from unirel.results import Ending, Selection
from unirel.search.greedy import select
from unirel.search.settings import DEFAULT_N_FEATURES, SearchSettings


class BaseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Reads a table, keeps a selection and gives its columns; subclasses decide how to search."""

    def transform(self, X: Any, *, by_name: bool = False) -> Any:
        """Reduce `X` to the selected features, in the order in which they stand in `X`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns as in `fit`. Of a polars LazyFrame only the selected columns are collected.
        by_name : bool
            Take the selected columns of a frame by their names, wherever they stand and whatever else there is. As
            scikit-learn wants it, columns are otherwise refused that are not those of `fit` in the same order.

        Returns
        -------
        array or frame of shape (n_samples, n_selected_features)
            A frame of the same library for a frame, unless `set_output` asks for another one; otherwise an array.
        """
        check_is_fitted(self)
        if is_parted(X):
            return take_parted(X, self)
        chosen = self.get_support(indices=True)
        if not by_name and not is_lazy(X):
            return take_columns(self._check_table(X, reset=False), chosen, self._wanted_library())
        if not by_name:
            self._check_table(collected(X.head(0)), reset=False)  # the names are checked before anything is read
        names = [self.columns_[position].name for position in chosen.tolist()]
        return take_named(X, names, self._wanted_library())

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected features back to their places, with zeros for all others.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_selected_features)
            What `transform` gave.

        Returns
        -------
        ndarray or sparse array of shape (n_samples, n_features)
        """
        support = self.get_support()
        array = check_array(X, dtype=None, accept_sparse="csc", ensure_all_finite=False, ensure_min_features=0)
        if array.shape[1] != support.sum():
            raise ValueError(f"X has {array.shape[1]} columns, but {support.sum()} features were selected")
        if issparse(array):
            sizes = np.zeros(support.size + 1, array.indptr.dtype)
            sizes[1:][support] = np.diff(array.indptr)
            shape = (array.shape[0], support.size)
            return csc_array((array.data, array.indices, np.cumsum(sizes)), shape=shape)
        result = np.zeros((array.shape[0], support.size), dtype=array.dtype)
        result[:, support] = array
        return result

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """Choose the container that `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" keeps the library of the input; None changes nothing.

        Returns
        -------
        self
        """
        super().set_output(transform=transform)
        if transform is not None:
            self._output_library = transform
        return self

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        if hasattr(self, "_output_library"):
            twin._output_library = self._output_library
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = self._searcher().takes_sparse
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _wanted_library(self) -> str:
        return str(getattr(self, "_output_library", None) or get_config()["transform_output"])

    def _note_columns(self, X: Any, taken: Collection[str]) -> None:
        """Set what scikit-learn sets, for a table in parts; `taken` are columns that are no features."""
        names = [name for name in column_names(X) if name not in taken]
        self.n_features_in_ = len(names)
        if hasattr(X, "columns") or hasattr(X, "schema"):
            self.feature_names_in_ = np.array(names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check shape and names the way scikit-learn does; what the columns hold is looked at when they are read."""
        if is_frame(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        if issparse(X):
            return validate_data(self, X, reset=reset, dtype=None, accept_sparse=True, ensure_all_finite=False)
        # In `fit` infinite values are refused by the name of their column; missing ones were fine if there were some.
        lenient = reset or get_tags(self).input_tags.allow_nan or any(column.n_missing for column in self.columns_)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=not lenient)
        if isinstance(X, np.ndarray):
            return X
        # numpy turns a list that mixes numbers and texts into texts.
        return np.array(X, dtype=object) if array.dtype.kind == "U" else array

    def _read(self, X: Any, y: Any, settings: SearchSettings, sample_weight: Any = None) -> tuple[Table, Any]:
        """Read a table whose shape has been checked; weights of parts of it stay with them."""
        shape: tuple[int, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to"
                " (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=3,
            )
        return open_table(X, y, settings.discrete_features, settings.target_type, sample_weight)

    def _searcher(self) -> "BURSelector":
        """The selector whose options count."""
        raise TypeError(f"{type(self).__name__} does not say what to search with")

    def _keep(self, table: Table, selection: Selection, wanted: Any) -> None:
        """Set what a fitted selector has, and warn of a selection that is empty or incomplete.

        What Ctrl-C has left is kept as well, but the interrupt goes on: a loop around `fit` must not go on with it.
        """
        check_selection(selection, wanted)
        self.selection_ = selection
        self.order_ = selection.order
        self.selection_scores_ = selection.scores
        self.relevance_ = selection.relevance
        self.unique_relevance_ = selection.unique_relevance
        self.columns_ = table.columns
        self.support_ = np.zeros(table.n_features, dtype=bool)
        self.support_[selection.order] = True
        if table.is_parted:
            self.edges_ = table.edges  # type: ignore[attr-defined]
        self.ranking_ = _rank(self.support_, selection.relevance)
        if selection.interrupted:
            raise KeyboardInterrupt(f"interrupted; the {len(selection)} features that were selected are kept")


class BURSelector(BaseSelector):
    """Select features by mutual information, with a boost for unique relevance.

    Features are selected one by one, each time the one with the largest ``(1 - beta) * J + beta * UR``, where J is the
    criterion and UR the unique relevance: what a feature tells about the target that others do not.

    Parameters
    ----------
    criterion : str or Criterion
        What to score candidates by: "mim", "mrmr", "jmi", "jmim", "cmim", "gsa" and others, see `unirel.criteria`.
    n_features_to_select : int, float, "auto" or "all"
        How many features, which share of them, as many as are seen to add something to those before them, or all of
        them in order. If there are fewer than the number, all are selected.
    beta : float
        Weight of unique relevance, from 0 to 1; with 0 it is not computed at all.
    unique_relevance : {"both", "reference", "selected", "ksg", "classifier"}, Boost, KNN, ClassifierLoss or array
        Given the first 20 features that the same criterion selects without boost ("reference"), given those selected
        so far ("selected"), both of these (three parts to two; for a continuous target also by the Gaussian estimator,
        with 30 % of all weight at ``beta=0.5``), given all others ("ksg", as published), by the loss of a classifier
        without it ("classifier"), or values of your own. The first three are brought to the spread of the criterion at
        every step. A `Boost`, `KNN` or `ClassifierLoss` has parameters of its own.
    mi_estimator : str or estimator of information
        "binned" (frequencies after binning), "plugin" (frequencies of discrete columns), "knn" (nearest neighbours),
        "gaussian", "partition", "kde", "mine", or an object such as ``Binned(n_bins=5)``. "auto" is "binned".
    discrete_features : "auto", bool, mask, list of names or positions, or mapping from columns to bool
        Which columns are discrete, as in scikit-learn; "auto" decides from their types and values, and so does a
        mapping for columns that it does not name.
    target_type : {"auto", "discrete", "continuous"}
        Whether the target is a class label; "auto" decides from its type and values.
    include : list of names or positions
        Features that are selected first, in this order.
    exclude : list of names or positions
        Features that are never selected.
    max_candidates : int, "auto" or None
        Search among the most relevant columns only, that many of them; None for all. With many columns and few rows
        noise wins maxima: "auto" is 300 where there are more than ten columns for each row, otherwise 5000.
    alpha : float
        Chance that ``n_features_to_select="auto"`` selects anything where no feature tells anything about the target,
        and at every step that it goes on when nothing is left to add.
    max_seconds : float, optional
        Time budget; what has been selected by then is kept, and marked incomplete.
    random_state : int, optional
        Seed of the permutations of "auto" and of the sample of rows; nothing else is random.
    n_jobs : int, optional
        Threads, as in scikit-learn: -1 for one for each core. The result does not depend on them.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    order_ : ndarray of int
        Positions of the selected features, first selected first.
    selection_scores_ : ndarray
        Score of each of them when it was selected.
    ranking_ : ndarray of shape (n_features,)
        1 for selected features; from 2 on for the others, by relevance, and ignored ones last.
    support_ : ndarray of shape (n_features,)
        Whether each feature is selected.
    relevance_ : ndarray of shape (n_features,)
        I(Xk; y) in nats; NaN for ignored features.
    unique_relevance_ : ndarray of shape (n_features,) or None
        As boosted; None if nothing was boosted.
    selection_ : Selection
        All of this in one object, with `to_frame()` and `to_dict()`.
    edges_ : dict
        Edges of the bins of continuous columns, to be passed as ``Binned(edges=...)``; only if `X` was read in parts.
    columns_ : tuple of Column
        Name, kind and the reason for it, of every feature and, last, of the target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names; only if all of them are strings.

    See Also
    --------
    BURSelectorCV : Chooses beta and the number of features by cross-validation.
    selection_path : Several criteria and betas at once.

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

    def __init__(
        self,
        criterion: str | Criterion = "cmim",
        n_features_to_select: int | float | Literal["auto", "all"] = DEFAULT_N_FEATURES,
        *,
        beta: float = 0.5,
        unique_relevance: Any = "both",
        mi_estimator: str | Information = "auto",
        discrete_features: DiscreteFeatures = "auto",
        target_type: TargetType = "auto",
        include: Sequence[int | str] = (),
        exclude: Sequence[int | str] = (),
        max_candidates: int | Literal["auto"] | None = "auto",
        alpha: float = 0.05,
        max_seconds: float | None = None,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.criterion = criterion
        self.n_features_to_select = n_features_to_select
        self.beta = beta
        self.unique_relevance = unique_relevance
        self.mi_estimator = mi_estimator
        self.discrete_features = discrete_features
        self.target_type = target_type
        self.include = include
        self.exclude = exclude
        self.max_candidates = max_candidates
        self.alpha = alpha
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, criterion: str | Criterion = "jmi", **parameters: Any) -> Self:
        """The form of the paper: nearest neighbours, and unique relevance beside all other features at weight 0.1.

        Parameters
        ----------
        criterion : str or Criterion
            The paper has "mim", "mrmr", "jmi", "jmim" and "gsa".
        **parameters
            Others of `BURSelector`, which go before those of the paper.

        Returns
        -------
        BURSelector

        Examples
        --------
        >>> from unirel import BURSelector
        >>> BURSelector.paper("mrmr")
        BURSelector(beta=0.1, criterion='mrmr', max_candidates=None,
                    mi_estimator=KNN(correction=None), unique_relevance='ksg')
        """
        published = {"mi_estimator": KNN(correction=None), "beta": 0.1, "unique_relevance": "ksg"}
        return cls(criterion, **{**published, "max_candidates": None, **parameters})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            numpy array, list of rows, pandas, polars or pyarrow frame; columns of numbers, texts or categories, with
            or without missing values. A `pyarrow.dataset.Dataset`, a Dask frame or array is read in parts.
        y : array or series of shape (n_samples,)
            The target: class labels of any type, or numbers. Of a dataset or a Dask frame also the name of a column,
            which is no feature then.
        sample_weight : array of shape (n_samples,), optional
            How many rows each row stands for; a row of weight 0 is as good as not there. For estimators that count.

        Returns
        -------
        self
        """
        if is_parted(X):
            self._note_columns(X, taken_names(X, y, sample_weight))
        else:
            X = self._check_table(collected(X), reset=True)
        settings = self.settings()
        ends = end_of(settings.max_seconds)
        with until(ends + READING_SECONDS):
            table, sample_weight = self._read(X, y, settings, sample_weight)
        with until(ends):
            (selection,) = select(table, [settings.criterion], [settings.beta], settings, sample_weight)
        self._keep(table, selection, self.n_features_to_select)
        return self

    def settings(self) -> SearchSettings:
        """The parameters of the search, checked."""
        return SearchSettings(**self.get_params(deep=False))

    @property
    def takes_sparse(self) -> bool:
        """Whether a sparse `X` will do: all that is asked of it can be counted, or estimated from a few columns."""
        unique = self.unique_relevance
        needs_all = (
            unique in ("ksg", "classifier") if isinstance(unique, str) else isinstance(unique, KNN | ClassifierLoss)
        )
        by_neighbors = isinstance(self.mi_estimator, KNN) or self.mi_estimator == "knn"
        return not by_neighbors and (self.beta == 0 or not needs_all)

    def _searcher(self) -> "BURSelector":
        return self


def check_selection(selection: Selection, wanted: Any) -> None:
    """Refuse a selection that was stopped before it had anything, and warn of one that is empty or was stopped."""
    if len(selection) == 0 and selection.complete:
        warnings.warn(
            f"n_features_to_select={wanted!r} selects nothing: {selection.reason}. Pass a number of features to have "
            "the best of them all the same.",
            UnirelWarning,
            stacklevel=4,
        )
    elif len(selection) == 0:
        if selection.interrupted:
            raise KeyboardInterrupt("interrupted before the first feature was selected")
        raise TimeoutError(f"no feature was selected: {selection.reason}; give more with max_seconds=")
    if selection.ending is Ending.OUT_OF_TIME:
        of_wanted = f" of {wanted}" if isinstance(wanted, Integral) else ""
        boost = ", and unique relevance is not boosted" if selection.lacks_boost else ""
        warnings.warn(
            f"the selection is incomplete: {selection.reason}; {len(selection)}{of_wanted} features were selected"
            f"{boost}. Fit again, with a larger max_seconds= or fewer features.",
            UnirelWarning,
            stacklevel=4,
        )


def _rank(support: NDArray[np.bool_], relevance: NDArray[np.float64]) -> NDArray[np.intp]:
    """1 for selected features, the others from 2 on by relevance; ties go to the lowest position, NaN comes last."""
    ranking = np.ones(support.size, dtype=np.intp)
    others = np.flatnonzero(~support)
    ranking[others[np.argsort(-relevance[others], kind="stable")]] = np.arange(2, others.size + 2)
    return ranking
