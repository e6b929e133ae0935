"""Any frame, array or sparse matrix in, its columns out: names, blocks of numbers, and what must be read one by one."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

Family = Literal["number", "boolean", "text", "category"]
Positions = NDArray[np.intp]

# Whole numbers beyond this are not all told apart by floats.
LARGEST_EXACT = 2**53
# What frames call the types that columns without missing values share with arrays.
_PLAIN: dict[type, np.dtype[Any]] = {nw.Boolean: np.dtype(bool)} | {
    getattr(nw, name): np.dtype(name.lower())
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
}


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
            return np.array([self.data[column].to_numpy() for column in columns.tolist()]).T
        stretch = as_slice(columns)  # This is a view, where the input allows it.
        if isinstance(self.data, np.ndarray):
            return self.data[:, columns if stretch is None else stretch]
        if stretch is not None:
            return self.data[:, stretch].to_numpy()
        once, order = np.unique(columns, return_inverse=True)  # No frame has a column twice.
        array: NDArray[Any] = self.data[:, once.tolist()].to_numpy()
        return array[:, order]

    def holds(self, position: int) -> bool:
        """Whether the column at a position of the input is one of these."""
        place = int(np.searchsorted(self.positions, position))
        return place < len(self.positions) and bool(self.positions[place] == position)

    def column(self, position: int) -> Any:
        """The column at a position of the input."""
        if isinstance(self.data, Sequence):
            return nw.from_native(self.data[position], series_only=True)
        return self.data[:, position]


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
        """What an error calls a column."""
        if self.parameter == "y":
            return "y"
        name = f"column {self.names[position]!r}"
        return name if self.parameter == "X" else f"{name} of {self.parameter}"

    def read(self, position: int) -> Raw:
        """Read one column; what it holds decides its family."""
        column = self.others.get(position)
        if column is None:
            column = next(block for block in self.blocks if block.holds(position)).column(position)
        return _read(self.label(position), column)


@dataclass(frozen=True)
class Raw:
    """Values of one column as they were read, with a mask of the missing ones."""

    family: Family
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    since: str = ""  # of dates, times and durations: what their numbers are

    @cached_property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.count_nonzero(self.missing))

    @cached_property
    def present(self) -> NDArray[Any]:
        """Values that are not missing."""
        return self.values[~self.missing] if self.n_missing else self.values

    def as_numbers(self, label: str) -> Raw:
        """The same as numbers; texts if all of them are written as numbers."""
        if self.values.dtype.kind in "biuf":
            return self
        values = np.full(self.values.size, np.nan)
        try:
            values[~self.missing] = self.present.astype(np.float64)
        except (TypeError, ValueError):
            about = f"{label} is to be continuous, but holds what is no number"
            raise ValueError(f"{about}; make it discrete, or convert it") from None
        return _parse(label, values)


def open_all(X: Any, conditional_on: Any, y: Any, feature_names: Sequence[str] | None = None) -> list[Source]:
    """Open features, conditions (if any) and target, and compare their shapes."""
    if y is None:
        raise ValueError("unirel requires y to be passed, but the target y is None")
    sources = [_renamed(open_source(X, "X", "x{}"), feature_names), open_source(y, "y", "y")]
    if conditional_on is not None:
        sources.insert(1, open_source(conditional_on, "conditional_on", "z{}"))
    features, target = sources[0], sources[-1]
    for source in sources[:-1]:
        for count, word in zip(source.shape, ("sample", "feature"), strict=True):
            if count == 0:
                about = f"{source.parameter} has 0 {word}(s) (shape={source.shape})"
                raise ValueError(f"{about} while a minimum of 1 is required.")
    if target.shape[1] != 1:
        raise ValueError(f"y should be a 1d array, but its shape is {target.shape}; pass one target column")
    for other in (target, *sources[1:-1]):
        if other.shape[0] != features.shape[0]:
            lengths = f"X has {features.shape[0]} rows, {other.parameter} has {other.shape[0]}"
            raise ValueError(f"{lengths}; they must describe the same samples")
    if features.shape[0] == 1:
        raise ValueError(f"X has 1 sample (shape={features.shape}); mutual information needs at least 2")
    return sources


def _renamed(source: Source, names: Sequence[str] | None) -> Source:
    """The source with other names for its columns."""
    if names is None:
        return source
    names = tuple(map(str, names))
    if len(names) != source.shape[1]:
        about = f"feature_names has {len(names)} names, but X has {source.shape[1]} columns"
        raise ValueError(f"{about}; name each of them")
    if len(set(names)) < len(names):
        raise ValueError(_duplicate_names("feature_names", names))
    return replace(source, names=names, numbered={})


def as_slice(positions: Positions) -> slice | None:
    """Positions as a slice, if they follow each other."""
    if len(positions) and (np.diff(positions) == 1).all():
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return None


def is_parted(data: Any) -> bool:
    """Whether the rows are read in parts: a Dask collection or a dataset of Arrow; neither library is imported."""
    if isinstance(data, np.ndarray | list):
        return False
    if callable(getattr(data, "__dask_graph__", None)) and hasattr(data, "to_delayed"):
        return True
    return getattr(data, "is_parted", False) is True or is_dataset(data)


def is_dataset(data: Any) -> bool:
    """Whether `data` is a dataset of Arrow."""
    return any(one.__module__.startswith("pyarrow") and one.__name__ == "Dataset" for one in type(data).__mro__)


def is_lazy(data: Any) -> bool:
    """Whether `data` is a frame of polars whose columns are still to be found."""
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def collected(data: Any) -> Any:
    """A lazy frame of polars as a frame, anything else as it is."""
    return data.collect() if is_lazy(data) else data


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of some library, not an array, a list or a single column."""
    return isinstance(as_narwhals(data, "X"), nw.DataFrame)


