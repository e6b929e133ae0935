"""The memory of an estimator grows with the rows, never with their square, and little more than counting needs."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="peak memory cannot be asked for on this system")

# One float for each pair of rows would be 2,000 MB at 16,000 rows, one byte 250 MB; the table itself has 1 MB.
ALLOWED_MEGABYTES = 60

SCRIPT = """
import json, resource, sys
import numpy as np
from unirel import KNN, Binned, Plugin
from unirel.data.table import Table

def peak():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10

def make_table(n_rows, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    y = X[:, 0] + rng.normal(size=n_rows)
    if kind == "levels":
        return Table.from_data(np.floor(X * 40), y > 0, discrete_features=True)
    return Table.from_data(X, y > 0 if kind == "labels" else y)

def each_method(n_rows, kind, metric):
    table = make_table(n_rows, kind)
    rows = np.arange(20)
    columns, target = range(6), [table.target]
    if kind == "levels":
        estimators = {"plugin": Plugin().on(table)}
    else:
        estimators = {"knn": KNN(metric=metric).on(table), "binned": Binned().on(table)}
    for name, information in estimators.items():
        yield name, "relevance", lambda: information.relevance(columns)
        yield name, "pairwise", lambda: information.pairwise(columns, 1)
        if name != "knn" or metric == "chebyshev":  # otherwise it takes long, and "with each" does the same
            yield name, "joint", lambda: information.joint(columns, [0])
        yield name, "block", lambda: information.mutual_information(columns[:5], target)
        yield name, "conditional", lambda: information.conditional([0], target, [1])
        yield name, "entropy", lambda: information.entropy(0)
        yield name, "without each", lambda: information.without_each(columns, rows)
        yield name, "with each", lambda: information.with_each([0, 1], columns, rows)

def run(n_rows):
    for kind, metric in [("labels", "chebyshev"), ("labels", "euclidean"), ("numbers", "auto"), ("levels", "auto")]:
        for name, method, function in each_method(n_rows, kind, metric):
            before = peak()
            function()
            yield f"{n_rows} rows, {kind}, {metric}, {name}: {method}", peak() - before

list(run(300))  # compile
start = peak()
steps = dict(run(16_000))
print(json.dumps({"total": peak() - start, "steps": steps}))
"""


def test_memory_does_not_grow_with_the_square_of_the_rows():
    finished = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    largest = sorted(report["steps"].items(), key=lambda step: -step[1])[:5]
    assert report["total"] < ALLOWED_MEGABYTES, largest


COUNTING = """
import json, resource, sys
import numpy as np
from unirel import BURSelector
from unirel.data import jit

def peak():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10

def made(n_rows, kind):
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((n_rows, 100)) if "numbers" in kind else rng.integers(0, 5, (n_rows, 100))
    labels = numbers[:, 0] + numbers[:, 1] > 1
    if "pandas" in kind:
        import pandas
        return pandas.DataFrame(numbers), labels
    if "arrow" in kind:
        import pyarrow
        return pyarrow.table([column.copy() for column in numbers.T], [f"x{j}" for j in range(100)]), labels
    return numbers, labels

jit._PATIENCE = jit._PATIENCE_IF_COMPILED = -1.0  # compiled where little would do without

def fit(X, y):
    BURSelector("jmi", 5, beta=0, n_jobs=1).fit(X, y)

def fill(megabytes):
    start = peak()
    while peak() < start + megabytes:
        ballast.append(np.ones(2**15))

ballast, used = [], {}
for kind in sys.argv[1:]:
    fit(*made(3000, kind))  # compile all kernels that more rows need too
for kind in sys.argv[1:]:
    X, y = made(100_000, kind)
    fill(2**3)  # what was freed before is used up
    fill(1)
    before = peak()
    fit(X, y)
    used[kind] = peak() - before
print(json.dumps(used))
"""


@pytest.mark.slow
def test_counting_takes_at_most_twice_the_memory_of_the_codes():
    kinds = ["numbers", "pandas numbers", "arrow levels"]
    finished = subprocess.run([sys.executable, "-c", COUNTING, *kinds], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    used = json.loads(finished.stdout)
    assert list(used) == kinds
    # The test of steps has a sample of 5,000 rows beside them, however many there are.
    assert max(used.values()) < 2 * 100_000 * 101 / 2**20 + 6, used


FITS = """
import resource, sys, warnings
import numpy as np
from unirel import BURSelector

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 12))
y = X[:, 0] + X[:, 1] > 0

def peak_after(n_fits):
    for fit in range(n_fits):
        BURSelector(n_features_to_select=3, unique_relevance=["both", "ksg"][fit % 2], max_seconds=600).fit(X, y)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

before = peak_after(20)
print(peak_after(100) - before)
"""


@pytest.mark.slow
def test_nothing_grows_over_a_hundred_fits():
    finished = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert float(finished.stdout) < 4  # keeping as much as a copy of the table would be 4 MB
