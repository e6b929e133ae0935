"""Signals at random moments against programs that select: what is lost, wrong, swallowed or noisy.

`make faults COUNT=200` sends 200 interrupts, half as many kills and a quarter as many requests to terminate, and prints
what came of it; the tests beside this file run a few trials. Moments are drawn from the time that a program takes when
it is left alone, from when it begins: before that there is nothing but Python. A signal counts if the program ran and
had not shown its result yet; one that comes later is judged too, but does not count.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

SIGNALS = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}
# Seconds from Ctrl-C to the end.
PATIENCE = 2.0
# Progress, which a busy machine shows and an idle one does not.
PROGRESS = re.compile(r"\s*$|(selecting|comparing|fitting)|unirel: compiling")
# Where programs keep temporary files, and what a second start finds of the first.
SCRATCH, JOURNAL = "scratch", "journal.jsonl"

COMMAND = "import os, sys; from unirel.cli import main; os.write(int(os.environ['READY']), b'.'); sys.exit(main())"
PYTHON = """
import json, os, signal, sys
import numpy as np
from unirel import BURSelector, KNN, selection_stability
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 40))
y = X[:, :6].sum(axis=1) > 0
selector = BURSelector(n_features_to_select=20, mi_estimator=KNN(), beta=float(sys.argv[2]))
found = []
try:
    os.write(int(os.environ["READY"]), b".")
    if sys.argv[1] == "fit":
        found = selector.fit(X, y).order_.tolist()
    else:
        found = selection_stability(X, y, selector=selector, n_subsamples=6, journal=sys.argv[1]).frequency.tolist()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
except KeyboardInterrupt:
    print(json.dumps(getattr(selector, "order_", np.array([])).tolist()), flush=True)
    print("unirel: interrupted", file=sys.stderr, flush=True)
    os._exit(130)
