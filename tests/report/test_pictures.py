"""What the pictures of a report show, each held against a plain twin."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

pytest.importorskip("jinja2")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from unirel import BURSelector
from unirel.data.table import Table
from unirel.documents import write_document
from unirel.inference.likeness import REDUNDANT
from unirel.inference.relations import Analysis
from unirel.report import Origin, Report
from unirel.report.charts import n_first, tree, waterfall
from unirel.report.page import DOCUMENT
from unirel.report.pictures import (
    Feature,
    Sample,
    arrange,
    draw_features,
    number,
    picture_of,
    pointwise,
    read_levels,
)

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</svg><b>", "a'b&amp;c"]


def make_sample(rng, n_rows=80, n_classes=3, weights=None):
    classes = None if n_classes is None else tuple(f"class {code}" for code in range(n_classes))
    target = rng.standard_normal(n_rows) if classes is None else np.arange(n_rows) % n_classes
    weights = np.ones(n_rows) if weights is None else weights
    return Sample(np.arange(n_rows), weights, np.asarray(target, float), classes)


def numbers(values):
    values = np.asarray(values, float)
    return Feature(values, np.isnan(values), None)


def levels(codes, names):
    return Feature(np.asarray(codes, float), np.zeros(len(codes), bool), tuple(names))


def repeated(feature, sample):
    """The same rows, each as often as its weight says."""
    rows = np.repeat(np.arange(len(sample.weights)), sample.weights.astype(int))
    again = Sample(rows, np.ones(len(rows)), sample.target[rows], sample.classes)
    return Feature(feature.values[rows], feature.missing[rows], feature.levels), again


class TestDensities:
    def test_by_hand(self):
        rng = np.random.default_rng(0)
        sample, values = make_sample(rng), rng.standard_normal(80)
        values[[3, 4, 6]] = np.nan
        found = picture_of(numbers(values), sample)
        low, high = np.nanquantile(values, [0.01, 0.99])
        width = (high - low) / 32
        expected = []
        for code in range(3):
            own = [value for value, label in zip(values, sample.target, strict=True) if label == code]
            counts = [0.0] * 34
            for value in own:
                if low <= value <= high:
                    counts[1 + min(31, int((value - low) / width))] += 1
            smooth = [(counts[k - 1] + 2 * counts[k] + counts[k + 1]) / 4 / len(own) for k in range(1, 33)]
            expected.append((smooth, sum(map(math.isnan, own)) / len(own)))
        top = max(max(smooth) for smooth, _ in expected)
        assert found["kind"] == "densities"
        for row, (smooth, gone) in zip(found["rows"], expected, strict=True):
            assert row["heights"] == pytest.approx([height / top for height in smooth], abs=6e-4)
            assert row["missing"] == pytest.approx(gone, abs=6e-4)
        assert [row["label"] for row in found["rows"]] == ["class 0", "class 1", "class 2"]

    def test_whole_numbers_are_bars(self):
        sample = make_sample(np.random.default_rng(0), 60, 2)
        values = np.arange(60) // 2 % 5 + 3.0
        found = picture_of(numbers(values), sample)
        assert found["whole"]
        assert (found["low"], found["high"]) == ("3", "7")
        for row in found["rows"]:
            assert row["heights"] == pytest.approx([1.0] * 5)

    def test_many_whole_numbers_share_bins_evenly(self):
        """Bins that hold now three, now four of them would look like a comb."""
        sample = make_sample(np.random.default_rng(0), 2000, 2)
        heights = picture_of(numbers(np.arange(2000) // 2 % 100), sample)["rows"][0]["heights"]
        assert min(heights[1:-2]) > 0.95 * max(heights)

    def test_only_the_largest_classes(self):
        rng = np.random.default_rng(0)
        target = np.repeat(np.arange(7), [10, 30, 30, 30, 30, 30, 5])
        sample = Sample(np.arange(165), np.ones(165), target.astype(float), tuple("abcdefg"))
        rows = picture_of(numbers(rng.standard_normal(165)), sample)["rows"]
        assert [row["label"] for row in rows] == ["b", "c", "d", "e", "f"]

    @pytest.mark.parametrize("values", [np.ones(20), np.full(20, np.nan), np.full(20, 1e300), np.arange(20) * 1e-300])
    def test_values_without_a_range(self, values):
        found = picture_of(numbers(values), make_sample(np.random.default_rng(0), 20, 2))
        assert all(np.isfinite(row["heights"]).all() for row in found["rows"])


class TestLevels:
    def test_shares_by_hand(self):
        rng = np.random.default_rng(1)
        sample, codes = make_sample(rng, 300, 2), rng.integers(0, 3, 300)
        found = picture_of(levels(codes, "xyz"), sample)
        for code, row in enumerate(found["rows"]):
            own = sample.target[codes == code]
            assert row["label"] == "xyz"[code]
            assert row["shares"] == pytest.approx([(own == 0).mean(), (own == 1).mean(), 0], abs=6e-4)
            assert row["part"] == pytest.approx(len(own) / 300, abs=6e-5)

    @pytest.mark.parametrize("n_levels", [8, 12])
    def test_rare_levels_are_one(self, n_levels):
        codes = np.repeat(np.arange(n_levels), np.arange(n_levels, 0, -1) + 3)
        sample = make_sample(np.random.default_rng(0), len(codes), 2)
        rows = picture_of(levels(codes, map(str, range(n_levels))), sample)["rows"]
        rest = [] if n_levels == 8 else ["5 others"]  # one level more needs no row of its own for others
        assert [row["label"] for row in rows] == [*map(str, range(8 if n_levels == 8 else 7)), *rest]
        assert sum(row["part"] for row in rows) == pytest.approx(1, abs=1e-3)

    def test_means_by_hand(self):
        rng = np.random.default_rng(2)
        sample, codes = make_sample(rng, 200, None), rng.integers(0, 2, 200)
        rows = picture_of(levels(codes, "xy"), sample)["rows"]
        spreads = []
        for code in range(2):
            own = np.sort(sample.target[codes == code])
            spreads.append([own[math.ceil(len(own) / 4) - 1], own.mean(), own[math.ceil(3 * len(own) / 4) - 1]])
        low, high = np.min(spreads), np.max(spreads)
        for row, spread in zip(rows, spreads, strict=True):
            drawn = [row["lower"], row["mean"], row["upper"]]
            assert drawn == pytest.approx([(value - low) / (high - low) for value in spread], abs=1e-4)

    def test_names_of_levels(self):
        import pandas as pd

        frame = pd.DataFrame(
            {
                "text": ["b", "a", None, "b", "a", "c"] * 5,
                "flag": [True, False] * 15,
                "number": [1.5, 2.0, np.nan] * 10,
                "category": pd.Categorical(["x", "y", "z"] * 10, categories=["z", "y", "x"]),
            }
        )
        table = Table.from_data(frame, np.arange(30) % 2, discrete_features=True)
        found = read_levels(table, frame, [0, 1, 2, 3])
        for feature, name in enumerate(frame):
            codes = table.codes(feature)
            for row, value in enumerate(frame[name]):
                shown = "missing" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)
                assert found[feature][codes[row]] == shown
        assert read_levels(table, None, [0]) == {}

    def test_names_of_levels_of_an_array(self):
        X = np.array([[1, 0.5], [2, 0.25], [1, 0.5]] * 10)
        table = Table.from_data(X, np.arange(30) % 2, discrete_features=True)
        assert read_levels(table, X, [0, 1]) == {0: ("1", "2"), 1: ("0.25", "0.5")}
        sparse = csr_array(X - 1)
        table = Table.from_data(sparse, np.arange(30) % 2, discrete_features=True)
        assert read_levels(table, sparse, [0, 1]) == {0: ("0", "1"), 1: ("-0.75", "-0.5")}


class TestMeans:
    def test_by_hand(self):
        rng = np.random.default_rng(3)
        sample, values = make_sample(rng, 240, None), rng.standard_normal(240)
        found = picture_of(numbers(values), sample)
        order = np.argsort(values)
        bins = [order[start : start + 20] for start in range(0, 240, 20)]
        places = [values[own].mean() for own in bins]
        means = [sample.target[own].mean() for own in bins]
        low, high = np.quantile([np.sort(sample.target[own])[[4, 14]] for own in bins], [0, 1])
        low, high = min(low, *means), max(high, *means)
        share = [(place - places[0]) / (places[-1] - places[0]) for place in places]
        assert [point["x"] for point in found["points"]] == pytest.approx(share, abs=1e-4)
        drawn = [point["mean"] for point in found["points"]]
        assert drawn == pytest.approx([(mean - low) / (high - low) for mean in means], abs=1e-4)
        assert (found["bottom"], found["top"]) == (number(low), number(high))

    def test_missing_values_stand_apart(self):
        sample = make_sample(np.random.default_rng(3), 100, None)
        values = np.where(np.arange(100) < 30, np.nan, np.arange(100.0))
        found = picture_of(numbers(values), sample)
        assert found["missing"] is not None
        assert len(found["points"]) == 4
        everything = picture_of(numbers(np.full(100, np.nan)), sample)
        assert everything["points"] == []


@pytest.mark.parametrize("n_classes", [3, None])
@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_weights_repeat_rows(n_classes, kind):
    rng = np.random.default_rng(4)
    sample = make_sample(rng, 90, n_classes, np.array([1.0, 2.0, 4.0] * 30)[rng.permutation(90)])
    feature = levels(rng.integers(0, 3, 90), "abc") if kind == "levels" else numbers(rng.integers(0, 6, 90))
    if n_classes is not None or kind == "levels":  # edges of a curve of means are those of the rows
        assert picture_of(feature, sample) == picture_of(*repeated(feature, sample))


def plain_pointwise(feature, sample, labels):
    """The formula, row by row: the share of the row's class among other rows of the same level, or near by rank."""
    n_rows = len(labels)
    values = []
    for row in range(n_rows):
        if feature.levels is not None:
            near = [other for other in range(n_rows) if feature.values[other] == feature.values[row]]
        elif feature.missing[row]:
            near = [other for other in range(n_rows) if feature.missing[other]]
        else:
            known = sorted((feature.values[other], other) for other in range(n_rows) if not feature.missing[other])
            equal = [place for place, (value, _) in enumerate(known) if value == feature.values[row]]
            reach = max(5, len(known) // 20)
            near = [other for _, other in known[max(0, equal[0] - reach) : equal[-1] + 1 + reach]]
        near = [other for other in near if other != row]
        prior = (labels == labels[row]).mean()
        alike = sum(labels[other] == labels[row] for other in near)
        values.append(math.log((alike + 5 * prior) / (len(near) + 5) / prior))
    return values


class TestPointwise:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from(["numbers", "ties", "missing", "levels"]))
    def test_by_hand(self, seed, kind):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(12, 130))
        sample = make_sample(rng, n_rows, 3)
        values = rng.standard_normal(n_rows) if kind in ("numbers", "missing") else rng.integers(0, 5, n_rows)
        if kind == "missing":
            values[:: rng.integers(2, 5)] = np.nan
        feature = levels(values, "abcde") if kind == "levels" else numbers(values)
        assert pointwise(feature, sample) == pytest.approx(plain_pointwise(feature, sample, sample.target))

    def test_a_number_as_target_counts_by_fifths(self):
        rng = np.random.default_rng(5)
        sample, values = make_sample(rng, 100, None), rng.standard_normal(100)
        fifths = np.argsort(np.argsort(sample.target)) // 20
        found = pointwise(numbers(values), sample)
        assert found == pytest.approx(plain_pointwise(numbers(values), sample, fifths))

    def test_the_mean_is_information(self):
        """Of a level that tells the class it is the entropy; of levels by chance, however many, about nothing."""
        rng = np.random.default_rng(6)
        sample = make_sample(rng, 4000, 2)
        assert pointwise(levels(sample.target, "ab"), sample).mean() == pytest.approx(math.log(2), abs=0.01)
        chance = pointwise(levels(rng.integers(0, 500, 4000), map(str, range(500))), sample).mean()
        assert -0.06 < chance < 0.01

    def test_an_entirely_missing_feature_tells_nothing(self):
        sample = make_sample(np.random.default_rng(0), 40, 2)
        assert np.abs(pointwise(numbers(np.full(40, np.nan)), sample)).max() < 0.05


