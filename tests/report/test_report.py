"""The report: what it says, that it says the same twice, and that names stay text."""

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

from unirel import KNN, Binned, BURSelector
from unirel.data.table import Table
from unirel.inference.relations import Analysis, analyse
from unirel.report import Origin, Report
from unirel.results import Ending, Selection

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "{{ 7*7 }}", "a'b&amp;c"]


def make_report(names=("a", "b", "copy", "noise", "weak"), given=None, **parameters):
    import pandas as pd

    rng = np.random.default_rng(3)
    a, b, noise, weak = rng.standard_normal((4, 120))
    columns = [a, b, a + 0.01 * noise, noise, weak]
    y = np.where(a + 0.7 * b + 0.3 * weak > 0, "yes", "no")
    X = pd.DataFrame(dict(zip(names, columns, strict=True)))
    selector = BURSelector(n_features_to_select=3).set_params(**parameters)
    return Report.from_data(X, y, selector=selector, **{"accuracy": None, **(given or {})})


@pytest.fixture(scope="module")
def page():
    return make_report().to_html()


def specs_of(page):
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def test_same_input_same_bytes(page):
    assert make_report().to_html() == page


def test_same_bytes_in_another_process():
    from sklearn.datasets import load_iris

    code = (
        "from sklearn.datasets import load_iris; from unirel.report import Report; import sys;"
        "sys.stdout.buffer.write(Report.from_data(*load_iris(return_X_y=True), accuracy=None).to_html().encode())"
    )
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    assert there == Report.from_data(*load_iris(return_X_y=True), accuracy=None).to_html().encode()


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

    for spec in specs_of(make_report(given={"accuracy": accuracy}).to_html()).values():
        alt.Chart.from_dict(spec, validate=True)


def test_names_for_an_array():
    rng = np.random.default_rng(0)
    X, names = rng.standard_normal((60, 3)), ["low", "middle", "high"]
    selector = BURSelector(n_features_to_select=2, include=["high"])
    given = {"feature_names": names, "accuracy": "knn", "stability": 4}
    said = Report.from_data(X, X[:, 0] > 0, selector=selector, **given).to_dict()
    assert [row["name"] for row in said["features"][:2]] == ["high", "low"]
    for wrong in (["low", "high"], ["low", "low", "high"]):
        with pytest.raises(ValueError, match="feature_names has"):
            Report.from_data(X, X[:, 0] > 0, feature_names=wrong)


@pytest.mark.parametrize("types", [{"few": False}, {"few": False, "number": False}, ["few"], "auto"], ids=str)
def test_a_selector_may_name_columns_of_an_array(types):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(80), rng.integers(0, 3, 80)])
    selector, names = BURSelector(discrete_features=types), ["number", "few"]
    report = Report.from_data(X, X[:, 0] > 0, selector=selector, feature_names=names, accuracy="knn", stability=2)
    plain = {1: False} if isinstance(types, dict) else [1] if isinstance(types, list) else "auto"
    expected = Table.from_data(X, X[:, 0] > 0, discrete_features=plain).columns
    assert [column.kind for column in report.table.columns] == [column.kind for column in expected]


def test_lists_of_rows_that_mix_numbers_and_texts():
    """Numbers in such a list stay numbers, in all rows and in parts of them."""
    rng = np.random.default_rng(0)
    rows = [[float(value), "even" if place % 2 else "odd"] for place, value in enumerate(rng.standard_normal(80))]
    y = [row[0] > 0 for row in rows]
    selector = BURSelector(n_features_to_select=1, beta=0)
    report = Report.from_data(rows, y, selector=selector, stability=6, accuracy="knn")
    assert [column.kind for column in report.table.columns[:2]] == ["continuous", "discrete"]
    assert report.stability.frequency.tolist() == [1, 0]
    assert report.accuracy.means[0] > 0.9


def test_parameters_of_the_selector_are_used():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    selector = BURSelector("jmi", target_type="continuous", exclude=[0], mi_estimator=KNN(n_neighbors=4))
    report = Report.from_data(X, y, selector=selector, accuracy=None)
    assert report.table.classes is None
    assert report.selection.order.tolist() == selector.fit(X, y).order_.tolist()
    assert report.selection.settings == selector.selection_.settings