print(json.dumps(found))
"""


@dataclass
class Ended:
    """How a program has ended."""

    code: int
    out: str
    err: str
    seconds: float  # since the signal, or since it began if there was none
    hit: bool  # the signal came while it ran and had shown nothing
    ran: bool  # the signal came while it ran
    orphans: bool  # whether processes that it started are left


@dataclass(frozen=True)
class Program:
    """What is run, the files that it reads and the one that it writes."""

    name: str
    arguments: tuple[str, ...]
    reads: tuple[str, ...] = ("data.csv",)
    writes: str = ""
    code: str = COMMAND

    def run(self, folder, moment=None, number=signal.SIGINT):
        """Run it in a folder and, some seconds after it has begun, send it a signal."""
        with tempfile.TemporaryFile() as printed:
            process, reader = self._start(folder, printed)
            os.read(reader, 1)
            os.close(reader)
            begun, hit, ran, held = time.monotonic(), False, False, False
            if moment is not None and not _ends_within(process, moment):
                begun, ran = time.monotonic(), True
                # What is printed is printed at the end, all at once, and a file appears whole.
                shown = os.fstat(printed.fileno()).st_size or (self.writes != JOURNAL and self._written(folder))
                hit = not shown
                # A terminal sends Ctrl-C to all processes of a group; who kills, kills one.
                (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            try:
                _, err = process.communicate(timeout=20 if ran else 900)
            except subprocess.TimeoutExpired:  # it goes on, or one that it started holds what it writes to
                held = True
                os.killpg(process.pid, signal.SIGKILL)
                _, err = process.communicate()
            seconds = time.monotonic() - begun
            printed.seek(0)
            out = printed.read().decode()
        err = "".join(line for line in err.splitlines(keepends=True) if not PROGRESS.match(line))
        return Ended(process.returncode, out, err, seconds, hit, ran, _end_group(process.pid) or held)

    def result(self, folder, ended):
        """What a run has left, in a form in which a part of it can be told from the whole."""
        if self.writes == JOURNAL:
            return {json.loads(line)["subsample"]: line for line in _lines(folder / JOURNAL)[1:]}
        if self.name == "apply":
            return self._written(folder)
        found = json.loads(ended.out) if ended.out else []
        if "outcomes" in found:  # of splits, which are done in any order
            return {(one["split"], one["selector"], one["model"]): one["test_score"] for one in found["outcomes"]}
        return [one["name"] for one in found["features"]] if isinstance(found, dict) else found

    def _written(self, folder):
        path = folder / self.writes
        return path.read_bytes() if self.writes and path.exists() else None

    def _start(self, folder, printed):
        """The process, and a pipe that can be read from when it begins."""
        reader, writer = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-c", self.code, *self.arguments],
            cwd=folder,
            env={**os.environ, "READY": str(writer), "TMPDIR": str(folder / SCRATCH)},
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.close(writer)
        return process, reader


def _lines(path):
    """Whole lines of a journal; what stands behind the last line break was never finished."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _ends_within(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end_group(group):
    """Kill what a program has left behind; whether there was anything ten seconds after its end."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return True


def _command(text):
    return tuple(text.split())


SELECT = Program(
    "select",
    _command("select data.csv --target label -k 10 --estimator knn --json --save saved.json"),
    writes="saved.json",
)
PARTS = Program("select parts", _command("select parts/*.parquet --target label -k 10 --json"), ("parts",))
COMPARE = Program(
    "compare",
    _command("compare data.csv --target label --splits 2 --max-features 6 --models svm,knn --json --jobs 1"),
)
WORKERS = Program("compare -j 2", (*COMPARE.arguments[:-1], "2"))
APPLY = Program(
    "apply", _command("apply saved.json data.csv -o small.csv --quiet"), ("data.csv", "saved.json"), "small.csv"
)
FIT = Program("fit", ("fit", "0.1"), (), code=PYTHON)
STABILITY = Program("stability", (JOURNAL, "0.1"), (), JOURNAL, PYTHON)
PROGRAMS = (SELECT, COMPARE, PARTS, WORKERS, APPLY, FIT, STABILITY)
# The same without a boost: what an interrupted search has may be from the run without one, which comes first.
PLAIN = {
    "select": replace(SELECT, arguments=(*SELECT.arguments, "--beta", "0")),
    "select parts": replace(PARTS, arguments=(*PARTS.arguments, "--beta", "0")),
    "fit": replace(FIT, arguments=("fit", "0")),
}


def make_data(folder, n_rows=500, n_columns=18):
    """A table with a class."""
    rng = random.Random(0)
    lines = [",".join([*(f"f{column}" for column in range(n_columns)), "label"])]
    for _ in range(n_rows):
        row = [rng.gauss(0, 1) for _ in range(n_columns)]
        lines.append(",".join([*(f"{value:.4f}" for value in row), "no" if sum(row[:5]) < 0 else "yes"]))
    (folder / "data.csv").write_text("\n".join(lines) + "\n")


def make_parts(folder, n_files=4, n_times=40):
    """Whole numbers, many times, in files that are read one after the other; edges of bins would not be repeatable."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(folder / "data.csv")
    names = table.column_names[:-1]
    rounded = [[round(value) for value in table.column(name).to_pylist()] for name in names]
    table = pa.table([*rounded, table.column("label")], [*names, "label"])
    (folder / "parts").mkdir()
    for number in range(n_files):
        pyarrow.parquet.write_table(pa.concat_tables([table] * n_times), folder / "parts" / f"{number}.parquet")


