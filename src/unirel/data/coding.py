"""Which kind each column has, and its levels as small codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_time, pieces
from unirel.data.reading import (
    CONTINUOUS,
    DISCRETE,
    IGNORED,
    KINDS,
    UNKNOWN,
    Kind,
    Numbers,
    Positions,
    Raw,
    Source,
    as_slice,
)
from unirel.estimation.kernels.reading import FLOAT, HIGHEST, LOWEST, MOST_SLOTS, SIGNED, UNSIGNED, code_levels

Codes = NDArray[np.integer[Any]]


class Rule(NamedTuple):
    """Numbers are discrete with at most this many distinct values, each in this many rows on average."""

    levels: int
    rows: int


FEATURE, TARGET = Rule(10, 5), Rule(32, 2)
# Below this many different texts a column is no identifier, however few rows there are.
_IDENTIFIER_LEVELS = 20
# More levels than these, with one for missing values, do not fit into a byte.
NARROW_LEVELS = 255
# Columns are taken from the input this many values at a time, or more if the table is large, ...
_SECTION = 2**19
# ... and coded in blocks of about this many, few enough to stay in the cache ...
_BLOCK = 2**17
# ... but this many columns at least, more if there is memory: those of an array lie side by side and are read in lines.
_FEWEST_COLUMNS, _MOST_COLUMNS = 8, 32


@dataclass(frozen=True)
class Column:
    """What is known about one column.

    Attributes
    ----------
    name : str
        Its name in the frame, or ``x0``, ``x1``, ... for an array.
    kind : {"continuous", "discrete", "ignored"}
        How estimators treat it.
    reason : str
        Why it has this kind, such as ``"3 distinct values in 62 rows"``.
    n_levels : int
        Levels of a discrete column, one of them for missing values if there are any; otherwise 0.
    n_missing : int
        Missing values; 0 for an ignored column, whose values are not looked at.
    """

    name: str
    kind: Kind
    reason: str
    n_levels: int
    n_missing: int


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about columns, an entry of each array for each of them."""

    kinds: NDArray[np.int8]  # positions in `KINDS`
    n_values: NDArray[np.int64]  # missing ones aside; -1 where there are too many for a discrete column
    n_missing: NDArray[np.int64]
    reasons: NDArray[np.int32]  # positions in `texts`, -1 where the kind follows from the numbers above
    texts: list[str]

    @classmethod
    def of(cls, n_columns: int) -> Facts:
        """Columns that are ignored, and nobody knows why."""
        counts = np.zeros((2, n_columns), np.int64)
        kinds, reasons = np.full(n_columns, IGNORED, np.int8), np.full(n_columns, -1, np.int32)
        return cls(kinds, counts[0], counts[1], reasons, [])

    @classmethod
    def join(cls, parts: Sequence[Facts]) -> Facts:
        """Facts about the columns of several parts, one part behind the other."""
        starts = np.cumsum([0, *(len(part.texts) for part in parts[:-1])]).tolist()
        reasons = [
            np.where(part.reasons < 0, -1, part.reasons + start) for part, start in zip(parts, starts, strict=True)
        ]
        return cls(
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([part.n_values for part in parts]),
            np.concatenate([part.n_missing for part in parts]),
            np.concatenate(reasons).astype(np.int32),
            list(chain.from_iterable(part.texts for part in parts)),
        )

    def take(self, columns: Positions) -> Facts:
        """Facts about some of the columns."""
        kinds, n_values, n_missing = self.kinds[columns], self.n_values[columns], self.n_missing[columns]
        return Facts(kinds, n_values, n_missing, self.reasons[columns], self.texts)

    def explain(self, columns: Any, reason: str) -> None:
        """Say why some columns have their kind."""
        if reason not in self.texts[-1:]:
            self.texts.append(reason)
        self.reasons[columns] = len(self.texts) - 1