def test_the_snippet_names_what_is_not_the_default():
    snippet = make_report(exclude=["noise"], mi_estimator=KNN(n_neighbors=5), beta=0).to_dict()["snippet"]
    assert snippet.startswith("from unirel import BURSelector, KNN\n")
    arguments = {line.strip() for line in snippet.splitlines() if line.startswith("    ")}
    named = {"n_features_to_select=3,", "beta=0.0,", "exclude=['noise'],", "mi_estimator=KNN(n_neighbors=5),"}
    assert arguments == named
    assert "unique_relevance=...," in make_report(unique_relevance=np.ones(5)).to_dict()["snippet"]


def test_scripts_are_kept_in_the_cache_of_the_user(tmp_path, page, monkeypatch):
    from unirel.report.page import TEMPLATES

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = make_report()
    assert report.to_html() == page
    (kept,) = (tmp_path / "unirel").iterdir()
    kept.write_text("// mark")
    assert "<script>// mark</script>" in report.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not list(TEMPLATES.parent.glob("**/*charts-*.js"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert report.to_html() == page  # a cache that cannot be written to


def test_a_title_of_its_own(page):
    assert "<h1>Features for &#39;y&#39;</h1>" in page
    assert "<h1>Cells &amp; kinds</h1>" in make_report(given={"title": "Cells & kinds"}).to_html()


def test_of_many_rows_other_weights_take_a_sample_and_the_page_says_so(rng):
    X = rng.standard_normal((1_200, 4))
    y = X[:, 0] + X[:, 1] > 0
    selector = BURSelector(n_features_to_select=3)
    report = Report.from_data(X, y, selector=selector, accuracy=None)
    alone = BURSelector(n_features_to_select=3).fit(X, y).selection_
    assert report.selection.order.tolist() == alone.order.tolist()
    assert report.selection.scores.tolist() == alone.scores.tolist()
    assert [one.beta for one in report.path] == [0.5, 0.0, 0.25, 0.75, 1.0]
    assert {one.settings["unique_relevance"] for one in report.path.selections[1:]} == {"Boost(max_samples=500)"}
    assert "For other weights than 0.5 it is estimated from a" in report.to_html()
    assert "it is estimated from a sample" not in make_report().to_html()


def test_every_weight_is_there(page):
    (data,) = specs_of(page)["order"]["datasets"].values()
    assert sorted({row["beta"] for row in data}) == [step / 10 for step in range(11)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    page = make_report([name, "b", "copy", "noise", "weak"], {"origin": Origin(target=name, source=name)}).to_html()
    shown = escape(name).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    assert f'<th scope="row">{shown}</th>' in page
    assert f"<title>Features for &#39;{shown}&#39; ({shown})</title>" in page
    assert shown == name or name not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert json.dumps(name)[1:-1] in json.dumps(specs_of(page))


def test_control_characters_of_names_are_shown_as_text():
    name = "a\x1b[31m\u202eb\x00"
    page = make_report([name, "b", "copy", "noise", "weak"], {"origin": Origin(target=name, source=name)}).to_html()
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert all(char.isprintable() or char == "\n" for char in markup)
    assert '<th scope="row">a\\x1b[31m\\x202eb\\x00</th>' in markup
    assert "\\u001b" not in json.dumps(specs_of(page))


def test_nothing_to_boost():
    report = make_report(beta=0)
    assert "points" not in specs_of(report.to_html())
    assert "Given the other" in report.to_dict()["words"]


def test_what_it_says():
    said = make_report(
        given={"origin": Origin("data.csv", "class", ignored=(("day", "dates"),), n_without_target=4)}
    ).to_dict()
    assert said["data"]["ignored"] == [{"name": "day", "reason": "dates"}]
    assert said["data"]["rows_without_target"] == 4
    assert said["data"]["kinds"] == {"continuous": 5}
    assert [row["step"] for row in said["features"]] == [1, 2, 3, None, None]
    assert said["words"].startswith("'class': 120 rows, 2 classes; percentages are of its entropy, 0.69 nats.")
    assert not any(sentence in said["words"] for sentence in re.split(r"(?<=[.]) ", said["headline"]))
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
    # Corrected for chance, noise adds less than a copy half of the time.
    selector = BURSelector("cmim", 2, beta=0, mi_estimator=Binned(correction=None))
    report = Report.from_data(X, y, selector=selector, feature_names=["a", "noise", "copy"], stability=8, accuracy=None)
    first, second = why_of(report.to_html())
    assert first.startswith("a selected in 100% of subsamples Most relevant of all")
    assert first.endswith("Exchangeable with 'copy' (one of them in 100 % of subsamples, both in 0 %).")
    assert second.startswith("noise selected in 100% of subsamples not significant")
    assert f"Not significant by itself: p = {report.test.p_value[1]:.2g}, " in second
    said = report.to_dict()
    assert said["certainty"][0].startswith("Significant by themselves: 1 of the 2 selected (")
    assert "Not significant: 'noise';" in said["certainty"][0]
    assert "repeated on 8 random halves of the rows" in said["certainty"][1]
    assert [row["significant"] for row in said["features"]] == ["yes", "no", "yes"]
    assert [row["frequency"] for row in said["features"]] == [1, 1, 0]
    assert report.document()["features"][1]["frequency"] == 1
    json.dumps(report.document(), allow_nan=False)
    json.dumps(said, allow_nan=False)


def test_without_stability_nothing_is_said_of_subsamples(page):
    assert "subsamples" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert '<td class="col-significant">yes</td>' in page


def test_stability_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="stability=1 must be a whole number from 2 on"):
        make_report(given={"stability": 1})
    with pytest.raises(ValueError, match="stability=5 selects features anew from some of the rows"):
        make_report(given={"stability": 5}, unique_relevance=np.zeros(5))
    with pytest.raises(ValueError, match="stability=5 cannot be measured with sample_weight"):
        make_report(given={"stability": 5, "sample_weight": np.ones(120)})


def test_the_best_of_many_columns_of_noise_is_not_significant():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 300)), np.arange(80) % 2
    selector = BURSelector(n_features_to_select=1, beta=0)
    plain = Report.from_data(X, y, selector=selector, accuracy=None)
    assert not plain.test.significant().any()
    assert plain.to_dict()["headline"].startswith("No feature can be told from chance (300 tested, false")
    X[:, 7] += 2 * y
    found = Report.from_data(X, y, selector=selector, accuracy=None)
    assert np.flatnonzero(found.test.significant()) == [7]  # which takes more permutations than usual
    assert found.to_dict()["certainty"][0].startswith("Significant by themselves: 1 of the 1 selected (")


