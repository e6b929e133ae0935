"""Slow twins of the estimators, readable as their formulas.

Everything starts from raw columns: levels are compared with ``==``, a missing value is a place of its own, and "far"
is infinity. No encoding, no tree, no sorting trick: every distance of every pair of rows is written down.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numba
import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import rankdata

MISSING = "<missing>"
TOLERANCE = 1e-9
TOLERANCE_FLOAT32 = 1e-5


# Columns


@dataclass(frozen=True)
class Column:
    """A column as read: scaled numbers or levels, and where a value is missing."""

    values: np.ndarray
    missing: np.ndarray
    discrete: bool
    deviation: float = 0.0

    @cached_property
    def places(self):
        """The place of each row: its value or level, or the place of missing values."""
        pairs = zip(self.values.tolist(), self.missing.tolist(), strict=True)
        return [MISSING if absent else ("present", value) for value, absent in pairs]

    @cached_property
    def varies(self):
        """Whether some two rows are in different places."""
        return len(set(self.places)) > 1


def is_missing(value):
    """None and not-a-number are missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def read(raw, kind, scale="standard", dtype=np.float64):
    """Read a raw column of the given kind; continuous ones are scaled over their present values, in float64."""
    raw = np.asarray(raw).tolist()
    missing = np.array([is_missing(value) for value in raw])
    if kind == "discrete":
        return Column(np.array(raw, dtype=object), missing, True)
    values = np.array([0.0 if absent else float(value) for value, absent in zip(raw, missing, strict=True)])
    present = values[~missing]
    deviation = 0.0 if len(set(present.tolist())) < 2 else float(np.std(present))
    if scale is not None and present.size:
        scaled = rankdata(present) if scale == "rank" else present
        values[~missing] = 0.0 if deviation == 0 else (scaled - np.mean(scaled)) / np.std(scaled)
    return Column(values.astype(dtype).astype(np.float64), missing, False, deviation)


def unit_of(features, scale="standard"):
    """Typical standard deviation of the continuous columns, the unit of a mismatch when nothing is scaled."""
    deviations = [column.deviation for column in features if not column.discrete and column.deviation > 0]
    if scale is not None or not deviations:
        return 1.0
    return math.sqrt(sum(deviation**2 for deviation in deviations) / len(deviations))


# Distances


def differences(column, mismatch):
    """Difference of each pair of rows in one column."""
    if column.discrete:
        unequal = column.values[:, None] != column.values[None, :]
        result = np.where(unequal.astype(bool), mismatch, 0.0)
    else:
        result = np.abs(column.values[:, None] - column.values[None, :])
    result[column.missing[:, None] | column.missing[None, :]] = mismatch
    result[column.missing[:, None] & column.missing[None, :]] = 0.0
    return result


# What two columns, or blocks, make of their distances; and what a mismatch costs.
COMBINE = {"chebyshev": np.maximum, "manhattan": np.add, "euclidean": np.hypot}
COST = {"chebyshev": math.inf, "manhattan": 2 / math.sqrt(math.pi), "euclidean": math.sqrt(2)}


def distances(block, metric="chebyshev", unit=1.0):
    """Distance of each pair of rows in a block of columns."""
    return COMBINE[metric].reduce([differences(column, unit * COST[metric]) for column in block])


def within(row, distance, tolerance):
    """Points in the closed ball."""
    return row <= distance * (1 + tolerance)


def inside(row, distance, tolerance):
    """Points in the open ball."""
    return row < distance * (1 - tolerance)


def kth_smallest(rows, k, among):
    """The k-th smallest of each row of distances, counted from 1, among the points that are asked for."""
    ordered = np.sort(np.where(among, rows, math.inf), axis=1)
    return np.take_along_axis(ordered, np.reshape(k, (-1, 1)) - 1, axis=1)


# Neighbours


@cache
def digamma_of_position(before, tied, marked, wanted):
    """Mean of psi at the position of the wanted-th marked point, over all orders of the tied ones behind `before`."""
    orders = math.comb(tied, marked)
    positions = range(wanted, tied - marked + wanted + 1)
    chances = [math.comb(p - 1, wanted - 1) * math.comb(tied - p, marked - wanted) / orders for p in positions]
    return sum(chance * digamma(before + p) for chance, p in zip(chances, positions, strict=True))


