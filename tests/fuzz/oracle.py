"""A second opinion in long double, written from the formulas in the documentation; it shares nothing with the package.

Every distance of every pair of rows is written down and every tie is looked at; nothing is fast. Ties of a single
column are those of its original values, because scaling is the same factor for all of its distances.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import comb
from typing import NamedTuple

import numpy as np

LONG = np.longdouble
TIE = LONG("1e-9")
# Pairs of rows whose distance is so near the limit of a tie that rounding to doubles could move it across, those of one
# call of `stands` after the other; and those, with the number of the call in front, for which that is to be supposed.
NEAR = []
MOVED = set()
INFINITY = LONG("inf")
_ONE, _NOTHING = LONG(1), LONG(0)
_ROUNDING = LONG("1e-17")  # sums that are 0 but for this; a quotient would make something of it
_EPSILON = LONG(np.finfo(float).eps)
_EULER = LONG("0.57721566490153286060651209008240243104215933593992")


@cache
def psi(n):
    """The digamma function of a whole number: the harmonic number before it, less Euler's constant."""
    return -_EULER if n == 1 else psi(n - 1) + LONG(1) / LONG(n - 1)


@cache
def mean_psi(before, tied, marked, wanted):
    """Mean of psi where the wanted-th marked point stands, over all orders of the tied points behind `before`."""
    total = LONG(0)
    for place in range(wanted, tied - marked + wanted + 1):
        ways = math.comb(place - 1, wanted - 1) * math.comb(tied - place, marked - wanted)
        total += LONG(ways) / LONG(math.comb(tied, marked)) * psi(before + place)
    return total


# Columns


def is_missing(value):
    return value is None or value != value


def kind_of(values, most_levels=10, rows_per_level=5):
    """The kind that the documentation says such a column has."""
    present = [value for value in values if not is_missing(value)]
    n_levels = len(set(present))
    if present and isinstance(present[0], str):
        return "ignored" if most_levels == 10 and n_levels > 20 and 2 * n_levels > len(present) else "discrete"
    if present and isinstance(present[0], bool):
        return "discrete"
    few = n_levels <= 2 or (n_levels <= most_levels and rows_per_level * n_levels <= len(present))
    return "discrete" if few else "continuous"


def same_pairs(places):
    """Which pairs of rows stand at the same place."""
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    codes = np.array([numbers[place] for place in places])
    return codes[:, None] == codes


def ranks_of(values):
    """Ranks from 1 on, equal values share the mean of theirs."""
    values = np.asarray(values)
    smaller, equal = (np.sum(holds, axis=0) for holds in (values[:, None] < values, values[:, None] == values))
    return smaller + (equal.astype(LONG) + 1) / 2


