"""Progress: where it is shown, how often, and whether the time that is left can be believed."""

import builtins
import io
import sys

import numpy as np
import pytest

from unirel import BURSelector
from unirel._runtime import Clock, ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets by hand."""
    now = [100.0]
    monkeypatch.setattr("unirel._runtime.time.monotonic", lambda: now[0])
    return now


def run(bar, clock, n_steps, seconds):
    """Work off steps of equal length."""
    for done in range(1, n_steps + 1):
        clock[0] += seconds
        bar(done, n_steps)


def test_short_work_leaves_no_trace_in_a_log(clock):
    log = io.StringIO()
    run(ProgressBar("work", log), clock, 10, 0.5)
    assert log.getvalue() == ""


def test_a_log_gets_a_line_every_ten_seconds(clock):
    log = io.StringIO()
    run(ProgressBar("work", log), clock, 30, 1.0)
    lines = ["work 4/30, 26 s left", "work 14/30, 16 s left", "work 24/30, 6 s left", "work 30/30, 30 s"]
    assert log.getvalue().splitlines() == lines


def test_a_log_hears_soon_of_long_work_only(clock):
    log = io.StringIO()
    run(ProgressBar("work", log), clock, 100, 0.11)
    assert log.getvalue().splitlines() == ["work 91/100, 1 s left", "work 100/100, 11 s"]


@pytest.mark.parametrize("make", [io.StringIO, Terminal])
def test_what_makes_it_faster_is_said_once_and_only_of_long_work(clock, make):
    short, long = make(), make()
    run(ProgressBar("work", short, "faster with less"), clock, 20, 0.4)
    run(ProgressBar("work", long, "faster with less"), clock, 20, 4.0)
    assert "faster" not in short.getvalue()
    lines = long.getvalue().replace("\r", "\n").splitlines()
    assert [line.rstrip() for line in lines].count("faster with less") == 1


def test_a_notebook_is_no_terminal_but_has_a_bar(clock, monkeypatch):
    monkeypatch.setattr(builtins, "get_ipython", lambda: None, raising=False)
    stream = io.StringIO()
    run(ProgressBar("work", stream), clock, 4, 1.0)
    assert stream.getvalue().count("\r") == 4
    assert stream.getvalue().endswith("4/4, 4 s\n")


def test_standard_error_is_the_default(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = ProgressBar("work")
    clock[0] += 1
    bar(1, 2)
    assert terminal.getvalue().startswith("\rwork [############............] 1/2")


def test_a_terminal_sees_title_share_and_time(clock):
    terminal = Terminal()
    bar = ProgressBar("selecting", terminal)
    run(bar, clock, 8, 5.0)
    drawn = terminal.getvalue().split("\r")
    assert drawn[1] == "selecting [###.....................] 1/8"  # nothing is said before there is evidence
    assert drawn[4] == "selecting [############............] 4/8, 20 s left"
    assert drawn[-1].rstrip() == "selecting [########################] 8/8, 40 s"
    assert len(drawn[-1].rstrip("\n")) >= len(drawn[-2].rstrip())  # nothing of a longer line is left


def test_at_most_ten_times_a_second(clock):
    terminal = Terminal()
    bar = ProgressBar("work", terminal)
    for done in range(1, 100):
        clock[0] += 0.01
        bar(done, 1000)
    assert 9 <= terminal.getvalue().count("\r") <= 10


def test_the_end_is_always_drawn_and_ends_the_line(clock):
    terminal = Terminal()
    ProgressBar("work", terminal)(10, 10)
    assert terminal.getvalue().startswith("\rwork [########################] 10/10, 0 s")
    assert terminal.getvalue().endswith("\n")


def test_nothing_to_do(clock):
    terminal = Terminal()
    ProgressBar("work", terminal)(0, 0)
    assert "0/0" in terminal.getvalue()


@pytest.mark.parametrize(
    ("cost", "error"),
    [
        (lambda step: np.ones_like(step), 0.01),
        (lambda step: step, 0.1),  # every step compares with all features selected before
        (lambda step: 5 + step, 0.25),
        (lambda step: np.where(step <= 10, 20.0, 1.0), 0.01),  # the first search pays for all
        (lambda step: 1 + 0.5 * np.sin(step), 0.25),
    ],
)
@pytest.mark.parametrize("n_steps", [60, 200])
def test_the_time_left_can_be_believed(cost, error, n_steps):
    ends = np.cumsum(cost(np.arange(1.0, n_steps + 1)))
    clock = Clock()
    for done, now in enumerate(ends, start=1):
        clock.mark(done, now)
        if done * 3 > n_steps and done < n_steps * 0.95:
            assert clock.left(n_steps) == pytest.approx(ends[-1] - now, rel=error)


def test_little_evidence_is_none():
    clock = Clock()
    for done in range(1, 10):
        clock.mark(done, done * 1.0)
        assert clock.left(1000) is None
        assert (clock.left(20) is None) == (done < 4)


def test_long_times_are_said_in_minutes(clock):
    terminal = Terminal()
    bar = ProgressBar("work", terminal)
    for done in range(1, 6):
        clock[0] += 60
        bar(done, 20)
    assert terminal.getvalue().rstrip().endswith("5/20, 15 min left")


def test_the_end_of_a_path_is_drawn_once(monkeypatch, rng):
    from unirel import selection_path

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    X = rng.normal(size=(40, 4))
    selection_path(
        X, X[:, 0] > 0, criteria=["mim", "jmi"], betas=[0], selector=BURSelector(n_features_to_select=3, verbose=True)
    )
    assert "6/6" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
