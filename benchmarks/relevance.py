"""Relevance of all columns, against scikit-learn's estimators of the same quantity."""

import numpy as np
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

import unirel
from benchmarks.timing import Comparison, report

SIZES = [(1_000, 100), (10_000, 10), (10_000, 100), (100_000, 10)]


def _table(n_samples: int, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n_samples)
    values = rng.standard_normal((n_samples, n_features)) + labels[:, None] * np.linspace(0, 1, n_features)
    return values / values.std(axis=0), labels


def _classes(n_samples: int, n_features: int, n_classes: int) -> Comparison:
    values, labels = _table(n_samples, n_features, n_classes)
    part = min(n_features, 10)
    return Comparison(
        f"{n_samples:>7,} x {n_features}, {n_classes} classes",
        lambda: unirel.relevance(values, labels, n_jobs=1),
        lambda: mutual_info_classif(values[:, :part], labels, random_state=0, n_jobs=1),
        scale=n_features / part,
        part=part,
    )


def _numbers(n_samples: int, n_features: int) -> Comparison:
    values, _ = _table(n_samples, n_features, 2)
    target = values[:, 0] + np.random.default_rng(1).standard_normal(n_samples)
    part = min(n_features, 10)
    return Comparison(
        f"{n_samples:>7,} x {n_features}, continuous target",
        lambda: unirel.relevance(values, target, n_jobs=1),
        lambda: mutual_info_regression(values[:, :part], target, random_state=0, n_jobs=1),
        scale=n_features / part,
        part=part,
    )


def main(quick: bool = False) -> None:
    sizes = [(500, 10)] if quick else SIZES
    report("relevance, discrete target, against mutual_info_classif", [_classes(*size, 2) for size in sizes])
    if not quick:
        report("the same, 10 classes", [_classes(10_000, 100, 10)])
    report("relevance, continuous target, against mutual_info_regression", [_numbers(*size) for size in sizes])