def test_the_snippet_runs_and_gives_the_same(tmp_path):
    reading = ("from sklearn.datasets import load_wine", "X, y = load_wine(return_X_y=True, as_frame=True)")
    variables = {}
    exec("\n".join(reading), variables)
    selector = BURSelector("jmi", 3, exclude=["hue"], mi_estimator=KNN(n_neighbors=5), beta=0.2)
    report = Report.from_data(variables["X"], variables["y"], selector=selector, origin=Origin("wine", reading=reading))
    code = unescape(re.search(r'<code id="snippet">(.*?)</code>', report.to_html(), re.S)[1])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(report.selection.selected_names)


def test_save(tmp_path, page):
    assert make_report().save(tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_thousands_of_features_stay_readable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1500)).astype(np.float32)
    page = Report.from_data(X, X[:, 0] > 0, selector=BURSelector(n_features_to_select=5), accuracy=None).to_html()
    assert page.count('<th scope="row">') == 1000
    assert "1,000 of\n1,500" in page
    assert len(page) < 1_500_000


def analysis_of(X, y, order, **types):
    """The analysis of some columns in this order, whatever selected them."""
    table, nothing = Table.from_data(X, y, **types), np.zeros(X.shape[1])
    selection = Selection("mim", 0.0, np.array(order), nothing[order], table.names, nothing, None, Ending.ASKED)
    return analyse(table, selection)


