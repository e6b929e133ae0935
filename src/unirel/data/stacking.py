"""Two tables of the same columns, one below the other."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from unirel._runtime import warn
from unirel.data.readers import as_array, as_narwhals, is_sparse

# Names of columns that a warning lists.
_MOST_NAMES = 5


def stack(X1: Any, y1: Any, X2: Any, y2: Any) -> tuple[Any, Any, int, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The rows of both tables and targets, how many are of the first, and the columns that only one of them has."""
    X, *only = _stack_tables(X1, X2)
    for features, target, number in ((X1, y1, 1), (X2, y2, 2)):
        if _n_rows(features) != _n_rows(target):
            about = f"X{number} has {_n_rows(features)} rows, y{number} has {_n_rows(target)}"
            raise ValueError(f"{about}; they must describe the same samples")
        if _n_rows(features) < 2:
            raise ValueError(f"X{number} has {_n_rows(features)} rows; there is nothing to compare with fewer than two")
    return X, _stack_targets(y1, y2), _n_rows(y1), (only[0], only[1])


def _stack_tables(first: Any, second: Any) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """The rows of two tables, one below the other, and the columns that only one of them has."""
    if is_sparse(first) and is_sparse(second):
        from scipy.sparse import vstack

        _check_widths(first.shape, second.shape)
        return vstack([first, second]), (), ()
    frames = [as_narwhals(data, parameter) for data, parameter in ((first, "X1"), (second, "X2"))]
    if not any(isinstance(frame, nw.DataFrame) for frame in frames):
        arrays = [as_array(data, parameter) for data, parameter in ((first, "X1"), (second, "X2"))]
        _check_widths(*(array.shape for array in arrays))
        return np.concatenate(arrays), (), ()
    if not all(isinstance(frame, nw.DataFrame) for frame in frames):
        kinds = [type(data).__name__ for data in (first, second)]
        raise TypeError(f"X1 is {kinds[0]}, X2 {kinds[1]}; pass two frames, so that columns are matched by their names")
    # Names that are numbers, as those of a file without a header, are texts from here on.
    frames = [frame.rename({name: str(name) for name in frame.columns}) for frame in frames]
    columns = [frame.columns for frame in frames]
    both = [name for name in columns[0] if name in set(columns[1])]
    if not both:
        shown = " and ".join(str(own[:_MOST_NAMES]) for own in columns)
        raise ValueError(f"X1 and X2 share no column: {shown}; rename those that mean the same")
    only = [tuple(name for name in own if name not in set(both)) for own in columns]
    for names, where in zip(only, ("X1", "X2"), strict=True):
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            warn(f"only {where} has {', '.join(map(repr, names[:_MOST_NAMES]))}{more}: not compared")
    return _stack_frames(*(frame.select(both) for frame in frames)), only[0], only[1]


def _check_widths(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    if first[1:] != second[1:]:
        raise ValueError(f"X1 has shape {first}, X2 {second}; pass the same columns in both, or frames with names")


def _stack_frames(first: Any, second: Any) -> Any:
    """One frame below the other; columns that have other types in the second are numbers or texts in both."""
    if first.implementation != second.implementation:
        values = {name: second[name].to_list() for name in second.columns}
        second = nw.from_dict(values, backend=first.implementation)
    kinds = {}
    for name, one, other in zip(first.columns, first.schema.values(), second.schema.values(), strict=True):
        if one != other:
            kinds[name] = nw.Float64 if one.is_numeric() and other.is_numeric() else nw.String
    frames = [frame.with_columns(nw.col(name).cast(kind) for name, kind in kinds.items()) for frame in (first, second)]
    if first.implementation.is_pyarrow():  # texts of two files may have two types, which are one kind
        import pyarrow as pa

        return pa.concat_tables([frame.to_native() for frame in frames], promote_options="permissive")
    return nw.concat(frames).to_native()


def _stack_targets(first: Any, second: Any) -> Any:
    series = [as_narwhals(data, parameter) for data, parameter in ((first, "y1"), (second, "y2"))]
    if all(isinstance(one, nw.Series) for one in series):
        stacked = as_narwhals(_stack_frames(*(one.alias("y").to_frame() for one in series)), "y")
        return stacked["y"].to_native()
    return np.concatenate([as_array(data, parameter) for data, parameter in ((first, "y1"), (second, "y2"))])


def _n_rows(data: Any) -> int:
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)
