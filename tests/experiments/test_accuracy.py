"""The accuracy tables: on a built-in dataset, with a journal, and against the committed runs where the data is."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from unirel.experiments import accuracy_clf, accuracy_ksg
from unirel.experiments.accuracy import journal_of, load_rows
from unirel.experiments.tables import read_expected, to_markdown

ROOT = Path(__file__).parents[2]
FOLDERS = [Path(folder) for folder in (os.environ.get("UNIREL_DATA"), ROOT.parent / "shared" / "data") if folder]
DATA = next((folder for folder in FOLDERS if (folder / "sonar.parquet").is_file()), None)
pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def as_text(rows):
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    found = accuracy_ksg.run(None, "smoke", folder / "runs.jsonl", output=folder / "out", datasets=["wine"])
    return found, folder


def test_all_rows_of_the_paper_are_there(report):
    for name, cells in (
        ("accuracy_mrwmr_vs_bur_ksg", report[0].cells),
        ("accuracy_bur_clf_vs_wrappers", accuracy_clf.run(None, "smoke", datasets=["iris"], n_runs=1).cells),
    ):
        found = {(cell["row"], cell["dataset"]): cell for cell in cells if cell["row"] is not None}
        for row in read_expected(name):
            cell = found[int(row["row"]), row["dataset"]]
            assert (cell["classifier"], cell["algorithm"]) == (row["classifier"], row["algorithm"])
            assert cell["paper_accuracy"] == float(row["accuracy_percent"])
            assert cell["paper_n_features"] == int(row["n_features"])
            assert cell["accuracy"] is None
            assert cell["n_runs"] == 0


def test_changes_of_the_paper_are_those_of_its_table(report):
    changes = [cell["paper_change"] for cell in report[0].cells if cell["paper_change"] is not None]
    assert len(changes) == 90
    assert np.mean(changes) == pytest.approx(0.63, abs=0.01)


def test_cells_are_means_over_runs(report):
    cells, runs = report[0].cells, report[0].runs
    assert len(runs) == 2 * 20
    (cell,) = [c for c in cells if (c["dataset"], c["classifier"], c["algorithm"]) == ("wine", "knn", "GSA-BUR-REF")]
    values = {name: [r["test_accuracy"] for r in runs if r["algorithm"] == name] for name in ("GSA-BUR-REF", "GSA")}
    assert cell["accuracy"] == pytest.approx(np.mean(values["GSA-BUR-REF"]), abs=0.01)
    assert cell["change"] == pytest.approx(np.mean(np.subtract(*values.values())), abs=0.01)


def test_pooled_rows_average_within_runs_first(report):
    rows = {(row["group"], row["over"]): row for row in report[0].pooled}
    assert rows["BUR-REF", "all"]["n"] == rows["BUR-REF", "GSA-BUR-REF"]["n"] == 2
    means = [rows["BUR-REF", f"{title}-BUR-REF"]["change"] for title in ("MIM", "mRMR", "JMI", "JMIM", "GSA")]
    assert rows["BUR-REF", "all"]["change"] == pytest.approx(np.mean(means), abs=0.01)


def test_tables_are_written_and_a_finished_journal_is_enough(report):
    first, folder = report
    assert {path.name for path in (folder / "out").iterdir()} == {
        *("accuracy_ksg.csv", "accuracy_ksg_table.csv", "accuracy_ksg_pooled.csv", "accuracy_ksg_runs.csv"),
        "accuracy_ksg.md",
    }
    assert read(folder / "out" / "accuracy_ksg.csv") == as_text(first.cells)
    journal = journal_of(folder / "runs.jsonl", "wine")
    before = journal.read_bytes()
    again = accuracy_ksg.run(None, "smoke", folder / "runs.jsonl", datasets=["wine"])
    assert journal.read_bytes() == before
    assert again.to_markdown() == first.to_markdown()


def test_a_cut_journal_is_continued(report, tmp_path):
    first, folder = report
    whole = journal_of(folder / "runs.jsonl", "wine").read_bytes()
    journal = tmp_path / "runs.jsonl"
    journal_of(journal, "wine").write_bytes(whole[: len(whole) * 2 // 3])
    assert accuracy_ksg.run(None, "smoke", journal, datasets=["wine"]).to_markdown() == first.to_markdown()
    assert journal_of(journal, "wine").read_bytes().count(b"\n") == whole.count(b"\n")


def test_wrappers_take_part_where_they_suit():
    report = accuracy_clf.run(None, "smoke", datasets=["iris"], classifiers=["svm"], n_runs=1)
    found = {row["algorithm"] for row in report.runs}
    assert {"RFE", "FFS", "BFE", "MIM", "MIM-BUR-CLF"} <= found
    assert not [cell for cell in report.cells if (cell["classifier"], cell["algorithm"]) == ("knn", "RFE")]


def test_rows_are_cut_by_seed():
    _, X, y = load_rows("wine", None, 50)
    assert X.shape == (50, 13)
    assert np.array_equal(load_rows("wine", None, 50)[1], X)
    assert len(load_rows("wine", None, 500)[2]) == 178
    assert len(y) == 50


def test_command_line(capsys, tmp_path):
    given = ["--preset", "smoke", "--datasets", "iris", "--runs", "1", "--output", str(tmp_path)]
    assert accuracy_ksg.main(given) == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "accuracy_ksg.md").read_text(encoding="utf-8")
    assert "preset smoke: 1 random splits" in printed
    assert accuracy_ksg.main(["--datasets", "nothing"]) == 2
    assert "there is no dataset 'nothing'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="preset='tiny' is not one of 'smoke'"):
        accuracy_ksg.run(preset="tiny")


def test_markdown_cells_cannot_break_the_table():
    assert to_markdown([{"a": "x|y", "b": None}]).splitlines()[2] == r"| x\|y |  |"
    assert to_markdown([]) == "(nothing)"


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="no sonar.parquet in $UNIREL_DATA or ../shared/data")
def test_committed_runs_can_be_remade():
    committed = read(ROOT / "docs" / "results" / "accuracy_ksg_runs.csv")
    stated = [
        row
        for row in committed
        if row["dataset"] == "sonar" and row["classifier"] == "knn" and row["run"] in ("0", "1")
    ]
    report = accuracy_ksg.run(DATA, "small", datasets=["sonar"], classifiers=["knn"], n_runs=2)
    assert len(stated) == 2 * 20
    assert as_text(report.runs) == stated
