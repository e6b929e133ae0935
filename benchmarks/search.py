"""Whole selections: against the same search with scikit-learn's neighbours, a path against its parts, large tables."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import unirel
from benchmarks.pairs import tree_joint
from benchmarks.timing import Comparison, best_of, report
from benchmarks.unique import peer_joint
from unirel.criteria import CRITERIA
from unirel.data.table import Table
from unirel.estimation.knn import KNN

ROOT = Path(__file__).parents[1]


def _data(n_samples: int, n_features: int, name: str = "") -> tuple[np.ndarray, np.ndarray]:
    """A dataset, or random numbers of its shape where it is not at hand."""
    for folder in (os.environ.get("UNIREL_DATA", "."), ROOT.parent / "shared" / "data"):
        if (file := Path(folder) / f"{name}.parquet").exists():
            values = importlib.import_module("pandas").read_parquet(file).to_numpy()
            return values[:, :-1], values[:, -1]
    shifts, labels = np.linspace(0, 0.7, n_features), np.arange(n_samples) % 2
    return np.random.default_rng(0).standard_normal((n_samples, n_features)) + shifts * labels[:, None], labels


def _seconds(X: np.ndarray, y: np.ndarray, n_wanted: int, **asked) -> float:
    selector = unirel.BURSelector(n_features_to_select=n_wanted, n_jobs=1)
    return best_of(lambda: unirel.selection_path(X, y, selector=selector, **asked), 1)[0]


def _search(criterion: str, n_samples: int, n_features: int, n_wanted: int, n_known: int, part: int) -> Comparison:
    """A search against one estimate after the other; a few with `n_known` features selected stand for all."""
    X, y = _data(n_samples, n_features)
    table, known, others = Table.from_data(X, y), range(n_features - n_known, n_features), range(part)
    sizes = iter([2])  # to compile, the first call selects two features only

    def ours() -> np.ndarray:
        _seconds(X, y, next(sizes, n_wanted), criteria=criterion, betas=0)
        return KNN().on(table, n_jobs=1).joint(others, known)

    def peer() -> list[float]:
        estimate = peer_joint if n_known > 1 else lambda points, labels: tree_joint(*points.T, labels)
        return [estimate(table.values[[one, *known]].T, y) for one in others]

    case, n_steps = f"{criterion}, {n_wanted} of {n_features} features, {n_samples:,} rows", n_wanted - 1
    return Comparison(case, ours, peer, n_steps * (n_features - n_wanted / 2) / part, repeats=1)


def _path(*shape: int) -> None:
    X, y, n_wanted, five, betas = *_data(*shape[:2]), shape[2], list(CRITERIA)[:5], (0.0, 0.1)
    dearest = max((_seconds(X, y, n_wanted, criteria=one, betas=beta), one, beta) for one in five for beta in betas)
    whole = _seconds(X, y, n_wanted, criteria=five)
    print("\n{2} of {1} features, {0:,} rows: ".format(*shape), end=f"{whole:.2f} s for five criteria x 11 betas, ")
    print("{:.2f} s for {} with beta {}; ".format(*dearest), end=f"path / dearest single {whole / dearest[0]:.2f}\n")


def _peak_memory() -> str:
    """Of this process alone; what `resource` tells includes the process that started it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((f"{int(line.split()[1]) >> 10} MiB" for line in lines if line.startswith("VmHWM")), "unknown")


def timed(name: str, n_samples: int, n_features: int, n_wanted: int) -> None:
    """Select with every criterion, and print seconds and the peak memory of this process."""
    X, y = _data(n_samples, n_features, name)
    _seconds(X[:, :3], y, 3, criteria=list(CRITERIA))  # to compile
    times = ", ".join(f"{one} {_seconds(X, y, n_wanted, criteria=one, betas=0):.2f} s" for one in CRITERIA)
    print(f"{n_wanted} of {X.shape[1]:,} features, {len(X):,} rows ({name}): {times}, peak memory {_peak_memory()}")


def main(quick: bool = False) -> None:
    jmi, gsa = ((200, 12, 4, 1, 2), (200, 12, 4, 2, 2)) if quick else ((2_600, 500, 50, 1, 10), (3_000, 128, 30, 15, 2))
    report("selections, against scikit-learn for each candidate", [_search("jmi", *jmi), _search("gsa", *gsa)])
    _path(*((100, 10, 3) if quick else (1_000, 120, 20)))
    for shape in [("random", 80, 15, 3)] if quick else [("madelon", 2_600, 500, 50), ("leukemia", 72, 7_070, 50)]:
        code = f"from benchmarks.search import timed; timed(*{shape!r})"
        print(subprocess.check_output([sys.executable, "-Wignore", "-c", code], cwd=ROOT, text=True), end="")
