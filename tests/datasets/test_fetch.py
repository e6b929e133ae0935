"""Datasets by name: where they are looked for, and what is said when they are not right."""

from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

import unirel
from unirel.datasets import catalog, describe, fetch, load

PAPER = ["colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor"]
BUILTIN = ["breast_cancer", "wine", "iris", "digits", "diabetes"]


@pytest.fixture
def offline(monkeypatch):
    """OpenML cannot be reached; no folder is named."""

    def fail(**_):
        raise URLError("name or service not known")

    monkeypatch.delenv("UNIREL_DATA", raising=False)
    monkeypatch.setattr(fetch.builtin, "fetch_openml", fail)


@pytest.fixture
def tiny(monkeypatch):
    """A catalogue with sonar as 4 rows and 2 features; returns its values."""
    data, target = np.array([[0.5, 1], [1, 2], [2, 3], [3, 4]]), np.array([0, 1, 0, 1])
    entry = catalog.Entry(
        "sonar",
        "tiny",
        "continuous",
        4,
        2,
        2,
        ("M", "R"),
        catalog.checksum(data, target),
        None,
        catalog.OpenML(40, 4, 2),
    )
    monkeypatch.setattr(catalog, "catalog", lambda: {"sonar": entry})
    monkeypatch.delenv("UNIREL_DATA", raising=False)
    return data, target


def write(folder, data, target, name="sonar", last="target"):
    polars = pytest.importorskip("polars")
    columns = {f"f{i}": column for i, column in enumerate(data.T)}
    polars.DataFrame({**columns, last: target}).write_parquet(folder / f"{name}.parquet")


@pytest.mark.parametrize("name", BUILTIN)
def test_scikit_learn_has_what_the_catalogue_says(name):
    bunch, entry = load(name), catalog.catalog()[name]
    assert bunch.data.shape == (entry.n_samples, entry.n_features) == (len(bunch.target), len(bunch.feature_names))
    assert (bunch.name, bunch.source) == (name, "scikit-learn")
    if entry.n_classes is not None:
        assert len(np.unique(bunch.target)) == entry.n_classes == len(bunch.target_names)
    else:
        assert "target_names" not in bunch


@pytest.mark.parametrize("name", PAPER)
def test_files_have_what_the_catalogue_says(name, data_home):
    bunch, entry = load(name, data_home), catalog.catalog()[name]
    assert bunch.data.shape == (entry.n_samples, entry.n_features)
    assert len(np.unique(bunch.target)) == entry.n_classes == len(bunch.target_names) == entry.paper.n_classes
    assert bunch.frame.shape == (entry.n_samples, entry.n_features + 1)


def test_data_home_comes_before_the_environment(tiny, tmp_path, monkeypatch):
    data, target = tiny
    named, environment = tmp_path / "named", tmp_path / "environment"
    for folder in (named, environment):
        folder.mkdir()
        write(folder, data, target)
    monkeypatch.setenv("UNIREL_DATA", str(environment))
    assert load("sonar").source == str(environment / "sonar.parquet")
    bunch = load("sonar", named)
    assert bunch.source == str(named / "sonar.parquet")
    np.testing.assert_array_equal(bunch.data, data)
    np.testing.assert_array_equal(bunch.target, target)


def test_openml_comes_last(tiny, tmp_path, monkeypatch):
    data, target = tiny
    labels = np.array(["Rock" if label else "Mine" for label in target], dtype=object)
    asked = []

    def answer(**arguments):
        asked.append(arguments["data_id"])
        return Bunch(data=data, target=labels, feature_names=["a", "b"])

    monkeypatch.setattr(fetch.builtin, "fetch_openml", answer)
    bunch = load("sonar", tmp_path)
    assert asked == [40]
    assert (bunch.target_names, bunch.source) == (["Mine", "Rock"], "OpenML, data id 40")
    np.testing.assert_array_equal(bunch.target, target)


def test_openml_with_another_shape_is_refused(tiny, monkeypatch):
    bunch = Bunch(data=np.zeros((3, 2)), target=np.zeros(3), feature_names=["a", "b"])
    monkeypatch.setattr(fetch.builtin, "fetch_openml", lambda **_: bunch)
    with pytest.raises(ValueError, match=r"should have 4 rows and 2 features, but there are 3 rows and 2 features"):
        load("sonar")


def test_openml_with_more_rows_than_the_paper_warns(monkeypatch):
    monkeypatch.delenv("UNIREL_DATA", raising=False)
    bunch = Bunch(data=np.zeros((7797, 617)), target=np.arange(7797) % 26, feature_names=["a"] * 617)
    monkeypatch.setattr(fetch.builtin, "fetch_openml", lambda **_: bunch)
    with pytest.warns(unirel.UnirelWarning, match="7797 rows; the paper used 1560"):
        load("isolet")


