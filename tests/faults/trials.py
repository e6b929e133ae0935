"""Signals at random moments against fit, select, compare and apply: what is lost, wrong, swallowed or noisy.

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
PROGRESS = re.compile(r"(selecting|comparing) \d|unirel: (compiling|faster with|about )")

COMMAND = "import os, sys; from unirel.cli import main; os.write(int(os.environ['READY']), b'.'); sys.exit(main())"
FIT = """
import json, os, signal, sys
import numpy as np
from unirel import BURSelector
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 40))
selector = BURSelector(n_features_to_select=20, estimator="knn", beta=float(sys.argv[1]))
try:
    os.write(int(os.environ["READY"]), b".")
    selector.fit(X, X[:, :6].sum(axis=1) > 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
except KeyboardInterrupt:
    print(json.dumps(getattr(selector, "order_", np.array([])).tolist()), flush=True)
    print("unirel: interrupted", file=sys.stderr, flush=True)
    os._exit(130)
print(json.dumps(selector.order_.tolist()))
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
class Trial:
    """A program, the files that it reads, the one that it writes, and a folder that it leaves as it was."""

    name: str
    arguments: tuple[str, ...]
    reads: tuple[str, ...] = ("data.csv",)
    writes: str = ""
    scratch: str = ""
    code: str = COMMAND

    @property
    def keeps_a_journal(self):
        return self.writes == "journal.jsonl"

    @property
    def goes_on(self):
        """Whether a second start finds something of the first."""
        return self.keeps_a_journal or bool(self.scratch)

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
                hit = not os.fstat(printed.fileno()).st_size and not self._has_written(folder)
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

    def _has_written(self, folder):
        return bool(self.writes) and not self.keeps_a_journal and (folder / self.writes).exists()

    def _start(self, folder, printed):
        """The process, and a pipe that can be read from when it begins."""
        reader, writer = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-c", self.code, *self.arguments],
            cwd=folder,
            env={**os.environ, "READY": str(writer)},
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.close(writer)
        return process, reader


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


SELECT = Trial(
    "select",
    _command("select data.csv --target label -k 10 --estimator knn --json --save saved.json"),
    writes="saved.json",
)
PARTS = Trial(
    "select parts",
    _command("select parts/*.parquet --target label -k 10 --json --scratch scratch"),
    ("parts",),
    scratch="scratch",
)
COMPARE = Trial(
    "compare",
    _command("compare data.csv --target label --runs 2 --max-features 6 --classifiers svm,knn --json")
    + _command("--journal journal.jsonl"),
    writes="journal.jsonl",
)
WORKERS = Trial("compare -j 2", (*COMPARE.arguments, "-j", "2"), writes="journal.jsonl")
APPLY = Trial(
    "apply", _command("apply saved.json data.csv -o small.csv --quiet"), ("data.csv", "saved.json"), "small.csv"
)
FITTING = Trial("fit", ("0.1",), (), code=FIT)
TRIALS = (SELECT, COMPARE, PARTS, WORKERS, APPLY, FITTING)
# The same without a boost: what an interrupted search has may be from the run without one, which comes first.
PLAIN = {
    "select": replace(SELECT, arguments=(*SELECT.arguments, "--beta", "0")),
    "select parts": replace(PARTS, arguments=(*PARTS.arguments, "--beta", "0")),
    "fit": replace(FITTING, arguments=("0",)),
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


def read_journal(path):
    """Records by their keys, without times; damaged lines, other than a last one that was cut, are an error."""
    records = {}
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for line in lines[:-1]:  # what stands behind the last line break was never finished
        content = json.loads(line)["content"]
        if content["type"] == "record":
            key = json.dumps(content["key"])
            if key in records:
                raise ValueError(f"{path}: {key} was done twice")
            records[key] = _timeless(content["record"])
    return records


def _timeless(record):
    return {name: value for name, value in record.items() if name != "seconds"}


def features_of(out):
    """What was selected, in order, from what `select` or `fit` prints."""
    found = json.loads(out) if out else []
    return [one["name"] for one in found["features"]] if isinstance(found, dict) else found


def outcomes_of(out):
    """What `compare` prints, without times, in an order that does not depend on when it was done."""
    return sorted(json.dumps(_timeless(one), sort_keys=True) for one in json.loads(out)["outcomes"]) if out else []


class Faults:
    """Runs trials and judges them by what the same programs do when they are left alone."""

    def __init__(self, folder, trials=TRIALS):
        self.folder, self.trials = Path(folder), trials
        self.known, self.plain, self.seconds = {}, {}, {}
        make_data(self.folder)
        if PARTS in trials:
            make_parts(self.folder)
        if APPLY in trials and SELECT not in trials:
            self._undisturbed(SELECT)  # writes what is applied
        for trial in trials:
            ended, self.known[trial.name] = self._undisturbed(trial)
            self.seconds[trial.name] = ended.seconds
            if trial.name in PLAIN:
                plain, _ = self._undisturbed(PLAIN[trial.name])
                self.plain[trial.name] = features_of(plain.out)

    def _undisturbed(self, trial):
        """How a program ends and what it leaves when nobody disturbs it, with all that it reads in memory."""
        for _ in range(2):  # the first time may compile, or wait for the disk
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                folder = self._prepare(trial, Path(name))
                ended = trial.run(folder)
                if ended.code != 0 or ended.err or list(folder.glob("scratch/*")):
                    raise RuntimeError(f"{trial.name} fails without a signal: {ended}")
                if trial is SELECT:
                    shutil.copy(folder / trial.writes, self.folder)
                known = self._result(trial, folder, ended)
        return ended, known

    def _prepare(self, trial, folder):
        for name in trial.reads:
            (folder / name).symlink_to(self.folder / name)
        if trial.scratch:
            (folder / trial.scratch).mkdir()
        return folder

    def _result(self, trial, folder, ended):
        if trial.keeps_a_journal:
            return read_journal(folder / trial.writes), outcomes_of(ended.out)
        if trial.name == "apply":
            return (folder / trial.writes).read_bytes() if (folder / trial.writes).exists() else None
        return features_of(ended.out)

    def attempt(self, trial, number, moment):
        """One trial: how it has ended, and its faults."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = self._prepare(trial, Path(name))
            ended = trial.run(folder, moment, number)
            faults = self._find_faults(trial, folder, ended, number)
            if ended.hit and trial.goes_on:
                faults += self._go_on(trial, folder)
            return ended, faults

    def _find_faults(self, trial, folder, ended, number):
        faults = ["traceback"] if "Traceback" in ended.err or "Exception ignored" in ended.err else []
        # Who is killed cannot end anybody: a worker that has nothing to do yet waits for some minutes.
        faults += ["orphans"] * (ended.orphans and number == signal.SIGINT)
        # Who had shown its result, or part of it, may end as if there had been no signal.
        fitting = {130 if number == signal.SIGINT else -number} | (set() if ended.hit else {0})
        if ended.code not in fitting:
            faults.append("swallowed" if ended.code == 0 else f"exit {ended.code}")
        if not self._is_right(trial, folder, ended):
            faults.append("wrong")
        if number != signal.SIGINT:
            return faults  # nobody can say or tidy anything any more
        if ended.ran and ended.seconds > PATIENCE:
            faults.append("late")
        said = ended.err.splitlines()
        if [line.startswith("unirel: interrupted") for line in said] != [True] * (ended.code == 130):
            faults.append("words")
        left = {path.name for path in folder.iterdir()} - {*trial.reads, trial.writes, trial.scratch}
        left |= {path.name for path in folder.glob("scratch/*")}
        return faults + ["litter"] * bool(left)

    def _is_right(self, trial, folder, ended):
        """Whether what was left is whole: all of it, or a part that is as it should be."""
        known, found = self.known[trial.name], self._result(trial, folder, ended)
        if ended.code == 0:
            return found == known
        if trial.keeps_a_journal:
            return found[0].items() <= known[0].items() and set(found[1]) <= set(known[1])
        if trial.name == "apply":
            return found in (known, None)
        if self._saved(trial, folder) not in (None, self._saved(trial, self.folder)):
            return False
        return any(found == order[: len(found)] for order in (known, self.plain[trial.name]))

    def _saved(self, trial, folder):
        path = folder / trial.writes
        return path.read_bytes() if trial.writes and path.exists() else None

    def _go_on(self, trial, folder):
        """Start the program again where it was stopped: it must come to the same end, and tidy up."""
        again = trial.run(folder)
        right = again.code == 0 and self._result(trial, folder, again) == self.known[trial.name]
        tidy = not list(folder.glob("scratch/*"))
        return ["lost"] * (not right) + ["litter of the dead"] * (not tidy) + ["words"] * bool(again.err)

    def run(self, counts, seed, say=print):
        """Send signals until as many of each kind as asked for have hit; returns how many trials had faults."""
        rng, faulty = random.Random(seed), 0
        for kind, count in counts.items():
            tally = {trial.name: Counter() for trial in self.trials}
            place, hits, slowest = 0, 0, 0.0
            while hits < count and place < 3 * count:
                trial = self.trials[place % len(self.trials)]
                place += 1
                moment = rng.uniform(0, self.seconds[trial.name])
                ended, faults = self.attempt(trial, SIGNALS[kind], moment)
                hits += ended.hit
                left = ["idle worker left"] * (ended.orphans and kind != "interrupt")
                tally[trial.name].update(["hit" if ended.hit else "too late to count", *faults, *left])
                slowest = max(slowest, ended.seconds if ended.hit else 0.0)
                if faults:
                    faulty += 1
                    shown = replace(ended, out=ended.out[:200], err=ended.err[-2000:])
                    say(f"  {kind} of {trial.name} at {moment:.2f} s: {', '.join(faults)}; {shown}")
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
    trials = [trial for trial in TRIALS if arguments.only in (None, trial.name)]
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(folder, trials)
        print("seconds when left alone: " + ", ".join(f"{name} {took:.1f}" for name, took in faults.seconds.items()))
        faulty = faults.run({"interrupt": count, "kill": count // 2, "terminate": count // 4}, arguments.seed)
    print(f"trials with faults: {faulty}, {time.monotonic() - started:.0f} s")
    sys.exit(min(1, faulty))


if __name__ == "__main__":
    main()
