"""The one way to a table, in memory or in parts; the only place that knows which engine has which rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from unirel.data.chunks import PartedTable
from unirel.data.columns import DiscreteFeatures, TargetType
from unirel.data.parts import Rows
from unirel.data.readers import is_dataset, is_parted
from unirel.data.table import Table


def open_table(
    X: Any,
    y: Any,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    sample_weight: Any = None,
) -> tuple[Table, Any]:
    """A table of anything that holds columns, and the weights; those of a table in parts stay with the parts."""
    if is_parted(X):
        rows = _open_rows(X, y, sample_weight)
        return PartedTable.read(rows, discrete_features=discrete_features, target_type=target_type), None
    return Table.from_data(X, y, discrete_features=discrete_features, target_type=target_type), sample_weight


def column_names(data: Any) -> Sequence[str]:
    """Names of the columns of what is read in parts."""
    if isinstance(data, Rows):
        return data.names[:-1]
    if is_dataset(data):
        return list(data.schema.names)
    if hasattr(data, "columns"):
        return list(map(str, data.columns))
    if data.ndim != 2:
        raise ValueError(f"X has {data.ndim} dimension(s); pass a table of rows and columns")
    return [f"x{place}" for place in range(data.shape[1])]


def taken_names(X: Any, *given: Any) -> Collection[str]:
    """Columns of X that are the target or the weights: by their name, or as the series of that name."""
    if not is_parted(X) or isinstance(X, Rows):
        return ()
    names = [one if isinstance(one, str) else getattr(one, "name", None) for one in given]
    has_names = is_dataset(X) or hasattr(X, "columns")
    return {name for name in names if isinstance(name, str) and has_names}


def take_parted(X: Any, selector: Any) -> Any:
    """The selected columns of what is read in parts, not computed yet: of a dataset a scanner."""
    chosen = selector.get_support(indices=True)
    if not (is_dataset(X) or hasattr(X, "columns")):
        if X.shape[1] != selector.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {selector.n_features_in_} were seen in fit")
        return X[:, chosen]
    names = column_names(X)
    native = dict(zip(names, names if is_dataset(X) else X.columns, strict=True))
    fitted = getattr(selector, "feature_names_in_", None)
    selected = [str(name) for name in (names if fitted is None else fitted)]
    selected = [selected[place] for place in chosen.tolist()]
    missing = [name for name in selected if name not in native]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which was selected in fit")
    return X.scanner(columns=selected) if is_dataset(X) else X[[native[name] for name in selected]]


def _open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    if isinstance(X, Rows):
        return X
    if y is None:
        raise ValueError("unirel requires y to be passed, but the target y is None")
    if is_dataset(X):
        from unirel.data.arrow import ArrowRows

        return ArrowRows(X, y, sample_weight)
    from unirel.data.dask import DaskRows

    return DaskRows.of_collection(X, y, sample_weight, taken_names(X, y, sample_weight))
