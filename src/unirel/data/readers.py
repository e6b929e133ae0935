"""Any frame, array or sparse matrix in, its columns out: names, blocks of numbers, and what must be read one by one.

And the kinds of columns that a caller asks for, and taking columns and rows of any data.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_choice
from unirel.data import CONTINUOUS, DISCRETE, IGNORED, KINDS, UNKNOWN, Kinds, Mask, Positions
from unirel.data.naming import TYPE_OF, find_columns, unknown_column

_Type = Literal["auto", "discrete", "continuous"]
TargetType = _Type | Sequence[_Type]  # of the target, or of each of several
DiscreteFeatures = bool | Literal["auto"] | Sequence[Any] | NDArray[Any] | Mapping[Any, bool | None]

# What frames call the types that columns without missing values share with arrays.
_PLAIN: dict[type, np.dtype[Any]] = {nw.Boolean: np.dtype(bool)} | {
    getattr(nw, name): np.dtype(name.lower())
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
}


@dataclass(frozen=True)
class Raw:
    """Values of one column as they were read, with a mask of the missing ones."""

    family: Literal["number", "boolean", "text", "category"]
    values: NDArray[Any]
    missing: Mask
    since: str = ""  # of dates, times and durations: what their numbers are
    start: float = 0.0  # of dates: days from 1970 to the first, so that those of several parts can be put together

    @cached_property
    def n_missing(self) -> int:
        return int(np.count_nonzero(self.missing))

    @cached_property
    def present(self) -> NDArray[Any]:
        return self.values[~self.missing] if self.n_missing else self.values


@dataclass(frozen=True)
class Numbers:
    """Columns of one plain type of numbers or booleans, taken from the input when they are looked at."""

    positions: Positions
    dtype: np.dtype[Any]
    data: NDArray[Any] | nw.DataFrame[Any] | Sequence[Any]  # of columns

    def take(self, places: Positions) -> NDArray[Any]:
        """Some of these columns, of shape (n_samples, n_columns); another type than `dtype` shows missing values."""
        columns = self.positions[places]
        if isinstance(self.data, Sequence):
            return np.array([plain_values(self.data[column]) for column in columns.tolist()]).T
        stretch = as_slice(columns)  # This is a view, where the input allows it.
        if isinstance(self.data, np.ndarray):
            return self.data[:, stretch]
        if isinstance(stretch, slice):
            return self.data[:, stretch].to_numpy()
        once, order = np.unique(columns, return_inverse=True)  # No frame has a column twice.
        array: NDArray[Any] = self.data[:, once.tolist()].to_numpy()
        return array[:, order]

    def column(self, position: int) -> Any:
        if isinstance(self.data, Sequence):
            return nw.from_native(self.data[position], series_only=True)
        return self.data[:, position]


def plain_values(column: Any) -> NDArray[Any]:
    """A column of plain numbers or booleans."""
    native = nw.to_native(column, pass_through=True)
    if hasattr(native, "combine_chunks") and native.null_count == 0 and str(native.type) != "bool":
        return np.from_dlpack(native.combine_chunks())  # `to_numpy` of Arrow imports pandas first
    return np.asarray(column)


@dataclass(frozen=True)
class Source:
    """Columns that are looked at when they are read."""

    parameter: str  # what the caller passed them as
    names: Sequence[str]
    shape: tuple[int, int]
    blocks: Sequence[Numbers] = ()  # columns of plain types that are read together
    others: Mapping[int, Any] = field(default_factory=dict)  # series or arrays by position, which are read one by one
    sparse: Any = None  # a matrix of all columns, by columns and without repeated entries, if they are sparse
    numbered: Mapping[int, int] = field(default_factory=dict)  # positions of columns whose name is a whole number

    def label(self, position: int) -> str:
        if self.parameter == "y" and self.shape[1] == 1:
            return "y"
        name = f"column {self.names[position]!r}"
        return name if self.parameter == "X" else f"{name} of {self.parameter}"

    def type_of(self, position: int) -> str:
        """What a column holds, one of `TYPES`, by its type or, of objects, by its values."""
        column = self.others.get(position)
        if column is None:
            kinds = [block.dtype.kind for block in self.blocks if position in block.positions]
            return "bool" if kinds == ["b"] else "number"
        if getattr(column.dtype, "is_temporal", bool)() or getattr(column.dtype, "kind", None) in ("M", "m"):
            return "datetime"
        raw = self.read(position)
        return "datetime" if raw.since else TYPE_OF[raw.family]

    def read(self, position: int) -> Raw:
        label, column = self.label(position), self.others.get(position)
        if column is None:
            column = next(block for block in self.blocks if position in block.positions).column(position)
        plain = column.dtype if isinstance(column, np.ndarray) else _PLAIN.get(type(column.dtype))
        if plain is not None and plain.kind in "biuf":
            values = plain_values(column)
            if values.dtype == plain:
                return read_numbers(label, values)
        from unirel.data.values import read_column  # all that is no plain number

        return read_column(label, column)


def read_numbers(label: str, values: NDArray[Any]) -> Raw:
    """Plain numbers or booleans, of which NaN are missing."""
    missing = ~np.isfinite(values)
    if missing.any() and np.isinf(values).any():
        raise no_infinity(label)
    return Raw("boolean" if values.dtype.kind == "b" else "number", values, missing)


def no_infinity(label: str) -> ValueError:
    return ValueError(f"{label} contains infinity (inf); replace it by a number or a missing value")


def open_all(
    X: Any, conditional_on: Any, y: Any, feature_names: Sequence[str] | None = None, several: bool = False
) -> list[Source]:
    """Open features, conditions (if any) and target, of which there may be several, and compare their shapes."""
    if y is None:
        raise ValueError("unirel requires y to be passed, but the target y is None")
    features, target = open_source(X, "X", "x{}"), open_source(y, "y", "y")
    if feature_names is not None:
        names = tuple(map(str, feature_names))
        if len(names) != features.shape[1]:
            about = f"feature_names has {len(names)} names, but X has {features.shape[1]} columns"
            raise ValueError(f"{about}; name each of them")
        features = replace(features, names=_distinct("feature_names", names), numbered={})
    given = [] if conditional_on is None else [open_source(conditional_on, "conditional_on", "z{}")]
    for source in (features, *given):
        for count, word in zip(source.shape, ("sample", "feature"), strict=True):
            if count == 0:
                about = f"{source.parameter} has 0 {word}(s) (shape={source.shape})"
                raise ValueError(f"{about} while a minimum of 1 is required.")
    if target.shape[1] != 1 and not (several and target.shape[1]):
        raise ValueError(f"y should be a 1d array, but its shape is {target.shape}; pass one target column")
    if len(set(target.names)) < target.shape[1]:  # of an array, whose columns have none
        target = replace(target, names=tuple(map("y{}".format, range(target.shape[1]))))
    for other in (target, *given):
        if other.shape[0] != features.shape[0]:
            lengths = f"X has {features.shape[0]} rows, {other.parameter} has {other.shape[0]}"
            raise ValueError(f"{lengths}; they must describe the same samples")
    if features.shape[0] == 1:
        raise ValueError(f"X has 1 sample (shape={features.shape}); mutual information needs at least 2")
    return [features, *given, target]


def as_slice(positions: Positions) -> slice | Positions:
    """Positions as a slice if they follow each other, otherwise as they are."""
    if len(positions) and (np.diff(positions) == 1).all():
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return positions


def engine_of(data: Any) -> str | None:
    """The engine that reads some data in parts, a module of this folder, None if they are rows in memory."""
    return next((engine for engine, test in ENGINES.items() if test(data)), None)


def is_parted(data: Any, y: Any = None) -> bool:
    """Whether the rows are read in parts, as those of a lazy frame are if a column of it is the target."""
    parted = getattr(data, "is_parted", False) is True or engine_of(data) is not None
    return parted or (is_lazy(data) and isinstance(y, str))


def _is_collection(data: Any) -> bool:  # of Dask
    return callable(getattr(data, "__dask_graph__", None)) and hasattr(data, "to_delayed")


def _gives_arrow(data: Any) -> bool:
    """Whether it is a dataset of Arrow, streams it or is a function that makes a stream, but no frame in memory."""
    kind = type(data)
    if any(one.__module__.startswith("pyarrow") and one.__name__ == "Dataset" for one in kind.__mro__):
        return True
    streams = ("__arrow_c_stream__", "to_arrow_batch_reader", "to_pyarrow_dataset")
    is_iceberg = kind.__module__.startswith("pyiceberg.table")
    if not (any(hasattr(kind, name) for name in streams) or is_iceberg or callable(data)):
        return False
    return not (nw.dependencies.is_into_dataframe(data) or nw.dependencies.is_into_series(data))


def _is_spark(data: Any) -> bool:
    return callable(getattr(type(data), "mapInArrow", None))


# Modules that read what is not in memory, and whether some data is theirs; the first that says so reads it. No library
# is imported to find out.
ENGINES: dict[str, Callable[[Any], bool]] = {"dask": _is_collection, "spark": _is_spark, "arrow": _gives_arrow}


def is_lazy(data: Any) -> bool:  # a frame of polars whose columns are still to be found
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def collected(data: Any) -> Any:
    """A lazy frame of polars as a frame, anything else as it is."""
    return data.collect() if is_lazy(data) else data


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of some library, not an array, a list or a single column."""
    return isinstance(as_narwhals(data, "X"), nw.DataFrame)


