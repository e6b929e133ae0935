"""All other commands, and what they share."""

import csv
import io
import json
import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import load_breast_cancer

from unirel import redundancy_analysis
from unirel.results import plain

COMMANDS = [
    "select",
    "relevance",
    "redundancy",
    "explain",
    "report",
    "compare",
    "apply",
    "datasets",
    "interactions",
    "drift",
]


def test_relevance(unirel, table):
    done = unirel("relevance", table, "-t", "class")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].split() == ["rank", "name", "kind", "missing", "relevance"]
    assert [line.split()[1] for line in lines[2:6]][-1] == "noise"


def test_relevance_equals_that_of_the_library(unirel):
    from sklearn.datasets import load_iris

    from unirel import relevance

    found = json.loads(unirel("relevance", "iris", "--json").out)
    values = {row["name"]: row["relevance"] for row in found["features"]}
    data = load_iris()
    assert values == dict(zip(data.feature_names, relevance(data.data, data.target).tolist(), strict=True))
    assert found["entropy"] == pytest.approx(1.0986, abs=1e-4)


def test_relevance_with_a_test(unirel, table):
    done = unirel("relevance", table, "-t", "class", "--test", "--permutations", 199)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["rank", "name", "kind", "missing", "relevance", "p-value", "adjusted", "significant"]
    answers = {line.split()[1]: line.split()[-1] for line in lines[2:6]}
    assert answers == {"a": "yes", "copy": "yes", "b": "no", "noise": "no"}  # there are too few rows to see 'b'
    words = " ".join(done.out.split())
    assert "2 of 4 features are significant, at a false discovery rate of 5%." in words
    assert "how often one that is independent of 'class' would seem at least as relevant" in words


def test_a_tested_relevance_equals_that_of_the_library(unirel):
    from sklearn.datasets import load_iris

    from unirel import relevance_test

    found = json.loads(unirel("relevance", "iris", "--test", "--permutations", 50, "--seed", 3, "--json").out)
    test = relevance_test(*load_iris(return_X_y=True), n_permutations=50, random_state=3)
    by_rank = np.argsort(-test.information, kind="stable")
    assert [row["p_value"] for row in found["features"]] == test.p_value[by_rank].tolist()
    assert [row["adjusted"] for row in found["features"]] == test.adjusted[by_rank].tolist()
    assert found["test"]["settings"]["n_permutations"] == 50


def test_noise_is_said_to_be_possibly_chance(unirel, tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 2)).round(3).tolist()
    text = "a,b,class\n" + "".join(f"{a},{b},{'xy'[place % 2]}\n" for place, (a, b) in enumerate(rows))
    path = tmp_path / "noise.csv"
    path.write_text(text)
    done = unirel("relevance", path, "-t", "class", "--test")
    assert "None of 2 features is significant: their relevance may be chance." in " ".join(done.out.split())


def test_few_permutations_are_named_by_their_flag(unirel, table):
    done = unirel("relevance", table, "-t", "class", "--test", "--permutations", 9)
    assert "--permutations 9 are few for 4 columns" in done.error


