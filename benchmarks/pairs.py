"""All candidates against one fixed column: I(Xi, Xj; Y) by neighbours against a k-d tree, and by counting."""

import numpy as np
from scipy.special import digamma
from sklearn.metrics import mutual_info_score
from sklearn.neighbors import KDTree

from benchmarks.timing import Comparison, best_of, report
from unirel.data.table import Table
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin

N_NEIGHBORS = 3


def tree_joint(first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> float:
    """Ross's estimate for a pair of columns, with two k-d trees."""
    points = np.column_stack([first, second])
    radius, sizes = np.empty(len(labels)), np.bincount(labels)[labels]
    for label in np.unique(labels):
        own = labels == label
        radius[own] = KDTree(points[own], metric="chebyshev").query(points[own], k=N_NEIGHBORS + 1)[0][:, -1]
    counts = KDTree(points, metric="chebyshev").query_radius(points, radius * (1 + 1e-9), count_only=True) - 1
    local = digamma(N_NEIGHBORS) - digamma(sizes) - digamma(counts)
    return float(digamma(len(labels)) + local.mean())


def _continuous(n_samples: int, n_candidates: int) -> Comparison:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=n_samples)
    values = rng.standard_normal((n_samples, n_candidates + 1)) + 0.5 * labels[:, None]
    table = Table.from_data(values, labels)
    columns = table.values
    return Comparison(
        f"{n_samples:>7,} rows, {n_candidates} candidates",
        lambda: KNN(n_neighbors=N_NEIGHBORS).on(table, n_jobs=1).joint(range(1, n_candidates + 1), [0]),
        lambda: tree_joint(columns[1], columns[0], labels),
        scale=n_candidates,
        part=1,
    )


def _counting(n_samples: int, n_levels: int, n_candidates: int) -> Comparison:
    rng = np.random.default_rng(0)
    codes = rng.integers(n_levels, size=(n_samples, n_candidates + 1))
    table = Table.from_data(codes, rng.integers(2, size=n_samples), discrete_features=True)
    return Comparison(
        f"{n_samples:>7,} rows, {n_levels} levels, {n_candidates} candidates",
        # A new one each time: an estimator knows what it was asked last. The peer does not know what chance gives.
        lambda: Plugin(correction=None).on(table, n_jobs=1).pairwise(range(1, n_candidates + 1), 0),
        lambda: mutual_info_score(codes[:, 1], codes[:, 0]),
        scale=n_candidates,
        part=1,
    )


def main(quick: bool = False) -> None:
    sizes = [(400, 5)] if quick else [(1_500, 100), (10_000, 50), (100_000, 10)]
    report("I(Xi, Xj; Y) for one fixed Xj, against scikit-learn's KDTree", [_continuous(*size) for size in sizes])
    sizes = [(1_000, 4, 5)] if quick else [(10_000, 4, 100), (100_000, 4, 100), (100_000, 32, 100)]
    comparisons = [_counting(*size) for size in sizes]
    report("I(Xi; Xj) of discrete columns, against mutual_info_score", comparisons)
    for (n_samples, n_levels, n_candidates), comparison in zip(sizes, comparisons, strict=True):
        seconds, _ = best_of(comparison.ours, 5)
        nanoseconds = seconds / n_samples / n_candidates * 1e9
        print(f"{n_samples:>7,} rows, {n_levels} levels: {nanoseconds:.2f} ns per row and pair")
