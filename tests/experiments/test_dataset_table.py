"""The table of datasets: always all rows, percentages where the data is."""

import csv
from pathlib import Path

from unirel.experiments import run
from unirel.experiments.tables import read_expected

ROOT = Path(__file__).parents[2]


def test_without_data_there_are_facts_but_no_percentages(tmp_path):
    rows = run("dataset_table", data_home=tmp_path, preset="full").tables["dataset_table"]
    assert [row["dataset"] for row in rows] == [row["dataset"] for row in read_expected("datasets")]
    assert all(row["n_features"] == row["paper_n_features"] for row in rows)
    assert all(row["kind"] == row["paper_kind"] for row in rows)
    assert {row["ur_auto"] for row in rows} == {None}
    assert list(tmp_path.iterdir()) == []


def test_tables_are_written(tmp_path):
    tables = run("dataset_table", preset="smoke", data_home=tmp_path, output=tmp_path / "out")
    assert "| gas_sensor | 13910 | 13874 |" in tables.to_markdown()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"dataset_table.csv", "dataset_table.md"}


def test_committed_row_is_what_comes_out(data_home):
    with open(ROOT / "docs" / "results" / "dataset_table.csv", encoding="utf-8") as stream:
        committed = {row["dataset"]: row for row in csv.DictReader(stream)}
    rows = run("dataset_table", data_home=data_home, preset="smoke").tables["dataset_table"]
    (sonar,) = [row for row in rows if row["dataset"] == "sonar"]
    assert {name: str(value) for name, value in sonar.items()} == committed["sonar"]