def test_an_interrupted_test_says_so(unirel, table, monkeypatch):
    def stop(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr("unirel.inference.tests.progress_of", lambda *_: stop)
    done = unirel("relevance", table, "-t", "class", "--test")
    assert done.code == 130
    assert "p-values are from the permutations that were made" in done.err


def test_relevance_top(unirel, table):
    done = unirel("relevance", table, "-t", "class", "--top", 2)
    assert "2 more are not shown" in " ".join(done.out.split())
    rows = list(csv.reader(io.StringIO(unirel("relevance", table, "-t", "class", "--top", 0, "--csv").out)))
    assert len(rows) == 5


def test_redundancy(unirel, table):
    done = unirel("redundancy", table, "-t", "class")
    assert done.code == 0
    assert "the redundancy rate is" in " ".join(done.out.split())
    content = json.loads(unirel("redundancy", table, "-t", "class", "--order", "a,copy,noise,b", "--json").out)
    assert content["schema"] == "unirel/redundancy"
    assert [row["name"] for row in content["features"]] == ["a", "copy", "noise", "b"]
    assert "no column 'z'" in unirel("redundancy", table, "-t", "class", "--order", "z").error


def test_redundancy_is_the_same_as_in_python(unirel, tmp_path):
    """The command had other defaults: 22 % of the features of breast_cancer were redundant there, none in Python."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:150, 15:]
    X.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    found = redundancy_analysis(X, y[:150])
    content = json.loads(unirel("redundancy", str(tmp_path / "table.csv"), "-t", "y", "--json").out)
    assert [row["name"] for row in content["features"]] == [found.names[feature] for feature in found.order]
    assert content["features"] == plain(found.to_dict()["features"])


def test_redundancy_takes_the_options_of_a_search(unirel, table):
    options = ["-u", "classifier", "--classifier", "knn", "--exclude", "copy", "--estimator", "binned"]
    content = json.loads(unirel("redundancy", table, "-t", "class", *options, "--json").out)
    assert {row["name"] for row in content["features"]} == {"a", "b", "noise"}
    assert content["settings"]["criterion"] == "gsa"
    assert content["settings"]["unique_relevance"] == "ClassifierLoss(estimator='knn')"


COMPARE = ["--splits", 2, "--models", "knn", "--max-features", 3]


def test_compare(unirel, table):
    done = unirel("compare", table, "-t", "class", *COMPARE)
    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()[2:6]] == ["BURSelector", "kbest", "lasso", "forest"]
    assert "BURSelector" in done.out.split("\n\n")[1]
    assert "95 % interval" in done.out
    content = json.loads(unirel("compare", table, "-t", "class", *COMPARE, "--criteria", "jmi,lasso", "--json").out)
    assert {row["selector"] for row in content["summary"]} == {"jmi", "jmi boosted", "lasso"}
    assert [row["baseline"] for row in content["differences"]] == ["jmi"]
    assert "best is not one of" in unirel("compare", table, "-t", "class", "--criteria", "best").error


def test_a_comparison_is_drawn_and_has_a_verdict(unirel, table, tmp_path):
    picture = tmp_path / "scores.png"
    arguments = ["compare", table, "-t", "class", *COMPARE, "--with", "kbest,jmi", "--json"]
    done = unirel(*arguments, "--plot", picture)
    content = json.loads(done.out)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"the picture is in '{picture}'" in done.err
    assert {row["selector"] for row in content["summary"]} == {"BURSelector", "kbest", "jmi"}
    assert content["verdict"]["selector"] == "BURSelector"
    assert content["verdict"]["best_other"] in ("kbest", "jmi")
    assert content["verdict"]["words"].startswith("BURSelector ")
    assert content["verdict"]["difference"]["n_splits"] == 2
    for wrong in (tmp_path / "scores.html", tmp_path / "no" / "scores.png", tmp_path):
        assert "--plot" in unirel(*arguments, "--plot", wrong).error


def test_a_missing_library_is_named(unirel, table, monkeypatch):
    monkeypatch.setattr("unirel.predictors.find_spec", lambda name: None)
    done = unirel("compare", table, "-t", "class", *COMPARE, "--with", "lightgbm")
    assert (done.code, done.error) == (
        1,
        "the selector 'lightgbm' needs lightgbm; install it with: pip install lightgbm",
    )


def test_a_target_of_few_numbers_is_said_to_be_classes(unirel, tmp_path):
    """It was said by `select` alone."""
    rng = np.random.default_rng(0)
    mark = rng.integers(0, 15, 200)
    frame = pd.DataFrame({"a": mark + rng.normal(size=200), "b": rng.normal(size=200), "mark": mark})
    frame.to_csv(tmp_path / "marks.csv", index=False)
    wanted = "The 15 distinct numbers of the target are taken as classes; with target_type='continuous' (--target-type"
    for command, options in {"relevance": [], "redundancy": [], "compare": [*COMPARE, "--with", "kbest"]}.items():
        asked = [command, tmp_path / "marks.csv", "-t", "mark", *options]
        assert wanted in " ".join(unirel(*asked).out.split())
        done = unirel(*asked, "--target-type", "continuous")
        assert wanted not in " ".join(done.out.split())
        assert command != "compare" or "R2" in done.out.splitlines()[0]


def test_kinds_of_columns_in_a_comparison(unirel, table, monkeypatch):
    """They were taken for those of other columns, or forgotten."""
    from unirel import BURSelector

    fitted, fit = [], BURSelector.fit

    def remember(self, X, y, **more):
        fitted.append(fit(self, X, y, **more))
        return fitted[-1]

    monkeypatch.setattr(BURSelector, "fit", remember)
    lines = table.read_text(encoding="utf-8").splitlines()
    words = [f"{['red', 'blue'][row % 2]},{line}" for row, line in enumerate(lines[1:])]
    table.write_text("\n".join(["colour," + lines[0], *words]), encoding="utf-8")
    assert unirel("compare", table, "-t", "class", *COMPARE, "--jobs", 1, "--discrete", "noise").code == 0
    assert fitted
    for selector in fitted:
        kinds = {column.name: column.kind for column in selector.columns_[:-1]}
        assert kinds["noise"] == kinds["colour"] == "discrete"
        assert kinds["a"] == "continuous"


def test_datasets(unirel):
    assert "breast_cancer" in unirel("datasets").out
    names = [row["name"] for row in json.loads(unirel("datasets", "--json").out)["datasets"]]
    assert {"iris", "wine"} <= set(names)


def test_a_dataset_by_name(unirel):
    done = unirel("select", "iris", "-k", 2, "--json")
    assert json.loads(done.out)["data"]["source"] == "iris"
    assert "has one target" in unirel("select", "iris", "-t", "class").error


class TestApply:
    @pytest.fixture
    def saved(self, unirel, table, tmp_path):
        path = tmp_path / "selection.json"
        assert unirel("select", table, "-t", "class", "-k", 2, "--save", path, "-q").code == 0
        return path

    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
    def test_formats(self, unirel, saved, table, tmp_path, ending):
        output = tmp_path / f"small.{ending}"
        done = unirel("apply", saved, table, "-o", output, "--keep", "class")
        assert (done.code, done.error) == (0, f"3 columns and 120 rows written to '{output}'")
        again = unirel("relevance", output, "-t", "class", "--json")
        assert len(json.loads(again.out)["features"]) == 2

    def test_text_stays_as_it_is(self, unirel, saved, table, tmp_path):
        names = [row["name"] for row in json.loads(saved.read_text(encoding="utf-8"))["features"]]
        (tmp_path / "new.csv").write_text(f"{names[1]},z,{names[0]}\n007,x,1.50\n,y,1e3\n", encoding="utf-8")
        assert unirel("apply", saved, tmp_path / "new.csv", "-o", tmp_path / "out.csv").code == 0
        assert (tmp_path / "out.csv").read_text(encoding="utf-8") == f"{names[0]},{names[1]}\n1.50,007\n1e3,\n"

    @pytest.mark.parametrize(("repeated", "code"), [("z", 0), ("", 2)])
    def test_repeated_names_matter_where_they_are_selected(self, unirel, saved, tmp_path, repeated, code):
        names = [row["name"] for row in json.loads(saved.read_text(encoding="utf-8"))["features"]]
        header = [*names, "z", repeated or names[0]]
        (tmp_path / "new.csv").write_text(f"{','.join(header)}\n{','.join('1' * len(header))}\n", encoding="utf-8")
        done = unirel("apply", saved, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert done.code == code
        assert ("duplicate column names" in done.err) == (code == 2)

    def test_missing_columns_are_named(self, unirel, saved, tmp_path):
        (tmp_path / "new.csv").write_text("x,y\n1,2\n", encoding="utf-8")
        (tmp_path / "out.csv").write_text("before", encoding="utf-8")
        done = unirel("apply", saved, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert done.code == 2
        assert "lacks columns that were selected: " in done.error
        assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "before"
        assert len(list(tmp_path.iterdir())) == 4

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"not json", "is no selection"),
            (b"\x80\x04K\x01.", "is no selection"),
            (b"[" * 100_000, "is no selection"),
            (b"{}", "is no selection"),
            (b'{"schema": "unirel/selection", "version": 9}', "has version 9"),
            (b'{"schema": "unirel/selection", "version": 1, "features": [{"name": 3}]}', "no selected features"),
        ],
    )
    def test_bad_selection_files(self, unirel, table, tmp_path, content, reason):
        path = tmp_path / "bad.json"
        path.write_bytes(content)
        done = unirel("apply", path, table, "-o", tmp_path / "out.csv")
        assert done.code == 2
        assert reason in done.error

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_numbers_with_a_decimal_comma_are_written_as_numbers(self, unirel, saved, tmp_path, ending):
        first, second = (row["name"] for row in json.loads(saved.read_text(encoding="utf-8"))["features"])
        rows = ["1,50;007;x,y", "NA;;z", "-2,5e3;12;u", " -;3;v"]
        (tmp_path / "new.csv").write_text(f"{first};{second};word\n" + "\n".join(rows), encoding="utf-8")
        output = tmp_path / f"out.{ending}"
        assert unirel("apply", saved, tmp_path / "new.csv", "-o", output, "--keep", "word").code == 0
        if ending == "csv":
            found = output.read_text(encoding="utf-8").splitlines()
            assert found == [f"word,{first},{second}", '"x,y",1.50,007', "z,NA,", "u,-2.5e3,12", "v, -,3"]
        else:
            assert parquet.read_table(output).column(first).to_pylist() == [1.5, None, -2500.0, None]

    def test_numbers_stay_numbers_and_dates_stay_dates(self, unirel, tmp_path):
        """Whole numbers with a blank are whole, a column in single precision has no digits that it never had."""
        content = {"schema": "unirel/selection", "version": 1, "features": [{"name": name} for name in ("a", "b", "c")]}
        (tmp_path / "saved.json").write_text(json.dumps(content), encoding="utf-8")
        (tmp_path / "new.csv").write_text("a,b,c\n1,0.1,31.12.2024\n ,?,1.1.2025\n3,2.50,5.2.2025\n", encoding="utf-8")
        assert unirel("apply", tmp_path / "saved.json", tmp_path / "new.csv", "-o", tmp_path / "a.parquet").code == 0
        table = parquet.read_table(tmp_path / "a.parquet")
        assert table.to_pydict() == {
            "a": [1, None, 3],
            "b": [0.1, None, 2.5],
            "c": ["31.12.2024", "1.1.2025", "5.2.2025"],
        }
        assert pa.types.is_integer(table.schema.field("a").type)
        table = table.set_column(1, "b", table.column("b").cast(pa.float32()))
        table = table.set_column(2, "c", pa.array([date(2024, 12, 31), None, date(2025, 2, 5)]))
        parquet.write_table(table, tmp_path / "b.parquet")
        assert unirel("apply", tmp_path / "saved.json", tmp_path / "b.parquet", "-o", tmp_path / "b.csv").code == 0
        found = (tmp_path / "b.csv").read_text(encoding="utf-8")
        assert found == "a,b,c\n1,0.1,2024-12-31\n,,\n3,2.5,2025-02-05\n"

    def test_what_is_read_is_not_written_over(self, unirel, saved, table, tmp_path):
        before = table.read_bytes(), saved.read_bytes()
        (tmp_path / "link.csv").symlink_to(table)
        for arguments in [
            ("select", table, "-t", "class", "--save", table),
            ("select", table, "-t", "class", "--report", tmp_path / "link.csv"),
            ("report", table, "-t", "class", "-o", table),
            ("apply", saved, table, "-o", table),
            ("apply", saved, table, "-o", tmp_path / "link.csv"),
        ]:
            done = unirel(*arguments)
            assert done.code == 2
            assert "is the file that is read; name another one, or replace it with --force" in done.error
        assert (table.read_bytes(), saved.read_bytes()) == before
        assert unirel("apply", saved, table, "-o", table, "--force", "-q").code == 0
        assert len(table.read_text(encoding="utf-8").splitlines()[0].split(",")) == 2

    def test_bad_outputs(self, unirel, saved, table, tmp_path):
        assert "no known ending" in unirel("apply", saved, table, "-o", tmp_path / "out.pkl").error
        assert "no folder" in unirel("apply", saved, table, "-o", tmp_path / "none" / "out.csv").error
        assert "No such file" in unirel("apply", tmp_path / "none.json", table, "-o", tmp_path / "o.csv").error


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(unirel, command):
    done = unirel(command, "--help")
    assert done.code == 0
    assert "Examples" in done.out
    assert f"unirel {command}" in done.out


def test_help_lists_all_commands(unirel):
    done = unirel("--help")
    assert all(command in done.out for command in COMMANDS)


def test_version(unirel):
    import unirel as package

    assert unirel("--version").out == f"unirel {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["select"], ["apply", "x"], ["--nonsense"]])
def test_wrong_usage_is_one_line(unirel, arguments):
    done = unirel(*arguments)
    assert done.code == 2
    assert "--help" in done.error


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from unirel.cli import main; main(['--help']);"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr.split()
    heavy = {"numba", "sklearn", "joblib", "pyarrow", "pandas", "polars", "matplotlib", "altair"}
    assert not heavy & set(loaded)


def test_the_command_is_installed():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="unirel")
    assert script.value == "unirel.cli:main"


def test_an_unexpected_error_is_one_line(unirel, table, monkeypatch):
    from unirel import report

    monkeypatch.setattr(report, "analyse", lambda *_, **__: 1 / 0)
    done = unirel("select", table, "-t", "class")
    assert done.code == 1
    assert "failed: ZeroDivisionError" in done.error


def test_warnings_are_one_line_or_nothing(unirel, table, monkeypatch):
    import warnings

    from unirel import UnirelWarning
    from unirel.data.table import Table

    read = Table.from_data

    def warn(*given, **options):
        warnings.warn("n_neighbors=3 is\nmuch", UnirelWarning, stacklevel=1)
        warnings.warn("something about code", UserWarning, stacklevel=1)
        return read(*given, **options)

    monkeypatch.setattr(Table, "from_data", warn)
    assert unirel("relevance", table, "-t", "class").err == "unirel: --neighbors 3 is much\n"
