"""The report: what it says, that it says the same twice, and that names stay text."""

import dataclasses
import json
import re
import subprocess
import sys
from html import escape, unescape

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from unirel.data.table import Table
from unirel.inference.findings import Analysis
from unirel.inference.relations import analyse, normalise
from unirel.options import EstimationOptions, SelectorOptions, complete, options_of
from unirel.report import Origin, Report

OPTIONS = complete(EstimationOptions, {}, "analyse")

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "{{ 7*7 }}", "a'b&amp;c"]


def make_report(names=("a", "b", "copy", "noise", "weak"), **options):
    import pandas as pd

    rng = np.random.default_rng(3)
    a, b, noise, weak = rng.standard_normal((4, 120))
    columns = [a, b, a + 0.01 * noise, noise, weak]
    y = np.where(a + 0.7 * b + 0.3 * weak > 0, "yes", "no")
    X = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return Report.from_data(X, y, n_features_to_select=3, **options)


@pytest.fixture(scope="module")
def page():
    return make_report().to_html()


def specs_of(page):
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def test_same_input_same_bytes(page):
    assert make_report().to_html() == page


def test_same_bytes_in_another_process(tmp_path):
    code = (
        "from sklearn.datasets import load_iris; from unirel.report import Report; import hashlib;"
        "page = Report.from_data(*load_iris(return_X_y=True), n_features_to_select=2).to_html();"
        "print(hashlib.sha256(page.encode()).hexdigest())"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout for _ in range(2)]
    assert runs[0] == runs[1]


def test_needs_nothing_from_elsewhere(page):
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search(r"""(src|href)="(?!#)""", markup)
    assert "default-src 'none'" in markup
    assert "@import" not in markup


def test_has_the_charts(page):
    assert set(specs_of(page)) == {"order", "curve", "points", "heat"}


def test_few_features_have_a_tick_each_and_no_halves(page):
    axes = re.findall(r'"axis":({[^}]*}),"field":"n"', json.dumps(specs_of(page)["curve"], separators=(",", ":")))
    assert {"values": [1, 2, 3]} in map(json.loads, axes)
    assert {"tickMinStep": 1} not in map(json.loads, axes)


@pytest.mark.parametrize("accuracy", [None, "knn"])
def test_charts_follow_the_schema(accuracy):
    import altair as alt

    for spec in specs_of(make_report(accuracy=accuracy).to_html()).values():
        alt.Chart.from_dict(spec, validate=True)


def test_names_for_an_array():
    rng = np.random.default_rng(0)
    X, names = rng.standard_normal((60, 3)), ["low", "middle", "high"]
    options = {"n_features_to_select": 2, "include": ["high"], "accuracy": "knn"}
    said = Report.from_data(X, X[:, 0] > 0, feature_names=names, **options).to_dict()
    assert [row["name"] for row in said["features"][:2]] == ["high", "low"]
    for wrong in (["low", "high"], ["low", "low", "high"]):
        with pytest.raises(ValueError, match="feature_names has"):
            Report.from_data(X, X[:, 0] > 0, feature_names=wrong, n_features_to_select=2)


def test_every_option_of_the_selector_is_taken():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    given = {
        "target_kind": "continuous",
        "scale": "rank",
        "missing": "error",
        "kinds": {0: "ignored"},
        "n_neighbors": 4,
    }
    options = {name: option.default for name, option in options_of(SelectorOptions).items()} | given
    report = Report.from_data(X, y, **options)
    assert report.table.classes is None
    assert {name: report.selection.settings[name] for name in given} == {**given, "kinds": {"0": "ignored"}}
    with pytest.raises(TypeError, match=r"Report.from_data\(\) has no option targetkind=; did you mean target_kind="):
        Report.from_data(X, y, targetkind="continuous")


def test_the_snippet_names_what_is_not_the_default():
    from sklearn.ensemble import RandomForestClassifier

    snippet = make_report(scale="rank", exclude=["noise"]).to_dict()["snippet"]
    arguments = [line.strip() for line in snippet.splitlines() if line.startswith("    ")]
    assert arguments[2:4] == ["criteria='cmim',", "betas=0.5,"]
    resolved = "estimator='binned',"  # what "auto" has meant
    assert set(arguments[4:]) == {"scale='rank',", "exclude=['noise'],", "n_features_to_select=3,", resolved}
    forest = RandomForestClassifier(3, random_state=0)
    snippet = make_report(unique_relevance="classifier", classifier=forest, cv=2).to_dict()["snippet"]
    assert f"classifier=...,  # {forest!r}" in snippet


