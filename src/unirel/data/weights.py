"""What weights of rows mean: how many rows they stand for, and how often a row is there where weights do not count."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Weights = NDArray[np.float64]

# Up to this many times the rows that there are, whole weights repeat rows exactly.
_MOST_REPEATS = 8


def unit_of_weights(total: float, n_rows: int, whole: bool) -> float:
    """The weight that counts as one row.

    1 for whole numbers, unless they stand for far more rows than there are; otherwise the mean weight, so that weights
    that add up to 1, or to a population of millions, leave about as many rows as there are. It has few digits, so that
    the order in which weights were added up has no say in it.
    """
    return 1.0 if whole and total <= _MOST_REPEATS * n_rows else _in_few_digits(total / n_rows)


def weight_of_row(n_rows: int, largest: float, total: float, squares: float, whole: bool) -> float:
    """The weight that counts as one row where weights are counted.

    1 for whole numbers, unless they stand for far more rows than there are; otherwise weights stand for
    (sum w)^2 / sum w^2 rows, the effective sample size. `total` and `squares`, the sum of squared weights, are in units
    of the largest one.
    """
    whole = whole and largest * total <= _MOST_REPEATS * n_rows
    return 1.0 if whole else _in_few_digits(largest * squares / total)


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Weights:
    """Weights in numbers of rows; refuse what cannot be one."""
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it needs one number for each of {n_samples} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "sample_weight has negative, missing or infinite values, or only zeros; pass numbers from 0 on"
        )
    shares = weights / weights.max()
    largest, sums = float(weights.max()), (float(shares.sum()), float(shares @ shares))
    return in_rows(weights, weight_of_row(n_samples, largest, *sums, are_whole(weights)), largest, n_samples)


def in_rows(weights: Weights, row: float, largest: float, n_samples: int) -> Weights:
    """Weights, given the one that counts as a row and the largest one, as numbers of rows on a grid."""
    return on_grid(weights / row, largest / row, n_samples)


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


def on_grid(weights: Weights, largest: float, n_samples: int) -> Weights:
    """Weights rounded to multiples of a power of two so large that all of their sums are exact, in whichever order.

    Parts of the rows then add up to the same bits as all rows. The power depends on the largest weight and the number
    of rows only; whole numbers stay as they are.
    """
    step = 2.0 ** (int(np.frexp(largest * n_samples)[1]) - 53)
    return np.ascontiguousarray(weights if step == 0 else np.rint(weights / step) * step)
