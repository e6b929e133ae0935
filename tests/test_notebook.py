"""What a notebook shows of a result, and what is one call away from it."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from unirel import BURSelector, redundancy_analysis, selection_path

HOSTILE = "<script>alert(1)</script>"


class Checker(HTMLParser):
    """Collects tags and texts; every tag must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts = [], set(), []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert "script" not in checker.tags
    return checker.texts


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    return pandas.DataFrame(X, columns=[HOSTILE, "b", "c & d", "e", "f"]), X[:, 0] + X[:, 1] > 0


@pytest.fixture(scope="module")
def path(frame):
    return selection_path(*frame, criteria="jmi", betas=[0.3, 0.0], selector=BURSelector(n_features_to_select=3))


def test_a_selection_is_a_table_with_bars(path):
    selection = path.selections[0]
    html = selection._repr_html_()
    texts = read(html)
    assert texts[0].startswith("3 of 5 features by jmi, beta 0.3; ")
    assert HOSTILE in texts
    widths = [int(width) for width in re.findall(r"width: (\d+)px; background: #3b82c4", html)]
    relevance = selection.relevance[selection.order]
    assert np.array(widths[::2]) == pytest.approx(110 * relevance / relevance.max(), abs=1)
    assert "unique relevance" not in read(path.selections[1]._repr_html_())


def test_a_path_names_the_first_features_of_each_selection(path):
    texts = read(path._repr_html_())
    assert texts[0] == "2 selections, their first features"
    assert texts.count(HOSTILE) == 2


def test_a_redundancy_names_roles(frame):
    result = redundancy_analysis(*frame, order=[0, 1, 2])
    texts = read(result._repr_html_())
    assert set(result.roles) <= set(texts)
    assert texts[0].endswith(f"redundancy rate {result.rate:.0%}")


def test_long_selections_are_cut():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 50))
    selection = selection_path(
        X, X[:, 0] > 0, criteria="mim", betas=0, selector=BURSelector(n_features_to_select=45)
    ).selections[0]
    assert "and 15 more" in read(selection._repr_html_())


def test_plots_are_one_call_away(path, frame):
    pytest.importorskip("matplotlib").use("agg")
    assert type(path.plot()).__name__ == "BetaPathDisplay"
    assert type(path.selections[0].plot()).__name__ == "SelectionDisplay"
    assert type(redundancy_analysis(*frame, order=[0, 1]).plot()).__name__ == "RedundancyDisplay"
    from matplotlib import pyplot

    pyplot.close("all")


def test_a_report_is_one_call_away(path, frame):
    selection = path.selections[0]
    report = selection.report(*frame)
    assert report.selection.order.tolist() == selection.order.tolist()
    assert report.selection.settings == selection.settings
    texts = read(report._repr_html_())
    assert any(report.to_dict()["headline"] in text for text in texts)


def test_a_report_of_a_weighted_selection_is_weighted():
    """The rows that count decide by the second column, the others by the first."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    counts = np.arange(300) % 3 == 0
    y = np.where(counts, X[:, 1], X[:, 0]) > 0
    selection = BURSelector(n_features_to_select=2).fit(X, y, np.where(counts, 5.0, 0.1)).selection_
    assert BURSelector(n_features_to_select=2).fit(X, y).order_[0] == 0
    assert selection.order[0] == 1
    report = selection.report(X, y)
    assert report.selection.order.tolist() == selection.order.tolist()
    assert "most relevant of all" in report.to_dict()["features"][0]["why"]
    assert "sample_weight" not in selection.to_dict()


def test_settings_that_are_objects_are_asked_for(frame):
    from unirel import KNN

    selector = BURSelector(n_features_to_select=2, mi_estimator=KNN(n_neighbors=5), beta=0)
    selection = selector.fit(*frame).selection_
    with pytest.raises(ValueError, match="pass selector="):
        selection.report(*frame)
    assert selection.report(*frame, selector=selector).selection.order.tolist() == selection.order.tolist()
