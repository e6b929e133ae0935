"""The same Parquet files as a dataset, a relation of DuckDB and a lazy frame of Polars: time and peak memory.

Full size: ``python -m benchmarks.large --rows 20000000 --folder DIR``. Scratch files go to ``TMPDIR``.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

N_COLUMNS, ROWS_OF_FILE = 100, 500_000


def write(folder: Path, n_rows: int) -> None:
    """Half of the columns continuous, half of ten levels, two relevant of each, as Parquet, unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, ROWS_OF_FILE)):
        path, rng, size = (
            folder / f"{number:05}.parquet",
            np.random.default_rng(number),
            min(ROWS_OF_FILE, n_rows - start),
        )
        if path.exists():
            continue
        normal = rng.standard_normal((N_COLUMNS // 2, size), np.float32)
        levels = rng.integers(0, 10, (N_COLUMNS // 2, size), np.uint8)
        y = (normal[0] + normal[1] + 0.3 * levels[0] + 0.3 * levels[1] + rng.standard_normal(size) > 2.7).astype(
            np.uint8
        )
        columns = {f"c{place}": own for place, own in enumerate([*normal, *levels])}
        pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=100_000)


def open_source(name: str, folder: Path) -> Any:
    if name == "DuckDB":
        import duckdb

        return duckdb.sql(f"from '{folder}/*.parquet'")
    if name == "Polars":
        import polars as pl

        return pl.scan_parquet(f"{folder}/*.parquet")
    import pyarrow.dataset as ds

    return ds.dataset(folder)


def run(name: str, folder: Path) -> None:
    """Select ten features and print the seconds, those of the processor, the peak and what was selected."""
    from benchmarks.cluster import peak_mebibytes
    from unirel import BURSelector

    X = np.random.default_rng(0).standard_normal((300, 12))
    BURSelector(n_features_to_select=2).fit(X, X[:, 0] > 0)  # which loads the kernels
    source, start, busy = open_source(name, folder), time.perf_counter(), time.process_time()
    selector = BURSelector(n_features_to_select=10).fit(source, "y")
    print(
        time.perf_counter() - start, time.process_time() - busy, peak_mebibytes(), sorted(selector.order_[:4].tolist())
    )


def main(quick: bool = False, n_rows: int = 2_000_000, folder: Path | None = None) -> None:
    n_rows = 20_000 if quick else n_rows
    with tempfile.TemporaryDirectory() as temporary:
        files = (folder or Path(temporary)) / f"{n_rows}"
        write(files, n_rows)
        print(f"\nten features of {n_rows:,} rows x {N_COLUMNS} columns, from the same Parquet files")
        print(f"{'source':<12}{'seconds':>10}{'of processor':>14}{'ratio':>8}{'peak MiB':>10}   first four features")
        first = 0.0
        for name in ("Parquet", "DuckDB", "Polars"):
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.large", "--only", name, "--folder", str(files)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
            if done.returncode:
                print(f"{name:<12}{(done.stderr.splitlines() or ['failed'])[-1]}")
                continue
            seconds, busy, peak, features = done.stdout.split(maxsplit=3)
            first = first or float(busy)
            times = f"{float(seconds):>10.1f}{float(busy):>14.1f}{float(busy) / first:>7.2f}x"
            print(f"{name:<12}{times}{float(peak):>10.0f}   {features.strip()}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", help="one source, in this process")
    given = parser.parse_args()
    if given.only:
        run(given.only, given.folder)
    else:
        main(n_rows=given.rows, folder=given.folder)
