"""What a user waits for: commands on files made on the spot, each in a process of its own.

Shapes and kinds are those of tables that people have. `before` is what the issue that asked for it quotes of an idle
machine with two cores, measured before the work on waiting began; a limit is a wish, on an idle machine.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

SELECT = "select {data} -t y --report {folder}/page.html"


@dataclass(frozen=True)
class Case:
    """A table, what is done with it, and what that took before."""

    n_samples: int
    n_features: int
    before: str
    limit: float = 15.0  # seconds
    n_categorical: int = 0
    n_missing: int = 0  # columns with missing values
    n_classes: int = 2  # 0 for a continuous target
    command: str = SELECT

    @property
    def about(self) -> str:
        """The table in a few words."""
        details = [f"{self.n_categorical} categorical"] * bool(self.n_categorical)
        details += [f"{self.n_missing} with missing values"] * bool(self.n_missing)
        details += ["a number to explain"] * (self.n_classes == 0)
        return ", ".join([f"{self.n_samples:,} x {self.n_features:,}", *details])

    def smaller(self) -> "Case":
        """The same in small, to see that it runs."""
        n_features = min(self.n_features, 8)
        few = {"n_categorical": min(self.n_categorical, 3), "n_missing": min(self.n_missing, 2)}
        kept = {"before": self.before, "n_classes": self.n_classes, "command": self.command}
        return Case(max(200, self.n_samples // 500), n_features, **few, **kept)  # type: ignore[arg-type]


CASES = [
    Case(48_842, 14, "77 s", n_categorical=8),
    Case(1_994, 122, "57 s", n_missing=22, n_classes=0),
    Case(200, 10_000, "58 s"),
    Case(20_640, 9, "34 s", n_classes=0),
    Case(100_000, 54, "> 360 s", n_categorical=44, n_classes=7),
    Case(101_766, 47, "> 360 s", n_categorical=36, n_missing=3, n_classes=3),
    Case(1_000_000, 30, "> 360 s", limit=40),
    Case(500_000, 100, "> 300 s", limit=40, command=f"{SELECT} --estimator binned --beta 0"),
    Case(48_842, 14, "> 360 s", n_categorical=8, command="redundancy {data} -t y"),
    Case(4_601, 57, "> 360 s", command="compare {data} -t y"),
]


def make_table(case: Case) -> pa.Table:
    """Some columns tell something about y, some repeat others, most are noise."""
    rng = np.random.default_rng(0)
    n_numbers = case.n_features - case.n_categorical
    hidden = rng.standard_normal((case.n_samples, 5))
    columns: dict[str, pa.Array] = {}
    for place in range(case.n_features):
        share = (0.9, 0.6, 0.3, 0.0)[place % 4]
        mixed = share * hidden[:, place % 5] + (1 - share) * rng.standard_normal(case.n_samples)
        if place >= n_numbers:
            columns[f"c{place}"] = _levels(mixed, place, rng)
            continue
        # Numbers people have are rounded, some of them to whole ones.
        rounded = np.round(40 + 10 * mixed) if place % 3 == 2 else np.round(mixed, 4)
        missing = rng.random(case.n_samples) < 0.5 if place < case.n_missing else None
        columns[f"x{place}"] = pa.array(rounded, mask=missing)
    signal = hidden[:, :3].sum(axis=1) + 0.5 * hidden[:, 3] * hidden[:, 4] + rng.standard_normal(case.n_samples)
    return pa.table({**columns, "y": _target(signal, case.n_classes)})


def _levels(values: np.ndarray, place: int, rng: np.random.Generator) -> pa.Array:
    """Names of levels, which say something about the values; every tenth column has hundreds of them."""
    n_levels = 300 if place % 10 == 9 else (2, 7, 16, 3, 42)[place % 5]
    cuts = np.sort(rng.choice(values, n_levels - 1))
    names = pa.array([f"level {code}" for code in rng.permutation(n_levels)])
    return pa.DictionaryArray.from_arrays(np.searchsorted(cuts, values).astype(np.int32), names).cast(pa.string())


def _target(signal: np.ndarray, n_classes: int) -> pa.Array:
    if n_classes == 0:
        return pa.array(np.round(signal, 4))
    shares = np.cumsum(0.5 ** np.arange(1, n_classes))
    classes = np.searchsorted(np.quantile(signal, shares), signal)
    return pa.array([f"class {code}" for code in classes])


def write_table(case: Case, path: str) -> None:
    """Make a table and write it as CSV."""
    pyarrow.csv.write_csv(make_table(case), path)


@dataclass(frozen=True)
class Run:
    """What was seen of a command."""

    seconds: float
    busy: float  # seconds of processors, which a busy machine changes less
    first_word: float | None  # seconds until something stands on standard error
    peak: float  # MiB
    said: str


def run_command(arguments: list[str]) -> Run:
    """Run a command and watch it."""
    code = "import sys; from unirel.cli import main; sys.exit(main(sys.argv[1:]))"
    start = time.monotonic()
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words: list[tuple[float, str]] = []

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            words.append((time.monotonic() - start, line.decode()))

    listener = threading.Thread(target=listen)
    listener.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    listener.join()
    said = "".join(line for _, line in words)
    if process.returncode != 0:
        raise RuntimeError(f"unirel {' '.join(arguments)} ended with {process.returncode}:\n{said}")
    unit = 1 if sys.platform == "darwin" else 1024
    busy = usage.ru_utime + usage.ru_stime
    return Run(seconds, busy, words[0][0] if words else None, usage.ru_maxrss * unit / 2**20, said)


def main(quick: bool = False, only: str = "") -> None:
    """Print a line for each command as soon as it is known."""
    print("\nwaiting: commands on files of text, reading included; seconds until the first word on standard error")
    print(f"{'':<50}{'seconds':>9}{'of processors':>15}{'peak/MiB':>10}{'first word':>12}{'before':>10}{'limit':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for case in [case.smaller() for case in CASES[::3]] if quick else CASES:
            command = case.command.format(data="data.csv", folder="").replace("--report /", "--report ")
            if only not in f"{case.about} {command}":
                continue
            data = f"{folder}/data.csv"
            # In a process of its own: what this one has used would count as memory of those that it starts.
            make = f"from benchmarks.waiting import *; write_table({case!r}, {data!r})"
            subprocess.run([sys.executable, "-c", make], check=True, cwd=Path(__file__).parents[1])
            seen = run_command(case.command.format(data=data, folder=folder).split())
            first = "-" if seen.first_word is None else f"{seen.first_word:.1f}"
            print(f"{case.about}: unirel {command}")
            print(
                f"{'':<50}{seen.seconds:>9.1f}{seen.busy:>15.1f}{seen.peak:>10.0f}{first:>12}{case.before:>10}"
                f"{f'{case.limit:g} s':>8}",
                flush=True,
            )
            if only:
                print(seen.said, end="")


if __name__ == "__main__":
    main(only=" ".join(sys.argv[1:]))
