"""Progress: what is drawn, where, and of what."""

import sys

import pytest

from unirel import BURSelector, selection_path
from unirel._runtime import COMPILING, ProgressBar, no_progress, progress_of


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """A bar that does not wait for two seconds of work."""
    import tqdm

    make = tqdm.tqdm
    monkeypatch.setattr("tqdm.tqdm", lambda **settings: make(**{**settings, "delay": 0}))


def test_a_bar_shows_title_share_and_time(capsys):
    bar = ProgressBar("selecting")
    for done in range(1, 5):
        bar(done, 4)
    drawn = capsys.readouterr().err
    assert "selecting: 100%" in drawn
    assert "4/4" in drawn
    assert drawn.endswith("\n")


def test_a_log_is_not_filled(capsys):
    assert not sys.stderr.isatty()
    bar = ProgressBar("selecting")
    for done in range(1, 1000):
        bar(done, 2000)
    assert capsys.readouterr().err.count("selecting") <= 1


def test_the_total_may_become_known_later(capsys):
    bar = ProgressBar("selecting")
    bar(1, 10)
    bar(5, 5)
    assert "5/5" in capsys.readouterr().err


def test_nothing_is_made_for_nobody(monkeypatch):
    monkeypatch.setattr(COMPILING, "_wanted", False)
    assert progress_of(False, "selecting") is no_progress
    assert not COMPILING._wanted
    assert isinstance(progress_of(True, "selecting"), ProgressBar)
    assert COMPILING._wanted


def test_searches_count_on_and_one_that_ends_early_counts_whole(rng, monkeypatch):
    calls, X = [], rng.normal(size=(60, 5))
    monkeypatch.setattr("unirel.search.greedy.progress_of", lambda *_: lambda *call: calls.append(call))
    selector = BURSelector(n_features_to_select=5, exclude=[0, 1])
    selection_path(X, X[:, 0] > 0, selector=selector, criteria=["mim", "jmi"], betas=0)
    assert calls == [(done, 10) for done in (1, 2, 3, 5, 6, 7, 8, 10)]


def test_a_selection_draws_its_steps(rng, capsys):
    X = rng.normal(size=(60, 5))
    BURSelector(n_features_to_select=3, verbose=True).fit(X, X[:, 0] > 0)
    drawn = capsys.readouterr().err
    assert "selecting" in drawn
    assert "3/3" in drawn