class Columns(Sequence[Column]):
    """What is known about the columns of a table; a `Column` is made when it is asked for.

    Parameters
    ----------
    names : sequence of sequences of str
        Names, in parts that follow each other.
    facts : Facts
        Everything else.
    n_samples : int
        Rows of the table.
    """

    def __init__(self, names: Sequence[Sequence[str]], facts: Facts, n_samples: int) -> None:
        self.parts = tuple(names)
        self.facts = facts
        self.n_samples = n_samples

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(chain.from_iterable(self.parts))

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each discrete column, one of them for missing values if there are any; 0 for the others."""
        n_levels = self.facts.n_values + (self.facts.n_missing > 0)
        n_levels[self.facts.kinds != DISCRETE] = 0
        return n_levels

    def __len__(self) -> int:
        return len(self.facts.kinds)

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Column, ...]: ...
    def __getitem__(self, index: int | slice) -> Column | tuple[Column, ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        index = range(len(self))[index]
        kind, n_missing = KINDS[self.facts.kinds[index]], int(self.facts.n_missing[index])
        return Column(self.names[index], kind, self._reason(index), int(self.n_levels[index]), n_missing)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Columns | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _reason(self, index: int) -> str:
        if self.facts.reasons[index] >= 0:
            return self.facts.texts[int(self.facts.reasons[index])]
        n_values, n_present = int(self.facts.n_values[index]), self.n_samples - int(self.facts.n_missing[index])
        return reason_of(n_values, n_present, FEATURE)


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


class DenseColumns:
    """Columns of a table that are not sparse: facts, codes of the discrete ones, numbers of the continuous ones.

    Nothing is kept of the input but the codes: numbers are taken from it again when they are asked for.

    Attributes
    ----------
    facts : Facts
        One entry for each column.
    codes : ndarray of uint8 of shape (n_columns, n_samples)
        Codes of discrete columns of up to 256 levels; other rows were never written.
    largest : ndarray of float64
        Largest absolute value of each continuous column, NaN if it has none.
    numeric, single : ndarray of bool
        Whether a column holds numbers, and whether they are in single precision.
    """

    def __init__(self, n_columns: int, n_samples: int) -> None:
        self.facts = Facts.of(n_columns)
        self.codes = np.empty((n_columns, n_samples), np.uint8)
        self.largest = np.full(n_columns, np.nan)
        self.single = np.zeros(n_columns, bool)
        self.numeric = np.zeros(n_columns, bool)
        self.since: dict[int, str] = {}
        self._wide: dict[int, Codes] = {}
        self._alone: dict[int, NDArray[Any]] = {}
        self._blocks: list[Numbers] = []
        # Where the numbers of a column are: in which block, and which column of it.
        self._homes = np.zeros((n_columns, 2), np.intp)

    def read(self, source: Source, start: int, asked: NDArray[np.int8]) -> None:
        """Read features or conditions into the columns from `start` on; of those refused the first is named."""
        self.facts.explain(start + np.flatnonzero(asked != UNKNOWN), "given by discrete_features")
        refused: dict[int, Exception] = {}
        alone = [position for position in source.others if asked[position] != IGNORED]
        for block in source.blocks:
            self._homes[start + block.positions, 0] = len(self._blocks)
            self._homes[start + block.positions, 1] = np.arange(len(block.positions))
            self._blocks.append(block)
            for kind in (UNKNOWN, CONTINUOUS, DISCRETE):
                for places in self.sections(np.flatnonzero(asked[block.positions] == kind)):
                    alone += self._read_block(block, places, start, kind)
        for position in alone:
            check_time()
            try:
                self._describe(source.read(position), source, position, start + position, asked[position])
            except (TypeError, ValueError) as error:
                refused[position] = error
        if refused:
            raise refused[min(refused)]

    def read_target(self, source: Source, asked: int) -> NDArray[Any] | None:
        """Read the last column, which must be complete and vary; return the labels of its classes if it has any."""
        column, raw = len(self.facts.kinds) - 1, source.read(0)
        if raw.n_missing == raw.values.size:
            raise ValueError(f"y has no value at all: all {raw.n_missing} are missing (NaN); choose another target")
        if raw.n_missing:
            values = "value" if raw.n_missing == 1 else "values"
            raise ValueError(f"y has {raw.n_missing} missing {values} (NaN); drop those rows from X and y")
        if asked != UNKNOWN:
            self.facts.explain(column, "given by target_kind")
        levels = self._describe(raw, source, 0, column, asked)
        if len(levels) == 1:
            only = levels.tolist()[0]
            raise ValueError(f"y has one class only: every value is {only!r}; choose a target that varies")
        return levels if self.facts.kinds[column] == DISCRETE else None

    def sections(self, columns: Positions) -> list[Positions]:
        """Columns in parts that are taken from the input together.

        Many at once, as to take a few from a frame of many takes long, but no more than half the memory of the codes.
        """
        return pieces(columns, max(_SECTION, self.codes.size // 16) // self.codes.shape[1])

    def codes_of(self, columns: Positions) -> Codes:
        """Codes of discrete columns, one row each; do not write to them."""
        if not self._wide:
            stretch = as_slice(columns)
            return self.codes[columns] if stretch is None else self.codes[stretch]
        wide = [self._wide.get(column) for column in columns.tolist()]
        dtype = np.result_type(np.uint8, *(codes for codes in wide if codes is not None))
        rows = self.codes[columns].astype(dtype, copy=False)
        for row, codes in zip(rows, wide, strict=True):
            if codes is not None:
                row[:] = codes
        return rows

    def numbers_of(self, columns: Positions) -> NDArray[np.float64]:
        """Numbers of continuous columns, one row each, NaN where they are missing."""
        rows = np.empty((len(columns), self.codes.shape[1]))
        homes = self._homes[columns]
        for row in np.flatnonzero(homes[:, 0] < 0).tolist():
            rows[row] = self._alone[int(columns[row])]
        for number, block in enumerate(self._blocks):
            mine = np.flatnonzero(homes[:, 0] == number)
            if len(mine):
                part = rows if len(mine) == len(rows) else np.empty((len(mine), rows.shape[1]))
                _copy_columns(block.take(homes[mine, 1]), part)
                if part is not rows:
                    rows[mine] = part
        return rows

    def _read_block(self, block: Numbers, places: Positions, start: int, asked: int) -> list[int]:
        """Read some columns of a block; return the positions of those that must be read one by one."""
        check_time()
        array, columns = block.take(places), start + block.positions[places]
        if array.dtype == block.dtype:
            infinite = [
                columns[some][self._code_numbers(array[:, some], columns[some], asked)]
                for some in pieces(np.arange(len(places)), self._columns_at_once())
            ]
            return cast(list[int], (np.concatenate(infinite) - start).tolist())
        if len(places) == 1:
            return cast(list[int], block.positions[places].tolist())
        # Missing values have changed the type of a few: halve until it is known of which.
        half = len(places) // 2
        first, second = places[:half], places[half:]
        return self._read_block(block, first, start, asked) + self._read_block(block, second, start, asked)

    def _columns_at_once(self) -> int:
        """How many columns are turned into rows together: what fits into the cache, or half the memory of the codes."""
        n_columns, n_samples = self.codes.shape
        return max(_BLOCK // n_samples, min(max(n_columns // 16, _FEWEST_COLUMNS), _MOST_COLUMNS))

    def _code_numbers(self, array: NDArray[Any], columns: Positions, asked: int) -> NDArray[np.bool_]:
        """Find the kinds and codes of columns of numbers or booleans; return which of them hold infinity."""
        rows = _as_rows(array)
        self.facts.kinds[columns] = CONTINUOUS
        self.numeric[columns] = array.dtype.kind != "b"
        self.single[columns] = array.dtype == np.float32
        if asked == CONTINUOUS:
            return self._note_numbers(rows, columns)
        if array.dtype.kind == "b" and asked == UNKNOWN:
            self.facts.explain(columns, "true or false")
        codes = np.empty(rows.shape, np.uint8)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        limit = FEATURE.levels if asked == UNKNOWN else NARROW_LEVELS
        found = find_levels(rows.ravel(), starts, np.zeros(len(rows), bool), limit, codes.ravel())
        self.facts.n_values[columns], self.facts.n_missing[columns] = found.n_values, found.n_missing
        discrete = found.n_values >= 0
        if asked == UNKNOWN:
            discrete = are_discrete(found.n_values, rows.shape[1] - found.n_missing, FEATURE)
        self.facts.kinds[columns[discrete]] = DISCRETE
        self.codes[columns[discrete]] = codes if discrete.all() else codes[discrete]
        infinite, others = found.infinite & discrete, np.flatnonzero(~discrete)
        if asked == UNKNOWN:
            numbers = rows if len(others) == len(rows) else rows[others]
            infinite[others] = self._note_numbers(numbers, columns[others])
        else:
            for row in others.tolist():
                levels = self._hold_levels(Raw("number", rows[row], np.isnan(rows[row])), int(columns[row]))
                infinite[row] = np.isinf(levels).any()
        return infinite

    def _note_numbers(self, rows: NDArray[Any], columns: Positions) -> NDArray[np.bool_]:
        """Count missing values and find the largest of continuous columns; return which of them hold infinity."""
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
        return np.asarray(np.isinf(largest))

    def _describe(self, raw: Raw, source: Source, position: int, column: int, asked: int) -> NDArray[Any]:
        """Decide the kind of one column, unless it is given; return its levels if they were looked at."""
        rule = TARGET if source.parameter == "y" else FEATURE
        if asked == CONTINUOUS and raw.values.dtype.kind not in "biuf":
            giver = f"discrete_features gives {source.label(position)} " if rule is FEATURE else "target_type="
            name = source.names[position]
            raise ValueError(f"{giver}'continuous', but {name!r} holds no numbers; make it 'discrete' or convert it")
        if raw.since and asked == UNKNOWN and rule is FEATURE:
            self.since[column] = raw.since
        if raw.family == "number" and raw.values.dtype.itemsize <= 8 and rule is FEATURE:
            self._code_numbers(raw.values[:, np.newaxis], np.array([column]), asked)
            if raw.since and asked == UNKNOWN:
                self.facts.explain(column, f"as {raw.since}")
            if self.facts.kinds[column] == CONTINUOUS:
                self._hold_numbers(raw, column)
            return raw.values[:0]
        levels = self._hold_levels(raw, column)
        self.numeric[column], self.single[column] = raw.family == "number", raw.values.dtype == np.float32
        if asked == UNKNOWN:
            asked, reason = decide(raw.family, raw.present.size, len(levels), rule)
            self.facts.explain(column, reason)
        self.facts.kinds[column] = asked
        if asked == CONTINUOUS:
            self._hold_numbers(raw, column)
        elif asked == IGNORED:
            self.facts.n_missing[column] = 0
        return levels

    def _hold_levels(self, raw: Raw, column: int) -> NDArray[Any]:
        """Keep the codes of a discrete column of any type; return its levels."""
        levels, codes = _encode(raw)
        self.facts.kinds[column] = DISCRETE
        self.facts.n_values[column], self.facts.n_missing[column] = len(levels), raw.n_missing
        dtype = narrowest(len(levels) + (raw.n_missing > 0))
        if dtype == np.uint8:
            self.codes[column] = codes
        else:
            self._wide[column] = codes.astype(dtype)
        return levels

    def _hold_numbers(self, raw: Raw, column: int) -> None:
        """Keep the numbers of a continuous column that is in no block."""
        self._wide.pop(column, None)
        values = np.where(raw.missing, np.nan, raw.values) if raw.n_missing else raw.values
        self._homes[column, 0] = -1
        self._alone[column] = values
        self._note_numbers(values.astype(np.float64)[np.newaxis], np.array([column]))


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


def _encode(raw: Raw) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Sorted levels, and the code of every row; missing values come last."""
    try:
        if raw.values.dtype == object:  # Sorting all of them would take much longer.
            found = sorted(set(raw.present.tolist()))
            codes_of = {level: code for code, level in enumerate(found)}
            present_codes = np.fromiter(map(codes_of.__getitem__, raw.present), np.intp, raw.present.size)
            levels = np.fromiter(found, object, len(found))
        else:
            levels, present_codes = np.unique(raw.present, return_inverse=True)
    except TypeError:  # Categories of several types have no order but that of their texts.
        levels, present_codes = np.unique(raw.present.astype(str), return_inverse=True)
    if not raw.n_missing:
        return levels, present_codes
    codes = np.full(raw.values.size, levels.size, dtype=np.intp)
    codes[~raw.missing] = present_codes
    return levels, codes


def _as_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Columns as rows of 8 bytes a value, so that one compiled kernel does for every type of numbers."""
    dtype = np.float64 if array.dtype.kind == "f" else np.uint64 if array.dtype == np.uint64 else np.int64
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
