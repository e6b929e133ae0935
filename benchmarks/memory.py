"""Peak memory, each in a process of its own: for N, 2N and 4N rows, above a large table, and over a hundred fits."""

import subprocess
import sys

TASKS = {
    "relevance": "unirel.relevance(X, y, n_jobs=2)",
    "mutual_information": "unirel.mutual_information(X, y, n_jobs=2)",
    "unique_relevance": "unirel.unique_relevance(X, y, max_queries=256, n_jobs=2)",
    "  in euclidean": "unirel.unique_relevance(X, y, method=unirel.KNN(metric='euclidean'), max_queries=256, n_jobs=2)",
    "  beside a reference": "unirel.unique_relevance(X, y, method='reference', reference=[0, 1, 2], max_queries=256)",
    "  of a number": "unirel.unique_relevance(X, X[:, 0] + X[:, 1], max_queries=256, n_jobs=2)",
}
# A small run loads and compiles everything. Then ballast fills what that has freed, so that all that follows shows.
SCRIPT = """
import resource, sys, warnings
import numpy as np, unirel
warnings.simplefilter("ignore")

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def run(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, {n_features}))
    y = X[:, 0] + X[:, 1] > 0
    {task}

run(400)
before, ballast = peak(), []
while peak() < before + 2**20:
    ballast.append(np.ones(2**15))
before = peak()
run({n_samples})
print(peak() - before)
"""
# What people do with a large table, without and with the boost.
CALLS = {
    "relevance, counted": "unirel.relevance(X, y, mi_estimator='binned')",
    "relevance, neighbours": "unirel.relevance(X, y)",
    "fit, no boost": "unirel.BURSelector(beta=0).fit(X, y)",
    "fit": "unirel.BURSelector().fit(X, y)",
    "fit, float32": "unirel.BURSelector().fit(X.astype(np.float32), y)",
    "selection_path": "unirel.selection_path(X, y, criteria='jmim', betas=[0, 0.3, 0.5])",
    "fit and transform": "unirel.BURSelector().fit(X, y).transform(X)",
}
MANY = """
for fit in range(100):
        unirel.BURSelector(n_features_to_select=3).fit(X, y)
"""


def peak_bytes(task: str, n_samples: int, n_features: int) -> int:
    """What a task adds to the peak memory of a process, with the table itself."""
    script = SCRIPT.format(task=task, n_samples=n_samples, n_features=n_features)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


def main(quick: bool = False) -> None:
    n_features, smallest = (4, 1_000) if quick else (10, 10_000)
    sizes = [smallest, 2 * smallest, 4 * smallest]
    print(f"\npeak memory in MiB beyond that of a small run, {n_features} columns, 2 threads")
    print(f"{'rows':<24}" + "".join(f"{n_samples:>12,}" for n_samples in sizes) + f"{'last / first':>16}")
    for task in list(TASKS)[:1] if quick else TASKS:
        peaks = [peak_bytes(TASKS[task], n_samples, n_features) / 2**20 for n_samples in sizes]
        growth = f"{peaks[-1] / peaks[0]:.1f}x" if peaks[0] >= 1 else "-"
        print(f"{task:<24}" + "".join(f"{peak:>12.1f}" for peak in peaks) + f"{growth:>16}", flush=True)
    matrix = "".join(f"{8 * n_samples**2 / 2**20:>12,.0f}" for n_samples in sizes)
    print(f"{'(a matrix of distances)':<24}{matrix}{16:>15.1f}x")
    _print_calls(quick)


def _print_calls(quick: bool) -> None:
    """Peak above the input, in MiB and in times of the input."""
    n_samples, n_features = (5_000, 20) if quick else (100_000, 100)
    size = 8 * n_samples * n_features / 2**20
    print(f"\npeak memory in MiB above a table of {n_samples:,} x {n_features} numbers, {size:.0f} MiB, one thread,")
    print(f"of that table and of its codes, {size / 8:.1f} MiB")
    for call in list(CALLS)[-1:] if quick else CALLS:
        above = peak_bytes(CALLS[call], n_samples, n_features) / 2**20 - size
        print(f"{call:<24}{above:>12.1f}{above / size:>11.2f}x{8 * above / size:>11.2f}x", flush=True)
    if quick:
        return
    grown = [peak_bytes(task, 2_000, 10) / 2**20 for task in ("unirel.BURSelector().fit(X, y)", MANY.strip())]
    print(f"{'one fit':<24}{grown[0]:>12.1f}\n{'a hundred fits':<24}{grown[1]:>12.1f}", flush=True)