class Faults:
    """Runs trials and judges them by what the same programs do when they are left alone."""

    def __init__(self, folder, programs=PROGRAMS, n_before=2):
        # Of the runs before, the first may compile, or wait for the disk.
        self.folder, self.programs, self._n_before = Path(folder), programs, n_before
        self.known, self.plain, self.seconds = {}, {}, {}
        make_data(self.folder)
        if PARTS in programs:
            make_parts(self.folder)
        if APPLY in programs and SELECT not in programs:
            self._undisturbed(SELECT)  # writes what is applied
        for program in programs:
            self.seconds[program.name], self.known[program.name] = self._undisturbed(program)
            if program.name in PLAIN:
                _, self.plain[program.name] = self._undisturbed(PLAIN[program.name])

    def _undisturbed(self, program):
        """How long a program takes and what it leaves when nobody disturbs it, with all that it reads in memory."""
        for _ in range(self._n_before):
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                folder = self._prepare(program, Path(name))
                ended = program.run(folder)
                if ended.code != 0 or ended.err or list((folder / SCRATCH).iterdir()):
                    raise RuntimeError(f"{program.name} fails without a signal: {ended}")
                if program is SELECT:
                    shutil.copy(folder / program.writes, self.folder)
                known = program.result(folder, ended)
        return ended.seconds, known

    def _prepare(self, program, folder):
        for name in program.reads:
            (folder / name).symlink_to(self.folder / name)
        (folder / SCRATCH).mkdir()
        return folder

    def attempt(self, program, number, moment):
        """One trial: how it has ended, and its faults."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = self._prepare(program, Path(name))
            ended = program.run(folder, moment, number)
            faults = self._find_faults(program, folder, ended, number)
            if ended.hit and program.writes == JOURNAL:  # a second start comes to the same end
                again = program.run(folder)
                whole = again.code == 0 and program.result(folder, again) == self.known[program.name]
                faults += ["lost"] * (not whole)
            return ended, faults

    def _find_faults(self, program, folder, ended, number):
        faults = ["traceback"] if "Traceback" in ended.err or "Exception ignored" in ended.err else []
        # Who is killed cannot end anybody: a worker that has nothing to do yet waits for some minutes.
        faults += ["orphans"] * (ended.orphans and number == signal.SIGINT)
        # Who had shown its result, or part of it, may end as if there had been no signal.
        fitting = {130 if number == signal.SIGINT else -number} | (set() if ended.hit else {0})
        if ended.code not in fitting:
            faults.append("swallowed" if ended.code == 0 else f"exit {ended.code}")
        if not self._is_right(program, folder, ended):
            faults.append("wrong")
        if number != signal.SIGINT:
            return faults  # nobody can say or tidy anything any more
        if ended.ran and ended.seconds > PATIENCE:
            faults.append("late")
        said = ended.err.splitlines()
        if [line.startswith("unirel: interrupted") for line in said] != [True] * (ended.code == 130):
            faults.append("words")
        left = {path.name for path in folder.iterdir()} - {*program.reads, program.writes, SCRATCH}
        left |= {path.name for path in (folder / SCRATCH).iterdir()}
        return faults + ["litter"] * bool(left)

    def _is_right(self, program, folder, ended):
        """Whether what was left is whole: all of it, or a part that is as it should be."""
        known, found = self.known[program.name], program.result(folder, ended)
        if ended.code == 0 or not found:
            return found == known or ended.code != 0
        if isinstance(found, dict):
            return found.items() <= known.items()
        if isinstance(found, bytes):
            return found == known
        saved = folder / "saved.json"
        if program is SELECT and saved.exists() and saved.read_bytes() != (self.folder / "saved.json").read_bytes():
            return False
        return any(found == order[: len(found)] for order in (known, self.plain[program.name]))

    def run(self, counts, seed, say=print):
        """Send signals until as many of each kind as asked for have hit; returns how many trials had faults."""
        rng, faulty = random.Random(seed), 0
        for kind, count in counts.items():
            tally = {program.name: Counter() for program in self.programs}
            place, hits, slowest = 0, 0, 0.0
            while hits < count and place < 3 * count:
                program = self.programs[place % len(self.programs)]
                place += 1
                moment = rng.uniform(0, self.seconds[program.name])
                ended, faults = self.attempt(program, SIGNALS[kind], moment)
                hits += ended.hit
                tally[program.name].update(["hit" if ended.hit else "too late to count", *faults])
                slowest = max(slowest, ended.seconds if ended.hit else 0.0)
                if faults:
                    faulty += 1
                    shown = replace(ended, out=ended.out[:200], err=ended.err[-2000:])
                    say(f"  {kind} of {program.name} at {moment:.2f} s: {', '.join(faults)}; {shown}")
            say(f"{kind}: {hits} hit a running program, slowest end {slowest:.1f} s")
            for name, counter in tally.items():
                say(f"  {name:<14}" + ", ".join(f"{number} {what}" for what, number in sorted(counter.items())))
        return faulty


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="interrupts; half as many kills, a quarter terminations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the program to try, by name")
    arguments = parser.parse_args()
    # Programs that are started in the background of a shell ignore Ctrl-C, and so would those that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    count, started = arguments.count, time.monotonic()
    programs = [program for program in PROGRAMS if arguments.only in (None, program.name)]
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(folder, programs)
        print("seconds when left alone: " + ", ".join(f"{name} {took:.1f}" for name, took in faults.seconds.items()))
        faulty = faults.run({"interrupt": count, "kill": count // 2, "terminate": count // 4}, arguments.seed)
    print(f"trials with faults: {faulty}, {time.monotonic() - started:.0f} s")
    sys.exit(min(1, faulty))


if __name__ == "__main__":
    main()
