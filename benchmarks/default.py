"""The default selection: how long `BURSelector().fit` takes as tables grow, and what the very first call compiles."""

import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif

from benchmarks.timing import best_of
from unirel import BURSelector

SIZES = [(569, 30), (2_600, 500), (72, 7_070), (10_000, 54), (100_000, 54), (100_000, 108), (1_000_000, 100)]
# Peers are timed up to this many cells; beyond they take minutes.
MOST_CELLS = 6_000_000
FIRST = """
import time, numpy as np
from unirel import BURSelector
X = np.random.default_rng(0).standard_normal((200, 12)); y = X[:, 0] + X[:, 1] > 0
start = time.perf_counter(); BURSelector().fit(X, y); first = time.perf_counter() - start
busy = time.process_time()
start = time.perf_counter(); BURSelector().fit(X, y); again = time.perf_counter() - start
print(f"{first:.1f} s, a second call {again:.3f} s; {busy:.1f} s of a processor with all imports")
"""


def _table(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n_samples)
    shifts = np.linspace(0, 0.7, n_features) * labels[:, None]
    return rng.standard_normal((n_samples, n_features), dtype=np.float32).astype(np.float64) + shifts, labels


def _first_call() -> str:
    """What a new installation waits for: nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        return subprocess.check_output([sys.executable, "-c", FIRST], env=environment, text=True).strip()


def main(quick: bool = False) -> None:
    sizes = [(200, 8)] if quick else SIZES
    print("\nBURSelector().fit, one thread, beside scikit-learn's ranking by mutual information and by a forest")
    print(f"{'rows x columns':<22}{'default':>10}{'no boost':>10}{'MI ranking':>12}{'forest':>10}")
    BURSelector(n_jobs=1).fit(*_table(300, 12))  # to compile
    for n_samples, n_features in sizes:
        X, y = _table(n_samples, n_features)
        ours, _ = best_of(lambda X=X, y=y: BURSelector(n_jobs=1).fit(X, y), 3)
        plain, _ = best_of(lambda X=X, y=y: BURSelector(beta=0, n_jobs=1).fit(X, y), 3)
        peers = ["-", "-"]
        if X.size <= MOST_CELLS:
            ranking, _ = best_of(lambda X=X, y=y: mutual_info_classif(X, y, random_state=0, n_jobs=1), 1)
            forest, _ = best_of(lambda X=X, y=y: RandomForestClassifier(n_jobs=1, random_state=0).fit(X, y), 1)
            peers = [f"{ranking:.2f} s", f"{forest:.2f} s"]
        case = f"{n_samples:,} x {n_features:,}"
        print(f"{case:<22}{ours:>8.2f} s{plain:>8.2f} s{peers[0]:>12}{peers[1]:>10}", flush=True)
    if not quick:
        print(f"first call in a new installation: {_first_call()}")
