"""Draws cases, runs them, and makes those that fail small."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from fuzz import oracle
from fuzz.checks import CHECKS, COUNTS, Case, _facts, run
from fuzz.tables import make_table

from unirel.errors import UnirelWarning

# Tables whose numbers another process must find too, at a time, and after how many tables.
_COPIES, _EVERY = 40, 2000
_SHARES = {"selection": 3, "relevance": 2, "unique": 2}


def draw(seed, number, extreme=True):
    """The case with some number; it depends on nothing else."""
    rng = np.random.default_rng([seed, number])
    columns, target = make_table(rng, extreme)
    names = [name for name in CHECKS for _ in range(_SHARES.get(name, 1))]
    check = str(rng.choice(names))
    options = {
        "n_neighbors": int(rng.integers(1, 6)),
        "metric": str(rng.choice(["auto", "auto", "chebyshev", "manhattan", "euclidean"])),
        "estimator": str(rng.choice(["auto", "knn", "binned"])),
        "n_bins": [2, 3, 5, 8, "auto"][int(rng.integers(5))],
        "correction": ["chance", "chance", None, "miller-madow"][int(rng.integers(4))],
        "scale": ["standard", "standard", "rank", None][int(rng.integers(4))],
        "clip": bool(rng.integers(2)),
        "block": bool(rng.integers(2)),
        "method": str(rng.choice(["ksg", "reference"])),
        "criterion": str(rng.choice(list(oracle.CRITERIA))),
        "unique_relevance": str(rng.choice(["both", "reference", "selected", "ksg"])),
        "beta": float(rng.choice([0.1, 0.3, 0.5, 1.0])),
        "seed": int(rng.integers(1000)),
    }
    plain = all(not isinstance(value, str | bool | None) for values in columns.values() for value in values)
    if plain and rng.random() < 0.2:
        options["kinds"] = str(rng.choice(["continuous", "discrete"]))
    if options["criterion"] in oracle.ONLY_COUNTED:
        options["estimator"] = "binned"
    if options["scale"] is None and _is_wild(columns):
        options["scale"] = "standard"  # nothing is promised of distances between very different units
    return Case(check, columns, target, options)


def _is_wild(columns):
    numbers = [abs(v) for values in columns.values() for v in values if isinstance(v, int | float) and v]
    return bool(numbers) and (max(numbers) > 1e8 or min(numbers) < 1e-8)


def shrink(case, wrong=run):
    """A smaller case that is still wrong: fewer rows, columns and options."""
    if wrong(case) is None:
        return case
    size = case.n_rows // 2
    while size:
        start = 0
        while start < case.n_rows and case.n_rows - size >= 2:
            smaller = case.take([row for row in range(case.n_rows) if not start <= row < start + size])
            if _still_wrong(smaller, wrong):
                case = smaller
            else:
                start += size
        size //= 2
    for name in list(case.columns):
        rest = {other: values for other, values in case.columns.items() if other != name}
        if rest and _still_wrong(case.with_columns(rest), wrong):
            case = case.with_columns(rest)
    for name in list(case.options):
        smaller = Case(case.check, case.columns, case.target, {o: v for o, v in case.options.items() if o != name})
        if name != "criterion" and _still_wrong(smaller, wrong):
            case = smaller
    return case


def _still_wrong(case, wrong):
    return len(set(case.target)) > 1 and wrong(case) is not None


def reproducer(case):
    """A program that shows what is wrong; run it in the folder of the project."""
    return f"PYTHONPATH=tests python - <<'END'\nfrom fuzz.checks import Case, run\nprint(run({case!r}))\nEND"


def numbers_of(cases):
    """Numbers of some cases as text, bit for bit."""
    found = []
    for case in cases:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnirelWarning)
                values, joint = _facts(case)
            found.append([float(value).hex() for value in [*values, joint]])
        except (ValueError, TypeError) as error:
            found.append(str(error))
    return found


def differ_in_a_copy(seed, numbers, extreme=True):
    """Numbers of those cases that another process, with another hash seed, finds otherwise."""
    command = (
        f"from fuzz.runner import *; print(json.dumps(numbers_of([draw({seed}, n, {extreme}) for n in {numbers}])))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    paths = [str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", command], check=True, capture_output=True, text=True, env=environment
    )
    here = numbers_of([draw(seed, number, extreme) for number in numbers])
    return [number for number, a, b in zip(numbers, here, json.loads(done.stdout), strict=True) if a != b]


def fuzz(seconds, seed=0, most=None, extreme=True, failures=5, say=print, start=0, step=1):
    """Run cases until the time is up; counts of all that was done."""
    started, number, counts = time.monotonic(), start, Counter()
    COUNTS.clear()
    while time.monotonic() - started < seconds and (most is None or number < most) and counts["wrong"] < failures:
        case = draw(seed, number, extreme)
        problem = run(case)
        counts["tables"] += 1
        counts[f"of {case.check}"] += 1
        if problem is not None:
            counts["wrong"] += 1
            counted = COUNTS.copy()
            small, place = shrink(case), f"table {number} of seed {seed}, {case.check}"
            say(f"{place}: {problem}\nmade smaller: {run(small)}\n{reproducer(small)}\n")
            COUNTS.clear()
            COUNTS.update(counted)
        number += step
        if counts["tables"] % _EVERY == 0:
            others = differ_in_a_copy(seed, list(range(number - _COPIES * step, number, step)), extreme)
            counts["wrong"] += len(others)
            if others:
                say(f"another process finds other numbers in tables {others} of seed {seed}")
            took = time.monotonic() - started
            say(f"{counts['tables']:,} tables, {counts['wrong']} wrong, {took:.0f} s", file=sys.stderr)
    return counts + COUNTS


def fuzz_in_processes(n_jobs, seconds, seed=0, most=None, extreme=True, failures=5):
    """The same tables, shared out among processes; 1 if something was wrong."""
    started = time.monotonic()
    if n_jobs == 1:
        counts = fuzz(seconds, seed, most, extreme, failures)
    else:
        with ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn")) as pool:
            given = (seconds, seed, most, extreme, failures, print)
            parts = [pool.submit(fuzz, *given, start, n_jobs) for start in range(n_jobs)]
            counts = sum((part.result() for part in parts), Counter())
    print(closing_line(counts, seed, time.monotonic() - started))
    return 1 if counts["wrong"] else 0


def closing_line(counts, seed, seconds):
    """How many tables, checks and comparisons of numbers there were, and how many tables were wrong."""
    parts = ", ".join(f"{name[3:]} {count:,}" for name, count in sorted(counts.items()) if name.startswith("of "))
    done = f"{counts['tables']:,} tables ({parts}), {counts['comparisons']:,} comparisons"
    rest = f"{counts['refused']} refused with reason, {counts['undecided']} undecided by rounding"
    return f"{done}, {rest}, {counts['wrong']} wrong, seed {seed}, {seconds:.0f} s"
