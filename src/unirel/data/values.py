"""Values of columns that are no plain numbers: texts, categories, dates, objects, and what cannot be read."""

import numbers
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel.data import Mask, Positions, Values
from unirel.data.readers import Raw, read_numbers
from unirel.data.texts import find_values

# Whole numbers beyond this are not all told apart by floats.
LARGEST_EXACT = 2**53


def read_column(label: str, column: nw.Series[Any] | NDArray[Any]) -> Raw:
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
    code = values.dtype.kind
    if code in "biuf":
        return read_numbers(label, values)
    if code == "U":
        return Raw("text", values, np.zeros(values.size, dtype=bool))
    if code in "OT":
        return _parse_objects(label, values.astype(object))
    if code == "c":
        raise ValueError(f"Complex data not supported: {label} holds complex numbers; pass their parts as two columns")
    if code in "Mm":
        return _read_times(values)
    raise _no_nesting(label, str(values.dtype))


def read_texts(raw: Raw, asked: bool = False) -> Raw:
    """Texts as the numbers or dates that they are, but for marks of missing values; as they are if they are neither."""
    found = find_values(raw, asked)
    if found is None:
        return raw
    if found.values.dtype.kind == "M":
        read = _read_times(found.values)
        return replace(read, since=f"{read.since}{found.words()}")
    return Raw("number", found.values, np.isnan(found.values), f"numbers{found.words()}")


def as_numbers(raw: Raw, label: str, is_part: bool = False) -> Raw:
    """The same as numbers; texts if all of them are written as numbers or, unless they are a part, as dates."""
    # Which number of a date is the day, parts may decide in different ways.
    if raw.family == "text" and not ((read := read_texts(raw, asked=True)).start and is_part):
        raw = read
    if raw.values.dtype.kind in "biuf":
        return raw
    try:
        values = _spread(raw.present.astype(np.float64), raw.missing)
    except (TypeError, ValueError):
        about = f"{label} is to be continuous, but holds what is no number"
        raise ValueError(f"{about}; make it discrete, or convert it") from None
    return read_numbers(label, values)


def _spread(present: Any, missing: Mask) -> Values:
    """Numbers of the rows that have one, NaN for the others."""
    values = np.full(missing.size, np.nan)
    values[~missing] = present
    return values


def _read_times(values: NDArray[Any]) -> Raw:
    """Dates as days since the first of them, durations as seconds."""
    missing = np.isnat(values)
    present = values[~missing]
    if values.dtype.kind == "m":
        return Raw("number", _spread(present / np.timedelta64(1, "s"), missing), missing, "seconds")
    if missing.all():
        return Raw("number", np.full(values.size, np.nan), missing)
    first = present.min()
    # Of years and months numpy knows no length in days.
    present = present.astype(np.result_type(values.dtype, "datetime64[D]"))
    days = _spread((present - present.min()) / np.timedelta64(1, "D"), missing)
    start = float((present.min() - np.datetime64(0, "D")) / np.timedelta64(1, "D"))
    whole = first == first.astype("datetime64[D]")
    return Raw("number", days, missing, f"days since {np.datetime_as_string(first, unit='D' if whole else 's')}", start)


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
            floats = present.astype(np.float64)
            refuse_rounding(label, present.tolist, floats)
            numeric = _spread(floats, missing)
    except OverflowError:
        raise ValueError(f"{label} overflows: it holds a number beyond the range of floats; rescale it") from None
    return read_numbers(label, numeric)


def _parse_times(label: str, values: NDArray[Any], missing: Mask) -> Raw:
    """Read objects that are all dates, all times of the day or all durations."""
    present = values[~missing].tolist()
    if all(isinstance(value, time) for value in present):
        seconds = [3600 * one.hour + 60 * one.minute + one.second + one.microsecond / 1e6 for one in present]
        return Raw("number", _spread(seconds, missing), missing, "seconds of the day")
    are_dates = {isinstance(value, date | np.datetime64) for value in present}
    try:
        if len(are_dates) > 1 or any(isinstance(value, time) for value in present):
            raise TypeError
        kind = "M8[us]" if are_dates == {True} else "m8[us]"
        times = np.full(values.size, "NaT", kind)
        times[~missing] = np.array([_without_zone(value) for value in present]).astype(kind)
    except (TypeError, ValueError):
        about = f"{label} mixes dates, times and durations"
        raise TypeError(f"{about}; convert it to a number, such as days since a start, or drop it") from None
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


def refuse_rounding(label: str, give_whole: Callable[[], list[Any]], floats: Values) -> None:
    """Refuse whole numbers so large that floats take different ones for the same: then ranks would be wrong."""
    if len(floats) and np.abs(floats).max() > LARGEST_EXACT and len(np.unique(floats)) < len(set(give_whole())):
        about = f"{label} holds whole numbers beyond 2**53 that are equal when rounded to floats"
        raise ValueError(f"{about}; subtract a constant first, or convert it to texts")


def _no_objects(label: str, types: set[type]) -> Exception:
    listed = ", ".join(sorted(kind.__name__ for kind in types))
    if any(issubclass(kind, complex | np.complexfloating) for kind in types):
        return ValueError(f"Complex data not supported: {label} holds {listed}; pass their parts as two columns")
    if all(issubclass(kind, str | numbers.Real | Decimal | np.bool_) for kind in types):
        return TypeError(f"{label} mixes values of types {listed}; make all of them numbers or all of them texts")
    remedy = "every argument must be a string or a number; convert or drop the column"
    return TypeError(f"{label} holds values of types {listed}, but {remedy}")


def _no_nesting(label: str, dtype: str) -> TypeError:
    return TypeError(f"{label} is of type {dtype}; turn it into columns of numbers or texts, or drop it")


def sorted_levels(levels: Iterable[Any]) -> list[Any]:
    """Levels in the order of their codes; those of several types have no order but that of their texts and types."""
    known = set(levels)
    try:
        return sorted(known)
    except TypeError:
        return sorted(known, key=lambda level: (str(level), type(level).__name__))


def encode_objects(present: NDArray[Any]) -> tuple[NDArray[Any], Positions]:
    """Sorted levels, and the code of every value: to sort all values would take much longer."""
    found = sorted_levels(present.tolist())
    codes_of = {level: code for code, level in enumerate(found)}
    codes = np.fromiter(map(codes_of.__getitem__, present), np.intp, present.size)
    return np.fromiter(found, object, len(found)), codes