def open_source(data: Any, parameter: str, pattern: str) -> Source:
    if is_sparse(data):
        return _open_sparse(data, parameter, pattern)
    frame = as_narwhals(data, parameter)
    if isinstance(frame, nw.Series):
        name = pattern.format(0) if frame.name in (None, "") else str(frame.name)
        return Source(parameter, (name,), (len(frame), 1), others={0: frame})
    if isinstance(frame, nw.DataFrame):
        return _open_frame(frame, parameter)
    if isinstance(data, str) and parameter == "y":
        raise ValueError(f"{parameter}={data!r} is a text; pass the values, such as X[{data!r}], and X without them")
    array = as_array(data, parameter)
    if array.ndim not in (1, 2):
        about = f"{parameter} has {array.ndim} dimensions (shape={array.shape}, type {type(data).__name__})"
        raise ValueError(f"{about}; pass a table of rows and columns")
    array = array.reshape(-1, 1) if array.ndim == 1 else array
    shape = (array.shape[0], array.shape[1])
    names = tuple(map(pattern.format, range(shape[1])))
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return Source(parameter, names, shape, [Numbers(np.arange(shape[1]), array.dtype, array)])
    return Source(parameter, names, shape, others=dict(enumerate(array.T)))


def is_sparse(data: Any) -> bool:
    return hasattr(data, "tocsc")