def make_report(
    n_rows=300, names=("a", "b", "copy", "noise", "colour"), number_target=False, n_selected=5, accuracy=None
):
    import pandas as pd

    rng = np.random.default_rng(7)
    a, b, noise = rng.standard_normal((3, n_rows))
    colour = np.array(HOSTILE)[(b > 0) + 2 * (noise > 0)]
    columns = [a, b, a + 0.05 * noise, noise, colour]
    y = 2 * a + b + 0.2 * noise if number_target else np.where(a + b > 0, HOSTILE[0], HOSTILE[1])
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return Report.from_data(frame, y, selector=BURSelector("mim", n_selected, beta=0), accuracy=accuracy)


def with_selection(report, **changes):
    selection = replace(report.selection, **changes)
    return replace(report, path=replace(report.path, selections=(selection, *report.path.selections[1:])))


class TestStrips:
    def test_every_point_is_drawn_within_the_strip(self):
        _, strips = draw_features(make_report())
        drawn = arrange(strips)
        for strip, row in zip(strips, drawn["rows"], strict=True):
            points = [point for shade in row["shades"].values() for point in shade]
            assert len(points) == len(strip["points"]) == 240
            assert all(-40 <= x <= 1040 and -1 <= y <= 41 for x, y in points)
            assert {shade: len(some) for shade, some in row["shades"].items()} == {
                shade: sum(other == shade for _, other in strip["points"]) for _, shade in strip["points"]
            }
        assert any(tick["label"] == "0" and tick["place"] == drawn["zero"] for tick in drawn["ticks"])

    def test_values_to_the_right_stand_to_the_right(self):
        strip = {"name": "x", "mean": 0.1, "names": None, "points": [(-0.5, 0), (0.0, 2), (0.5, 4)]}
        shades = arrange([strip])["rows"][0]["shades"]
        assert shades[0][0][0] < shades[2][0][0] < shades[4][0][0]

    def test_colours_are_ranks_or_names(self):
        _, strips = draw_features(make_report())
        by_name = {strip["name"]: strip for strip in strips}
        assert by_name["a"]["names"] is None
        assert {shade for _, shade in by_name["a"]["points"]} == {0, 1, 2, 3, 4}
        assert sorted(by_name["colour"]["names"]) == sorted(HOSTILE)


