"""The redundancy table on Sonar: its parts without data, and against the committed table where the data is."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from unirel.experiments import redundancy_sonar
from unirel.experiments.redundancy_sonar import Report, main, read_expected, run

ROOT = Path(__file__).parents[2]
FOLDERS = [Path(folder) for folder in (os.environ.get("UNIREL_DATA"), ROOT.parent / "shared" / "data") if folder]
DATA = next((folder for folder in FOLDERS if (folder / "sonar.parquet").is_file()), None)
needs_data = pytest.mark.skipif(DATA is None, reason="no sonar.parquet in $UNIREL_DATA or ../shared/data")


@pytest.fixture
def small_table(tmp_path):
    """A stand-in for Sonar: few rows, 40 features, because the curve is compared with the paper's up to size 40."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 40))
    columns = {f"f{j}": X[:, j] for j in range(40)} | {"target": (X[:, 0] + X[:, 1] > 0).astype(np.int8)}
    parquet.write_table(arrow.table(columns), tmp_path / "sonar.parquet")
    return tmp_path


def test_expected_numbers_agree_with_one_another():
    rows = read_expected("redundancy_rate_sonar")
    assert len(rows) == 25
    for row in rows:
        rate = 100 * int(row["n_redundant"]) / int(row["n_saturated"])
        assert rate == pytest.approx(float(row["redundancy_rate_percent"]), abs=0.06)
    assert [int(row["n_selected"]) for row in read_expected("gsa_curve_sonar")] == list(range(1, 41))


def test_run_writes_only_where_it_is_told(small_table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    report = run(small_table, "smoke")
    assert set(tmp_path.rglob("*")) == before
    run(small_table, "smoke", output=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"redundancy_sonar.csv", "redundancy_sonar_table.csv", "redundancy_sonar.md"}
    with open(tmp_path / "out" / "redundancy_sonar_table.csv", encoding="utf-8") as stream:
        assert [dict(row) for row in csv.DictReader(stream)] == report.table()
    assert [row["source"] for row in report.table()] == ["default", "paper"] * 2


def test_subsamples_are_compared_in_pairs(small_table, monkeypatch):
    preset = redundancy_sonar.Preset(("default",), ("mim",), (0.0,), 2)
    monkeypatch.setitem(redundancy_sonar.PRESETS, "smoke", preset)
    monkeypatch.setattr(redundancy_sonar, "_STABLE_SETTINGS", ("default",))
    report = run(small_table, "smoke")
    assert [row["subsample"] for row in report.subsamples] == [0, 0, 1, 1]
    mim, mean = report.stability()
    assert (mim["criterion"], mean["criterion"]) == ("mim", "mean")
    assert mim["lower"] + mim["equal"] + mim["higher"] == mim["subsamples"] == 2
    assert "Redundancy rate in percent over subsamples" in report.to_markdown()


def test_stability_is_mean_and_deviation_of_differences():
    rates = {0.0: [0.2, 0.4], 0.1: [0.1, 0.4]}
    rows = [
        {"setting": "default", "criterion": "mim", "beta": beta, "subsample": number, "rate": rate}
        for beta, values in rates.items()
        for number, rate in enumerate(values)
    ]
    row = Report([], rows, [], 0.0).stability()[0]
    assert (row["beta 0"], row["beta 0.1"], row["change"]) == ("30.0 +- 14.1", "25.0 +- 21.2", "-5.0 +- 7.1")
    assert (row["lower"], row["equal"], row["higher"]) == (1, 1, 0)


def test_command_line(small_table, capsys):
    assert main(["--data", str(small_table), "--preset", "smoke"]) == 0
    assert "| mim | default |" in capsys.readouterr().out
    assert main(["--data", str(small_table / "nowhere")]) == 2
    assert "there is no" in capsys.readouterr().err


def test_no_folder_is_an_error(monkeypatch):
    monkeypatch.delenv("UNIREL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="UNIREL_DATA"):
        run()
    with pytest.raises(ValueError, match="preset='tiny' is not one of 'smoke'"):
        run(preset="tiny")


@needs_data
def test_committed_table_is_what_comes_out():
    with open(ROOT / "docs" / "results" / "redundancy_sonar.csv", encoding="utf-8") as stream:
        committed = list(csv.DictReader(stream))
    report = run(DATA, "smoke")
    assert len(report.cells) == 4
    for cell in report.cells:
        assert {name: str(value) for name, value in cell.items()} in committed
