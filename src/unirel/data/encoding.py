"""Which kind each column has, and its levels as small codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_time, pieces, warn
from unirel.data import CONTINUOUS, DISCRETE, IGNORED, KINDS, UNKNOWN, Codes, Kind, Kinds, Mask, Positions, Values
from unirel.data.kernels import FLOAT, HIGHEST, LOWEST, MOST_SLOTS, SIGNED, UNSIGNED, code_levels
from unirel.data.readers import Numbers, Raw, Source, as_slice
from unirel.data.texts import hint_of, like_identifier
from unirel.data.values import LARGEST_EXACT, as_numbers, encode_objects, read_texts, refuse_rounding

# More levels than these, with one for missing values, do not fit into a byte.
NARROW_LEVELS = 255
# Columns are taken from the input this many values at a time, or more if the table is large, ...
_SECTION = 2**19
# ... and coded in blocks of about this many, few enough to stay in the cache ...
_BLOCK = 2**17
# ... but this many columns at least, more if there is memory: those of an array lie side by side and are read in lines.
_FEWEST_COLUMNS, _MOST_COLUMNS = 8, 32


class Rule(NamedTuple):
    """Numbers are discrete with at most this many distinct values, each in this many rows on average."""

    levels: int
    rows: int


FEATURE, TARGET = Rule(10, 5), Rule(32, 2)


def reason_of(n_values: int, n_present: int, rule: Rule) -> str:
    if n_present == 0:
        return "no value present"
    if n_values < 0:  # How many there are is not counted, and must not be said: it takes long.
        return f"more than {rule.levels} distinct values"
    return f"{n_values} distinct value{'' if n_values == 1 else 's'} in {n_present} rows"


def are_discrete(n_values: Any, n_present: Any, rule: Rule) -> Any:
    """Whether numbers are discrete; they count only as equal or different, so units do not matter."""
    return (n_values >= 0) & ((n_values <= 2) | (n_present >= rule.rows * n_values))


def decide(family: str, n_present: int, n_values: int, rule: Rule) -> tuple[int, str]:
    if n_present and family == "category":
        return DISCRETE, "categorical"
    if n_present and family == "boolean":
        return DISCRETE, "true or false"
    if n_present and family == "text":
        if rule is FEATURE and like_identifier(n_values, n_present):
            return IGNORED, f"{n_values} of {n_present} texts are distinct, like an identifier"
        return DISCRETE, "text"
    n_values = n_values if n_values <= rule.levels else -1
    kind = DISCRETE if are_discrete(n_values, n_present, rule) else CONTINUOUS
    return kind, reason_of(n_values, n_present, rule)


@dataclass(frozen=True)
class Column:
    """What is known about one column."""

    name: str  # in the frame, or x0, x1, ... for an array
    kind: Kind
    reason: str  # why it has this kind, such as "3 distinct values in 62 rows"
    n_levels: int  # of a discrete column, one of them for missing values if there are any; otherwise 0
    n_missing: int  # 0 for an ignored column, whose values are not looked at


class Columns(Sequence[Column]):
    """What is known about the columns of a table; a `Column` is made when it is asked for.

    At first they are ignored, and nobody knows why.
    """

    def __init__(self, names: tuple[str, ...], n_samples: int) -> None:
        self.names, self.n_samples = names, n_samples
        self.kinds: Kinds = np.full(len(names), IGNORED, np.int8)  # positions in `KINDS`
        # How many values, missing ones aside; -1 where there are too many for a discrete column.
        self.n_values, self.n_missing = np.zeros((2, len(names)), np.int64)
        self.reasons = np.full(len(names), None)  # texts, None where the kind follows from the numbers above

    def behind(self, start: int) -> Columns:
        """The columns from one on, in the same arrays, so that what is written there is known here."""
        part = copy(self)
        for what in ("names", "kinds", "n_values", "n_missing", "reasons"):
            setattr(part, what, getattr(self, what)[start:])
        return part

    def note_levels(
        self, columns: Positions, asked: int, values: NDArray[Any], starts: Any = None, zeros: Any = None
    ) -> tuple[FoundLevels, Mask]:
        """Note what `find_levels` finds in columns of numbers, and their kinds; return it, and which are discrete."""
        found = find_levels(values, FEATURE.levels if asked == UNKNOWN else NARROW_LEVELS, starts, zeros)
        self.n_values[columns], self.n_missing[columns] = found.n_values, found.n_missing
        discrete = found.n_values >= 0
        if asked == UNKNOWN:
            discrete = are_discrete(found.n_values, self.n_samples - found.n_missing, FEATURE)
        self.kinds[columns] = np.where(discrete, DISCRETE, CONTINUOUS)
        return found, discrete

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each discrete column, one of them for missing values if there are any; 0 for the others."""
        return np.where(self.kinds == DISCRETE, self.n_values + (self.n_missing > 0), 0)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        index = range(len(self))[index]
        kind, n_values, n_missing = self.kinds[index], int(self.n_values[index]), int(self.n_missing[index])
        reason = self.reasons[index] or reason_of(n_values, self.n_samples - n_missing, FEATURE)
        # Asked while columns are still being encoded, so nothing about the others is kept.
        n_levels = n_values + (n_missing > 0) if kind == DISCRETE else 0
        return Column(self.names[index], KINDS[kind], reason, n_levels, n_missing)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Columns | tuple) else NotImplemented

    def __repr__(self) -> str:
        return repr(tuple(self))