def ross_terms(distance, classes, n_neighbors, tolerance=TOLERANCE):
    """psi(N) + psi(k_i) - psi(N_i) - psi(m_i) of each row, NaN for a row that is alone in its class.

    m_i is where the k_i-th neighbour of the own class stands among the neighbours of all classes, in the mean over all
    orders of those that tie with it.
    """
    sizes = Counter(classes)
    codes = {label: code for code, label in enumerate(sizes)}
    labels = np.array([codes[label] for label in classes])
    kept = np.array([sizes[label] > 1 for label in classes], dtype=bool)
    terms = np.full(len(classes), np.nan)
    others = (kept[:, None] & kept[None, :] & ~np.eye(len(classes), dtype=bool))[kept]
    own, distance = others & (labels[:, None] == labels[None, :])[kept], distance[kept]
    size = own.sum(axis=1) + 1
    k = np.minimum(n_neighbors, size - 1)
    radius = kth_smallest(distance, k, own)
    inner, outer = (ball(distance, radius, tolerance) for ball in (inside, within))
    before, reached = ((own & ball).sum(axis=1) for ball in (inner, outer))
    all_before, all_reached = ((others & ball).sum(axis=1) for ball in (inner, outer))
    positions = zip(all_before, all_reached - all_before, reached - before, k - before, strict=True)
    position = np.array([digamma_of_position(*map(int, counts)) for counts in positions])
    terms[kept] = digamma(kept.sum()) + digamma(k) - digamma(size) - position
    return terms


def ross(distance, classes, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y) of a discrete Y: psi(N) + mean(psi(k_i) - psi(N_i) - psi(m_i))."""
    terms = ross_terms(distance, classes, n_neighbors, tolerance)
    return 0.0 if np.isnan(terms).all() else float(np.nanmean(terms))


def ksg_positions(sides, margins, n_neighbors, tolerance):
    """psi(k) -+ psi at where the k-th joint neighbour of each row stands in each margin.

    `sides` are distances of all pairs of rows in each block, the block that is given first; `margins` are pairs of a
    sign and the blocks of a margin. One neighbour at the radius in all of them is KSG-1. Otherwise one block after the
    other is taken as a trifle shorter than the next: its ties come before theirs. What is given comes first; the other
    two take turns, and the mean of both counts.
    """
    n_samples, every = len(sides[0]), range(len(sides))
    others = ~np.eye(n_samples, dtype=bool)
    radius = kth_smallest(np.max(sides, axis=0), n_neighbors, others)
    inner = [inside(side, radius, tolerance) for side in sides]
    outer = [within(side, radius, tolerance) for side in sides]

    @cache
    def count(blocks, closed=()):
        """How many are inside in some blocks, and within in those that are closed, for each row."""
        balls = [outer[block] if block in closed else inner[block] for block in blocks]
        return np.logical_and.reduce([others, *balls]).sum(axis=1).tolist()

    def ties_broken(row, order):
        """The term of a row if the blocks are taken as shorter in this order."""
        n_closed = next(n for n in every if count(everything, order[: n + 1])[row] >= n_neighbors)
        before, after = order[:n_closed], order[: n_closed + 1]
        wanted = n_neighbors - count(everything, before)[row]
        marked = count(everything, after)[row] - count(everything, before)[row]
        term = digamma(n_neighbors)
        for sign, blocks in margins:
            n_before = count(blocks, before)[row]
            n_tied = count(blocks, after)[row] - n_before
            position = digamma(n_before + 1)
            if order[n_closed] in blocks:
                position = digamma_of_position(n_before, n_tied, marked, wanted)
            term += sign * position
        return term

    everything = tuple(every)
    *given, a, b = every
    all_blocks = [everything, *(blocks for _, blocks in margins)]
    tied = np.max([np.subtract(count(blocks, blocks), count(blocks)) for blocks in all_blocks], axis=0)
    terms = digamma(n_neighbors) + sum(sign * digamma(np.add(count(blocks), 1)) for sign, blocks in margins)
    for row in np.flatnonzero(tied != 1):
        terms[row] = (ties_broken(row, (*given, a, b)) + ties_broken(row, (*given, b, a))) / 2
    return terms


def ksg_terms(distance_x, distance_y, n_neighbors, tolerance=TOLERANCE):
    """psi(N) + psi(k) - psi(x) - psi(y) of each row."""
    n_samples = len(distance_x)
    margins = [(-1, (0,)), (-1, (1,))]
    k = min(n_neighbors, n_samples - 1)
    return digamma(n_samples) + ksg_positions((distance_x, distance_y), margins, k, tolerance)


def ksg(distance_x, distance_y, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y) in the maximum norm: psi(N) + mean(psi(k) - psi(x) - psi(y))."""
    return float(np.mean(ksg_terms(distance_x, distance_y, n_neighbors, tolerance)))