class Column:
    """One column: where each row stands and, if it is continuous, numbers and the length that distances are in."""

    def __init__(self, values, kind, scale="standard"):
        self.places = ["missing" if is_missing(value) else ("present", value) for value in values]
        self.missing = np.array([is_missing(value) for value in values])
        self.discrete = kind == "discrete"
        self.varies = len(set(self.places)) > 1
        self.numbers, self.deviation, self.length = None, LONG(0), LONG(1)
        self.offsets = np.zeros(len(values), LONG)  # from the middle of the column
        self._gaps, self._binned = {}, {}  # found once
        if not self.discrete:
            self.numbers = np.array([0 if is_missing(value) else value for value in values], LONG)
            self._scale(scale)

    def _scale(self, scale):
        present = self.numbers[~self.missing]
        if len(set(present.tolist())) < 2:
            return
        shifted = present - np.min(present)  # differences of doubles are exact, a mean of numbers far from zero is not
        size = np.max(shifted)  # so that squares of very large or very small numbers are numbers
        self.deviation = np.std(shifted / size) * size
        if scale == "standard":
            self.length = self.deviation
        elif scale == "rank":
            self.numbers[~self.missing] = ranks_of(present)
            self.length = np.std(self.numbers[~self.missing])
        present = self.numbers[~self.missing]
        self.offsets[~self.missing] = np.abs(present - np.sort(present)[(len(present) - 1) // 2]) / self.length

    def noise(self, mismatch):
        """What rounding to doubles may add to distances along this column, whose numbers are shifted to its middle."""
        gaps = self.gaps(mismatch)
        apart = np.where(self.missing[:, None] | self.missing[None, :], 0, self.offsets[:, None] + self.offsets)
        return _EPSILON * (apart + 4 * np.where(np.isfinite(gaps), gaps, 0))

    def take(self, rows):
        """The same column with some rows only, scaled as it was."""
        part = object.__new__(Column)
        part.places = [self.places[row] for row in rows]
        part.missing, part.discrete, part.deviation = self.missing[rows], self.discrete, self.deviation
        part.numbers, part.length = None if self.numbers is None else self.numbers[rows], self.length
        part.offsets, part.varies = self.offsets[rows], len(set(part.places)) > 1
        part._gaps, part._binned = {}, {}
        return part

    def gaps(self, mismatch):
        """Distances of all pairs of rows along this column."""
        if mismatch not in self._gaps:
            self._gaps[mismatch] = self._find_gaps(mismatch)
        return self._gaps[mismatch]

    def _find_gaps(self, mismatch):
        if self.discrete:
            return np.where(same_pairs(self.places), LONG(0), mismatch)
        gaps = np.abs(self.numbers[:, None] - self.numbers[None, :]) / self.length  # in this order, or ties are lost
        gaps[self.missing[:, None] != self.missing[None, :]] = mismatch
        gaps[self.missing[:, None] & self.missing[None, :]] = 0
        return gaps

    def in_bins(self, n_bins):
        """The column cut into bins of equal frequency: floor(n_bins (rank from 0 + 1/2) / n)."""
        if self.discrete:
            return self
        if n_bins not in self._binned:
            self._binned[n_bins] = self._cut(n_bins)
        return self._binned[n_bins]

    def _cut(self, n_bins):
        n_present = int(np.sum(~self.missing))
        if n_bins == "auto":
            n_bins = min(20, max(3, round(len(self.places) ** 0.25)))
        twice = [round(2 * rank - 1) for rank in ranks_of(self.numbers[~self.missing])]  # 2 (rank from 0 + 1/2)
        levels = iter([n_bins * place // (2 * n_present) for place in twice])
        return Column([None if absent else next(levels) for absent in self.missing], "discrete")


@dataclass(frozen=True)
class Rules:
    """How information is estimated."""

    estimator: str = "knn"
    n_neighbors: int = 3
    metric: str = "auto"
    n_bins: int | str = "auto"
    correction: str | None = "chance"
    unit: LONG = _ONE


def unit_of(features, scale):
    """What one standard deviation is worth where nothing is scaled."""
    deviations = [column.deviation for column in features if not column.discrete and column.deviation > 0]
    return np.sqrt(np.mean(np.array(deviations) ** 2)) if scale is None and deviations else LONG(1)


class Space(NamedTuple):
    """Distances of all pairs of rows, and what rounding to doubles may add to each."""

    distances: np.ndarray
    noise: np.ndarray


def distances(block, metric, unit):
    """Distances of all pairs of rows in a block."""
    if metric == "chebyshev":
        return furthest([Space(column.gaps(INFINITY), column.noise(INFINITY)) for column in block])
    mismatch = unit * (2 / np.sqrt(LONG(np.pi)) if metric == "manhattan" else np.sqrt(LONG(2)))
    gaps = np.array([column.gaps(mismatch) for column in block])
    noise = np.array([column.noise(mismatch) for column in block])
    if metric == "manhattan" or len(block) == 1:
        return Space(np.sum(gaps, axis=0), np.sum(noise, axis=0))
    whole = np.sqrt(np.sum(gaps**2, axis=0))
    return Space(whole, np.sum(gaps * noise, axis=0) / np.where(whole > 0, whole, 1))


def furthest(spaces):
    """The largest of several distances of each pair."""
    return Space(*(np.max(parts, axis=0) for parts in zip(*spaces, strict=True)))


def metric_of(block, metric):
    """What "auto" means for a block."""
    if len(block) == 1:
        return "chebyshev"
    if metric != "auto":
        return metric
    plain = all(not column.discrete and not column.missing.any() for column in block)
    return "chebyshev" if len(block) < 3 or plain else "manhattan"


# Neighbours


def stands(space, ball):
    """For each row 0 for what is inside its ball, 1 for what ties with the radius, 2 for what is outside, as it is."""
    rows, radii = space.distances, ball.distances[:, None]
    ties = (rows >= radii * (1 - TIE)) & (rows <= radii * (1 + TIE))
    near = np.abs(np.abs(rows - radii) - TIE * radii) <= space.noise + ball.noise[:, None]
    near = np.argwhere(near & (rows != radii) & ~np.eye(len(rows), dtype=bool)).tolist()
    # Equal distances of a row are rounded alike: the first stands for all of them.
    firsts = {(row, rows[row, other]): other for row, other in reversed(near)}
    for (row, distance), other in firsts.items():
        if (len(NEAR), row, other) in MOVED:
            ties[row, rows[row] == distance] ^= True
    NEAR.append([(row, other) for (row, _), other in firsts.items()])
    where = np.where(ties, 1, np.where(rows < radii, 0, 2))
    np.fill_diagonal(where, 2)
    return where


def kth_nearest(space, ranks, among=True):
    """The distance of the neighbour with some rank, of each row; no row is its own neighbour."""
    rows = np.where(among, space.distances, INFINITY)
    np.fill_diagonal(rows, INFINITY)
    each = np.arange(len(rows))
    nearest = np.argsort(rows, axis=1)[each, ranks - 1]
    return Space(rows[each, nearest], space.noise[each, nearest])


def count(where, level):
    """How many stand there, of each row."""
    return np.sum(where == level, axis=1).tolist()


def ross_terms(space, labels, n_neighbors):
    """psi(N) + psi(k) - psi(N_i) - psi(m_i) of each row; NaN for the only row of a class."""
    sizes = Counter(labels)
    kept = np.flatnonzero([sizes[label] > 1 for label in labels])
    terms = np.full(len(labels), LONG("nan"))
    if not len(kept):
        return terms
    kept_pairs = np.ix_(kept, kept)
    space, same = Space(*(part[kept_pairs] for part in space)), same_pairs(labels)[kept_pairs]
    own = np.array([sizes[labels[row]] for row in kept])
    ranks = np.minimum(n_neighbors, own - 1)
    where = stands(space, kth_nearest(space, ranks, same))
    counts = [count(levels, level) for levels in (where, np.where(same, where, 2)) for level in (0, 1)]
    rows = zip(kept, ranks.tolist(), own.tolist(), *counts, strict=True)
    for row, k, size, before, tied, own_before, own_tied in rows:
        terms[row] = psi(len(kept)) + psi(k) - psi(size) - mean_psi(before, tied, own_tied, k - own_before)
    return terms


def ksg_terms(spaces, margins, n_neighbors):
    """psi(k) and, for each margin, its sign times psi of where the k-th joint neighbour stands in it, of each row.

    What is given stands first among the blocks. Ties of one block come before those of the next, and the last two
    blocks take turns at being first.
    """
    n_rows, everything = len(spaces[0].distances), tuple(range(len(spaces)))
    k = min(n_neighbors, n_rows - 1)
    ball = kth_nearest(furthest(spaces), np.full(n_rows, k))
    where = [stands(space, ball) for space in spaces]
    together = {members: np.max([where[block] for block in members], axis=0) for members in (everything, *margins)}
    inside, tied = ({members: count(rows, level) for members, rows in together.items()} for level in (0, 1))
    *given, a, b = everything
    terms = np.empty(n_rows, LONG)
    for row in range(n_rows):
        if all(number[row] <= 1 for number in tied.values()):  # one neighbour at the radius: KSG-1
            found = sum(sign * psi(inside[members][row] + 1) for members, sign in margins.items())
        else:
            mine = [rows[row] for rows in where]
            found = (_in_order(mine, margins, k, [*given, a, b]) + _in_order(mine, margins, k, [*given, b, a])) / 2
        terms[row] = psi(k) + found
    return terms


def _in_order(where, margins, k, order):
    """The same where the ties of the blocks come one block after the other: each tie has its own level from 1 on."""
    outside = len(order) + 1
    levels = [
        np.where(row == 1, order.index(block) + 1, np.where(row == 0, 0, outside)) for block, row in enumerate(where)
    ]
    joint = np.max(levels, axis=0)
    level = int(np.sort(joint)[k - 1])
    deciding, marked, wanted = order[level - 1], int(np.sum(joint == level)), k - int(np.sum(joint < level))
    total = LONG(0)
    for members, sign in margins.items():
        inside = np.max([levels[block] for block in members], axis=0)
        before, tied = int(np.sum(inside < level)), int(np.sum(inside == level))
        total += sign * (mean_psi(before, tied, marked, wanted) if deciding in members else psi(before + 1))
    return total


def ksg_two(x, y, n_neighbors):
    """The terms of I(X;Y) from two matrices of distances."""
    return psi(len(x.distances)) + ksg_terms([x, y], {(0,): -1, (1,): -1}, n_neighbors)


# Information


def entropy_of(block, correction=None):
    """Entropy of what is counted."""
    counts = np.array(list(Counter(zip(*[column.places for column in block], strict=True)).values()), LONG)
    shares = counts / np.sum(counts)
    more = LONG(len(counts) - 1) / (2 * np.sum(counts)) if correction == "miller-madow" else 0
    return -np.sum(shares * np.log(shares)) + more


def counted(a, b, given, correction):
    value = entropy_of([*a, *given], correction) + entropy_of([*b, *given], correction)
    value -= entropy_of([*a, *b, *given], correction)
    value -= entropy_of(given, correction) if given else 0
    if correction == "chance":
        places = list(zip(*[column.places for column in given], strict=True)) or [()] * len(b[0].places)
        for level in set(places):
            rows = [row for row, place in enumerate(places) if place == level]
            value -= LONG(len(rows)) / len(places) * by_chance(a, b, rows)
    return value


def by_chance(a, b, rows):
    """The mean of I(A;B) over all orders of some rows, from binomial coefficients."""
    sides = [Counter(tuple(column.places[row] for column in block) for row in rows).values() for block in (a, b)]
    n, total = len(rows), LONG(0)
    for (one, often), (other, as_often) in product(*(Counter(side).items() for side in sides)):
        for k in range(max(1, one + other - n), min(one, other) + 1):
            chance = LONG(comb(one, k)) * LONG(comb(n - one, other - k)) / LONG(comb(n, other))
            total += often * as_often * chance * k * np.log(LONG(n * k) / (one * other)) / n
    return total


def varying(block):
    return [column for column in block if column.varies]


def is_label(block):
    """Whether a block is one discrete column."""
    return len(block) == 1 and block[0].discrete


def mean(terms):
    known = terms[~np.isnan(terms)]
    return np.mean(known) if len(known) else LONG(0)


def information(a, b, given=(), rules=None):
    """The raw estimate of I(A;B) or I(A;B|Z)."""
    rules = rules or Rules()
    a, b, given = list(a), list(b), list(given)
    if rules.estimator != "knn":
        a, b, given = ([column.in_bins(rules.n_bins) for column in block] for block in (a, b, given))
        return counted(a, b, given, rules.correction)
    a, b, given = varying(a), varying(b), varying(given)
    if not a or not b:
        return LONG(0)
    k, metric, unit = rules.n_neighbors, rules.metric, rules.unit
    if metric == "auto" and all(column.discrete for column in [*a, *b, *given]):
        return counted(a, b, given, rules.correction)
    if given:
        if is_label(b):
            both = metric_of([*a, *given], metric)
            spaces = [distances(block, both, unit) for block in ([*a, *given], given)]
            with_a, without_a = (mean(ross_terms(space, b[0].places, k)) for space in spaces)
            return with_a - without_a
        spaces = [distances(block, "chebyshev", unit) for block in (given, a, b)]
        return mean(ksg_terms(spaces, {(0, 1): -1, (0, 2): -1, (0,): 1}, k))
    if is_label(a) and is_label(b):
        return counted(a, b, [], rules.correction)
    for block, labels in ((a, b), (b, a)):
        if is_label(labels):
            return mean(ross_terms(distances(block, metric_of(block, metric), unit), labels[0].places, k))
    return mean(ksg_two(distances(a, "chebyshev", unit), distances(b, "chebyshev", unit), k))


def bounded(value, *sides, rules=None, raw=False):
    """Not below 0, nor above the entropy of a side that is one discrete column; unless it is wanted raw."""
    if raw:
        return value
    binned = rules is not None and rules.estimator != "knn"
    for side in sides:
        side = [column.in_bins(rules.n_bins) for column in side] if binned else varying(side)
        if is_label(side):
            value = min(value, entropy_of(side))
    return value if value > _ROUNDING else LONG(0)


def differential_entropy(column, rules):
    """Kozachenko and Leonenko, with the entropy of being missing or not."""
    present = column.take(np.flatnonzero(~column.missing))
    space, n = Space(present.gaps(INFINITY), present.noise(INFINITY)), len(present.places)
    # The smallest distance other than 0 that has k others within; all that ties with it is counted.
    n_equal = np.sum(space.distances == 0, axis=1) - 1
    ball = kth_nearest(space, np.maximum(min(rules.n_neighbors, n - 1), n_equal + 1))
    n_reached = np.sum(stands(space, ball) < 2, axis=1)
    share = LONG(n) / len(column.missing)
    mixed = -sum(p * np.log(p) for p in (share, 1 - share) if p > 0)
    local = np.log(2 * ball.distances) - np.array([psi(reached) for reached in n_reached.tolist()])
    return mixed + share * (psi(n) + np.mean(local))


def entropy(column, rules):
    column = column.in_bins(rules.n_bins) if rules.estimator == "binned" else column
    return entropy_of([column], rules.correction) if column.discrete else differential_entropy(column, rules)


# Unique relevance


def _terms(space, target, rules):
    if is_label(target):
        return ross_terms(space, target[0].places, rules.n_neighbors)
    return ksg_two(space, distances(target, "chebyshev", rules.unit), rules.n_neighbors)


def loss_without_each(block, target, rules):
    """I(block;Y) - I(block without one;Y) of each; one metric for all unless fewer than three columns vary."""
    rests = [[other for other in block if other is not column] for column in block]
    if len(varying(block)) < 3:
        whole = information(block, target, rules=rules)
        return [whole - information(rest, target, rules=rules) for rest in rests]
    metric = metric_of(varying(block), rules.metric) if is_label(target) else "chebyshev"
    whole = mean(_terms(distances(block, metric, rules.unit), target, rules))
    return [whole - mean(_terms(distances(rest, metric, rules.unit), target, rules)) for rest in rests]


def gain_with_each(block, candidates, target, rules):
    """I(block and one;Y) - I(block;Y) of each candidate; one metric for all where something varies on both sides."""
    if not varying(block) or not varying(candidates):
        before = information(block, target, rules=rules)
        return [information([*block, column], target, rules=rules) - before for column in candidates]
    metric = metric_of(varying([*block, *candidates]), rules.metric) if is_label(target) else "chebyshev"
    before = mean(_terms(distances(block, metric, rules.unit), target, rules))
    gains = []
    for column in candidates:
        after = mean(_terms(distances([*block, column], metric, rules.unit), target, rules))
        gains.append(after - before)
    if is_label(varying(block)) and is_label(target):  # a single discrete column by itself is counted
        known = information(block, target, rules=rules)
        return [gain + before - known if c.varies else LONG(0) for gain, c in zip(gains, candidates, strict=True)]
    return gains


def beside_reference(features, target, members, rules):
    """What I(R;Y) loses without a member of R, and gains with any other feature."""
    values = np.empty(len(features), LONG)
    block = [features[place] for place in members]
    others = [place for place in range(len(features)) if place not in members]
    values[list(members)] = loss_without_each(block, target, rules)
    if others:
        values[others] = gain_with_each(block, [features[place] for place in others], target, rules)
    return values


# Criteria


class Estimates:
    """What criteria ask for, bounded, each found once."""

    def __init__(self, features, target, rules):
        self.features, self.target, self.rules = features, target, rules
        self.raw = rules.estimator != "knn" and rules.correction == "chance"
        self.relevance = cache(lambda x: self._bounded([features[x]], target))
        self.pair = cache(lambda x, s: self._bounded([features[x]], [features[s]]))
        self.joint = cache(self._joint)
        self.pair_given = cache(self._pair_given)

    def _bounded(self, a, b):
        return bounded(information(a, b, rules=self.rules), a, b, rules=self.rules, raw=self.raw)

    def _joint(self, x, selected):
        block = [self.features[place] for place in sorted(set(selected))]
        both, target, rules = [self.features[x], *block], self.target, self.rules
        value = information(both, target, rules=rules)
        discrete = rules.metric == "auto" and all(column.discrete for column in [*both, *target])
        if rules.estimator != "knn" or discrete:  # with what is given first, as chance has it
            value = information(block, target, rules=rules) + information(both[:1], target, block, rules)
        return bounded(value, target, rules=rules, raw=self.raw)

    def _pair_given(self, x, s):
        x, s, target = [self.features[x]], [self.features[s]], self.target
        if self.rules.estimator != "knn" or all(column.discrete for column in (*x, *s, *target)):
            x, s, target = ([column.in_bins(self.rules.n_bins) for column in side] for side in (x, s, target))
            correction = self.rules.correction
            value = counted(x, s, [], correction) + counted(x, target, s, correction)
            value -= counted(x, target, [], correction)
        elif is_label(target):
            value = LONG(0)
            for label, size in Counter(target[0].places).items():
                rows = [row for row, place in enumerate(target[0].places) if place == label]
                if size > 1:
                    value += (
                        LONG(size)
                        / len(target[0].places)
                        * information([x[0].take(rows)], [s[0].take(rows)], rules=self.rules)
                    )
        else:
            value = information(x, s, target, self.rules)
        return bounded(value, x, s, rules=self.rules, raw=self.raw)

    def joint_entropy(self, members):
        block = [self.features[place] for place in sorted(members)] + self.target
        return entropy_of([column.in_bins(self.rules.n_bins) for column in block], self.rules.correction)


def _share(e, x, s):
    whole = e.joint_entropy(frozenset((x, s)))
    return e.joint(x, (s,)) / whole if whole > 0 else LONG(0)


def _pairs_of(e, x, S):
    pairs = list(combinations(S, 2)) or [(S[0],)]
    return sum(e.joint(x, pair) for pair in pairs) / len(pairs)


# J of a candidate x beside the selected features S, with something selected.
CRITERIA = {
    "mim": lambda e, x, S: e.relevance(x),
    "mrmr": lambda e, x, S: e.relevance(x) - sum(e.pair(x, s) for s in S) / len(S),
    "mrmr_q": lambda e, x, S: max(LONG(0), e.relevance(x)) / max(LONG("1e-3"), sum(e.pair(x, s) for s in S) / len(S)),
    "mifs": lambda e, x, S: e.relevance(x) - LONG("0.5") * sum(e.pair(x, s) for s in S),
    "jmi": lambda e, x, S: sum(e.joint(x, (s,)) for s in S) / len(S),
    "jmim": lambda e, x, S: min(e.joint(x, (s,)) for s in S),
    "cmim": lambda e, x, S: min(e.joint(x, (s,)) - e.relevance(s) for s in S),
    "gsa": lambda e, x, S: e.joint(x, tuple(S)),
    "cmi": lambda e, x, S: e.joint(x, tuple(S)) - e.joint(S[-1], tuple(S)),
    "cife": lambda e, x, S: e.relevance(x) - sum(e.pair(x, s) - e.pair_given(x, s) for s in S),
    "icap": lambda e, x, S: e.relevance(x) - sum(max(LONG(0), e.pair(x, s) - e.pair_given(x, s)) for s in S),
    "condred": lambda e, x, S: e.relevance(x) + sum(e.pair_given(x, s) for s in S),
    "betagamma": lambda e, x, S: e.relevance(x) + sum(e.pair_given(x, s) - e.pair(x, s) for s in S) / len(S),
    "disr": lambda e, x, S: sum(_share(e, x, s) for s in S) / len(S),
    "njmim": lambda e, x, S: min(_share(e, x, s) for s in S),
    "jmi3": _pairs_of,
}
ONLY_COUNTED = ("disr", "njmim")


# Boost


def _spread(values):
    values = np.array(values, LONG)
    level = np.max(values) - np.min(values) <= LONG("1e-12") * max(LONG(1), np.max(np.abs(values)))
    return LONG(0) if level else np.std(values)


def _to_spread(values, scores):
    values = np.array(values, LONG)
    return values * (_spread(scores) / _spread(values) if _spread(scores) > 0 and _spread(values) > 0 else 1)


def credit_of(target):
    """The share of ten neighbours of the own class that the rows have."""
    if not is_label(target):
        return LONG(1)
    sizes = Counter(target[0].places)
    return np.mean(np.array([min(LONG(1), LONG(sizes[place] - 1) / 10) for place in target[0].places], LONG))


@dataclass(frozen=True)
class Boost:
    """(1 - beta) J + beta UR, with what is known of UR beforehand and the share of what is found at every step."""

    beta: float
    values: np.ndarray | None = None
    share: LONG = _NOTHING
    rescale: bool = True
    stepwise: Rules = Rules()  # how what is found at every step is estimated
    gaussian: object = None  # what candidates add to the selected features by the Gaussian estimator

    def blend(self, scores, candidates, selected, estimates):
        scores, beta = np.array(scores, LONG), LONG(self.beta)
        if not self.rescale:
            return (1 - beta) * scores + beta * np.array([self.values[x] for x in candidates], LONG)
        beta = beta * credit_of(estimates.target)
        before = LONG(0) if self.values is None else _to_spread([self.values[x] for x in candidates], scores)
        later = scores
        if self.share > 0 and selected:
            block, asked = ([estimates.features[x] for x in part] for part in (selected, candidates))
            later = _to_spread(gain_with_each(block, asked, estimates.target, self.stepwise), scores)
        values = (1 - beta) * scores + beta * ((1 - self.share) * before + self.share * later)
        if self.gaussian is None or not selected:
            return values
        weight = LONG("0.6") * beta
        return (1 - weight) * values + weight * _to_spread(self.gaussian(candidates, selected), scores)


def step_scores(estimates, criterion, selected, candidates, boost=None):
    """The score of every candidate of one step."""
    rule = CRITERIA[criterion] if selected else CRITERIA["mim"]
    scores = [rule(estimates, x, selected) for x in candidates]
    return np.array(scores, LONG) if boost is None else boost.blend(scores, candidates, selected, estimates)