def _open_sparse(data: Any, parameter: str, pattern: str) -> Source:
    if parameter != "X":
        raise TypeError(f"{parameter} is sparse; only X can be: pass a dense array, such as {parameter}.toarray()")
    if data.ndim != 2:
        raise ValueError(f"X has {data.ndim} dimension (shape={data.shape}); pass a table of rows and columns")
    if data.dtype.kind not in "biuf":
        raise TypeError(f"X is sparse and of type {data.dtype}; make it a matrix of numbers")
    matrix = data.tocsc()
    if not matrix.has_canonical_format:  # The caller's matrix must stay as it is.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return Source(parameter, tuple(map(pattern.format, range(matrix.shape[1]))), matrix.shape, sparse=matrix)


def as_narwhals(data: Any, parameter: str) -> Any:
    """A frame or series as narwhals sees it; anything else as it is."""
    data = collected(data)
    if hasattr(data, "collect"):
        raise TypeError(f"{parameter} is lazy ({type(data).__name__}); pass {parameter}.collect()")
    if is_parted(data):
        about = f"{parameter} is read in parts ({type(data).__name__})"
        raise TypeError(f"{about}, but this takes rows in memory; pass a sample")
    if isinstance(data, np.ndarray):  # narwhals would search plugins, longer than it takes to read.
        return data
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        return _distinct(parameter, getattr(data, "column_names", data.columns))  # refused there


