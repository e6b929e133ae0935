"""Ctrl-C is heard whatever happens to the exception that Python makes of it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from unirel.cli.exits import Exit
from unirel.cli.interrupts import interrupts
from unirel.data.table import Table

LINE = "interrupted before there was anything to print"


def interrupt_and_swallow():
    """What compiled code does that imports something, such as a conversion to numpy."""
    try:
        signal.raise_signal(signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        pass
    deadline = time.monotonic() + 5
    while not interrupts.heard and time.monotonic() < deadline:
        time.sleep(0.01)
    assert interrupts.heard


@pytest.fixture
def reading(monkeypatch):
    """Do something else before a table is read."""
    read = Table.from_data

    def install(before):
        monkeypatch.setattr(Table, "from_data", lambda *given, **options: (before(), read(*given, **options))[1])

    return install


@pytest.mark.parametrize("command", [["select"], ["relevance"], ["redundancy"]], ids=" ".join)
def test_a_swallowed_interrupt_is_not_forgotten(unirel, table, reading, command):
    reading(interrupt_and_swallow)
    finished = unirel(*command, table, "--target", "class", "-q")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == LINE
    assert not finished.out


def test_an_error_that_was_made_of_an_interrupt_is_one(unirel, table, reading):
    def fail():
        interrupt_and_swallow()
        raise ImportError("cannot import name 'x'")

    reading(fail)
    finished = unirel("select", table, "--target", "class", "-q")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == LINE


def test_a_swallowed_interrupt_keeps_files_from_being_written(unirel, table, tmp_path, monkeypatch):
    assert unirel("select", table, "-t", "class", "--save", tmp_path / "saved.json", "-q").code == 0
    read = sys.modules["unirel.cli.apply"].read_table
    monkeypatch.setattr("unirel.cli.apply.call_apart", lambda _, *given: (interrupt_and_swallow(), read(*given))[1])
    finished = unirel("apply", tmp_path / "saved.json", table, "-o", tmp_path / "small.csv")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == LINE
    assert not (tmp_path / "small.csv").exists()


@pytest.mark.parametrize("error", [SyntaxError, ModuleNotFoundError])
def test_an_error_that_an_import_made_of_it_is_one(unirel, table, monkeypatch, error):
    """Compiling a file may import what it needs for that, and Ctrl-C then looks like a mistake in the file."""

    class Finder:
        def find_spec(self, name, *_):
            if name == "unirel.cli.app":
                interrupt_and_swallow()
                raise error("can't load unicodedata module")

    monkeypatch.delitem(sys.modules, "unirel.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    finished = unirel("select", table, "--target", "class", "-q")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == LINE


def test_while_flags_are_read(unirel, table, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.main.get_command", interrupted)
    finished = unirel("select", table, "--target", "class")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == LINE


def test_what_was_selected_is_printed_all_the_same(unirel, table, monkeypatch):
    best, steps = sys.modules["unirel.search.greedy"]._best, []

    def step(*given):
        steps.append(1)
        if len(steps) == 6:  # four are those of the run without a boost
            signal.raise_signal(signal.SIGINT)
        return best(*given)

    monkeypatch.setattr("unirel.search.greedy._best", step)
    finished = unirel("select", table, "--target", "class", "--csv")
    assert finished.code == Exit.INTERRUPTED
    assert finished.error == "interrupted; 1 features so far, no file was written"
    assert len(finished.out.splitlines()) == 2


def test_afterwards_everything_is_as_before(unirel, table):
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    assert unirel("relevance", table, "--target", "class", "-q").code == 0
    assert signal.getsignal(signal.SIGINT) is handler
    assert sys.unraisablehook is hook
    assert signal.set_wakeup_fd(-1) == -1


WORKING = """
import time
from joblib import Parallel, delayed
from unirel.cli.interrupts import end_now
running = Parallel(n_jobs=2, return_as="generator")(delayed(time.sleep)(seconds) for seconds in (0, 60, 60))
next(running)  # so they have begun
end_now("ended")
"""


def test_workers_that_are_busy_do_not_keep_it_from_ending():
    """Those of joblib have no method `kill`, which once ended in a traceback."""
    started = time.monotonic()
    # As the command line does: who looks after locks of others would complain of those that are ended.
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", WORKING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, env=environment)
    assert (ended.returncode, ended.stderr) == (Exit.INTERRUPTED, "unirel: ended\n")
    assert time.monotonic() - started < 40
