"""What is said about waiting, and samples that make it shorter."""

import gzip
import json

import numpy as np
import pytest

from unirel.cli.forecast import Shape, forecast, guess_shape, wait_in_words

USUAL = {
    "n_features_to_select": 10,
    "estimator": "auto",
    "beta": 0.5,
    "unique_relevance": "both",
    "unique_samples": 2000,
}


def write(path, n_rows, n_columns, separator=","):
    rng = np.random.default_rng(0)
    rows = [separator.join(f"name {place}" for place in range(n_columns))]
    rows += [separator.join(f"{value:.4f}" for value in row) for row in rng.standard_normal((n_rows, n_columns))]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_shape_is_known_before_a_file_is_read(tmp_path, separator):
    path = write(tmp_path / "data.csv", 5000, 7, separator)
    shape = guess_shape(str(path))
    assert shape.n_columns == 7
    assert shape.n_rows == pytest.approx(5000, rel=0.02)
    assert shape.n_bytes == path.stat().st_size


def test_parquet_says_its_shape(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": range(50), "b": range(50)}), tmp_path / "data.parquet")
    assert guess_shape(str(tmp_path / "data.parquet")) == Shape(50, 2, 0)
    (tmp_path / "bad.parquet").write_text("no table")
    assert guess_shape(str(tmp_path / "bad.parquet")) is None


def test_what_does_not_say_its_shape(tmp_path):
    (tmp_path / "one").write_text("a,b")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100))
    for source in ("-", "iris", str(tmp_path), str(tmp_path / "one"), str(tmp_path / "data.csv.gz")):
        assert guess_shape(source) is None


def test_only_long_work_is_announced():
    assert wait_in_words(Shape(150, 5, 4000), forecast(Shape(150, 5, 4000), USUAL, page=True)) == ""
    large = Shape(20_000_000, 30, 4 * 10**9)
    words = wait_in_words(large, forecast(large, USUAL, page=True))
    assert words.startswith("about 20,000,000 rows, 30 columns: this may take ")
    assert words.endswith(" min; faster with a Parquet file")


def test_what_makes_it_faster_is_what_takes_long():
    shape = Shape(50_000, 20, 0)
    seconds = forecast(shape, {**USUAL, "estimator": "knn", "unique_samples": "none"}, page=False)
    words = wait_in_words(shape, seconds)
    assert "faster with --unique-samples 1000 or --beta 0" in words
    assert "--estimator binned" in forecast(shape, {**USUAL, "estimator": "knn"}, page=False)
    without = forecast(shape, {**USUAL, "beta": 0.0, "n_features_to_select": "auto"}, page=False)
    assert not any("beta" in way for way in without)
    assert sum(without.values()) < sum(seconds.values())


def test_the_command_says_it_first(unirel, table, monkeypatch):
    monkeypatch.setattr("unirel.cli.forecast.WORTH_SAYING", 0.0)
    done = unirel("select", table, "-t", "class")
    assert done.err.startswith("unirel: about 12")
    assert "this may take " in done.err.splitlines()[0]
    assert unirel("select", table, "-t", "class", "--quiet").err == ""


@pytest.mark.parametrize("command", ["redundancy", "compare"])
def test_a_sample_of_many_rows_is_taken_and_said(unirel, table, command):
    options = ["--runs", 1, "--classifiers", "knn", "--max-features", 2] if command == "compare" else []
    sample = unirel(command, table, "-t", "class", *options, "--max-rows", 60, "--json")
    assert "took a sample of 60 of the 120 rows" in sample.err
    assert "--max-rows 120 takes all" in sample.err
    whole = unirel(command, table, "-t", "class", *options, "--max-rows", 120, "--json")
    assert "sample" not in whole.err
    assert json.loads(sample.out) != json.loads(whole.out)
    again = unirel(command, table, "-t", "class", *options, "--max-rows", 60, "--json")
    if command == "redundancy":  # a comparison says how long it took
        assert again.out == sample.out