def ksg_conditional(distance_x, distance_y, distance_z, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y|Z) in the maximum norm: mean(psi(k) - psi(xz) - psi(yz) + psi(z))."""
    k = min(n_neighbors, len(distance_x) - 1)
    margins = [(-1, (0, 1)), (-1, (0, 2)), (1, (0,))]
    return float(np.mean(ksg_positions((distance_z, distance_x, distance_y), margins, k, tolerance)))


def kozachenko_leonenko(values, n_neighbors, tolerance=TOLERANCE):
    """Differential entropy of numbers: mean(psi(N) - psi(kt_i) + log(2 d_i)), d_i never zero."""
    n_samples = len(values)
    k = min(n_neighbors, n_samples - 1)
    local = []
    for row in range(n_samples):
        distance = np.abs(np.delete(values, row) - values[row])
        radii = [d for d in sorted(set(distance.tolist())) if d > 0 and np.sum(within(distance, d, tolerance)) >= k]
        reached = np.sum(within(distance, radii[0], tolerance))
        local.append(digamma(n_samples) - digamma(reached) + math.log(2 * radii[0]))
    return float(np.mean(local))


# Counts


def joint_places(block):
    """The places of each row in all columns of a block."""
    return list(zip(*[column.places for column in block], strict=True))


def plugin_entropy(block, correction=None):
    """Entropy of the empirical frequencies; Miller-Madow adds (levels in use - 1) / (2 N)."""
    counts = Counter(joint_places(block))
    total = sum(counts.values())
    entropy = -sum(count / total * math.log(count / total) for count in counts.values())
    return entropy + (len(counts) - 1) / (2 * total) if correction == "miller-madow" else entropy


def plugin(block, target, given=(), correction="chance"):
    """I(A;B) = H(A) + H(B) - H(A,B), or I(A;B|Z) = H(A,Z) + H(B,Z) - H(Z) - H(A,B,Z), less what chance gives.

    With Z the rows change places within its levels only.
    """
    block, target, given = list(block), list(target), list(given)
    value = plugin_entropy(block + given, correction) + plugin_entropy(target + given, correction)
    value -= plugin_entropy(block + target + given, correction)
    value -= plugin_entropy(given, correction) if given else 0.0
    if correction == "chance":
        value -= expected_within(block, target, given) if given else expected_plugin(block, target)
    return value


def joint_plugin(block, selected, target, correction="chance"):
    """I(A,S;B) = I(S;B) + I(A;B|S), each less what chance gives."""
    if not selected:
        return plugin(block, target, correction=correction)
    return plugin(selected, target, correction=correction) + plugin(block, target, selected, correction)


def expected_within(block, target, given):
    """The mean of I(A;B|Z) over all orders of the rows within the levels of Z."""
    places = joint_places(given)
    total = 0.0
    for level in set(places):
        rows = np.array([row for row, place in enumerate(places) if place == level])
        total += len(rows) / len(places) * expected_plugin(rows_of(block, rows), rows_of(target, rows))
    return total


def rows_of(block, rows):
    """Some rows of columns."""
    return [Column(column.values[rows], column.missing[rows], column.discrete) for column in block]


def redundancy_given(x, s, target, correction="chance"):
    """I(x;s|Y) = I(x;s) + I(x;Y|s) - I(x;Y)."""
    value = plugin([x], [s], correction=correction) + plugin([x], [target], [s], correction)
    return value - plugin([x], [target], correction=correction)


def expected_plugin(block, target):
    """The mean of I(A;B) over all orders of the rows: n of the rows share two levels, n is hypergeometric."""
    sides = [Counter(Counter(joint_places(side)).values()) for side in (block, target)]
    total = len(joint_places(target))
    pairs = ((a, b, often_a * often_b) for a, often_a in sides[0].items() for b, often_b in sides[1].items())
    return sum(often * expected_of_pair(a, b, total) for a, b, often in pairs)


@cache
def expected_of_pair(a, b, total):
    """E[n/N log(N n / ab)] for two levels of a and b rows."""
    n = np.arange(max(1, a + b - total), min(a, b) + 1)
    ways = gammaln(total - a + 1) - gammaln(b - n + 1) - gammaln(total - a - b + n + 1)
    ways += gammaln(a + 1) - gammaln(n + 1) - gammaln(a - n + 1)
    chances = np.exp(ways - (gammaln(total + 1) - gammaln(b + 1) - gammaln(total - b + 1)))
    return float((chances * n / total * np.log(total * n / (a * b))).sum())


def bins_for(n_bins, target):
    """How many bins "auto" means: 8 for class labels, the fourth root of the rows for a target that is cut as well."""
    if n_bins != "auto":
        return n_bins
    return 8 if target[0].discrete else min(20, max(3, round(len(target[0].values) ** 0.25)))


def binned(column, n_bins):
    """A continuous column cut into equal-frequency bins: floor(n_bins * (rank + 1/2) / n_present)."""
    if column.discrete:
        return column
    levels = np.zeros(len(column.values), dtype=object)
    # Ranks of equal values end in 1/2: twice the rank is a whole number, and nothing is rounded.
    twice_ranks = (2 * rankdata(column.values[~column.missing]) - 2).astype(int)
    levels[~column.missing] = n_bins * (twice_ranks + 1) // (2 * twice_ranks.size)
    return Column(levels, column.missing, True)


# Which estimator


def chosen_metric(block, metric):
    """What "auto" means for a block of columns; a single column has one metric only."""
    if len(block) == 1:
        return "chebyshev"
    if metric != "auto":
        return metric
    plain = all(not column.discrete and not column.missing.any() for column in block)
    return "chebyshev" if len(block) <= 2 or plain else "manhattan"


def varying(block):
    """The columns that are not constant."""
    return [column for column in block if column.varies]


def single_discrete(block):
    """Whether a block is one discrete column."""
    return len(block) == 1 and block[0].discrete


def neighbours(block, target, n_neighbors, metric, unit, tolerance, correction):
    """I(A;B) by the rules of estimator="knn"; constant columns are dropped before anything is decided."""
    block, target = varying(block), varying(target)
    if not block or not target:
        return 0.0
    all_discrete = all(column.discrete for column in [*block, *target])
    if (metric == "auto" and all_discrete) or (single_discrete(block) and single_discrete(target)):
        return plugin(block, target, correction=correction)
    if single_discrete(target):
        space = distances(block, chosen_metric(block, metric), unit)
        return ross(space, target[0].places, n_neighbors, tolerance)
    if single_discrete(block):
        space = distances(target, chosen_metric(target, metric), unit)
        return ross(space, block[0].places, n_neighbors, tolerance)
    return ksg(distances(block), distances(target), n_neighbors, tolerance)


def neighbours_conditional(block, target, given, n_neighbors, metric, unit, tolerance, correction):
    """I(A;B|Z) by the rules of estimator="knn"; constant columns are dropped before anything is decided."""
    block, target, given = varying(block), varying(target), varying(given)
    if not given:
        return neighbours(block, target, n_neighbors, metric, unit, tolerance, correction)
    if not block or not target:
        return 0.0
    if metric == "auto" and all(column.discrete for column in [*block, *target, *given]):
        return plugin(block, target, given, correction)
    if single_discrete(target):
        both = [*block, *given]
        metric = chosen_metric(both, metric)
        value = ross(distances(both, metric, unit), target[0].places, n_neighbors, tolerance)
        return value - ross(distances(given, metric, unit), target[0].places, n_neighbors, tolerance)
    return ksg_conditional(distances(block), distances(target), distances(given), n_neighbors, tolerance)


def mutual_information(
    block,
    target,
    given=(),
    *,
    estimator="knn",
    n_neighbors=3,
    metric="auto",
    unit=1.0,
    tolerance=TOLERANCE,
    n_bins="auto",
    correction="chance",
    clip=True,
):
    """I(A;B), or I(A;B|Z), of blocks (lists) of columns."""
    block, target, given = list(block), list(target), list(given)
    if estimator == "binned":
        n_bins = bins_for(n_bins, target)
        block, target, given = ([binned(column, n_bins) for column in part] for part in (block, target, given))
    if estimator in ("plugin", "binned"):
        value = plugin(block, target, given, correction)
    elif given:
        value = neighbours_conditional(block, target, given, n_neighbors, metric, unit, tolerance, correction)
    else:
        value = neighbours(block, target, n_neighbors, metric, unit, tolerance, correction)
    if not clip:
        return value
    for side in (varying(target), varying(block)):
        if single_discrete(side):
            value = min(value, plugin_entropy(side))
    return max(value, 0.0)


def relevance(features, target, **options):
    """I(Xk;Y) of each column."""
    return np.array([mutual_information([column], target, **options) for column in features])


def conditional_relevance(features, target, given, **options):
    """I(Xk;Y|Z) of each column; 0 for a column that is in Z."""
    return np.array(
        [
            0.0 if any(column is other for other in given) else mutual_information([column], target, given, **options)
            for column in features
        ]
    )


def entropy(column, estimator="knn", n_neighbors=3, n_bins="auto", correction="chance", tolerance=TOLERANCE):
    """H(X): counts for a discrete column, differential for a continuous one, H_b(p) + p h(present) with gaps."""
    if estimator == "binned":
        column = binned(column, n_bins)
    if column.discrete:
        return plugin_entropy([column], correction)
    present = float(np.mean(~column.missing))
    gaps = -sum(p * math.log(p) for p in (present, 1 - present) if p > 0)
    return gaps + present * kozachenko_leonenko(column.values[~column.missing], n_neighbors, tolerance)


def irrelevance(features, target, *, estimator="knn", n_neighbors=3, n_bins="auto", correction="chance", **options):
    """H(Xk|Y) = H(Xk) - I(Xk;Y) of each column."""
    shared = {"estimator": estimator, "n_neighbors": n_neighbors, "n_bins": bins_for(n_bins, target)}
    shared["correction"] = correction
    values = relevance(features, target, **shared, **options)
    return np.array([entropy(column, **shared) for column in features]) - values


# Changes of a block


def local_terms(distance, target, n_neighbors, tolerance=TOLERANCE):
    """What each row contributes to I(X;Y), which is the mean: Ross for labels, KSG for numbers."""
    if single_discrete(target):
        return ross_terms(distance, target[0].places, n_neighbors, tolerance)
    return ksg_terms(distance, distances(target), n_neighbors, tolerance)


def changes_of(before, after, rows=None):
    """I before, and how it changes, as means of local terms over some rows; local changes come third."""
    chosen = slice(None) if rows is None else np.asarray(rows)
    local = np.array([terms[chosen] - before[chosen] for terms in after])
    return float(np.nanmean(before[chosen])), np.nanmean(local, axis=1), local


def without_each(
    block,
    target,
    *,
    n_neighbors=3,
    metric="auto",
    unit=1.0,
    tolerance=TOLERANCE,
    correction="chance",
    rows=None,
):
    """I(block;Y), I(block without f;Y) - I(block;Y) of each f, and the local changes (None where there are none).

    One metric for all; ordinary rules where fewer than three columns vary.
    """
    options = {"n_neighbors": n_neighbors, "metric": metric, "unit": unit, "tolerance": tolerance}
    if len(varying(block)) < 3:
        rests = [[*block[:place], *block[place + 1 :]] for place in range(len(block))]
        before = mutual_information(block, target, clip=False, correction=correction, **options)
        after = [mutual_information(rest, target, clip=False, correction=correction, **options) for rest in rests]
        return before, np.array(after) - before, None
    metric = chosen_metric(varying(block), metric) if single_discrete(target) else "chebyshev"
    combine = COMBINE[metric].reduce
    measured = [distances([column], metric, unit) for column in block]
    before = local_terms(combine(measured), target, n_neighbors, tolerance)
    rests = [[*measured[:place], *measured[place + 1 :]] for place in range(len(block))]
    after = [local_terms(combine(rest), target, n_neighbors, tolerance) for rest in rests]
    return changes_of(before, after, rows)


def with_each(
    block,
    candidates,
    target,
    *,
    n_neighbors=3,
    metric="auto",
    unit=1.0,
    tolerance=TOLERANCE,
    correction="chance",
    rows=None,
):
    """I(block;Y), I(block and f;Y) - I(block;Y) of each candidate f, and the local changes (None where none).

    One metric for all, but a single discrete column by itself is counted. Ordinary rules where nothing in the block, or
    no candidate, varies.
    """
    options = {"n_neighbors": n_neighbors, "metric": metric, "unit": unit, "tolerance": tolerance}
    if not varying(block) or not varying(candidates):
        options |= {"clip": False, "correction": correction}
        before = mutual_information(block, target, **options)
        after = [mutual_information([*block, column], target, **options) for column in candidates]
        return before, np.array(after) - before, None
    metric = chosen_metric(varying([*block, *candidates]), metric) if single_discrete(target) else "chebyshev"
    combine = COMBINE[metric]
    base = distances(block, metric, unit)
    before = local_terms(base, target, n_neighbors, tolerance)
    extended = (combine(base, distances([column], metric, unit)) for column in candidates)
    after = [local_terms(distance, target, n_neighbors, tolerance) for distance in extended]
    before_value, changes, local = changes_of(before, after, rows)
    if single_discrete(varying(block)) and single_discrete(target):
        # A single discrete column by itself is counted.
        counted = mutual_information(block, target, clip=False, correction=correction, **options)
        return counted, np.where([c.varies for c in candidates], changes + before_value - counted, 0.0), local
    return before_value, changes, local


# Columns as the kernels see them


FAR = 16.0  # larger than any difference of two numbers in these columns


def encoded_columns(rng, n_rows, dtype=np.float64):
    """Columns of every kind that a kernel meets: numbers, ties, one value only, levels, missing values."""
    numbers = rng.normal(size=n_rows)
    columns = [
        numbers,
        rng.integers(-3, 4, size=n_rows) * 0.5,
        np.zeros(n_rows),
        rng.integers(0, 3, size=n_rows) * 2 * FAR,
        np.where(rng.random(n_rows) < 0.3, 4 * FAR, rng.normal(size=n_rows)),
        np.where(rng.random(n_rows) < 0.6, 0.0, rng.exponential(size=n_rows)),
        numbers,
    ]
    return np.array(columns, dtype=dtype)


MISMATCH = {"chebyshev": FAR, "manhattan": 1.125, "euclidean": 1.5}


def encoded_distances(block, metric="chebyshev", mismatch=FAR):
    """|a - b| in each column, or what a mismatch costs if that is FAR or more; euclidean ones are squared."""
    block = np.asarray(block, dtype=np.float64)
    gaps = np.abs(block[:, :, None] - block[:, None, :])
    gaps = np.where(gaps < FAR, gaps, mismatch)
    if metric == "chebyshev":
        return gaps.max(axis=0)
    return gaps.sum(axis=0) if metric == "manhattan" else (gaps**2).sum(axis=0)


def count_within(distance, limits):
    """How many other rows are at most the limit of each row away."""
    others = ~np.eye(len(distance), dtype=bool)
    return np.sum((distance <= np.asarray(limits)[:, None]) & others, axis=1)


# Criteria


class Estimates:
    """Clipped estimates of one table, each written down once; raw ones where chance is taken off counts."""

    def __init__(self, features, target, **options):
        self.features = list(features)
        self.target = list(target)
        self.options = {**options, "n_bins": bins_for(options.get("n_bins", "auto"), self.target)}
        counted = self.options.get("estimator", "knn") != "knn"
        self.raw = counted and self.options.get("correction", "chance") == "chance"
        self._known = {}

    def relevance(self, x):
        """I(x;Y)."""
        return self._once(("relevance", x), lambda: self._information([self.features[x]], self.target))

    def pairwise(self, x, s):
        """I(x;s)."""
        return self._once(("pairwise", x, s), lambda: self._information([self.features[x]], [self.features[s]]))

    def joint(self, x, selected):
        """I(x,S;Y), from 0 to H(Y)."""
        return self._once(("joint", x, frozenset(selected)), lambda: self._joint(x, selected))

    def pairwise_given_target(self, x, s):
        """I(x;s|Y), the mean over the classes of I(x;s) within them; counts know it from joint entropies."""
        return self._once(("given", x, s), lambda: self._given_target(self.features[x], self.features[s]))

    def joint_entropy(self, x, selected):
        """H(x,S,Y) of levels."""
        block = [self.features[place] for place in sorted({x, *selected})] + self.target
        n_bins, correction = self.options["n_bins"], self.options.get("correction", "chance")
        return plugin_entropy([binned(column, n_bins) for column in block], correction)

    def _given_target(self, x, s):
        x, s, target = self._levels([x, s, *self.target])
        if all(column.discrete for column in (x, s, target)):
            value = redundancy_given(x, s, target, self.options.get("correction", "chance"))
        elif target.discrete:
            value = given_classes(x, s, target, **self.options)
        else:
            value = mutual_information([x], [s], [target], clip=False, **self.options)
        ceilings = (plugin_entropy([side]) for side in (x, s) if side.discrete)
        return value if self.raw else max(0.0, min([value, *ceilings]))

    def _levels(self, block):
        counted = self.options.get("estimator", "knn") != "knn"
        return [binned(column, self.options["n_bins"]) for column in block] if counted else block

    def _raw_joint(self, x, selected):
        selected = [self.features[place] for place in sorted(set(selected))]
        block = [self.features[x], *selected]
        levels = self._levels([*block, *self.target])
        counted = self.options.get("estimator", "knn") != "knn" or self.options.get("metric", "auto") == "auto"
        if counted and all(column.discrete for column in levels):
            correction = self.options.get("correction", "chance")
            return joint_plugin(levels[:1], levels[1:-1], levels[-1:], correction)
        return mutual_information(block, self.target, clip=False, **self.options)

    def _joint(self, x, selected):
        value = self._raw_joint(x, selected)
        side = self._levels(self.target)
        if self.raw:
            return value
        return max(0.0, min(value, plugin_entropy(side))) if single_discrete(side) else max(0.0, value)

    def _information(self, block, other):
        return mutual_information(block, other, clip=not self.raw, **self.options)

    def _once(self, key, estimate):
        if key not in self._known:
            self._known[key] = estimate()
        return self._known[key]


def given_classes(x, s, target, **options):
    """The mean over the rows of I(x;s) within the class of the row; nothing in a class of one row."""
    total, places = 0.0, target.places
    for label in set(places):
        rows = np.array([row for row, place in enumerate(places) if place == label])
        parts = (rows_of([column], rows) for column in (x, s))
        if len(rows) > 1:
            total += len(rows) / len(places) * mutual_information(*parts, clip=False, **options)
    return total


def mim(info, x, selected):
    """I(x;Y)."""
    return info.relevance(x)


def mrmr(info, x, selected):
    """I(x;Y) - mean over s of I(x;s)."""
    return info.relevance(x) - sum(info.pairwise(x, s) for s in selected) / len(selected)


def jmi(info, x, selected):
    """Mean over s of I(x,s;Y)."""
    return sum(info.joint(x, [s]) for s in selected) / len(selected)


def jmim(info, x, selected):
    """Min over s of I(x,s;Y)."""
    return min(info.joint(x, [s]) for s in selected)


def cmim(info, x, selected):
    """Min over s of I(x,s;Y) - I(s;Y)."""
    return min(info.joint(x, [s]) - info.relevance(s) for s in selected)


def gsa(info, x, selected):
    """I(x,S;Y)."""
    return info.joint(x, selected)


def mrmr_q(info, x, selected):
    """I(x;Y) / mean over s of I(x;s), which counts as at least 0.001."""
    return max(0.0, info.relevance(x)) / max(1e-3, sum(info.pairwise(x, s) for s in selected) / len(selected))


def mifs(info, x, selected, weight=0.5):
    """I(x;Y) - weight * sum over s of I(x;s)."""
    return info.relevance(x) - weight * sum(info.pairwise(x, s) for s in selected)


def cife(info, x, selected):
    """I(x;Y) - sum over s of I(x;s) - I(x;s|Y)."""
    return info.relevance(x) - sum(info.pairwise(x, s) - info.pairwise_given_target(x, s) for s in selected)


def icap(info, x, selected):
    """I(x;Y) - sum over s of max(0, I(x;s) - I(x;s|Y))."""
    redundancies = (info.pairwise(x, s) - info.pairwise_given_target(x, s) for s in selected)
    return info.relevance(x) - sum(max(0.0, redundancy) for redundancy in redundancies)


def condred(info, x, selected):
    """I(x;Y) + sum over s of I(x;s|Y)."""
    return info.relevance(x) + sum(info.pairwise_given_target(x, s) for s in selected)


def betagamma(info, x, selected):
    """I(x;Y) - beta * sum over s of I(x;s) + gamma * sum over s of I(x;s|Y), both weights 1/|S|."""
    differences = [info.pairwise_given_target(x, s) - info.pairwise(x, s) for s in selected]
    return info.relevance(x) + sum(differences) / len(selected)


def disr(info, x, selected):
    """Mean over s of I(x,s;Y) / H(x,s,Y), 0 for 0/0."""
    return sum(normalised(info, x, s) for s in selected) / len(selected)


def njmim(info, x, selected):
    """Min over s of I(x,s;Y) / H(x,s,Y), 0 for 0/0."""
    return min(normalised(info, x, s) for s in selected)


def normalised(info, x, s):
    """I(x,s;Y) / H(x,s,Y)."""
    entropy = info.joint_entropy(x, [s])
    return info.joint(x, [s]) / entropy if entropy > 0 else 0.0


def jmi3(info, x, selected):
    """Mean over pairs s, t of I(x,s,t;Y); with one s it is I(x,s;Y)."""
    pairs = list(combinations(selected, 2))
    return sum(info.joint(x, pair) for pair in pairs) / len(pairs) if pairs else info.joint(x, selected)


def cmi(info, x, selected):
    """I(x;Y|S) = I(x,S;Y) - I(S;Y)."""
    return info.joint(x, selected) - info.joint(selected[-1], selected)


CRITERIA = {"mim": mim, "mrmr": mrmr, "jmi": jmi, "jmim": jmim, "cmim": cmim, "gsa": gsa, "mrmr_q": mrmr_q}
CRITERIA |= {"mifs": mifs, "cife": cife, "icap": icap, "condred": condred, "betagamma": betagamma}
CRITERIA |= {"disr": disr, "njmim": njmim, "jmi3": jmi3, "cmi": cmi}


# Search


def stretched(values):
    """Values brought to 0..1; all 0 if they are all equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def unique_beside_all(features, target, **options):
    """I(Omega;Y) - I(Omega without f;Y) of each f, never negative."""
    return np.maximum(-without_each(features, target, **options)[1], 0.0)


