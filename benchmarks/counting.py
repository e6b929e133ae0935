"""Selections from counts: against a numpy bincount for each pair, against fast-select, and how the cost grows."""

import importlib.util
from itertools import cycle

import numba
import numpy as np
import scipy.sparse

import unirel
from benchmarks.timing import Comparison, best_of, report
from unirel.data.table import Table
from unirel.estimation.plugin import Plugin

# Rows, columns, levels, features to select, and the seconds of praznik 11 (R and C, one thread) for the same work.
# These are quoted from the issue that asked for this module: they were measured on another, idle machine.
SHAPES = [(2_000, 500, 8, 50, 0.27), (100_000, 500, 8, 20, 3.75), (800, 100_000, 2, 50, 22.2)]
PART = 8  # pairs that the peer is timed on


def _data(n_samples: int, n_features: int, n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels as an array of numbers, rows by columns, and a class that two of the columns decide, with noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_levels, size=(n_samples, n_features), dtype=np.int8).astype(np.float64)
    return X, ((X[:, 0] + X[:, 1] >= n_levels) ^ (rng.random(n_samples) < 0.2)).astype(int)


def _select(X: np.ndarray, y: np.ndarray, criterion: str, n_wanted: int) -> np.ndarray:
    """Read a table and select, from all columns as the peers do; by default a wide table is cut down first."""
    selector = unirel.BURSelector(
        n_features_to_select=n_wanted, mi_estimator="plugin", discrete_features=True, max_candidates=None, n_jobs=1
    )
    return unirel.selection_path(X, y, selector=selector, criteria=criterion, betas=0).order(criterion, 0)


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _bincount_joint(codes: np.ndarray, fixed: np.ndarray, y: np.ndarray, n_levels: int) -> list[float]:
    """I(x, fixed; y) of every row of codes, each from one call of bincount."""
    rest, values = fixed * 2 + y, []
    for own in codes:
        table = np.bincount(own * (2 * n_levels) + rest, minlength=2 * n_levels**2).reshape(-1, 2)
        values.append(_entropy(table.sum(axis=1)) + _entropy(table.sum(axis=0)) - _entropy(table.ravel()))
    return values


def _selection(n_samples: int, n_features: int, n_levels: int, n_wanted: int) -> Comparison:
    """JMI with reading; the peer is given the codes, and the time of a few pairs stands for that of all."""
    X, y = _data(n_samples, n_features, n_levels)
    _select(X[:100, :12], y[:100], "jmi", 2)  # to compile
    codes = X[:, : PART + 1].T.astype(np.int64)
    # Beside the peer, which does not know what chance gives.
    information = Plugin(correction=None).on(Table.from_data(codes.T, y, discrete_features=True), n_jobs=1)

    def ours() -> np.ndarray:
        _select(X, y, "jmi", n_wanted)
        return information.joint(range(1, PART + 1), [0])

    n_pairs = n_features + (n_wanted - 1) * (n_features - n_wanted / 2)
    case = f"{n_wanted} of {n_features:,} features, {n_samples:,} rows, {n_levels} levels"
    return Comparison(case, ours, lambda: _bincount_joint(codes[1:], codes[0], y, n_levels), n_pairs / PART)


def _fast_select(n_samples: int, n_features: int, n_levels: int, n_wanted: int) -> Comparison:
    """mRMR with reading, against a library that computes all pairs of columns first."""
    from fast_select.mRMR import mRMR

    numba.set_num_threads(1)
    X, y = _data(n_samples, n_features, n_levels)
    mRMR(2, backend="cpu").fit(X[:100, :3], y[:100])  # to compile
    peer = mRMR(n_wanted, backend="cpu")
    case = f"{n_wanted} of {n_features:,} features, {n_samples:,} rows, {n_levels} levels"
    return Comparison(case, lambda: _select(X, y, "mrmr", n_wanted), lambda: peer.fit(X, y).top_features_)


def _one_pass(n_samples: int, n_features: int, n_levels: int) -> Comparison:
    """I(x, s; y) of all candidates x, for another s each time, as the latest tables are remembered; 0 comes last."""
    X, y = _data(n_samples, n_features, n_levels)
    table, codes = Table.from_data(X, y, discrete_features=True), X.T.astype(np.int64)
    information, others = Plugin().on(table, n_jobs=1), cycle([1, 0])
    ours = lambda: information.joint(range(n_features), [next(others)])  # noqa: E731
    case = f"{n_samples:,} rows, {n_features:,} columns, {n_levels} levels"
    peer = lambda: _bincount_joint(codes[:PART], codes[0], y, n_levels)  # noqa: E731
    same = lambda: Plugin(correction=None).on(table, n_jobs=1).joint(range(PART), [0])  # noqa: E731
    return Comparison(case, ours, peer, n_features / PART, repeats=5, part=PART, same=same)


def _sparse_seconds(n_samples: int, n_features: int, n_wanted: int) -> float:
    """JMI from a sparse matrix of the shape and density of Dorothea, reading included."""
    X = scipy.sparse.random(n_samples, n_features, density=0.009, format="csr", random_state=0)
    X.data[:] = 1
    y = np.random.default_rng(0).integers(0, 2, n_samples)
    _select(X[:, :50], y, "jmi", 2)  # to compile
    return best_of(lambda: _select(X, y, "jmi", n_wanted), 3)[0]


def main(quick: bool = False) -> None:
    shapes = [(300, 20, 3, 4, 1.0)] if quick else SHAPES
    title = "JMI from counts, reading included, against a numpy bincount for each pair"
    report(title, [_selection(*shape[:4]) for shape in shapes])
    if not quick:
        quoted = "; ".join(f"{seconds} s for {n:,} x {m:,}" for n, m, _, _, seconds in shapes)
        print(f"\nthe same by praznik 11 on another, idle machine (quoted, not measured here): {quoted}")
    shape = (100, 200, 4) if quick else (800, 100_000, 50)
    case = f"{shape[0]} x {shape[1]:,}, 0.9 % ones, k = {shape[2]}"
    print(f"\nJMI from a CSR matrix of {case}: {_sparse_seconds(*shape):.2f} s")
    if importlib.util.find_spec("fast_select"):
        report("mRMR from counts, reading included, against fast-select", [_fast_select(*shapes[0][:4])])
    else:
        print("\nfast-select is not installed (pip install fast-select) and is left out")
    sizes = [(400, 30, 2)]
    if not quick:
        sizes = [(1_000, 500, 8), (10_000, 500, 8), (100_000, 500, 8), (2_000, 50, 8), (2_000, 5_000, 8)]
        sizes += [(20_000, 500, n_levels) for n_levels in (2, 3, 4, 5, 6, 8, 16, 64)]
    comparisons = [_one_pass(*size) for size in sizes]
    report("one pass over all candidates, against a numpy bincount for each of them", comparisons)
    for size, comparison in zip(sizes, comparisons, strict=True):
        nanoseconds = best_of(comparison.ours, 5)[0] / size[0] / size[1] * 1e9
        print(f"{comparison.case}: {nanoseconds:.3f} ns per row and pair")
