"""Pairs that matter only together on the page: said where they are, and left out where that would take long."""

import numpy as np
import pytest

from unirel import BURSelector, interactions
from unirel.data.table import Table
from unirel.report import Report
from unirel.report.pairs import find_pairs_quickly, pair_in_words, pairs_in_words

QUICK = BURSelector("mim", 2, beta=0)


def test_a_page_names_pairs_that_matter_only_together():
    X = np.random.default_rng(0).normal(size=(400, 5))
    report = Report.from_data(X, X[:, 1] * X[:, 3] > 0, selector=QUICK, accuracy=None, feature_names=[*"abcd", "<e>"])
    (row,) = report.to_dict()["pairs"]
    assert (row["first"], row["second"]) == ("b", "d")
    assert row["words"].startswith("'b' and 'd' matter only together: 0.4")
    pytest.importorskip("jinja2")
    pytest.importorskip("altair")
    page = report.to_html()
    assert "Pairs that matter only together" in page
    assert "&#39;b&#39; and &#39;d&#39; matter only together" in page


def test_a_page_without_such_pairs_has_no_such_section():
    X = np.random.default_rng(0).normal(size=(400, 5))
    report = Report.from_data(X, X[:, 1] + X[:, 3] > 0, selector=QUICK, accuracy=None)
    assert report.pairs.significant().any()  # but both matter alone too
    assert report.to_dict()["pairs"] == []
    pytest.importorskip("jinja2")
    pytest.importorskip("altair")
    assert "Pairs that matter only together" not in report.to_html()


@pytest.mark.parametrize(("n_samples", "n_features"), [(30, 200), (40_000, 60), (300_000, 8), (50, 1)])
def test_pairs_of_large_tables_are_left_out(n_samples, n_features):
    X = np.random.default_rng(0).integers(0, 9, (n_samples, n_features)) * 1.0
    assert find_pairs_quickly(Table.from_data(X, np.arange(n_samples) % 2), None, 1) is None


def test_pairs_of_weighted_rows_are_left_out():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    table = Table.from_data(X, y)
    assert find_pairs_quickly(table, None, 1).n_pairs == 3
    assert find_pairs_quickly(table, np.ones(50), 1) is None


def test_words():
    X = np.random.default_rng(0).normal(size=(1000, 4))
    found = interactions(X, X[:, 0] + X[:, 1] > 0, max_pairs=1)
    (words,) = pairs_in_words(found, "y", 0.05)
    assert words.startswith("Of 6 pairs, at least 1 tells significantly more about 'y' together")
    assert words.endswith(pair_in_words(found, 0, 0.05))
    assert "'x0' and 'x1' have 0." in words
    assert pairs_in_words(found, "y", 0.0)[0].startswith("None of 6 pairs is significant")