def open_source(data: Any, parameter: str, pattern: str) -> Source:
    """Find names, columns and shape of anything that holds columns."""
    if is_sparse(data):
        return _open_sparse(data, parameter, pattern)
    frame = as_narwhals(data, parameter)
    if isinstance(frame, nw.Series):
        name = pattern.format(0) if frame.name in (None, "") else str(frame.name)
        return Source(parameter, (name,), (len(frame), 1), others={0: frame})
    if isinstance(frame, nw.DataFrame):
        return _open_frame(frame, parameter)
    array = _as_table(data, parameter)
    shape = (array.shape[0], array.shape[1])
    names = tuple(map(pattern.format, range(shape[1])))
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return Source(parameter, names, shape, [Numbers(np.arange(shape[1]), array.dtype, array)])
    return Source(parameter, names, shape, others=dict(enumerate(array.T)))


def is_sparse(data: Any) -> bool:
    """Whether `data` is a sparse matrix of scipy."""
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
        raise TypeError(
            f"{parameter} is read in parts ({type(data).__name__}), but this takes rows in memory; pass a sample"
        )
    if isinstance(data, np.ndarray):  # narwhals would search plugins, longer than it takes to read.
        return data
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = getattr(data, "column_names", None)
        raise ValueError(_duplicate_names(parameter, data.columns if names is None else names)) from None


def _open_frame(frame: nw.DataFrame[Any], parameter: str) -> Source:
    names = tuple(map(str, frame.columns))
    if len(set(names)) < len(names):
        raise ValueError(_duplicate_names(parameter, names))
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


def _as_table(data: Any, parameter: str) -> NDArray[Any]:
    if isinstance(data, str) and parameter == "y":
        raise ValueError(f"{parameter}={data!r} is a text; pass the values, such as X[{data!r}], and X without them")
    array = as_array(data, parameter)
    if array.ndim not in (1, 2):
        about = f"{parameter} has {array.ndim} dimensions (shape={array.shape}, type {type(data).__name__})"
        raise ValueError(f"{about}; pass a table of rows and columns")
    return array.reshape(-1, 1) if array.ndim == 1 else array