def test_kept_scripts_change_nothing(tmp_path, page):
    report = make_report()
    assert report.to_html(tmp_path / "kept") == page
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_text("// mark")
    assert "<script>// mark</script>" in report.save(tmp_path / "page.html", tmp_path / "kept").read_text(
        encoding="utf-8"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "page.html"]


def test_an_installation_that_cannot_be_written_to(tmp_path, page, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("unirel.report.render._KEPT", tmp_path / "file" / "folder")
    report = make_report()
    assert report.to_html() == page
    with pytest.raises(OSError, match="file"):
        report.to_html(tmp_path / "file" / "folder")


def test_every_weight_is_there(page):
    (data,) = specs_of(page)["order"]["datasets"].values()
    assert sorted({row["beta"] for row in data}) == [step / 10 for step in range(11)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    page = make_report([name, "b", "copy", "noise", "weak"], origin=Origin(target=name, source=name)).to_html()
    shown = escape(name).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    assert f'<th scope="row">{shown}</th>' in page
    assert f"<title>Features for {shown} ({shown})</title>" in page
    assert shown == name or name not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert json.dumps(name)[1:-1] in json.dumps(specs_of(page))


def test_nothing_to_boost():
    report = make_report(beta=0)
    assert "points" not in specs_of(report.to_html())
    assert "without boost" in report.to_dict()["words"]


def test_what_it_says():
    said = make_report(origin=Origin("data.csv", "class", ignored=(("day", "dates"),), n_without_target=4)).to_dict()
    assert said["data"]["ignored"] == [{"name": "day", "reason": "dates"}]
    assert said["data"]["rows_without_target"] == 4
    assert said["data"]["kinds"] == {"continuous": 5}
    assert [row["step"] for row in said["features"]] == [1, 2, 3, None, None]
    assert "for 'class' (2 classes, 120 rows) by cmim" in said["words"]
    json.dumps(said, allow_nan=False)


def why_of(page):
    """The words beside every selected feature, without markup."""
    found = re.findall(r'<li id="feature-\d+">(.*?)</li>', page, re.S)
    return [" ".join(unescape(re.sub(r"<.*?>", " ", one)).split()) for one in found]


def test_how_sure_it_is_stands_beside_each_feature():
    """Of a feature and its copy one is always selected; noise is selected too, and called what it is."""
    rng = np.random.default_rng(1)
    a, noise = rng.standard_normal((2, 150))
    X, y = np.column_stack([a, noise, a]), a > 0
    options = {"feature_names": ["a", "noise", "copy"], "criterion": "cmim", "beta": 0, "n_features_to_select": 2}
    options["correction"] = None  # otherwise noise adds less than a copy half of the time
    report = Report.from_data(X, y, stability=8, **options)
    page = report.to_html()
    first, second = why_of(page)
    assert first.startswith("a selected in 100% of subsamples Tells most by itself")
    assert first.endswith("It can be exchanged for 'copy' (one of the two in 100% of subsamples, both in 0%).")
    assert second.startswith("noise selected in 100% of subsamples not significant")
    p_value = report.certainty.test.p_value[1]
    assert f"nothing to do with the target would tell as much in {p_value:.0%} of cases." in second
    said = report.to_dict()
    assert "repeated on 8 random halves of the rows" in said["certainty"][0]
    assert said["certainty"][1].startswith("Of the 2 selected features 1 is significant by itself, 'noise' not")
    assert [row["significant"] for row in said["features"]] == ["yes", "no", "yes"]
    assert [row["selected_in"] for row in said["features"]] == ["100%", "100%", "0%"]
    assert ["selected_in", "selected in", True] in said["columns"]
    json.dumps(said, allow_nan=False)


def test_without_stability_nothing_is_said_of_subsamples(page):
    assert "subsamples" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert '<td class="col-significant">yes</td>' in page


def test_stability_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="stability=1 must be a whole number from 2 on"):
        make_report(stability=1)
    with pytest.raises(ValueError, match="stability=5 selects features anew in every subsample"):
        make_report(stability=5, unique_relevance=np.zeros(5))


def test_the_best_of_many_columns_of_noise_is_not_significant():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 300)), np.arange(80) % 2
    plain = Report.from_data(X, y, n_features_to_select=1, beta=0).certainty
    assert plain.significant(int(np.nanargmin(plain.test.p_value))) == "no"
    X[:, 7] += 2 * y
    found = Report.from_data(X, y, n_features_to_select=1, beta=0)
    assert found.certainty.significant(7) == "yes"  # which takes more permutations than usual
    assert found.to_dict()["certainty"][0].startswith("The selected feature is significant by itself.")