def unique_beside_reference(features, target, members, unit=1.0):
    """What I(R;Y) loses without a member of R and gains with any other f: euclidean, 10 neighbours, as it comes."""
    options = {"n_neighbors": 10, "metric": "euclidean", "unit": unit}
    others = [place for place in range(len(features)) if place not in members]
    block = [features[place] for place in members]
    values = np.empty(len(features))
    values[list(members)] = -without_each(block, target, **options)[1]
    if others:
        values[others] = with_each(block, [features[place] for place in others], target, **options)[1]
    return values


def beside_selected(features, target, selected, unit=1.0):
    """I(x,S;Y) - I(S;Y) of every feature x beside the first 24 of S: euclidean, 10 neighbours, as it comes."""
    block = [features[place] for place in selected[:24]]
    return with_each(block, features, target, n_neighbors=10, metric="euclidean", unit=unit)[1]


def spread(values):
    """Standard deviation; 0 if the values are equal up to rounding."""
    return 0.0 if np.ptp(values) <= 1e-12 * max(1.0, np.max(np.abs(values))) else float(np.std(values))


def to_spread(values, scores):
    """Values with the spread of the scores, unless one of the spreads is 0."""
    values = np.array(values)
    known = spread(scores) > 0 and spread(values) > 0
    return values * (spread(scores) / spread(values) if known else 1.0)


