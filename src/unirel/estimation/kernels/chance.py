"""What n log n of a cell exceeds, on average over all orders of the rows, what it is for the average n."""

from math import comb
from typing import NamedTuple

import numpy as np

from unirel.data.jit import Floats, Integers, inner, kernel

# Moments that the series has.
_MOMENTS = 12
_BINOMIALS = np.array([[comb(n, k) for k in range(_MOMENTS)] for n in range(_MOMENTS)], np.float64)
# Numbers n whose n log n is asked for: means that are added up are far below.
N_KNOWN = 512


class Precision(NamedTuple):
    """How exactly the excess is found.

    From which mean on the series is taken, which share of the largest probability is left out, and up to how many rows
    each number is looked at by itself: larger ones are interpolated between some that grow by a factor.
    """

    large_mean: float
    negligible: float
    exact_rows: float
    factor: float


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
def _expanded(a: float, b: float, mean: float, total: float, negligible: float, moments: Floats) -> float:
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
        last = moments[order + 1] / (power * order * (order + 1))
        found -= last
        # Odd moments may be small by symmetry: only an even one says that the rest is negligible.
        if order % 2 == 1 and abs(last) < negligible:
            break
    return found


@inner
def _number_of(entry: int, n_near: int, per_root: float) -> float:
    """The number of rows that an entry of a lookup table is for."""
    if entry < n_near:
        return float(entry)
    return (np.sqrt(n_near - 1.0) + (entry - n_near + 1) / per_root) ** 2


@inner
def _next_node(at: float, total: float, factor: float) -> float:
    """The number of rows that follows one which is interpolated from; the last one is all rows."""
    return min(np.ceil(at * factor), total)


@inner
def _divide_differences(at: Floats, values: Floats, coefficients: Floats) -> None:
    """Newton's form of the cubic through four values."""
    for node in range(4):
        coefficients[node] = values[node]
    for order in range(1, 4):
        for node in range(3, order - 1, -1):
            coefficients[node] = (coefficients[node] - coefficients[node - 1]) / (at[node] - at[node - order])


@inner
def _excess(a: float, total: float, sizes: Floats, often: Floats, levels: tuple[int, int], known: Floats,
            precision: Precision, moments: Floats) -> float:  # fmt: skip
    """The excess of all cells that a level of `a` rows shares with some levels of the other side."""
    found = 0.0
    for level in range(levels[0], levels[1]):
        b = sizes[level]
        mean = a * b / total if total > 0.0 else 0.0
        if mean <= 0.0:
            continue
        if mean < precision.large_mean:
            found += often[level] * _added_up(a, b, total, known, precision.negligible)
        else:
            found += often[level] * _expanded(a, b, mean, total, precision.negligible, moments)
    return found


@kernel
def find_excess(
    rows: Floats, begins: Integers, n_near: Integers, per_root: Floats, sizes: Floats, often: Floats,
    size_begins: Integers, known: Floats, precision: Precision, found: Floats,
) -> None:  # fmt: skip
    """For levels of some numbers of rows, the excess of all cells that they share with levels of the other side.

    Rows are in groups, each with an order of its own: `begins` says where the numbers of each group begin in `rows`, or
    in `found` if `rows` is empty; the numbers are then those of a lookup table, whose parts `n_near` and `per_root`
    are. `size_begins` says where the part of each group begins in `sizes`, the numbers of rows of the levels of the
    other side, and in `often`, how many levels have as many.
    """
    moments, at, values, cubic = np.empty(_MOMENTS + 1), np.empty(4), np.empty(4), np.empty(4)
    for group in range(begins.shape[0] - 1):
        levels = (size_begins[group], size_begins[group + 1])
        total = 0.0
        for level in range(levels[0], levels[1]):
            total += sizes[level] * often[level]
        # The excess is nearly linear in the number of rows, so a cubic through whole numbers is as good as adding up.
        low, n_nodes = precision.exact_rows, 0
        is_small = total <= 4 * low
        for place in range(begins[group], begins[group + 1]):
            if rows.shape[0] > 0:
                a = min(rows[place], total)
            else:
                a = min(_number_of(place - begins[group], n_near[group], per_root[group]), total)
            if a <= low or is_small:
                found[place] = _excess(a, total, sizes, often, levels, known, precision, moments)
                continue
            while n_nodes < 4 or (a > at[2] and at[3] < total):
                for node in range(3):  # slices would take a second to compile
                    at[node], values[node] = at[node + 1], values[node + 1]
                at[3] = _next_node(at[2] if n_nodes > 1 else low, total, precision.factor)
                if n_nodes < 2:  # the first node is below, the second where the exact ones end
                    at[3] = low if n_nodes == 1 else 2 * low - at[3]
                values[3] = _excess(at[3], total, sizes, often, levels, known, precision, moments)
                n_nodes += 1
                _divide_differences(at, values, cubic)
            found[place] = cubic[0] + (a - at[0]) * (cubic[1] + (a - at[1]) * (cubic[2] + (a - at[2]) * cubic[3]))
