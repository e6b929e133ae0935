"""What weights of rows mean, how many rows they stand for, and a few rows of a large table, drawn by a seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel.data import Positions, Values

if TYPE_CHECKING:
    from unirel.data.chunks import PartedTable
    from unirel.data.table import Table

Weights = Values

# Up to this many times the rows that there are, whole weights repeat rows exactly.
_MOST_REPEATS = 8
# Binary digits that sums of weights have: fewer than a double, so that what a unit of weights rounds is rounded away.
_DIGITS = 40
# Rows that every class keeps if it has them: a row and the ten neighbours that unique relevance asks for.
_FEWEST = 11


class Sums(NamedTuple):
    """What is known of the weights of some rows; sums are in units of the largest weight, so that none overflows."""

    n_rows: int
    largest: float
    total: float
    squares: float
    whole: bool  # whether all are whole numbers

    @property
    def are_counts(self) -> bool:
        """Whether weights say how often a row is there: whole numbers, unless for far more rows than there are."""
        return self.whole and self.largest * self.total <= _MOST_REPEATS * self.n_rows

    @property
    def row(self) -> float:
        """The weight that counts as a row: in general weights stand for (sum w)^2 / sum w^2 rows."""
        return 1.0 if self.are_counts else self.largest * _in_few_digits(self.squares / self.total)

    @property
    def unit(self) -> float:
        """The weight that counts as a row where rows are repeated: the mean, so that as many are left as there are."""
        return 1.0 if self.are_counts else self.largest * _in_few_digits(self.total / self.n_rows)

    @property
    def n_effective(self) -> float:
        """How many rows the weights stand for."""
        return self.total * (self.largest / self.row)

    def in_rows(self, weights: Weights) -> Weights:
        """Some of these weights as numbers of rows."""
        # They are rounded to multiples of a power of two so large that all of their sums are exact, in whichever order:
        # parts of the rows then add up to the same bits as all rows. Whole numbers stay as they are.
        step = 2.0 ** (int(np.frexp(self.largest / self.row * self.n_rows)[1]) - _DIGITS)
        return np.ascontiguousarray(weights / self.row if step == 0 else np.rint(weights / self.row / step) * step)


def sum_weights(weights: Weights) -> Sums:
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight has negative, missing or infinite values; pass numbers from 0 on")
    largest = float(weights.max(initial=0.0))
    shares = weights / (largest or 1.0)
    whole = bool((weights == np.rint(weights)).all())
    return Sums(len(weights), largest, float(shares.sum()), float(shares @ shares), whole)


def add_sums(parts: Iterable[Sums]) -> Sums:
    found = list(parts)
    largest = max(one.largest for one in found)
    if largest == 0:
        raise ValueError("sample_weight has only zeros; give some rows a weight")
    shares = [one.largest / largest for one in found]
    total = sum(one.total * share for one, share in zip(found, shares, strict=True))
    squares = sum(one.squares * share**2 for one, share in zip(found, shares, strict=True))
    return Sums(sum(one.n_rows for one in found), largest, total, squares, all(one.whole for one in found))


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Weights:
    """Weights in numbers of rows; refuse what cannot be one."""
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it needs one number for each of {n_samples} rows")
    return add_sums([sum_weights(weights)]).in_rows(weights)


def _in_few_digits(number: float) -> float:
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.rint(mantissa * 2**24), exponent - 24))


def repeat_rows(weights: Weights, unit: float, chances: Weights) -> Positions:
    """Rows, each as often as its weight says; what is left of a weight decides by the row's random number."""
    counts = weights / unit
    whole = np.floor(counts)
    return np.repeat(np.arange(len(counts)), (whole + (chances < counts - whole)).astype(np.intp))


def sample_table(
    table: Table, columns: Positions, most: int | None, rng: np.random.Generator, sample_weight: Weights | None = None
) -> Table:
    """A small table of some columns of some rows: of each class its share, but enough for a ball if it has them."""
    # The rows are the same ones wherever they are, in memory or in parts.
    rows, take = np.arange(table.n_samples), table.take
    if table.is_parted:
        parts = cast("PartedTable", table)
        sample_weight, take = parts.row_weights(), parts.take_few
    labels = table.target_codes()
    if sample_weight is not None:
        weights = np.asarray(sample_weight, np.float64)
        rows = repeat_rows(weights, add_sums([sum_weights(weights)]).unit, rng.random(table.n_samples))
        if labels is not None:  # A class of little weight keeps its heaviest row.
            lost = np.setdiff1d(labels[weights > 0], labels[rows])
            heaviest = [int(np.argmax(np.where(labels == label, weights, -1.0))) for label in lost.tolist()]
            rows = np.sort(np.append(rows, np.array(heaviest, np.intp)))
    return take(columns, choose_by_class(labels, rows, most, rng))


def choose_by_class(
    labels: NDArray[np.int32] | None, rows: Positions, most: int | None, rng: np.random.Generator
) -> Positions:
    """Some of the rows in ascending order: of each class its share, but enough for a ball if it has them."""
    if most is None or most >= len(rows):
        return rows
    if labels is None:
        return np.sort(rows[rng.choice(len(rows), most, replace=False)])
    chosen = []
    for label in range(labels.max() + 1):
        own = rows[labels[rows] == label]
        size = min(len(own), max(_FEWEST, round(len(own) * most / len(rows))))
        chosen.append(own[rng.choice(len(own), size, replace=False)])
    return np.sort(np.concatenate(chosen))
