"""Signals at random moments against fit, select, compare and apply: what is lost, wrong, swallowed or noisy.

`make faults COUNT=200` sends 200 interrupts, half as many kills and a quarter as many requests to terminate, and prints
what came of it; the tests beside this file run a few trials. Moments are drawn from the time that a program takes when
it is left alone, from when it begins: before that there is nothing but Python.
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
from dataclasses import dataclass
from pathlib import Path

SIGNALS = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}
# Seconds from Ctrl-C to the end.
PATIENCE = 2.0

COMMAND = "import os, sys; from unirel.cli import main; os.write(int(os.environ['READY']), b'.'); sys.exit(main())"
FIT = """
import json, os, signal, sys
import numpy as np
from unirel import BURSelector
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 40))
selector = BURSelector(n_features_to_select=20, estimator="knn")
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
    stopped: bool  # it had not printed its last word when the signal came
    orphans: bool  # whether processes that it started are left


@dataclass(frozen=True)
class Trial:
    """A program, the files that it reads, and those that it writes."""

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
            begun, size = time.monotonic(), None  # what it had to show when the signal came
            if moment is not None and not _ends_within(process, moment):
                begun, size = time.monotonic(), os.fstat(printed.fileno()).st_size
                if self.writes != "journal.jsonl" and self.writes and (folder / self.writes).exists():
                    size = 1
                # A terminal sends Ctrl-C to all processes of a group; who kills, kills one.
                (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            try:
                _, err = process.communicate(timeout=900 if size is None else 60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                _, err = process.communicate()
            seconds = time.monotonic() - begun
            printed.seek(0)
            out = printed.read().decode()
        # What is printed is printed at the end, all at once, and a file appears whole.
        return Ended(process.returncode, out, err, seconds, size == 0, _end_group(process.pid))

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
    "select", _command("select data.csv --target label -k 10 --estimator knn --save saved.json"), writes="saved.json"
)
COMPARE = Trial(
    "compare",
    _command("compare data.csv --target label --runs 2 --max-features 6 --classifiers svm,knn --csv")
    + _command("--journal journal.jsonl"),
    writes="journal.jsonl",
)
WORKERS = Trial("compare -j 2", (*COMPARE.arguments, "-j", "2"), writes="journal.jsonl")
APPLY = Trial("apply", _command("apply saved.json data.csv -o small.csv"), ("data.csv", "saved.json"), "small.csv")
FITTING = Trial("fit", (), (), code=FIT)
TRIALS = (SELECT, COMPARE, WORKERS, APPLY, FITTING)


def make_data(folder, n_rows=500, n_columns=18):
    """A table with a class."""
    rng = random.Random(0)
    lines = [",".join([*(f"f{column}" for column in range(n_columns)), "label"])]
    for _ in range(n_rows):
        row = [rng.gauss(0, 1) for _ in range(n_columns)]
        lines.append(",".join([*(f"{value:.4f}" for value in row), "no" if sum(row[:5]) < 0 else "yes"]))
    (folder / "data.csv").write_text("\n".join(lines) + "\n")


def read_journal(path):
    """Records by their keys, without times; damaged lines, other than a last one that was cut, are an error."""
    records = {}
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for line in lines[:-1]:  # what stands behind the last line break was never finished
        content = json.loads(line)["content"]
        if content["type"] == "record":
            kept = {name: value for name, value in content["record"].items() if name != "seconds"}
            records[json.dumps(content["key"])] = kept
    return records


class Faults:
    """Runs trials and judges them by what the same programs do when they are left alone."""

    def __init__(self, folder, trials=TRIALS):
        self.folder, self.trials = Path(folder), trials
        self.known, self.seconds = {}, {}
        make_data(self.folder)
        for trial in trials:
            ended = trial.run(self.folder)
            if ended.code != 0:
                raise RuntimeError(f"{trial.name} fails without a signal: {ended.err}")
            self.seconds[trial.name] = ended.seconds
            self.known[trial.name] = self._result(trial, self.folder, ended)

    def _result(self, trial, folder, ended):
        if trial.writes == "journal.jsonl":
            return read_journal(folder / trial.writes)
        return (folder / trial.writes).read_bytes() if trial.writes else json.loads(ended.out)

    def attempt(self, trial, number, moment):
        """One trial: what came of it, and its faults."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            for file in trial.reads:
                shutil.copy(self.folder / file, folder / file)
            ended = trial.run(folder, moment, number)
            faults = self._find_faults(trial, folder, ended, number)
            return ended, "stopped" if ended.stopped else "finished before", faults

    def _find_faults(self, trial, folder, ended, number):
        faults = [] if self._is_right(trial, folder, ended) else ["wrong"]
        if "Traceback" in ended.err or "Exception ignored" in ended.err:
            faults.append("traceback")
        if not ended.stopped:
            return faults if ended.code in (0, 130, -number) else [*faults, f"exit {ended.code}"]
        if number != signal.SIGINT:
            return faults if ended.code == -number else [*faults, f"exit {ended.code}"]
        if ended.code == 0:
            faults.append("swallowed")
        elif ended.code != 130:
            faults.append(f"exit {ended.code}")
        if ended.seconds > PATIENCE:
            faults.append("late")
        # What was said before, of progress or of the data, is said in lines of its own.
        said = [
            line for line in ended.err.splitlines() if not re.match(r"(selecting|comparing) \d|unirel: left out", line)
        ]
        if len(said) != 1 and ended.code != 0:
            faults.append(f"{len(said)} lines")
        left = {path.name for path in folder.iterdir()} - {*trial.reads, trial.writes}
        return faults + ["orphans"] * ended.orphans + ["litter"] * bool(left)

    def _is_right(self, trial, folder, ended):
        """Whether what was left is whole: all of it, or a part that is as it should be."""
        known, had_finished = self.known[trial.name], ended.code == 0
        if trial.writes == "journal.jsonl":
            found = read_journal(folder / trial.writes)
            return found == known if had_finished else found.items() <= known.items()
        if trial.writes:
            path = folder / trial.writes
            return path.read_bytes() == known if path.exists() else not had_finished
        if not ended.out:
            return not had_finished
        order = json.loads(ended.out)
        return order == known if had_finished else len(set(order)) == len(order) and set(order) <= set(range(40))

    def run(self, counts, seed, say=print):
        """Send signals, as many of each kind as asked for; returns how many trials had faults."""
        rng, faulty = random.Random(seed), 0
        for kind, count in counts.items():
            tally = {trial.name: Counter() for trial in self.trials}
            slowest = 0.0
            for place in range(count):
                trial = self.trials[place % len(self.trials)]
                moment = rng.uniform(0, 1.05 * self.seconds[trial.name])
                ended, outcome, faults = self.attempt(trial, SIGNALS[kind], moment)
                tally[trial.name].update([outcome, *faults])
                if kind == "interrupt" and ended.stopped:
                    slowest = max(slowest, ended.seconds)
                if faults:
                    faulty += 1
                    say(f"  {kind} of {trial.name} at {moment:.2f} s: {', '.join(faults)}; {ended}")
            say(f"{kind}: {count} trials" + (f", slowest end {slowest:.1f} s" if slowest else ""))
            for name, counter in tally.items():
                say(f"  {name:<14}" + ", ".join(f"{number} {what}" for what, number in sorted(counter.items())))
        say(f"trials with faults: {faulty}")
        return faulty


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="interrupts; half as many kills, a quarter terminations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the program to try, by name")
    arguments = parser.parse_args()
    count = arguments.count
    trials = [trial for trial in TRIALS if arguments.only in (None, trial.name)]
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(folder, trials)
        print("seconds when left alone: " + ", ".join(f"{name} {took:.1f}" for name, took in faults.seconds.items()))
        sys.exit(min(1, faults.run({"interrupt": count, "kill": count // 2, "terminate": count // 4}, arguments.seed)))


if __name__ == "__main__":
    main()
