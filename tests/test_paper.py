"""The replay of the publication: its tables on small data, its journal, and what pages say of committed results."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from paper import accuracy, accuracy_clf, accuracy_ksg, dataset_table, datasets, genes, redundancy_sonar
from paper.__main__ import NAMES, main, parser
from paper.accuracy import PRESETS, Asked, journal_of
from paper.conclusions import conclude
from paper.datasets import catalog, checksum, load
from paper.protocol import count_correct, predict, read_journal, settings_of, split_rows
from paper.selectors import Wrapper
from paper.tables import read_expected, read_rows, to_markdown
from unirel.data.datasets import make_planted
from unirel.predictors import standardise

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "paper" / "results"
pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


def as_text(rows):
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


def load_small(name, folder=None, n_columns=12):
    """A small table in place of a dataset, in which the column of gene Hsa.8, or the first one, decides the class."""
    rng = np.random.default_rng(0)
    named = [row["feature"] for row in read_expected("interpretable_features") if row["dataset"] == name]
    X = rng.normal(size=(60, n_columns))
    decides = named.index("Hsa.8") if "Hsa.8" in named else 0
    y = ((X[:, decides] > 0) ^ (rng.random(60) < 0.05)).astype(np.int64)
    suffix = "_at" if name == "leukemia" else ""
    names = [f"{gene}{suffix}" for gene in named] + [f"g{j}" for j in range(n_columns - len(named))]
    return Bunch(data=X, target=y, feature_names=names)


@pytest.fixture
def stand_in(monkeypatch):
    for module in (accuracy, genes):
        monkeypatch.setattr(module, "load", load_small)
    # The curve is compared with the paper's up to size 40.
    monkeypatch.setattr(redundancy_sonar, "load", lambda *given: load_small(*given, n_columns=40))


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sonar")
    asked = Asked("smoke", journal=folder / "runs.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accuracy, "load", load_small)
        tables = accuracy_ksg.compute(asked)
    tables.write(folder / "out")
    return tables, folder, asked


# Every table, from end to end


@pytest.mark.parametrize(
    ("name", "module", "n_rows"), [("mrwmr_vs_bur_ksg", accuracy_ksg, 180), ("bur_clf_vs_wrappers", accuracy_clf, 138)]
)
def test_accuracy_tables_have_all_rows_of_the_paper(stand_in, name, module, n_rows):
    asked = Asked("smoke", n_runs=1, classifiers=("svm",) if module is accuracy_clf else None)
    tables = module.compute(asked).tables
    found = {(cell["row"], cell["dataset"]): cell for cell in tables[module.TABLE.name] if cell["row"] is not None}
    published = read_expected(f"accuracy_{name}")
    assert len(published) == n_rows
    for row in published:
        cell = found[int(row["row"]), row["dataset"]]
        assert (cell["classifier"], cell["algorithm"]) == (row["classifier"], row["algorithm"])
        assert cell["paper_accuracy"] == float(row["accuracy_percent"])
        ran = cell["dataset"] == "sonar" and cell["classifier"] in (asked.classifiers or ("knn",))
        assert (cell["accuracy"] is not None) == ran
    algorithms = {row["algorithm"] for row in tables[f"{module.TABLE.name}_runs"]}
    assert algorithms >= ({"RFE", "FFS", "BFE", "MIM-BUR-CLF"} if module is accuracy_clf else {"unirel", "GSA-BUR-VAL"})
    assert not [cell for cell in found.values() if (cell["classifier"], cell["algorithm"]) == ("knn", "RFE")]


def test_cells_are_means_over_runs_and_pools_average_within_runs(replayed):
    tables = replayed[0].tables
    runs = pd.DataFrame(tables["accuracy_ksg_runs"]).pivot_table("test_accuracy", "run", "algorithm")
    assert runs.shape == (2, 21)
    key = ("sonar", "knn", "GSA-BUR-REF")
    (cell,) = [c for c in tables["accuracy_ksg"] if (c["dataset"], c["classifier"], c["algorithm"]) == key]
    assert cell["accuracy"] == pytest.approx(runs["GSA-BUR-REF"].mean(), abs=0.01)
    assert cell["change"] == pytest.approx((runs["GSA-BUR-REF"] - runs["GSA"]).mean(), abs=0.01)
    pooled = {(row["group"], row["over"]): row for row in tables["accuracy_ksg_pooled"]}
    means = [pooled["BUR-REF", f"{title}-BUR-REF"]["change"] for title in accuracy.TITLES.values()]
    assert pooled["BUR-REF", "all"]["change"] == pytest.approx(np.mean(means), abs=0.01)
    assert pooled["BUR-REF", "all"]["n"] == 2


@pytest.mark.slow
def test_genes(stand_in, tmp_path):
    asked = Asked("smoke", journal=tmp_path / "runs.jsonl")
    tables = genes.compute(asked).tables
    subsets, ranks = tables["genes_subsets"], tables["genes_ranks"]
    assert [row["knn paper"] for row in subsets] == [85.0, 83.2, *[None] * 4, 85.5, 84.1, *[None] * 4]
    # A gene that decides the class is selected, and missed when it is left out.
    assert subsets[0]["selected either"] == "2 of 2"
    assert subsets[0]["knn"] > subsets[1]["knn"] + 10
    named = [row["feature"] for row in read_expected("interpretable_features")]
    assert {row["gene"] for row in ranks} == set(named)
    assert len(ranks) == 5 * len(named)
    assert {row["plain"] for row in ranks if row["gene"] == "Hsa.8"} == {"1"}
    assert genes.compute(asked).tables == tables


def test_redundancy(stand_in, monkeypatch):
    extent = redundancy_sonar.Extent(("default",), ("mim", "gsa"), (0.0, 0.1), 1)
    monkeypatch.setitem(redundancy_sonar.EXTENTS, "smoke", extent)
    monkeypatch.setattr(redundancy_sonar, "_STABLE_SETTINGS", ("default",))
    found = redundancy_sonar.compute(Asked("smoke"))
    assert [row["source"] for row in found.tables["redundancy_sonar_table"]] == ["default", "paper"] * 2
    mim, gsa, mean = found.tables["redundancy_sonar_stability"]
    assert (mim["criterion"], gsa["criterion"], mean["criterion"]) == ("mim", "gsa", "mean")
    assert mim["lower"] + mim["equal"] + mim["higher"] == mim["subsamples"] == 1
    assert "Redundancy rate in percent over subsamples" in found.to_markdown()


def test_dataset_table_without_data_has_facts_but_no_percentages(tmp_path, capsys):
    assert main(["dataset_table", "--preset", "full", "--data", str(tmp_path), "--output", str(tmp_path / "out")]) == 0
    assert "| gas_sensor | 13910 | 13874 |" in capsys.readouterr().out
    rows = read_rows(tmp_path / "out" / "dataset_table.csv")
    assert [row["dataset"] for row in rows] == list(catalog())
    assert all(row["n_features"] == row["paper_n_features"] for row in rows)
    assert {row["ur_auto"] for row in rows} == {""}


# The journal


def test_a_finished_journal_is_enough(replayed, stand_in):
    first, folder, asked = replayed
    assert {path.name for path in (folder / "out").iterdir()} == {
        *(f"accuracy_ksg{end}.csv" for end in ("", "_table", "_pooled", "_runs")),
        "accuracy_ksg.md",
    }
    assert read_rows(folder / "out" / "accuracy_ksg.csv") == as_text(first.tables["accuracy_ksg"])
    before = journal_of(asked.journal, "sonar").read_bytes()
    assert accuracy_ksg.compute(asked).to_markdown() == first.to_markdown()
    assert journal_of(asked.journal, "sonar").read_bytes() == before


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_cut_journal_is_resumed(replayed, stand_in, tmp_path, n_jobs):
    first, _, asked = replayed
    whole = journal_of(asked.journal, "sonar").read_bytes()
    path = tmp_path / "runs.sonar.jsonl"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    again = accuracy_ksg.compute(Asked("smoke", journal=tmp_path / "runs.jsonl", n_jobs=n_jobs))
    assert again.to_markdown() == first.to_markdown()
    keep = [{**json.loads(line), "seconds": 0} for line in path.read_bytes().splitlines()]
    before = [{**json.loads(line), "seconds": 0} for line in whole.splitlines()]
    assert sorted(keep, key=str) == sorted(before, key=str)


def test_tables_are_made_of_whole_runs_of_a_preset(replayed, tmp_path):
    first, _, asked = replayed
    lines = journal_of(asked.journal, "sonar").read_bytes().splitlines(keepends=True)
    (tmp_path / "runs.sonar.jsonl").write_bytes(b"".join(lines[:-3]))
    only = Asked("smoke", journal=tmp_path / "runs.jsonl", tables_only=True)
    found = accuracy_ksg.compute(only).tables["accuracy_ksg_runs"]
    assert found == [row for row in first.tables["accuracy_ksg_runs"] if row["run"] == 0]
    assert read_journal(tmp_path / "runs.sonar.jsonl", "accuracy_clf smoke") == []
    with pytest.raises(ValueError, match="--tables-only needs --journal"):
        accuracy_ksg.compute(Asked("smoke", tables_only=True))


# The protocol


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, split_rows(y, 0)


def test_splits_are_stratified_and_disjoint(wine):
    _, y, split = wine
    assert [len(rows) for rows in split] == [106, 36, 36]
    assert sorted(np.concatenate(split)) == list(range(178))
    shares = [np.bincount(y[rows]) / len(rows) for rows in split]
    assert np.ptp(shares, axis=0).max() < 0.03
    assert not np.array_equal(split.train, split_rows(y, 1).train)


def test_grids_equal_separate_fits(wine):
    X, y, (train, validation, _) = wine
    scaled = standardise(X[:, :3], train)
    forests = predict("rf", X[train, :3], y[train], X[validation, :3], 7)
    for size, found in list(zip(settings_of("rf", 99), forests, strict=True))[::6]:
        peer = RandomForestClassifier(size, random_state=7).fit(X[train, :3], y[train])
        np.testing.assert_array_equal(found, peer.predict(X[validation, :3]))
    votes = predict("knn", scaled[train], y[train], scaled[validation], 0)
    for number, found in zip(settings_of("knn", len(train)), votes, strict=True):
        peer = KNeighborsClassifier(number).fit(scaled[train], y[train])
        np.testing.assert_array_equal(found, peer.predict(scaled[validation]))
    assert settings_of("knn", 12) == [3, 5, 7, 9, 11]


def test_counts_equal_pipelines(wine):
    X, y, split = wine
    counts = count_correct("svm", X, y, split, [4, 0, 2], 0)
    for row, cost in zip(counts, settings_of("svm", 0), strict=True):
        model = make_pipeline(StandardScaler(), LinearSVC(dual=False, C=cost))
        model.fit(X[split.train][:, [0, 2, 4]], y[split.train])
        peer = [(model.predict(X[rows][:, [0, 2, 4]]) == y[rows]).sum() for rows in (split.validation, split.test)]
        assert row.tolist() == peer


@pytest.mark.parametrize("method", ["ffs", "bfe", "rfe"])
@pytest.mark.parametrize("name", ["knn", "svm", pytest.param("rf", marks=pytest.mark.slow)])
def test_wrappers_find_informative_features(method, name):
    planted = make_planted(120, n_informative=2, n_copies=0, n_noise=6, random_state=1)
    wrapper = Wrapper(method, 5)
    assert wrapper.suits(name) == (method != "rfe" or name != "knn")
    if wrapper.suits(name):
        order = wrapper.order(planted.data, planted.target, 4, name, 0)
        assert len(order) == len(set(order)) == 4
        assert set(order[:2]) == set(planted.informative)


def test_forward_selection_equals_scikit_learn():
    X, y = load_wine(return_X_y=True)
    X = standardise(X[:, [12, 9, 6, 5, 3, 1]], np.arange(len(X)))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)

    def n_correct(model, X, y):
        return int((model.predict(X) == y).sum())

    peer = SequentialFeatureSelector(KNeighborsClassifier(5), n_features_to_select=3, scoring=n_correct, cv=folds)
    assert set(Wrapper("ffs").order(X, y, 3, "knn", 0)) == set(np.flatnonzero(peer.fit(X, y).support_))


def test_presets():
    preset = PRESETS["medium"]
    assert preset.sizes[:61] == (*range(1, 61), 70)
    assert preset.grid(128)[-2:] == [120, 128]
    assert PRESETS["smoke"].grid(6) == [1, 3, 6]
    assert PRESETS["full"].grid(3) == [1, 2, 3]
    assert "numbers 1 to 60 and then every 10th of features" in preset.in_words("7")


# Datasets


def test_files_must_hold_what_the_catalogue_says(tmp_path, monkeypatch):
    data, target = np.random.default_rng(0).normal(size=(208, 60)), np.arange(208) % 2
    columns = {f"f{j}": data[:, j] for j in range(60)}
    pa.parquet.write_table(pa.table({**columns, "target": target}), tmp_path / "sonar.parquet")
    with pytest.raises(ValueError, match="the values are not those of sonar"):
        load("sonar", tmp_path)
    changed = {"sonar": datasets.Entry("sonar", "", "", 208, 60, ("M", "R"), checksum(data, target), {})}
    monkeypatch.setattr(datasets, "catalog", lambda: changed)
    monkeypatch.setenv("UNIREL_DATA", str(tmp_path))
    bunch = load("sonar")
    np.testing.assert_array_equal(bunch.data, data)
    pa.parquet.write_table(pa.table(columns), tmp_path / "sonar.parquet")
    with pytest.raises(ValueError, match="the last column must be 'target', but it is 'f59'"):
        load("sonar")


def test_openml_comes_last(tmp_path, monkeypatch):
    def answer(**arguments):
        assert arguments["data_id"] == 300
        labels = np.array(["b", "a"] * 3898 + ["a"], dtype=object)
        return Bunch(data=np.zeros((7797, 617)), target=labels, feature_names=["x"] * 617)

    monkeypatch.setattr(datasets, "fetch_openml", answer)
    with pytest.warns(UserWarning, match="isolet from OpenML has 7797 rows; the paper used 1560"):
        assert load("isolet", tmp_path).target_names == ["a", "b"]
    with pytest.raises(FileNotFoundError, match="OpenML has no copy of it"):
        load("colon", tmp_path)
    with pytest.raises(ValueError, match="dataset='iris' is not one of 'colon'"):
        load("iris")
    with pytest.raises(FileNotFoundError, match="is no folder"):
        load("colon", tmp_path / "none")


@pytest.mark.parametrize("name", catalog())
def test_files_of_the_paper(name, data_home):
    bunch, entry = load(name, data_home), catalog()[name]
    assert bunch.data.shape == (entry.n_samples, entry.n_features)
    assert len(np.unique(bunch.target)) == len(entry.target_names) == entry.paper["n_classes"]


# The command


def test_the_command(capsys, tmp_path):
    assert main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(NAMES)
    assert main(["accuracy_ksg", "--data", str(tmp_path), "--datasets", "colon"]) == 1
    assert "OpenML has no copy" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["nothing"])


def test_commands_on_pages_are_understood():
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("re*.rst")]
    commands = [line for page in pages for line in re.sub(r"\\\n *", "", page).splitlines() if "-m paper " in line]
    assert len(commands) > 8
    for command in commands:
        if "$" in command:
            assert set(parser().parse_args(shlex.split(command.split("-m paper ")[1])).names) <= {*NAMES, "all"}


# Committed results, and what pages say of them


def test_markdown_cells_cannot_break_the_table():
    assert to_markdown([{"a": "x|y", "b": None}]).splitlines()[2] == r"| x\|y |  |"


def test_expected_rates_agree_with_their_counts():
    for row in read_expected("redundancy_rate_sonar"):
        rate = 100 * int(row["n_redundant"]) / int(row["n_saturated"])
        assert rate == pytest.approx(float(row["redundancy_rate_percent"]), abs=0.06)


# The exact p-values of ten splits with ties take scipy a while.
@pytest.mark.parametrize(
    "path", [pytest.param("accuracy_ksg", marks=pytest.mark.slow), "accuracy_clf", "full/accuracy_ksg"]
)
def test_committed_tables_are_those_of_the_committed_journal(path):
    full = {"preset": "full", "datasets": ("colon", "sonar", "leukemia")} if path.startswith("full") else {}
    asked = Asked(**{"preset": "medium", "journal": RESULTS / f"{path}.jsonl", "tables_only": True, **full})
    tables = (accuracy_clf if "clf" in path else accuracy_ksg).compute(asked)
    for table, rows in tables.tables.items():
        assert as_text(rows) == read_rows((RESULTS / path).with_name(f"{table}.csv"))
    assert (RESULTS / f"{path}.md").read_text(encoding="utf-8") == tables.to_markdown()


def test_committed_results_say_which_version_made_them():
    rows = read_rows(RESULTS / "versions.csv")
    named = {name for row in rows for name in row["files"].split(", ")}
    files = {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*") if path.is_file()}
    assert named == files - {"versions.csv", "hours.csv"}
    assert all(len(row["commit"]) == 7 for row in rows)


def test_a_row_of_the_committed_table_of_datasets_comes_out(data_home):
    (sonar,) = [row for row in dataset_table.compute(Asked("smoke", data_home)).tables["dataset_table"]
                if row["dataset"] == "sonar"]  # fmt: skip
    assert as_text([sonar])[0] in read_rows(RESULTS / "dataset_table.csv")


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


def test_conclusions_are_those_of_the_committed_runs():
    """Counted and averaged here by other means, from every run."""
    runs = pd.read_csv(RESULTS / "accuracy_ksg_runs.csv")
    wide = runs.pivot_table("test_accuracy", ["dataset", "classifier", "run"], "algorithm")
    titles = ["MIM", "mRMR", "JMI", "JMIM", "GSA"]
    change = pd.DataFrame({title: wide[f"{title}-BUR-KSG"] - wide[title] for title in titles})
    by_run = change.stack().groupby(["dataset", "run"]).mean()
    half = stats.t.ppf(0.975, len(by_run) - 1) * by_run.std() / np.sqrt(len(by_run))
    told = conclude(read_rows(RESULTS / "accuracy_ksg.csv"), read_rows(RESULTS / "accuracy_ksg_pooled.csv"))
    mean = by_run.mean()
    stated = f"BUR-KSG: over {len(by_run)} runs it changes test accuracy by {mean:+.2f} points"
    assert f"{stated} ({mean - half:+.2f} to {mean + half:+.2f})" in told[0]
    assert ("within noise in accuracy" in told[0]) == (abs(mean) <= half)
    cells = change.groupby(["dataset", "classifier"]).mean().round(2).stack()
    (wins,) = [sentence for sentence in told if "cell by cell" in sentence]
    ours = f"a gain in {(cells > 0).sum()}, a loss in {(cells < 0).sum()} and no difference in {(cells == 0).sum()}"
    assert f"ours, where run, {ours} of {len(cells)} cells, {cells.mean():+.2f} points on average;" in wins


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("replayed", ROOT / "docs" / "replayed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_where_the_hours_went(pages):
    lines = pd.read_csv(RESULTS / "hours.csv")
    rows = pages.hours_table()
    assert sum(row["times given"] for row in rows) == len(lines)
    total = lines["processor seconds"].sum() / 3600
    assert sum(float(row["hours"]) for row in rows) == pytest.approx(total, abs=0.005 * len(rows))
    assert pages.hours() == f"{total:.1f}"


def test_the_page_says_what_the_tables_of_genes_hold(pages):
    told = pages.conclusions_of_genes()
    ranks = pd.read_csv(RESULTS / "genes_ranks.csv", dtype=str)
    places = ranks[["plain", "BUR-KSG", "BUR-REF"]].apply(pd.to_numeric, errors="coerce").fillna(np.inf)
    for boost in ("BUR-KSG", "BUR-REF"):
        forward, back = (places[boost] < places["plain"]).sum(), (places[boost] > places["plain"]).sum()
        assert f"{boost} brings a named gene forward in {forward} of {len(ranks)} cases" in told
        assert f"and back in {back};" in told
    known = ranks[ranks["UR"] != "none"]["gene"].nunique()
    assert f"UR above 0: {known} of the {ranks['gene'].nunique()} named genes" in told
    subsets = pd.read_csv(RESULTS / "genes_subsets.csv").set_index(["subset", "algorithm"])
    change = subsets["svm"]["S with both"] - subsets["svm"]["S"]
    assert f"{change.min():+.1f} to {change.max():+.1f} (svm)" in told
