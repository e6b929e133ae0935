"""Values of single columns of any type: their family, what is missing, their levels, and what cannot be read."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel.data.kernels import FLOAT, HIGHEST, LOWEST, MOST_SLOTS, SIGNED, UNSIGNED, code_levels

Family = Literal["number", "boolean", "text", "category"]
Kind = Literal["continuous", "discrete", "ignored"]
Kinds = NDArray[np.int8]
Codes = NDArray[np.integer[Any]]
Positions = NDArray[np.intp]
Values = NDArray[np.float64]

# Kinds as they stand in arrays; a kind that nobody has given is unknown.
KINDS: tuple[Kind, ...] = get_args(Kind)
CONTINUOUS, DISCRETE, IGNORED, UNKNOWN = range(4)
# Whole numbers beyond this are not all told apart by floats.
LARGEST_EXACT = 2**53


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


def read_column(label: str, column: nw.Series[Any] | NDArray[Any]) -> Raw:
    """Read one column; what it holds decides its family."""
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


class Rule(NamedTuple):
    """Numbers are discrete with at most this many distinct values, each in this many rows on average."""

    levels: int
    rows: int


FEATURE, TARGET = Rule(10, 5), Rule(32, 2)
# Below this many different texts a column is no identifier, however few rows there are.
_IDENTIFIER_LEVELS = 20
# More levels than these, with one for missing values, do not fit into a byte.
NARROW_LEVELS = 255


def reason_of(n_values: int, n_present: int, rule: Rule) -> str:
    """Why a column of numbers is continuous or discrete."""
    if n_present == 0:
        return "no value present"
    if n_values < 0:  # How many there are is not counted, and must not be said: it takes long.
        return f"more than {rule.levels} distinct values"
    return f"{n_values} distinct value{'' if n_values == 1 else 's'} in {n_present} rows"


def are_discrete(n_values: Any, n_present: Any, rule: Rule) -> Any:
    """Whether numbers are discrete; they count only as equal or different, so units do not matter."""
    return (n_values >= 0) & ((n_values <= 2) | (n_present >= rule.rows * n_values))


def decide(family: str, n_present: int, n_values: int, rule: Rule) -> tuple[int, str]:
    """Kind of a column of any type and the reason."""
    if n_present and family == "category":
        return DISCRETE, "categorical"
    if n_present and family == "boolean":
        return DISCRETE, "true or false"
    if n_present and family == "text":
        if rule is FEATURE and n_values > _IDENTIFIER_LEVELS and 2 * n_values > n_present:
            return IGNORED, f"{n_values} of {n_present} texts are distinct, like an identifier"
        return DISCRETE, "text"
    n_values = n_values if n_values <= rule.levels else -1
    kind = DISCRETE if are_discrete(n_values, n_present, rule) else CONTINUOUS
    return kind, reason_of(n_values, n_present, rule)


def sorted_levels(levels: Iterable[Any]) -> list[Any]:
    """Levels in the order of their codes; those of several types have no order but that of their texts and types."""
    known = set(levels)
    try:
        return sorted(known)
    except TypeError:
        return sorted(known, key=lambda level: (str(level), type(level).__name__))


def encode(raw: Raw) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Sorted levels, and the code of every row; missing values come last."""
    if raw.values.dtype == object:  # Sorting all of them would take much longer.
        found = sorted_levels(raw.present.tolist())
        codes_of = {level: code for code, level in enumerate(found)}
        present_codes = np.fromiter(map(codes_of.__getitem__, raw.present), np.intp, raw.present.size)
        levels: NDArray[Any] = np.fromiter(found, object, len(found))
    else:
        levels, present_codes = np.unique(raw.present, return_inverse=True)
    if not raw.n_missing:
        return levels, present_codes
    codes = np.full(raw.values.size, levels.size, dtype=np.intp)
    codes[~raw.missing] = present_codes
    return levels, codes


class FoundLevels(NamedTuple):
    """What the levels of columns are: how many values, how many missing, whether infinity, and the code of 0."""

    n_values: NDArray[np.int64]
    n_missing: NDArray[np.int64]
    infinite: NDArray[np.bool_]
    zero_codes: NDArray[np.int64]
    levels: NDArray[np.float64]  # of columns of floats, as they came; NaN where there are no more


def count_levels(rows: NDArray[np.float64], limit: int) -> list[dict[float, int] | None]:
    """Values of every row and how often each occurs, missing ones aside; None where there are too many."""
    codes = np.empty(rows.shape, np.uint8)
    starts = np.arange(0, rows.size + 1, rows.shape[1])
    found = find_levels(rows.ravel(), starts, np.zeros(len(rows), bool), limit, codes.ravel())
    result: list[dict[float, int] | None] = []
    for n_values, levels, own in zip(found.n_values.tolist(), found.levels, codes, strict=True):
        known = None
        if n_values >= 0:
            counts = np.bincount(own, minlength=n_values)[:n_values]
            known = dict(zip(np.sort(levels)[:n_values].tolist(), counts.tolist(), strict=True))
        result.append(known)
    return result


def find_levels(
    values: NDArray[Any], starts: NDArray[np.integer[Any]], zeros: NDArray[np.bool_], limit: int, codes: Codes
) -> FoundLevels:
    """Code columns of numbers that follow each other, see `code_levels`; `zeros` says which have zeros beside them."""
    form = {"f": FLOAT, "u": UNSIGNED, "i": SIGNED}[values.dtype.kind]
    zero = LOWEST if form == UNSIGNED else 0
    levels = np.full((len(zeros), limit + 2), HIGHEST)
    levels[zeros, 0] = zero
    found = np.zeros((len(zeros), 2), np.int64)
    found[:, 0] = zeros
    keys = values.view(np.int64)
    keys.flags.writeable = False  # Some frames lend only such arrays, and another type would be compiled again.
    code_levels(keys, starts, form, np.zeros((3, MOST_SLOTS), np.int64), codes, levels, found)
    bits = np.where(levels < 0, levels ^ HIGHEST, levels)  # of floats; what was not filled is a NaN
    infinite = np.isinf(bits.view(np.float64)).any(axis=1) & (form == FLOAT)
    zero_codes = (levels < zero).sum(axis=1)
    return FoundLevels(found[:, 0], found[:, 1], np.asarray(infinite), zero_codes, bits.view(np.float64))


def narrowest(n_levels: int) -> type[np.integer[Any]]:
    """The narrowest type that holds codes of this many levels."""
    return np.uint8 if n_levels <= 2**8 else np.uint16 if n_levels <= 2**16 else np.int32


def find_places(n_levels: NDArray[np.int64]) -> tuple[Positions, Positions]:
    """In which matrix the codes of each column are, those of bytes, of two or of four, and in which row of it."""
    widths = np.searchsorted([2**8, 2**16], n_levels)
    places = np.empty(len(n_levels), np.intp)
    for width in range(3):
        columns = np.flatnonzero(widths == width)
        places[columns] = np.arange(len(columns))
    return widths, places


def empty_matrices(n_levels: NDArray[np.int64], n_samples: int, empty: Callable[..., Any]) -> list[NDArray[Any]]:
    """A matrix of codes for the columns of every width, not filled in."""
    widths = find_places(n_levels)[0]
    types = (np.uint8, np.uint16, np.uint32)
    return [empty((int((widths == width).sum()), n_samples), dtype) for width, dtype in enumerate(types)]