class TestWaterfall:
    def test_what_is_left_is_what_the_curve_does_not_know(self):
        report = make_report(n_selected=3)
        found, curve = waterfall(report), report.analysis.curve
        entropy, left = report.analysis.entropy, 1.0
        for n, row in enumerate(found["rows"], start=1):
            assert row["before"] == pytest.approx(left, abs=1e-4)
            left = 1 - max(curve[:n]) / entropy
            assert row["after"] == pytest.approx(left, abs=1e-4)
        assert found["left"] == pytest.approx(left, abs=1e-4)

    def test_a_number_by_its_variance(self):
        report = make_report(number_target=True)
        found = waterfall(report)
        assert found["entropy"] is None
        assert found["left"] == pytest.approx(math.exp(-2 * max(report.analysis.curve)), abs=1e-4)

    @pytest.mark.parametrize("curve", [[0.5, 0.01], [0.01, 0.02], [0.5], [np.nan, 0.6], [0.6, 0.5]])
    def test_none_where_joint_information_is_not_credible(self, curve):
        report = make_report()
        analysis = replace(report.analysis, joint_information=np.array(curve))
        assert waterfall(replace(report, analysis=analysis)) is None
        assert 'id="waterfall"' not in replace(report, analysis=analysis).to_html()

    def test_it_is_on_the_page(self):
        assert 'id="waterfall"' in make_report(n_selected=3).to_html()


