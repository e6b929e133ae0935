"""From how many samples on does each method find unique relevance? Designs whose truth has a closed form.

`python -m benchmarks.designs [--runs 10] [--output docs/results]` writes `unique_designs.csv`, a line for each design,
method, number of features M and of samples N, and `unique_designs_least.csv`, which says it in short. Seconds are those
of the processor, in one thread. What takes longer than a minute for one table is left out, and so are larger tables.
"""

import argparse
import csv
import signal
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import unirel
from unirel.data.table import Table

FEATURES, SAMPLES = (5, 20, 100, 400), (100, 300, 1000, 3000)
# Seconds that one estimate may take, and all runs of one size after which no other is made.
LIMIT, PATIENCE = 60.0, 4.0
# Of neighbouring columns of the linear design; share of labels that are flipped; features of the reference set.
CORRELATION, FLIPPED, REFERENCE = 0.5, 0.05, 5
# A mean within a quarter of the truth counts as right.
NEAR = 0.25
HEADER = ("design", "method", "M", "N", "truth", "mean", "error", "noise", "found", "seconds", "runs")

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]  # features, target, true unique relevance


def linear(rng: np.random.Generator, n_samples: int, n_features: int) -> Sample:
    """Columns that are the more correlated the nearer they are; the sum of three and noise is the target.

    Given all others, y is normal with variance 1, and 1 + var(x_k | others) if x_k is not known.
    """
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    covariance = CORRELATION**distance
    X = rng.normal(size=(n_samples, n_features)) @ np.linalg.cholesky(covariance).T
    slopes = np.isin(np.arange(n_features), [0, 2, 4]).astype(float)
    truth = 0.5 * np.log(1 + slopes**2 / np.diag(np.linalg.inv(covariance)))
    return X, X @ slopes + rng.normal(size=n_samples), truth


def monotone(rng: np.random.Generator, n_samples: int, n_features: int) -> Sample:
    """The same after a monotone transform of every column, which changes no information."""
    X, y, truth = linear(rng, n_samples, n_features)
    return np.exp(X), y**3, truth


def xor(rng: np.random.Generator, n_samples: int, n_features: int) -> Sample:
    """Two signs that decide a label together, one label of twenty flipped; without either the label is a coin."""
    X = rng.normal(size=(n_samples, n_features))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (rng.random(n_samples) < FLIPPED)
    entropy = -FLIPPED * np.log(FLIPPED) - (1 - FLIPPED) * np.log(1 - FLIPPED)
    return X, y.astype(int), np.where(np.arange(n_features) < 2, np.log(2) - entropy, 0.0)


def by_reference(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Given the first features of a selection without boost."""
    members = unirel.BURSelector(n_features_to_select=REFERENCE, beta=0, n_jobs=1).fit(X, y).order_.tolist()
    return unirel.unique_relevance(X, y, method="reference", reference=members, n_jobs=1)


def by_classifier(model: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Losses without each feature less the loss of all: that without a constant, which nobody misses."""

    def estimate(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        table = Table.from_data(np.column_stack([X, np.zeros(len(X))]), y)
        losses = unirel.ClassifierLoss(model).losses(table, n_jobs=1)
        return losses[:-1] - losses[-1]

    return estimate


DESIGNS = {"linear": linear, "monotone": monotone, "exclusive or": xor}
METHODS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "gaussian": lambda X, y: unirel.unique_relevance(X, y, method="gaussian", n_jobs=1),
    "ksg": lambda X, y: unirel.unique_relevance(X, y, clip=False, n_jobs=1),
    "reference": by_reference,
    "classifier": by_classifier("logistic"),
    "classifier, knn": by_classifier("knn"),
}


def measure(design: str, method: str, n_features: int, n_samples: int, n_runs: int) -> dict[str, object]:
    """A line of the table, from as many tables as there is patience for."""
    estimates, times = [], []
    for run in range(n_runs):
        X, y, truth = DESIGNS[design](np.random.default_rng([run, n_features, n_samples]), n_samples, n_features)
        start = time.process_time()
        estimates.append(METHODS[method](X, y))
        times.append(time.process_time() - start)
        if sum(times) > PATIENCE:
            break
    values, unique = np.array(estimates), truth > 0
    ahead = np.argsort(-values, axis=1, kind="stable")[:, : unique.sum()]
    numbers = {
        "truth": truth[unique].mean(),
        "mean": values[:, unique].mean(),
        "error": np.sqrt(np.mean((values - truth)[:, unique] ** 2)),
        "noise": np.sqrt(np.mean(values[:, ~unique] ** 2)),
        "found": unique[ahead].mean(),
        "seconds": np.mean(times),
    }
    return {name: f"{value:.3f}" for name, value in numbers.items()} | {"runs": len(times)}


def in_time(function: Callable[[], dict[str, object]]) -> dict[str, object] | None:
    """What a function returns, None if the processor is busy with it for longer than the limit."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return function()
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def shorten(rows: list[dict[str, object]]) -> list[list[str]]:
    """For each design, method and M: the least N from which on unique features are ahead, and values are right."""

    def least(chosen: list[dict[str, object]], good: Callable[[dict[str, object]], bool]) -> str:
        found = ""
        for row in reversed(chosen):
            if not good(row):
                break
            found = f"{row['N']:,}"
        return found or "no"

    def ahead(row: dict[str, object]) -> bool:
        return float(row["found"]) > 0.95

    def right(row: dict[str, object]) -> bool:
        return ahead(row) and abs(float(row["mean"]) / float(row["truth"]) - 1) <= NEAR

    table = [["design", "method", *(f"{m} features" for m in FEATURES)]]
    for design, method in product(DESIGNS, METHODS):
        mine = [row for row in rows if (row["design"], row["method"]) == (design, method)]
        cells = []
        for m in FEATURES:
            chosen = [row for row in mine if row["M"] == m and row["runs"]]
            most = "" if len(chosen) == len(SAMPLES) else f" (up to {chosen[-1]['N']:,})" if chosen else "left out"
            cells.append(f"{least(chosen, ahead)} / {least(chosen, right)}{most}" if chosen else most)
        table.append([design, method, *cells])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.designs", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="tables of each size, fewer where an estimate takes long")
    parser.add_argument("--output", type=Path, default=Path("docs/results"), help="folder of the results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", unirel.UnirelWarning)  # that estimates in many dimensions are not credible
    rows: list[dict[str, object]] = []
    for design, method in product(DESIGNS, METHODS):
        too_large: list[tuple[int, int]] = []
        for m, n in product(FEATURES, SAMPLES):
            row: dict[str, object] = {"design": design, "method": method, "M": m, "N": n, "runs": 0}
            if not any(m >= other[0] and n >= other[1] for other in too_large):
                found = in_time(partial(measure, design, method, m, n, arguments.runs))
                too_large += [] if found else [(m, n)]
                row |= found or {}
            rows.append(row)
            print(*(row.get(name, "") for name in HEADER), sep="\t", flush=True)
    with (arguments.output / "unique_designs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADER, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with (arguments.output / "unique_designs_least.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(shorten(rows))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