def test_the_snippet_runs_and_gives_the_same(tmp_path):
    from unirel.cli import main

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 90))
    rows = "\n".join(
        f"{x:.3f};{1000 + 5 * y:,.2f};2024-01-01;{'u' if x + y > 0 else 'v'}" for x, y in zip(a, b, strict=True)
    )
    (tmp_path / "t.csv").write_text("a;b;day;class\n" + rows, encoding="cp1252")
    options = ["-t", "class", "-k", "2", "-q", "--report", str(tmp_path / "r.html"), "--save", str(tmp_path / "s.json")]
    assert main(["select", str(tmp_path / "t.csv"), *options]) == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    import html

    code = html.unescape(re.search(r'<code id="snippet">(.*?)</code>', page, re.S)[1])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    saved = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert done.stdout.strip() == str([row["name"] for row in saved["features"]])


def test_save(tmp_path, page):
    assert make_report().save(tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_thousands_of_features_stay_readable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1500)).astype(np.float32)
    page = Report.from_data(X, X[:, 0] > 0, n_features_to_select=5, unique_relevance="reference").to_html()
    assert page.count('<th scope="row">') == 1000
    assert "1,000 of\n1,500" in page
    assert len(page) < 1_500_000


class TestAnalysis:
    def test_gaussian_columns_share_their_correlation(self):
        rng = np.random.default_rng(0)
        x, noise = rng.standard_normal((2, 4000))
        for correlation in (0.0, 0.5, 0.9):
            other = correlation * x + np.sqrt(1 - correlation**2) * noise
            table = Table.from_data(np.column_stack([x, other]), x > 0)
            assert analyse(table, [0, 1], OPTIONS).shared[0, 1] == pytest.approx(correlation, abs=0.12)

    def test_copies_share_everything(self):
        rng = np.random.default_rng(0)
        number, level = rng.standard_normal(300), rng.integers(0, 3, 300)
        table = Table.from_data(np.column_stack([number, number, level, level]), number > 0)
        shared = analyse(table, [0, 1, 2, 3], OPTIONS).shared
        assert shared[0, 1] > 0.99
        assert shared[2, 3] == pytest.approx(1)
        assert np.array_equal(shared, shared.T)

    def test_a_constant_column_shares_nothing(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal(100)
        table = Table.from_data(np.column_stack([x, np.ones(100)]), x > 0)
        assert analyse(table, [0, 1], OPTIONS).shared[0, 1] == 0

    def test_partners_and_closest_pair(self):
        shared = np.array([[1, 0.2, 0.9], [0.2, 1, 0.3], [0.9, 0.3, 1]])
        analysis = Analysis(("a", "b", "c"), shared, np.full(3, np.nan), np.full(3, np.nan), None)
        assert analysis.partners(1) == [("c", 0.3), ("a", 0.2)]
        assert analysis.partners(7) == []
        assert analysis.closest_pair() == (0, 2)
        nothing_shared = dataclasses.replace(analysis, shared=np.eye(3))
        assert nothing_shared.closest_pair() == (0, 1)

    def test_curve_is_that_of_mutual_information(self):
        from sklearn.datasets import load_iris

        from unirel import mutual_information

        X, y = load_iris(return_X_y=True)
        curve = analyse(Table.from_data(X, y), [2, 3, 0], OPTIONS).joint_information
        assert curve == pytest.approx([mutual_information(X[:, [2, 3, 0][:n]], y) for n in (1, 2, 3)])

    def test_normalise(self):
        assert normalise(np.array([0.0, np.log(2)]), np.array([np.inf, np.log(2)])) == pytest.approx([0, 1])


def test_a_missing_library_is_named(monkeypatch):
    from unirel.report import render

    monkeypatch.setattr(render, "find_spec", lambda name: None if name == "altair" else object())
    with pytest.raises(ImportError, match=r"needs altair; install it with: pip install 'unirel\[report\]'"):
        render.check_installed()


def test_copies_share_everything_with_a_correction_too(rng):
    labels = rng.integers(3, size=60)
    table = Table.from_data(np.column_stack([labels, labels]), rng.integers(2, size=60), kinds="discrete")
    options = complete(EstimationOptions, {"estimator": "plugin", "correction": "miller-madow"}, "analyse")
    np.testing.assert_array_equal(analyse(table, [0, 1], options).shared, 1.0)
