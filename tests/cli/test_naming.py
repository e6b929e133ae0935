"""Patterns and types of columns on the command line, and what `--save` writes for the library."""

import json

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector, Selection


@pytest.fixture
def file(tmp_path, rng):
    """Four measurements, a text and a date of 80 rows."""
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=["lab_b", "lab_a", "age", "size"])
    X["city"], X["day"] = rng.choice(["x", "y", "z"], 80), pd.date_range("2020-01-01", periods=80).date
    X["class"] = np.select([X["lab_a"] > 0.5, X["age"] > 0], ["one", "two"], "three")
    X.to_csv(tmp_path / "file.csv", index=False)
    return tmp_path / "file.csv"


def names(done):
    assert done.code == 0, done.err
    return [row["name"] for row in json.loads(done.out)["features"]]


def test_patterns_and_types(unirel, file):
    ask = ["select", file, "-t", "class", "-k", "all", "--json"]
    assert names(unirel(*ask, "--include", "city,lab_*"))[:3] == ["city", "lab_b", "lab_a"]
    assert set(names(unirel(*ask, "--exclude", "lab_?", "--exclude", "dtype:string"))) == {"age", "size", "day"}
    assert set(names(unirel(*ask, "--exclude", "dtype:number,dtype:datetime"))) == {"city"}
    assert set(names(unirel(*ask, "--drop", "lab_*,[cd]*y"))) == {"age", "size"}
    kinds = json.loads(unirel(*ask, "--discrete", "[as]*e", "--drop", "lab_*").out)["features"]
    assert {row["name"]: row["kind"] for row in kinds}.items() >= {"age": "discrete", "size": "discrete"}.items()
    assert json.loads(unirel(*ask, "--include", "lab_*").out)["settings"]["include"] == ["lab_*"]


@pytest.mark.parametrize("flag", ["--include", "--exclude", "--drop", "--discrete"])
def test_a_pattern_that_matches_nothing(unirel, file, flag):
    error = unirel("select", file, "-t", "class", flag, "lob_*").error
    assert error == f"{flag}: no column is like 'lob_*'; did you mean 'lab_b'?"


def test_types_go_with_flags_that_force(unirel, file):
    ask = ["select", file, "-t", "class", "-q"]
    assert "'dtype:bol' is no column, and no type of columns" in unirel(*ask, "--exclude", "dtype:bol").error
    assert unirel(*ask, "--drop", "dtype:bool").error.startswith("--drop: no column is like 'dtype:bool'")


def test_what_is_saved_is_read_by_the_library(unirel, file, tmp_path):
    saved = tmp_path / "s.json"
    assert unirel("select", file, "-t", "class", "-k", 3, "--save", saved, "-q").code == 0
    X = pd.read_csv(file, parse_dates=["day"]).drop(columns="class")
    selection = Selection.from_json(saved)
    assert selection.selected_names == [row["name"] for row in json.loads(saved.read_text())["features"]]
    assert selection.names == tuple(X.columns)
    assert set(selection.for_class) <= {"one", "two", "three"}
    restored = BURSelector.from_selection(selection)
    assert list(restored.transform(X).columns) == [name for name in X if name in selection.selected_names]
    assert restored.to_sklearn().transform(X).shape == (80, 3)


def test_what_the_library_writes_is_applied(unirel, file, tmp_path):
    X = pd.read_csv(file, usecols=["age", "size", "lab_a"])
    selection = BURSelector(n_features_to_select=2).fit(X, X["age"] > 0).selection_
    (tmp_path / "s.json").write_text(selection.to_json())
    assert unirel("apply", tmp_path / "s.json", file, "-o", tmp_path / "small.csv").code == 0
    assert list(pd.read_csv(tmp_path / "small.csv").columns) == selection.selected_names


def test_files_of_older_versions_are_applied_but_lack_what_a_selection_is(unirel, file, tmp_path):
    old = {
        "schema": "unirel/selection",
        "version": 1,
        "unirel": "0.1.0",
        "features": [{"name": "age"}, {"name": "city"}],
    }
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert unirel("apply", tmp_path / "old.json", file, "-o", tmp_path / "small.csv").code == 0
    assert list(pd.read_csv(tmp_path / "small.csv").columns) == ["age", "city"]
    with pytest.raises(ValueError, match="written by an older version, without its fields"):
        Selection.from_json(tmp_path / "old.json")


@pytest.mark.parametrize("features", [None, 5, [], [5], [{"name": 1}], [{}], {"name": "age"}])
def test_documents_without_names_are_refused(unirel, file, tmp_path, features):
    (tmp_path / "s.json").write_text(json.dumps({"schema": "unirel/selection", "version": 1, "features": features}))
    assert "holds no selected features" in unirel("apply", tmp_path / "s.json", file, "-o", tmp_path / "o.csv").error