class TestTree:
    def test_joints_are_the_least_similarity_of_what_they_join(self):
        rng = np.random.default_rng(8)
        shared = rng.random((9, 9))
        shared = (shared + shared.T) / 2
        np.fill_diagonal(shared, 1)
        report = make_report()
        found = tree(replace(report, analysis=Analysis(tuple("abcdefghi"), shared)))
        groups = [{leaf} for leaf in range(9)]
        for link in found["links"]:  # merge what is nearest, by its least similar pair
            pairs = [
                (min(shared[i, j] for i in one for j in two), one, two)
                for one in groups
                for two in groups
                if one != two
            ]
            best, one, two = max(pairs, key=lambda pair: pair[0])
            assert link["distance"] == pytest.approx(1 - best, abs=1e-4)
            assert link["redundant"] == (best >= REDUNDANT)
            groups = [group for group in groups if group not in (one, two)] + [one | two]
        assert sorted(found["leaves"]) == list(range(9))

    def test_leaves_below_a_joint_stand_side_by_side(self):
        report = make_report()
        found, names = tree(report), report.analysis.names
        copies = [found["leaves"].index(names.index(name)) for name in ("a", "copy")]
        assert abs(copies[0] - copies[1]) == 1
        for link in found["links"]:
            assert max(link["from"][0], link["to"][0]) <= link["distance"] + 1e-4

    def test_two_features_make_no_tree(self):
        report = make_report()
        assert tree(replace(report, analysis=Analysis(("a", "b"), np.eye(2)))) is None


