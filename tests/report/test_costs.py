"""Groups and costs on the page."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector, Costs
from unirel.report import Report


@pytest.fixture
def clinic():
    rng = np.random.default_rng(0)
    severity, ward = rng.normal(size=300), rng.integers(0, 4, 300)
    X = pd.DataFrame({"scan": severity + 0.5 * rng.normal(size=300), "blood": severity + rng.normal(size=300)})
    X = X.join(pd.get_dummies(np.array(["eye", "ear", "arm", "leg"])[ward], prefix="ward", dtype=bool))
    return X, severity + 0.6 * (ward % 2) > 0.3


def test_a_page_speaks_of_groups_and_has_a_curve_of_information_against_cost(clinic):
    X, y = clinic
    selector = BURSelector(groups={"ward": "ward_*"}, costs=Costs({"scan": 30, "ward": 2.5}, budget=40))
    report = Report.from_data(X, y, selector=selector, accuracy="logistic", stability=2)
    answer = report.to_dict()
    assert answer["data"]["features"] == 3
    assert answer["data"]["ignored"] == []
    assert [row["name"] for row in report.rows()] == report.selection.selected_names
    assert [row["total_cost"] for row in report.rows()] == report.selection.costs.cumsum().tolist()
    ward = X.columns.get_loc("ward_arm")
    assert report.levels[ward] == ("arm", "ear", "eye", "leg")
    assert "Selected as one, with all of their columns: 'ward' (4)." in report.words
    assert "All selected features cost 33.5" in report.words
    assert answer["accuracy"]["n_features"] == 3
    assert 0 < report.stability.frequency[ward] <= 1
    assert report.selection.report(X, y, selector=selector, accuracy=None).selection.order.tolist() == [1, 2, 0]
    pytest.importorskip("jinja2")
    pytest.importorskip("altair")
    from unirel.report.charts import make_charts

    spec = make_charts(report)["money"]
    (rows,) = spec["datasets"].values()
    assert [row["cost"] for row in rows] == [1.0, 3.5, 33.5]
    assert [row["joint"] for row in rows] == report.analysis.curve.tolist()
    page = report.to_html()
    assert "What information costs" in page
    assert "Costs(prices=" in page
    assert "ward_eye" not in answer["snippet"]
    ticks = json.loads(re.search(r'id="ticks">(.*?)</script>', page)[1])
    assert ticks["groups"] == [["ward", ["ward_arm", "ward_ear", "ward_eye", "ward_leg"]]]
    assert ticks["command"][-2:] == ["--group", "ward=ward_arm,ward_ear,ward_eye,ward_leg"]


def test_a_page_is_made_from_a_selection_by_positions(clinic):
    X, y = clinic
    selector = BURSelector(groups={"ward": range(2, 6)}, costs={0: 9}, include=["ward"], n_features_to_select=2)
    selection = selector.fit(X.to_numpy(float), y).selection_
    again = selection.report(X.to_numpy(float), y, accuracy=None).selection
    assert again.selected_names == selection.selected_names == ["ward", "x1"]
    assert again.costs.tolist() == selection.costs.tolist() == [4.0, 1.0]


def test_a_page_without_costs_has_no_such_section(clinic):
    X, y = clinic
    report = Report.from_data(X.iloc[:, :2], y, selector=BURSelector("mim", 2, beta=0), accuracy=None)
    pytest.importorskip("jinja2")
    pytest.importorskip("altair")
    assert "What information costs" not in report.to_html()
    assert "cost" not in report.rows()[0]


def test_whoever_makes_a_page_is_told_of_columns_that_are_one_category(clinic):
    X, y = clinic
    with pytest.warns(
        UserWarning, match=r"of 'ward_\*' \(4 columns\) exactly one is 1 .* pass groups=\{'ward': 'ward_\*'\}"
    ):
        Report.from_data(X, y, selector=BURSelector("mim", 2, beta=0), accuracy=None)


def test_names_that_only_the_page_knows_are_grouped_too(clinic):
    X, y = clinic
    selector = BURSelector("mim", 2, beta=0, groups={"ward": "ward_*"}, costs={"scan": 3})
    asked = {"accuracy": "logistic", "feature_names": list(X)}
    report = Report.from_data(X.to_numpy(float), y, selector=selector, **asked)
    assert "ward" in report.table.names
    assert report.accuracy is not None