class TestAnalysis:
    def test_gaussian_columns_share_their_correlation(self):
        rng = np.random.default_rng(0)
        x, noise = rng.standard_normal((2, 4000))
        for correlation in (0.0, 0.5, 0.9):
            other = correlation * x + np.sqrt(1 - correlation**2) * noise
            found = analysis_of(np.column_stack([x, other]), x > 0, [0, 1])
            assert found.shared[0, 1] == pytest.approx(correlation, abs=0.1)

    def test_copies_share_everything(self):
        rng = np.random.default_rng(0)
        number, level = rng.standard_normal(300), rng.integers(0, 3, 300)
        found = analysis_of(np.column_stack([number, number, level, level]), number > 0, [0, 1, 2, 3])
        assert found.shared[[0, 2], [1, 3]] == pytest.approx(1)
        assert np.array_equal(found.shared, found.shared.T)
        assert [group.members for group in found.groups] == [(0, 1), (2, 3)]
        assert [group.measure for group in found.groups] == ["rank correlation", "normalised MI"]

    def test_a_constant_column_shares_nothing(self):
        x = np.random.default_rng(0).standard_normal(100)
        assert analysis_of(np.column_stack([x, np.ones(100)]), x > 0, [0, 1]).shared[0, 1] < 1e-9

    def test_batches_are_not_alike(self):
        """Two numbers that are constant within batches identify each other, and have no correlation."""
        rng = np.random.default_rng(0)
        batch = np.repeat(np.arange(60), 10)
        X = rng.standard_normal((2, 60))[:, batch].T
        found = analysis_of(X, rng.integers(0, 2, 600), [0, 1])
        assert found.shared[0, 1] < 0.8
        assert found.groups == ()

    @pytest.mark.parametrize("n_batches", [12, 40, 150])
    def test_what_varies_with_the_same_batches_is_not_alike(self, n_batches):
        """Two sensors are constant within batches: one value tells the other, and they have nothing in common."""
        rng = np.random.default_rng(1)
        batch = rng.integers(0, n_batches, 1500)
        sensors = rng.standard_normal((3, n_batches))
        X = np.vstack([sensors, sensors[0] ** 3])[:, batch].T
        found = analysis_of(X, rng.integers(0, 2, 1500), [0, 1, 2, 3])
        assert found.shared[0, 1] < 0.8
        assert found.shared[0, 3] > 0.99
        assert [group.members for group in found.groups] == [(0, 3)]

    def test_one_that_determines_the_other_is_not_the_same(self):
        rng = np.random.default_rng(0)
        fine = rng.integers(0, 12, 600)
        found = analysis_of(np.column_stack([fine, fine % 2]), fine > 5, [0, 1], discrete_features=True)
        assert found.shared[0, 1] < 0.5
        assert found.groups == ()

    def test_most_similar(self):
        shared = np.array([[1, 0.2, 0.9], [0.2, 1, 0.3], [0.9, 0.3, 1]])
        analysis = Analysis(("a", "b", "c"), shared)
        assert analysis.most_similar(1) == [("c", 0.3), ("a", 0.2)]
        assert analysis.most_similar(7) == []

    @pytest.mark.parametrize("continuous", [False, True])
    def test_curve_is_that_of_mutual_information(self, continuous):
        from sklearn.datasets import load_iris

        from unirel import mutual_information

        X, y = load_iris(return_X_y=True)
        order, how, types = [2, 3, 0], {}, {}
        if continuous:
            X, y, order, types = X[:, :3], X[:, 3], [2, 1, 0], {"target_type": "continuous"}
            how = {"mi_estimator": "gaussian", **types}
        curve = analysis_of(X, y, order, **types).joint_information
        assert curve == pytest.approx([mutual_information(X[:, order[:n]], y, **how) for n in (1, 2, 3)])


def test_a_missing_library_is_named(monkeypatch):
    import unirel.report as module

    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "altair" else object())
    with pytest.raises(ImportError, match=r"needs altair; install it with: pip install 'unirel\[report\]'"):
        module.check_installed()


def test_the_page_of_a_selection_that_left_no_time_to_analyse_it(monkeypatch):
    def too_late(*_, **__):
        raise TimeoutError

    monkeypatch.setattr("unirel.report.analyse", too_late)
    report = make_report(max_seconds=50)
    assert report.selection.complete
    assert len(report.selection) == 3
    assert report.analysis.names == ()
    assert report.to_dict()["headline"].startswith("3 of 5 features selected.")
    assert "carr" not in report.to_dict()["headline"]
    assert "<h2" in report.to_html()
