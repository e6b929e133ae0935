"""The table of levels and coverage: what is measured is written, what is written is not measured again."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks import intervals, levels

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def one_of_each(monkeypatch):
    """One test that rejects every fourth table, and all with an effect; one interval that holds half of the time."""
    asked = []

    def rejects(rng, seed, adds):
        asked.append(seed)
        return adds or seed % 4 == 0

    half = intervals.Case(lambda rng, n: (rng.integers(2),), lambda drawn: (float(drawn), drawn, 2.0), 0.0)
    monkeypatch.setattr(levels, "levels", lambda: [levels.Level("test", "knn", "a number", "", rejects, True)])
    for module in (levels, intervals):
        monkeypatch.setattr(module, "CASES", {("half", "knn"): half})
    return asked


def test_the_command_measures_what_is_missing(tmp_path, monkeypatch, one_of_each):
    monkeypatch.setattr(sys, "argv", ["levels", "--tables", "20", "--samples", "200", "--output", str(tmp_path)])
    levels.main()
    assert read(tmp_path / "levels.csv")[1:] == [["test", "knn", "a number", "", "20", "25.0%", "100%"]]
    covered = [row[5] for row in read(tmp_path / "coverage.csv")[1:]]
    assert [40 < float(share.rstrip("%")) < 60 for share in covered] == [True, True]
    before = len(one_of_each)
    levels.main()
    assert len(one_of_each) == before


@pytest.mark.parametrize("given", levels.GIVEN)
def test_an_effect_changes_the_target_and_nothing_else(given):
    without, within = (levels.followers(np.random.default_rng(1), given, "a number", adds) for adds in (False, True))
    assert_array_equal(within[0], without[0])
    assert_array_equal(within[2], without[2])
    assert not np.array_equal(within[1], without[1])


def test_what_is_shown_is_what_is_measured():
    """No line of the tables on the pages is of a case that is there no more."""
    tests = {(one.test, one.estimator, one.target, one.given) for one in levels.levels()}
    assert {tuple(row[:4]) for row in read(RESULTS / "levels.csv")[1:]} <= tests
    together = {one for one in tests if one[3] in levels.TOGETHER}
    assert {tuple(row[:4]) for row in read(RESULTS / "levels_together.csv")[1:]} <= together
    assert {tuple(row[:2]) for row in read(RESULTS / "coverage.csv")[1:]} <= set(intervals.CASES)
    assert_array_equal(read(RESULTS / "levels.csv")[0], levels.LEVELS_HEADER)


def test_truths_that_are_computed_in_two_ways():
    cells = intervals.CELLS
    margins = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    assert intervals.information_of(cells) == pytest.approx((cells * np.log(cells / margins)).sum())
    assert intervals.gaussian_in_bins(0.6, 200) == pytest.approx(intervals.gaussian(0.6)[1], abs=0.01)
    assert intervals.exponential_classes(500)[1] == pytest.approx(intervals.exponential_classes()[1], abs=1e-3)


def test_committed_intervals_hold_as_often_as_they_say_or_are_refused():
    given = [row for row in read(RESULTS / "coverage.csv")[1:] if row[4] != "100%"]
    assert len(given) > 20
    assert [row for row in given if not 92 <= float(row[5].rstrip("%")) <= 98] == []
