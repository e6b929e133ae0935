"""The accuracy tables: on a built-in dataset, with a journal, and against the committed runs where the data is."""

import csv
import hashlib
import json
import shutil
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unirel.cli import main
from unirel.experiments import EXPERIMENTS, Asked, run, verify
from unirel.experiments.accuracy import PRESETS, journal_of, load_rows
from unirel.experiments.conclusions import conclude
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
    assert len(runs) == 2 * 21
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
        *("accuracy_ksg.md", "accuracy_ksg.wine.jsonl"),
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


def test_what_was_written_can_be_gone_on_from(report, tmp_path):
    first, folder = report
    shutil.copytree(folder / "out", tmp_path / "out")
    again = run("accuracy_ksg", preset="smoke", journal=tmp_path / "out" / "accuracy_ksg.jsonl", datasets=["wine"])
    assert again.to_markdown() == first.to_markdown()
    copy = "accuracy_ksg.wine.jsonl"
    assert (tmp_path / "out" / copy).read_bytes() == (folder / "out" / copy).read_bytes()


def change_accuracies(journal):
    """Change all records of a journal, checksums and all."""
    header, *records = [json.loads(line)["content"] for line in journal.read_text().splitlines()]
    for one in records:
        one["record"]["test_accuracy"] = 1e-9
    texts = [json.dumps(one, separators=(",", ":"), sort_keys=True) for one in (header, *records)]
    checks = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
    journal.write_text("".join(f'{{"check":"{a}","content":{b}}}\n' for a, b in zip(checks, texts, strict=True)))


def test_pieces_of_a_journal_are_verified(report, tmp_path, capsys):
    options = {"preset": "smoke", "journal": report[1] / "out" / "accuracy_ksg.jsonl", "datasets": ["wine"]}
    found = verify("accuracy_ksg", 3, **options)
    assert len(found) == 3
    assert all(one.differences == () for one in found)
    assert [one.key for one in verify("accuracy_ksg", 3, seed=1, **options)] != [one.key for one in found]

    journal = tmp_path / "runs.wine.jsonl"
    shutil.copy(report[1] / "out" / "accuracy_ksg.wine.jsonl", journal)
    change_accuracies(journal)
    given = ["--preset", "smoke", "--datasets", "wine", "--journal", str(tmp_path / "runs.jsonl"), "--verify", "1"]
    assert main(["reproduce", "accuracy_ksg", *given]) == 1
    told = capsys.readouterr().out
    assert "wine, run" in told
    assert "test_accuracy is 1e-09 in the journal and" in told
    assert "0 of 1 equal to the digit" in told


def test_tables_are_made_of_whole_runs_and_nothing_is_computed(report, tmp_path):
    lines = journal_of(report[1] / "runs.jsonl", "wine").read_bytes().splitlines(keepends=True)
    journal = tmp_path / "runs.wine.jsonl"
    journal.write_bytes(b"".join(lines[:-3]))
    options = {"preset": "smoke", "datasets": ["wine"], "journal": tmp_path / "runs.jsonl", "tables_only": True}
    found = run("accuracy_ksg", **options).tables["accuracy_ksg_runs"]
    assert found == [row for row in report[0].tables["accuracy_ksg_runs"] if row["run"] == 0]
    assert "preset smoke: runs 1, each a random split" in run("accuracy_ksg", **options).to_markdown()
    assert journal.read_bytes() == b"".join(lines[:-3])
    with pytest.raises(ValueError, match="tables_only=True needs journal="):
        run("accuracy_ksg", preset="smoke", tables_only=True)


def test_sentences_follow_the_numbers():
    cells = [{"algorithm": "MIM", "dataset": "d", "paper_change": "", "change": "", "difference": "", "low": ""}]
    row = {"group": "B", "n": "4", "area_change": "0.5", "area_low": "-1", "area_high": "2"}
    pooled = [
        row | {"over": "all", "change": "1.0", "low": "0.5", "high": "1.5"},
        row | {"over": "sonar", "change": "-1.0", "low": "-1.5", "high": "-0.5"},
        row | {"over": "colon", "change": "3.0", "low": None, "high": None},
        row | {"over": "rf", "n": 0, "change": "", "low": "", "high": ""},
    ]
    assert conclude(cells, pooled) == [
        "B: over 4 runs it changes test accuracy by +1.00 points (+0.50 to +1.50); in area by +0.50 points "
        "(-1.00 to +2.00): a gain in accuracy, within noise in area.",
        "B: a loss beyond noise for sonar (-1.00 points (-1.50 to -0.50)); 2 parts were looked at.",
    ]


