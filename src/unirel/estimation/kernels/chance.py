"""What counted information is by chance: its mean over all orders of the rows, given how often every level occurs.

In a random order the number n of rows that have a level of one side (a rows of N) and a level of the other (b rows) is
hypergeometric with mean m = ab / N, and

    E[I] = 1/N * sum over all pairs of levels of E[n log n] - m log m.

Each term, the excess of a pair, is at least 0. Summed over the levels of one side it is a function of a alone, so that
one lookup table serves all columns that are compared with that side. Where something is given, the rows change places
within its levels only, each of which has a lookup table of its own.
"""

from itertools import accumulate
from math import comb, log
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unirel.data.jit import Floats, Integers, inner, kernel_after
from unirel.estimation.kernels.counts import Lookup, known_n_log_n
from unirel.estimation.kernels.metric import larger, smaller

# Moments that the series has.
_MOMENTS = 12
_ROOM = (4, _MOMENTS + 1)  # made in Python: arrays that a kernel makes take long to compile
_BINOMIALS = np.array([[comb(n, k) for k in range(_MOMENTS)] for n in range(_MOMENTS)], np.float64)
# N log n as far as it is asked for: means that are added up are far below.
_KNOWN = known_n_log_n(512)


class Precision(NamedTuple):
    """How exactly the excess is found, and how a lookup table of it is made."""

    large_mean: float  # from which mean on the series is taken
    negligible: float  # which share of the largest probability is left out
    exact_rows: float  # up to how many rows each number is looked at by itself; larger ones are interpolated ...
    factor: float  # ... between some that grow by a factor
    n_near: int = 0  # levels of fewer rows have an entry each in a lookup table
    per_root: int = 0  # entries of larger levels for each unit of the root of their rows; it is interpolated between


_EXACT = Precision(100.0, 1e-17, np.inf, 1.0)  # nothing is interpolated
# Where the series begins its error is below 4e-10. There are at most N / m pairs with a mean of m, so E[I] is wrong by
# less than 4e-12; what is interpolated adds less than 1e-11 for each level of the other side.
FINE = Precision(100.0, 1e-17, 256.0, 1.005, 2**12, 16)
# Within levels and about features, where tables are many: by less than 3e-6 for each level of the other side.
COARSE = Precision(25.0, 1e-10, 16.0, 1.15, 2**10, 4)
# A lookup table for a group of no rows.
NOTHING: Lookup = (np.zeros(1), np.array([0, 1]), np.ones(1, np.int64), np.zeros(1))


class Chance(NamedTuple):
    """What levels tell by chance about a column, within each of some groups of rows, times the number of all rows.

    Numbers of rows may have fractions, as sums of weights have; then the probabilities of whole n are continued. That
    is right where levels have many rows. Of levels of few rows it is too much (by a fifth for levels of a dozen rows
    with exponential weights), so that noise with weights comes out below 0, never above.
    """

    sizes: Floats  # numbers of rows that levels of the column have, group by group
    often: Floats  # how many levels have as many
    begins: Integers  # where each group begins, and where the last one ends
    precision: Precision  # of the lookup table

    @classmethod
    def about(cls, counts: Floats, precision: Precision = FINE) -> Self:
        """With nothing given: from how many rows each level of the column has."""
        counts = counts.astype(np.float64)
        sizes, often = np.unique(counts[counts > 0], return_counts=True)
        return cls(sizes, often.astype(np.float64), np.array([0, len(sizes)]), precision)

    @classmethod
    def within(cls, counts: Floats, begins: Integers) -> Self:
        """Within groups: from how many rows each pair of a group and a level has, and where each group begins."""
        return cls(counts.astype(np.float64), np.ones(len(counts)), begins, COARSE)

    def of(self, rows: Floats, begins: Integers | None = None) -> Floats:
        """For levels of these numbers of rows, the groups of which begin there, without a lookup table."""
        begins = np.array([0, len(rows)]) if begins is None else begins
        found, room = np.empty(len(rows)), np.empty(_ROOM)
        _find_excess(rows.astype(np.float64), begins, begins, np.empty(0), *self[:3], _KNOWN, _EXACT, room, found)
        return found

    @property
    def lookup(self) -> Lookup:
        """The same to be looked up by kernels."""
        begins, n_near, per_root = self._lay_out()
        entries, room = np.empty(begins[-1]), np.empty(_ROOM)
        _find_excess(np.empty(0), begins, n_near, per_root, *self[:3], _KNOWN, self.precision, room, entries)
        return entries, begins, n_near, per_root

    def _lay_out(self) -> tuple[Integers, Integers, Floats]:
        """Where the entries of each group begin in a lookup table, how many are near and how close the others are."""
        groups = np.repeat(np.arange(len(self.begins) - 1), np.diff(self.begins))
        # Added up one after the other, as in the kernel: other bits could put the last entry before all rows.
        totals = np.bincount(groups, self.sizes * self.often, len(self.begins) - 1)
        last_near = np.minimum(self.precision.n_near - 1.0, np.ceil(totals))
        roots = np.sqrt(np.maximum(totals, last_near)) - np.sqrt(last_near)
        n_far = np.ceil(roots * self.precision.per_root)
        n_near = last_near.astype(np.int64) + 1
        begins = np.concatenate([[0], np.cumsum(n_near + n_far.astype(np.int64))])
        return begins, n_near, n_far / np.maximum(roots, 1e-300)


