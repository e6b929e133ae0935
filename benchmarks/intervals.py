"""Distributions whose information is known, and how often intervals contain it: a table of `benchmarks.levels`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, ndtr
from scipy.stats import multivariate_normal, norm

import unirel
from unirel.data.table import Table
from unirel.evaluation import paired_difference
from unirel.inference.relations import analyse

SIZES = (100, 1000)
LEVEL, ROUNDING = 0.95, 1e-12
CELLS = np.array([[0.3, 0.1, 0.1], [0.05, 0.15, 0.3]])
HALF_LOG_2 = 0.5 * float(np.log(2))
Sample = tuple[np.ndarray, ...]
Draw = Callable[[np.random.Generator, int], Sample]


class Case(NamedTuple):
    """What is drawn, the interval of it (value, low and high), and the true value."""

    draw: Draw
    interval: Callable[..., tuple[float, float, float]]
    truth: float


class Coverage(NamedTuple):
    """Shares of intervals that are not given and, of the others, that contain the truth; mean width, mean error."""

    refused: float
    covered: float
    width: float
    bias: float


def of_block(X: np.ndarray, y: np.ndarray, given: np.ndarray | None = None, *, estimator: Any) -> Any:
    reading = {"discrete_features": True, "target_type": "discrete"} if estimator == "plugin" else {}
    options = {"mi_estimator": estimator, "confidence_level": LEVEL, **reading}
    return unirel.mutual_information(X, y, conditional_on=given, **options)


def gaussian(correlation: float) -> tuple[Draw, float]:
    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        x, noise = rng.standard_normal((2, n_samples))
        return x, correlation * x + (1 - correlation**2) ** 0.5 * noise

    return draw, -0.5 * float(np.log(1 - correlation**2))


def gaussian_given(adds: bool) -> tuple[Draw, float]:
    """Two numbers that follow a third; the second has half of its noise from the first, or none."""

    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        given, own, other = rng.standard_normal((3, n_samples))
        return given + own, given + ((own + other) / 2**0.5 if adds else other), given

    return draw, HALF_LOG_2 if adds else 0.0


def gaussian_in_bins(correlation: float, n_bins: int) -> float:
    """Information of two numbers that are cut into bins of equal frequency."""
    edges = norm.ppf(np.arange(1, n_bins) / n_bins)
    limits = np.concatenate([[-9.0], edges, [9.0]])
    below = multivariate_normal(cov=[[1, correlation], [correlation, 1]]).cdf(
        np.stack(np.meshgrid(limits, limits, indexing="ij"), axis=-1)
    )
    return information_of(np.maximum(np.diff(np.diff(below, axis=0), axis=1), 1e-300))


def exponential_classes(n_bins: int | None = None) -> tuple[Draw, float]:
    """Two equally frequent classes, exponential numbers of mean 1 and 3, in bins of equal frequency if wanted."""

    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        labels = rng.integers(0, 2, n_samples)
        return rng.exponential(1 + 2.0 * labels), labels

    x = np.linspace(1e-6, 120, 2_000_001)
    masses = np.array([np.exp(-x), np.exp(-x / 3) / 3]) * (x[1] - x[0]) / 2
    if n_bins is not None:
        bins = np.minimum(np.cumsum(masses.sum(axis=0)) * n_bins, n_bins - 1).astype(int)
        masses = np.array([np.bincount(bins, one) for one in masses])
    return draw, information_of(masses / masses.sum())


def counts(cells: np.ndarray) -> tuple[Draw, float]:
    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        chosen = rng.choice(cells.size, n_samples, p=cells.ravel())
        return chosen // cells.shape[1], chosen % cells.shape[1]

    return draw, information_of(cells)


def information_of(cells: np.ndarray) -> float:
    """Of joint chances."""
    return max(0.0, float(entr(cells.sum(axis=0)).sum() + entr(cells.sum(axis=1)).sum() - entr(cells).sum()))


def counts_given() -> tuple[Draw, float]:
    """Two columns of 3 and 2 levels that follow a third of two levels, and nothing else."""

    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        given, others = rng.integers(0, 2, n_samples), rng.integers(0, [[3], [2]], (2, n_samples))
        a, b = np.where(rng.random((2, n_samples)) < 0.5, given, others)
        return a, b, given

    return draw, 0.0


def three_columns() -> tuple[Draw, float]:
    """Two columns of 8 levels as one block, and a third; all are independent."""

    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        return rng.integers(0, 8, (n_samples, 2)), rng.integers(0, 8, n_samples)

    return draw, 0.0


def sums(classes: bool) -> tuple[Draw, float]:
    """The sum of the first two of three numbers, and noise; what the first adds to the others is the truth."""

    def draw(rng: np.random.Generator, n_samples: int) -> Sample:
        X = rng.standard_normal((n_samples, 3))
        y = X[:, 0] + X[:, 1] + rng.standard_normal(n_samples)
        return X, (y > 0).astype(int) if classes else y

    nodes = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    left = [float((entr(ndtr(t)) + entr(ndtr(-t))).mean()) for t in (2**0.5 * nodes, nodes / 2**0.5)]
    return draw, left[1] - left[0] if classes else HALF_LOG_2


def of_unique(X: np.ndarray, y: np.ndarray, *, method: str) -> tuple[float, ...]:
    reference = [0, 1] if method == "reference" else None
    found = unirel.unique_relevance(X, y, method=method, reference=reference, confidence_level=LEVEL)
    return tuple(float(end[0]) for end in found)


def of_page(X: np.ndarray, y: np.ndarray, *, feature: int) -> tuple[float, ...]:
    """What a report says that a feature tells given the other selected ones."""
    selection = unirel.BURSelector("mim", X.shape[1], beta=0, keep_copies=True).fit(X, y).selection_
    given = analyse(Table.from_data(X, y), replace(selection, n_supported=None), curve=False).given
    place = selection.order.tolist().index(feature)
    return tuple(float(ends[place]) for ends in given[:3])


def rows_of_splits(rng: np.random.Generator, n_samples: int) -> Sample:
    return (rng.standard_normal(n_samples),)


def of_splits(rows: np.ndarray) -> tuple[float, ...]:
    """Ten random halves test, the others train: differences that are the means of what the rows give."""
    rng = np.random.default_rng(len(rows))
    halves = [rows[rng.permutation(len(rows))[::2]].mean() for _ in range(10)]
    found = paired_difference(halves, np.zeros(10), confidence_level=LEVEL, overlap=1.0)
    return found.mean, found.low, found.high


def information_cases() -> dict[tuple[str, str], Case]:
    found = {}

    def add(name: str, made: tuple[Draw, float], *estimators: str) -> None:
        for estimator in estimators:
            found[name, estimator] = Case(made[0], partial(of_block, estimator=estimator), made[1])

    add("2 x 3 levels, dependent", counts(CELLS), "plugin")
    add("4 x 3 levels, independent", counts(np.full((4, 3), 1 / 12)), "plugin")
    add("10 x 10 levels, independent", counts(np.full((10, 10), 1 / 100)), "plugin")
    add("8 x 8 and 8 levels, independent", three_columns(), "plugin")
    add("3 x 2 levels given 2, independent", counts_given(), "plugin")
    for correlation in (0.0, 0.6, 0.9):
        made = gaussian(correlation)
        add(f"Gaussian, correlation {correlation:g}", made, "knn", "gaussian")
        binned = Case(made[0], partial(of_block, estimator=unirel.Binned(4)), gaussian_in_bins(correlation, 4))
        found[f"Gaussian, correlation {correlation:g}", "4 bins"] = binned
    add("Gaussian, correlation 0.6", gaussian(0.6), "partition", "kde", "mine")  # which are refused
    add("Gaussian, correlation 0.99", gaussian(0.99), "knn")
    add("Gaussian, nothing added to the given", gaussian_given(adds=False), "knn", "gaussian")
    add("Gaussian, something added to the given", gaussian_given(adds=True), "knn", "gaussian")
    add("classes and exponential numbers", exponential_classes(), "knn", "gaussian", "partition", "kde", "mine")
    draw, truth = exponential_classes(8)
    found["classes and exponential numbers", "8 bins"] = Case(draw, partial(of_block, estimator="binned"), truth)
    return found


def other_cases() -> dict[tuple[str, str], Case]:
    found = {("difference of two selectors, 10 splits", ""): Case(rows_of_splits, of_splits, 0.0)}
    for classes, method in product((False, True), ("ksg", "reference", "gaussian")):
        draw, truth = sums(classes)
        name = f"unique relevance, {'classes' if classes else 'numbers'}", method
        found[name] = Case(draw, partial(of_unique, method=method), truth)
    for classes, feature in product((False, True), (0, 2)):
        draw, truth = sums(classes)
        name = f"unique on the page, {'classes' if classes else 'numbers'}", "nothing added" if feature else ""
        found[name] = Case(draw, partial(of_page, feature=feature), 0.0 if feature else truth)
    return found


CASES = information_cases() | other_cases()


def coverage(name: tuple[str, str], n_samples: int, repeats: int) -> Coverage:
    """How often intervals of samples of that many rows contain the true value."""
    draw, interval, truth = CASES[name]
    try:
        interval(*draw(np.random.default_rng(0), n_samples))
    except ValueError:  # it has none
        return Coverage(1.0, *[float("nan")] * 3)
    ends = np.array([interval(*draw(np.random.default_rng(seed), n_samples)) for seed in range(repeats)])
    given = ends[~np.isnan(ends).any(axis=1)]
    if len(given) == 0:
        return Coverage(1.0, *[float("nan")] * 3)
    values, low, high = given.T
    covered = float(((low <= truth + ROUNDING) & (truth - ROUNDING <= high)).mean())
    return Coverage(1 - len(given) / repeats, covered, float((high - low).mean()), float(values.mean() - truth))
