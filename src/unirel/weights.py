"""What weights of rows mean where weights cannot be counted: how often a row is there."""

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]

# Up to this many times the rows that there are, whole weights repeat rows exactly.
_MOST_REPEATS = 8


def unit_of_weights(total: float, n_rows: int, whole: bool) -> float:
    """The weight that counts as one row.

    1 for whole numbers, unless they stand for far more rows than there are; otherwise the mean weight, so that weights
    that add up to 1, or to a population of millions, leave about as many rows as there are. It has few digits, so that
    the order in which weights were added up has no say in it.
    """
    if whole and total <= _MOST_REPEATS * n_rows:
        return 1.0
    mantissa, exponent = np.frexp(total / n_rows)
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
