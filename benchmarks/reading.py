"""Reading a table: time per value and per column for every kind of input, and memory for a sparse one.

Beside it a reader that takes one column after the other with numpy: levels by `numpy.unique`, the kind from their
number, codes, and for continuous columns mean and deviation.
"""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from benchmarks.timing import best_of
from unirel.data.table import Table

# Rows, columns, levels (0 for continuous numbers), type.
SIZES = [
    (100_000, 500, 8, "int64"),
    (100_000, 500, 8, "float64"),
    (800, 100_000, 2, "uint8"),
    (800, 100_000, 2, "int64"),
    (2_000, 500, 8, "int64"),
    (100_000, 100, 0, "float64"),
]
INPUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy, C order": np.ascontiguousarray,
    "numpy, F order": np.asfortranarray,
    "pandas": lambda values: pd.DataFrame(values, columns=_names(values)),
    "polars": lambda values: pl.from_numpy(np.asfortranarray(values), schema=_names(values)),
    "pyarrow": lambda values: pa.table(list(np.asfortranarray(values).T), names=_names(values)),
    "scipy, CSR": scipy.sparse.csr_array,
}
MOST_COLUMNS = 200  # that the other reader is given


def _names(values: np.ndarray) -> list[str]:
    return [f"x{position}" for position in range(values.shape[1])]


def _values(n_samples: int, n_features: int, n_levels: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if not n_levels:
        return rng.standard_normal((n_samples, n_features)).astype(dtype)
    return rng.integers(0, n_levels, (n_samples, n_features)).astype(dtype)


def read_by_columns(values: np.ndarray) -> list[np.ndarray]:
    """Codes or scaled numbers, one column after the other."""
    read = []
    for column in values.T:
        missing = np.isnan(column)
        levels, codes = np.unique(column[~missing], return_inverse=True)
        few = len(levels) <= 10 and (len(levels) <= 2 or len(codes) >= 5 * len(levels))
        present = column[~missing].astype(np.float64)
        read.append(codes.astype(np.uint8) if few else (present - present.mean()) / (present.std() or 1))
    return read


def _show(case: str, seconds: float, shape: tuple[int, ...], estimate: str = " ") -> None:
    per_value, per_column = 1e9 * seconds / (shape[0] * shape[1]), 1e6 * seconds / shape[1]
    print(f"{case:<60}{seconds:>9.3f}{estimate}{per_value:>13.2f}{per_column:>15.2f}", flush=True)


def compare(values: np.ndarray, about: str) -> None:
    """Print a line for each kind of input, and one for the other reader."""
    labels, part = np.arange(len(values)) % 2, values[:, :MOST_COLUMNS]
    for name, make in INPUTS.items():
        X = make(values)
        Table.from_data(X, labels)  # compile
        seconds, _ = best_of(lambda X=X: Table.from_data(X, labels), 3, patience=5)
        _show(f"{about}, {name}", seconds, values.shape)
    seconds, _ = best_of(lambda: Table.from_data(values, labels).values, 2, patience=5)
    _show("  numpy, with the values that neighbours need", seconds, values.shape)
    seconds, _ = best_of(lambda: read_by_columns(part), 2, patience=5)
    _show("  (column by column)", seconds * values.shape[1] / part.shape[1], values.shape, "~")


def peak_of_sparse(n_samples: int, n_features: int) -> float:
    """Memory that reading a sparse matrix with ten ones per row takes beside the matrix, in MiB."""
    columns = np.random.default_rng(0).integers(0, n_features, 10 * n_samples)
    entries = np.repeat(np.arange(n_samples), 10), columns
    X = scipy.sparse.csr_array((np.ones(10 * n_samples, np.uint8), entries), shape=(n_samples, n_features))
    tracemalloc.start()
    table = Table.from_data(X, np.arange(n_samples) % 2)
    table.sparse_block(table.features)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def main(quick: bool = False) -> None:
    print(f"\nreading a table\n{'':<60}{'seconds':>9}{'ns per value':>14}{'us per column':>15}")
    for n_samples, n_features, n_levels, dtype in [(500, 40, 8, "int64")] if quick else SIZES:
        levels = f"{n_levels} levels" if n_levels else "continuous"
        compare(_values(n_samples, n_features, n_levels, dtype), f"{n_samples:,} x {n_features:,}, {levels}, {dtype}")
    n_samples, n_features = (1_000, 10_000) if quick else (10_000, 1_000_000)
    peak, dense = peak_of_sparse(n_samples, n_features), n_samples * n_features / 2**20
    about = f"sparse matrix of {n_samples:,} x {n_features:,} with 10 ones per row"
    print(f"\n{about}: reading takes {peak:,.0f} MiB (a byte for each value would be {dense:,.0f})")