def test_what_cannot_be_verified_is_refused(tmp_path):
    with pytest.raises(ValueError, match="accuracy_ksg: verify needs journal="):
        verify("accuracy_ksg", 1)
    with pytest.raises(ValueError, match="hold no outcome to verify"):
        verify("accuracy_ksg", 1, journal=tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="n_units=0 must be"):
        verify("accuracy_ksg", 0, journal=tmp_path / "none.jsonl")


def test_medium_tries_all_small_numbers_and_every_tenth():
    preset = PRESETS["medium"]
    assert preset.n_grid[:61] == (*range(1, 61), 70)
    assert set(preset.max_features.values()) <= {*preset.n_grid, 128}
    assert "numbers 1 to 60 and then every 10th of features" in preset.in_words("7")


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
    with pytest.raises(ValueError, match="preset='tiny' is not one of 'smoke', 'small', 'medium', 'full'"):
        run(name, preset="tiny")


def test_markdown_cells_cannot_break_the_table():
    assert to_markdown([{"a": "x|y", "b": None}]).splitlines()[2] == r"| x\|y |  |"
    assert to_markdown([]) == "(nothing)"


RESULTS = ROOT / "docs" / "results"
committed = pytest.mark.parametrize("path", ["accuracy_ksg", "accuracy_clf", "full/accuracy_ksg"])


def options_of(path, data_home):
    options = {"preset": "medium", "journal": RESULTS / f"{path}.jsonl", "data_home": data_home}
    full = {"preset": "full", "datasets": ["colon", "sonar", "leukemia"]}
    return options | full if path.startswith("full/") else options


@committed
def test_committed_outcomes_are_remade_to_the_digit(data_home, path):
    options = options_of(path, data_home) | {"datasets": ["sonar"], "classifiers": ["knn", "svm"]}
    found = verify(Path(path).name, 2, **options)
    assert len(found) == 2
    assert [one.in_words() for one in found if one.differences] == []


@committed
def test_committed_tables_are_those_of_the_committed_journal(data_home, path):
    folder = (RESULTS / path).parent
    tables = run(Path(path).name, **options_of(path, data_home), tables_only=True)
    for table, rows in tables.tables.items():
        assert as_text(rows) == read(folder / f"{table}.csv")
    assert (RESULTS / f"{path}.md").read_text(encoding="utf-8") == tables.to_markdown()


def test_conclusions_are_those_of_the_committed_runs():
    """Counted and averaged here by other means, from every run."""
    runs = pd.read_csv(RESULTS / "accuracy_ksg_runs.csv")
    wide = runs.pivot_table("test_accuracy", ["dataset", "classifier", "run"], "algorithm")
    titles = ["MIM", "mRMR", "JMI", "JMIM", "GSA"]
    change = pd.DataFrame({title: wide[f"{title}-BUR-KSG"] - wide[title] for title in titles})
    by_run = change.stack().groupby(["dataset", "run"]).mean()
    half = stats.t.ppf(0.975, len(by_run) - 1) * by_run.std() / np.sqrt(len(by_run))
    told = conclude(read(RESULTS / "accuracy_ksg.csv"), read(RESULTS / "accuracy_ksg_pooled.csv"))
    mean = by_run.mean()
    stated = f"BUR-KSG: over {len(by_run)} runs it changes test accuracy by {mean:+.2f} points"
    assert f"{stated} ({mean - half:+.2f} to {mean + half:+.2f})" in told[0]
    assert ("within noise in accuracy" in told[0]) == (abs(mean) <= half)
    cells = change.groupby(["dataset", "classifier"]).mean().round(2).stack()
    (wins,) = [sentence for sentence in told if "cell by cell" in sentence]
    ours = f"a gain in {(cells > 0).sum()}, a loss in {(cells < 0).sum()} and no difference in {(cells == 0).sum()}"
    assert f"ours, where run, {ours} of {len(cells)} cells, {cells.mean():+.2f} points on average;" in wins
    published = {(r["classifier"], r["algorithm"], r["dataset"]): float(r["accuracy_percent"])
                 for r in read_expected("accuracy_mrwmr_vs_bur_ksg")}  # fmt: skip
    gains = [round(value - published[c, a.removesuffix("-BUR-KSG"), d], 9)
             for (c, a, d), value in published.items() if a.endswith("-BUR-KSG")]  # fmt: skip
    assert f"the paper has a gain in {sum(g > 0 for g in gains)}, a loss in {sum(g < 0 for g in gains)} and" in wins