class DenseColumns:
    """Columns of a table that are not sparse: codes of the discrete ones, numbers of the continuous ones.

    Nothing is kept of the input but the codes: numbers are taken from it again when they are asked for.
    """

    def __init__(self, facts: Columns, n_features: int) -> None:
        n_columns, self.n_features = len(facts), n_features
        self.facts = facts  # filled in as columns are read
        # Of up to 256 levels; other rows are never written.
        self.codes = np.empty((n_columns, facts.n_samples), np.uint8)
        self.largest = np.full(n_columns, np.nan)  # absolute value of each continuous column
        self.numeric, self.single = np.zeros((2, n_columns), bool)  # numbers, and those in single precision
        self.since: dict[str, str] = {}  # what the numbers of dates and times are, where nobody has given their kind
        self._wide: dict[int, Codes] = {}
        self._blocks: list[Numbers] = []
        # Where the numbers of a column are: in which block, and which column of it.
        self._homes = np.zeros((n_columns, 2), np.intp)

    def read(self, source: Source, start: int, asked: Kinds) -> None:
        """Read features or conditions into the columns from `start` on; of those refused the first is named."""
        self.facts.reasons[start + np.flatnonzero(asked != UNKNOWN)] = "given by discrete_features"
        alone = [position for position in source.others if asked[position] != IGNORED]
        for block in source.blocks:
            self._hold_block(start + block.positions, block)
            for kind in (UNKNOWN, CONTINUOUS, DISCRETE):
                for places in self.sections(np.flatnonzero(asked[block.positions] == kind)):
                    alone += self._read_block(block, places, start, kind)
        for position in sorted(alone):
            check_time()
            raw, label = source.read(position), source.label(position)
            self._describe(raw, label, start + position, int(asked[position]), FEATURE)

    def read_targets(self, source: Source, asked: Kinds) -> list[NDArray[Any] | None]:
        """Read the last columns, which must be complete and vary; return the labels of the classes of each if any."""
        first, found = len(self.facts.kinds) - source.shape[1], list[NDArray[Any] | None]()
        for place, kind in enumerate(asked.tolist()):
            raw, label = source.read(place), source.label(place)
            if kind != UNKNOWN:
                self.facts.reasons[first + place] = "given by target_type"
            levels = self._describe(raw, label, first + place, kind, TARGET)
            check_target(raw.n_missing, raw.values.size, levels, label)
            found.append(levels if self.facts.kinds[first + place] == DISCRETE else None)
        return found

    @property
    def precision(self) -> np.dtype[Any]:
        """Single precision if all numeric features have it, else double."""
        part = slice(self.n_features)
        present = self.facts.n_missing[part] < self.facts.n_samples
        numeric = self.numeric[part] & present & (self.facts.kinds[part] != IGNORED)
        return np.dtype(np.float32 if numeric.any() and self.single[part][numeric].all() else np.float64)

    def sections(self, columns: Positions) -> list[Positions]:
        """Columns in parts that are taken from the input together."""
        # Many at once, as to take a few from a frame of many takes long, but no more than half the memory of the codes.
        return pieces(columns, max(_SECTION, self.codes.size // 16) // self.codes.shape[1])

    def codes_of(self, columns: Positions) -> Codes:
        """Codes of discrete columns, one row each; do not write to them."""
        if not self._wide:
            return self.codes[as_slice(columns)]
        wide = [self._wide.get(column) for column in columns.tolist()]
        dtype = np.result_type(np.uint8, *(codes for codes in wide if codes is not None))
        rows = self.codes[columns].astype(dtype, copy=False)
        for row, codes in zip(rows, wide, strict=True):
            if codes is not None:
                row[:] = codes
        return rows

    def numbers_of(self, columns: Positions) -> Values:
        """Numbers of continuous columns, one row each, NaN where they are missing."""
        rows = np.empty((len(columns), self.codes.shape[1]))
        homes = self._homes[columns]
        for number in np.unique(homes[:, 0]).tolist():
            mine = np.flatnonzero(homes[:, 0] == number)
            part = rows if len(mine) == len(rows) else np.empty((len(mine), rows.shape[1]))
            _copy_columns(self._blocks[number].take(homes[mine, 1]), part)
            if part is not rows:
                rows[mine] = part
        return rows

    def _hold_block(self, columns: Positions, block: Numbers) -> None:
        self._homes[columns, 0] = len(self._blocks)
        self._homes[columns, 1] = np.arange(len(columns))
        self._blocks.append(block)

    def _read_block(self, block: Numbers, places: Positions, start: int, asked: int) -> list[int]:
        """Read some columns of a block; return the positions of those that must be read one by one."""
        check_time()
        array, columns = block.take(places), start + block.positions[places]
        if array.dtype == block.dtype:
            # Turned into rows together: what fits into the cache, or half the memory of the codes.
            few = min(max(len(self.codes) // 16, _FEWEST_COLUMNS), _MOST_COLUMNS)
            at_once = max(_BLOCK // self.codes.shape[1], few)
            infinite = [
                columns[some][self._code_numbers(array[:, some], columns[some], asked)]
                for some in pieces(np.arange(len(places)), at_once)
            ]
            return cast(list[int], (np.concatenate(infinite) - start).tolist())
        if len(places) == 1:
            return cast(list[int], block.positions[places].tolist())
        # Missing values have changed the type of a few: halve until it is known of which.
        half = len(places) // 2
        first, second = places[:half], places[half:]
        return self._read_block(block, first, start, asked) + self._read_block(block, second, start, asked)

    def _code_numbers(self, array: NDArray[Any], columns: Positions, asked: int) -> Mask:
        """Find the kinds and codes of columns of numbers or booleans; return which must be looked at alone."""
        rows = _as_rows(array)
        self.facts.kinds[columns] = CONTINUOUS
        self.numeric[columns] = array.dtype.kind != "b"
        self.single[columns] = array.dtype == np.float32
        if asked == CONTINUOUS:
            return self._note_numbers(rows, columns)
        if array.dtype.kind == "b" and asked == UNKNOWN:
            self.facts.reasons[columns] = "true or false"
        found, discrete = self.facts.note_levels(columns, asked, rows)
        self.codes[columns[discrete]] = found.codes if discrete.all() else found.codes[discrete]
        infinite, others = found.infinite & discrete, np.flatnonzero(~discrete)
        if asked == UNKNOWN:
            numbers = rows if len(others) == len(rows) else rows[others]
            infinite[others] = self._note_numbers(numbers, columns[others])
        else:
            for row in others.tolist():
                levels = self._hold_levels(Raw("number", rows[row], np.isnan(rows[row])), int(columns[row]))
                infinite[row] = np.isinf(levels).any()
        return infinite

    def _note_numbers(self, rows: NDArray[Any], columns: Positions) -> Mask:
        """Count missing values and find the largest of continuous columns; return which must be looked at alone."""
        # Those hold infinity, or whole numbers that floats may not tell apart.
        if len(rows) == 0:
            return np.zeros(0, bool)
        lowest, highest = rows.min(axis=1).astype(np.float64), rows.max(axis=1).astype(np.float64)
        gaps = np.flatnonzero(np.isnan(lowest))
        if len(gaps):
            self.facts.n_missing[columns[gaps]] = np.isnan(rows[gaps]).sum(axis=1)
            # These two pass over missing values without a word; a column that has no other stays NaN.
            lowest[gaps], highest[gaps] = np.fmin.reduce(rows[gaps], axis=1), np.fmax.reduce(rows[gaps], axis=1)
        largest = np.maximum(-lowest, highest)
        self.largest[columns] = largest
        return np.asarray(largest > LARGEST_EXACT if rows.dtype.kind in "iu" else np.isinf(largest))

    def _describe(self, raw: Raw, label: str, column: int, asked: int, rule: Rule) -> NDArray[Any]:
        """Decide the kind of one column, unless it is given; return its levels if they were looked at."""
        if asked == CONTINUOUS:
            raw = as_numbers(raw, label)
        elif asked == UNKNOWN and raw.family == "text" and rule is FEATURE:
            raw = read_texts(raw)
        if raw.since and asked == UNKNOWN and rule is FEATURE:
            self.since[self.facts.names[column]] = raw.since
            self.facts.reasons[column] = f"as {raw.since}"
        if raw.family == "number" and raw.values.dtype.itemsize <= 8 and rule is FEATURE:
            self._code_numbers(raw.values[:, np.newaxis], np.array([column]), asked)
            if self.facts.kinds[column] == CONTINUOUS:
                self._hold_numbers(raw, label, column)
            return raw.values[:0]
        levels = self._hold_levels(raw, column)
        self.numeric[column], self.single[column] = raw.family == "number", raw.values.dtype == np.float32
        if asked == UNKNOWN:
            asked, self.facts.reasons[column] = decide(raw.family, raw.present.size, len(levels), rule)
        self.facts.kinds[column] = asked
        if asked == CONTINUOUS:
            self._hold_numbers(raw, label, column)
        elif asked == IGNORED:
            self.facts.n_missing[column] = 0
            self.facts.reasons[column] += hint_of(levels.tolist())
        return levels

    def _hold_levels(self, raw: Raw, column: int) -> NDArray[Any]:
        """Keep the codes of a discrete column of any type; return its levels."""
        find = encode_objects if raw.values.dtype == object else partial(np.unique, return_inverse=True)
        levels, codes = find(raw.present)
        if raw.n_missing:  # They come last.
            present_codes, codes = codes, np.full(raw.values.size, len(levels))
            codes[~raw.missing] = present_codes
        self.facts.kinds[column] = DISCRETE
        self.facts.n_values[column], self.facts.n_missing[column] = len(levels), raw.n_missing
        dtype = narrowest(len(levels) + (raw.n_missing > 0))
        if dtype == np.uint8:
            self.codes[column] = codes
        else:
            self._wide[column] = codes.astype(dtype)
        return levels

    def _hold_numbers(self, raw: Raw, label: str, column: int) -> None:
        """Keep the numbers of a continuous column that is in no block."""
        self._wide.pop(column, None)
        if raw.values.dtype.kind in "iu":
            refuse_rounding(label, raw.present.tolist, raw.present.astype(np.float64))
        values = np.where(raw.missing, np.nan, raw.values) if raw.n_missing else raw.values
        self._hold_block(np.array([column]), Numbers(np.zeros(1, np.intp), values.dtype, values[:, np.newaxis]))
        self._note_numbers(values.astype(np.float64)[np.newaxis], np.array([column]))


def check_inputs(columns: Columns, n_features: int, asked: Kinds) -> None:
    """Name the columns that are ignored although nobody asked for it; refuse a table without features."""
    ignored = columns.kinds[: len(asked)] == IGNORED
    left_out = [columns[position] for position in np.flatnonzero(ignored & (asked == UNKNOWN)).tolist()]
    if left_out:
        listed = ", ".join(f"{column.name!r} ({column.reason})" for column in left_out)
        remedy = f"to use a column all the same, pass discrete_features={{{left_out[0].name!r}: True}}"
        warn(f"ignored {listed}; {remedy}")
    if ignored[:n_features].all():
        raise ValueError(f"no feature is left: all {n_features} columns of X are ignored; make one of them discrete")


def check_target(n_missing: int, n_samples: int, levels: NDArray[Any] | None, label: str = "y") -> None:
    if n_missing == n_samples:
        raise ValueError(f"{label} has no value at all: all {n_missing} are missing (NaN); choose another target")
    if n_missing:
        values = "value" if n_missing == 1 else "values"
        raise ValueError(f"{label} has {n_missing} missing {values} (NaN); drop those rows from X and y")
    if levels is not None and len(levels) == 1:
        every = f"every value is {levels.tolist()[0]!r}"
        raise ValueError(f"{label} has one class only: {every}; choose a target that varies")


def wide_type(dtype: np.dtype[Any]) -> type[np.number[Any]]:
    """The type of 8 bytes for such numbers, so that one compiled kernel does for all of them."""
    return np.float64 if dtype.kind == "f" else np.uint64 if dtype == np.uint64 else np.int64


def _as_rows(array: NDArray[Any]) -> NDArray[Any]:
    dtype = wide_type(array.dtype)
    if array.dtype == dtype and array.flags.f_contiguous:
        return array.T
    rows = np.empty(array.T.shape, dtype)
    _copy_columns(array, rows)
    return rows


def _copy_columns(array: NDArray[Any], rows: NDArray[Any]) -> None:
    """Copy columns to rows; some rows of the input at a time, which stay in the cache until all columns are done."""
    step = len(array) if array.flags.f_contiguous else max(1, 2**14 // array.shape[1])
    for start in range(0, len(array), step):
        rows[:, start : start + step] = array[start : start + step].T


class FoundLevels(NamedTuple):
    """What the levels of columns are: how many values, how many missing, whether infinity, and the code of 0."""

    codes: NDArray[np.uint8]  # of the shape of the values
    n_values: NDArray[np.int64]
    n_missing: NDArray[np.int64]
    infinite: Mask
    zero_codes: NDArray[np.int64]
    levels: Values  # of columns of floats, as they came; NaN where there are no more


def find_levels(
    values: NDArray[Any], limit: int, starts: Codes | None = None, zeros: Mask | None = None
) -> FoundLevels:
    """Code rows of numbers, see `code_levels`, or stretches of one row, of which some have zeros beside them."""
    if starts is None:
        starts = np.arange(0, values.size + 1, values.shape[1])
    if zeros is None:
        zeros = np.zeros(len(starts) - 1, bool)
    form = {"f": FLOAT, "u": UNSIGNED, "i": SIGNED}[values.dtype.kind]
    zero = LOWEST if form == UNSIGNED else 0
    levels = np.full((len(zeros), limit + 2), HIGHEST)
    levels[zeros, 0] = zero
    found = np.zeros((len(zeros), 2), np.int64)
    found[:, 0] = zeros
    keys, codes = values.ravel().view(np.int64), np.empty(values.size, np.uint8)
    keys.flags.writeable = False  # Some frames lend only such arrays, and another type would be compiled again.
    code_levels(keys, starts, form, np.zeros((3, MOST_SLOTS), np.int64), codes, levels, found)
    bits = np.where(levels < 0, levels ^ HIGHEST, levels)  # of floats; what was not filled is a NaN
    infinite = np.isinf(bits.view(np.float64)).any(axis=1) & (form == FLOAT)
    zero_codes = (levels < zero).sum(axis=1)
    in_shape = codes.reshape(values.shape)
    return FoundLevels(in_shape, found[:, 0], found[:, 1], np.asarray(infinite), zero_codes, bits.view(np.float64))


def narrowest(n_levels: int) -> type[np.integer[Any]]:
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
