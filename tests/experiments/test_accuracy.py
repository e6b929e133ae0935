"""The accuracy tables: on a built-in dataset, with a journal, and against the committed runs where the data is."""

import csv
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from unirel.experiments import EXPERIMENTS, Asked, run
from unirel.experiments.accuracy import journal_of, load_rows
from unirel.experiments.tables import read_expected, to_markdown

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def as_text(rows):
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    options = {"preset": "smoke", "journal": folder / "runs.jsonl", "datasets": ["wine"]}
    return run("accuracy_ksg", output=folder / "out", **options), folder


def test_all_rows_of_the_paper_are_there(report):
    for name, cells in (
        ("accuracy_mrwmr_vs_bur_ksg", report[0].tables["accuracy_ksg"]),
        (
            "accuracy_bur_clf_vs_wrappers",
            run("accuracy_clf", preset="smoke", datasets=["iris"], n_runs=1).tables["accuracy_clf"],
        ),
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
    changes = [cell["paper_change"] for cell in report[0].tables["accuracy_ksg"] if cell["paper_change"] is not None]
    assert len(changes) == 90
    assert np.mean(changes) == pytest.approx(0.63, abs=0.01)


def test_cells_are_means_over_runs(report):
    cells, runs = report[0].tables["accuracy_ksg"], report[0].tables["accuracy_ksg_runs"]
    assert len(runs) == 2 * 20
    (cell,) = [c for c in cells if (c["dataset"], c["classifier"], c["algorithm"]) == ("wine", "knn", "GSA-BUR-REF")]
    values = {name: [r["test_accuracy"] for r in runs if r["algorithm"] == name] for name in ("GSA-BUR-REF", "GSA")}
    assert cell["accuracy"] == pytest.approx(np.mean(values["GSA-BUR-REF"]), abs=0.01)
    assert cell["change"] == pytest.approx(np.mean(np.subtract(*values.values())), abs=0.01)


def test_pooled_rows_average_within_runs_first(report):
    rows = {(row["group"], row["over"]): row for row in report[0].tables["accuracy_ksg_pooled"]}
    assert rows["BUR-REF", "all"]["n"] == rows["BUR-REF", "GSA-BUR-REF"]["n"] == 2
    means = [rows["BUR-REF", f"{title}-BUR-REF"]["change"] for title in ("MIM", "mRMR", "JMI", "JMIM", "GSA")]
    assert rows["BUR-REF", "all"]["change"] == pytest.approx(np.mean(means), abs=0.01)


def test_tables_are_written_and_a_finished_journal_is_enough(report):
    first, folder = report
    assert {path.name for path in (folder / "out").iterdir()} == {
        *("accuracy_ksg.csv", "accuracy_ksg_table.csv", "accuracy_ksg_pooled.csv", "accuracy_ksg_runs.csv"),
        "accuracy_ksg.md",
    }
    assert read(folder / "out" / "accuracy_ksg.csv") == as_text(first.tables["accuracy_ksg"])
    journal = journal_of(folder / "runs.jsonl", "wine")
    before = journal.read_bytes()
    again = run("accuracy_ksg", preset="smoke", journal=folder / "runs.jsonl", datasets=["wine"])
    assert journal.read_bytes() == before
    assert again.to_markdown() == first.to_markdown()


def test_a_cut_journal_is_continued(report, tmp_path):
    first, folder = report
    whole = journal_of(folder / "runs.jsonl", "wine").read_bytes()
    journal = tmp_path / "runs.jsonl"
    journal_of(journal, "wine").write_bytes(whole[: len(whole) * 2 // 3])
    again = run("accuracy_ksg", preset="smoke", journal=journal, datasets=["wine"])
    assert again.to_markdown() == first.to_markdown()
    assert journal_of(journal, "wine").read_bytes().count(b"\n") == whole.count(b"\n")


def test_wrappers_take_part_where_they_suit():
    tables = run("accuracy_clf", preset="smoke", datasets=["iris"], classifiers=["svm"], n_runs=1).tables
    found = {row["algorithm"] for row in tables["accuracy_clf_runs"]}
    assert {"RFE", "FFS", "BFE", "MIM", "MIM-BUR-CLF"} <= found
    assert not [cell for cell in tables["accuracy_clf"] if (cell["classifier"], cell["algorithm"]) == ("knn", "RFE")]


def test_rows_are_cut_by_seed():
    _, X, y = load_rows("wine", None, 50)
    assert X.shape == (50, 13)
    assert np.array_equal(load_rows("wine", None, 50)[1], X)
    assert len(load_rows("wine", None, 500)[2]) == 178
    assert len(y) == 50


def test_an_interrupted_comparison_says_so():
    def stop(done, total):
        raise KeyboardInterrupt

    tables = run("accuracy_ksg", preset="smoke", datasets=["iris"], n_runs=1, progress=stop)
    assert not tables.complete
    assert "**Interrupted: what is missing has no numbers.**" in tables.to_markdown()


def test_every_replay_is_what_the_registry_says():
    for name, experiment in EXPERIMENTS.items():
        module = import_module(f"unirel.experiments.{name}")
        assert experiment.about == module.__doc__.split("\n")[0]
        assert set(experiment.options) <= {field.name for field in fields(Asked)}


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match="name='accuracy' is not one of 'accuracy_clf'"):
        run("accuracy")
    with pytest.raises(ValueError, match="dataset_table has no option journal=; it takes output, preset, data_home"):
        run("dataset_table", journal="runs")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_unknown_presets(name):
    with pytest.raises(ValueError, match="preset='tiny' is not one of 'smoke', 'small', 'full'"):
        run(name, preset="tiny")


def test_markdown_cells_cannot_break_the_table():
    assert to_markdown([{"a": "x|y", "b": None}]).splitlines()[2] == r"| x\|y |  |"
    assert to_markdown([]) == "(nothing)"


@pytest.mark.slow
def test_committed_runs_can_be_remade(data_home):
    committed = read(ROOT / "docs" / "results" / "accuracy_ksg_runs.csv")
    stated = [
        row
        for row in committed
        if row["dataset"] == "sonar" and row["classifier"] == "knn" and row["run"] in ("0", "1")
    ]
    found = run("accuracy_ksg", data_home=data_home, datasets=["sonar"], classifiers=["knn"], n_runs=2)
    assert len(stated) == 2 * 20
    assert as_text(found.tables["accuracy_ksg_runs"]) == stated
