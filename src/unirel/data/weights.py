"""What weights of rows mean: how many rows they stand for, and how often a row is there where weights do not count."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Weights = NDArray[np.float64]

# Up to this many times the rows that there are, whole weights repeat rows exactly.
_MOST_REPEATS = 8


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
        return 1.0 if self.are_counts else _in_few_digits(self.largest * (self.squares / self.total))

    @property
    def unit(self) -> float:
        """The weight that counts as a row where rows are repeated: the mean, so that as many are left as there are."""
        return 1.0 if self.are_counts else _in_few_digits(self.largest * (self.total / self.n_rows))

    @property
    def n_effective(self) -> float:
        """How many rows the weights stand for."""
        return self.total * (self.largest / self.row)


def sum_weights(weights: Weights) -> Sums:
    """Sums of the weights of some rows; refuse what cannot be a weight."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight has negative, missing or infinite values; pass numbers from 0 on")
    largest = float(weights.max(initial=0.0))
    shares = weights / (largest or 1.0)
    return Sums(len(weights), largest, float(shares.sum()), float(shares @ shares), are_whole(weights))


def add_sums(parts: Iterable[Sums]) -> Sums:
    """Sums of the weights of all parts; refuse weights that are all zero."""
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
    sums = add_sums([sum_weights(weights)])
    return in_rows(weights, sums.row, sums.largest, n_samples)


def in_rows(weights: Weights, row: float, largest: float, n_samples: int) -> Weights:
    """Weights, given the one that counts as a row and the largest one, as numbers of rows.

    They are rounded to multiples of a power of two so large that all of their sums are exact, in whichever order: parts
    of the rows then add up to the same bits as all rows. Whole numbers stay as they are.
    """
    step = 2.0 ** (int(np.frexp(largest / row * n_samples)[1]) - 53)
    return np.ascontiguousarray(weights / row if step == 0 else np.rint(weights / row / step) * step)


def _in_few_digits(number: float) -> float:
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.rint(mantissa * 2**24), exponent - 24))


def are_whole(weights: Weights) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weights == np.rint(weights)).all())


def repeat_rows(weights: Weights, unit: float, chances: Weights) -> NDArray[np.intp]:
    """Rows, each as often as its weight says; what is left of a weight decides by the row's random number."""
    counts = weights / unit
    whole = np.floor(counts)
    return np.repeat(np.arange(len(counts)), (whole + (chances < counts - whole)).astype(np.intp))
