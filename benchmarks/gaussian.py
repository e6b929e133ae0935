"""Correlations of normal scores: a selection and all unique relevances, against one fit after the other."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import digamma, ndtri
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

import unirel
from benchmarks.timing import Comparison, report
from unirel.data.table import Table
from unirel.estimation.gaussian import Gaussian


def _data(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    return X, (X[:, : n_features // 10].sum(axis=1) + np.arange(n_samples) % 7 > 3).astype(int)


def least_squares(columns: np.ndarray, labels: np.ndarray) -> float:
    """I(columns; label of two classes) of normal scores, less what chance gives, by one fit."""
    scores = ndtri(rankdata(columns, axis=0) / (len(labels) + 1))
    design = np.column_stack([np.ones(len(labels)), scores])
    left = labels - design @ np.linalg.lstsq(design, labels, rcond=None)[0]
    n, d = len(labels) - 1, columns.shape[1]
    return -0.5 * np.log(left @ left / len(labels) / labels.var()) - 0.5 * (digamma(n / 2) - digamma((n - d) / 2))


def _select(X: np.ndarray, y: np.ndarray, n_wanted: int, criterion: str = "gsa") -> np.ndarray:
    selector = unirel.BURSelector(n_features_to_select=n_wanted, mi_estimator="gaussian", n_jobs=1)
    return unirel.selection_path(X, y, selector=selector, criteria=criterion, betas=0).order(criterion, 0)


def _selection(n_samples: int, n_features: int, n_wanted: int, part: int = 2) -> Comparison:
    """A selection with reading; a few fits beside half of the selected features stand for all."""
    X, y = _data(n_samples, n_features)
    few, known = X[:, : part + n_wanted // 2], range(part, part + n_wanted // 2)
    information = Gaussian().on(Table.from_data(few, y))

    def ours() -> np.ndarray:
        _select(X, y, n_wanted)
        return information.joint(range(part), known)

    n_fits = n_wanted * (n_features - n_wanted / 2)
    case = f"{n_wanted} of {n_features} features, {n_samples:,} rows, gsa"
    return Comparison(
        case, ours, lambda: [least_squares(few[:, [one, *known]], y) for one in range(part)], n_fits / part
    )


def _unique(n_samples: int, n_features: int, part: int = 2) -> Comparison:
    X, y = _data(n_samples, n_features)

    def peer() -> list[float]:
        whole = least_squares(X, y)
        return [whole - least_squares(np.delete(X, one, axis=1), y) for one in range(part)]

    return Comparison(
        f"unique relevance of all of {n_features} features, {n_samples:,} rows",
        lambda: unirel.unique_relevance(X, y, method="gaussian", n_jobs=1),
        peer,
        scale=(n_features + 1) / (part + 1),
        part=part,
    )


def _processor_seconds(function: Callable[[], object]) -> float:
    """The least of three: other work on the machine only adds to it."""
    times = []
    for _ in range(3):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main(quick: bool = False) -> None:
    large, wide = ((400, 20, 4), (300, 30)) if quick else ((100_000, 500, 20), (2_600, 500))
    with threadpool_limits(1):
        title = "correlations of normal scores, reading included, against least squares"
        report(title, [_selection(*large), _unique(*wide)])
        print("\nseconds of the processor, one thread, reading included")
        X, y = _data(*large[:2])
        numbers = X[:, :10].sum(axis=1) + np.sqrt(np.arange(len(X)) % 11)
        case = f"{large[2]} of {large[1]} features, {large[0]:,} rows"
        for criterion in ("gsa", "cmim", "jmi"):
            times = [_processor_seconds(partial(_select, X, one, large[2], criterion)) for one in (y, numbers)]
            print(f"{case}, {criterion}: {times[0]:.2f} for classes, {times[1]:.2f} for numbers")
        X, y = _data(*wide)
        seconds = _processor_seconds(lambda: unirel.unique_relevance(X, y, method="gaussian", n_jobs=1))
        print(f"unique relevance of all of {wide[1]} features, {wide[0]:,} rows: {seconds:.2f}")
