"""Any frame, array or sparse matrix in, its columns out: names, blocks of numbers, and what must be read one by one."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel.data.values import Raw, read_column

Positions = NDArray[np.intp]

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
        return read_column(self.label(position), column)


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


def _duplicate_names(parameter: str, names: Sequence[Any]) -> str:
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    return f"{parameter} has duplicate column names: {', '.join(map(repr, repeated))}; rename or drop them"
