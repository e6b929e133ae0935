"""Levels of columns: how they are found and coded, and when numbers are levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.columns import CONTINUOUS, DISCRETE, IGNORED
from unirel.data.readers import Positions
from unirel.data.values import Raw
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