def test_wrong_shape_names_both(tiny, tmp_path):
    data, target = tiny
    write(tmp_path, data[:3], target[:3])
    with pytest.raises(ValueError, match=r"sonar.parquet.*4 rows and 2 features, but there are 3 rows and 2 features"):
        load("sonar", tmp_path)


def test_wrong_values_name_both_checksums(tiny, tmp_path):
    data, target = tiny
    other = data + 1e-9
    write(tmp_path, other, target)
    found, expected = catalog.checksum(other, target), catalog.checksum(data, target)
    with pytest.raises(ValueError, match=f"(?s)sonar.parquet.*{found}.*{expected}"):
        load("sonar", tmp_path)


def test_last_column_must_be_the_target(tiny, tmp_path):
    write(tmp_path, *tiny, last="label")
    with pytest.raises(ValueError, match="last column must be 'target', but it is 'label'"):
        load("sonar", tmp_path)


def test_a_broken_file_is_one_clear_line(tiny, tmp_path):
    (tmp_path / "sonar.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match=r"sonar.parquet cannot be read as parquet") as error:
        load("sonar", tmp_path)
    assert "\n" not in str(error.value)


def test_offline_names_the_remedy(offline):
    with pytest.raises(OSError, match=r"sonar: .*data id 40.*pass data_home=, or set \$UNIREL_DATA") as error:
        load("sonar")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["colon", "leukemia"])
def test_what_openml_has_not_is_said(offline, name):
    with pytest.raises(FileNotFoundError, match=r"OpenML has no copy of it; pass data_home="):
        load(name)


def test_a_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"data_home=.*is no folder"):
        load("sonar", tmp_path / "nowhere")
    monkeypatch.setenv("UNIREL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"\$UNIREL_DATA=.*is no folder"):
        load("sonar")


def test_unknown_name_lists_close_ones_and_all():
    with pytest.raises(ValueError, match=r"no dataset 'sonnar'; did you mean 'sonar'\? There are colon, sonar, .*iris"):
        load("sonnar")
    with pytest.raises(ValueError, match=r"no dataset 'zzz'; there are colon, sonar"):
        load("zzz")


def test_describe_has_the_papers_facts(offline):
    rows = {row["name"]: row for row in describe()}
    assert list(rows) == [*PAPER, *BUILTIN]
    assert rows["gas_sensor"]["paper_n_samples"] == 13874
    assert (rows["sonar"]["paper_unique_relevance"], rows["sonar"]["source"], rows["sonar"]["openml"]) == (
        *(28.3, "OpenML"),
        40,
    )
    assert rows["colon"]["source"] == "nowhere"
    assert all(row["unique_relevance"] is None for row in rows.values())


def test_describe_finds_unique_relevance_of_what_is_here(offline):
    rows = describe(names=["iris", "colon"], unique_relevance=True)
    bunch = load("iris")
    assert rows[0]["unique_relevance"] == 100 * np.mean(unirel.unique_relevance(bunch.data, bunch.target) > 0)
    assert rows[1]["unique_relevance"] is None


def test_catalogue_repeats_the_published_table():
    table = Path(__file__).parents[3] / "shared" / "paper" / "datasets.csv"
    if not table.is_file():
        pytest.skip("the published table is not here")
    for line in table.read_text().splitlines()[1:]:
        name, n_features, n_samples, n_classes, kind, percent = line.split(",")
        entry = catalog.catalog()[name]
        assert entry.paper == catalog.Paper(int(n_samples), int(n_features), int(n_classes), float(percent))
        assert entry.kind == kind


def test_a_line_of_the_catalogue_is_all_it_takes_to_add_a_dataset(tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from unirel.cli import main
    from unirel.evaluation import compare

    lines = (Path(catalog.__file__).parent / "catalog.toml").read_text(encoding="utf-8")
    added = '[mine]\ntitle = "Mine"\nkind = "continuous"\nn_samples = 60\nn_features = 3\ntarget_names = ["a", "b"]\n'
    (tmp_path / "catalog.toml").write_text(lines + added, encoding="utf-8")
    monkeypatch.setattr(catalog, "files", lambda _: tmp_path)
    monkeypatch.setenv("UNIREL_DATA", str(tmp_path))
    data = np.random.default_rng(0).normal(size=(60, 3))
    write(tmp_path, data, (data[:, 0] > 0).astype(int), name="mine")
    catalog.catalog.cache_clear()
    try:
        assert load("mine").target_names == ["a", "b"]
        assert [row["source"] for row in describe() if row["name"] == "mine"] == ["file"]
        assert main(["datasets"]) == 0
        assert "mine" in capsys.readouterr().out
        assert main(["select", "mine", "-k", "1", "--csv"]) == 0
        assert "f0" in capsys.readouterr().out
        assert len(compare("mine", ["mim"], ["knn"], n_runs=1)) == 1
    finally:
        catalog.catalog.cache_clear()
