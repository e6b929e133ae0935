"""The table of datasets: always all rows, percentages where the data is."""

import csv
import os
from pathlib import Path

import pytest

from unirel.experiments.dataset_table import main, run
from unirel.experiments.tables import read_expected

ROOT = Path(__file__).parents[2]
FOLDERS = [Path(folder) for folder in (os.environ.get("UNIREL_DATA"), ROOT.parent / "shared" / "data") if folder]
DATA = next((folder for folder in FOLDERS if (folder / "sonar.parquet").is_file()), None)


def test_without_data_there_are_facts_but_no_percentages(tmp_path):
    report = run(tmp_path, "full")
    assert [row["dataset"] for row in report.rows] == [row["dataset"] for row in read_expected("datasets")]
    assert all(row["n_features"] == row["paper_n_features"] for row in report.rows)
    assert all(row["kind"] == row["paper_kind"] for row in report.rows)
    assert {row["ur_auto"] for row in report.rows} == {None}
    assert list(tmp_path.iterdir()) == []


def test_command_line(tmp_path, capsys):
    assert main(["--data", str(tmp_path), "--preset", "smoke", "--output", str(tmp_path / "out")]) == 0
    assert "| gas_sensor | 13910 | 13874 |" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"dataset_table.csv", "dataset_table.md"}
    with pytest.raises(ValueError, match="preset='tiny' is not one of 'smoke'"):
        run(preset="tiny")


@pytest.mark.skipif(DATA is None, reason="no sonar.parquet in $UNIREL_DATA or ../shared/data")
def test_committed_row_is_what_comes_out():
    with open(ROOT / "docs" / "results" / "dataset_table.csv", encoding="utf-8") as stream:
        committed = {row["dataset"]: row for row in csv.DictReader(stream)}
    (sonar,) = [row for row in run(DATA, "smoke").rows if row["dataset"] == "sonar"]
    assert {name: str(value) for name, value in sonar.items()} == committed["sonar"]
