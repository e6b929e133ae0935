"""The bar: where it draws, how often, and what it says."""

import io
import sys

import pytest

from unirel.work import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets by hand."""
    now = [100.0]
    monkeypatch.setattr("unirel.work.time.monotonic", lambda: now[0])
    return now


def test_nothing_is_drawn_where_nobody_watches():
    stream = io.StringIO()
    bar = ProgressBar("work", stream)
    for done in range(11):
        bar(done, 10)
    assert stream.getvalue() == ""


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
    clock[0] += 5
    bar(1, 4)
    assert terminal.getvalue() == "\rselecting [######..................] 1/4, 15 s left "


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
    assert terminal.getvalue().startswith("\rwork [########################] 10/10, 0 s left")
    assert terminal.getvalue().endswith("\n")


def test_nothing_to_do(clock):
    terminal = Terminal()
    ProgressBar("work", terminal)(0, 0)
    assert "0/0" in terminal.getvalue()


def test_the_end_of_a_path_is_drawn_once(monkeypatch, rng):
    from unirel import selection_path

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    X = rng.normal(size=(40, 4))
    selection_path(X, X[:, 0] > 0, criteria=["mim", "jmi"], betas=[0], n_features_to_select=3, verbose=True)
    assert "6/6" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