def _read(label: str, column: nw.Series[Any] | NDArray[Any]) -> Raw:
    if not isinstance(column, nw.Series):
        return _parse(label, column)
    dtype = column.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        # The mask comes from the series: the values of a dictionary array do not show what is missing.
        return Raw("category", column.to_numpy(), column.is_null().to_numpy())
    if isinstance(dtype, nw.String) and not (missing := column.is_null().to_numpy()).all():
        # What each value is need not be asked one by one.
        return Raw("text", column.to_numpy().astype(object, copy=False), missing)
    if dtype.is_temporal():
        values = column.to_numpy()
        return _read_times(values) if values.dtype.kind in "Mm" else _parse_objects(label, values.astype(object))
    if dtype.is_nested() or isinstance(dtype, nw.Binary):
        raise _no_nesting(label, str(dtype))
    if str(getattr(column.to_native(), "dtype", "")).startswith("Sparse"):
        raise TypeError(f"{label} is sparse; convert it first, such as X[name].sparse.to_dense() or X.toarray()")
    plain = column.cast(nw.Float64()) if isinstance(dtype, nw.Decimal | nw.Int128 | nw.UInt128) else column
    try:
        values = plain.to_numpy()
    except NotImplementedError:  # as for the unions of Arrow
        raise _no_nesting(label, str(getattr(column.to_native(), "type", dtype))) from None
    if dtype.is_integer() and values.dtype.kind == "f":
        values = values.astype(np.float64)  # Small integers with missing values arrive as float32.
        refuse_rounding(label, column.drop_nulls().to_list, values[~np.isnan(values)])
    return _parse(label, values)


def _parse(label: str, values: NDArray[Any]) -> Raw:
    """Find the family of an array by its dtype."""
    code = values.dtype.kind
    if code == "f":
        unusable = ~np.isfinite(values)
        missing = np.isnan(values) if unusable.any() else unusable
        if missing is not unusable and (missing != unusable).any():
            raise no_infinity(label)
        return Raw("number", values, missing)
    if code in "biuU":
        families: dict[str, Family] = {"b": "boolean", "U": "text"}
        return Raw(families.get(code, "number"), values, np.zeros(values.size, dtype=bool))
    if code in "OT":
        return _parse_objects(label, values.astype(object))
    if code == "c":
        raise ValueError(f"Complex data not supported: {label} holds complex numbers; pass their parts as two columns")
    if code in "Mm":
        return _read_times(values)
    raise _no_nesting(label, str(values.dtype))


def _read_times(values: NDArray[Any]) -> Raw:
    """Dates as days since the first of them, durations as seconds."""
    missing = np.isnat(values)
    numbers = np.full(values.size, np.nan)
    if values.dtype.kind == "m":
        numbers[~missing] = values[~missing] / np.timedelta64(1, "s")
        return Raw("number", numbers, missing, "seconds")
    if missing.all():
        return Raw("number", numbers, missing)
    first = values[~missing].min()
    # Of years and months numpy knows no length in days.
    present = values[~missing].astype(np.result_type(values.dtype, "datetime64[D]"))
    numbers[~missing] = (present - present.min()) / np.timedelta64(1, "D")
    whole = first == first.astype("datetime64[D]")
    return Raw("number", numbers, missing, f"days since {np.datetime_as_string(first, unit='D' if whole else 's')}")


