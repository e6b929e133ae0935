"""Selections of tables in parts: streamed from files and on a cluster of processes, and a model of what they cost.

Full sizes: ``python -m benchmarks.cluster --sizes 20000000x100 6400000x631 --folder DIR`` and, for the efficiency of
processes beside threads, ``python -m benchmarks.cluster --sizes 5000000x100 --memory --folder DIR``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

ROOT = Path(__file__).parents[1]
N_LEVELS, N_CLASSES = 8, 2
VALUES_OF_FILE = 50_000_000
# Bytes of the cells of one table as it travels.
TABLE = 8 * N_LEVELS**2 * N_CLASSES
# What others report, in ns per cell and core: seconds times cores for rows times columns times selected features.
ANCHORS = {
    "Spark framework of Ramirez-Gallego et al.: 60 s for a feature of 64 million x 631, 400 cores": 60e9
    * 400
    / 64e6
    / 631,
    "fast-mRMR-MPI: 60 s for 200 features of 16,000 x 4 million, 768 cores": 60e9 * 768 / 16e3 / 4e6 / 200,
}
# Rows, columns, features, partitions, threads of all workers: what nobody can run here.
BEYOND = [
    ("64 million x 631, 400 cores", 64_000_000, 631, 20, 400, 400),
    ("10^9 x 1,000, 100 workers of 8 cores", 10**9, 1_000, 20, 800, 800),
    ("16,000 x 4 million, 768 cores", 16_000, 4_000_000, 200, 768, 768),
]
# What a search is paid in; see `costs`.
PRICES = [("ns per cell and core", 1e9), ("ms per step", 1e3), ("ms per task", 1e3), ("ms per part", 1e3)]
PRICES += [("ns per byte", 1e9)]
CAUSES = ("counting", "waiting for answers", "the scheduler", "many parts", "tables that travel")


def write(folder: Path, n_rows: int, n_columns: int, part: int) -> None:
    """A binned table as Parquet files, unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, part)):
        path = folder / f"{number:05}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        size = min(part, n_rows - start)
        codes = rng.integers(0, N_LEVELS, (n_columns, size), np.int8)
        y = ((codes[0] + codes[1] >= N_LEVELS) ^ (rng.random(size) < 0.2)).astype(np.int8)
        table = pa.table({**{f"c{place}": own for place, own in enumerate(codes)}, "y": y})
        pq.write_table(table, path.with_suffix(".new"), row_group_size=part)
        path.with_suffix(".new").rename(path)


def cells_of(n_rows: int, n_columns: int, n_wanted: int) -> int:
    """Cells that a search counts: relevance, and in every step all candidates that are left."""
    return n_rows * (n_columns + sum(n_columns - step for step in range(1, n_wanted)))