def blended(scores, unique, beta, rescale):
    """(1 - beta) J + beta UR of the candidates; UR first gets the spread of J, unless one of the spreads is 0."""
    scores = np.array(scores)
    return (1 - beta) * scores + beta * (to_spread(unique, scores) if rescale else np.array(unique))


def blended_stepwise(scores, unique, later, beta, share):
    """(1 - beta) J + beta ((1 - share) UR + share LATER), each with the spread of J; LATER is J beside nothing."""
    scores = np.array(scores)
    later = scores if later is None else to_spread(later, scores)
    before = 0.0 if unique is None else to_spread(unique, scores)
    return (1 - beta) * scores + beta * ((1 - share) * before + share * later)


def credit(target):
    """Which share of ten neighbours of the own class the rows have, on average; 1 for a continuous target."""
    if not single_discrete(target):
        return 1.0
    labels = list(target[0].values)
    return float(np.mean([min(1.0, (labels.count(label) - 1) / 10) for label in labels]))


def greedy(
    info,
    criterion,
    n_wanted,
    *,
    beta=0.0,
    unique=None,
    rescale=False,
    share=0.0,
    gaussian=None,
    include=(),
    exclude=(),
    tie=1e-12,
):
    """The features in order, the score of each when it was selected, and by how much it won.

    The first step scores by I(x;Y) whatever the criterion. `gaussian` gives what candidates add to the selected ones by
    that estimator, with 0.6 of the weight of unique relevance. Scores that differ by less than `tie`, relative to the
    larger of them and 1, are equal, and the lowest column wins.
    """
    order, scores, margins = [], [], []
    n_wanted = min(n_wanted, len(set(range(len(info.features))) - set(exclude)))
    while len(order) < n_wanted:
        candidates = [x for x in range(len(info.features)) if x not in {*order, *include, *exclude}]
        if len(order) < len(include):
            candidates = [include[len(order)]]
        values = np.array([CRITERIA[criterion](info, x, order) if order else info.relevance(x) for x in candidates])
        if share > 0:
            later = [beside_selected(info.features, info.target, order)[x] for x in candidates] if order else None
            known = None if unique is None else [unique[x] for x in candidates]
            scores_alone = values
            values = blended_stepwise(values, known, later, beta * credit(info.target), share)
            if gaussian is not None and order:
                added = to_spread(gaussian(candidates, order), scores_alone)
                values = (1 - 0.6 * beta) * values + 0.6 * beta * added
        elif beta > 0:
            weight = beta * credit(info.target) if rescale else beta
            values = blended(values, [unique[x] for x in candidates], weight, rescale)
        close = tie * max(1.0, abs(values.max()))
        place = int(np.flatnonzero(values >= values.max() - close)[0])
        beaten = values[values < values.max() - close]
        order.append(candidates[place])
        scores.append(float(values[place]))
        margins.append(float(values.max() - beaten.max(initial=-np.inf)))
    return order, scores, margins


def from_python(function):
    """A function that only kernels can call, for a test to call."""
    return numba.njit(lambda *arguments: function(*arguments))