def _open_frame(frame: nw.DataFrame[Any], parameter: str) -> Source:
    names = _distinct(parameter, frame.columns)
    positions: dict[np.dtype[Any] | None, list[int]] = {}
    for position, plain in enumerate(_plain_types(frame)):
        positions.setdefault(plain, []).append(position)
    others = positions.pop(None, [])
    # Arrow has its columns apart, and a frame of some of them takes long if there are many.
    data = frame.to_native().columns if frame.implementation.is_pyarrow() else frame
    blocks = [Numbers(np.array(group), plain, data) for plain, group in positions.items() if plain is not None]
    columns = zip(others, frame[:, others].iter_columns(), strict=True) if others else ()
    return Source(parameter, names, frame.shape, blocks, dict(columns), numbered=numbered_names(frame.columns))


def numbered_names(names: Sequence[Any]) -> dict[int, int]:
    """Positions of the columns whose name is a whole number, such as those of a file without a header."""
    return {
        int(name): position
        for position, name in enumerate(names)
        if isinstance(name, numbers.Integral) and not isinstance(name, bool)
    }


def _plain_types(frame: nw.DataFrame[Any]) -> Iterator[np.dtype[Any] | None]:
    """The type of numpy that holds each column as it is, None if there is none."""
    if not frame.implementation.is_pandas_like():
        yield from (_PLAIN.get(type(dtype)) for dtype in frame.schema.values())
        return
    plain = set(_PLAIN.values())
    for position, native in enumerate(frame.to_native().dtypes.tolist()):
        # To ask narwhals for the type of every column takes longer than to read it.
        yield native if isinstance(native, np.dtype) and native in plain else _PLAIN.get(type(frame[:, position].dtype))


def as_array(data: Any, parameter: str) -> NDArray[Any]:
    """Arrays and lists as an array; numpy would turn a list that mixes numbers and texts into texts."""
    if isinstance(data, np.ma.MaskedArray):
        mask, data = np.ma.getmaskarray(data), np.array(data.data, dtype=object)
        data[mask] = None
    try:
        array = np.asarray(data)
        return np.array(data, dtype=object) if array.dtype.kind in "US" and data is not array else array
    except ValueError:
        raise ValueError(f"{parameter} has rows of different lengths; give every row as many values") from None


def _distinct(parameter: str, given: Sequence[Any]) -> tuple[str, ...]:
    names = tuple(map(str, given))
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        listed = ", ".join(map(repr, repeated))
        raise ValueError(f"{parameter} has duplicate column names: {listed}; rename or drop them")
    return names


def kinds_asked(
    discrete_features: DiscreteFeatures, target_type: TargetType, sources: Sequence[Source], n_targets: int = 1
) -> list[Kinds]:
    """Kinds asked for of the columns of each source, features first; conditions can be named like features."""
    # The last are those of the targets, one for all or one for each, which are none of the sources.
    types = list(target_type) if isinstance(target_type, list | tuple) else [target_type] * n_targets
    for one in types:
        check_choice("target_type", one, get_args(_Type))
    if len(types) != n_targets:
        about = f"target_type={types!r} has {len(types)} types, but there are {n_targets} targets"
        raise ValueError(f"{about}; give each of them one")
    of_target = np.array([UNKNOWN if one == "auto" else KINDS.index(one) for one in types], np.int8)
    given = discrete_features
    asked = [*(np.full(source.shape[1], UNKNOWN, np.int8) for source in sources), of_target]
    if isinstance(given, str) and given == "auto":
        return asked
    if isinstance(given, bool | np.bool_):
        return [*(np.full_like(kinds, DISCRETE if given else CONTINUOUS) for kinds in asked[:-1]), of_target]
    if isinstance(given, str) or not isinstance(given, Iterable):
        known = "'auto', True, False, a mask, a list of columns and a mapping"
        raise TypeError(f"discrete_features={given!r} is none of {known}")
    if isinstance(given, Mapping):
        _ask(asked, sources, [(column, _kind_of(column, discrete)) for column, discrete in given.items()])
        return asked
    asked[0][:] = CONTINUOUS
    columns = list(given)
    if not columns or not all(isinstance(one, bool | np.bool_) for one in columns):
        _ask(asked, sources, [(column, DISCRETE) for column in columns])
    elif len(columns) != len(asked[0]):
        about = f"discrete_features is a mask of {len(columns)}, but X has {len(asked[0])} columns"
        raise ValueError(f"{about}; give one entry for each")
    else:
        asked[0][np.array(columns)] = DISCRETE
    return asked


