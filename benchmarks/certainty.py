"""Permutation tests, against as many calls of `relevance` and of scikit-learn's function."""

import warnings
from functools import partial

import numpy as np
from sklearn.feature_selection import mutual_info_classif

import unirel
from benchmarks.timing import Comparison, best_of, report

ROWS, COLUMNS, PERMUTATIONS = 10_000, 100, 1_000
CALLS = 3  # of a peer, from which the time of all is extrapolated


def _table(n_samples: int, n_features: int, n_informative: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=n_samples)
    values = rng.standard_normal((n_samples, n_features))
    values[:, :n_informative] += labels[:, None]
    return values, labels


def _test(values: np.ndarray, labels: np.ndarray, n_permutations: int, **options: object) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unirel.UnirelWarning)  # of few permutations
        return unirel.relevance_test(values, labels, n_permutations=n_permutations, n_jobs=1, **options).information


def _against_relevance(sizes: tuple[int, int, int], n_informative: int, **options: object) -> Comparison:
    n_samples, n_features, n_permutations = sizes
    values, labels = _table(n_samples, n_features, n_informative)
    estimator = {"mi_estimator": options["mi_estimator"]} if "mi_estimator" in options else {}

    def calls() -> np.ndarray:
        return [unirel.relevance(values, labels, n_jobs=1, **estimator) for _ in range(CALLS)][-1]

    words = "".join(f", {value}" for value in options.values())
    return Comparison(
        f"{n_informative} of {n_features} columns tell something{words}",
        lambda: _test(values, labels, n_permutations, **options),
        calls,
        scale=n_permutations / CALLS,
        repeats=1,
    )


def _against_sklearn(sizes: tuple[int, int, int], n_informative: int) -> Comparison:
    n_samples, n_features, n_permutations = sizes
    values, labels = _table(n_samples, n_features, n_informative)
    values, part = values / values.std(axis=0), min(n_features, 10)
    return Comparison(
        f"{n_informative} of {n_features} columns tell something",
        lambda: _test(values, labels, n_permutations),
        lambda: mutual_info_classif(values[:, :part], labels, random_state=0, n_jobs=1),
        scale=n_permutations * n_features / part,
        repeats=1,
        part=part,
    )


def _growth(sizes: list[tuple[int, ...]]) -> None:
    """Time with ever more permutations, rows and columns, every column with all permutations or stopping early."""
    print(f"\n{'rows':>10}{'columns':>10}{'permutations':>15}{'all of them/s':>16}{'stopping early/s':>19}")
    for n_samples, n_features, n_permutations in sizes:
        table = _table(n_samples, n_features, n_features // 10)
        seconds = [best_of(partial(_test, *table, n_permutations, max_exceedances=stop), 2)[0] for stop in (None, 20)]
        print(
            f"{n_samples:>10,}{n_features:>10,}{n_permutations:>15,}{seconds[0]:>16.3f}{seconds[1]:>19.3f}", flush=True
        )


def main(quick: bool = False) -> None:
    sizes = (300, 10, 250) if quick else (ROWS, COLUMNS, PERMUTATIONS)
    n_samples, n_features, n_permutations = sizes
    few = n_features // 10
    report(
        f"{n_permutations:,} permutations, {n_samples:,} x {n_features}, against {n_permutations:,} calls of relevance",
        [
            _against_relevance(sizes, few),
            _against_relevance(sizes, 0),
            _against_relevance(sizes, n_features),
            _against_relevance(sizes, few, adjust="fwer"),
            _against_relevance(sizes, few, adjust="fwer", mi_estimator="binned"),
        ],
    )
    report("the same, against mutual_info_classif", [_against_sklearn(sizes, few)])
    base, steps = ((200, 10, 250), (1, 2)) if quick else ((1_000, 20, 400), (1, 2, 4, 8))
    grown = [tuple(size * step if place == axis else size for place, size in enumerate(base))
             for axis in (2, 0, 1) for step in steps]  # fmt: skip
    _growth(grown)
