"""The redundancy table on Sonar: its parts without data, and against the committed table where the data is."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from unirel.experiments import redundancy_sonar, run
from unirel.experiments.tables import read_expected

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in for Sonar: few rows, 40 features, because the curve is compared with the paper's up to size 40."""
    X = np.random.default_rng(0).normal(size=(40, 40))
    bunch = Bunch(data=X, target=(X[:, 0] + X[:, 1] > 0).astype(np.int8))
    monkeypatch.setattr(redundancy_sonar, "load", lambda name, data_home: bunch)


def test_expected_numbers_agree_with_one_another():
    rows = read_expected("redundancy_rate_sonar")
    assert len(rows) == 25
    for row in rows:
        rate = 100 * int(row["n_redundant"]) / int(row["n_saturated"])
        assert rate == pytest.approx(float(row["redundancy_rate_percent"]), abs=0.06)
    assert [int(row["n_selected"]) for row in read_expected("gsa_curve_sonar")] == list(range(1, 41))


def test_run_writes_only_where_it_is_told(stand_in, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    tables = run("redundancy_sonar", preset="smoke").tables
    assert set(tmp_path.rglob("*")) == before
    run("redundancy_sonar", preset="smoke", output=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"redundancy_sonar.csv", "redundancy_sonar_table.csv", "redundancy_sonar.md"}
    with open(tmp_path / "out" / "redundancy_sonar_table.csv", encoding="utf-8") as stream:
        assert [dict(row) for row in csv.DictReader(stream)] == tables["redundancy_sonar_table"]
    assert [row["source"] for row in tables["redundancy_sonar_table"]] == ["default", "paper"] * 2


def test_subsamples_are_compared_in_pairs(stand_in, monkeypatch):
    extent = redundancy_sonar.Extent(("default",), ("mim",), (0.0,), 2)
    monkeypatch.setitem(redundancy_sonar.EXTENTS, "smoke", extent)
    monkeypatch.setattr(redundancy_sonar, "_STABLE_SETTINGS", ("default",))
    found = run("redundancy_sonar", preset="smoke")
    assert [row["subsample"] for row in found.tables["redundancy_sonar_subsamples"]] == [0, 0, 1, 1]
    mim, mean = found.tables["redundancy_sonar_stability"]
    assert (mim["criterion"], mean["criterion"]) == ("mim", "mean")
    assert mim["lower"] + mim["equal"] + mim["higher"] == mim["subsamples"] == 2
    assert "Redundancy rate in percent over subsamples" in found.to_markdown()


def test_stability_is_mean_and_deviation_of_differences():
    rates = {0.0: [0.2, 0.4], 0.1: [0.1, 0.4]}
    rows = [
        {"setting": "default", "criterion": "mim", "beta": beta, "subsample": number, "rate": rate}
        for beta, values in rates.items()
        for number, rate in enumerate(values)
    ]
    row = redundancy_sonar.make_tables([], rows, [], 0.0).tables["redundancy_sonar_stability"][0]
    assert (row["beta 0"], row["beta 0.1"], row["change"]) == ("30.0 +- 14.1", "25.0 +- 21.2", "-5.0 +- 7.1")
    assert (row["lower"], row["equal"], row["higher"]) == (1, 1, 0)


def test_committed_table_is_what_comes_out(data_home):
    with open(ROOT / "docs" / "results" / "redundancy_sonar.csv", encoding="utf-8") as stream:
        committed = list(csv.DictReader(stream))
    cells = run("redundancy_sonar", data_home=data_home, preset="smoke").tables["redundancy_sonar"]
    assert len(cells) == 4
    for cell in cells:
        assert {name: str(value) for name, value in cell.items()} in committed