def _parse_objects(label: str, values: NDArray[Any]) -> Raw:
    """Find the family of an array of python objects by the types of those that are not missing."""
    missing = np.fromiter(map(_is_missing, values), dtype=bool, count=values.size)
    present = values[~missing]
    types = set(map(type, present))
    if all(issubclass(kind, str) for kind in types) and types:
        return Raw("text", values, missing)
    if all(issubclass(kind, bool | np.bool_) for kind in types) and types:
        return Raw("boolean", np.where(missing, False, values).astype(bool), missing)
    if types and all(issubclass(kind, date | time | timedelta | np.datetime64 | np.timedelta64) for kind in types):
        return _parse_times(label, values, missing)
    if not all(issubclass(kind, numbers.Real | Decimal | np.bool_) for kind in types):
        raise _no_objects(label, types)
    try:
        # Through a list numpy finds the narrowest type again, so that whole numbers stay whole.
        numeric = np.array(present.tolist())
        if missing.any() or numeric.dtype.kind not in "iuf":
            numeric = np.full(values.size, np.nan)
            numeric[~missing] = present.astype(np.float64)
            refuse_rounding(label, present.tolist, numeric[~missing])
    except OverflowError:
        raise ValueError(f"{label} overflows: it holds a number beyond the range of floats; rescale it") from None
    return _parse(label, numeric)


def _parse_times(label: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Raw:
    """Read objects that are all dates, all times of the day or all durations."""
    present = values[~missing].tolist()
    try:
        if all(isinstance(value, time) for value in present):
            seconds = [3600 * one.hour + 60 * one.minute + one.second + one.microsecond / 1e6 for one in present]
            numbers_of = np.full(values.size, np.nan)
            numbers_of[~missing] = seconds
            return Raw("number", numbers_of, missing, "seconds of the day")
        are_dates = {isinstance(value, date | np.datetime64) for value in present}
        if len(are_dates) > 1 or any(isinstance(value, time) for value in present):
            raise _no_dates(label)
        found = np.array([_without_zone(value) for value in present])
        kind = "M" if are_dates == {True} else "m"
        times = np.full(values.size, np.datetime64("NaT") if kind == "M" else np.timedelta64("NaT"), f"{kind}8[us]")
        times[~missing] = found.astype(f"{kind}8[us]")
    except (TypeError, ValueError):
        raise _no_dates(label) from None
    return _read_times(times)


def _without_zone(value: Any) -> Any:
    """A date with a zone as the same moment in the zone of Greenwich."""
    return value.astimezone(UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value


def _is_missing(value: Any) -> bool:
    # The missing marks of pandas refuse to be compared, so the names of their types must do.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):  # A signalling NaN refuses to be compared.
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(value != value)


def refuse_rounding(label: str, give_whole: Callable[[], list[Any]], floats: NDArray[np.float64]) -> None:
    """Refuse whole numbers so large that floats take different ones for the same: then ranks would be wrong."""
    if len(floats) and np.abs(floats).max() > LARGEST_EXACT and len(np.unique(floats)) < len(set(give_whole())):
        about = f"{label} holds whole numbers beyond 2**53 that are equal when rounded to floats"
        raise ValueError(f"{about}; subtract a constant first, or convert it to texts")


def _no_objects(label: str, types: set[type]) -> Exception:
    """Error for objects that are neither all numbers nor all texts."""
    listed = ", ".join(sorted(kind.__name__ for kind in types))
    if any(issubclass(kind, complex | np.complexfloating) for kind in types):
        return ValueError(f"Complex data not supported: {label} holds {listed}; pass their parts as two columns")
    if all(issubclass(kind, str | numbers.Real | Decimal | np.bool_) for kind in types):
        return TypeError(f"{label} mixes values of types {listed}; make all of them numbers or all of them texts")
    remedy = "convert or drop the column"
    return TypeError(
        f"{label} holds values of types {listed}, but every argument must be a string or a number; {remedy}"
    )


def no_infinity(label: str) -> ValueError:
    """Error for a column with an infinite value."""
    return ValueError(f"{label} contains infinity (inf); replace it by a number or a missing value")


def _no_dates(label: str) -> TypeError:
    return TypeError(
        f"{label} mixes dates, times and durations; convert it to a number, such as days since a start, or drop it"
    )


def _no_nesting(label: str, dtype: str) -> TypeError:
    return TypeError(f"{label} is of type {dtype}; turn it into columns of numbers or texts, or drop it")


def _duplicate_names(parameter: str, names: Sequence[Any]) -> str:
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    return f"{parameter} has duplicate column names: {', '.join(map(repr, repeated))}; rename or drop them"
