"""Mutual information from an adaptive partition: cells are split until what is in them looks uniform."""

from itertools import product

import numpy as np
from scipy.special import chdtrc

from unirel.estimation.base import Columns, Values
from unirel.estimation.blocks import BlockInformation, Side, joint_codes

Cuts = tuple[Columns, Columns]  # halves and quarters of a column

# Cells are split where a test says that uniform rows would look like this less often.
_LEVEL = 0.01


class Partition(BlockInformation):
    """The adaptive partition of Darbellay and Vajda (1999): fine where the columns depend on each other.

    A cell is a box A of one block and a box B of the other. Columns are cut at the median of the rows in the box, a
    discrete one into its levels. Where the rows of the cell are spread over the parts otherwise than those of A and
    those of B are, by a chi-square test at 1 %, the parts are cells of their own. The test looks at halves and, if
    these are even, at quarters, so that an exclusive or is not missed. In the end

        I = sum over cells of n(A, B) / N log( N n(A, B) / (n(A) n(B)) ).

    A cell of several columns is cut along two of them, one of each block, that are the most uneven; if no two are,
    along all columns at once, which makes 2^columns parts, as long as these are not more than the rows.
    """

    name = "partition"

    def estimate_blocks(self, a: Side, b: Side) -> float:
        n_samples, total = self.table.n_samples, 0.0
        cells = [(np.arange(n_samples), np.arange(n_samples))]
        while cells:
            in_a, in_b = cells.pop()
            _, *places = np.intersect1d(in_a, in_b, assume_unique=True, return_indices=True)
            if not (n_inside := len(places[0])):
                continue
            split = _find_split((_columns(a, in_a), _columns(b, in_b)), places)
            if split is None:
                total += n_inside * np.log(n_samples * n_inside / (len(in_a) * len(in_b)))
            else:
                cells += product(_groups(in_a, split[0]), _groups(in_b, split[1]))
        return float(total / n_samples)


def _columns(side: Side, rows: Columns) -> list[Cuts]:
    """Each column of a block cut into halves, and into quarters; a discrete one into its levels both times."""
    levels = [np.unique(row[rows], return_inverse=True)[1] for row in side.levels]
    return [(codes, codes) for codes in levels] + [_halves_and_quarters(row[rows]) for row in side.scores]


def _halves_and_quarters(values: Values) -> Cuts:
    halves = _halves(values)
    quarters = 2 * halves
    for half in (0, 1):
        inside = np.flatnonzero(halves == half)
        if len(inside):
            quarters[inside] += _halves(values[inside])
    return halves, np.unique(quarters, return_inverse=True)[1]


def _halves(values: Values) -> Columns:
    """0 below the median and 1 above it; equal values stay together, on the side that makes the halves more even."""
    middle = (len(values) - 1) // 2
    median = np.partition(values, middle)[middle]
    above, from_on = values > median, values >= median
    uneven = [abs(2 * np.count_nonzero(part) - len(values)) for part in (above, from_on)]
    return np.asarray(above if uneven[0] <= uneven[1] else from_on, np.intp)


def _find_split(sides: tuple[list[Cuts], list[Cuts]], places: list[Columns]) -> list[Columns] | None:
    """Parts of the rows of both boxes into which a cell is to be cut, None if it may stay whole."""
    in_a, in_b = (range(len(side)) for side in sides)
    singles, whole = [([one], [other]) for one in in_a for other in in_b], [([*in_a], [*in_b])]
    for fineness, tried in product((0, 1), (singles, whole)):
        unevenness = [_unevenness(_cut(sides, chosen, fineness), places) for chosen in tried]
        best = min(range(len(tried)), key=unevenness.__getitem__)
        if unevenness[best][0] * len(tried) < _LEVEL:
            return _cut(sides, tried[best], 0)
    return None


def _cut(sides: tuple[list[Cuts], list[Cuts]], chosen: tuple[list[int], list[int]], fineness: int) -> list[Columns]:
    """Parts of the rows of both boxes by some columns of each block, in halves (0) or quarters (1)."""
    cuts = [[side[column][fineness] for column in some] for side, some in zip(sides, chosen, strict=True)]
    return [some[0] if len(some) == 1 else joint_codes(some, len(some[0])) for some in cuts]


def _unevenness(parts: list[Columns], places: list[Columns]) -> tuple[float, float]:
    """How often rows spread as those of the boxes are would be as uneven as those of the cell, and minus chi-square."""
    shares = [np.bincount(part) / len(part) for part in parts]
    n_inside, n_parts = len(places[0]), len(shares[0]) * len(shares[1])
    if not 1 < n_parts <= n_inside:
        return 1.0, 0.0
    both = parts[0][places[0]] * len(shares[1]) + parts[1][places[1]]
    expected = n_inside * np.outer(*shares).ravel()
    statistic = float(((np.bincount(both, minlength=n_parts) - expected) ** 2 / expected).sum())
    return float(chdtrc(n_parts - 1, statistic)), -statistic


def _groups(rows: Columns, parts: Columns) -> list[Columns]:
    return [rows[parts == part] for part in range(parts.max() + 1)]
