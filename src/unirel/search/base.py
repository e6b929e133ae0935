"""What selectors share: the parameters of a search, checked, and a selection that is kept for `transform`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from unirel._runtime import check_jobs
from unirel.criteria import Criterion, make_criterion
from unirel.data.readers import collected, is_frame, is_lazy, is_parted, take_columns, take_named
from unirel.data.table import Table, open_table
from unirel.errors import check_beta, check_choice, check_fraction, check_whole_number
from unirel.estimation.base import Information, find_estimator
from unirel.results import Selection

DEFAULT_N_FEATURES = 10
# Kinds of unique relevance that a search can boost.
BOOSTS = ("both", "reference", "selected", "ksg", "classifier")
# Parameters that change nothing about the result.
_SILENT = ("n_jobs", "verbose")


@dataclass(frozen=True)
class SearchSettings:
    """The parameters of `BURSelector`, as they are described there; a wrong one is refused."""

    criterion: str | Criterion = "cmim"
    n_features_to_select: int | float | Literal["auto", "all"] = DEFAULT_N_FEATURES
    beta: float = 0.5
    unique_relevance: Any = "both"
    mi_estimator: str | Information = "auto"
    discrete_features: Any = "auto"
    target_type: Literal["auto", "discrete", "continuous"] = "auto"
    include: Sequence[int | str] = ()
    exclude: Sequence[int | str] = ()
    max_candidates: int | Literal["auto"] | None = "auto"
    alpha: float = 0.05
    max_seconds: float | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        make_criterion(self.criterion)
        check_beta(self.beta)
        if isinstance(self.unique_relevance, str):
            check_choice("unique_relevance", self.unique_relevance, BOOSTS)
        self.estimator.check_parameters()
        if self.max_candidates is not None and self.max_candidates != "auto":
            check_whole_number("max_candidates", self.max_candidates, 1, or_name="auto")
        check_fraction("alpha", self.alpha, "for example 0.05")
        if self.max_seconds is not None and (not isinstance(self.max_seconds, Real) or not self.max_seconds >= 0):
            raise ValueError(f"max_seconds={self.max_seconds!r} must be None or a number from 0 on")
        if self.random_state is not None:
            check_whole_number("random_state", self.random_state, 0)
        check_jobs(self.n_jobs)

    @property
    def estimator(self) -> Information:
        """The estimator of information; "auto" counts in bins."""
        return find_estimator(self.mi_estimator, "binned")

    def to_dict(self) -> dict[str, Any]:
        """What decides the result, as plain values that JSON can hold."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _SILENT}
        return {name: _plain(name, value) for name, value in named.items()}


def _plain(name: str, value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    if name == "unique_relevance" and isinstance(value, list | tuple):
        return "given values"
    if isinstance(value, Mapping):
        return {str(key): _plain("", one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain("", one) for one in value]
    if isinstance(value, Criterion):
        return value.name
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def settings_of(selector: Any) -> SearchSettings:
    """The settings of a `BURSelector`; the defaults if there is none."""
    if selector is None:
        return SearchSettings()
    if not hasattr(selector, "settings"):
        raise TypeError(f"selector={selector!r} is no BURSelector; pass one with the parameters of the search")
    settings: SearchSettings = selector.settings()
    return settings


class BaseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Checks a table, keeps a selection and gives its columns; subclasses decide how to search."""

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
            from unirel.data.chunks import take_parted

            return take_parted(X, self)
        chosen = self.get_support(indices=True)
        asked = getattr(self, "_sklearn_output_config", {})  # where scikit-learn keeps what `set_output` is given
        library = str(asked.get("transform", get_config()["transform_output"]))
        if not by_name and not is_lazy(X):
            return take_columns(self._check_table(X, reset=False), chosen, library)
        if not by_name:
            self._check_table(collected(X.head(0)), reset=False)  # the names are checked before anything is read
        return take_named(X, [self.columns_[position].name for position in chosen.tolist()], library)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
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

    def _note_columns(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Set what scikit-learn sets, for a table in parts; the target and the weights may be columns of it."""
        from unirel.data.chunks import open_rows

        names = open_rows(X, y, sample_weight).names[:-1]
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns") or hasattr(X, "schema"):
            self.feature_names_in_ = np.array(names, object)

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
        shape: tuple[int, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] == 1:
            column_or_1d(y, warn=True)
        return open_table(X, y, settings.discrete_features, settings.target_type, sample_weight)

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
        # Ties go to the lowest position, and ignored features, whose relevance is NaN, come last.
        others = np.flatnonzero(~self.support_)
        self.ranking_ = np.ones(table.n_features, dtype=np.intp)
        self.ranking_[others[np.argsort(-self.relevance_[others], kind="stable")]] = np.arange(2, others.size + 2)
        if selection.interrupted:
            raise KeyboardInterrupt(f"interrupted; the {len(selection)} features that were selected are kept")