def _kind_of(column: Any, discrete: bool | None) -> int:
    if discrete is None:
        return IGNORED
    if not isinstance(discrete, bool | np.bool_):
        about = f"discrete_features gives column {column!r} {discrete!r}"
        raise ValueError(f"{about}; pass True for discrete, False for continuous, None to leave it out")
    return DISCRETE if discrete else CONTINUOUS


def _ask(asked: list[Kinds], sources: Sequence[Source], kinds: Sequence[tuple[Any, int]]) -> None:
    """Note the kinds of columns, wherever those names are; positions are those of features."""
    conditions = {name: place for source in sources[1:] for place, name in enumerate(source.names)}
    features, of_features = set(sources[0].names), []
    for column, kind in kinds:
        is_condition = isinstance(column, str) and column in conditions
        if is_condition:
            asked[1][conditions[column]] = kind
        if not is_condition or column in features:
            of_features.append((column, kind))
    try:
        found = find_columns([column for column, _ in of_features], sources[0].names, sources[0].numbered)
    except (TypeError, ValueError) as error:
        raise type(error)(f"discrete_features: {error}") from None
    for position, (_, kind) in zip(found, of_features, strict=True):
        asked[0][position] = kind


def take_named(data: Any, names: Sequence[str], library: str | None = None) -> Any:
    """Columns of a frame by their names, as `take_columns` gives them; of a lazy frame no others are collected."""
    lazy = is_lazy(data)
    if not lazy and not is_frame(data):
        raise TypeError(f"X is {type(data).__name__} and has no names of columns; pass a frame, or by_name=False")
    known = list(map(str, data.collect_schema().names() if lazy else as_narwhals(data, "X").columns))
    positions = {name: position for position, name in enumerate(known)}
    for name in names:
        if name not in positions:
            raise ValueError(f"X lacks what was selected: {unknown_column(name, known)}")
    if lazy:
        return take_columns(data.select(list(names)).collect(), np.arange(len(names)), library)
    return take_columns(data, np.array([positions[name] for name in names], np.intp), library)


def take_columns(data: Any, columns: Positions, library: str | None = None) -> Any:
    """Columns at some positions, as a frame of the same library or of pandas if that is asked for, or as an array."""
    if is_sparse(data):
        return data.tocsc()[:, columns].asformat(data.format)
    frame = as_narwhals(data, "X")
    if not isinstance(frame, nw.DataFrame):
        return data[:, columns]
    chosen = frame[:, columns.tolist()]
    if library == "pandas" and not chosen.implementation.is_pandas():
        values = {column.name: column.to_numpy() for column in chosen.iter_columns()}
        chosen = nw.from_dict(values, backend="pandas")
    return chosen.to_native()


def take_rows(data: Any, rows: Positions) -> Any:
    """Rows at some positions of a frame, a series, an array, a sparse matrix or a list, in that order."""
    if is_sparse(data):
        return data.tocsr()[rows].asformat(data.format)
    table = as_narwhals(data, "X")
    if isinstance(table, nw.DataFrame | nw.Series):
        return table[rows.tolist()].to_native()
    return as_array(data, "X")[rows]