def joined(*lookups: Lookup) -> Lookup:
    """Lookup tables as one with all their groups."""
    entries, begins, n_near, per_root = zip(*lookups, strict=True)
    firsts = accumulate(map(len, entries), initial=0)
    starts = [own[:-1] + first for own, first in zip(begins, firsts, strict=False)]
    ends = [sum(map(len, entries))]
    return np.concatenate(entries), np.concatenate([*starts, ends]), np.concatenate(n_near), np.concatenate(per_root)


def expected_information(a: ArrayLike, b: ArrayLike) -> float:
    """Mean information of two columns over all orders of the rows, from how often each of their levels occurs.

    Two coins that have nothing to do with each other, thrown ten times, five heads each:

    >>> from unirel.estimation.kernels.chance import expected_information
    >>> round(expected_information([5, 5], [5, 5]), 3)
    0.06
    """
    (sizes, often), other = np.unique(np.asarray(a, np.float64), return_counts=True), np.asarray(b, np.float64)
    return float(often @ Chance.about(other).of(sizes) / max(other.sum(), 1.0))


def expected_within(a: Integers, b: Integers, given: Integers) -> float:
    """Mean information of two coded columns over all orders of the rows within the levels of a third one."""
    sides, n_groups = [], int(given.max(initial=0)) + 1
    for codes in (b, a):
        n_levels = int(codes.max(initial=0)) + 1
        pairs, counts = np.unique(given.astype(np.int64) * n_levels + codes, return_counts=True)
        sides.append((counts, np.searchsorted(pairs // n_levels, np.arange(n_groups + 1))))
    return float(Chance.within(*sides[0]).of(*sides[1]).sum()) / len(a)


@inner
def _added_up(a: float, b: float, total: float, known: Floats, negligible: float) -> float:
    """The excess by adding up probabilities from the most likely n outwards, in units of that of this n."""
    # The mean is added up too: of numbers of rows with fractions it is not quite the one that it should be.
    rest = total - a - b
    first = larger(np.floor((a + 1) * (b + 1) / (total + 2)), np.ceil(-rest))
    first = smaller(first, np.ceil(smaller(a, b)))
    mass, mean, told = 1.0, first, known[np.uint64(first)]
    share, n = 1.0, first
    while share > negligible and n < a and n < b:
        share *= (a - n) * (b - n) / ((n + 1) * (rest + n + 1))
        n += 1
        mass += share
        mean += share * n
        told += share * known[np.uint64(n)]
    share, n = 1.0, first
    while share > negligible and n > 0 and rest + n > 0:
        share *= n * (rest + n) / ((a - n + 1) * (b - n + 1))
        n -= 1
        mass += share
        mean += share * n
        told += share * known[np.uint64(n)]
    mean /= mass
    return told / mass - mean * np.log(mean) if mean > 0.0 else 0.0


@inner
def _expanded(a: float, b: float, mean: float, total: float, negligible: float, moments: Floats) -> float:
    """The excess as a series: the mean of m (1 + d) log(1 + d) for d = n / m - 1, from the central moments of n."""
    # The ratio of probabilities that follow each other gives each moment from those before it.
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


def _add_up_all(a: Floats, b: Floats, total: Floats, known: Floats, negligible: float) -> Floats:
    rest = total - a - b
    first = np.maximum(np.floor((a + 1) * (b + 1) / (total + 2)), np.ceil(-rest))
    first = np.minimum(first, np.ceil(np.minimum(a, b)))
    mass, mean, told = np.ones(len(a)), first.copy(), known[first.astype(np.int64)]
    for step in (1, -1):
        # Those that are still added up: where they are, their sides, numbers and shares.
        left = np.array([np.arange(len(a)), a, b, rest, first, np.ones(len(a))])
        while True:
            _, one, other, neither, n, share = left
            inside = (n < one) & (n < other) if step == 1 else (n > 0) & (neither + n > 0)
            left = left[:, inside & (share > negligible)]
            if left.shape[1] == 0:
                break
            at, one, other, neither, n, share = left
            if step == 1:
                share *= (one - n) * (other - n) / ((n + 1) * (neither + n + 1))
            else:
                share *= n * (neither + n) / ((one - n + 1) * (other - n + 1))
            n += step
            where = at.astype(np.int64)
            mass[where] += share
            mean[where] += share * n
            told[where] += share * known[n.astype(np.int64)]
    mean /= mass
    logarithms = np.array([log(one) if one > 0.0 else 0.0 for one in mean.tolist()])
    return np.asarray(np.where(mean > 0.0, told / mass - mean * logarithms, 0.0))


def _expand_all(a: Floats, b: Floats, mean: Floats, total: Floats, negligible: float) -> Floats:
    cross, sides = (a - mean) * (b - mean), a + b - 2 * mean
    moments = [np.ones(len(a)), np.zeros(len(a))]
    found, power, going = np.zeros(len(a)), np.ones(len(a)), np.ones(len(a), bool)
    for order in range(1, _MOMENTS):
        term = np.zeros(len(a))
        for k in range(order):
            term += _BINOMIALS[order, k] * (cross * moments[k] - sides * moments[k + 1])
            if k < order - 1:
                term += _BINOMIALS[order, k] * moments[k + 2]
        moments.append(term / (total - order))
        power *= -mean
        last = moments[order + 1] / (power * order * (order + 1))
        found = np.where(going, found - last, found)
        if order % 2 == 1:
            going &= ~(np.abs(last) < negligible)
    return found


def _excess_in_numpy(
    rows: Floats, begins: Integers, n_near: Integers, per_root: Floats, sizes: Floats, often: Floats,
    size_begins: Integers, known: Floats, precision: Precision, _: Floats, found: Floats,
) -> None:  # fmt: skip
    n_levels, groups = np.diff(size_begins), np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    totals = np.bincount(np.repeat(np.arange(len(n_levels)), n_levels), sizes * often, len(n_levels))

    def excess(a: Floats, groups: Integers) -> Floats:
        owners = np.repeat(np.arange(len(a)), n_levels[groups])
        firsts = np.cumsum(n_levels[groups]) - n_levels[groups]
        levels = np.arange(len(owners)) - firsts[owners] + size_begins[groups][owners]
        rows, others, total = a[owners], sizes[levels], totals[groups][owners]
        means = rows * others / np.where(total > 0.0, total, 1.0)
        terms, negligible = np.zeros(len(owners)), precision.negligible
        few, many = (means > 0.0) & (means < precision.large_mean), means >= precision.large_mean
        terms[few] = _add_up_all(rows[few], others[few], total[few], known, negligible)
        terms[many] = _expand_all(rows[many], others[many], means[many], total[many], negligible)
        return np.bincount(owners, often[levels] * terms, len(a))

    a = rows
    if len(rows) == 0:
        places = np.arange(len(found)) - begins[groups]
        far = places - n_near[groups] + 1
        roots = np.sqrt(n_near[groups] - 1.0) + far / np.where(far > 0, per_root[groups], 1.0)
        a = np.where(far > 0, roots * roots, places)
    a = np.minimum(a, totals[groups])
    exactly = (a <= precision.exact_rows) | (totals[groups] <= 4 * precision.exact_rows)
    nodes, ends, of_nodes = list[float](), list[int](), list[int]()  # of all groups, and where each group's end
    for group in (wanting := np.unique(groups[~exactly]).tolist()):
        nodes += [2 * precision.exact_rows - np.ceil(precision.exact_rows * precision.factor), precision.exact_rows]
        while nodes[-1] < totals[group]:
            nodes.append(min(float(np.ceil(nodes[-1] * precision.factor)), float(totals[group])))
        ends.append(len(nodes))
        of_nodes += [group] * (len(nodes) - len(of_nodes))
    both = np.append(a[exactly], nodes), np.append(groups[exactly], np.array(of_nodes, np.int64))
    found[exactly], values = np.split(excess(*both), [np.count_nonzero(exactly)])
    for group, start, end in zip(wanting, [0, *ends], ends, strict=False):
        between = ~exactly & (groups == group)
        last = np.clip(start + np.searchsorted(nodes[start:end], a[between]) + 1, start + 3, end - 1)
        window = last + np.arange(-3, 1)[:, None]
        at, cubic = np.array(nodes)[window], values[window]
        for order in range(1, 4):
            for node in range(3, order - 1, -1):
                cubic[node] = (cubic[node] - cubic[node - 1]) / (at[node] - at[node - order])
        away = a[between] - at
        found[between] = cubic[0] + away[0] * (cubic[1] + away[1] * (cubic[2] + away[2] * cubic[3]))


@kernel_after(_excess_in_numpy)
def _find_excess(
    rows: Floats, begins: Integers, n_near: Integers, per_root: Floats, sizes: Floats, often: Floats,
    size_begins: Integers, known: Floats, precision: Precision, room: Floats, found: Floats,
) -> None:  # fmt: skip
    """For levels of some numbers of rows, the excess of all cells that they share with levels of the other side.

    Rows are in groups, each with an order of its own: `begins` says where the numbers of each group begin in `rows`, or
    in `found` if `rows` is empty; the numbers are then those of a lookup table, whose parts `n_near` and `per_root`
    are. `size_begins` says where the part of each group begins in `sizes`, the numbers of rows of the levels of the
    other side, and in `often`, how many levels have as many. `room` has a row for each array to work in.
    """
    at, values, cubic, moments = room[0], room[1], room[2], room[3]
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
                a = rows[place]
            else:
                a, far = float(place - begins[group]), place - begins[group] - n_near[group] + 1
                if far > 0:
                    root = np.sqrt(n_near[group] - 1.0) + far / per_root[group]
                    a = root * root
            a = smaller(a, total)
            if a <= low or is_small:
                found[place] = _excess(a, total, sizes, often, levels, known, precision, moments)
                continue
            while n_nodes < 4 or (a > at[2] and at[3] < total):
                for node in range(3):  # slices would take a second to compile
                    at[node], values[node] = at[node + 1], values[node + 1]
                    cubic[node] = values[node]
                at[3] = smaller(
                    np.ceil((at[2] if n_nodes > 1 else low) * precision.factor), total
                )  # the last: all rows
                if n_nodes < 2:  # the first node is below, the second where the exact ones end
                    at[3] = low if n_nodes == 1 else 2 * low - at[3]
                values[3] = _excess(at[3], total, sizes, often, levels, known, precision, moments)
                cubic[3] = values[3]
                n_nodes += 1
                # Divided differences: Newton's form of the cubic through the four values.
                for order in range(1, 4):
                    for node in range(3, order - 1, -1):
                        cubic[node] = (cubic[node] - cubic[node - 1]) / (at[node] - at[node - order])
            found[place] = cubic[0] + (a - at[0]) * (cubic[1] + (a - at[1]) * (cubic[2] + (a - at[2]) * cubic[3]))
