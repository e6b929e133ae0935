"""How often intervals of mutual information cover the known value: for a nominal 95 % about 95 of 100."""

import time
from collections.abc import Callable

import numpy as np

import unirel

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
CELLS = np.array([[0.3, 0.1, 0.1], [0.05, 0.15, 0.3]])
HEADER = f"{'':<36}{'rows':>7}{'covered':>10}{'width':>9}{'bias':>9}"


def gaussian(correlation: float) -> tuple[Draw, float]:
    def draw(rng: np.random.Generator, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        x, noise = rng.standard_normal((2, n_samples))
        return x, correlation * x + (1 - correlation**2) ** 0.5 * noise

    return draw, -0.5 * float(np.log(1 - correlation**2))


def exponential_classes() -> tuple[Draw, float]:
    """Two equally frequent classes, exponential numbers of mean 1 and 3."""

    def draw(rng: np.random.Generator, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.integers(0, 2, n_samples)
        return rng.exponential(1 + 2.0 * labels), labels

    x = np.linspace(1e-6, 120, 2_000_001)
    densities = np.array([np.exp(-x), np.exp(-x / 3) / 3])
    parts = densities * np.log(densities / densities.mean(axis=0)) / 2
    return draw, float(parts.sum() * (x[1] - x[0]))


def counts(cells: np.ndarray) -> tuple[Draw, float]:
    def draw(rng: np.random.Generator, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = rng.choice(cells.size, n_samples, p=cells.ravel())
        return chosen // cells.shape[1], chosen % cells.shape[1]

    alone = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    return draw, float((cells * np.log(cells / alone)).sum())


CASES = {
    "counts, dependent": (counts(CELLS), "plugin"),
    "counts, independent": (counts(np.full((4, 3), 1 / 12)), "plugin"),
    "classes and exponential numbers": (exponential_classes(), "knn"),
    "Gaussian, correlation 0": (gaussian(0.0), "knn"),
    "Gaussian, correlation 0.6": (gaussian(0.6), "knn"),
    "Gaussian, correlation 0.9": (gaussian(0.9), "knn"),
    "Gaussian, correlation 0.99": (gaussian(0.99), "knn"),
}


def coverage(name: str, n_samples: int, repeats: int) -> tuple[float, float, float]:
    """Share of intervals that hold the known value, their mean width, and the mean error of the estimates."""
    (draw, truth), estimator = CASES[name]
    reading = {"discrete_features": True, "target_type": "discrete"} if estimator == "plugin" else {}
    covered, widths, errors = 0, 0.0, 0.0
    for seed in range(repeats):
        drawn = draw(np.random.default_rng(seed), n_samples)
        value, low, high = unirel.mutual_information(*drawn, mi_estimator=estimator, confidence_level=0.95, **reading)
        covered += low <= truth <= high
        widths += high - low
        errors += value - truth
    return covered / repeats, widths / repeats, errors / repeats


def main(quick: bool = False) -> None:
    repeats = 3 if quick else 300
    print(f"\nintervals at 95 %, {repeats} samples each\n{HEADER}")
    start = time.perf_counter()
    for name in CASES:
        for n_samples in (200,) if quick else (200, 1000, 5000):
            covered, width, bias = coverage(name, n_samples, repeats)
            print(f"{name:<36}{n_samples:>7,}{covered:>10.1%}{width:>9.3f}{bias:>+9.4f}", flush=True)
    print(f"took {time.perf_counter() - start:.0f} s")
