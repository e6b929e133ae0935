"""All pairs of columns: their synergy and its tests, against scikit-learn's counts of each pair without any test."""

import time

import numpy as np
from sklearn.metrics import mutual_info_score

from benchmarks.timing import Comparison, report
from unirel import interactions
from unirel.data.table import Table
from unirel.estimation.binned import Binned

N_BINS, N_PART = 4, 20


def plain_synergy(codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """I(a, b; y) - I(a; y) - I(b; y) of the first column with those that follow."""
    first, found = codes[0], []
    for other in codes[1:]:
        both = mutual_info_score(first * N_BINS + other, labels)
        found.append(both - mutual_info_score(first, labels) - mutual_info_score(other, labels))
    return np.array(found)


def _case(n_samples: int, n_features: int) -> Comparison:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_samples, n_features))
    labels = (values[:, 0] * values[:, 1] > 0).astype(int)
    n_part = min(N_PART, n_features - 1)
    # In bins already, which would not be made anew for every pair.
    codes = values[:, : n_part + 1].argsort(axis=0).argsort(axis=0).T * N_BINS // n_samples

    def counted() -> np.ndarray:
        counts = Binned(N_BINS, correction=None).on(Table.from_data(values, labels))
        others = np.arange(1, n_part + 1)
        return counts.conditional_relevance(others, [0]) - counts.relevance(others)

    return Comparison(
        f"{n_samples:>7,} rows, {n_features} columns",
        lambda: interactions(values, labels, n_jobs=1).synergy,
        lambda: plain_synergy(codes, labels),
        scale=n_features * (n_features - 1) / 2 / n_part,
        repeats=1,
        same=counted,
    )


def main(quick: bool = False) -> None:
    sizes = [(400, 10)] if quick else [(1_000, 100), (2_000, 300), (10_000, 500), (100_000, 50)]
    comparisons = [_case(*size) for size in sizes]
    report("synergy of all pairs with tests, against mutual_info_score without", comparisons)
    print()
    for comparison in comparisons:
        start = time.process_time()
        comparison.ours()
        print(f"{comparison.case}: {time.process_time() - start:.2f} s of processor time")
