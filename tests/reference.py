"""Slow twins of the estimators, readable as their formulas.

Everything starts from raw columns: levels are compared with ``==``, a missing value is a place of its own, and "far"
is infinity. No encoding, no tree, no sorting trick: every distance of every pair of rows is written down.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import digamma
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

    @property
    def places(self):
        """The place of each row: its value or level, or the place of missing values."""
        pairs = zip(self.values.tolist(), self.missing.tolist(), strict=True)
        return [MISSING if absent else ("present", value) for value, absent in pairs]

    @property
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


def distances(block, metric="chebyshev", unit=1.0):
    """Distance of each pair of rows in a block of columns; euclidean ones are squared."""
    if metric == "chebyshev":
        return np.max([differences(column, math.inf) for column in block], axis=0)
    if metric == "manhattan":
        return np.sum([differences(column, unit * 2 / math.sqrt(math.pi)) for column in block], axis=0)
    return np.sum([differences(column, unit * math.sqrt(2)) ** 2 for column in block], axis=0)


def within(row, distance, tolerance):
    """Points in the closed ball."""
    return row <= distance * (1 + tolerance)


def inside(row, distance, tolerance):
    """Points in the open ball."""
    return row < distance * (1 - tolerance)


def kth_smallest(row, k):
    """The k-th smallest of a row, counted from 1."""
    return np.partition(row, k - 1)[k - 1]


# Neighbours


def ross(distance, classes, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y) of a discrete Y: psi(N) + mean(psi(kt_i) - psi(N_i) - psi(m_i))."""
    sizes = Counter(classes)
    codes = {label: code for code, label in enumerate(sizes)}
    kept = np.array([row for row, label in enumerate(classes) if sizes[label] > 1], dtype=int)
    labels = np.array([codes[label] for label in classes])
    local = []
    for row in kept:
        others = kept[kept != row]
        to_all = distance[row, others]
        to_class = to_all[labels[others] == labels[row]]
        size = to_class.size + 1
        radius = kth_smallest(to_class, min(n_neighbors, size - 1))
        in_class = np.sum(within(to_class, radius, tolerance))
        in_all = np.sum(within(to_all, radius, tolerance))
        local.append(digamma(in_class) - digamma(size) - digamma(in_all))
    return float(digamma(kept.size) + np.mean(local)) if local else 0.0


def ksg(distance_x, distance_y, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y) in the maximum norm: psi(N) + mean(psi(k) - psi(nx+1) - psi(ny+1)), closed balls where k ties."""
    n_samples = len(distance_x)
    k = min(n_neighbors, n_samples - 1)
    local = []
    for row in range(n_samples):
        others = np.arange(n_samples) != row
        to_x, to_y = distance_x[row, others], distance_y[row, others]
        joint = np.maximum(to_x, to_y)
        radius = kth_smallest(joint, k)
        reached = np.sum(within(joint, radius, tolerance))
        if reached == k:
            n_x, n_y = (np.sum(inside(side, radius, tolerance)) for side in (to_x, to_y))
            local.append(digamma(k) - digamma(n_x + 1) - digamma(n_y + 1))
        else:
            n_x, n_y = (np.sum(within(side, radius, tolerance)) for side in (to_x, to_y))
            local.append(digamma(reached) - digamma(n_x) - digamma(n_y))
    return float(digamma(n_samples) + np.mean(local))


def ksg_conditional(distance_x, distance_y, distance_z, n_neighbors, tolerance=TOLERANCE):
    """I(X;Y|Z) in the maximum norm: mean(psi(k) - psi(nxz+1) - psi(nyz+1) + psi(nz+1)), closed balls where k ties."""
    n_samples = len(distance_x)
    k = min(n_neighbors, n_samples - 1)
    local = []
    for row in range(n_samples):
        others = np.arange(n_samples) != row
        to_z = distance_z[row, others]
        to_xz = np.maximum(distance_x[row, others], to_z)
        to_yz = np.maximum(distance_y[row, others], to_z)
        joint = np.maximum(to_xz, to_yz)
        radius = kth_smallest(joint, k)
        reached = np.sum(within(joint, radius, tolerance))
        if reached == k:
            n_xz, n_yz, n_z = (np.sum(inside(side, radius, tolerance)) for side in (to_xz, to_yz, to_z))
            local.append(digamma(k) - digamma(n_xz + 1) - digamma(n_yz + 1) + digamma(n_z + 1))
        else:
            n_xz, n_yz, n_z = (np.sum(within(side, radius, tolerance)) for side in (to_xz, to_yz, to_z))
            local.append(digamma(reached) - digamma(n_xz) - digamma(n_yz) + digamma(n_z))
    return float(np.mean(local))


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


def plugin(block, target, given=(), correction=None):
    """I(A;B) = H(A) + H(B) - H(A,B), or I(A;B|Z) = H(A,Z) + H(B,Z) - H(Z) - H(A,B,Z)."""
    block, target, given = list(block), list(target), list(given)
    value = plugin_entropy(block + given, correction) + plugin_entropy(target + given, correction)
    value -= plugin_entropy(block + target + given, correction)
    return value - plugin_entropy(given, correction) if given else value


def binned(column, n_bins="auto"):
    """A continuous column cut into equal-frequency bins: floor(n_bins * (rank + 1/2) / n_present)."""
    if column.discrete:
        return column
    if n_bins == "auto":
        n_bins = min(20, max(3, round(len(column.values) ** 0.25)))
    levels = np.zeros(len(column.values), dtype=object)
    ranks = rankdata(column.values[~column.missing]) - 1
    bins = [math.floor(n_bins * (Fraction(rank) + Fraction(1, 2)) / ranks.size) for rank in ranks.tolist()]
    levels[~column.missing] = bins
    return Column(levels, column.missing, True)


# Which estimator


def chosen_metric(block, metric):
    """What "auto" means for a block of columns."""
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
    correction=None,
    clip=True,
):
    """I(A;B), or I(A;B|Z), of blocks (lists) of columns."""
    block, target, given = list(block), list(target), list(given)
    if estimator == "binned":
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


def entropy(column, estimator="knn", n_neighbors=3, n_bins="auto", correction=None, tolerance=TOLERANCE):
    """H(X): counts for a discrete column, differential for a continuous one, H_b(p) + p h(present) with gaps."""
    if estimator == "binned":
        column = binned(column, n_bins)
    if column.discrete:
        return plugin_entropy([column], correction)
    present = float(np.mean(~column.missing))
    gaps = -sum(p * math.log(p) for p in (present, 1 - present) if p > 0)
    return gaps + present * kozachenko_leonenko(column.values[~column.missing], n_neighbors, tolerance)


def irrelevance(features, target, *, estimator="knn", n_neighbors=3, n_bins="auto", correction=None, **options):
    """H(Xk|Y) = H(Xk) - I(Xk;Y) of each column."""
    shared = {"estimator": estimator, "n_neighbors": n_neighbors, "n_bins": n_bins, "correction": correction}
    values = relevance(features, target, **shared, **options)
    return np.array([entropy(column, **shared) for column in features]) - values