def peak_mebibytes() -> int:
    """Largest memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) >> 10


def timed_search(
    X: Any,
    y: Any,
    n_wanted: int,
    n_jobs: int | None,
    processor: Callable[[], float] = time.process_time,
) -> dict[str, Any]:
    """Seconds of the first look, of coding and of the search, and processor seconds of the search."""
    from unirel import Binned, BURSelector
    from unirel.data.table import open_table
    from unirel.search.greedy import select

    settings = BURSelector(n_features_to_select=n_wanted, n_jobs=n_jobs).settings()
    marks = [time.perf_counter()]
    table, _ = open_table(X, y)
    marks.append(time.perf_counter())
    information = Binned().on(table, n_jobs=n_jobs)
    information.entropy(table.target)  # Dask codes when it is asked
    marks.append(time.perf_counter())
    started = processor()
    (selection,) = select(table, ["jmi"], [0.0], settings)
    marks.append(time.perf_counter())
    look, code, search = np.diff(marks).tolist()
    return {
        "look": look,
        "code": code,
        "search": search,
        "processor": processor() - started,
        "order": selection.order.tolist(),
    }


def run_streamed(folder: Path, n_wanted: int, _: int, n_jobs: int) -> dict[str, Any]:
    import pyarrow.dataset as ds

    tempfile.tempdir = str(folder.parent)
    found = timed_search(ds.dataset(folder, format="parquet"), "y", n_wanted, n_jobs)
    return {**found, "peak": [peak_mebibytes()]}


def run_in_memory(folder: Path, n_wanted: int, _: int, n_jobs: int) -> dict[str, Any]:
    import pyarrow.dataset as ds

    table = ds.dataset(folder, format="parquet").to_table()
    found = timed_search(table.drop_columns(["y"]), table.column("y"), n_wanted, n_jobs)
    return {**found, "peak": [peak_mebibytes()]}


def run_on_cluster(folder: Path, n_wanted: int, n_workers: int, n_threads: int) -> dict[str, Any]:
    import pyarrow.dataset as ds
    from distributed import Client, LocalCluster

    from unirel.data.dask import DaskRows

    settings = {"threads_per_worker": n_threads, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=n_workers, memory_limit="2GiB", **settings) as cluster, Client(cluster) as client:
        client.run(_warm_up)
        parts = DaskRows.of_files(ds.dataset(folder, format="parquet"), "y")
        processor = lambda: sum(client.run(time.process_time).values())  # noqa: E731
        found = timed_search(parts, "y", n_wanted, 1, processor=processor)
        peaks = [peak_mebibytes(), *client.run(peak_mebibytes).values()]
    return {**found, "peak": peaks, "n_parts": len(parts._parts)}


def run_on_spark(folder: Path, n_wanted: int, _: int, n_threads: int) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.local.dir": str(folder.parent)}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session = SparkSession.builder.master(f"local[{n_threads}]").config(map=settings).getOrCreate()
    java = session.sparkContext._gateway.proc.pid
    small = session.range(0, 4000, 1, 2 * n_threads).selectExpr("id % 8 a", "id % 3 b", "id % 2 y")
    for _ in range(3):  # Java compiles what it has done some times.
        timed_search(small, "y", 2, 1)
    found = timed_search(session.read.parquet(str(folder)), "y", n_wanted, 1, lambda: seconds_of_children(java))
    session.stop()
    return {**found, "peak": [peak_mebibytes()]}


def seconds_of_children(process: int) -> float:
    """Processor seconds of a process and of all that it has started."""
    seconds, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            seconds[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {process}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    return sum(seconds.get(member, 0.0) for member in family)


def _warm_up() -> None:
    """Load what a worker needs, compiled kernels too."""
    from unirel import BURSelector

    X = np.random.default_rng(0).integers(0, 8, (300, 12))
    BURSelector("jmi", 2, beta=0, discrete_features=True).fit(X, X[:, 0] > 3)


Runs = dict[str, tuple[list[float], float]]
MEMORY = [("memory", 1, 1), ("memory", 1, 2)]
RUNS = {"memory": run_in_memory, "streamed": run_streamed, "dask": run_on_cluster, "spark": run_on_spark}


def in_own_process(kind: str, folder: Path, n_wanted: int, *n_workers: int) -> dict[str, Any]:
    """One run in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks.cluster", "--only", kind, "--folder", str(folder)]
    command += ["-k", str(n_wanted), "--workers", *map(str, n_workers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def costs(n_rows: int, n_columns: int, n_wanted: int, n_parts: int, n_tasks: int, n_cores: int) -> list[float]:
    """What a search costs on a cluster, in the units of the model.

    Cells that a core counts; steps; tasks of all steps, those that add up eight results included; parts that a core
    counts; bytes that arrive one after the other on the longest way to the caller.
    """
    n_tasks = min(n_tasks, n_parts)
    n_cores, n_joins, n_arriving, left = min(n_cores, n_tasks), 0, 0, n_tasks
    while left > 8:
        left = -(-left // 8)
        n_joins, n_arriving = n_joins + left, n_arriving + 8
    per_step = [1, n_tasks + n_joins, n_parts / n_cores, (n_arriving + left) * n_columns * TABLE]
    return [cells_of(n_rows, n_columns, n_wanted) / n_cores, *(n_wanted * cost for cost in per_step)]


def report(runs: Runs) -> None:
    """Fit the model to what was measured on a cluster, and print prediction beside measurement."""
    units, seconds = np.array([cost for cost, _ in runs.values()]), np.array([took for _, took in runs.values()])
    # Relative errors count, or the largest run would decide alone.
    found, _ = nnls(units / seconds[:, None], np.ones(len(seconds)))
    print("\na model of the search on a cluster: ", end="")
    print(", ".join(f"{price * unit:.3g} {words}" for price, (words, unit) in zip(found, PRICES, strict=True)))
    print(f"{'case':<52}{'measured':>12}{'predicted':>12}")
    for case, (cost, took) in runs.items():
        print(f"{case:<52}{took:>10.2f} s{float(np.dot(cost, found)):>10.2f} s")
    for case, *size in BEYOND if len(runs) > len(PRICES) else []:  # Or the prices are not known.
        cost = np.array(costs(*size, size[-1])) * found
        total, dearest = float(cost.sum()), int(np.argmax(cost))
        words = f"{total / size[2]:.2f} s for a feature; {cost[dearest] / total:.0%} of it {CAUSES[dearest]}"
        print(f"{case:<52}{'-':>12}{total:>10.1f} s, {words}")
    for words, nanoseconds in ANCHORS.items():
        print(f"{words}: {nanoseconds:.1f} ns per cell and core")


def measure(size: str, folder: Path, n_wanted: int, ways: list[tuple[str, int, int]], part: int | None = None) -> Runs:
    """Run one size some ways (which, processes, threads of each), and print it.

    Returns what the model is fitted to: all that was ever measured with this folder, which may take several days.
    """
    n_rows, n_columns = map(int, size.split("x"))
    part = part or VALUES_OF_FILE // n_columns
    n_wanted = min(n_wanted, n_columns)
    data = folder / f"{size}-{part}"
    write(data, n_rows, n_columns, part)
    cells, orders, kept = cells_of(n_rows, n_columns, n_wanted), [], folder / "measured.json"
    runs: Runs = json.loads(kept.read_text()) if kept.exists() else {}
    print(f"\n{n_rows:,} x {n_columns}, jmi, k = {n_wanted}, files of {part:,} rows", flush=True)
    print(f"{'way':<26}{'look':>9}{'code':>9}{'search':>9}{'total':>9}", end="")
    print(f"{'ns/cell/core':>14}{'of processor':>14}   peak MiB of each")
    seconds = {}
    for way in ways:
        kind, n_processes, n_threads = way
        found = in_own_process(kind, data, n_wanted, n_processes, n_threads)
        orders.append(found["order"])
        seconds[way] = found["search"]
        n_cores = min(n_processes * n_threads, os.cpu_count() or 1)
        times = [*(found[name] for name in ("look", "code", "search"))]
        shown = "".join(f"{took:>7.2f} s" for took in [*times, sum(times)])
        per_cell = "".join(f"{took / cells * 1e9:>14.3f}" for took in (found["search"] * n_cores, found["processor"]))
        words = f"{kind}, {n_processes} x {n_threads} threads"
        print(f"{words:<26}{shown}{per_cell}   {', '.join(map(str, found['peak']))}", flush=True)
        if kind == "dask":
            cost = costs(n_rows, n_columns, n_wanted, found["n_parts"], n_processes * n_threads, n_cores)
            case = f"{size}, {found['n_parts']} parts, {n_processes} x {n_threads} threads"
            runs[case] = cost, found["search"]
            kept.write_text(json.dumps(runs, indent=1))
    print("the same features in the same order" if all(one == orders[0] for one in orders) else "THE ORDERS DIFFER")
    if MEMORY[1] in seconds and ("dask", 2, 1) in seconds:
        share = seconds[MEMORY[1]] / seconds["dask", 2, 1]
        print(f"2 processes reach {share:.0%} of the speed of 2 threads in memory")
    return runs


def main(quick: bool = False, arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=["200000x50", "1000000x50"], metavar="ROWSxCOLUMNS")
    parser.add_argument("--folder", type=Path, help="where files are written and kept; a temporary one if not given")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("-k", type=int, default=20, help="features to select")
    parser.add_argument("--part", type=int, help="rows of a file; as many as make 50 million values if not given")
    parser.add_argument("--memory", action="store_true", help="in memory as well, with 1 and 2 threads")
    parser.add_argument(
        "--spark", action="store_true", help="on Spark as well, with as many threads as there are cores"
    )
    parser.add_argument("--only", choices=RUNS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments if arguments is not None else [])
    if given.only:
        print(json.dumps(RUNS[given.only](given.folder, given.k, *given.workers)))
        return
    if quick:
        given.sizes, given.workers, given.k, given.part = ["4000x12"], [1], 4, 1000
    processes = [("dask", n, 1) for n in given.workers]
    spark = [("spark", 1, os.cpu_count() or 1)] if given.spark else []
    ways = [("streamed", 1, 1), *processes, *(MEMORY if given.memory else []), *spark]
    with tempfile.TemporaryDirectory() as temporary:
        folder, runs = given.folder or Path(temporary), {}
        for size in given.sizes:
            runs = measure(size, folder, given.k, ways, given.part)
        if not quick and not any(case.startswith("2000x2000,") for case in runs):
            # Where nothing but steps, parts and tasks counts, and where nothing but tables that travel does.
            measure("6400x20", folder, given.k, [*processes, ("dask", 1, 32)], 100)
            runs = measure("2000x2000", folder, given.k, processes, 250)
    report(runs)


if __name__ == "__main__":
    main(arguments=sys.argv[1:])
