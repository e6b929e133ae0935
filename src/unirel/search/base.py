"""What both selectors share: a table is read, a selection is kept, and its columns are given."""

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from unirel.data.chunks import column_names, open_table, take_parted
from unirel.data.readers import collected, is_frame, is_lazy, is_parted, take_columns, take_named
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.results import Ending, Selection
from unirel.search.settings import SearchSettings


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
        if hasattr(X, "tocsc"):
            return super().inverse_transform(X)
        support = self.get_support()
        array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_features=0)
        if array.shape[1] != support.sum():
            raise ValueError(f"X has {array.shape[1]} columns, but {support.sum()} features were selected")
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
        if hasattr(X, "tocsc"):
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

    @contextmanager
    def _unchanged_if_it_fails(self) -> Iterator[None]:
        """Let whatever fails inside leave the selector as it was: fitted before, or not fitted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _keep(self, table: Table, selection: Selection) -> None:
        """Set what a fitted selector has.

        What Ctrl-C has left is kept as well, but the interrupt goes on: a loop around `fit` must not go on with it.
        """
        self.selection_ = selection
        self.order_ = selection.order
        self.selection_scores_ = selection.scores
        self.relevance_ = selection.relevance
        self.unique_relevance_ = selection.unique_relevance
        self.columns_ = table.columns
        self.support_ = np.zeros(table.n_features, dtype=bool)
        self.support_[selection.order] = True
        self.__dict__.pop("edges_", None)  # of a table that was fitted before
        if table.is_parted:
            self.edges_ = table.edges  # type: ignore[attr-defined]
        self.ranking_ = _rank(self.support_, selection.relevance)
        if selection.interrupted:
            raise KeyboardInterrupt(f"interrupted; the {len(selection)} features that were selected are kept")


def check_selection(selection: Selection, wanted: Any) -> None:
    """Refuse a selection that was stopped before it had anything, and warn of one that is empty or was stopped."""
    if len(selection) == 0 and selection.complete:
        warnings.warn(
            f"n_features_to_select={wanted!r} selects nothing: {selection.reason}. Pass a number of features to have "
            "the best of them all the same.",
            UnirelWarning,
            stacklevel=3,
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
            stacklevel=3,
        )


def _rank(support: NDArray[np.bool_], relevance: NDArray[np.float64]) -> NDArray[np.intp]:
    """1 for selected features, the others from 2 on by relevance; ties go to the lowest position, NaN comes last."""
    ranking = np.ones(support.size, dtype=np.intp)
    others = np.flatnonzero(~support)
    ranking[others[np.argsort(-relevance[others], kind="stable")]] = np.arange(2, others.size + 2)
    return ranking
