"""Peak memory for N, 2N and 4N rows, each in a process of its own: it grows with the table, not with N^2."""

import subprocess
import sys

TASKS = {
    "relevance": "unirel.relevance(X, y, n_jobs=2)",
    "mutual_information": "unirel.mutual_information(X, y, n_jobs=2)",
    "unique_relevance": "unirel.unique_relevance(X, y, max_queries=256, n_jobs=2)",
    "  in euclidean": "unirel.unique_relevance(X, y, metric='euclidean', max_queries=256, n_jobs=2)",
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


def peak_bytes(task: str, n_samples: int, n_features: int) -> int:
    """What a task adds to the peak memory of a process, with the table itself."""
    script = SCRIPT.format(task=TASKS[task], n_samples=n_samples, n_features=n_features)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


def main(quick: bool = False) -> None:
    n_features, smallest = (4, 1_000) if quick else (10, 10_000)
    sizes = [smallest, 2 * smallest, 4 * smallest]
    print(f"\npeak memory in MiB beyond that of a small run, {n_features} columns, 2 threads")
    print(f"{'rows':<24}" + "".join(f"{n_samples:>12,}" for n_samples in sizes) + f"{'last / first':>16}")
    for task in list(TASKS)[:1] if quick else TASKS:
        peaks = [peak_bytes(task, n_samples, n_features) / 2**20 for n_samples in sizes]
        growth = f"{peaks[-1] / peaks[0]:.1f}x" if peaks[0] >= 1 else "-"
        print(f"{task:<24}" + "".join(f"{peak:>12.1f}" for peak in peaks) + f"{growth:>16}", flush=True)
    matrix = "".join(f"{8 * n_samples**2 / 2**20:>12,.0f}" for n_samples in sizes)
    print(f"{'(a matrix of distances)':<24}{matrix}{16:>15.1f}x")
