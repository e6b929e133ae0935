"""Rounded and tied columns: bias, spread and time beside scikit-learn, which breaks ties with noise."""

import time
from collections.abc import Callable

import numpy as np
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

import unirel

Column = Callable[[np.random.Generator, int], np.ndarray]

COLUMNS: dict[str, Column] = {
    **{
        f"{n} decimal{'s' * (n > 1)}": lambda rng, size, n=n: np.round(rng.standard_normal(size), n)
        for n in (8, 4, 3, 2, 1)
    },
    "whole numbers": lambda rng, size: rng.poisson(4, size).astype(float),
    "90 % zeros": lambda rng, size: np.where(rng.random(size) < 0.9, 0.0, rng.exponential(size=size)),
    "half rounded": lambda rng, size: np.where(
        rng.random(size) < 0.5, rng.standard_normal(size), np.round(rng.standard_normal(size))
    ),
}
HEADER = f"{'nats, truth 0':<20}{'unirel':>10}{'spread':>9}{'scikit-learn':>15}{'spread':>9}"


def _draw(target: Column, n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([column(rng, n_samples) for column in COLUMNS.values()])
    return X / X.std(axis=0), target(rng, n_samples)


def _values(estimate: Callable[[np.ndarray, np.ndarray], np.ndarray], draws: list) -> tuple[np.ndarray, float]:
    """Estimates of all draws, and the seconds of one."""
    estimate(*draws[0])  # compile
    start = time.perf_counter()
    values = np.array([estimate(*draw) for draw in draws])
    return values, (time.perf_counter() - start) / len(draws)


def _compare(title: str, target: Column, kind: str, n_samples: int, repeats: int) -> None:
    draws = [_draw(target, n_samples, seed) for seed in range(repeats)]
    peer = mutual_info_classif if kind == "discrete" else mutual_info_regression
    options = {"discrete_features": False, "target_type": kind, "clip": False, "n_jobs": 1}
    ours, seconds = _values(lambda X, y: unirel.relevance(X, y, **options), draws)
    theirs, peer_seconds = _values(lambda X, y: peer(X, y, random_state=0, n_jobs=1), draws)
    print(f"\n{title}, {n_samples:,} rows, {repeats} samples; scikit-learn clips at 0\n{HEADER}")
    for position, name in enumerate(COLUMNS):
        mine, other = ours[:, position], theirs[:, position]
        print(f"{name:<20}{mine.mean():>10.4f}{mine.std():>9.4f}{other.mean():>15.4f}{other.std():>9.4f}")
    print(f"seconds per sample: {seconds:.3f}, scikit-learn {peer_seconds:.3f}, ratio {peer_seconds / seconds:.1f}x ")


def main(quick: bool = False) -> None:
    n_samples, repeats = (300, 2) if quick else (2000, 20)
    _compare("independent classes", lambda rng, n: rng.integers(0, 2, n), "discrete", n_samples, repeats)
    _compare("independent number", COLUMNS["8 decimals"], "continuous", n_samples, repeats)
    if not quick:
        for name in ("2 decimals", "whole numbers"):
            _compare(f"independent number, {name}", COLUMNS[name], "continuous", n_samples, repeats)
        _compare("independent classes", lambda rng, n: rng.integers(0, 2, n), "discrete", 100_000, 2)
        _compare("independent number, 2 decimals", COLUMNS["2 decimals"], "continuous", 100_000, 2)


def tall(n_samples: int = 200_000) -> None:
    """One block of three columns of each kind beside an independent target of 200,000 rows; takes long."""
    print(f"blocks of three, {n_samples:,} rows, nats, truth 0")
    print(f"{'':<20}{'classes':>10}{'same kind':>12}{'seconds':>10}")
    options = {"discrete_features": False, "clip": False, "n_jobs": -1}
    for name, column in COLUMNS.items():
        rng = np.random.default_rng(0)
        X, labels = np.column_stack([column(rng, n_samples) for _ in range(3)]), rng.integers(0, 2, n_samples)
        numbers = column(rng, n_samples)
        start = time.perf_counter()
        of_classes = unirel.mutual_information(X, labels, target_type="discrete", **options)
        of_numbers = unirel.mutual_information(X, numbers, target_type="continuous", **options)
        seconds = time.perf_counter() - start
        print(f"{name:<20}{of_classes:>10.4f}{of_numbers:>12.4f}{seconds:>10.1f}", flush=True)


if __name__ == "__main__":
    tall()
