"""Unique relevance of all features: against M + 1 joint estimates, and against a single one."""

import warnings
from itertools import product

import numpy as np
from scipy.special import digamma
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import unirel
from benchmarks.timing import Comparison, best_of, report
from unirel.data.table import Table
from unirel.estimation.knn import KNN
from unirel.search.boost import find_unique


def _data(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n_samples) % 2
    values = np.random.default_rng(0).standard_normal((n_samples, n_features))
    values[:, -20:] += 0.5 * labels[:, None]
    return values / values.std(axis=0), labels


def peer_joint(points: np.ndarray, labels: np.ndarray) -> np.float64:
    """Ross's estimate with 3 neighbours in the maximum norm, by scikit-learn's search on one thread."""
    radius, sizes = np.empty(len(labels)), np.bincount(labels)[labels]
    with threadpool_limits(1):
        for label in np.unique(labels):
            own = NearestNeighbors(n_neighbors=3, metric="chebyshev").fit(points[labels == label])
            radius[labels == label] = own.kneighbors()[0][:, -1] * (1 + 1e-9)
        distances, _ = NearestNeighbors(radius=radius.max(), metric="chebyshev").fit(points).radius_neighbors()
    within = [np.count_nonzero(row <= limit) for row, limit in zip(distances, radius, strict=True)]
    return np.mean(digamma(len(labels)) + digamma(3) - digamma(sizes) - digamma(within))


def _beside_all(n_samples: int, n_features: int, part: int = 2) -> Comparison:
    values, labels = _data(n_samples, n_features)
    rests = [np.delete(values, feature, axis=1) for feature in range(part)]
    return Comparison(
        f"{n_samples:>7,} x {n_features:,}",
        lambda: unirel.unique_relevance(values, labels, clip=False, n_jobs=1),
        lambda: peer_joint(values, labels) - [peer_joint(rest, labels) for rest in rests],
        scale=(n_features + 1) / (part + 1),
        part=part,
    )


def _beside_reference(n_samples: int, n_candidates: int, part: int = 10) -> Comparison:
    table = Table.from_data(*_data(n_samples, n_candidates + 20))
    members = range(n_candidates, n_candidates + 20)
    direct = KNN(10, "euclidean").on(table, n_jobs=1)
    known = direct.mutual_information(members, [table.target])
    return Comparison(
        f"{n_samples:>7,} rows, {n_candidates:,} candidates beside 20",
        lambda: find_unique(table, KNN(10, "euclidean"), members, n_jobs=1)[0],
        lambda: [direct.mutual_information([one, *members], [table.target]) - known for one in range(part)],
        scale=(n_candidates + 21) / part,  # the members are left out one by one, and the whole is estimated once
        part=part,
    )


def _one_and_all(n_samples: int, n_features: int, metric: str) -> tuple[float, float]:
    table = Table.from_data(*_data(n_samples, n_features))
    knn = KNN(metric=metric).on(table, n_jobs=1)
    one, _ = best_of(lambda: knn.mutual_information(table.features, [table.target]), 3)
    return one, best_of(lambda: knn.without_each(table.features), 3)[0]


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore", unirel.UnirelWarning)  # noise in many dimensions is no credible joint estimate
    shapes = [(60, 30), (40, 60)] if quick else [(2_600, 500), (72, 7_070)]  # those of Madelon and Leukemia
    report("unique relevance, against M + 1 joint estimates by NearestNeighbors", [_beside_all(*one) for one in shapes])
    report("reference, against an estimate of our own per candidate", [_beside_reference(*one) for one in shapes])
    sizes = list(product(*([[50, 100], [10, 20]] if quick else [[500, 1_000, 2_000, 4_000], [25, 100, 400]])))
    for metric in ("chebyshev", "euclidean"):
        print(f"\n{metric + ', seconds for':<30}{'one joint':>12}{'all unique':>12}{'ours / one joint':>18}")
        times = np.array([_one_and_all(*size, metric) for size in sizes + shapes])
        for (n_samples, n_features), (one, every) in zip(sizes + shapes, times, strict=True):
            print(f"{n_samples:>12,} x {n_features:<15,}{one:>12.4f}{every:>12.4f}{every / one:>17.2f}x")
        design = np.insert(np.log(sizes), 0, 1.0, axis=1)
        _, rows, columns = np.linalg.lstsq(design, np.log(times[: len(sizes), 1]), rcond=None)[0]
        print(f"all unique: time grows as rows^{rows:.2f} * columns^{columns:.2f}")
