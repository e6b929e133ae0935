"""What the displays of pairs and of two tables draw."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib import pyplot

from unirel import compare_relevance, interactions
from unirel.plotting import InteractionsDisplay, RelevanceChangeDisplay
from unirel.plotting.drift import spread

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def pairs():
    X = np.random.default_rng(0).normal(size=(400, 4))
    return interactions(X, X[:, 0] * X[:, 2] > 0)


@pytest.fixture(scope="module")
def change():
    old, new = np.random.default_rng(0).normal(size=(2, 600, 5))
    return compare_relevance(old, old[:, 0] + old[:, 1] > 0, new, new[:, 0] + new[:, 3] > 0)


def test_pairs(pairs):
    display = pairs.plot(max_pairs=3)
    assert isinstance(display, InteractionsDisplay)
    display.figure_.canvas.draw()
    ax = display.ax_
    assert [one.get_text() for one in ax.get_yticklabels()] == [f"{a} and {b}" for a, b in pairs.pairs[:3]]
    first, second, together, chance = ax.containers
    assert [bar.get_width() for bar in first] == pairs.relevance[:3, 0].tolist()
    assert [bar.get_x() for bar in second] == pairs.relevance[:3, 0].tolist()
    assert [bar.get_width() for bar in together] == [pairs.synergy[0]]
    assert len(chance) == 2
    assert chance[0].get_facecolor() == (1, 1, 1, 1)
    assert ax.get_title(loc="right") == "significant: 1 of 6 pairs"


def test_no_pair_is_significant_at_a_tiny_level(pairs):
    ax = pairs.plot(alpha=0.0).ax_
    assert [one.get_text() for one in ax.get_legend().get_texts()][-1] == "may be chance"
    assert "only together" not in [one.get_text() for one in ax.get_legend().get_texts()]


def test_change(change):
    display = change.plot()
    assert isinstance(display, RelevanceChangeDisplay)
    display.figure_.canvas.draw()
    ax = display.ax_
    assert sorted(one.get_text() for one in ax.texts) == ["x1", "x1", "x3", "x3"]
    ends = {tuple(line.get_ydata()) for line in ax.lines if len(line.get_ydata())}
    assert ends == set(zip(change.before.tolist(), change.after.tolist(), strict=True))
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["gained (1)", "lost (1)", "not significant (3)"]
    assert ax.get_title(loc="right") == "changed: 2 of 5 features"
    assert [one.get_text() for one in ax.get_xticklabels()] == ["before\n600 rows", "after\n600 rows"]


def test_few_changes_are_named(change):
    ax = change.plot(max_features=1).ax_
    assert len({one.get_text() for one in ax.texts}) == 1
    assert change.plot(alpha=0.0).ax_.get_title(loc="right") == "changed: 0 of 5 features"


def test_names_do_not_cover_each_other():
    values = np.array([0.5, 0.0, 0.01, 0.02, 0.9])
    moved = spread(values, 0.1)
    assert np.argsort(moved).tolist() == np.argsort(values).tolist()
    assert np.diff(np.sort(moved)).min() >= 0.1 - 1e-12
    assert moved[[0, 4]].tolist() == [0.5, 0.9]
    assert moved[[1, 2, 3]].mean() == pytest.approx(0.01)
    assert len(spread(np.empty(0), 0.1)) == 0