class TestRanking:
    def test_what_adds_nothing_and_what_follows_are_marked(self):
        report = make_report(n_selected=3)
        left = np.setdiff1d(np.arange(5), report.selection.order)[::-1]
        report = with_selection(report, n_supported=2, following=left)
        rows = re.findall(r'<li class="([^"]*)"><input type="checkbox" data-place="(\d+)"', report.to_html())
        assert [("idle" in words, "next" in words) for words, _ in rows] == [
            *[(False, False)] * 2,
            (True, False),
            *[(False, True)] * 2,
        ]
        features = report.to_dict()["features"]
        names = report.selection.selected_names + [report.table.names[feature] for feature in left]
        assert [features[int(place)]["name"] for _, place in rows] == names
        page = report.to_html()
        assert "nothing detectable" in report.to_dict()["headline"]
        assert "Beyond the first 2" not in page
        assert "next</span> in order, not selected." in page

    def test_below_a_headline_about_accuracy_stands_what_tests_say_of_steps(self):
        report = with_selection(make_report(n_selected=3, accuracy="knn"), n_supported=2)
        assert "Beyond the first 2 none of them adds detectable information to those before it." in report.to_html()

    def test_without_a_test_nothing_is_said_to_add_nothing(self):
        report = with_selection(make_report(), n_supported=None)
        assert "idle" not in "".join(re.findall(r'<li class="([^"]*)"><input', report.to_html()))

    def test_nothing_is_ticked_where_nothing_is_found(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((80, 30)), np.arange(80) % 2
        report = Report.from_data(X, y, selector=BURSelector(n_features_to_select=3, beta=0), accuracy=None)
        assert n_first(report) == 0
        page = report.to_html()
        assert " checked" not in "".join(re.findall(r"<input type=\"checkbox\".*?>", page))
        assert page.count('class="tag unsure" title="not significant by itself">n.s.<') == 3

    def test_all_that_follow_are_listed(self):
        """The headline of a table of noise counts them."""
        X = np.random.default_rng(0).standard_normal((120, 20))
        selector = BURSelector("mim", 2, beta=0)
        report = Report.from_data(X, X[:, :2].sum(axis=1) > 0, selector=selector, accuracy=None)
        left = np.setdiff1d(np.arange(20), report.selection.order)[:10]
        page = with_selection(report, following=left).to_html()
        assert len(re.findall(r'<li class="[^"]*next[^"]*"><input', page)) == 10

    def test_bars_of_useless_features_are_short(self):
        rng = np.random.default_rng(0)
        report = Report.from_data(
            rng.standard_normal((500, 5)), np.arange(500) % 2, selector=BURSelector(beta=0), accuracy=None
        )
        shares = [float(share) for share in re.findall(r'class="bar" style="width: ([\d.]+)%"', report.to_html())]
        assert max(shares[:5]) < 50


class TestPage:
    @pytest.mark.parametrize("number_target", [False, True])
    def test_names_of_classes_levels_and_features_are_escaped(self, number_target):
        names = (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], "colour")
        report = make_report(names=names, number_target=number_target)
        for page in (report.to_html(), report._repr_html_()):
            markup = re.sub(r"<script[ >].*?</script>", "", page, flags=re.S)
            assert "<img" not in markup
            assert HOSTILE[2] not in markup
            assert HOSTILE[0] not in markup
            assert markup.count("<svg") == markup.count("</svg>")

    def test_it_has_every_part_in_order(self):
        page = make_report().to_html()
        parts = ["answer", "many", "pictures", "strips", "tree", "groups", "why", "asked"]
        assert sorted(parts, key=lambda part: page.index(f'id="{part}"')) == parts
        assert page.count('class="card"') == 5
        assert len(page) < 1_500_000

    def test_settings_stand_at_the_end_in_words(self):
        page = make_report().to_html()
        assert "Criterion mim, 5 features asked for; no boost by unique relevance;" in page
        assert page.index("Criterion mim") > page.index("The same in Python")

    def test_many_features_are_folded_away(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((120, 60))
        selector = BURSelector("mim", 50, beta=0)
        page = Report.from_data(X, X[:, :50].sum(axis=1) > 0, selector=selector, accuracy=None).to_html()
        assert '<details id="ranking-more"><summary>38 more' in page
        assert page.count('class="card"') == 40
        assert page.count('class="strip"') == 13  # twelve and the axis
        assert len(page) < 1_500_000

    def test_no_pictures_of_tables_in_parts(self, tmp_path):
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((2, 200))
        for part in range(2):
            rows = slice(100 * part, 100 * part + 100)
            columns = {"a": a[rows], "b": b[rows], "y": (a > 0)[rows].astype(int)}
            pq.write_table(pa.table(columns), tmp_path / f"{part}.parquet")
        from unirel.data.table import open_table

        table, _ = open_table(ds.dataset(sorted(map(str, tmp_path.glob("*.parquet")))), "y")
        report = Report.from_table(table, BURSelector("mim", 2, beta=0), Origin())
        assert draw_features(report) == ([], [])
        assert "<h2" in report.to_html()

    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_sparse_table(self, weighted):
        rng = np.random.default_rng(0)
        counts = csr_array(rng.poisson(0.5, (200, 6)).astype(float))
        y = counts.toarray()[:, 2] > 0
        weights = rng.integers(0, 3, 200).astype(float) if weighted else None
        report = Report.from_data(
            counts, y, selector=BURSelector("mim", 2, beta=0), sample_weight=weights, accuracy=None
        )
        drawn, _ = draw_features(report)
        assert drawn[0]["name"] == "x2"
        first, *others = drawn[0]["rows"]
        assert (first["label"], first["shares"]) == ("0", [1, 0, 0])
        assert all(row["shares"] == [0, 1, 0] for row in others)
        assert "<h2" in report.to_html()

    def test_the_copied_file_is_a_selection(self, tmp_path, capsys):
        from unirel.cli import main

        names = ["a", "copy"]
        (tmp_path / "table.csv").write_text("a,b,copy\n1,2,3\n4,5,6\n", encoding="utf-8")
        copied = {**DOCUMENT, "features": [{"name": name} for name in names]}
        (tmp_path / "selection.json").write_text(json.dumps(copied), encoding="utf-8")
        arguments = [str(tmp_path / name) for name in ("selection.json", "table.csv", "small.csv")]
        assert main(["apply", *arguments[:2], "-o", arguments[2]]) in (0, None)
        assert (tmp_path / "small.csv").read_text(encoding="utf-8") == "a,copy\n1,3\n4,6\n"
        assert DOCUMENT.items() <= json.loads(write_document("selection", {})).items()

    def test_a_notebook_shows_the_pictures(self):
        report = make_report()
        html = report._repr_html_()
        assert html.count("<svg") == 5
        assert "<script" not in html
        assert len(html) < 40_000

    def test_a_notebook_without_the_libraries_of_the_page(self, monkeypatch):
        import unirel.report as module

        report = make_report()
        monkeypatch.setattr(module, "find_spec", lambda name: None)
        html = report._repr_html_()
        assert "<table>" in html
        assert "<svg" not in html


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (0.1234, "0.123"), (1234.5, "1,234"), (2e7, "2.0e+07"), (-1e-5, "-1.0e-05"), (999.6, "1e+03")],
)
def test_numbers_beside_an_axis_are_short(value, shown):
    assert number(value) == shown
