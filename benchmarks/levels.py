"""How often tests err where there is nothing to find, and how often intervals contain the truth.

`python -m benchmarks.levels [--tables 500] [--samples 300] [--output docs/results]` writes `levels.csv`,
`levels_together.csv` and `coverage.csv`, a line for each case as soon as it is measured; lines that are there already
are not measured again. Tests are at 0.05, intervals at 95 %.
"""

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

import unirel
from benchmarks.intervals import CASES, SIZES, coverage

ROWS, FEATURES, ALPHA = 200, 10, 0.05
# Rows that belong together: how many groups, of how many rows from and to, and the share of the variance of columns and
# target that rows of a group have in common. A series has one value of this: how much of a row the next one keeps.
TOGETHER: dict[str, tuple[float, ...]] = {
    "20 groups of 10 equal rows": (20, 10, 10, 1.0),
    "40 groups of 25 equal rows": (40, 25, 25, 1.0),
    "40 groups of 2 to 18 rows, alike": (40, 2, 18, 0.3),
    "a series of 500 rows": (0.9,),
}
BLOCK = 50  # rows of a block of a series
# At 0.05 fewer than 2 of 39 permutations may reach the data: a test that ends with the second decides the same.
QUICK = {"n_permutations": 39, "max_exceedances": 2}
# Of 10 columns the smallest p-value must be below 0.005.
MANY = {"fdr": {"n_permutations": 399, "max_exceedances": 20}, "fwer": {"n_permutations": 39, "max_exceedances": None}}
ESTIMATORS, TARGETS = ("knn", "binned", "gaussian", "partition", "kde"), ("two classes", "a number")
SLOW = ("partition", "kde")  # asked less: levels given are enough to see that the permutations are theirs too
GIVEN = ("4 levels", "a number", "three numbers", "three numbers, followed closely", "three numbers, not quadratic")
LEVELS_HEADER = ("test", "estimator", "target", "given, selected or weights", "tables", "rejected", "effects found")
TOGETHER_HEADER = (*LEVELS_HEADER[:3], "rows", *LEVELS_HEADER[4:])
COVERAGE_HEADER = ("interval of", "estimator", "rows", "samples", "refused", "covered", "width", "bias")
Lines = dict[tuple[str, ...], Callable[[], list[str]]]  # what measures the rest of a line, by its beginning
Test = Callable[[np.random.Generator, int, bool], bool]  # of a table with or without an effect, by a seed: is it found


class Level(NamedTuple):
    """A test, and what it is of."""

    test: str
    estimator: str
    target: str
    given: str
    rejects: Test
    has_effect: bool = False  # whether there are tables with an effect too


def as_target(numbers: np.ndarray, target: str) -> np.ndarray:
    return numbers if target == "a number" else (numbers > np.median(numbers)).astype(int)


