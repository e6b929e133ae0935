"""All estimators on tables whose information is known: `python -m benchmarks.truth`; under an hour on one core."""

import argparse
import csv
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.truth_tasks import TASKS, Task
from unirel import mutual_information

ESTIMATORS = ("knn", "binned", "gaussian", "partition", "kde", "mine")
ROWS = (100, 300, 1000, 3000, 10_000)
SEEDS = 5
# Of the slow ones fewer samples are drawn where a sample has many rows.
SLOW, FEWER_SEEDS, MANY_ROWS = ("kde", "mine"), 2, 3000
FIELDS = ("group", "task", "estimator", "rows", "seeds", "truth", "mean", "error", "standard deviation")
# Errors, in nats, that count as none and as a failure.
CLOSE, FAR = 0.03, 0.1
Record = dict[str, str]


def n_seeds(estimator: str, n_samples: int) -> int:
    """How many samples are drawn."""
    return FEWER_SEEDS if estimator in SLOW and n_samples >= MANY_ROWS else SEEDS


def estimates(task: Task, estimator: str, n_samples: int, seeds: int) -> list[float]:
    """Raw estimates of samples with the seeds from 0 on."""
    options = {**task.options, "mi_estimator": estimator, "clip": False, "n_jobs": 1}
    samples = (task.draw(np.random.default_rng(seed), n_samples) for seed in range(seeds))
    return [mutual_information(x, y, **options) for x, y in samples]


def measure(name: str, estimator: str, n_samples: int) -> Record:
    """A line of the results."""
    task, seeds = TASKS[name], n_seeds(estimator, n_samples)
    values = estimates(task, estimator, n_samples, seeds)
    numbers = (task.truth, fmean(values), fmean(values) - task.truth, pstdev(values))
    texts = (task.group, name, estimator, str(n_samples), str(seeds), *(f"{number:.4f}" for number in numbers))
    return dict(zip(FIELDS, texts, strict=True))


def errors_of(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Errors by task and estimator, of the samples with the most rows."""
    records = list(records)
    most = max(int(record["rows"]) for record in records)
    return {
        (record["task"], record["estimator"]): float(record["error"])
        for record in records
        if int(record["rows"]) == most
    }


def table_of(records: Iterable[Record]) -> list[Record]:
    """Errors of all estimators side by side, a line for each task."""
    records = list(records)
    errors, truths = errors_of(records), {record["task"]: record["truth"] for record in records}
    columns = [name for name in ESTIMATORS if any(estimator == name for _, estimator in errors)]
    return [
        {"task": task, "truth": truth} | {name: f"{errors[task, name]:+.3f}" for name in columns}
        for task, truth in truths.items()
    ]


def failures_of(records: Iterable[Record]) -> list[Record]:
    """For each estimator how often it is close, and where it is far off."""
    errors, lines = errors_of(records), []
    for name in ESTIMATORS:
        own = {task: error for (task, estimator), error in errors.items() if estimator == name}
        if not own:
            continue
        close = sum(abs(error) <= CLOSE for error in own.values())
        far = [f"{task} ({error:+.2f})" for task, error in own.items() if abs(error) > FAR]
        lines.append(
            {
                "estimator": name,
                f"within {CLOSE} nats": f"{close} of {len(own)}",
                f"off by more than {FAR} nats": "; ".join(far) or "none",
            }
        )
    return lines


def write(records: list[Record], folder: Path) -> None:
    for name, lines in (
        ("truth", records),
        ("truth_table", table_of(records)),
        ("truth_failures", failures_of(records)),
    ):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, lines[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS, help="rows of a sample")
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=ESTIMATORS)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    parser.add_argument("--output", type=Path, default=Path("docs/results"), help="folder of the results")
    chosen, records = parser.parse_args(arguments), []
    with threadpool_limits(1):
        for name in chosen.tasks:
            start = time.perf_counter()
            records += [measure(name, one, rows) for one in chosen.estimators for rows in sorted(chosen.rows)]
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    write(records, chosen.output)


if __name__ == "__main__":
    main()
