"""`unirel select`: what it prints and writes."""

import csv
import html
import io
import json
import math
import os
import re
import shlex
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from unirel.cli.select import number

GOLDEN = Path(__file__).parent / "golden"


def assert_like(found, expected, where="$"):
    """Equal, with numbers that may differ by rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key, value in expected.items():
            assert_like(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_like(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (where, found, expected)
    else:
        assert found == expected, where


def test_prints_a_table_and_words(unirel, table):
    done = unirel("select", table, "--target", "class", "-k", 3)
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0].split() == ["step", "name", "relevance", "unique", "most", "similar"]
    assert lines[-1] == f"Next: unirel select {table} --target class -k 3 --report page.html"
    said = " ".join(done.out.split())
    assert "3 of 4 features selected. " in said
    assert "'class': 120 rows, 2 classes; percentages are of its entropy, 0.69 nats." in said
    assert len(done.out.split("\n\n", 1)[1].splitlines()) <= 12
    assert "\x1b" not in done.out


def test_what_is_rounded_to_nothing_has_no_sign():
    assert [number(value, ".3f") for value in (-0.0004, -0.0006, 0.0, None)] == ["0.000", "-0.001", "0.000", ""]


@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_json_is_as_before(unirel, name):
    done = unirel("select", name, "-k", 3, "--json")
    assert (done.code, done.err) == (0, "")
    found = {**json.loads(done.out), "unirel": "", "words": ""}
    path = GOLDEN / f"select_{name}.json"
    if os.environ.get("UNIREL_WRITE_GOLDEN"):
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert_like(found, json.loads(path.read_text(encoding="utf-8")))


def test_json_twice_is_the_same(unirel, table):
    first, second = (unirel("select", table, "-t", "class", "--json").out for _ in range(2))
    assert first == second


def test_jobs_change_nothing(unirel, table):
    first, second = (unirel("select", table, "-t", "class", "--json", "-j", jobs).out for jobs in (1, 2))
    assert first == second


def test_csv(unirel, table):
    done = unirel("select", table, "-t", "class", "-k", 2, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["step"] for row in rows] == ["1", "2"]
    assert {"name", "kind", "score", "relevance", "unique_relevance", "partner", "shared"} <= set(rows[0])


def test_the_copy_is_the_most_redundant_partner(unirel, table):
    done = unirel("select", table, "-t", "class", "-k", 4, "--json")
    features = {feature["name"]: feature for feature in json.loads(done.out)["features"]}
    assert features["a"]["partner"] == "copy"
    assert features["a"]["shared"] > 0.97
    assert features["noise"]["shared"] < 0.5


@pytest.mark.parametrize(("k", "n"), [("2", 2), ("0.5", 2), ("10", 4)])
def test_number_of_features(unirel, table, k, n):
    done = unirel("select", table, "-t", "class", "--json", *([] if k is None else ["-k", k]))
    assert len(json.loads(done.out)["features"]) == n


def test_auto_leaves_noise_out(unirel, table):
    names = [
        row["name"]
        for row in json.loads(unirel("select", table, "-t", "class", "-k", "auto", "--json").out)["features"]
    ]
    assert "noise" not in names


def test_without_a_number_what_adds_something_is_selected_and_the_next_are_listed(unirel, table):
    done = unirel("select", table, "-t", "class")
    lines = done.out.splitlines()
    end = lines.index("", lines.index("") + 1)
    selected, following = lines[2 : lines.index("")], lines[lines.index("") + 1 : end]
    assert [line.split()[0] for line in selected] == ["1", "2"]
    names = [line.split()[1] for line in selected]
    twin = "copy" if "a" in names else "a"
    assert "b" in names
    assert [line.split()[:2] for line in following] == [["next", "noise"]]
    assert all("none" in line for line in following)
    said = " ".join(done.out.split())
    assert "2 of 4 features selected." in said
    assert "No other feature adds anything that can be told from chance; the next in order are listed below" in said
    content = json.loads(unirel("select", table, "-t", "class", "--json").out)
    assert content["settings"]["n_features_to_select"] == "auto:20"
    assert content["n_supported"] == 2
    assert content["following"] == ["noise"]
    assert set(content["same_as"]) == {twin}
    assert "given_others" in content["features"][0]
    passed = json.loads(unirel("select", table, "-t", "class", "-k", 3, "--json").out)
    assert set(passed["same_as"]) == {twin}
    assert "Passed over as near copies: " in passed["words"]


def test_with_a_number_it_is_said_after_which_step_nothing_is_added(unirel, table):
    said = " ".join(unirel("select", table, "-t", "class", "-k", 4).out.split())
    assert "4 of 4 features selected. The first 2 are enough: " in said
    assert "; steps 3 and 4 add nothing detectable." in said
    assert "is a near copy of" in said


@pytest.fixture
def noise(tmp_path):
    """Sensors that have nothing to do with the target."""
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    rows = np.column_stack([rng.standard_normal((200, 60)).round(4), rng.random(200) < 0.2])
    np.savetxt(path, rows, delimiter=",", header=",".join([*(f"s{j}" for j in range(60)), "fails"]), comments="")
    return path


@pytest.mark.parametrize("k", [[], ["-k", 10]])
def test_the_best_of_noise_is_called_so(unirel, noise, k):
    done = unirel("select", noise, "-t", "fails", *k)
    said = " ".join(done.out.split())
    headline = "No feature can be told from chance (60 tested, false discovery rate 5 %). The ten listed are the best"
    assert headline in said
    assert sum(line.split()[1 if k else 0].startswith("s") for line in done.out.splitlines()[2:12]) == 10
    assert not any(word in said for word in ("carry", "enough", "Given", "Significant"))
    content = json.loads(unirel("select", noise, "-t", "fails", *k, "--json").out)
    assert len(content["features"]) + len(content["following"]) == 10
    assert content["n_supported"] == 0
    assert headline in content["words"]


def test_marks_that_are_taken_as_classes_name_the_flag(unirel, tmp_path):
    rng = np.random.default_rng(0)
    marks = rng.integers(0, 17, 400)
    path = tmp_path / "marks.csv"
    np.savetxt(
        path, np.column_stack([marks + rng.standard_normal(400), marks]), "%g", ",", header="x,mark", comments=""
    )
    said = " ".join(unirel("select", path, "-t", "mark").out.split())
    assert "17 distinct numbers are taken as classes" in said
    assert "--target-type continuous" in said
    assert "distinct numbers" not in unirel("select", path, "-t", "mark", "--target-type", "continuous").out


def test_percentages_are_of_the_entropy(unirel, table):
    """A relevance of 0.004 nats is no 0.00, and no bar stands beside it."""
    done = unirel("select", table, "-t", "class", "-k", 4)
    content = json.loads(unirel("select", table, "-t", "class", "-k", 4, "--json").out)
    for line, row in zip(done.out.splitlines()[2:6], content["features"], strict=True):
        share = float(line.split("%")[0].split()[-1])
        assert share == pytest.approx(100 * row["relevance"] / np.log(2), abs=0.51)
    assert "nats" not in done.out.split("\n\n")[0]


def test_stability_says_how_often_features_come_out(unirel, table):
    done = unirel("select", table, "-t", "class", "-k", 2, "--stability", 10, "--json")
    content = json.loads(done.out)
    assert content["stability"]["n_subsamples"] == 10
    assert {"a", "copy", "b", "noise"} == {feature["name"] for feature in content["stability"]["features"]}
    often = {feature["name"]: feature["frequency"] for feature in content["stability"]["features"]}
    assert [row["frequency"] for row in content["features"]] == [often[row["name"]] for row in content["features"]]
    assert {row["significant"] for row in content["features"]} <= {"yes", "no"}
    assert unirel("select", table, "-t", "class", "--stability", 1).code == 2


def test_stability_stands_beside_each_feature(unirel, table, tmp_path):
    page = tmp_path / "page.html"
    done = unirel("select", table, "-t", "class", "-k", 4, "--stability", 10, "--report", page)
    lines = done.out.splitlines()
    assert lines[0].split()[-2:] == ["selected", "in"]
    assert all(line.split()[-1].endswith("%") for line in lines[2:6])
    assert max(map(len, lines[:6])) <= 80
    marked = [line.split()[1] for line in lines[2:6] if "?" in line]
    assert marked == ["noise"]
    words = " ".join(done.out.split())
    assert "A question mark stands beside a relevance that may be chance." in words
    assert "10 random halves of the rows" in words
    assert "subsamples" in page.read_text(encoding="utf-8")


def test_stability_needs_all_rows(unirel, table, tmp_path):
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(table), tmp_path / "part.parquet")
    parts = unirel("select", f"{tmp_path}/*.parquet", "-t", "class", "--stability", 10)
    assert parts.code == 2
    assert "--stability 10 needs all rows in memory" in parts.err


def test_include_exclude_and_drop(unirel, table):
    options = ["--include", "noise", "--exclude", "a", "--drop", "copy", "-k", 2]
    done = unirel("select", table, "-t", "class", "--json", *options)
    content = json.loads(done.out)
    assert [feature["name"] for feature in content["features"]] == ["noise", "b"]
    assert content["data"]["dropped"] == ["copy"]


@pytest.mark.parametrize("method", ["reference", "ksg", "classifier", "none"])
def test_every_kind_of_unique_relevance(unirel, table, method):
    done = unirel("select", table, "-t", "class", "-u", method, "--json")
    content = json.loads(done.out)
    assert content["beta"] == (0 if method == "none" else 0.5)
    assert (content["features"][0]["unique_relevance"] is None) == (method == "none")


def test_kinds_of_columns(unirel, table):
    done = unirel("select", table, "-t", "class", "-k", 4, "--discrete", "a", "--continuous", "b,copy", "--json")
    kinds = {feature["name"]: feature["kind"] for feature in json.loads(done.out)["features"]}
    assert kinds == {"a": "discrete", "b": "continuous", "copy": "continuous", "noise": "continuous"}


def test_defaults_are_those_of_the_library(unirel):
    from sklearn.datasets import load_iris

    from unirel import BURSelector

    found = json.loads(unirel("select", "iris", "--json", "-k", 3).out)
    data = load_iris()
    selector = BURSelector(n_features_to_select=3).fit(data.data, data.target)
    assert found["settings"] == dict(selector.selection_.settings)
    assert [feature["feature"] for feature in found["features"]] == selector.order_.tolist()


def test_a_column_may_have_commas_and_equal_signs(unirel, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    x = np.random.default_rng(0).standard_normal(60)
    path = tmp_path / "odd.parquet"
    parquet.write_table(pa.table({"a,b": x, "c=d": (x > 1).astype(int), "f": -x, "y": x > 0}), path)
    options = ["-k", 2, "--include", "a,b", "--exclude", "f", "--continuous", "c=d", "--json"]
    content = json.loads(unirel("select", path, "-t", "y", *options).out)
    assert [(row["name"], row["kind"]) for row in content["features"]] == [
        ("a,b", "continuous"),
        ("c=d", "continuous"),
    ]
    assert content["settings"]["include"] == ["a,b"]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["--estimator", "knn", "--neighbors", 5], {"mi_estimator": "KNN(n_neighbors=5)"}),
        (["--estimator", "gaussian"], {"mi_estimator": "gaussian"}),
        (["-u", "reference", "--unique-samples", 50], {"unique_relevance": "Boost(kind='reference', max_samples=50)"}),
        (["-u", "classifier", "--classifier", "knn"], {"unique_relevance": "ClassifierLoss(estimator='knn')"}),
        (["--max-candidates", "all"], {"max_candidates": None}),
        (["--continuous", "a"], {"discrete_features": {"a": False}}),
    ],
)
def test_flags_build_the_selector(unirel, table, flags, found):
    content = json.loads(unirel("select", table, "-t", "class", "-k", 2, "--json", *flags).out)
    assert {name: content["settings"][name] for name in found} == found


def test_neighbors_go_with_an_estimator_that_has_some(unirel, table):
    assert "go with --estimator knn" in unirel("select", table, "-t", "class", "--neighbors", 5).error
    assert unirel("relevance", table, "-t", "class", "--neighbors", 5).code == 0


def test_the_next_command_repeats_the_options(unirel, table, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    given = ["select", table.name, "-t", "class", "-k", 2, "--include", "b", "--beta", 0.25]
    for _ in range(3):
        done = unirel(*given)
        assert done.code == 0
        command = shlex.split(done.out.splitlines()[-1].removeprefix("Next: "))
        assert command[0] == "unirel"
        first, given = given, command[1:]
        assert given[: len(first)] == [str(one) for one in first] or given[0] == "apply"
    assert unirel(*given).code == 0
    assert (tmp_path / "small.csv").read_text(encoding="utf-8").startswith("b,")


def test_save_and_apply(unirel, table, tmp_path):
    saved = tmp_path / "selection.json"
    assert unirel("select", table, "-t", "class", "-k", 2, "--save", saved, "--quiet").code == 0
    content = json.loads(saved.read_text(encoding="utf-8"))
    assert (content["schema"], content["version"]) == ("unirel/selection", 1)
    names = [feature["name"] for feature in content["features"]]
    done = unirel("apply", saved, table, "-o", tmp_path / "small.csv")
    assert done.code == 0
    rows = list(csv.reader((tmp_path / "small.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == names
    original = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert rows[1:] == [[row[name] for name in names] for row in original]


def test_report_is_written(unirel, table, tmp_path):
    pytest.importorskip("vl_convert")
    done = unirel("select", table, "-t", "class", "-k", 3, "--report", tmp_path / "page.html")
    assert done.code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "table.csv"]


def test_the_program_on_the_page_reads_the_same_file(unirel, table, tmp_path, monkeypatch, capsys):
    pytest.importorskip("vl_convert")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    rows = [f"{row};2024-01-{1 + place % 28:02d};k" for place, row in enumerate(rows)]
    text = "\n".join([f"{header};tag;größe", *rows]).replace(",", ";").replace(".", ",")
    (tmp_path / "table.csv").write_text(text, encoding="cp1252")
    flags = ["-t", "class", "-k", 3, "--drop", "größe", "--encoding", "cp1252", "-q", "--json"]
    done = unirel("report", "table.csv", *flags, "-o", "page.html")
    assert done.code == 0, done.err
    code = re.search(r'<code id="snippet">(.*?)</code>', (tmp_path / "page.html").read_text(encoding="utf-8"), re.S)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(html.unescape(code), {})
    assert capsys.readouterr().out.strip() == str([row["name"] for row in json.loads(done.out)["features"]])


def test_report_with_accuracy(unirel, table, tmp_path):
    pytest.importorskip("vl_convert")
    done = unirel("select", table, "-t", "class", "-k", 3, "--report", tmp_path / "page.html", "--accuracy", "logistic")
    assert done.code == 0
    assert done.err == f"unirel: the page is in '{tmp_path / 'page.html'}'\n"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="chart-accuracy"' in page
    assert "logistic regression" in page


def test_accuracy_by_default_and_none(unirel, table, tmp_path):
    pytest.importorskip("vl_convert")
    page = tmp_path / "page.html"
    assert unirel("select", table, "-t", "class", "-k", 3, "--report", page).code == 0
    assert 'id="chart-accuracy"' in page.read_text(encoding="utf-8")
    assert unirel("report", table, "-t", "class", "-k", 3, "-o", page, "--accuracy", "none").code == 0
    assert 'id="chart-accuracy"' not in page.read_text(encoding="utf-8")


def test_a_report_on_parts_says_why_there_is_no_accuracy(unirel, table, tmp_path):
    pytest.importorskip("vl_convert")
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(table), tmp_path / "part.parquet")
    page = tmp_path / "page.html"
    done = unirel("report", f"{tmp_path}/*.parquet", "-t", "class", "-k", 2, "-o", page)
    assert done.code == 0
    said = "Accuracy was not measured: it needs all rows in memory; measure it on a sample of them."
    assert said in " ".join(done.out.split())
    assert said in page.read_text(encoding="utf-8")


def test_accuracy_goes_with_a_report(unirel, table):
    done = unirel("select", table, "-t", "class", "--accuracy", "knn")
    assert done.code == 2
    assert done.out == ""
    assert "--report" in done.error


def test_accuracy_needs_classes_that_repeat(unirel, tmp_path):
    columns = {"a": range(30), "b": [0.5 * j for j in range(30)], "word": [f"w{j}" for j in range(29)] + ["w0"]}
    path = tmp_path / "words.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *zip(*columns.values(), strict=True)]))
    done = unirel("select", path, "-t", "word", "-q", "--report", tmp_path / "page.html", "--accuracy", "rf")
    assert done.code == 2
    assert done.error.startswith("--accuracy rf needs two classes with at least two rows each, but the target has 1;")
    assert not (tmp_path / "page.html").exists()


def test_an_unknown_accuracy_is_refused(unirel):
    assert "'logistic'" in unirel("select", "iris", "--report", "page.html", "--accuracy", "x").error


def test_no_time_left_for_accuracy(unirel, table, tmp_path, monkeypatch):
    def out_of_time(*_):
        raise TimeoutError

    monkeypatch.setattr("unirel.report.measure_accuracy", out_of_time)
    options = ["-k", 2, "--max-seconds", 1000, "--report", tmp_path / "page.html", "--accuracy", "knn"]
    done = unirel("select", table, "-t", "class", *options)
    assert done.code == 0
    assert "the accuracy was not measured, because the time budget was used up" in done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the accuracy was not measured" in page
    assert 'id="chart-accuracy"' not in page


def test_out_of_time_before_the_accuracy(unirel, table, tmp_path):
    options = ["--max-seconds", 0, "--report", tmp_path / "page.html", "--accuracy", "knn"]
    done = unirel("select", table, "-t", "class", *options)
    assert done.code == 0
    assert "the accuracy was not measured, because the selection is incomplete" in done.err


@pytest.mark.parametrize("step", [1, 2, 4])
def test_interrupted_accuracy_writes_nothing(unirel, table, tmp_path, monkeypatch, step):
    """Ctrl-C within a search, at its end, and between two fits."""
    from unirel._runtime import ProgressBar

    steps = []

    def interrupt(self, done, total):
        if self._bar.desc == "measuring accuracy":
            steps.append(done)
            if done == step and steps.count(step) == 1:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)

    monkeypatch.setattr(ProgressBar, "__call__", interrupt)
    options = ["-k", 2, "--csv", "--report", tmp_path / "page.html", "--accuracy", "knn"]
    done = unirel("select", table, "-t", "class", *options)
    assert done.code == 130
    assert len(done.out.splitlines()) == 3
    assert "interrupted; 2 features, no file was written" in done.error
    assert max(steps) <= step + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_out_of_time_is_no_failure(unirel, table, tmp_path):
    done = unirel("select", table, "-t", "class", "--max-seconds", 0, "--json", "--save", tmp_path / "s.json")
    content = json.loads(done.out)
    assert done.code == 0
    assert not content["complete"]
    assert content["reason"] == "the time budget of 0 s was used up"
    assert "incomplete: the time budget of 0 s was used up" in done.error
    assert (tmp_path / "s.json").exists()


def test_quiet_says_nothing(unirel, table):
    assert unirel("select", table, "-t", "class", "--max-seconds", 0, "--quiet").err == ""


def test_interrupted_search_prints_what_it_has(unirel, table, monkeypatch, tmp_path):
    """Ctrl-C after the second step, at a moment that the test chooses."""
    from unirel._runtime import ProgressBar

    def interrupt(self, done, total):
        if done == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    monkeypatch.setattr(ProgressBar, "__call__", interrupt)
    before = signal.getsignal(signal.SIGINT)
    done = unirel("select", table, "-t", "class", "-k", 4, "--csv", "--save", tmp_path / "s.json")
    assert done.code == 130
    assert len(done.out.splitlines()) == 3
    assert "2 features so far" in done.error
    assert not (tmp_path / "s.json").exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_more_features_than_there_are(unirel, table):
    done = unirel("select", table, "-t", "class", "-k", 12, "--csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 5
    assert done.error == "-k 12, but there are 4 features: all are selected"
    assert unirel("select", table, "-t", "class", "-k", "all", "--csv").out == done.out


def test_a_criterion_in_capitals(unirel, table):
    first, second = (unirel("select", table, "-t", "class", "-c", name, "--json").out for name in ("mRMR", "mrmr"))
    assert first == second


def test_the_table_fits_a_terminal_and_has_bars(unirel, table, tmp_path):
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    long = ",".join(f"{name} of something with a rather long name" for name in header.split(","))
    path = tmp_path / "long.csv"
    path.write_text("\n".join([long, *rows]), encoding="utf-8")
    done = unirel("select", path, "-t", "class of something with a rather long name", "-k", 4)
    rows = done.out.splitlines()[:6]
    assert max(map(len, rows)) <= 80
    bars = [row.count("\N{FULL BLOCK}") for row in rows[2:]]
    assert max(bars) == 8
    assert all("\N{HORIZONTAL ELLIPSIS}" in row for row in rows[2:])


def test_groups_and_leaks_are_said(unirel, table, tmp_path):
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "leak.csv"
    coded = [f"{3 * row.endswith('yes')},{row}" for row in rows]
    path.write_text("\n".join([f"code,{header}", *coded]), encoding="utf-8")
    out = " ".join(unirel("select", path, "-t", "class", "-k", 5).out.split())
    assert "near cop" in out
    assert "Careful: 'code' may leak the target" in out


@pytest.mark.parametrize("columns", [80, 120])
def test_help_shows_the_options_that_people_use_first(unirel, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    first = unirel("select", "--help").out.split("More about the data")[0]
    flags = [line.split()[1] for line in first.splitlines() if line.startswith("│ --")]
    assert flags == ["--target", "--n-features", "--report", "--save", "--json", "--help"]


def test_without_a_target_the_likely_ones_are_named(unirel, table):
    done = unirel("select", table)
    assert done.code == 2
    assert "name the column to explain with --target; it may be 'class'; the columns are 'a', " in done.error
