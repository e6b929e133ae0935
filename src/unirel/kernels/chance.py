"""What n log n of a cell exceeds, on average over all orders of the rows, what it is for the average n."""

from math import comb
from typing import NamedTuple

import numpy as np

from unirel.kernels._jit import Floats, Integers, inner, kernel

# Moments that the series has.
_MOMENTS = 12
_BINOMIALS = np.array([[comb(n, k) for k in range(_MOMENTS)] for n in range(_MOMENTS)], np.float64)
# Numbers n whose n log n is asked for: means that are added up are far below.
N_KNOWN = 512


class Precision(NamedTuple):
    """From which mean on the series is taken, and which share of the largest probability is left out."""

    large_mean: float
    negligible: float


@inner
def _added_up(a: float, b: float, total: float, known: Floats, negligible: float) -> float:
    """The excess by adding up probabilities from the most likely n outwards, in units of that of this n.

    The mean is added up too: of numbers of rows with fractions it is not quite the one that it should be.
    """
    rest = total - a - b
    first = min(max(np.floor((a + 1) * (b + 1) / (total + 2)), np.ceil(-rest)), np.ceil(min(a, b)))
    mass, mean, told = 1.0, first, known[int(first)]
    share, n = 1.0, first
    while share > negligible and n < a and n < b:
        share *= (a - n) * (b - n) / ((n + 1) * (rest + n + 1))
        n += 1
        mass += share
        mean += share * n
        told += share * known[int(n)]
    share, n = 1.0, first
    while share > negligible and n > 0 and rest + n > 0:
        share *= n * (rest + n) / ((a - n + 1) * (b - n + 1))
        n -= 1
        mass += share
        mean += share * n
        told += share * known[int(n)]
    mean /= mass
    return told / mass - mean * np.log(mean) if mean > 0.0 else 0.0


@inner
def _expanded(a: float, b: float, mean: float, total: float, moments: Floats) -> float:
    """The excess as a series: the mean of m (1 + d) log(1 + d) for d = n / m - 1, from the central moments of n.

    The ratio of probabilities that follow each other gives each moment from those before it.
    """
    cross, sides = (a - mean) * (b - mean), a + b - 2 * mean
    moments[0], moments[1] = 1.0, 0.0
    found, power = 0.0, 1.0
    for order in range(1, _MOMENTS):
        term = 0.0
        for k in range(order):
            term += _BINOMIALS[order, k] * (cross * moments[k] - sides * moments[k + 1])
            if k < order - 1:
                term += _BINOMIALS[order, k] * moments[k + 2]
        moments[order + 1] = term / (total - order)
        power *= -mean
        found -= moments[order + 1] / (power * order * (order + 1))
    return found


@kernel
def add_excess(
    rows: Floats, begins: Integers, sizes: Floats, often: Floats, size_begins: Integers, known: Floats,
    precision: Precision, found: Floats,
) -> None:  # fmt: skip
    """Add to `found`, for levels of some numbers of rows, the excess of all cells that they share with other levels.

    Rows are in groups, each with an order of its own: `begins` says where the numbers of each group begin in `rows`,
    and `size_begins` where its part of `sizes` begins, the numbers of rows of the levels of the other side, and of
    `often`, how many levels have as many.
    """
    moments = np.empty(_MOMENTS + 1)
    for group in range(begins.shape[0] - 1):
        total = 0.0
        for level in range(size_begins[group], size_begins[group + 1]):
            total += sizes[level] * often[level]
        for place in range(begins[group], begins[group + 1]):
            a = min(rows[place], total)
            for level in range(size_begins[group], size_begins[group + 1]):
                b = sizes[level]
                mean = a * b / total if total > 0.0 else 0.0
                if mean <= 0.0:
                    continue
                if mean < precision.large_mean:
                    one = _added_up(a, b, total, known, precision.negligible)
                else:
                    one = _expanded(a, b, mean, total, moments)
                found[place] += often[level] * one