def followers(
    rng: np.random.Generator, given: str, target: str, adds: bool, n_columns: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns and a target that follow what is given, each with noise of its own, and what is given.

    If something is added, the target has half of the noise of the first column.
    """
    known = rng.standard_normal((ROWS, 1 if given == "a number" else 3))
    height = known.sum(axis=1) / known.shape[1] ** 0.5
    if given == "4 levels":
        known = rng.integers(0, 4, (ROWS, 1))
        height = known[:, 0] - 1.5
    elif given.endswith("not quadratic"):
        height = (2 * np.sin(2 * known[:, 0]) + known[:, 1] ** 2 + known[:, 2]) / 2
    scale = 0.1 if given.endswith("closely") else 0.5
    own, other = rng.standard_normal((n_columns, ROWS)), rng.standard_normal(ROWS)
    of_target = (own[0] + other) / 2**0.5 if adds else other
    return (height + scale * own).T, as_target(height + scale * of_target, target), known


def relevance(estimator: Any, target: str, n_levels: int) -> Test:
    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X = (rng.integers(0, n_levels, ROWS) if n_levels else rng.standard_normal(ROWS))[:, None]
        y = as_target(rng.standard_normal(ROWS), target)
        options = {"discrete_features": bool(n_levels), "random_state": seed, **QUICK}
        return bool(unirel.relevance_test(X, y, mi_estimator=estimator, **options).p_value[0] <= ALPHA)

    return rejects


def any_relevance(target: str, adjust: str) -> Test:
    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X = rng.standard_normal((ROWS, FEATURES)) + rng.standard_normal((ROWS, 1))  # correlated with each other
        y = as_target(rng.standard_normal(ROWS), target)
        options = {"adjust": adjust, "random_state": seed, **MANY[adjust]}
        return bool(unirel.relevance_test(X, y, mi_estimator="binned", **options).significant(ALPHA).any())

    return rejects


def conditional(estimator: str, target: str, given: str) -> Test:
    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X, y, known = followers(rng, given, target, adds)
        options = {"random_state": seed, **QUICK}
        return bool(unirel.conditional_test(X, y, known, mi_estimator=estimator, **options).p_value[0] <= ALPHA)

    return rejects


def auto(target: str, weights: str) -> Test:
    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X, numbers = rng.standard_normal((ROWS, FEATURES)), rng.standard_normal(ROWS)
        y, sample_weight = as_target(numbers, target), None
        if weights == "balanced weights":
            y = (numbers > np.quantile(numbers, 0.9)).astype(int)
            sample_weight = compute_sample_weight("balanced", y)
        elif weights == "random weights":
            sample_weight = rng.exponential(size=ROWS)
        selector = unirel.BURSelector("mim", "auto", beta=0, random_state=seed)  # which criterion makes no difference
        return len(selector.fit(X, y, sample_weight=sample_weight).order_) > 0

    return rejects


def auto_after(target: str, given: str) -> Test:
    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X, y, known = followers(rng, given, target, adds, n_columns=5)
        included = list(range(known.shape[1]))
        selector = unirel.BURSelector("mim", "auto", beta=0, include=included, random_state=seed)
        return len(selector.fit(np.column_stack([known, X]), y).order_) > len(included)

    return rejects


def belonging(
    rng: np.random.Generator, together: str, target: str, adds: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | unirel.RowGroups]:
    """Columns and a target, which follows the first column if something is added, of rows that belong together."""
    if together.startswith("a series"):
        (kept,) = TOGETHER[together]
        steps = rng.standard_normal((700, FEATURES + 1))
        series = lfilter([1.0], [1.0, -kept], steps, axis=0)[200:] * (1 - kept**2) ** 0.5
        X, numbers = series[:, 1:], series[:, 0]
        groups: Any = unirel.RowGroups(block_length=BLOCK)
    else:
        n_groups, fewest, most = map(int, TOGETHER[together][:3])
        share = TOGETHER[together][3]
        sizes = np.full(n_groups, most) if fewest == most else rng.integers(fewest, most + 1, n_groups)
        groups = np.repeat(np.arange(n_groups), sizes)

        def draw(n_columns: int) -> np.ndarray:
            drawn = share**0.5 * rng.standard_normal((n_groups, n_columns))[groups]
            if share < 1:
                drawn += (1 - share) ** 0.5 * rng.standard_normal(drawn.shape)
            return np.asarray(drawn)

        numbers, X = draw(1)[:, 0], draw(FEATURES)
    return X, as_target(numbers + X[:, 0] if adds else numbers, target), groups


def grouped(together: str, target: str, by_auto: bool, knows: bool) -> Test:
    """Of rows that belong together, as those of one patient do, by a test that knows it or does not."""

    def rejects(rng: np.random.Generator, seed: int, adds: bool) -> bool:
        X, y, groups = belonging(rng, together, target, adds)
        known: dict[str, Any] = {"groups": groups} if knows else {}
        # Few groups have few distinct values, which are numbers all the same.
        options: dict[str, Any] = {
            "random_state": seed,
            "target_type": "continuous" if target == "a number" else "discrete",
        }
        if by_auto:
            selector = unirel.BURSelector("mim", "auto", beta=0, discrete_features=False, **options)
            return len(selector.fit(X, y, **known).order_) > 0
        options |= {"discrete_features": False, **QUICK, **known}
        return bool(unirel.relevance_test(X[:, :1], y, mi_estimator="binned", **options).p_value[0] <= ALPHA)

    return rejects


def levels() -> Iterator[Level]:
    """All tests, in the order of the table."""
    for estimator, target in product(ESTIMATORS, TARGETS):
        yield Level("relevance_test", estimator, target, "", relevance(estimator, target, 0))
    for n_levels in (3, 60):
        name = f"plugin, {n_levels} levels"
        yield Level("relevance_test", name, "two classes", "", relevance("plugin", "two classes", n_levels))
    by_labels = unirel.Binned(strategy="mdl")
    yield Level("relevance_test", "binned by the labels", "two classes", "", relevance(by_labels, "two classes", 0))
    for adjust, target in product(MANY, TARGETS):
        name = f"relevance_test, any of {FEATURES} columns, {adjust}"
        yield Level(name, "binned", target, "", any_relevance(target, adjust))
    for given, estimator, target in product(GIVEN, ESTIMATORS, TARGETS):
        is_slow = estimator in SLOW
        if not is_slow or given == "4 levels":
            rejects = conditional(estimator, target, given)
            yield Level("conditional_test", estimator, target, given, rejects, has_effect=not is_slow)
    for target, weights in product(TARGETS, ("", "balanced weights", "random weights")):
        if (target, weights) != ("a number", "balanced weights"):
            yield Level(f'"auto", {FEATURES} columns', "", target, weights, auto(target, weights))
    for given, target in product(GIVEN, TARGETS):
        yield Level('"auto", 5 columns', "", target, given, auto_after(target, given), True)
    for together, knows, by_auto, target in product(TOGETHER, (False, True), (False, True), TARGETS):
        test, estimator = (f'"auto", {FEATURES} columns', "") if by_auto else ("relevance_test", "binned")
        rejects = grouped(together, target, by_auto, knows)
        yield Level(f"{test}, groups=" if knows else test, estimator, target, together, rejects, has_effect=knows)


def share_found(level: Level, n_tables: int, adds: bool) -> float:
    """In which share of tables something is found."""
    return float(np.mean([level.rejects(np.random.default_rng([seed, adds]), seed, adds) for seed in range(n_tables)]))


def measure_level(level: Level, n_tables: int) -> list[str]:
    rightly = f"{share_found(level, n_tables // 5, adds=True):.0%}" if level.has_effect else ""
    return [f"{share_found(level, n_tables, adds=False):.1%}", rightly]


def measure_coverage(name: tuple[str, str], n_rows: int, n_samples: int) -> list[str]:
    found = coverage(name, n_rows, n_samples)
    if found.refused == 1:
        return ["100%", "", "", ""]
    return [f"{found.refused:.0%}", f"{found.covered:.1%}", f"{found.width:.3f}", f"{found.bias:+.4f}"]


def write(path: Path, header: tuple[str, ...], lines: Lines) -> None:
    """Measure what the file lacks, and write it anew after each line."""
    n_keys, known = len(next(iter(lines), ())), {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            known = {tuple(row[:n_keys]): row for row in list(csv.reader(file))[1:]}
    for key, measure in lines.items():
        if key not in known:
            known[key] = [*key, *measure()]
            print(", ".join(filter(None, known[key])), flush=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *(known[one] for one in lines if one in known)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.levels", description=__doc__)
    parser.add_argument("--tables", type=int, default=500, help="tables for each test")
    parser.add_argument("--samples", type=int, default=300, help="samples for each interval")
    parser.add_argument("--output", type=Path, default=Path("docs/results"), help="folder of the results")
    given = parser.parse_args()
    tests, together = dict[tuple[str, ...], Any](), dict[tuple[str, ...], Any]()
    for level in levels():
        key = level.test, level.estimator, level.target, level.given, str(given.tables)
        (together if level.given in TOGETHER else tests)[key] = partial(measure_level, level, given.tables)
    intervals: Lines = {
        (*name, f"{n_rows:,}", str(given.samples)): partial(measure_coverage, name, n_rows, given.samples)
        for name, n_rows in product(CASES, SIZES)
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", unirel.UnirelWarning)  # of few permutations, and of intervals that are refused
        write(given.output / "levels.csv", LEVELS_HEADER, tests)
        write(given.output / "levels_together.csv", TOGETHER_HEADER, together)
        write(given.output / "coverage.csv", COVERAGE_HEADER, intervals)


if __name__ == "__main__":
    main()
